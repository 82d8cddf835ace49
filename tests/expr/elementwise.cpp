// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementwise expressions against loops over elements: every operator and function, mixed scalars, aliasing, lifetimes.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/exec/evaluate.hpp>

#include "catch.hpp"

namespace test_elementwise {

using namespace sla;

namespace {
template <class T>
void same(tensor<T, Extents<dyn>> const& x, auto expected) {
  for (index_t n = 0; n < x.size(); ++n) {
    INFO("element " << n);
    CHECK(std::abs(x[n] - T(expected(n))) <= 1e-6 * (1 + std::abs(T(expected(n)))));
  }
}

/// A user's array of numbers, with operators of his own.
struct weights {
  std::vector<double> w;
  double const* data() const { return w.data(); }
  std::size_t size() const { return w.size(); }
};
template <class X>
double operator*(weights const& m, X const& x) {
  return m.w[0] * x.size();
}
template <class X>
double operator-(X const& x, weights const& m) {
  return x.size() - m.w[0];
}
}  // namespace

TEST_CASE("operators of the user on his arrays of numbers are left to him") {
  weights const m{{3, 4}};
  vector<double> x{1, 2, 3};
  CHECK(m * x == 9);
  CHECK(m * ones<double>(5) == 15);
  CHECK(x - m == 0);
}

TEST_CASE("operators and functions agree with loops") {
  index_t const n = 1500;  // more than one block, and not a multiple of the inner loops
  auto x = random<double>(n, 1), y = random<double>(n, 2);
  vector<double> z = 2.0 * x - y / 3 + x * y;
  same(z, [&](index_t i) { return 2.0 * x[i] - y[i] / 3 + x[i] * y[i]; });
  z = -x + (+y);
  same(z, [&](index_t i) { return -x[i] + y[i]; });
  z = exp(x) + sin(y) * cos(x) - tanh(y) + atan(x);
  same(z, [&](index_t i) { return std::exp(x[i]) + std::sin(y[i]) * std::cos(x[i]) - std::tanh(y[i]) + std::atan(x[i]); });
  z = sqrt(abs(x)) + log(1 + abs2(y)) + pow(abs(x), 1.5);
  same(z, [&](index_t i) { return std::sqrt(std::abs(x[i])) + std::log(1 + y[i] * y[i]) + std::pow(std::abs(x[i]), 1.5); });
  z = 1 / (2 + x);
  same(z, [&](index_t i) { return 1 / (2 + x[i]); });
  static_assert(std::same_as<decltype(set(z, 3))::memory_type, host_memory>);  // that of z: it decides where 3 is written
  fuse(set(z, 3));
  same(z, [](index_t) { return 3.0; });
}

TEST_CASE("complex elements") {
  using C = std::complex<double>;
  index_t const n = 300;
  auto x = random<C>(n, 1), y = random<C>(n, 2);
  vector<C> z = C(1, 2) * x + conj(y) / x - 2 * y;
  same(z, [&](index_t i) { return C(1, 2) * x[i] + std::conj(y[i]) / x[i] - 2.0 * y[i]; });
  vector<double> r = real(x) * imag(y) + abs(x) - abs2(y);
  same(r, [&](index_t i) { return x[i].real() * y[i].imag() + std::abs(x[i]) - std::norm(y[i]); });
  z = exp(x) + sqrt(y);
  same(z, [&](index_t i) { return std::exp(x[i]) + std::sqrt(y[i]); });
}

TEST_CASE("scalars promote as in C++") {
  auto f = random<float>(10, 1);
  auto d = random<double>(10, 2);
  auto fd = f + d;
  auto ff = 2 * f;
  auto fc = f * std::complex<double>(0, 1);
  static_assert(std::same_as<decltype(fd)::value_type, double>);
  static_assert(std::same_as<decltype(ff)::value_type, float>);
  static_assert(std::same_as<decltype(fc)::value_type, complex<double>>);
  vector<float> stored = f + d;  // rounded once, when it is stored
  same(stored, [&](index_t i) { return float(double(f[i]) + d[i]); });
  vector<std::complex<double>> widened = fc;
  same(widened, [&](index_t i) { return std::complex<double>(0, double(f[i])); });
}

TEST_CASE("extents that are known are in the type") {
  auto a = random<double, Extents<4, dyn>>({4, 7}, 1);
  auto b = random<double, Extents<dyn, 7>>({4, 7}, 2);
  auto e = a + b;
  static_assert(std::same_as<decltype(e)::extents_type, Extents<4, 7>>);
  tensor<double, Extents<4, 7>> c = e;
  CHECK(c(3, 6) == a(3, 6) + b(3, 6));
  matrix<double> dynamic = e;
  CHECK(dynamic.extents() == Extents<dyn, dyn>(4, 7));
}

TEST_CASE("extents that disagree at run time are named") {
  auto x = ones<double>(3), y = ones<double>(4);
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(x + y, ContainsSubstring("3") && ContainsSubstring("4") && ContainsSubstring("equal extents"));
  CHECK_THROWS_AS(x + y, shape_error);
  CHECK_THROWS_AS(set(x, 2 * y), shape_error);
  vector<double> empty;
  CHECK_THROWS_WITH(set(empty, 2.0 * x), Catch::Matchers::ContainsSubstring("the operands are 0 and ") && Catch::Matchers::ContainsSubstring("set does not change the size of x"));
  CHECK_THROWS_AS((tensor<double, Extents<3>>(x + 0) = 1 * y), shape_error);
}

TEST_CASE("an expression owns what was a temporary") {
  auto e = 2.0 * ones<double>(5) + full<double>(5, 3.0);  // both owners moved in
  vector<double> x = e;
  same(x, [](index_t) { return 5.0; });
  vector<double> again = e;  // and may be evaluated twice
  same(again, [](index_t) { return 5.0; });
  auto const as_const = []() -> vector<double> const { return full<double>(5, 3.0); };
  auto f = x - as_const() * conj(as_const());
  static_assert(!std::is_trivially_copyable_v<decltype(f)>);  // views alone would be
  same(vector<double>(f), [](index_t) { return -4.0; });
}

TEST_CASE("assignment sees aliasing") {
  auto storage = random<double>(100, 1);
  auto const before = storage;
  auto head = borrow(storage.data(), 99), tail = borrow(storage.data() + 1, 99);
  tail = head + 0;  // overlapping: as if the right side were evaluated first
  for (index_t i = 0; i < 99; ++i) CHECK(storage[i + 1] == before[i]);
  auto x = before;
  x = x * x + x;
  same(x, [&](index_t i) { return before[i] * before[i] + before[i]; });
  x += before;
  x -= 2 * before;
  x *= 2;
  x /= 4.0;
  same(x, [&](index_t i) { return (before[i] * before[i] + before[i] - before[i]) / 2; });
}

TEST_CASE("a borrowed const array is read, never written") {
  double const data[] = {1, 2, 3};
  auto x = borrow(data, 3);
  CHECK(eval(sum(x)) == 6);
  CHECK_THROWS_AS(x = 2 * x, value_error);
  CHECK_THROWS_AS((x = ones<double>(3)), value_error);
  auto copy = x + 0;
  vector<double> y = copy;
  y = 2 * y;
  CHECK(y[2] == 6);
}

TEST_CASE("assignment takes the extents of the expression") {
  vector<double> x(3);
  x = ones<double>(5) + 1;
  CHECK(x.size() == 5);
  vector<double> empty;
  x = 2 * empty;
  CHECK(x.size() == 0);
}

TEST_CASE("whatever is assigned to a borrowed array is written into it") {
  double data[] = {1, 2, 3, 4};
  auto x = borrow(data, 4);
  auto const y = full<double>(4, 5.0);
  x = 2 * y;
  CHECK(data[3] == 10);
  x = y;
  CHECK(data[3] == 5);
  x = full<double>(4, 6.0);
  CHECK(data[3] == 6);
  x = std::as_const(x);
  CHECK_THROWS_WITH((x = ones<double>(5)), Catch::Matchers::ContainsSubstring("borrows an array of 4, y is 5"));
  CHECK_THROWS_AS((x = 2 * ones<double>(5)), shape_error);
  double more[] = {1, 2, 3, 4, 5};
  auto head = borrow(more, 4), tail = borrow(more + 1, 4);
  tail = head;
  for (int n = 0; n < 4; ++n) CHECK(more[n + 1] == n + 1);
  std::swap(head, tail);
  CHECK(head.data() == more + 1);
}

TEST_CASE("signs of zero and of infinity") {
  vector<double> x{-0.0, -1.0};
  vector<double> y = abs(x);
  CHECK(!std::signbit(y[0]));
  using C = std::complex<double>;
  double const infinity = std::numeric_limits<double>::infinity();
  vector<C> a{C(infinity, 0)}, b{C(1, 0)};
  CHECK(std::real(eval(dot(a, b))) == infinity);
}

TEST_CASE("comparisons, where, maximum and minimum agree with loops") {
  index_t const n = 1500;
  auto x = random<double>(n, 1), y = random<double>(n, 2);
  x[3] = y[3];
  vector<double> z = x > 0.25;
  same(z, [&](index_t i) { return x[i] > 0.25 ? 1.0 : 0.0; });
  z = (x < y) + 10 * (x <= y) + 100 * (y >= x) + 1000 * (0 > x);
  same(z, [&](index_t i) { return (x[i] < y[i]) + 10.0 * (x[i] <= y[i]) + 100.0 * (y[i] >= x[i]) + 1000.0 * (0 > x[i]); });
  CHECK(double(sum(x > 0)) == double(std::count_if(x.begin(), x.end(), [](double a) { return a > 0; })));
  z = where((x > 0) * (y > 0), sqrt(abs(x)), -y);
  same(z, [&](index_t i) { return x[i] > 0 && y[i] > 0 ? std::sqrt(x[i]) : -y[i]; });
  z = where(x < y, 1, 0.5);
  same(z, [&](index_t i) { return x[i] < y[i] ? 1.0 : 0.5; });
  z = maximum(x, 0) - minimum(2 * x, y);
  same(z, [&](index_t i) { return std::max(x[i], 0.0) - std::min(2 * x[i], y[i]); });
  CHECK(maximum(1, 2.5) == 2.5);
  x = maximum(x, 0.1 * x);  // in place
  CHECK(double(min(x)) >= -0.1);

  using C = std::complex<double>;
  auto const u = random<C>(n, 3);
  vector<C> w = where(abs(u) > 0.5, u, 0);
  same(w, [&](index_t i) { return std::abs(u[i]) > 0.5 ? u[i] : C(0); });

  double const nan = std::numeric_limits<double>::quiet_NaN();
  vector<double> const bad{nan, 1.0}, good{1.0, nan};
  for (auto const& extreme : {eval(maximum(bad, good)), eval(minimum(bad, good))}) CHECK((std::isnan(extreme[0]) && std::isnan(extreme[1])));
  CHECK(eval(where(good > 0, good, 7))[1] == 7);  // a comparison with NaN does not hold
  CHECK_THROWS_AS(where(x > 0, x, zeros<double>(3)), shape_error);
  CHECK_THROWS_AS(x < zeros<double>(3), shape_error);
  auto const f = random<float>(n, 4);
  static_assert(std::same_as<decltype(eval(f > 0.5f)), vector<float>> && std::same_as<decltype(eval(maximum(f, x))), vector<double>>);
}

TEST_CASE("functions of one's own, of one and more operands") {
  index_t const n = 1500;
  auto const x = random<double>(n, 1), y = random<double>(n, 2);
  auto const ratio = [](auto a) { return a / (1 + a * a); };
  vector<double> z = 2.0 * apply(ratio, x + y) - y;
  same(z, [&](index_t i) { return 2.0 * ratio(x[i] + y[i]) - y[i]; });
  double const scale = 3;
  z = apply([scale](double a, double b, double c) { return scale * std::atan2(a, b) + c; }, x, y, 0.5);
  same(z, [&](index_t i) { return scale * std::atan2(x[i], y[i]) + 0.5; });
  z = apply([](double a, int b, double c, double d) { return a * b + c * d; }, 2.0, 3, x, y);
  same(z, [&](index_t i) { return 6.0 + x[i] * y[i]; });
  CHECK(double(norm(apply(ratio, x) - x / (1 + x * x))) <= 1e-14);
  matrix<double> m({30, 50}), k({30, 50});
  std::copy(x.begin(), x.end(), m.begin());
  k = apply(ratio, m);
  CHECK(k(7, 11) == ratio(x[7 * 50 + 11]));
  CHECK_THROWS_AS(apply([](double a, double b) { return a + b; }, x, zeros<double>(3)), shape_error);
}

TEST_CASE("conditions are joined, and have one answer") {
  index_t const n = 1500;
  auto const x = random<double>(n, 1), y = random<double>(n, 2);
  auto const loop = [&](auto const& f) { return std::count_if(x.begin(), x.end(), f); };
  CHECK(count_nonzero(x > 0.5) == loop([](double a) { return a > 0.5; }));
  CHECK(count_nonzero(x > -0.5 && !(x >= 0.5)) == loop([](double a) { return a > -0.5 && a < 0.5; }));
  CHECK(count_nonzero(x < -0.5 || x > 0.5) == loop([](double a) { return a < -0.5 || a > 0.5; }));
  CHECK((any(x > 0.99) && !any(x > 1.0) && all(x < 1.0) && !all(x < 0.99)));
  auto const inside = x > -0.5 && x < y;
  vector<double> z = where(inside, x, !inside);
  same(z, [&](index_t i) { return x[i] > -0.5 && x[i] < y[i] ? x[i] : 1.0; });
  vector<double> const mask = inside;
  CHECK((count_nonzero(mask) == count_nonzero(inside) && count_nonzero(-mask) == count_nonzero(inside) && all(!(mask && x) || mask > 0)));
  vector<double> const none(0);
  CHECK((!any(none > 0) && all(none > 0) && count_nonzero(none) == 0));
  vector<double> const odd{std::numeric_limits<double>::quiet_NaN(), 0.0};
  CHECK((!any(odd > 0) && !any(odd < 0) && all(!(odd > 0)) && count_nonzero(odd) == 1));
  auto const c = random<std::complex<double>>(n, 3);
  CHECK((all(c) && !any(0.0 * c) && count_nonzero(c && x > 0) == count_nonzero(x > 0)));
  CHECK_THROWS_AS(x > 0 && none > 0, shape_error);
}

TEST_CASE("clamped elements, means, and numbers at equal distances") {
  index_t const n = 1500;
  auto const x = random<double>(n, 1), y = random<double>(n, 2);
  vector<double> z = clamp(x, -0.25, 0.5);
  same(z, [&](index_t i) { return std::clamp(x[i], -0.25, 0.5); });
  z = clamp(x, y, 2.0);
  same(z, [&](index_t i) { return std::clamp(x[i], y[i], 2.0); });
  CHECK(eval(clamp(x, 1.0, -1.0))[3] == -1);
  double total = 0;
  for (double a : x) total += a;
  CHECK(mean(x) == Approx(total / double(n)));
  CHECK(mean(2.0 * x - x) == Approx(total / double(n)));
  CHECK(std::isnan(mean(zeros<double>(0))));
  static_assert(std::same_as<decltype(mean(vector<float>{1.0f})), double>);
  auto const grid = linspace<double>(-1, 0.3, 14);
  CHECK((grid.size() == 14 && grid[0] == -1 && grid[13] == 0.3));
  for (index_t k = 0; k < 14; ++k) CHECK(grid[k] == Approx(-1 + 0.1 * double(k)).margin(1e-15));
  CHECK((linspace<float>(2, 5, 1)[0] == 2 && linspace<double>(2, 5, 0).size() == 0));
}

} // namespace test_elementwise

namespace beside_std {
using namespace std;
using namespace sla;

TEST_CASE("names stand beside those of std") {
  auto const x = sla::random<double>(9, 1);
  auto const square = [](auto a) { return a * a; };
  sla::vector<double> const y = apply(square, x) + apply([](auto a) { return a * a; }, x) - 2.0 * pow(abs(x), 2.0);
  CHECK(norm_inf(y) <= 1e-15);
  CHECK(apply([](auto a, auto b) { return a - b; }, 3.0, 1.0) == 2);
  CHECK(max(exp(x)) == std::exp(max(x)));
  CHECK(norm_inf(apply([](auto a, auto b) { return a - b; }, x, x)) == 0);
  CHECK(sla::index_t(size(x)) == 9);
}
}  // namespace beside_std
