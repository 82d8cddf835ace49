// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers with derivatives in several directions at once: with them the Jacobian of a kernel that is a template of its
// number type is exact. For gradients of programs see grad/. Not part of spmd.hpp.
#pragma once
#include <cmath>

#include <sla/core/meta.hpp>

namespace sla::sim {

/// A value, and its derivatives in K directions. Comparisons see the value alone.
template <int K>
struct dual {
  double value = 0;
  fixed_array<double, K> slope{};

  constexpr dual() = default;
  constexpr dual(double v) : value(v) {} // NOLINT: a number converts by intent
  constexpr dual(int v) : value(v) {}    // NOLINT

  template <class F>
  static constexpr dual combined(double v, dual const& a, dual const& b, F slope_of) {
    dual c(v);
    for (int k = 0; k < K; ++k) c.slope[k] = slope_of(a.slope[k], b.slope[k]);
    return c;
  }
  friend constexpr dual operator+(dual const& a, dual const& b) {
    return combined(a.value + b.value, a, b, [](double x, double y) { return x + y; });
  }
  friend constexpr dual operator-(dual const& a, dual const& b) {
    return combined(a.value - b.value, a, b, [](double x, double y) { return x - y; });
  }
  friend constexpr dual operator-(dual const& a) { return dual() - a; }
  friend constexpr dual operator*(dual const& a, dual const& b) {
    return combined(a.value * b.value, a, b, [&](double x, double y) { return x * b.value + a.value * y; });
  }
  friend constexpr dual operator/(dual const& a, dual const& b) {
    auto const q = a.value / b.value;
    return combined(q, a, b, [&](double x, double y) { return (x - q * y) / b.value; });
  }
  friend constexpr bool operator<(dual const& a, dual const& b) { return a.value < b.value; }
  friend constexpr bool operator==(dual const& a, dual const& b) { return a.value == b.value; }

  /// f(a), whose derivative at a is `slope`.
  static constexpr dual chain(double f, double slope, dual const& a) {
    return combined(f, a, a, [&](double x, double) { return slope * x; });
  }
};

inline double exp(double x) { return std::exp(x); }
inline double sqrt(double x) { return std::sqrt(x); }
inline double log(double x) { return std::log(x); }
template <int K>
dual<K> exp(dual<K> const& a) {
  return dual<K>::chain(std::exp(a.value), std::exp(a.value), a);
}
template <int K>
dual<K> sqrt(dual<K> const& a) {
  return dual<K>::chain(std::sqrt(a.value), 0.5 / std::sqrt(a.value), a);
}
template <int K>
dual<K> log(dual<K> const& a) {
  return dual<K>::chain(std::log(a.value), 1 / a.value, a);
}
template <class T>
constexpr T abs(T const& a) {
  return a < T{} ? T{} - a : a;
}
/// The plain value: what an index or a condition looks at.
constexpr double plain(double x) { return x; }
template <int K>
constexpr double plain(dual<K> const& x) {
  return x.value;
}

} // namespace sla::sim
