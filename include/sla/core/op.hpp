// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operations by name: functors on scalars, for host and device, and tags for operations on whole tensors. Expressions
// (expr/), the placement rules (spmd/) and the derivative rules (grad/) all speak of these.
#pragma once

#include <sla/core/config.hpp>
#include <sla/core/scalar.hpp>

namespace sla::op {

// Binary, elementwise. The operands promote as in core/scalar.hpp.
/// a + b.
struct add {
  template <class A, class B>
  SLA_HD static constexpr auto apply(A a, B b) {
    return promote_t<A, B>(a) + promote_t<A, B>(b);
  }
};
/// a - b.
struct sub {
  template <class A, class B>
  SLA_HD static constexpr auto apply(A a, B b) {
    return promote_t<A, B>(a) - promote_t<A, B>(b);
  }
};
/// a * b. A real factor of a complex number scales both of its parts.
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
/// a / b.
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
/// a to the power b; real numbers.
struct pow {
  template <class A, class B>
    requires(!is_complex<A> && !is_complex<B>)
  SLA_HD static auto apply(A a, B b) {
    using std::pow;
    return pow(promote_t<A, B>(a), promote_t<A, B>(b));
  }
};
namespace detail {
/// The extreme one of two real numbers; NaN, if one of them is.
template <bool Larger>
struct extreme_of_two {
  template <class A, class B>
    requires(!is_complex<A> && !is_complex<B>)
  SLA_HD static constexpr promote_t<A, B> apply(A a, B b) {
    promote_t<A, B> const x(a), y(b);
    return (Larger ? x < y : y < x) || y != y ? y : x;
  }
};
} // namespace detail
/// The larger of two real numbers; NaN, if one of them is.
struct larger : detail::extreme_of_two<true> {
  static constexpr char const* name = "maximum(x, y)";
};
/// The smaller of two real numbers; NaN, if one of them is.
struct smaller : detail::extreme_of_two<false> {
  static constexpr char const* name = "minimum(x, y)";
};
/// A base of what gives conditions: 1 where something holds, and 0 elsewhere, in the type that the operands promote to.
struct condition {};
/// Is a < b?
struct less : condition {
  static constexpr char const* name = "x < y";
  template <class A, class B>
    requires(!is_complex<A> && !is_complex<B>)
  SLA_HD static constexpr promote_t<A, B> apply(A a, B b) {
    return promote_t<A, B>(a) < promote_t<A, B>(b);
  }
};
/// Is a <= b?
struct less_equal : condition {
  static constexpr char const* name = "x <= y";
  template <class A, class B>
    requires(!is_complex<A> && !is_complex<B>)
  SLA_HD static constexpr promote_t<A, B> apply(A a, B b) {
    return promote_t<A, B>(a) <= promote_t<A, B>(b);
  }
};
/// Is a not 0?
struct holds : condition {
  template <class A>
  SLA_HD static constexpr real_t<A> apply(A a) {
    return a != A(0);
  }
};
/// Is a 0?
struct logical_not : condition {
  template <class A>
  SLA_HD static constexpr real_t<A> apply(A a) {
    return a == A(0);
  }
};
/// Is neither a nor b 0?
struct logical_and : condition {
  template <class A, class B>
  SLA_HD static constexpr real_t<promote_t<A, B>> apply(A a, B b) {
    return bool(int(a != A(0)) & int(b != B(0)));
  }
};
/// Is a or b not 0?
struct logical_or : condition {
  template <class A, class B>
  SLA_HD static constexpr real_t<promote_t<A, B>> apply(A a, B b) {
    return bool(int(a != A(0)) | int(b != B(0)));
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
/// -a.
struct neg {
  template <class A>
  SLA_HD static constexpr A apply(A a) {
    return -a;
  }
};
/// The conjugate of a.
struct conj {
  template <class A>
  SLA_HD static constexpr A apply(A a) {
    return conj_of(a);
  }
};
/// The real part of a.
struct real {
  template <class A>
  SLA_HD static constexpr auto apply(A a) {
    return real_of(a);
  }
};
/// The imaginary part of a; 0 of a real number.
struct imag {
  template <class A>
  SLA_HD static constexpr auto apply(A a) {
    return imag_of(a);
  }
};
/// The modulus of a.
struct abs {
  template <class A>
  SLA_HD static auto apply(A a) {
    return abs_of(a);
  }
};
/// The square of the modulus of a.
struct abs2 {
  template <class A>
  SLA_HD static constexpr auto apply(A a) {
    return abs2_of(a);
  }
};
/// e to the power a, complex too.
struct exp {
  template <class A>
  SLA_HD static A apply(A a) {
    if constexpr (is_complex<A>) {
      using std::cos, std::exp, std::sin;
      auto const scale = exp(a.re);
      return {scale * cos(a.im), scale * sin(a.im)};
    } else {
      using std::exp;
      return exp(a);
    }
  }
};
/// The root of a, complex too: the one whose real part is not negative.
struct sqrt {
  template <class A>
  SLA_HD static A apply(A a) {
    if constexpr (is_complex<A>) {
      using std::sqrt;
      auto const modulus = abs_of(a);
      auto const re = sqrt((modulus + abs_of(a.re)) / 2);
      if (modulus == 0) return {};
      auto const im = a.im / (2 * re);
      return a.re >= 0 ? A{re, im} : A{abs_of(im), a.im < 0 ? -re : re};
    } else {
      using std::sqrt;
      return sqrt(a);
    }
  }
};
/// The natural logarithm; real numbers.
struct log {
  template <class A>
    requires(!is_complex<A>)
  SLA_HD static A apply(A a) {
    using std::log;
    return log(a);
  }
};
/// The sine; real numbers.
struct sin {
  template <class A>
    requires(!is_complex<A>)
  SLA_HD static A apply(A a) {
    using std::sin;
    return sin(a);
  }
};
/// The cosine; real numbers.
struct cos {
  template <class A>
    requires(!is_complex<A>)
  SLA_HD static A apply(A a) {
    using std::cos;
    return cos(a);
  }
};
/// The hyperbolic tangent; real numbers.
struct tanh {
  template <class A>
    requires(!is_complex<A>)
  SLA_HD static A apply(A a) {
    using std::tanh;
    return tanh(a);
  }
};
/// The inverse of the tangent; real numbers.
struct atan {
  template <class A>
    requires(!is_complex<A>)
  SLA_HD static A apply(A a) {
    using std::atan;
    return atan(a);
  }
};
/// a in the accumulator's precision: the summand of `sum`, and |a|, |a|^2 for the norms.
struct widen {
  template <class A>
  SLA_HD static constexpr auto apply(A a) {
    return accumulator_t<A>(a);
  }
};
/// The modulus, in the type that sums are accumulated in.
struct widen_abs {
  template <class A>
  SLA_HD static auto apply(A a) {
    return abs_of(accumulator_t<A>(a));
  }
};
/// The square of the modulus, in the type that sums are accumulated in.
struct widen_abs2 {
  template <class A>
  SLA_HD static constexpr auto apply(A a) {
    return abs2_of(accumulator_t<A>(a));
  }
};

// Commutative monoids: what reductions fold with.
/// The sum.
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
/// The smallest.
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
/// The largest.
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
struct dot {}; ///< `dot(x, y)`
struct sum {}; ///< `sum(x)`
struct squared_norm {}; ///< `squared_norm(x)`
struct norm {}; ///< `norm(x)`
struct norm1 {}; ///< `norm1(x)`
struct norm_inf {}; ///< `norm_inf(x)`
struct matvec {}; ///< `A * x`
struct transposed_matvec {}; ///< `transpose(A) * x`
struct transpose {}; ///< `transpose(A)`
struct adjoint {}; ///< `adjoint(A)`
struct values {}; ///< `values(A)`
struct with_values {}; ///< `with_values(A, v)`
struct scale_rows {}; ///< `scale_rows(A, d)`
struct scale_cols {}; ///< `scale_cols(A, d)`
struct diagonal {}; ///< `diagonal(d)`
struct diagonal_of {}; ///< `diagonal_of(A)`
struct masked {}; ///< `masked(A, M)`
struct band {}; ///< the entries near a diagonal: `tril(A, k)`, `triu(A, k)`, `trace(A)`
struct entry {}; ///< `x(i)`, `A(i, j)`
struct apply {}; ///< `apply(f, x...)`
struct fixed_unknowns {}; ///< where `eliminate(A, b, fixed, values)` fixes unknowns, and what it fixes them to
struct with_identity {}; ///< A with ones added to its diagonal, where `eliminate` fixes unknowns
struct kron {}; ///< `kron(A, B)`
struct select {}; ///< `select(A, rows, cols)` and other slices: `rows`, `cols`, `permuted`, ...
struct batch_items {}; ///< `batch_items(A, first, last)`
struct solve {}; ///< `solve(A, b, ...)`
struct try_solve {}; ///< `try_solve(A, b, ...)`
struct try_solve_transpose {}; ///< `prepared.try_solve_transpose(b)`
struct try_solve_adjoint {}; ///< `prepared.try_solve_adjoint(b)`
struct prepare {}; ///< `prepare(A, method, preconditioner)`
struct eigs {}; ///< `eigs(A, k, ...)`, `eigs(A, B, k, ...)`
struct svds {}; ///< `svds(A, k, ...)`
struct eigsh {}; ///< `eigsh(A, k, ...)`, `eigsh(A, B, k, ...)`
struct least_squares {}; ///< `least_squares(A, b, ...)`
struct try_least_squares {}; ///< `try_least_squares(A, b, ...)`
struct setup {}; ///< what a preconditioner makes of a matrix
struct eval {}; ///< `eval(x)`

} // namespace sla::op
