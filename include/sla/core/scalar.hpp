// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalars: float, double and their complex numbers. Users write `std::complex<T>`; kernels compute with the
// layout-identical `sla::complex<T>`, whose arithmetic runs on host and device.
#pragma once

#include <complex>
#include <concepts>
#include <type_traits>

#include <sla/core/config.hpp>
#include <sla/core/dual_number.hpp>

namespace sla {

/// A complex number for host and device; the layout is that of `std::complex<T>`.
template <class T>
struct complex {
  using value_type = T;
  T re{}, im{};

  complex() = default;
  SLA_HD constexpr complex(T real, T imag = T{}) : re(real), im(imag) {}  // NOLINT: reals are complex numbers
  template <class U>
  SLA_HD constexpr explicit(sizeof(U) > sizeof(T)) complex(complex<U> const& z) : re(T(z.re)), im(T(z.im)) {}
  complex(std::complex<T> const& z) : re(z.real()), im(z.imag()) {}  // NOLINT: the same number
  operator std::complex<T>() const { return {re, im}; }              // NOLINT: the same number

  friend SLA_HD constexpr complex operator+(complex a, complex b) { return {a.re + b.re, a.im + b.im}; }
  friend SLA_HD constexpr complex operator-(complex a, complex b) { return {a.re - b.re, a.im - b.im}; }
  friend SLA_HD constexpr complex operator*(complex a, complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  /// Smith's method (CACM 1962): no overflow where the quotient is representable.
  friend SLA_HD constexpr complex operator/(complex a, complex b) {
    T const abs_re = b.re < 0 ? -b.re : b.re, abs_im = b.im < 0 ? -b.im : b.im;
    if (abs_re >= abs_im) {
      T const t = b.im / b.re, d = b.re + b.im * t;
      return {(a.re + a.im * t) / d, (a.im - a.re * t) / d};
    }
    T const t = b.re / b.im, d = b.re * t + b.im;
    return {(a.re * t + a.im) / d, (a.im * t - a.re) / d};
  }
  friend SLA_HD constexpr complex operator-(complex a) { return {-a.re, -a.im}; }
  friend SLA_HD constexpr bool operator==(complex a, complex b) { return a.re == b.re && a.im == b.im; }
  SLA_HD constexpr complex& operator+=(complex b) { return *this = *this + b; }
  SLA_HD constexpr complex& operator-=(complex b) { return *this = *this - b; }
  SLA_HD constexpr complex& operator*=(complex b) { return *this = *this * b; }
};
static_assert(sizeof(complex<double>) == sizeof(std::complex<double>) && std::is_trivially_copyable_v<complex<double>>);

namespace detail {
template <class T>
struct scalar_traits {
  using real = T;
  using kernel = T;
  using user = T;
  using accumulator = T;
  static constexpr bool is_complex = false;
};
template <>
struct scalar_traits<float> {
  using real = float;
  using kernel = float;
  using user = float;
  using accumulator = double;
  static constexpr bool is_complex = false;
};
template <class T>
struct complex_traits {
  using real = T;
  using kernel = complex<T>;
  using user = std::conditional_t<is_dual<T>, complex<T>, std::complex<T>>;
  using accumulator = complex<typename scalar_traits<T>::accumulator>;
  static constexpr bool is_complex = true;
};
template <class T>
struct scalar_traits<complex<T>> : complex_traits<T> {};
template <class T>
struct scalar_traits<std::complex<T>> : complex_traits<T> {};
} // namespace detail

/// double for double and complex<double>.
template <class T>
using real_t = typename detail::scalar_traits<std::remove_cv_t<T>>::real;
/// What kernels compute with: sla::complex<T> for std::complex<T>.
template <class T>
using kernel_t = typename detail::scalar_traits<std::remove_cv_t<T>>::kernel;
/// What users see: std::complex<T> for sla::complex<T>.
template <class T>
using user_t = typename detail::scalar_traits<std::remove_cv_t<T>>::user;
/// What reductions add up in: double for float.
template <class T>
using accumulator_t = typename detail::scalar_traits<std::remove_cv_t<T>>::accumulator;
/// Is T a complex type, std::complex or the one of kernels?
template <class T>
inline constexpr bool is_complex = detail::scalar_traits<std::remove_cv_t<T>>::is_complex;

/// The scalars of tensors; those of one derivative beside their value too, by which second derivatives are computed (grad/call/hvp.hpp).
template <class T>
concept Scalar = std::same_as<real_t<T>, float> || std::same_as<real_t<T>, double> || std::same_as<real_t<T>, dual_number<double>>;
namespace detail {
/// The same as a constant: a failed static_assert prints its sentence and no derivation.
template <class T>
inline constexpr bool is_scalar = Scalar<T>;
} // namespace detail
/// Numbers that mix with tensors in expressions: the scalars, and integers.
template <class T>
concept Number = Scalar<std::remove_cvref_t<T>> || std::integral<std::remove_cvref_t<T>>;

/// The type of `a * b`: as C++ promotes the real parts, complex if one of them is. An integer takes the other's type.
template <class A, class B>
struct promotion {
  using real = std::conditional_t<std::integral<A>, real_t<B>,
                                  std::conditional_t<std::integral<B>, real_t<A>, decltype(real_t<A>{} * real_t<B>{})>>;
  using type = std::conditional_t<is_complex<A> || is_complex<B>, complex<real>, real>;
};
/// What arithmetic of an A and a B gives: C++'s promotion of their real types, complex where one of them is.
template <class A, class B>
using promote_t = typename promotion<A, B>::type;

/// `a` as a value of type `To`. A complex number never becomes real silently: statements refuse that by a sentence first.
template <class To, class From>
SLA_HD constexpr To scalar_cast(From a) {
  if constexpr (is_complex<To> && is_complex<From>)
    return To(real_t<To>(a.re), real_t<To>(a.im));
  else if constexpr (is_complex<From>)
    return To(a.re);
  else
    return To(real_t<To>(a));
}

/// A user's number as kernels see it.
SLA_AS_CALLEE
template <class T>
SLA_HD constexpr kernel_t<T> to_kernel(T a) {
  return kernel_t<T>(a);
}

/// The conjugate of a number; a real one is its own.
template <class T>
SLA_HD constexpr T conj_of(T a) {
  if constexpr (is_complex<T>)
    return {a.re, -a.im};
  else
    return a;
}
/// The real part of a number.
template <class T>
SLA_HD constexpr real_t<T> real_of(T a) {
  if constexpr (is_complex<T>)
    return a.re;
  else
    return a;
}
/// The imaginary part of a number; 0 of a real one.
template <class T>
SLA_HD constexpr real_t<T> imag_of(T a) {
  if constexpr (is_complex<T>)
    return a.im;
  else
    return T{};
}
/// |a|^2.
template <class T>
SLA_HD constexpr real_t<T> abs2_of(T a) {
  if constexpr (is_complex<T>)
    return a.re * a.re + a.im * a.im;
  else
    return a * a;
}
/// The modulus of a number, without overflow where it has one.
template <class T>
SLA_HD real_t<T> abs_of(T a) {
  using std::fabs;
  if constexpr (is_dual<real_t<T>> && is_complex<T>) {
    auto const modulus = std::hypot(a.re.value, a.im.value), unit = modulus == 0 ? 0 : 1 / modulus;
    return real_t<T>::chain(modulus, a.re.value * unit, a.re, a.im.value * unit, a.im);
  } else if constexpr (is_complex<T>)
    return std::hypot(a.re, a.im);
  else
    return fabs(a);
}
/// Is a number 0, with its derivative, if it has one?
template <class T>
SLA_HD constexpr bool is_zero(T const& a) {
  if constexpr (is_dual<real_t<T>> && is_complex<T>)
    return is_zero(a.re) && is_zero(a.im);
  else if constexpr (is_dual<T>)
    return a.value == 0 && a.slope[0] == 0;
  else
    return a == T{};
}
/// Is a number neither NaN nor infinite, in both of its parts?
template <class T>
SLA_HD bool is_finite(T a) {
  return real_of(a) - real_of(a) == 0 && imag_of(a) - imag_of(a) == 0;
}

/// The user's pointer as kernels see it; the layouts agree.
template <class T>
kernel_t<T>* kernel_pointer(T* p) {
  return reinterpret_cast<kernel_t<T>*>(p);
}
template <class T>
kernel_t<T> const* kernel_pointer(T const* p) {
  return reinterpret_cast<kernel_t<T> const*>(p);
}

} // namespace sla
