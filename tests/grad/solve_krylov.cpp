// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients through the methods for unsymmetric matrices, with several right-hand sides, and transposed.
// Taylor remainders of rate 2.0 +- 0.05, and <gb, d> against the solution for d, to 10 x tolerance x condition estimate.
#include <sla/grad.hpp>
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/fgmres.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/composed/inner.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/solve/precond/row_norms.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "suites/gradient.hpp"

using namespace sla;
using gradient::direction;
using gradient::taylor_rate;

TEST_CASE("gmres with ilu0 on an unsymmetric matrix") {
  auto A = read_matrix_market<double>(data("orsirr_1.mtx"));
  A = A / double(norm_inf(values(A)));
  auto const b = random<double>(A.rows(), 1), target = random<double>(A.rows(), 2);
  auto const misfit = [&](auto const& B, auto const& c) { return squared_norm(solve(B, c, gmres{.rtol = 1e-11}, ilu0{}) - target) * 1e-4; };
  auto const [value, gA, gb] = value_and_gradient(misfit, A, b);
  CHECK(taylor_rate([&](auto const& c) { return misfit(A, c); }, b, gb, random<double>(A.rows(), 3), 1.0) == Approx(2).margin(0.05));
  auto const d = with_values(A, values(direction(A, 4)) * values(A));  // relative to the entries
  CHECK(taylor_rate([&](auto const& B) { return misfit(B, b); }, A, gA, d, 1e-4) == Approx(2).margin(0.05));
}

TEST_CASE("bicgstab, transposed and several right-hand sides") {
  auto const A = problems::convection_diffusion<double>({12, 12}, {3.0, 1.0});  // condition below 1e3
  auto const b = random<double, Extents<dyn, 2>>({A.rows(), 2}, 1), w = random<double, Extents<dyn, 2>>({A.rows(), 2}, 2);
  auto const f = [&](auto const& B, auto const& c) {
    auto const s = prepare(B, bicgstab{.rtol = 1e-11}, jacobi{});
    return dot(w, s.solve_transpose(c));
  };
  auto const [value, gA, gb] = value_and_gradient(f, A, b);
  auto const d = random<double, Extents<dyn, 2>>({A.rows(), 2}, 3);
  CHECK(double(f(A, d)) == Approx(gradient::pairing(gb, d)).epsilon(10 * 1e-11 * 1e3));  // linear in b
  CHECK(taylor_rate([&](auto const& B) { return f(B, b); }, A, gA, direction(A, 4), 1e-3) == Approx(2).margin(0.05));
}

TEST_CASE("minres on an indefinite matrix, fgmres with an inner iteration, multigrid: the directional derivative by b") {
  auto const A = problems::convection_diffusion<double>({9, 9}, 0.5);
  auto S = problems::poisson<double>({9, 9});
  auto const diagonal = diagonal_positions(S.pattern());
  for (index_t i = 0; i < S.rows(); ++i) S.values()[diagonal[i]] -= 1.3;
  auto const b = random<double>(A.rows(), 1), w = random<double>(A.rows(), 2), d = random<double>(A.rows(), 3);
  auto const check = [&](auto const& matrix, auto const& method, auto const& p) {
    auto const f = [&](auto const& c) { return dot(w, solve(matrix, c, method, p)); };
    auto const [value, gb] = value_and_gradient(f, b);
    CHECK(double(f(d)) == Approx(gradient::pairing(gb, d)).epsilon(1e-7));
  };
  check(S, minres{.rtol = 1e-11}, row_norms{});
  check(A, fgmres{.rtol = 1e-11}, inner(bicgstab{.rtol = 0.1}, jacobi{}));
  check(A, bicgstab{.rtol = 1e-11}, amg{.coarsest = 5});
  check(problems::poisson<double>({9, 9}), cg{.rtol = 1e-11}, amg{.coarsest = 5});
}
