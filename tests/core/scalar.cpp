// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Our complex numbers against the standard's, promotion, and the scalar operations.
#include "catch.hpp"

#include <complex>
#include <limits>

#include <sla/core/op.hpp>
#include <sla/core/scalar.hpp>

namespace test_scalar {

using namespace sla;

template <class T>
void same(complex<T> ours, std::complex<T> theirs) {
  T const scale = std::abs(theirs) + T(1e-30), eps = 8 * std::numeric_limits<T>::epsilon();
  CHECK(std::abs(std::complex<T>(ours) - theirs) <= eps * scale);
}

TEMPLATE_TEST_CASE("complex arithmetic is the standard's", "", float, double) {
  using T = TestType;
  std::complex<T> const numbers[] = {{1, 2}, {-3, T(0.5)}, {0, -1}, {4, 0}, {T(1e-3), T(-7)}};
  for (auto a : numbers)
    for (auto b : numbers) {
      complex<T> const x = a, y = b;
      same(x + y, a + b);
      same(x - y, a - b);
      same(x * y, a * b);
      same(x / y, a / b);
      same(-x, -a);
      complex<T> z = x;
      z += y;
      z -= x;
      z *= x;
      same(z, b * a);
      CHECK((x == y) == (a == b));
      same(conj_of(x), std::conj(a));
      CHECK(abs2_of(x) == Approx(std::norm(a)));
      CHECK(abs_of(x) == Approx(std::abs(a)));
    }
  T const big = std::numeric_limits<T>::max() / 4;
  same(complex<T>(big, big) / complex<T>(big, big), std::complex<T>(1));
}

TEST_CASE("layouts, promotion, accumulators") {
  static_assert(std::same_as<kernel_t<std::complex<float>>, complex<float>> &&
                std::same_as<user_t<complex<float>>, std::complex<float>>);
  static_assert(std::same_as<promote_t<float, double>, double> && std::same_as<promote_t<float, int>, float>);
  static_assert(std::same_as<promote_t<std::complex<float>, double>, complex<double>>);
  static_assert(std::same_as<accumulator_t<float>, double> &&
                std::same_as<accumulator_t<std::complex<float>>, complex<double>>);
  static_assert(Scalar<float> && Scalar<std::complex<double>> && !Scalar<int> && Number<int>);
  std::complex<double> const z[] = {{1, 2}, {3, 4}};
  CHECK(kernel_pointer(z)[1].im == 4);
  CHECK(complex<double>(complex<float>(1, 2)).im == 2);
  CHECK(scalar_cast<float>(0.1) == 0.1f);
  CHECK(scalar_cast<complex<float>>(2.0).re == 2);
  CHECK(to_kernel(std::complex<double>(1, 2)).re == 1);
}

TEST_CASE("finite numbers") {
  CHECK(is_finite(1.0));
  CHECK_FALSE(is_finite(std::nan("")));
  CHECK_FALSE(is_finite(float(INFINITY)));
  CHECK_FALSE(is_finite(complex<double>(1, INFINITY)));
  CHECK(real_of(2.0) == 2);
  CHECK(imag_of(2.0) == 0);
  CHECK(abs_of(-2.0f) == 2);
}

} // namespace test_scalar
