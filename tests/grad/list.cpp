// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients through solves of a list: traced values on its packed tensor, each system with its own stop test.
#include <sla/grad/call/gradient.hpp>
#include <sla/grad/operation/traced_solve.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/linear/linear_list.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

using namespace sla;

TEST_CASE("solves of lists are differentiated packed") {
  sparse_list const L(std::vector{problems::poisson<double>({4, 5}), problems::poisson<double>({7, 3})});
  auto const b = random<double>(L.packed().rows(), 1);
  auto const f = [&](auto const& A, auto const& y) { return 0.5 * squared_norm(solve(A, y, cg{.rtol = 1e-13}, jacobi{}, per_system(L))); };
  auto const [value, gA, gb] = value_and_gradient(f, L.packed(), b);
  CHECK(gradient::taylor_rate([&](auto const& a) { return f(a, b); }, L.packed(), gA, gradient::direction(L.packed(), 1, true), 0.1) == Approx(2).margin(0.05));
}
