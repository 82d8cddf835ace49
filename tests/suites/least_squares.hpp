// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A method for least squares as somebody outside of the library would write it: the text is one for all spaces.
#pragma once

#include <sla/solve/seam/measure.hpp>
#include <sla/solve/seam/stop.hpp>

namespace suite {

/// CGLS in 25 lines: conjugate gradients for A^H A x = A^H b, by products with A and A^H (Bjorck, Numerical Methods for Least Squares Problems, 7.4).
struct cgls {
  double rtol = 1e-10, atol = 0;
  int max_iterations = 2000;
  sla::observer watch = {};

  using method_tag = void;
  using measure = sla::residual_of_normal_equations;
  static constexpr char const* name = "cgls";
  static constexpr bool needs_square = false;

  template <class S, class A, class M, class V, class X, class MakeStop>
  static auto run(S& space, A const& a, M const&, V const& b, X& x, MakeStop make_stop) {
    using sla::adjoint;  // of an operator of anybody's
    auto r = space.template like<typename V::value_type>(b), q = space.template like<typename V::value_type>(b);
    auto s = space.template like<typename V::value_type>(x), p = space.template like<typename V::value_type>(x);
    auto [ss, bb] = fuse(space, set(r, b - a * x), set(s, adjoint(a) * r), set(p, s), squared_norm_of(s), squared_norm_of(adjoint(a) * b));
    auto stop = make_stop(space, bb);
    while (stop.go_on(ss)) {
      auto [qq] = fuse(space, set(q, a * p), squared_norm_of(q));
      auto alpha = stop.ratio(ss, qq, sla::reason::breakdown);
      auto [ss2] = fuse(space, set(x, x + alpha * p), set(r, r - alpha * q), set(s, adjoint(a) * r), squared_norm_of(s));
      fuse(space, set(p, s + stop.ratio(ss2, ss, sla::reason::breakdown) * p));
      ss = ss2;
    }
    return stop.outcome();
  }
};

} // namespace suite
