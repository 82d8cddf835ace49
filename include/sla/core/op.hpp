// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operations by name: functors on scalars, for host and device, and tags for operations on whole tensors. Expressions
// (expr/), the placement rules (spmd/) and the derivative rules (grad/) all speak of these.
#pragma once

#include <cmath>

#include <sla/core/config.hpp>
#include <sla/core/scalar.hpp>

namespace sla::op {

// Binary, elementwise. The operands promote as in core/scalar.hpp.
struct add {
  template <class A, class B>
  SLA_HD static constexpr auto apply(A a, B b) {
    return promote_t<A, B>(a) + promote_t<A, B>(b);
  }
};
struct sub {
  template <class A, class B>
  SLA_HD static constexpr auto apply(A a, B b) {
    return promote_t<A, B>(a) - promote_t<A, B>(b);
  }
};
struct mul {
  template <class A, class B>
  SLA_HD static constexpr promote_t<A, B> apply(A a, B b) {
    using R = real_t<promote_t<A, B>>;
    if constexpr (is_complex<A> && !is_complex<B>)
      return {R(a.re) * R(b), R(a.im) * R(b)};
    else if constexpr (!is_complex<A> && is_complex<B>)
      return {R(a) * R(b.re), R(a) * R(b.im)};
    else
      return promote_t<A, B>(a) * promote_t<A, B>(b);
  }
};
struct div {
  template <class A, class B>
  SLA_HD static constexpr promote_t<A, B> apply(A a, B b) {
    using R = real_t<promote_t<A, B>>;
    if constexpr (is_complex<A> && !is_complex<B>)
      return {R(a.re) / R(b), R(a.im) / R(b)};
    else
      return promote_t<A, B>(a) / promote_t<A, B>(b);
  }
};
struct pow {
  template <class A, class B>
    requires(!is_complex<A> && !is_complex<B>)
  SLA_HD static auto apply(A a, B b) {
    return std::pow(promote_t<A, B>(a), promote_t<A, B>(b));
  }
};
/// The larger and the smaller of two real numbers; NaN, if one of them is.
struct larger {
  template <class A, class B>
    requires(!is_complex<A> && !is_complex<B>)
  SLA_HD static constexpr promote_t<A, B> apply(A a, B b) {
    promote_t<A, B> const x(a), y(b);
    return x < y || y != y ? y : x;
  }
};
struct smaller {
  template <class A, class B>
    requires(!is_complex<A> && !is_complex<B>)
  SLA_HD static constexpr promote_t<A, B> apply(A a, B b) {
    promote_t<A, B> const x(a), y(b);
    return y < x || y != y ? y : x;
  }
};
// Comparisons of real numbers: 1 where they hold and 0 elsewhere, in the type that the operands promote to.
struct less {
  template <class A, class B>
    requires(!is_complex<A> && !is_complex<B>)
  SLA_HD static constexpr promote_t<A, B> apply(A a, B b) {
    return promote_t<A, B>(a) < promote_t<A, B>(b);
  }
};
struct less_equal {
  template <class A, class B>
    requires(!is_complex<A> && !is_complex<B>)
  SLA_HD static constexpr promote_t<A, B> apply(A a, B b) {
    return promote_t<A, B>(a) <= promote_t<A, B>(b);
  }
};
/// x where c is not 0, y elsewhere.
struct where {
  template <class C, class X, class Y>
  SLA_HD static constexpr promote_t<X, Y> apply(C c, X x, Y y) {
    return c != C(0) ? promote_t<X, Y>(x) : promote_t<X, Y>(y);
  }
};
/// conj(a) * b in the accumulator's precision: the summand of `dot`.
struct inner {
  template <class A, class B>
  SLA_HD static constexpr auto apply(A a, B b) {
    return mul::apply(conj_of(accumulator_t<A>(a)), accumulator_t<B>(b));
  }
};

// Unary, elementwise.
struct neg {
  template <class A>
  SLA_HD static constexpr A apply(A a) {
    return -a;
  }
};
struct conj {
  template <class A>
  SLA_HD static constexpr A apply(A a) {
    return conj_of(a);
  }
};
struct real {
  template <class A>
  SLA_HD static constexpr auto apply(A a) {
    return real_of(a);
  }
};
struct imag {
  template <class A>
  SLA_HD static constexpr auto apply(A a) {
    return imag_of(a);
  }
};
struct abs {
  template <class A>
  SLA_HD static auto apply(A a) {
    return abs_of(a);
  }
};
struct abs2 {
  template <class A>
  SLA_HD static constexpr auto apply(A a) {
    return abs2_of(a);
  }
};
struct exp {
  template <class A>
  SLA_HD static A apply(A a) {
    if constexpr (is_complex<A>) {
      auto const scale = std::exp(a.re);
      return {scale * std::cos(a.im), scale * std::sin(a.im)};
    } else {
      return std::exp(a);
    }
  }
};
struct sqrt {
  template <class A>
  SLA_HD static A apply(A a) {
    if constexpr (is_complex<A>) {
      auto const modulus = abs_of(a);
      auto const re = std::sqrt((modulus + abs_of(a.re)) / 2);
      if (modulus == 0) return {};
      auto const im = a.im / (2 * re);
      return a.re >= 0 ? A{re, im} : A{abs_of(im), a.im < 0 ? -re : re};
    } else {
      return std::sqrt(a);
    }
  }
};
struct log {
  template <class A>
    requires(!is_complex<A>)
  SLA_HD static A apply(A a) {
    return std::log(a);
  }
};
struct sin {
  template <class A>
    requires(!is_complex<A>)
  SLA_HD static A apply(A a) {
    return std::sin(a);
  }
};
struct cos {
  template <class A>
    requires(!is_complex<A>)
  SLA_HD static A apply(A a) {
    return std::cos(a);
  }
};
struct tanh {
  template <class A>
    requires(!is_complex<A>)
  SLA_HD static A apply(A a) {
    return std::tanh(a);
  }
};
/// a in the accumulator's precision: the summand of `sum`, and |a|, |a|^2 for the norms.
struct widen {
  template <class A>
  SLA_HD static constexpr auto apply(A a) {
    return accumulator_t<A>(a);
  }
};
struct widen_abs {
  template <class A>
  SLA_HD static auto apply(A a) {
    return abs_of(accumulator_t<A>(a));
  }
};
struct widen_abs2 {
  template <class A>
  SLA_HD static constexpr auto apply(A a) {
    return abs2_of(accumulator_t<A>(a));
  }
};

// Commutative monoids: what reductions fold with.
struct plus {
  template <class A>
  SLA_HD static constexpr A identity() {
    return A{};
  }
  template <class A>
  SLA_HD static constexpr void fold(A& a, A const& b) {
    a += b;
  }
};
struct minimum {
  template <class A>
  SLA_HD static A identity() {
    return A(INFINITY);
  }
  template <class A>
  SLA_HD static constexpr void fold(A& a, A const& b) {
    a = b < a || b != b ? b : a;  // a NaN is kept
  }
};
struct maximum {
  template <class A>
  SLA_HD static A identity() {
    return A(-INFINITY);
  }
  template <class A>
  SLA_HD static constexpr void fold(A& a, A const& b) {
    a = a < b || b != b ? b : a;
  }
};
/// The maximum of numbers that are at least 0.
struct magnitude : maximum {
  template <class A>
  SLA_HD static constexpr A identity() {
    return A{};
  }
};

// Operations on whole tensors, as tags.
struct dot {};
struct sum {};
struct squared_norm {};
struct norm {};
struct norm1 {};
struct norm_inf {};
struct matvec {};
struct transposed_matvec {};
struct transpose {};
struct adjoint {};
struct values {};
struct with_values {};
struct scale_rows {};
struct scale_cols {};
struct diagonal {};
struct diagonal_of {};
struct masked {};
struct apply {};
struct kron {};
struct select {};
struct batch_items {};
struct solve {};
struct try_solve {};
struct try_solve_transpose {};
struct try_solve_adjoint {};
struct prepare {};
struct setup {};
struct eval {};

} // namespace sla::op
