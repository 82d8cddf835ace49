// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A gradient through a solve with batches of blocks: Taylor remainders of rate 2.0 +- 0.05.
#include <sla/grad.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

using namespace sla;
using gradient::direction;
using gradient::taylor_rate;

TEST_CASE("batches of blocks") {
  auto const A = to_batch<2>(to_blocks<2, 2>(problems::convection_diffusion<double>({8, 8}, {3.0, 1.0})));
  auto const b = random<double, Extents<2, dyn, 2>>(A.range(), 1), w = random<double, Extents<2, dyn, 2>>(A.range(), 2);
  auto const f = [&](auto const& B, auto const& c) { return dot(w, solve(B, c, gmres{.rtol = 1e-11}, jacobi{})); };
  auto const [value, gA, gb] = value_and_gradient(f, A, b);
  CHECK(value == Approx(gradient::pairing(gb, b)).epsilon(10 * 1e-11 * 1e3));
  CHECK(taylor_rate([&](auto const& B) { return f(B, b); }, A, gA, direction(A, 4), 1e-3) == Approx(2).margin(0.05));
}
