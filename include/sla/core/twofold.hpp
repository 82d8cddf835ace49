// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A number in twice the precision of double, with a bound of what rounding may have done to it. Residuals are computed with
// it (expr/sparse/residual.hpp): in the precision of x, rounding alone would decide where b - A x cancels.
#pragma once

#include <concepts>

#include <sla/core/meta.hpp>
#include <sla/core/scalar.hpp>

namespace sla {

struct twofold;
namespace detail {
/// Tensors of twofold numbers there are none: what is evaluated is rounded to double.
template <>
struct scalar_traits<twofold> {
  using real = twofold;
  using kernel = twofold;
  using user = double;
  using accumulator = twofold;
  static constexpr bool is_complex = false;
};
template <>
struct scalar_traits<complex<twofold>> : complex_traits<twofold> {
  using user = std::complex<double>;
};
} // namespace detail

/// hi + lo, for host and device; `size` is the sum of the magnitudes of what was added up to it. The error is below
/// `twofold_rounding` times size, for sums of up to 2^13 products, in practice for far longer ones too. Not counted in it: products
/// below 2^-969 lose what is below the least double, an absolute error of up to 2^-1074 each.
/// Source: Ogita, Rump, Oishi, Accurate sum and dot product (SISC 2005); Dekker 1971 for products.
struct twofold {
  double hi = 0, lo = 0, size = 0;

  twofold() = default;
  SLA_HD twofold(double value) : hi(value), size(std::fabs(value)) {}  // NOLINT: numbers are twofold numbers
  SLA_HD twofold(double high, double low, double magnitude) : hi(high), lo(low), size(magnitude) {}
  template <std::floating_point T>
  SLA_HD explicit operator T() const {
    return T(hi + lo);
  }

  friend SLA_HD twofold operator+(twofold a, twofold b) {
    double const sum = a.hi + b.hi, part = sum - a.hi;
    return {sum, a.lo + (b.lo + ((a.hi - (sum - part)) + (b.hi - part))), a.size + b.size};
  }
  friend SLA_HD twofold operator-(twofold a) { return {-a.hi, -a.lo, a.size}; }
  friend SLA_HD twofold operator-(twofold a, twofold b) { return a + -b; }
  friend SLA_HD twofold operator*(twofold a, twofold b) {
#ifdef __CUDA_ARCH__
    double const product = __dmul_rn(a.hi, b.hi);  // a rounding of its own: not fused with the sum that follows
#else
    double const product = a.hi * b.hi;
#endif
    double rest = rounded_off(a.hi, b.hi, product);
    if (a.lo != 0 || b.lo != 0) rest += a.hi * b.lo + a.lo * b.hi;  // of entries the compiler knows that it is 0
    if (!(rest == rest)) return {product, 0, a.size * b.size * 0x1p27};  // near the largest numbers: rounded as double is
    return {product, rest, a.size * b.size};
  }
  SLA_HD twofold& operator+=(twofold b) { return *this = *this + b; }

private:
  /// a * b - product, exactly. Without a fused instruction by halves of 26 digits, which overflow near the largest numbers.
  static SLA_HD double rounded_off(double a, double b, double product) {
#if defined(FP_FAST_FMA) || defined(__CUDA_ARCH__)
    return std::fma(a, b, -product);
#else
    double const big_a = 134217729 * a, big_b = 134217729 * b;
    double const a1 = big_a - (big_a - a), a2 = a - a1, b1 = big_b - (big_b - b), b2 = b - b1;
    return ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2;
#endif
  }
};
/// What a `twofold` number is off by is below this times its `size`.
inline constexpr double twofold_rounding = 0x1p-80;

/// What squared norms of twofold numbers add up: the squares of the value and of the size.
SLA_HD inline fixed_array<double, 2> abs2_of(twofold a) {
  double const value = double(a);
  return {{value * value, a.size * a.size}};
}
SLA_HD inline fixed_array<double, 2> abs2_of(complex<twofold> a) {
  auto sum = abs2_of(a.re);
  return sum += abs2_of(a.im);
}

} // namespace sla
