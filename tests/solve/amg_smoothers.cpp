// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preconditioners as smoothers of multigrid: the cycle keeps its adjoint and its symmetry with each of them, and takes fewer iterations;
// and symmetric Gauss-Seidel by colours and in parts, against its dense matrix.
#include <algorithm>
#include <complex>
#include <limits>
#include <sstream>
#include <string>

#include "suites/grid_problems.hpp"
#include "suites/krylov.hpp"
#include "suites/messages.hpp"
#include "suites/multigrid.hpp"

#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/solve/precond/block_jacobi.hpp>
#include <sla/solve/precond/composed/chebyshev.hpp>
#include <sla/solve/precond/composed/gauss_seidel.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/ssor.hpp>

using suite::tells, suite::words;
using sla::dyn, sla::index_t, sla::amg, sla::gauss_seidel;
using complex_t = std::complex<double>;

namespace {
/// <M x, y> = <x, M^H y>, and M^H = M where M ought to be Hermitian.
template <class T, class P>
void smoothed_adjoint_agrees(sla::sparse_tensor<T> const& A, P const& options, bool hermitian) {
  auto const M = options.setup(A);
  auto const x = sla::random<T>(A.rows(), 1), y = sla::random<T>(A.rows(), 2);
  sla::vector<T> const mx = M * x, my = M * y, hy = M.adjoint() * y;
  auto const left = sla::eval(sla::dot(mx, y)), right = sla::eval(sla::dot(x, hy));
  CHECK(std::abs(left - right) <= 1e-11 * sla::norm(mx) * sla::norm(y));
  if (hermitian) CHECK(std::abs(left - sla::eval(sla::dot(x, my))) <= 1e-11 * sla::norm(mx) * sla::norm(y));
}
/// (D + U)^-1 D (D + L)^-1 x by dense algebra; before(i, j): is row j swept before row i? D is enlarged by what is `outside`.
template <class T, class Before, class Outside>
std::vector<T> dense_gauss_seidel(sla::sparse_tensor<T> const& A, sla::vector<T> const& x, Before const& before, Outside const& outside) {
  index_t const n = A.rows();
  auto const a = oracle::dense(A);
  std::vector<T> lower(a.size()), upper(a.size()), diagonal(static_cast<std::size_t>(n));
  auto const at = [n](index_t i, index_t j) { return std::size_t(i * n + j); };
  for (index_t i = 0; i < n; ++i) {
    double beside = 0;
    for (index_t j = 0; j < n; ++j) {
      if (outside(i, j))
        beside += std::abs(a[at(i, j)]);
      else if (i != j)
        (before(i, j) ? lower : upper)[at(i, j)] = a[at(i, j)];
    }
    diagonal[std::size_t(i)] = lower[at(i, i)] = upper[at(i, i)] = a[at(i, i)] * (1 + beside / std::abs(a[at(i, i)]));
  }
  auto half = oracle::solution(lower, std::vector<T>(x.begin(), x.end()), n);
  for (index_t i = 0; i < n; ++i) half[std::size_t(i)] *= diagonal[std::size_t(i)];
  return oracle::solution(upper, half, n);
}
}  // namespace

TEST_CASE("gauss_seidel by colours and in parts is what dense algebra says, and has the adjoint that it says") {
  auto const check = [](auto const& A, bool hermitian) {
    using T = typename std::remove_cvref_t<decltype(A)>::value_type;
    auto const x = sla::random<T>(A.rows(), 3);
    // A grid of 9 x 7 points has two colours, as a chessboard.
    auto const colour = [](index_t i) { return (i / 7 + i % 7) % 2; };
    auto const coloured = gauss_seidel{}.setup(A);
    CHECK(coloured.groups() == 2);
    CHECK(tells(coloured.remark(), "in 2 colours"));
    auto const dense = dense_gauss_seidel(A, x, [=](index_t i, index_t j) { return colour(j) < colour(i); }, [](index_t, index_t) { return false; });
    CHECK(oracle::distance(sla::vector<T>(coloured * x), dense) <= 1e-13);
    auto const in_parts = gauss_seidel{.part = 10}.setup(A);
    CHECK(in_parts.groups() == 7);
    auto const parts = dense_gauss_seidel(A, x, [](index_t i, index_t j) { return j < i; }, [](index_t i, index_t j) { return i / 10 != j / 10; });
    CHECK(oracle::distance(sla::vector<T>(in_parts * x), parts) <= 1e-13);
    for (index_t part : {index_t(0), index_t(1), index_t(10), index_t(1000)}) smoothed_adjoint_agrees(A, gauss_seidel{.part = part}, hermitian);
    CHECK(oracle::distance(sla::vector<T>(gauss_seidel{.part = 1000}.setup(A) * x), sla::vector<T>(sla::ssor{}.setup(A) * x)) <= 1e-13);
  };
  auto const A = sla::problems::checkerboard({9, 7}, 10.0, 3);
  check(A, true);
  check(sla::problems::convection_diffusion({9, 7}, 3.0), false);
  auto Z = sla::cast<complex_t>(A);
  for (auto& v : Z.values()) v *= complex_t(1, 0.3);
  check(Z, false);
}

TEST_CASE("gauss_seidel solves with cg on any space, in batches, blocks and of new values, with the same bits on any number of threads") {
  for (index_t part : {0, 16}) {
    gauss_seidel const options{.part = part};
    auto const A = suite::problem<sla::cg>(11);
    suite::same_everywhere(A, sla::random<double>(A.rows(), 1), sla::cg{}, options, 1e-7);
    auto const B = suite::batched_problem<sla::cg>(8);
    suite::same_everywhere(B, sla::random<double, sla::Extents<2, dyn, dyn>>({2, B.rows(), 3}, 3), sla::cg{}, options, 1e-7);
    auto const [E, e] = suite::everything_at_once<sla::bicgstab>();
    suite::same_everywhere(E, e, sla::bicgstab{}, options, 1e-6);
    auto M = options.setup(A);
    auto const b = sla::random<double>(A.rows(), 2);
    sla::vector<double> const before = M * b;
    M.update(4.0 * A);
    CHECK(oracle::distance(sla::vector<double>(4.0 * (M * b)), before) <= 1e-15);
    auto bare = A;
    bare.values()[0] = 0;
    CHECK(tells(words([&] { M.update(bare); }), "gauss_seidel: the diagonal entry of row 0 is zero or not stored"));
    CHECK(oracle::distance(sla::vector<double>(4.0 * (M * b)), before) <= 1e-15);
  }
  CHECK(tells(words([] { (void)gauss_seidel{.part = -1}.setup(sla::problems::poisson({3})); }), "gauss_seidel{.part = -1}"));
  CHECK(sla::vector<double>(gauss_seidel{}.setup(sla::problems::poisson({0})) * sla::vector<double>(0)).size() == 0);
  auto const A = sla::problems::checkerboard({220, 220}, 100.0, 8);
  auto const b = sla::random<double>(A.rows(), 1);
  for (index_t part : {0, 1000}) {
    auto const apply = [&](int threads) {
      sla::set_threads(threads);
      sla::vector<double> z = gauss_seidel{.part = part}.setup(A) * b;
      sla::set_threads(0);
      return z;
    };
    auto const one = apply(1), three = apply(3);
    CHECK(std::equal(one.begin(), one.end(), three.begin()));
  }
}

TEST_CASE("amg has the adjoint that it says with every smoother, cycle and coarsening") {
  auto const symmetric = sla::problems::checkerboard({12, 12}, 100.0, 4), transport = sla::problems::convection_diffusion({12, 12}, 3.0);
  auto const hermitian = suite::complex_problem<sla::cg>(9), general = suite::complex_problem<sla::gmres>(9);
  for (auto cycle : {sla::amg_cycle::V, sla::amg_cycle::W, sla::amg_cycle::F, sla::amg_cycle::amli})
    for (auto coarsening : {sla::amg_coarsening::smoothed, sla::amg_coarsening::plain, sla::amg_coarsening::classical})
      for (int sweeps : {1, 2}) {
        bool const same = cycle != sla::amg_cycle::F;  // its adjoint has the visits in the other order
        auto const of = [&](sla::amg_smoother const& smoother) { return amg{.cycle = cycle, .smoother = smoother, .coarsening = coarsening, .sweeps = sweeps, .coarsest = 5}; };
        for (sla::amg_smoother const& smoother : {sla::amg_smoother(gauss_seidel{}), sla::amg_smoother(gauss_seidel{.part = 20}), sla::amg_smoother(sla::ssor{}),
                                                  sla::amg_smoother(sla::ilu0{}), sla::amg_smoother(sla::block_jacobi{})}) {
          INFO(to_string(smoother));
          smoothed_adjoint_agrees(symmetric, of(smoother), same);
          smoothed_adjoint_agrees(transport, of(smoother), false);
          smoothed_adjoint_agrees(hermitian, of(smoother), same);
          smoothed_adjoint_agrees(general, of(smoother), false);
        }
        smoothed_adjoint_agrees(symmetric, of(sla::chebyshev{.degree = 2}), same);  // A is Hermitian for it
        smoothed_adjoint_agrees(hermitian, of(sla::chebyshev{.degree = 2}), same);
      }
}

TEST_CASE("amg is a contraction in the norm of A with smoothers that converge for every definite A") {
  auto const A = sla::problems::checkerboard({18, 18}, 100.0, 6);
  for (sla::amg_smoother const& smoother : {sla::amg_smoother(gauss_seidel{}), sla::amg_smoother(gauss_seidel{.part = 20}), sla::amg_smoother(sla::ssor{}),
                                            sla::amg_smoother(sla::chebyshev{.degree = 2, .ratio = 10})}) {
    suite::contracts(amg{.smoother = smoother, .coarsest = 5}.setup(A), A);
  }
}

TEST_CASE("amg with a preconditioner as its smoother: updates, transposes, and errors that name the level") {
  auto const transport = sla::problems::convection_diffusion({12, 12}, 3.0);
  auto const b = sla::random<double>(144, 3);
  auto s = sla::prepare(transport, sla::bicgstab{.rtol = 1e-10}, amg{.smoother = sla::ilu0{}, .coarsest = 5});
  suite::is_dense_solution(transport, b, s.solve(b), 1e-7);
  suite::is_dense_solution(sla::transposed(transport), b, s.solve_transpose(b), 1e-7);
  s.update(2.0 * transport);
  suite::is_dense_solution(sla::sparse_tensor<double>(2.0 * transport), b, s.solve(b), 1e-7);
  auto const said = words([&] { (void)amg{.smoother = sla::chebyshev{}, .coarsest = 5}.setup(transport); });
  CHECK(tells(said, "chebyshev: A is not symmetric"));
  CHECK(tells(said, "(the smoother of level 0 of amg)"));
  // Levels, right-hand sides and batches beside each other, by the suite of every preconditioner.
  auto const B = suite::batched_problem<sla::cg>(8);
  suite::same_everywhere(B, sla::random<double, sla::Extents<2, dyn, dyn>>({2, B.rows(), 3}, 3), sla::cg{}, amg{.smoother = gauss_seidel{}, .coarsest = 5}, 1e-7);
  CHECK(std::string(to_string(sla::amg_smoother(gauss_seidel{}))) == "gauss_seidel");
}

TEST_CASE("amg of transport that leaves its smoother open is smoothed by incomplete factors where couplings point one way, and by its diagonal elsewhere") {
  auto const printed = [](auto const& M) {
    std::ostringstream out;
    out << M;
    return out.str();
  };
  auto const apart = [](auto const& A, amg options, sla::amg_smoother const& like) {  // of M b by the open smoother and by another
    using T = typename std::remove_cvref_t<decltype(A)>::value_type;
    auto const b = sla::random<T>(A.rows(), 3);
    sla::vector<T> const open = options.setup(A) * b;
    options.smoother = like;
    return double(sla::norm(sla::vector<T>(open - options.setup(A) * b)));
  };
  amg const small{.coarsest = 20};
  auto const turning = suite::recirculating(20, 1e-3), slow = sla::problems::convection_diffusion({20, 20}, 0.1);
  // Of double, factors are in float; but not those that float does not hold.
  CHECK(apart(turning, small, sla::ilu0{}) > 0);
  CHECK(apart(turning, small, sla::ilu0{}) <= 1e-5 * double(sla::norm(sla::vector<double>(small.setup(turning) * sla::random<double>(400, 3)))));
  for (double size : {1e-35, 1e35}) CHECK(apart(sla::sparse_tensor<double>(size * turning), small, sla::ilu0{}) == 0);
  CHECK(apart(sla::cast<float>(turning), small, sla::ilu0{}) == 0);
  // They are counted, and named.
  auto const open = small.setup(turning), plain = amg{.smoother = sla::amg_smoother::spai0, .coarsest = 20}.setup(turning), whole = amg{.smoother = sla::ilu0{}, .coarsest = 20}.setup(turning);
  CHECK(open.bytes() >= plain.bytes() + std::size_t(4 * turning.nnz()));
  CHECK(whole.bytes() >= open.bytes() + std::size_t(4 * turning.nnz()));
  CHECK(tells(open.remark(), ", smoother ilu0"));
  CHECK(!tells(plain.remark(), "smoother"));
  CHECK(apart(turning, small, sla::amg_smoother::spai0) > 0);
  CHECK(apart(slow, small, sla::amg_smoother::spai0) == 0);
  CHECK(apart(sla::problems::poisson({20, 20}), small, sla::amg_smoother::spai0) == 0);
  CHECK(apart(suite::complex_problem<sla::gmres>(9), small, sla::amg_smoother::spai0) == 0);
  CHECK(apart(turning, {.coarsest = 20, .coarse_only = true}, sla::amg_smoother::spai0) == 0);
  smoothed_adjoint_agrees(turning, small, false);
  CHECK(tells(printed(small.setup(turning)), "1 + 1 ilu0"));
  CHECK(tells(printed(small.setup(slow)), "1 + 1 SPAI-0"));
  // New values decide anew.
  auto M = small.setup(turning);
  sla::sparse_tensor<double> same = turning;
  std::fill(same.values().begin(), same.values().end(), -1.0);
  for (index_t i = 0; i < same.rows(); ++i)
    for (auto s = same.pattern().row_ptr[i]; s < same.pattern().row_ptr[i + 1]; ++s)
      if (same.pattern().col[s] == i) same.values()[s] = 4.5;
  M.update(same);
  CHECK(tells(printed(M), "1 + 1 SPAI-0"));
  M.update(turning);
  CHECK(tells(printed(M), "1 + 1 ilu0"));
  // Factors of central differences at a cell Peclet number of 5 are unstable: by them no method converges.
  index_t const side = 60;
  sla::triplets<double> central(side * side, side * side);
  for (index_t i = 0; i < side * side; ++i) {
    central.add(i, i, 4.0);
    for (index_t step : {index_t(1), side}) {
      bool const has_next = step == 1 ? i % side + 1 < side : i + side < side * side;
      if (has_next) central.add(i + step, i, -6.0), central.add(i, i + step, 4.0);
    }
  }
  auto const strong = central.build();
  CHECK(tells(printed(amg{}.setup(strong)), "1 + 1 SPAI-0"));
  CHECK(sla::try_solve(strong, sla::random<double>(strong.rows(), 1), sla::bicgstab{.rtol = 1e-8}, amg{}).report.iterations() <= 120);
  // One row that is coupled to all others is no matter; some that are make them dear.
  for (index_t const hubs : {1, 60}) {
    index_t const many = 3000;
    sla::triplets<double> t(many, many);
    for (index_t i = 0; i < many; ++i) t.add(i, i, 4.0);
    for (index_t h = 0; h < hubs; ++h)
      for (index_t i = h + 1; i < many; ++i) t.add(i, h, -1.0 / double(hubs)), t.add(h, i, -1e-4);
    for (index_t i = hubs + 1; i < many; ++i) t.add(i, i - 1, -1.0);
    CHECK(tells(printed(small.setup(t.build())), hubs == 1 ? "1 + 1 ilu0" : "1 + 1 SPAI-0"));
  }
  // The second pivot of ILU(0) is 0: that level keeps its diagonal.
  sla::triplets<double> t(40, 40);
  for (index_t i = 0; i < 40; ++i) t.add(i, i, i == 1 ? 1.0 : 4.0);
  for (index_t i = 1; i < 40; ++i) t.add(i, i - 1, i == 1 ? -2.0 : -3.0), t.add(i - 1, i, i == 1 ? -2.0 : -0.1);
  auto const singular = t.build();
  CHECK_THROWS_AS(sla::ilu0{}.setup(singular), sla::value_error);
  CHECK(tells(printed(amg{.coarsest = 5}.setup(singular)), "1 + 1 SPAI-0"));
}

TEST_CASE("levels are multiplied and transposed, for the first time and again, as plans do it, on one thread and on three") {
  auto const check = [](auto const& A, auto const& B) {
    using T = typename std::remove_cvref_t<decltype(A)>::value_type;
    for (int threads : {1, 3}) {
      sla::set_threads(threads);
      auto const C = sla::detail::multiplied_at_once(A, B);
      auto const again = sla::detail::multiplied_on(C.shared_pattern(), A, B);
      auto const H = sla::detail::adjoint_on_pattern(A);
      sla::set_threads(0);
      sla::multiply_plan const plan(A, B);
      CHECK(same_pattern(C.pattern(), *plan.shared_pattern()));
      auto const D = plan(A, B);
      CHECK(std::equal(C.values().begin(), C.values().end(), D.values().begin(), D.values().end()));
      CHECK(std::equal(again.values().begin(), again.values().end(), D.values().begin(), D.values().end()));
      auto const transposed = sla::adjointed(A);
      CHECK(same_pattern(H.pattern(), transposed.pattern()));
      CHECK(std::equal(H.values().begin(), H.values().end(), transposed.values().begin(), transposed.values().end()));
      auto const sum = sla::detail::sum_of(sla::sparse_tensor<T>(A), H), same = add(1.0, A, 1.0, transposed);
      CHECK(std::equal(sum.values().begin(), sum.values().end(), same.values().begin(), same.values().end()));
    }
  };
  auto const flow = suite::recirculating(90, 1e-3);
  check(flow, flow);
  check(suite::recirculating(190, 1e-3), suite::recirculating(190, 1e-3));  // rows enough for threads to share them
  check(sla::multiply_plan(flow, flow)(flow, flow), flow);  // rows of 13 entries times 5
  check(suite::shuffled(flow), flow);
  auto const Z = suite::complex_problem<sla::gmres>(9);
  check(Z, Z);
  sla::triplets<double> t(50, 50);  // one entry without a partner, a row without a diagonal entry, a long row and an empty one
  for (index_t i = 0; i < 48; ++i) t.add(i, (i + 1) % 48, 1.0 + double(i)), t.add((i + 1) % 48, i, 2.0);
  t.add(3, 40, -1.0);
  for (index_t j = 0; j < 50; ++j) t.add(48, j, double(j));
  auto const odd = t.build();
  CHECK(sla::detail::adjoint_on_pattern(odd).shared_pattern() != odd.shared_pattern());
  CHECK(sla::detail::adjoint_on_pattern(flow).shared_pattern() == flow.shared_pattern());
  check(odd, odd);
}

TEST_CASE("amg takes new values on the pattern of the set-up alone, whatever its levels are") {
  auto const grid = sla::problems::poisson<double>({120, 110}), flow = suite::recirculating(40, 1e-3);
  auto const coupled = [](auto const& A, index_t i, double value) {  // with a far point
    index_t const last = A.rows() - 1;
    sla::sparse_tensor<double> const far = sla::from_triplets<double>(A.rows(), A.cols(), {i, last}, {last, i}, {value, value});
    return add(1.0, A, 1.0, far);
  };
  auto const printed = [](auto const& M) {
    std::ostringstream out;
    out << M;
    return out.str();
  };
  auto const check = [&](auto const& A, auto const& options, char const* coarsening) {
    auto M = options.setup(coupled(A, 0, -0.1));
    INFO(printed(M));
    CHECK(tells(printed(M), coarsening));
    auto const r = sla::random<double>(A.rows(), 1);
    M.update(coupled(A, 0, -0.2));
    sla::vector<double> const before = M * r;
    CHECK_THROWS_WITH(M.update(coupled(A, 1, -0.1)), Catch::Matchers::ContainsSubstring("another pattern than that of the set-up"));
    CHECK(oracle::distance(sla::vector<double>(M * r), before) == 0);
  };
  check(grid, amg{}, "plain aggregation");
  check(grid, amg{.coarsening = sla::amg_coarsening::smoothed}, "smoothed aggregation");
  check(grid, amg{.coarsening = sla::amg_coarsening::classical}, "classical");
  check(grid, amg{.coarsening = sla::amg_coarsening::plain}, "plain aggregation");
  check(flow, amg{}, "smoothed aggregation");
}

TEST_CASE("gauss_seidel of numbers of any size, and in one part of any length") {
  auto const A = sla::problems::poisson({10, 9});
  auto const b = sla::random<double>(A.rows(), 1);
  sla::vector<double> const z = gauss_seidel{}.setup(A) * b, whole = gauss_seidel{.part = A.rows()}.setup(A) * b;
  auto const endless = gauss_seidel{.part = std::numeric_limits<index_t>::max()}.setup(A);
  CHECK(endless.groups() == 1);
  CHECK(oracle::distance(sla::vector<double>(endless * b), whole) == 0);
  for (double size : {1e-200, 1e200}) {
    sla::vector<double> const scaled = gauss_seidel{}.setup(sla::sparse_tensor<double>(size * A)) * b;
    CHECK(oracle::distance(sla::vector<double>(size * scaled), z) <= 1e-13 * sla::norm_inf(z));
  }
}
