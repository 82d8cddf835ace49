// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid on grids against dense algebra: what is recognised has the matrix's products, coarse operators are P^T A P, the cycle is
// symmetric and a contraction, and what is no grid, or does not contract, goes to aggregates.
#include <cmath>
#include <complex>
#include <sstream>

#include "suites/grid_problems.hpp"
#include "suites/krylov.hpp"
#include "suites/messages.hpp"
#include "suites/multigrid.hpp"

#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/tensor/algebra/diagonal.hpp>
#include <sla/tensor/problems/random_problems.hpp>

using suite::grid_operator, suite::tells, suite::words;
using sla::index_t, sla::amg;
using complex_t = std::complex<double>;

namespace {
auto grid_of(sla::sparse_tensor<double> const& A) { return sla::detail::recognise_grid<double>(A.pattern().view(), A.values().data()); }
/// A node on the grid as a vector; x is copied between margins.
template <class Node>
sla::vector<double> grid_values(Node const& node) {
  sla::vector<double> out({node.points().points()}, sla::uninitialized);
  auto space = sla::immediate_space(sla::host_memory{});
  fuse(space, sla::set_statement<double, Node, sla::host_memory>{out.data(), out.size(), node});
  return out;
}
sla::detail::grid_array<double> with_margins(sla::detail::grid_shape const& s, sla::vector<double> const& x) {
  sla::detail::grid_array<double> out(s);
  std::copy(x.begin(), x.end(), out.data());
  return out;
}
}  // namespace

TEST_CASE("amg on a grid: what is recognised has the products of the matrix, and coarse operators are P^T A P") {
  for (auto const& given : {grid_operator(9, 1, 8, false, 3), grid_operator(8, 1, 11, true, 3), grid_operator(7, 6, 5, false, 3), grid_operator(6, 5, 7, true, 3),
                        sla::problems::poisson({12, 7}), sla::problems::checkerboard({10, 10}, 100.0, 3)}) {
    index_t const n = given.rows();
    auto found = grid_of(given);
    REQUIRE(found);
    sla::sparse_tensor<double> const A = (1 / found->scale) * given;
    auto& level = found->level;
    auto const next = sla::detail::coarsened(level);
    REQUIRE(next);
    auto const view = level.view();
    index_t const coarse = view.coarse.points();
    CHECK(level.shape.entries() == A.nnz());
    auto const x = sla::random<double>(n, 3);
    auto const padded = with_margins(view.shape, x);
    CHECK(oracle::distance(grid_values(sla::detail::grid_product<double>{{view, false}, padded.data()}), sla::vector<double>(A * x)) <= 1e-12 * n);
    // P column by column: the correction of a zero right-hand side, before its smoothing step, and P^T by the restriction.
    std::vector<sla::vector<double>> P;
    for (index_t c = 0; c < coarse; ++c) {
      sla::vector<double> e(coarse), column(n);
      e[c] = 1;
      auto const from = with_margins(view.coarse, e);
      for (index_t k = 0; k < view.shape.nz; ++k)
        sla::detail::interpolate_slab(view, k, from.data(), [](index_t) { return 0.0; }, column.data() + k * view.shape.slab());
      P.push_back(column);
    }
    auto const next_view = next->view();
    double worst = 0, size = 0;
    for (index_t c = 0; c < coarse; ++c) {
      sla::vector<double> const ap = A * P[std::size_t(c)];
      sla::vector<double> unit(coarse);
      unit[c] = 1;
      auto const from = with_margins(view.coarse, unit);
      auto const column = grid_values(sla::detail::grid_product<double>{{next_view, false}, from.data()});
      for (index_t d = 0; d < coarse; ++d) {
        double const exact = sla::dot(P[std::size_t(d)], ap);
        worst = (std::max)(worst, std::abs(exact - column[d])), size = (std::max)(size, std::abs(exact));
      }
    }
    CHECK(worst <= 1e-13 * size * double(n));
    // The restriction of a pass is P^T of the residual of a step of Jacobi.
    auto const b = sla::random<double>(n, 4);
    sla::vector<double> diagonal(n);
    auto const at = sla::diagonal_positions(A.pattern());
    for (index_t i = 0; i < n; ++i) diagonal[i] = A.values()[at[i]];
    sla::vector<double> const t = double(view.omega) * (b / diagonal), r = b - A * t;
    auto const restricted = grid_values(sla::detail::grid_restricted<double, double>{{view, true}, b.data(), 1.0});
    for (index_t c = 0; c < coarse; ++c) CHECK(restricted[c] == Approx(sla::dot(P[std::size_t(c)], r)).margin(1e-12 * double(n)));
    // The other pass: a step of Jacobi from t + P e.
    auto const e = sla::random<double>(coarse, 5);
    auto const from = with_margins(view.coarse, e);
    sla::vector<double> y = t;
    for (index_t c = 0; c < coarse; ++c) y = y + e[c] * P[std::size_t(c)];
    sla::vector<double> const z = y + double(view.omega) * ((b - A * y) / diagonal);
    CHECK(oracle::distance(grid_values(sla::detail::grid_corrected<double, double>{{view, false}, b.data(), from.data(), 1.0, 1.0}), z) <= 1e-12 * double(n));
    // The factors of a band.
    sla::vector<double> solved(n);
    std::vector<double> work;
    sla::detail::band_factors(view).solve(b.data(), solved.data(), work);
    CHECK(oracle::distance(sla::vector<double>(A * solved), b) <= 1e-11 * double(n));
  }
}

TEST_CASE("amg on a grid: what is none is not recognised") {
  auto const A = grid_operator(9, 1, 8, true, 3);
  REQUIRE(grid_of(A));
  auto B = A;
  B.pattern().view().for_row(20, [&](index_t s, index_t j) {
    if (j == 21) B.values()[s] *= 1 + 1e-6;  // its partner stays
  });
  CHECK(!grid_of(B));
  B = A, B.values()[sla::diagonal_positions(B.pattern())[20]] *= -1;
  CHECK(!grid_of(B));
  auto const with_pair = [&](index_t i, index_t j) {
    std::vector<index_t> rows{i, j}, cols{j, i};
    std::vector<double> values{-0.5, -0.5};
    for (index_t r = 0; r < A.rows(); ++r) A.pattern().view().for_row(r, [&](index_t s, index_t c) { rows.push_back(r), cols.push_back(c), values.push_back(A.values()[s]); });
    return sla::from_triplets<double>(A.rows(), A.rows(), rows, cols, values);
  };
  CHECK(!grid_of(with_pair(8, 9)));    // round a border
  CHECK(!grid_of(with_pair(10, 30)));  // far away
  B = A;
  B.pattern().view().for_row(30, [&](index_t s, index_t j) {
    if (j == 31) B.values()[s] = 0;
  });
  CHECK(!grid_of(B));  // one of a pair
  CHECK(!grid_of(sla::problems::convection_diffusion({12, 12}, 1.0)));
  CHECK(!grid_of(sla::sparse_tensor<double>(sla::diagonal(sla::ones<double>(100)))));
  // Rows of Dirichlet points that stay, alone on their diagonal, are points like others.
  B = A;
  for (index_t i : {40, 41, 50})
    for (index_t r = 0; r < B.rows(); ++r)
      B.pattern().view().for_row(r, [&](index_t s, index_t j) {
        if ((r == i || j == i) && r != j) B.values()[s] = 0;
      });
  auto found = grid_of(B);
  REQUIRE(found);
  CHECK(sla::detail::coarsened(found->level));
  // Entries that are not stored, and those that are stored as zero, are none.
  std::vector<index_t> kept_rows, kept_cols;
  std::vector<double> kept;
  for (index_t r = 0; r < B.rows(); ++r)
    B.pattern().view().for_row(r, [&](index_t s, index_t c) {
      if (B.values()[s] != 0) kept_rows.push_back(r), kept_cols.push_back(c), kept.push_back(B.values()[s]);
    });
  auto other = grid_of(sla::from_triplets<double>(B.rows(), B.rows(), kept_rows, kept_cols, kept));
  REQUIRE(other);
  auto const x = sla::random<double>(B.rows(), 7);
  for (auto const* g : {&*found, &*other}) {
    auto const padded = with_margins(g->level.shape, x);
    CHECK(oracle::distance(sla::vector<double>(g->scale * grid_values(sla::detail::grid_product<double>{{g->level.view(), false}, padded.data()})), sla::vector<double>(B * x)) <= 1e-12 * B.rows());
  }
}

TEST_CASE("amg on a grid is chosen where it pays") {
  using sla::detail::grid_guess;
  auto const guess = [](auto const& A) { return sla::detail::guess_grid(A.pattern().view(), A.values().data()); };
  CHECK(guess(sla::problems::poisson({20, 20})) == grid_guess::even);
  CHECK(guess(sla::problems::checkerboard({60, 60}, 1e4, 4)) == grid_guess::even);
  CHECK(guess(sla::problems::poisson({9, 9, 9})) == grid_guess::even);
  CHECK(guess(sla::problems::anisotropic({30, 40}, 1e-3)) == grid_guess::stretched);
  CHECK(guess(grid_operator(12, 1, 9, true, 1)) == grid_guess::even);
  CHECK(guess(sla::problems::random_dominant(400, 5, 1)) == grid_guess::none);
  CHECK(guess(sla::sparse_tensor<double>(sla::diagonal(sla::ones<double>(100)))) == grid_guess::none);
  auto const chosen = [](auto const& A) { return sla::try_solve(A, sla::random<double>(A.rows(), 1)).report; };
  CHECK(tells(chosen(sla::problems::poisson({80, 80})).preconditioner, "grid 80 x 80"));
  CHECK(tells(chosen(sla::problems::checkerboard({100, 100}, 1e4, 8)).preconditioner, "grid 100 x 100"));
  CHECK(tells(chosen(sla::problems::poisson({22, 22, 22})).preconditioner, "grid 22 x 22 x 22"));
  CHECK(tells(chosen(sla::problems::anisotropic({200, 200}, 1e-3)).preconditioner, "ilu0"));
  CHECK(tells(chosen(sla::to<sla::Dia>(sla::problems::poisson({80, 80}))).preconditioner, "grid 80 x 80"));
}

TEST_CASE("amg on a grid: symmetric, a contraction, in float and in double, in other formats, and of numbers of any size") {
  auto const A = sla::problems::checkerboard({100, 100}, 10.0, 5);
  auto const b = sla::random<double>(A.rows(), 1), c = sla::random<double>(A.rows(), 2);
  auto const M = amg{}.setup(A);
  auto const D = sla::amg_in<double>{}.setup(A);
  REQUIRE(M.hierarchy().grid);
  REQUIRE(D.hierarchy().grid);
  CHECK(M.hierarchy().grid->in_float());
  CHECK(!D.hierarchy().grid->in_float());
  sla::vector<double> const z = M * b, y = M * c, exact = D * b, of_c = D * c;
  CHECK(oracle::distance(z, exact) <= 1e-5 * sla::norm_inf(exact));
  CHECK(oracle::distance(z, exact) > 0);
  CHECK(sla::dot(c, exact) == Approx(sla::dot(of_c, b)).epsilon(1e-12));
  CHECK(sla::dot(c, z) == Approx(sla::dot(y, b)).epsilon(1e-5));
  for (int seed : {3, 4, 5}) {
    auto const x = sla::random<double>(A.rows(), std::uint64_t(seed));
    sla::vector<double> const Ax = A * x, MAx = D * Ax;
    CHECK(sla::dot(Ax, MAx) > 0);
    CHECK(sla::dot(Ax, MAx) <= sla::dot(x, Ax) * (1 + 1e-12));
  }
  for (double size : {1e-200, 1e200}) {
    sla::vector<double> const scaled = M * (size * b);
    CHECK(oracle::distance(sla::vector<double>(scaled / size), z) <= 1e-5 * sla::norm_inf(z));
  }
  sla::vector<double> const none = M * sla::zeros<double>(b.size());
  CHECK(sla::norm_inf(none) == 0);
  auto const same = [&](auto const& other) { return oracle::distance(sla::vector<double>(amg{}.setup(other) * b), z) <= 1e-6 * sla::norm_inf(z); };
  CHECK(same(sla::to<sla::Dia>(A)));
  CHECK(same(sla::to<sla::Csr<std::int64_t>>(A)));
  CHECK(oracle::distance(sla::vector<double>(amg{}.setup(sla::cast<float>(A)) * b), z) <= 1e-4 * sla::norm_inf(z));
  CHECK(oracle::distance(sla::vector<double>(M.adjoint() * b), z) == 0);
  sla::vector<complex_t> pair(b.size());
  for (index_t i = 0; i < b.size(); ++i) pair[i] = {b[i], c[i]};
  sla::vector<complex_t> const both = M * pair;
  for (index_t i = 0; i < b.size(); i += 97) CHECK(std::abs(both[i] - complex_t(z[i], y[i])) <= 1e-5 * sla::norm_inf(z));
}

TEST_CASE("amg on a grid: the same bits on any number of threads, on a queue, and by one of a batch") {
  auto const A = sla::problems::checkerboard({301, 280}, 100.0, 8);
  suite::same_bits_on_threads(A);
  auto const b = sla::random<double>(A.rows(), 1);
  auto const [x, report] = sla::try_solve(A, b, sla::cg{}, amg{});
  auto const [y, queued] = sla::try_solve(A, b, sla::cg{}, amg{}, sla::on([](sla::frame f) { return sla::deferred(f, 4); }));
  CHECK(std::equal(x.begin(), x.end(), y.begin()));
  CHECK(queued.iterations() == report.iterations());
  auto const P = sla::problems::poisson({100, 100}), Q = sla::problems::anisotropic({100, 100}, 1e-3);
  auto const M = amg{}.setup(sla::stack_batch(P, Q));  // a grid, and aggregates
  CHECK(M.hierarchy(0).grid);
  CHECK(!M.hierarchy(1).grid);
  auto const f = sla::random<double, sla::Extents<2, sla::dyn>>({2, P.rows()}, 4);
  sla::tensor<double, sla::Extents<2, sla::dyn>> const z = M * f;
  sla::vector<double> first(P.rows());
  for (index_t i = 0; i < P.rows(); ++i) first[i] = f(0, i);
  sla::vector<double> const alone = amg{}.setup(P) * first;
  for (index_t i = 0; i < P.rows(); ++i) REQUIRE(z(0, i) == alone[i]);
}

TEST_CASE("amg on a grid: new values, singular matrices, sentences and lines") {
  auto const A = sla::problems::poisson({100, 90});
  auto const b = sla::random<double>(A.rows(), 1);
  auto M = amg{}.setup(A);
  sla::vector<double> const before = M * b;
  M.update(4.0 * A);
  CHECK(oracle::distance(sla::vector<double>(4.0 * (M * b)), before) <= 1e-6 * sla::norm_inf(before));
  M.update(sla::sparse_tensor<double>(sla::problems::anisotropic({100, 90}, 1e-3)));  // no grid any more
  CHECK(!M.hierarchy().grid);
  M.update(A);
  CHECK(!M.hierarchy().grid);  // aggregates are kept
  // Contraction is measured again only where couplings differ more than before: what is made is what a set-up makes, or it goes to aggregates.
  auto const J = sla::problems::checkerboard({100, 90}, 1e3, 8), rougher = sla::problems::checkerboard({100, 90}, 1e4, 8), finer = sla::problems::checkerboard({100, 90}, 1e4, 2);
  auto of_jumps = amg{}.setup(rougher);
  for (auto const& B : {J, rougher, J, A}) {
    of_jumps.update(B);
    REQUIRE(of_jumps.hierarchy().grid);
    CHECK(oracle::distance(sla::vector<double>(of_jumps * b), sla::vector<double>(amg{}.setup(B) * b)) == 0);
  }
  of_jumps.update(finer);
  CHECK(bool(of_jumps.hierarchy().grid) == bool(amg{}.setup(finer).hierarchy().grid));
  std::ostringstream out;
  out << amg{}.setup(A);
  INFO(out.str());
  CHECK(tells(out.str(), "amg: grid 100 x 90, 5 points, V-cycle of 2 levels"));
  CHECK(tells(out.str(), "  1        2250 rows        19684 entries   50 x 45, 9 points, factors of a band"));
  auto const large = sla::problems::poisson({200, 200});
  CHECK(3 * amg{}.setup(large).bytes() < sla::amg_in<double>{.coarsening = sla::amg_coarsening::smoothed}.setup(large).bytes());

  auto N = A;  // rows of sum zero
  sla::vector<double> const sums = N * sla::ones<double>(N.rows());
  auto const diagonal = sla::diagonal_positions(N.pattern());
  for (index_t i = 0; i < N.rows(); ++i) N.values()[diagonal[i]] -= sums[i];
  sla::vector<double> const f = b - sla::sum(b) / double(b.size());
  auto const [x, report] = sla::try_solve(N, f, sla::cg{.rtol = 1e-8}, amg{});
  INFO(report);
  CHECK(report.converged());
  CHECK(report.iterations() <= 14);

  constexpr auto grid = sla::amg_coarsening::grid;
  CHECK(amg{.coarsening = grid}.setup(sla::problems::poisson({20, 20})).hierarchy().grid);
  CHECK(!amg{}.setup(sla::problems::poisson({20, 20})).hierarchy().grid);
  CHECK(tells(words([] { amg{.coarsening = grid}.setup(sla::problems::convection_diffusion({20, 20}, 1.0)); }), "is not found to be a symmetric operator of 5, 9, 7 or 27 points on a grid"));
  CHECK(tells(words([] { amg{.coarsening = grid}.setup(sla::problems::anisotropic({100, 100}, 1e-3)); }), "amg_coarsening::automatic takes a grid only where it is one"));
  CHECK(!amg{.sweeps = 2}.setup(A).hierarchy().grid);
}

TEST_CASE("amg on a grid: semidefinite matrices with jumps, indefinite ones, other sizes, tiny numbers, and options that grids have not") {
  // Rows of sum zero: the coarse ones are so too, whatever floats round.
  for (double jump : {1e3, 1e4}) {
    auto N = sla::problems::checkerboard({120, 100}, jump, 7);
    auto const at = sla::diagonal_positions(N.pattern());
    sla::vector<double> const sums = N * sla::ones<double>(N.rows());
    for (index_t i = 0; i < N.rows(); ++i) N.values()[at[i]] -= sums[i];
    auto const [x, report] = sla::try_solve(N, sla::vector<double>(N * sla::random<double>(N.rows(), 3)), sla::cg{.rtol = 1e-8}, amg{});
    INFO(report);
    CHECK(report.converged());
    CHECK(report.iterations() <= 20);
  }
  auto N = grid_operator(100, 1, 90, true, 1);
  auto const at = sla::diagonal_positions(N.pattern());
  sla::vector<double> const sums = N * sla::ones<double>(N.rows());
  for (index_t i = 0; i < N.rows(); ++i) N.values()[at[i]] -= sums[i];
  auto found = sla::detail::recognise_grid<float>(N.pattern().view(), N.values().data());
  REQUIRE(found);
  auto const next = sla::detail::coarsened(found->level);
  REQUIRE(next);
  for (index_t c = 0; c < next->shape.points(); ++c) REQUIRE(next->view().sums[c] == 0);

  // A cycle that leaves out negative directions helps no method for indefinite matrices.
  for (double shift : {0.002, 0.01}) {
    auto S = sla::problems::poisson({100, 100});
    auto const of = sla::diagonal_positions(S.pattern());
    for (index_t i = 0; i < S.rows(); ++i) S.values()[of[i]] -= shift;
    CHECK(!amg{}.setup(S).hierarchy().grid);
    auto const [x, report] = sla::try_solve(S, sla::random<double>(S.rows(), 1), sla::gmres{.rtol = 1e-8, .max_iterations = 300}, amg{});
    INFO(report);
    CHECK(report.converged());
  }

  // Of any size: divided by a power of 2.
  for (auto const& J : {sla::problems::poisson({90, 80}), sla::problems::checkerboard({100, 90}, 1e4, 8)}) {
    auto const b = sla::random<double>(J.rows(), 1);
    sla::vector<double> const usual = amg{}.setup(J) * b;
    int const iterations = suite::iterations(J, sla::cg{}, amg{}, "grid ");
    for (double size : {0x1p-660, 0x1p-100, 0x1p100, 0x1p660}) {
      CHECK(oracle::distance(sla::vector<double>(size * (amg{}.setup(sla::sparse_tensor<double>(size * J)) * b)), usual) == 0);
      CHECK(oracle::distance(sla::vector<double>(amg{}.setup(sla::sparse_tensor<double>(size * J)) * sla::vector<double>(size * b)), usual) <= 1e-5 * sla::norm_inf(usual));
    }
    for (double size : {1e-200, 1e200}) {
      CHECK(suite::iterations(sla::sparse_tensor<double>(size * J), sla::cg{}, amg{}, "grid ") <= iterations + 1);
      CHECK(suite::iterations(sla::sparse_tensor<double>(size * J), sla::cg{}, sla::amg_in<double>{}, "grid ") <= iterations + 1);
    }
    for (float size : {0x1p-90f, 0x1p90f}) {
      auto const F = sla::sparse_tensor<float>(size * sla::cast<float>(J));
      REQUIRE(amg{}.setup(F).hierarchy().grid);
      CHECK(oracle::distance(sla::vector<float>(size * (amg{}.setup(F) * sla::cast<float>(b))), sla::vector<float>(amg{}.setup(sla::cast<float>(J)) * sla::cast<float>(b))) == 0);
    }
  }

  auto const A = sla::problems::poisson({100, 90});
  auto M = amg{}.setup(A);
  sla::vector<double> const z = M * sla::ones<double>(A.rows()), small = M * (1e-310 * sla::ones<double>(A.rows()));
  CHECK(oracle::distance(sla::vector<double>(1e300 * small), sla::vector<double>(1e-10 * z)) <= 1e-15 * sla::norm_inf(z));
  CHECK(tells(words([&] { M.update(sla::problems::poisson({120, 120})); }), "update(A) has 14400 x 14400 rows and columns"));
  CHECK(oracle::distance(sla::vector<double>(M * sla::ones<double>(A.rows())), z) == 0);
  constexpr auto grid = sla::amg_coarsening::grid;
  CHECK(tells(words([&] { amg{.cycle = sla::amg_cycle::W, .coarsening = grid}.setup(A); }), "leave out .cycle, .smoother and .sweeps"));
  CHECK(tells(words([&] { amg{.coarsening = grid, .sweeps = 2}.setup(A); }), "leave out .cycle, .smoother and .sweeps"));
}
