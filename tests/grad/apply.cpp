// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// where, maximum, minimum and functions of the user's own in both modes: <w, J d> = <J^H w, d> and Taylor remainders; subgradients
// at ties; dual numbers against closed forms.
#include <sla/grad/operation/traced_apply.hpp>
#include <sla/grad/call/check_gradient.hpp>

#include "catch.hpp"
#include "suites/dual.hpp"

using namespace sla;
using complex_t = std::complex<double>;

namespace {
constexpr index_t elements = 60;
auto const of = [](auto const&... x) { return std::tuple<decltype(x)...>(x...); };
auto const bump = [](auto a) {
  using std::exp;
  return a > 0 ? a * exp(-a) : 0.5 * a;
};
} // namespace

TEST_CASE("where, maximum and minimum in both modes") {
  auto const x = random<double>(elements, 1), y = random<double>(elements, 2);
  auto const z = random<complex_t>(elements, 3);
  gradient::check_dual([](auto const& a, auto const& b) { return where(a > b, a * a, b * a) * maximum(b, 0.1) - minimum(a, b); }, of(x, y), {.h = 1e-5, .accuracy = 1e-12});
  gradient::check_dual([&](auto const& a) { return where(x <= 0.2, a * a, 1.5); }, of(z));
  gradient::check_dual([&](auto const& a, auto const& s) { return where(x + 0 > 0.2, s * s, a) * where(a < 0, 2.0, 3.0); }, of(x, 0.7), {.h = 1e-5, .accuracy = 1e-12});
  gradient::check_dual([&](auto const& s) { return maximum(s, x) + minimum(x, s * s); }, of(0.3), {.h = 1e-5, .accuracy = 1e-12});
  auto const f = [&](auto const& a) { return 0.5 * squared_norm(maximum(a, 0.0) - y) + sum(where(a > 0, a, 0.1 * a)); };
  CHECK(check_gradient(f, std::tie(x), {.step = 1e-4, .out = nullptr}).passed);
}

TEST_CASE("where the operands are equal each gets half") {
  vector<double> const x{-1.0, 0.0, 2.0}, y{-1.0, 5.0, 1.0};
  auto const [value, gx, gy] = value_and_gradient([](auto const& a, auto const& b) { return sum(maximum(a, b) + 10.0 * minimum(a, b)); }, x, y);
  CHECK(value == -1 + 5 + 2 + 10.0 * (-1 + 0 + 1));
  CHECK(std::ranges::equal(gx, std::vector{5.5, 10.0, 1.0}));
  CHECK(std::ranges::equal(gy, std::vector{5.5, 1.0, 10.0}));
  auto const [vx, vy] = vjp(op::larger{}, x, y, vector<double>{1.0, 1.0, 1.0});
  CHECK(std::ranges::equal(vx, std::vector{0.5, 0.0, 1.0}));
  CHECK(std::ranges::equal(vy, std::vector{0.5, 1.0, 0.0}));
  auto const [wx, wy] = vjp(op::where{}, x > 0, x, y, y);
  CHECK(std::ranges::equal(wx, std::vector{0.0, 0.0, 1.0}));
  CHECK(std::ranges::equal(wy, std::vector{-1.0, 5.0, 0.0}));
}

TEST_CASE("functions of one's own in both modes") {
  auto const x = random<double>(elements, 1), y = random<double>(elements, 2);
  gradient::check_dual([](auto const& a) { return apply(bump, a); }, of(x), {.h = 1e-5, .accuracy = 1e-12});
  auto const mixed = [](auto a, auto b, auto c) {
    using std::pow, std::sqrt, std::sin, std::cos, std::tan, std::tanh, std::atan, std::log, std::abs;
    return pow(abs(a) + 1.5, b) / sqrt(c + 2) + sin(a) * cos(b) - tan(c) + tanh(a * b) - atan(b) * log(2 + c) + pow(a, 3);
  };
  gradient::check_dual([&](auto const& a, auto const& b, auto const& s) { return apply(mixed, a, 2.0 * b, s); }, of(x, y, 0.4));
  gradient::check_dual([&](auto const& a, auto const& b) { return apply(mixed, a * b, y, 0.4); }, of(x, y));
  gradient::check_dual([&](auto const& s) { return apply(mixed, s, s, 0.25) * y; }, of(0.4));
  CHECK(check_gradient([&](auto const& a) { return squared_norm(apply(bump, a) - y); }, std::tie(x), {.step = 1e-4, .out = nullptr}).passed);
  auto const constant = [](auto) { return 2.0; };
  auto const [value, g] = value_and_gradient([&](auto const& a) { return sum(apply(constant, a)); }, x);
  CHECK(value == 2.0 * elements);
  CHECK(double(norm(g)) == 0);
  auto const single = random<float>(elements, 1);
  auto const [v, gf] = value_and_gradient([](auto const& a) { return sum(apply(bump, a)); }, single);
  static_assert(std::same_as<std::remove_const_t<decltype(gf)>, vector<float>>);
}

TEST_CASE("a derivative that is infinite counts where something moves, and where the result is taken") {
  vector<double> const a{3.0, 5.0}, b{0.0, 4.0}, both{1.0, 1.0}, last{0.0, 1.0};
  auto const root = [](auto p, auto q) {
    using std::sqrt;
    return p * sqrt(q);
  };
  auto const power = [](auto p, auto q) {
    using std::pow;
    return p * pow(q, 0.5);
  };
  auto const [value, ga] = value_and_gradient([&](auto const& x) { return sum(apply(root, x, b)); }, a);
  CHECK(value == 10);
  CHECK(std::ranges::equal(ga, std::vector{0.0, 2.0}));
  CHECK(std::ranges::equal(std::get<1>(value_and_gradient([&](auto const& x) { return sum(apply(power, x, b)); }, a)), std::vector{0.0, 2.0}));
  CHECK(std::get<1>(value_and_gradient([&](auto const& x) { return sum(apply(root, a, x)); }, b))[0] == INFINITY);
  CHECK(std::get<1>(value_and_gradient([](auto const& x) { return sum(sqrt(x)); }, b))[0] == INFINITY);

  auto const one = [](auto q) {
    using std::sqrt;
    return sqrt(q);
  };
  auto check = [&](auto const& f, double at_4) {
    CHECK(std::ranges::equal(std::get<1>(value_and_gradient([&](auto const& x) { return sum(where(x > 0, f(x), 0)); }, b)), std::vector{0.0, at_4}));
    CHECK(std::ranges::equal(std::get<1>(jvp([&](auto const& x) { return where(x > 0, f(x), 0); }, of(b), of(both))), std::vector{0.0, at_4}));
    CHECK(std::ranges::equal(std::get<1>(jvp(f, of(b), of(last))), std::vector{0.0, at_4}));
  };
  check([](auto const& x) { return sqrt(x); }, 0.25);
  check([](auto const& x) { return log(x); }, 0.25);
  check([](auto const& x) { return 1 / x; }, -0.0625);
  check([](auto const& x) { return pow(x, -1); }, -0.0625);
  check([&](auto const& x) { return apply(one, x); }, 0.25);
  check([](auto const& x) { return x * log(x); }, 1 + std::log(4.0));
  check([](auto const& x) { return log(x) / x; }, (1 - std::log(4.0)) / 16);
  vector<complex_t> const z{complex_t(0), complex_t(0, 2)};
  auto const gz = std::get<1>(value_and_gradient([](auto const& x) { return real(sum(where(abs(x) > 0, 1 / x, 0))); }, z));
  CHECK(gz[0] == complex_t(0));
  CHECK(std::abs(gz[1] - complex_t(0.25)) <= 1e-15);
}

TEST_CASE("dual numbers carry derivatives in several directions") {
  using D = dual_number<double, 2>;
  auto const a = D::variable(0.8, 0), b = D::variable(-1.7, 1);
  auto const f = (a * b - b / a + 3) * a - abs(b);
  CHECK(f.value == Approx((0.8 * -1.7 + 1.7 / 0.8 + 3) * 0.8 - 1.7));
  CHECK(f.slope[0] == Approx(2 * 0.8 * -1.7 + 3));
  CHECK(f.slope[1] == Approx(0.8 * 0.8 - 1 + 1));
  CHECK((a > b && a == 0.8 && b <= -1.7));
  auto p = pow(D(0.0), 2);
  p += pow(a, 0);
  CHECK((p.value == 1 && p.slope[0] == 0));
  CHECK(pow(D::variable(0.0), 1).slope[0] == 1);
}
