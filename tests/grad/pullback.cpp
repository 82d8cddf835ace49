// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cotangents of whole functions from a given cotangent of their value: <w, J d> = <J^H w, d>, with J d by forward mode, and the
// seed 1 is the gradient.
#include <sla/grad.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace pullback {
namespace {

using namespace sla;
using complex_t = std::complex<double>;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a seed is carried back through products, elementwise operations and solves") {
  auto const A = problems::convection_diffusion<double>({5, 4}, {3.0, 1.0});
  auto const x = random<double>({20}, 1), w = random<double>({20}, 2), dx = random<double>({20}, 3);
  auto const dA = with_values(A, random<double>({A.nnz()}, 4));
  auto const f = [](auto const& a, auto const& v) { return exp(a * v) * v - solve(a, v); };
  auto const [y, gA, gx] = vjp(f, std::tie(A, x), w);
  auto const [z, dz] = jvp(f, std::tie(A, x), std::tie(dA, dx));
  CHECK(double(norm(y - z)) == 0);
  CHECK(std::abs(detail::pairing(w, dz) - detail::pairing(gA, dA) - detail::pairing(gx, dx)) <= 1e-10 * (1 + std::abs(detail::pairing(w, dz))));
}

TEST_CASE("seeds are numbers of numbers, on the pattern of sparse values, and complex") {
  auto const x = random<double>({6}, 1), dx = random<double>({6}, 2);
  auto const loss = [](auto const& v) { return sum(exp(v)); };
  auto const [value, g] = value_and_gradient(loss, x);
  auto const [same, twice] = vjp(loss, std::tie(x), 2);
  CHECK(same == value);
  CHECK(double(norm(twice - 2.0 * g)) == 0);

  auto const A = problems::convection_diffusion<double>({4, 3}, {3.0, 1.0});
  auto const d = random<double>({12}, 3), dd = random<double>({12}, 4);
  auto const W = with_values(A, random<double>({A.nnz()}, 5));
  auto const scaled = [&](auto const& s) { return scale_rows(A, s); };
  auto const [S, gs] = vjp(scaled, std::tie(d), W);
  auto const [T, dT] = jvp(scaled, std::tie(d), std::tie(dd));
  CHECK(std::abs(detail::pairing(W, dT) - detail::pairing(gs, dd)) <= 1e-12);

  auto const c = random<complex_t>({6}, 6), dc = random<complex_t>({6}, 7), u = random<complex_t>({6}, 8);
  auto const [e, gc] = vjp(op::exp{}, std::tie(c), u); // an operation stands for its rule
  auto const [e2, de] = jvp(op::exp{}, std::tie(c), std::tie(dc));
  CHECK(std::abs(detail::pairing(u, de) - detail::pairing(gc, dc)) <= 1e-12);
}

TEST_CASE("what depends on no argument has zero cotangents, and a seed of another size is refused") {
  auto const x = random<double>({6}, 1), w = random<double>({6}, 2);
  auto const [y, g] = vjp([&](auto const&) { return w; }, std::tie(x), w);
  CHECK(double(norm(y - w)) == 0);
  CHECK((g.size() == 6 && double(norm(g)) == 0));
  auto const f = [](auto const& v) { return 2.0 * v; };
  CHECK_THROWS_WITH(vjp(f, std::tie(x), random<double>({5}, 3)), ContainsSubstring("the seed has extents 5, what f returns 6"));
}

} // namespace
} // namespace pullback
