// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// value_and_gradient of functions of tensors and numbers: Taylor remainders of rate 2.0 +- 0.05 over four halvings, central
// differences, and cotangents that are known in closed form.
#include <sla/grad/call/gradient.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

using namespace sla;
using complex_t = std::complex<double>;
using gradient::taylor_rate;

namespace {
constexpr index_t length = 50;
}

TEST_CASE("a function of two tensors and a number") {
  auto const u = random<double>(length, 1), v = random<double>(length, 2), t = random<double>(length, 3);
  auto const f = [&t](auto const& x, auto const& y, auto const& s) {
    auto const z = eval(exp(s * x) / (2.0 + abs2(y)));
    auto w = eval(t * x - tanh(y) / s);
    w += t;
    w *= s;
    return 0.25 * squared_norm(w) + s * s / norm(z) + dot(w, z) - sum(pow(-x, 2)) / 7;
  };
  double const s = 0.8;
  auto const [value, gu, gv, gs] = value_and_gradient(f, u, v, s);
  CHECK(value == Approx(double(f(u, v, s))).epsilon(1e-14));

  auto const d = random<double>(length, 4);
  CHECK(taylor_rate([&](auto const& x) { return f(x, v, s); }, u, gu, d, 0.002) == Approx(2).margin(0.05));
  CHECK(taylor_rate([&](auto const& y) { return f(u, y, s); }, v, gv, d, 0.002) == Approx(2).margin(0.05));
  CHECK(taylor_rate([&](double a) { return f(u, v, a); }, s, gs, 1.0, 0.002) == Approx(2).margin(0.05));
}

TEST_CASE("complex tensors: dL = Re sum conj(g) d") {
  auto const u = random<complex_t>(length, 1), t = random<complex_t>(length, 2);
  auto const x = random<double>(length, 3);
  auto const f = [&t](auto const& z, auto const& r, auto const& s) {
    auto const w = exp(z) * r / (t + 3.0) - s * conj(z);
    auto const a = dot(w, z);  // a traced complex number
    return squared_norm(w) + real(a * s) - 2 * imag(sum(w)) + norm1(z);
  };
  complex_t const s(0.4, -1.1);
  auto const [value, gu, gx, gs] = value_and_gradient(f, u, x, s);
  static_assert(std::same_as<std::remove_const_t<decltype(gx)>, vector<double>>);  // of a real tensor it is real
  auto const plain = [&](auto const& z, auto const& r, complex_t c) { return std::get<0>(value_and_gradient(f, z, r, c)); };
  auto const d = random<complex_t>(length, 4);
  auto const dx = random<double>(length, 5);
  CHECK(taylor_rate([&](auto const& z) { return plain(z, x, s); }, u, gu, d, 0.005) == Approx(2).margin(0.05));
  CHECK(gradient::difference_error([&](auto const& r) { return plain(u, r, s); }, x, gx, dx, 1e-5) < 1e-7);
  CHECK(gradient::difference_error([&](complex_t c) { return plain(u, x, c); }, s, gs, complex_t(0.3, 0.9), 1e-5) < 1e-7);
}

TEST_CASE("traced numbers follow their own arithmetic") {
  auto const f = [](auto const& s, auto const& t) {
    using std::exp, std::sqrt, std::log, std::sin, std::cos, std::tanh, std::abs, std::pow;
    auto y = exp(s) * sin(t) + sqrt(s) / t - log(t * s) + tanh(-t) - cos(2 * s) + abs(t - 5) + pow(s, 3) + pow(2.0, t);
    y -= s / 3;
    y /= 1 + t;
    if (y > 100 || y == s) y = y * 0;  // a branch is taken by value
    return s < t ? y : -y;
  };
  auto const [value, gs, gt] = value_and_gradient(f, 0.7, 1.3);
  CHECK(value == Approx(f(0.7, 1.3)));
  double const h = 1e-6;
  CHECK(gs == Approx((f(0.7 + h, 1.3) - f(0.7 - h, 1.3)) / (2 * h)).epsilon(1e-8));
  CHECK(gt == Approx((f(0.7, 1.3 + h) - f(0.7, 1.3 - h)) / (2 * h)).epsilon(1e-8));
}

TEST_CASE("a complex step agrees to 1e-11") {
  auto const x = random<double>(length, 6), d = random<double>(length, 7);
  auto const f = [](auto const& z) { return sum(exp(z * z) / (z + 3.0) * sqrt(z + 2.0)); };
  auto const [value, g] = value_and_gradient(f, x);
  double const h = 1e-30;
  complex_t const stepped = f(tensor<complex_t, Extents<dyn>>(x + complex_t(0, h) * d));
  CHECK(stepped.real() == Approx(value));
  CHECK(std::abs(stepped.imag() / h - double(dot(g, d))) < 1e-11 * std::abs(double(dot(g, d))));
}

TEST_CASE("extreme values, and arguments that do not matter") {
  vector<double> const x{1, -7, 3, 5};
  auto const [value, g, unused, integral] =
      value_and_gradient([](auto const& z, auto const&, auto const&) { return (max)(z) - 2 * (min)(z) + 3 * norm_inf(z); }, x, x, 3);
  CHECK(value == 5 + 14 + 21);
  CHECK((g[0] == 0 && g[1] == -2 - 3 && g[2] == 0 && g[3] == 1));
  CHECK((norm(unused) == 0 && integral == 0));
  auto const [constant, nothing] = value_and_gradient([&](auto const&) { return 2.5; }, x);
  CHECK((constant == 2.5 && norm(nothing) == 0));
  auto const [reduced, nothing2] = value_and_gradient([&](auto const& z) { return squared_norm(z.value()); }, x);
  CHECK((reduced == 84 && norm(nothing2) == 0));
}

TEST_CASE("a quotient of 0 by a number whose reciprocal is infinite, and norms of NaN") {
  vector<double> const zero{0.0}, tiny{1e-310};
  auto const [q, to_zero, to_tiny] = value_and_gradient([](auto const& x, auto const& y) { return sum(x / y); }, zero, tiny);
  CHECK(to_tiny[0] == 0.0);
  auto const [none, of_0, over_0] = value_and_gradient([](auto const& x, auto const& y) { return sum(x / y); }, zero, zero);
  CHECK(std::isnan(over_0[0]));

  vector<double> const x{1.0, std::numeric_limits<double>::quiet_NaN(), 0.0};
  auto const is_nan_everywhere = [&](auto const& f) {
    auto const [value, g] = value_and_gradient(f, x);
    return std::isnan(value) && std::isnan(g[0]) && std::isnan(g[1]) && std::isnan(g[2]);
  };
  CHECK(is_nan_everywhere([](auto const& v) { return norm(v); }));
  CHECK(is_nan_everywhere([](auto const& v) { return norm_inf(v); }));
  CHECK(is_nan_everywhere([](auto const& v) { return max(v); }));
  auto const [sum_of_moduli, g] = value_and_gradient([](auto const& v) { return norm1(v); }, x);
  CHECK((g[0] == 1.0 && std::isnan(g[1]) && g[2] == 0.0));
}
TEST_CASE("extents, precision, expressions as arguments") {
  auto const X = random<float, Extents<3, dyn>>({3, 5}, 1);
  auto const Y = random<double, Extents<dyn, 5>>({3, 5}, 2);
  auto const [value, gX, gY] = value_and_gradient([](auto const& a, auto const& b) { return squared_norm(a * b); }, X, 2.0 * Y);
  static_assert(std::same_as<std::remove_const_t<decltype(gX)>, tensor<float, Extents<3, dyn>>>);
  CHECK(value == Approx(double(squared_norm(2.0 * X * Y))));
  CHECK(double(norm(gX - 8.0 * X * Y * Y)) < 1e-5);
  CHECK(double(norm(gY - 4.0 * X * X * Y)) < 1e-12);
  CHECK_THROWS_AS(value_and_gradient([&](auto const& a) { return sum(a - ones<double>(6)); }, ones<double>(5)), shape_error);
}
