// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Algebraic multigrid against what it is made of: aggregates partition the rows, coarse matrices are R A P, the cycle is a contraction
// and has the adjoint that it says, and iterations do not grow with the grid.
#include <cmath>
#include <complex>
#include <sstream>
#include <thread>

#include "data.hpp"
#include "sample.hpp"
#include "suites/grid_problems.hpp"
#include "suites/krylov.hpp"
#include "suites/messages.hpp"
#include "suites/multigrid.hpp"

#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/tensor/algebra/diagonal.hpp>
#include <sla/tensor/files/matrix_market.hpp>

using suite::iterations, suite::shuffled, suite::tells, suite::words;
using sla::dyn, sla::index_t, sla::amg;
using complex_t = std::complex<double>;

namespace {
constexpr sla::amg_cycle both_cycles[] = {sla::amg_cycle::V, sla::amg_cycle::W}, all_cycles[] = {sla::amg_cycle::V, sla::amg_cycle::W, sla::amg_cycle::F, sla::amg_cycle::amli};
sla::amg_smoother const both_smoothers[] = {sla::amg_smoother::spai0, sla::amg_smoother::l1_jacobi};
constexpr sla::amg_coarsening both_coarsenings[] = {sla::amg_coarsening::smoothed, sla::amg_coarsening::plain};

/// Every combination of the options, with levels for small matrices too.
template <class F, class Cycles = decltype(both_cycles)>
void for_all_options(F const& f, Cycles const& cycles = both_cycles) {
  for (auto cycle : cycles)
    for (auto smoother : both_smoothers)
      for (auto coarsening : both_coarsenings)
        for (int sweeps : {1, 2}) f(amg{.cycle = cycle, .smoother = smoother, .coarsening = coarsening, .sweeps = sweeps, .coarsest = 5});
}

/// A grid without Dirichlet conditions: rows sum to 0.
sla::sparse_tensor<double> rows_of_sum_zero(index_t n) {
  auto A = sla::problems::poisson({n, n});
  sla::vector<double> const sums = A * sla::ones<double>(A.rows());
  auto const diagonal = sla::diagonal_positions(A.pattern());
  for (index_t i = 0; i < A.rows(); ++i) A.values()[diagonal[i]] -= sums[i];
  return A;
}
/// <M x, y> = <x, M^H y>.
template <class M, class V>
void amg_adjoint_agrees(M const& m, V const& x, V const& y) {
  V const mx = m * x, hy = m.adjoint() * y;
  auto const left = sla::eval(sla::dot(mx, y)), right = sla::eval(sla::dot(x, hy));
  CHECK(std::abs(left - right) <= 1e-11 * sla::norm(mx) * sla::norm(y));
}
}  // namespace

TEST_CASE("amg takes iterations that do not grow with the grid") {
  std::vector<int> counts;
  std::vector<index_t> sizes{64, 128, 256};
  if (one_in() == 1) sizes.push_back(512);
  for (index_t n : sizes) counts.push_back(iterations(sla::problems::poisson({n, n}), sla::cg{.rtol = 1e-6}));
  auto const [least, most] = std::minmax_element(counts.begin(), counts.end());
  CHECK(*most <= 14);
  CHECK(*most - *least <= 5);
  CHECK(counts.back() - counts[1] <= 3);
  CHECK(iterations(sla::problems::poisson({24, 24, 24}), sla::cg{.rtol = 1e-6}) <= 11);
  CHECK(iterations(sla::problems::checkerboard({160, 160}, 1e4, 16), sla::cg{.rtol = 1e-6}) <= 18);
  CHECK(iterations(sla::problems::anisotropic({128, 128}, 1e-3), sla::cg{.rtol = 1e-6}) <= 12);
  CHECK(iterations(suite::rotated(100, 1e-3), sla::cg{.rtol = 1e-6}) <= 40);
  auto const transport = sla::problems::convection_diffusion({100, 100}, 3.0);
  CHECK(iterations(transport, sla::bicgstab{.rtol = 1e-6}) <= 16);
  CHECK(iterations(transport, sla::bicgstab{.rtol = 1e-6}, amg{.cycle = sla::amg_cycle::W, .sweeps = 2}) <= 10);
  CHECK(iterations(transport, sla::gmres{.rtol = 1e-6}) <= 30);
}

TEST_CASE("amg: aggregates partition the rows, constants are kept, and coarse matrices are R A P") {
  auto const check = [](auto const& A, amg const& options, bool hermitian) {
    auto const M = options.setup(A);
    auto const& levels = M.hierarchy().levels;
    REQUIRE(levels.size() >= 3);
    for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
      auto const& level = levels[l];
      auto const& groups = level.transfer->groups;
      std::vector<int> members(std::size_t(groups.count), 0);
      REQUIRE(groups.of.size() == level.A.rows());
      for (auto g : groups.of) {
        REQUIRE(g >= (l == 0 ? 0 : -1));  // on coarse levels, entries of some rows are all positive
        REQUIRE(g < groups.count);
        if (g >= 0) ++members[std::size_t(g)];
      }
      CHECK(*std::min_element(members.begin(), members.end()) >= 1);
      auto const coarse = sla::to_dense(level.R * (level.A * level.P)), stored = sla::to_dense(levels[l + 1].A);
      CHECK(oracle::distance(coarse, stored) <= 1e-12 * sla::norm_inf(stored));
      if (hermitian) CHECK(oracle::distance(sla::to_dense(level.R), sla::to_dense(sla::adjointed(level.P))) == 0);
    }
  };
  for (auto coarsening : both_coarsenings) {
    amg const options{.coarsening = coarsening, .coarsest = 5};
    check(sla::problems::poisson({17, 13}), options, true);
    check(sla::problems::checkerboard({20, 20}, 1e4, 5), options, true);
    check(sla::problems::convection_diffusion({15, 15}, 3.0), options, false);
  }
  auto const M = amg{.coarsest = 5}.setup(rows_of_sum_zero(20));
  for (auto const& level : M.hierarchy().levels)
    if (level.transfer) {
      sla::vector<double> const one = level.P * sla::ones<double>(level.P.cols());
      CHECK(sla::norm_inf(one - sla::ones<double>(one.size())) <= 1e-12);
    }
}

TEST_CASE("amg is a contraction in the norm of A, for every option") {
  auto const A = sla::problems::checkerboard({18, 18}, 100.0, 6);
  for_all_options([&](amg const& options) { suite::contracts(options.setup(A), A); });
}

TEST_CASE("amg has the adjoint that it says") {
  auto const symmetric = sla::problems::checkerboard({12, 12}, 100.0, 4), transport = sla::problems::convection_diffusion({12, 12}, 3.0);
  auto const hermitian = suite::complex_problem<sla::cg>(9), general = suite::complex_problem<sla::gmres>(9);
  for_all_options([&](amg const& options) {
    amg_adjoint_agrees(options.setup(symmetric), sla::random<double>(144, 1), sla::random<double>(144, 2));
    amg_adjoint_agrees(options.setup(transport), sla::random<double>(144, 1), sla::random<double>(144, 2));
    amg_adjoint_agrees(options.setup(hermitian), sla::random<complex_t>(81, 1), sla::random<complex_t>(81, 2));
    amg_adjoint_agrees(options.setup(general), sla::random<complex_t>(81, 1), sla::random<complex_t>(81, 2));
  }, all_cycles);
  auto const s = sla::prepare(transport, sla::bicgstab{.rtol = 1e-10}, amg{.coarsest = 5});
  auto const b = sla::random<double>(144, 3);
  suite::is_dense_solution(transport, b, s.solve(b), 1e-7);
  suite::is_dense_solution(sla::transposed(transport), b, s.solve_transpose(b), 1e-7);
}

TEST_CASE("amg of new values is that of a fresh set-up, and keeps the old ones where they are refused") {
  auto const A = sla::problems::poisson({40, 40}), C = sla::problems::convection_diffusion({40, 40}, 0.5);
  auto const b = sla::random<double>(A.rows(), 1);
  sla::vector<double> const d = 1.0 + 1e-5 * sla::random<double>(A.rows(), 2);
  auto const close = sla::sparse_tensor<double>(sla::scale_rows(sla::scale_cols(A, d), d));
  for (auto coarsening : both_coarsenings) {
    amg const options{.coarsening = coarsening};
    auto M = options.setup(A);
    sla::vector<double> const before = M * b;
    auto const* const kept = M.hierarchy().levels[0].transfer.get();
    M.update(4.0 * A);
    CHECK(oracle::distance(sla::vector<double>(4.0 * (M * b)), before) <= 1e-13);
    M.update(close);
    CHECK(M.hierarchy().levels[0].transfer.get() == kept);
    CHECK(oracle::distance(sla::vector<double>(M * b), sla::vector<double>(options.setup(close) * b)) <= 1e-12);
    auto bad = A;
    bad.values()[0] = 0;
    sla::vector<double> const good = M * b;
    CHECK(tells(words([&] { M.update(bad); }), "amg: the diagonal entry of row 0 is zero or not stored"));
    CHECK(oracle::distance(sla::vector<double>(M * b), good) == 0);
    M.update(A);
    CHECK(oracle::distance(sla::vector<double>(M * b), before) == 0);
    M.update(C);  // unsymmetric, on aggregates of a symmetric matrix
    amg_adjoint_agrees(M, b, d);
    auto from_unsymmetric = options.setup(C);
    from_unsymmetric.update(A);
    CHECK(oracle::distance(sla::vector<double>(from_unsymmetric * b), before) <= 1e-12);
  }
  auto s = sla::prepare(A, sla::cg{.rtol = 1e-8}, amg{});
  auto const first = s.solve(b);
  s.update(2.0 * A);
  CHECK(oracle::distance(sla::vector<double>(2.0 * s.solve(b)), first) <= 1e-6);
}

namespace {
/// A cycle from its definition, level by level.
sla::vector<double> textbook_cycle(sla::detail::amg_hierarchy<double> const& all, std::size_t l, sla::vector<double> const& b, sla::amg_cycle kind) {
  auto const& level = all.levels[l];
  index_t const n = level.A.rows();
  if (l + 1 == all.levels.size()) {
    auto z = sla::zeros<double>(n);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j) z[i] += all.inverse[std::size_t(i * n + j)] * b[j];
    return z;
  }
  sla::vector<double> x = level.smoother * b;
  auto const correct = [&](sla::amg_cycle below) {
    sla::vector<double> const r = b - level.A * x, coarse = level.R * r;
    x = x + level.P * textbook_cycle(all, l + 1, coarse, below);
  };
  correct(kind);
  if (l + 2 < all.levels.size() && kind != sla::amg_cycle::V) correct(kind == sla::amg_cycle::F ? sla::amg_cycle::V : kind);
  return sla::vector<double>(x + level.smoother * (b - level.A * x));
}
}  // namespace

TEST_CASE("amg visits levels as its cycle says: once, twice, or twice and then once") {
  std::vector<int> iterations;
  for (auto const& A : {sla::problems::checkerboard({30, 30}, 100.0, 6), sla::problems::convection_diffusion({30, 30}, 2.0)}) {
    auto const b = sla::random<double>(A.rows(), 1);
    for (auto cycle : {sla::amg_cycle::V, sla::amg_cycle::F, sla::amg_cycle::W}) {
      auto const M = amg{.cycle = cycle, .smoother = sla::amg_smoother::spai0, .coarsening = sla::amg_coarsening::plain, .coarsest = 5}.setup(A);
      REQUIRE(M.levels().size() >= 4);
      auto const z = textbook_cycle(M.hierarchy(), 0, b, cycle);
      CHECK(oracle::distance(sla::vector<double>(M * b), z) <= 1e-12 * sla::norm_inf(z));
      iterations.push_back(suite::iterations(A, sla::gmres{}, M, to_string(cycle)));
    }
  }
  for (std::size_t k : {std::size_t(0), std::size_t(3)}) {
    INFO(iterations[k] << ' ' << iterations[k + 1] << ' ' << iterations[k + 2]);
    CHECK(iterations[k] > iterations[k + 1]);
    CHECK(iterations[k + 1] >= iterations[k + 2]);
  }
}

TEST_CASE("amg on a queue is what it is on the host, for every combination of options, adjoints too") {
  auto const on_queue = sla::on([](sla::frame f) { return sla::deferred(f, 4); });
  auto const agree = [&](auto const& A, auto const& method, auto const& options) {
    auto const b = sla::random<typename std::remove_cvref_t<decltype(A)>::value_type>(A.rows(), 3);
    auto const here = sla::prepare(A, method, options);
    auto const queued = sla::prepare(A, method, options, on_queue);
    auto const x = here.solve(b), y = queued.solve(b), xt = here.solve_transpose(b), yt = queued.solve_transpose(b);
    CHECK(std::equal(x.begin(), x.end(), y.begin()));
    CHECK(std::equal(xt.begin(), xt.end(), yt.begin()));
    CHECK(sla::norm(b - A * x) <= 1.01 * method.rtol * sla::norm(b));
    CHECK(sla::norm(b - transpose(A) * xt) <= 1.01 * method.rtol * sla::norm(b));
  };
  auto const transport = sla::problems::convection_diffusion({12, 12}, 3.0);
  auto const general = suite::complex_problem<sla::gmres>(9);
  for_all_options([&](amg const& options) {
    INFO(to_string(options.cycle) << ", " << to_string(options.coarsening) << ", " << to_string(options.smoother) << ", " << options.sweeps);
    agree(transport, sla::bicgstab{.rtol = 1e-9}, options);
    agree(general, sla::gmres{.rtol = 1e-9}, options);
  }, all_cycles);
  agree(sla::problems::checkerboard({20, 20}, 100.0, 4), sla::cg{.rtol = 1e-9}, amg{.coarsening = sla::amg_coarsening::grid});
  agree(shuffled(sla::problems::poisson({90, 80})), sla::cg{.rtol = 1e-9}, amg{});  // levels in float
  agree(sla::problems::checkerboard({20, 20}, 100.0, 4), sla::cg{.rtol = 1e-9}, sla::amg_in<float>{.coarsening = sla::amg_coarsening::plain, .coarsest = 5});
}

TEST_CASE("amg on any space: the same bits on a queue, in batches, blocks and with right-hand sides") {
  auto const options = amg{.coarsest = 5};
  auto const A = suite::problem<sla::cg>(11);
  suite::same_everywhere(A, sla::random<double>(A.rows(), 1), sla::cg{}, options, 1e-7);
  auto const B = suite::batched_problem<sla::cg>(8);
  suite::same_everywhere(B, sla::random<double, sla::Extents<2, dyn, dyn>>({2, B.rows(), 3}, 3), sla::cg{}, options, 1e-7);
  auto const Z = suite::complex_problem<sla::cg>(7);
  suite::same_everywhere(Z, sla::random<complex_t>(Z.rows(), 5), sla::cg{}, options, 1e-7);
  auto const [E, e] = suite::everything_at_once<sla::bicgstab>();
  suite::same_everywhere(E, e, sla::bicgstab{}, options, 1e-6);
  // One of a batch is what it is alone.
  auto const M = options.setup(B);
  auto const r = sla::random<double, sla::Extents<2, dyn>>({2, B.rows()}, 4);
  sla::tensor<double, sla::Extents<2, dyn>> const z = M * r;
  auto const one = options.setup(suite::problem<sla::cg>(8));
  sla::vector<double> first(B.rows());
  for (index_t i = 0; i < B.rows(); ++i) first[i] = r(0, i);
  sla::vector<double> const alone = one * first;
  for (index_t i = 0; i < B.rows(); ++i) CHECK(z(0, i) == alone[i]);
}

TEST_CASE("amg takes any format, scalars of both widths, and complex right-hand sides of a real matrix") {
  auto const A = sla::problems::checkerboard({15, 15}, 10.0, 3);
  auto const b = sla::random<double>(A.rows(), 1);
  amg const options{.coarsest = 5};
  sla::vector<double> const z = options.setup(A) * b;
  auto const same = [&](auto const& other) { return oracle::distance(sla::vector<double>(options.setup(other) * b), z) <= 1e-14; };
  CHECK(same(sla::to<sla::Dia>(A)));
  CHECK(same(sla::to<sla::Coo<>>(A)));
  CHECK(same(sla::to<sla::Csr<std::int64_t>>(A)));
  std::vector<index_t> rows, cols;
  for (index_t i = 0; i < A.rows(); ++i) A.pattern().view().for_row(i, [&](index_t, index_t j) { rows.push_back(i), cols.push_back(j); });

  auto const F = sla::cast<float>(A);
  auto const [x, report] = sla::try_solve(F, b, sla::cg{.rtol = 1e-10}, options);  // b and x are double
  CHECK(report.converged());
  CHECK(sla::norm(b - sla::cast<double>(F) * x) <= 1e-9 * sla::norm(b));
  auto const few = sla::try_solve(F, sla::random<float>(F.rows(), 1), sla::cg{.rtol = 1e-4}, options).report;
  CHECK(few.converged());

  sla::vector<complex_t> c(b.size());
  auto const imaginary = sla::random<double>(b.size(), 2);
  for (index_t i = 0; i < b.size(); ++i) c[i] = {b[i], imaginary[i]};
  sla::vector<complex_t> const zc = options.setup(A) * c;
  sla::vector<double> const zi = options.setup(A) * imaginary;
  for (index_t i = 0; i < b.size(); ++i) CHECK(zc[i] == complex_t(z[i], zi[i]));
}

TEST_CASE("amg of singular, small and odd matrices") {
  auto const N = rows_of_sum_zero(30);
  sla::vector<double> b = sla::random<double>(N.rows(), 1);
  b = b - sla::sum(b) / double(b.size());
  for (auto cycle : both_cycles) {
    auto const [x, report] = sla::try_solve(N, b, sla::cg{.rtol = 1e-8}, amg{.cycle = cycle, .coarsest = 20});
    INFO(report);
    CHECK(report.converged());
    CHECK(report.iterations() <= 25);
  }
  auto const one = sla::from_triplets<double>(1, 1, {0}, {0}, {4.0});
  CHECK(sla::solve(one, sla::vector<double>{2.0}, sla::cg{}, amg{})[0] == Approx(0.5));
  CHECK(sla::vector<double>(amg{}.setup(sla::problems::poisson({0})) * sla::vector<double>(0)).size() == 0);

  index_t const n = 2500;
  sla::vector<double> const d = 1.0 + sla::random<double>(n, 3) * sla::random<double>(n, 3) * 1e6;
  auto const D = sla::sparse_tensor<double>(sla::diagonal(d));
  auto const r = sla::random<double>(n, 4);
  CHECK(oracle::distance(sla::vector<double>(d * (amg{}.setup(D) * r)), r) <= 1e-14);  // rows that stand alone are solved
  CHECK(sla::try_solve(D, r, sla::cg{}, amg{}).report.iterations() == 1);

  // Islands: grids beside each other, a row alone, and a pair.
  auto const islands = [&] {
    std::vector<index_t> rows, cols;
    std::vector<double> values;
    auto const add = [&](index_t i, index_t j, double v) { rows.push_back(i), cols.push_back(j), values.push_back(v); };
    auto const P = sla::problems::poisson({30, 30});
    for (index_t k = 0; k < 2; ++k)
      for (index_t i = 0; i < 900; ++i) P.pattern().view().for_row(i, [&](index_t s, index_t j) { add(900 * k + i, 900 * k + j, P.values()[s] * double(1 + 99 * k)); });
    add(1800, 1800, 7), add(1801, 1801, 2), add(1801, 1802, -1), add(1802, 1801, -1), add(1802, 1802, 2);
    return sla::from_triplets<double>(1803, 1803, rows, cols, values);
  }();
  CHECK(iterations(islands, sla::cg{}, amg{.coarsest = 10}) <= 30);
  // Entries of the wrong sign are no couplings: the smoother is what is left, and it is enough for cg to go on.
  auto positive = sla::problems::poisson({40, 40});
  for (auto& v : positive.values()) v = std::abs(v);
  CHECK(amg{}.setup(positive).levels().size() == 1);
  CHECK(iterations(positive, sla::cg{}) < 200);
}

TEST_CASE("amg refuses what it cannot do, and cg says what it met") {
  auto const A = sla::problems::poisson({20, 20});
  auto const b = sla::random<double>(A.rows(), 1);
  CHECK(tells(words([&] { amg{.sweeps = 0}.setup(A); }), "amg{.sweeps = 0"));
  CHECK(tells(words([&] { amg{.strength = 0}.setup(A); }), "strength is above 0 and at most 1"));
  CHECK(tells(words([&] { amg{}.setup(sla::from_triplets<double>(2, 3, {0, 1}, {0, 1}, {1.0, 1.0})); }), "A is 2 x 3, and must be square"));
  auto zero = A;
  zero.pattern().view().for_row(7, [&](index_t s, index_t) { zero.values()[s] = 0; });
  CHECK(tells(words([&] { (void)sla::solve(zero, b, sla::cg{}, amg{}); }), "amg: the diagonal entry of row 7 is zero or not stored"));
  CHECK(tells(words([&] { amg{}.setup(sla::stack_batch(A, zero)); }), "row 7 is zero or not stored; permute rows so that none is, or use ilu0, lu, or row_norms with minres (batch item 1)"));
  auto nan = A;
  nan.values()[3] = std::nan("");
  CHECK(tells(words([&] { (void)sla::solve(nan, b, sla::cg{}, amg{}); }), "every entry must be a finite number"));
  auto const indefinite = suite::shifted(A, -0.5);
  CHECK(sla::try_solve(indefinite, b, sla::cg{}, amg{.coarsest = 5}).report.reason() != sla::reason::converged);
  auto const minus = sla::sparse_tensor<double>(-1.0 * A);
  CHECK(sla::try_solve(minus, b, sla::cg{}, amg{}).report.reason() == sla::reason::indefinite_matrix);
}

TEST_CASE("amg with levels in float: a cycle near that of double, under a double method, of numbers of any size") {
  auto const A = sla::problems::checkerboard({60, 60}, 1e4, 6);
  auto const b = sla::random<double>(A.rows(), 1);
  auto const M = amg{}.setup(A);
  auto F = sla::amg_in<float>{}.setup(A);
  sla::vector<double> const z = M * b, f = F * b;
  CHECK(sla::norm_inf(z - f) <= 1e-3 * sla::norm_inf(z));
  CHECK(sla::norm_inf(z - f) > 1e-12 * sla::norm_inf(z));  // it is float
  CHECK(4 * F.bytes() < 3 * M.bytes());
  for (double size : {1e-200, 1e200}) {
    sla::vector<double> const scaled = F * (size * b);
    CHECK(oracle::distance(sla::vector<double>(scaled / size), f) <= 1e-5 * sla::norm_inf(f));
  }
  sla::vector<double> const none = F * sla::zeros<double>(b.size());
  CHECK(sla::norm_inf(none) == 0);
  int const in_double = iterations(A, sla::cg{.rtol = 1e-10}), in_float = iterations(A, sla::cg{.rtol = 1e-10}, sla::amg_in<float>{});
  CHECK(std::abs(in_double - in_float) <= 2);
  F.update(4.0 * A);
  CHECK(oracle::distance(sla::vector<double>(4.0 * (F * b)), f) <= 1e-5 * sla::norm_inf(f));
  auto const Z = suite::complex_problem<sla::cg>(12);
  CHECK(sla::try_solve(Z, sla::random<complex_t>(Z.rows(), 5), sla::cg{}, sla::amg_in<float>{.coarsest = 5}).report.converged());
  std::ostringstream out;
  out << F;
  CHECK(tells(out.str(), "SPAI-0 in float"));
}

TEST_CASE("amg gives the same bits on any number of threads") {
  suite::same_bits_on_threads(sla::problems::checkerboard({280, 280}, 100.0, 8));
}

TEST_CASE("amg serves several threads at once by one object") {
  auto const A = sla::problems::poisson({50, 50});
  auto const M = amg{.cycle = sla::amg_cycle::W, .coarsest = 20}.setup(A);
  auto const b = sla::random<double>(A.rows(), 1);
  sla::vector<double> const alone = M * b;
  std::vector<int> different(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 20; ++k) {
        sla::vector<double> const z = M * b;
        different[t] += !std::equal(z.begin(), z.end(), alone.begin());
      }
    });
  for (auto& thread : threads) thread.join();
  for (int count : different) CHECK(count == 0);
}

TEST_CASE("amg on real matrices: power network, building, reservoir, tokamak, plasma") {
  for (auto const* name : {"1138_bus.mtx", "nos5.mtx"}) {
    auto const A = sla::read_matrix_market<double>(data(name));
    auto const b = sla::random<double>(A.rows(), 1);
    auto const [x, report] = sla::try_solve(A, b, sla::cg{.rtol = 1e-8}, amg{.coarsest = 20});
    INFO(name << ": " << report);
    CHECK(report.converged());
    CHECK(report.iterations() < sla::try_solve(A, b, sla::cg{.rtol = 1e-8}, sla::jacobi{}).report.iterations());
  }
  for (auto const* name : {"orsirr_1.mtx", "utm300.mtx"}) {
    auto const A = sla::read_matrix_market<double>(data(name));
    auto const M = amg{.coarsest = 20}.setup(A);
    amg_adjoint_agrees(M, sla::random<double>(A.rows(), 1), sla::random<double>(A.rows(), 2));
  }
  CHECK(iterations(sla::read_matrix_market<double>(data("orsirr_1.mtx")), sla::gmres{.rtol = 1e-8}, amg{.coarsest = 20}) > 0);
  auto const Z = sla::read_matrix_market<complex_t>(data("mhd1280b.mtx"));
  amg_adjoint_agrees(amg{.coarsest = 20}.setup(Z), sla::random<complex_t>(Z.rows(), 1), sla::random<complex_t>(Z.rows(), 2));
}

TEST_CASE("amg prints its levels") {
  auto const s = sla::prepare(sla::problems::poisson({60, 60}), sla::cg{}, amg{});
  std::ostringstream out;
  out << s.preconditioner();
  INFO(out.str());
  auto const sizes = s.preconditioner().levels();
  CHECK(tells(out.str(), "amg: smoothed aggregation, V-cycle of 3 levels, grid complexity 1."));
  CHECK(tells(out.str(), "        3600 rows        17760 entries   1 + 1 SPAI-0, "));
  CHECK(tells(out.str(), "dense inverse"));
  CHECK(sizes.size() == 3);
  CHECK(sizes[0].entries == 17760);
  CHECK(s.preconditioner().operator_complexity() < 1.5);
  CHECK(s.preconditioner().bytes() > 17760 * 12);
  CHECK(tells(s.try_solve(sla::ones<double>(3600)).report.preconditioner, "amg, V-cycle of 3 levels, smoothed aggregation"));
}
