// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients through factors that are kept: lu(A), cholesky(A), ldlt(A) of a traced A.
#include <sla/grad.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "suites/gradient.hpp"

using namespace sla;
using gradient::direction;

TEST_CASE("factors that are kept, of a traced matrix") {
  auto const A = read_matrix_market<double>(data("utm300.mtx"));
  auto const b = random<double>(A.rows(), 1), w = random<double>(A.rows(), 2);
  auto const [value, gA, gb] = value_and_gradient([&](auto const& B, auto const& c) { return dot(w, lu(B).solve(c)); }, A, b);
  auto const s = lu(A);
  auto const [vA, vb] = vjp(op::solve{}, s, s.solve(b), w);
  CHECK(double(norm(gb - s.solve_transpose(w))) <= 1e-12 * double(norm(gb)));
  CHECK(double(norm(gb - vb)) <= 1e-12 * double(norm(gb)));
  CHECK(double(norm(values(gA) - values(vA))) <= 1e-12 * double(norm(values(gA))));
}

TEST_CASE("new values for kept factors: solves that are recorded keep theirs") {
  auto const S = problems::poisson<double>({9, 9});
  auto const b = random<double>(S.rows(), 1);
  auto const f = [](auto const& B, auto const& c) {
    auto factors = cholesky(B);
    auto const x = factors.solve(c);
    factors.refactor(2.0 * B);
    return 0.5 * squared_norm(factors.solve(x)) + sum(ldlt(B).solve_transpose(x));
  };
  auto const [value, gS, gb] = value_and_gradient(f, S, b);
  CHECK(value == Approx(double(f(S, b))).epsilon(1e-10));
  CHECK(gradient::taylor_rate([&](auto const& B) { return f(B, b); }, S, gS, direction(S, 4, true), 1e-2) == Approx(2).margin(0.05));
  CHECK(gradient::taylor_rate([&](auto const& c) { return f(S, c); }, b, gb, random<double>(S.rows(), 2), 1e-1) == Approx(2).margin(0.05));
}
