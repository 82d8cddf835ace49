// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check of a product's pullbacks: <J v, w> = <v, J^H w> to 1e-12 for both operands, in which the product is linear.
#pragma once

#include <sla/grad/call/gradient.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

namespace gradient {

/// Both pullbacks of y = op(A) x, where `apply(A, x)` is that product, plain or traced.
template <class A, class X, class F>
void check_product(A const& a, X const& x, F const& apply) {
  auto const y = sla::eval(apply(a, x));
  using Y = std::remove_const_t<decltype(y)>;
  auto const w = sla::random<typename Y::value_type, typename Y::extents_type>(y.extents(), 5);
  auto const dx = sla::random<typename X::value_type, typename X::extents_type>(x.extents(), 6);
  auto const dA = direction(a, 7);
  auto const [value, gA, gx] = sla::value_and_gradient([&](auto const& b, auto const& z) { return sla::real(sla::dot(w, apply(b, z))); }, a, x);

  CHECK(value == Approx(std::real(sla::eval(sla::dot(w, y)))).epsilon(1e-12));
  CHECK(pairing(sla::eval(apply(a, dx)), w) == Approx(pairing(dx, gx)).epsilon(1e-12));
  CHECK(pairing(sla::eval(apply(dA, x)), w) == Approx(pairing(dA, gA)).epsilon(1e-12));
  CHECK(gA.shared_pattern() == a.shared_pattern());
}
inline auto const times = [](auto const& A, auto const& x) { return A * x; };
inline auto const transpose_times = [](auto const& A, auto const& x) { return transpose(A) * x; };
inline auto const adjoint_times = [](auto const& A, auto const& x) { return adjoint(A) * x; };
inline auto const conj_times = [](auto const& A, auto const& x) { return conj(A) * x; };

}  // namespace gradient
