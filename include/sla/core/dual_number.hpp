// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers that carry derivatives: a function that is a template of its number type, called with them, gives its value and its
// derivatives, exactly. Gradients of whole programs are in grad/.
#pragma once

#include <cmath>  // here alone: it has no guard, so that g++ reads its 1900 lines again for each header that names it
#include <type_traits>

#include <sla/core/meta.hpp>

namespace sla {

/// A value and its derivatives in K directions; comparisons see the value alone. |x| has the derivative 0 at 0.
/// Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 3.
template <class T, int K = 1>
struct dual_number {
  T value{};
  fixed_array<T, K> slope{};

  constexpr dual_number() = default;
  template <class N>
    requires std::is_arithmetic_v<N>
  SLA_HD constexpr dual_number(N v) : value(T(v)) {}  // NOLINT: a number is one without derivatives
  SLA_HD constexpr dual_number(T const& v)  // NOLINT
    requires(!std::is_arithmetic_v<T>)
      : value(v) {}
  /// A variable: its derivative in one direction is 1.
  SLA_HD static constexpr dual_number variable(T v, int direction = 0) {
    dual_number a(v);
    a.slope[direction] = T(1);
    return a;
  }
  /// f(a, b), whose partial derivatives there are p and q.
  SLA_HD static constexpr dual_number chain(T f, T p, dual_number const& a, T q, dual_number const& b) {
    dual_number c(f);
    for (int k = 0; k < K; ++k) c.slope[k] = times(p, a.slope[k]) + times(q, b.slope[k]);
    return c;
  }
  SLA_HD static constexpr dual_number chain(T f, T p, dual_number const& a) {
    dual_number c(f);
    for (int k = 0; k < K; ++k) c.slope[k] = times(p, a.slope[k]);
    return c;
  }

  friend SLA_HD constexpr dual_number operator+(dual_number const& a) { return a; }
  friend SLA_HD constexpr dual_number operator-(dual_number const& a) { return chain(-a.value, T(-1), a); }
  friend SLA_HD constexpr dual_number operator+(dual_number const& a, dual_number const& b) { return chain(a.value + b.value, T(1), a, T(1), b); }
  friend SLA_HD constexpr dual_number operator-(dual_number const& a, dual_number const& b) { return chain(a.value - b.value, T(1), a, T(-1), b); }
  friend SLA_HD constexpr dual_number operator*(dual_number const& a, dual_number const& b) { return chain(a.value * b.value, b.value, a, a.value, b); }
  friend SLA_HD constexpr dual_number operator/(dual_number const& a, dual_number const& b) {
    T const q = a.value / b.value;
    return chain(q, T(1) / b.value, a, -q / b.value, b);
  }
  SLA_HD constexpr dual_number& operator+=(dual_number const& b) { return *this = *this + b; }
  SLA_HD constexpr dual_number& operator-=(dual_number const& b) { return *this = *this - b; }
  SLA_HD constexpr dual_number& operator*=(dual_number const& b) { return *this = *this * b; }
  SLA_HD constexpr dual_number& operator/=(dual_number const& b) { return *this = *this / b; }
  friend SLA_HD constexpr bool operator==(dual_number const& a, dual_number const& b) { return a.value == b.value; }
  friend SLA_HD constexpr auto operator<=>(dual_number const& a, dual_number const& b) { return a.value <=> b.value; }

  friend SLA_HD dual_number exp(dual_number const& a) {
    using std::exp;
    return chain(exp(a.value), exp(a.value), a);
  }
  friend SLA_HD dual_number log(dual_number const& a) {
    using std::log;
    return chain(log(a.value), T(1) / a.value, a);
  }
  friend SLA_HD dual_number sqrt(dual_number const& a) {
    using std::sqrt;
    return chain(sqrt(a.value), T(0.5) / sqrt(a.value), a);
  }
  friend SLA_HD dual_number sin(dual_number const& a) {
    using std::cos, std::sin;
    return chain(sin(a.value), cos(a.value), a);
  }
  friend SLA_HD dual_number cos(dual_number const& a) {
    using std::cos, std::sin;
    return chain(cos(a.value), -sin(a.value), a);
  }
  friend SLA_HD dual_number tan(dual_number const& a) {
    using std::tan;
    T const t = tan(a.value);
    return chain(t, T(1) + t * t, a);
  }
  friend SLA_HD dual_number atan(dual_number const& a) {
    using std::atan;
    return chain(atan(a.value), T(1) / (T(1) + a.value * a.value), a);
  }
  friend SLA_HD dual_number tanh(dual_number const& a) {
    using std::tanh;
    T const t = tanh(a.value);
    return chain(t, T(1) - t * t, a);
  }
  friend SLA_HD constexpr dual_number abs(dual_number const& a) {
    return chain(a.value < T(0) ? -a.value : a.value, T(int(a.value > T(0)) - int(a.value < T(0))), a);
  }
  friend SLA_HD constexpr dual_number fabs(dual_number const& a) { return abs(a); }
  friend SLA_HD constexpr dual_number real(dual_number const& a) { return a; }
  friend SLA_HD constexpr dual_number conj(dual_number const& a) { return a; }
  friend SLA_HD dual_number pow(dual_number const& a, dual_number const& b) {
    using std::log, std::pow;
    T const f = pow(a.value, b.value);
    return chain(f, is_none(b.value) ? T(0) : b.value * pow(a.value, b.value - T(1)), a, a.value == T(0) ? T(0) : moves(b) ? f * log(a.value) : T(0), b);
  }

  /// Prints the value alone.
  template <class Char, class Traits>
  friend std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, dual_number const& a) {
    return out << a.value;
  }

private:
  /// What does not move contributes nothing, also where the derivative is infinite, as that of sqrt is at 0.
  SLA_HD static constexpr T times(T derivative, T slope) { return is_none(slope) ? T(0) : derivative * slope; }
  SLA_HD static constexpr bool moves(dual_number const& a) {
    for (int k = 0; k < K; ++k)
      if (!is_none(a.slope[k])) return true;
    return false;
  }
  /// Is it 0, and, where T is a dual number itself, constant too?
  SLA_HD static constexpr bool is_none(T const& v) {
    if constexpr (std::is_arithmetic_v<T>)
      return v == T(0);
    else
      return v == T(0) && !T::moves(v);
  }
  template <class, int>
  friend struct dual_number;
};

/// Is T a number with derivatives?
template <class T>
inline constexpr bool is_dual = false;
template <class T, int K>
inline constexpr bool is_dual<dual_number<T, K>> = true;

} // namespace sla
