// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward mode through solves: A dx = db - dA x by the same set-up. <w, J d> = <J^H w, d> to 10 x tolerance x condition estimate,
// Taylor remainders of rate 2.0 +- 0.05; failures that are errors.
#include <sla/grad.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "suites/dual.hpp"

using namespace sla;
using complex_t = std::complex<double>;
using gradient::check_dual;

namespace {
cg const sharp{.rtol = 1e-12};
}

TEST_CASE("cg, prepared, to b and to the values of A") {
  auto const A = problems::poisson<double>({8, 7});  // condition below 100
  auto const b = random<double>(A.rows(), 1);
  check_dual(
      [](auto const& B, auto const& c) {
        auto const s = prepare(B, sharp, jacobi{});
        return eval(s.solve(c) * s.solve_transpose(c));
      },
      std::tie(A, b), {.accuracy = 10 * 1e-12 * 100});
}

TEST_CASE("factors of a complex matrix, plain and adjoint") {
  auto const P = problems::convection_diffusion<double>({5, 4}, {3.0, 1.0});
  auto const A = with_values(P, values(P) + 0.3 * random<complex_t>(P.values().size(), 7));
  auto const b = random<complex_t>(A.rows(), 1);
  check_dual(
      [](auto const& B, auto const& c) {
        auto const s = lu(B);
        return s.solve_adjoint(s.solve(c));
      },
      std::tie(A, b), {.accuracy = 1e-10});
}

TEST_CASE("one set-up for a value and its tangent; of either operand alone") {
  auto const A = problems::poisson<double>({8, 7});
  auto const b = random<double>(A.rows(), 1), db = random<double>(A.rows(), 2);
  auto const dA = with_values(A, 0.1 * values(A));
  auto const s = prepare(A, sharp, jacobi{});
  int setups = 0;
  auto const [x, dx] = jvp(
      [&](auto const& B) {
        auto const p = prepare(B, sharp, jacobi{});
        auto const y = p.solve(b);
        setups = p.setups();
        return y;
      },
      std::tie(A), std::tie(dA));
  CHECK(setups == 1);
  CHECK(double(norm(dx + 0.1 * x)) <= 1e-9 * double(norm(x)));
  auto const [y, dy] = jvp([&](auto const& c) { return s.solve(c); }, std::tie(b), std::tie(db));
  CHECK(double(norm(dy - s.solve(db))) <= 1e-12 * double(norm(dy)));
  CHECK(s.setups() == 1);
  // the rule by itself
  CHECK(double(norm(jvp(op::solve{}, s, x, dA, db) - (dx + dy))) <= 1e-9 * double(norm(dy)));
}

TEST_CASE("a solve for a tangent that fails is an error, never a zero tangent") {
  auto const A = problems::poisson<double>({8, 7});
  auto const b = random<double>(A.rows(), 1), db = random<double>(A.rows(), 2);
  auto const x0 = solve(A, b, sharp, jacobi{});
  // the first solve begins at its solution; the other has 3 iterations for all
  auto const brief = [&](auto const& c) { return solve(A, c, cg{.rtol = 1e-10, .max_iterations = 3}, jacobi{}, initial_guess(x0)); };
  CHECK_NOTHROW(brief(b));
  CHECK_THROWS_AS(jvp(brief, std::tie(b), std::tie(db)), solve_error);
  auto const tried = [&](auto const& c) { return try_solve(A, c, cg{.max_iterations = 3}, jacobi{}).x; };
  CHECK_THROWS_AS(jvp(tried, std::tie(b), std::tie(db)), solve_error);
}
