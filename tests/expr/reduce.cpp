// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions against loops in long double; their order, their precision, and that they are numbers.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <sstream>

#include <sla/exec/evaluate.hpp>

#include "catch.hpp"

namespace test_reduce {

using namespace sla;

TEST_CASE("reductions agree with loops") {
  for (index_t n : {0, 1, 7, 8, 9, 1023, 1024, 1025, 70001}) {
    auto x = random<double>(n, 1), y = random<double>(n, 2);
    long double xy = 0, s = 0, s1 = 0, s2 = 0, largest = 0, lo = INFINITY, hi = -INFINITY;
    for (index_t i = 0; i < n; ++i) {
      xy += (long double)x[i] * y[i], s += x[i], s1 += std::abs(x[i]), s2 += (long double)x[i] * x[i];
      largest = std::max(largest, (long double)std::abs(x[i]));
      lo = std::min(lo, (long double)x[i]), hi = std::max(hi, (long double)x[i]);
    }
    double const bound = 1e-14 * double(n + 1);
    CHECK(std::abs(dot(x, y) - double(xy)) <= bound);
    CHECK(std::abs(sum(x) - double(s)) <= bound);
    CHECK(std::abs(norm1(x) - double(s1)) <= bound);
    CHECK(std::abs(squared_norm(x) - double(s2)) <= bound);
    CHECK(std::abs(norm(x) - std::sqrt(double(s2))) <= bound);
    CHECK(eval(norm_inf(x)) == double(largest));
    CHECK(eval((min)(x)) == double(lo));
    CHECK(eval((max)(x)) == double(hi));
    CHECK((minimum(x) == double(lo) && maximum(2.0 * x) == 2 * double(hi)));
  }
}

TEST_CASE("complex reductions conjugate the left operand") {
  using C = std::complex<double>;
  auto x = random<C>(2000, 1), y = random<C>(2000, 2);
  C xy{}, s{};
  double xx = 0;
  for (index_t i = 0; i < x.size(); ++i) xy += std::conj(x[i]) * y[i], xx += std::norm(x[i]), s += x[i];
  C const computed = dot(x, y);
  CHECK((real(dot(x, y)) == computed.real() && imag(dot(x, y)) == computed.imag() && conj(dot(x, y)) == std::conj(computed)));
  CHECK((exp(squared_norm(x) - squared_norm(x)) == 1 && sqrt(squared_norm(x)) == double(norm(x))));
  CHECK(std::abs(computed - xy) <= 1e-11);
  CHECK(std::abs(squared_norm(x) - xx) <= 1e-11);
  C const total = eval(sum(x));
  CHECK(std::abs(total - s) <= 1e-11);
  CHECK(bool(norm_inf(x) <= norm(x)));
}

TEST_CASE("float adds up in double") {
  auto x = full<float>(1 << 24, 1.0f);
  x[0] = 0.5f;
  auto total = eval(sum(x));
  static_assert(std::same_as<decltype(total), double>);
  CHECK(total == double(1 << 24) - 0.5);  // in float the sum would stick at 2^24
  auto y = random<float>(1000, 3);
  double exact = 0;
  for (float v : y) exact += double(v) * double(v);
  CHECK(eval(dot(y, y)) == Approx(exact).epsilon(1e-13));  // the order differs
}

TEST_CASE("a reduction is a number") {
  auto x = ones<double>(100);
  static_assert(std::same_as<decltype(norm(x)), double> && std::same_as<decltype(dot(x, x)), double> && std::same_as<decltype((max)(x)), double>);
  static_assert(std::same_as<decltype(dot(x, ones<std::complex<double>>(100))), std::complex<double>>);
  auto const of_local = [] {
    auto const local = full<double>(100, 3.0);
    return squared_norm(local);
  };
  CHECK(of_local() == 900);  // nothing is left that would read the vector
  auto const named = dot(x, x);
  x = 0.0 * x;
  CHECK(named == 100);
  x = ones<double>(100);
  CHECK(std::max(norm(x), 1.0) == 10);
  char text[16];
  std::snprintf(text, sizeof text, "%g", norm(x));
  CHECK(std::string(text) == "10");
  CHECK((eval(norm(x)) == 10 && sla::real(dot(x, x)) == 100 && sla::sqrt(sum(x)) == 10));
  double half = 0.5 * squared_norm(x);
  CHECK(half == 50);
  auto mixed = norm(x) + 2 * sum(x) / dot(x, x) - 1;
  static_assert(std::same_as<decltype(mixed), double>);
  CHECK(mixed == 11);
  CHECK(-sum(x) == -100.0);
  CHECK(bool(norm(x) <= 1.5 * norm(x)));
  CHECK(std::sqrt(squared_norm(x)) == 10);
  vector<double> scaled = x / norm(x);
  CHECK(scaled[7] == 0.1);
  std::complex<double> z = std::complex<double>(0, 2) * dot(x, x);
  CHECK(z == std::complex<double>(0, 200));
  std::ostringstream out;
  out << sum(x) << ' ' << norm(x);
  CHECK(out.str() == "100 10");
}

TEST_CASE("reductions are bitwise equal, whatever the number of threads") {
  auto x = random<double>(300007, 1), y = random<double>(300007, 2);
  double const first = dot(x, y);
  for (int threads : {1, 2, 3, 5}) {
    set_threads(threads);
    for (int rerun = 0; rerun < 3; ++rerun) CHECK(first == eval(dot(x, y)));
  }
  set_threads(0);
}

TEST_CASE("NaN is not lost in a reduction") {
  auto x = ones<double>(5000);
  x[4321] = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(eval(sum(x))));
  CHECK(std::isnan(eval((max)(x))));
  CHECK(std::isnan(eval((min)(x))));
  CHECK(std::isnan(eval(norm_inf(x))));
}

TEST_CASE("norms of elements whose squares are no doubles") {
  for (double const scale : {1e-320, 1e-200, 1e-150, 1.0, 1e150, 1e200, 1e307}) {
    vector<double> x{3 * scale, 0.0, -4 * scale};
    CHECK(norm(x) == Approx(5 * scale).epsilon(scale < 1e-300 ? 1e-2 : 1e-15));  // 1e-320 has three digits
    CHECK(norm(0.5 * x) == Approx(2.5 * scale).epsilon(scale < 1e-300 ? 1e-2 : 1e-15));
    vector<std::complex<double>> z{std::complex<double>(3 * scale, 4 * scale), std::complex<double>(0, 0)};
    CHECK(norm(z) == Approx(5 * scale).epsilon(scale < 1e-300 ? 1e-2 : 1e-15));
  }
  CHECK(norm(zeros<double>({5})) == 0);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(norm(vector<double>{1.0, -infinity}) == infinity);
  CHECK(std::isnan(norm(vector<double>{1.0, std::numeric_limits<double>::quiet_NaN()})));
}

} // namespace test_reduce
