// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of another floor are traced by what that floor adds: a cotangent_space and `perform` on traced values of its own.
// Here the values are kept in halves; cotangents and tangents add up like them.
#include <sla/grad/call/gradient.hpp>
#include <sla/grad/call/jvp.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

namespace elsewhere {
struct halves {
  sla::vector<double> low, high;
};
template <class Home>
using half = sla::traced<halves, Home>;
struct sum_of_halves {
  halves g;
  double scale;
};

halves perform(sla::op::sub, halves const& x, halves const& y) {
  return {sla::vector<double>(x.low - y.low), sla::vector<double>(x.high - y.high)};
}
}  // namespace elsewhere

namespace sla {
template <>
struct cotangent_space<elsewhere::halves> {
  using type = elsewhere::halves;
  static type zero(type const& v) { return {zeros<double>(v.low.size()), zeros<double>(v.high.size())}; }
  static void add(std::optional<type>& sum, type const& v, elsewhere::sum_of_halves const& c) {
    if (!sum) sum.emplace(zero(v));
    sum->low += c.scale * c.g.low;
    sum->high += c.scale * c.g.high;
  }
};
}  // namespace sla

namespace elsewhere {
inline auto times(double scale) {
  return [scale](auto const&, halves const& d) { return sum_of_halves{d, scale}; };
}
template <class Home>
half<Home> perform(sla::op::sub, half<Home> const& x, half<Home> const& y) {
  return sla::record(x.home(), perform(sla::op::sub{}, x.value(), y.value()), sla::linear_in(x, times(1), times(1)),
                             sla::linear_in(y, times(-1), times(-1)));
}
template <class Home>
half<Home> perform(sla::op::sub, half<Home> const& x, halves const& y) {
  return sla::record(x.home(), perform(sla::op::sub{}, x.value(), y), sla::linear_in(x, times(1), times(1)));
}
template <class Home>
sla::traced<double, Home> perform(sla::op::squared_norm, half<Home> const& x) {
  auto* const v = &x.variable();
  double const value = sla::squared_norm(x.value().low) + sla::squared_norm(x.value().high);
  auto const back = [v](double, double g) { return sum_of_halves{v->value(), 2 * g}; };
  auto const forth = [v](double, halves const& d) {
    return 2 * (sla::eval(dot(v->value().low, d.low)) + sla::eval(dot(v->value().high, d.high)));
  };
  return sla::record(x.home(), value, sla::linear_in(x, back, forth));
}
}  // namespace elsewhere

TEST_CASE("values of another floor") {
  using elsewhere::halves;
  halves const a{sla::random<double>(5, 1), sla::random<double>(7, 2)}, b{sla::random<double>(5, 3), sla::random<double>(7, 4)};
  auto const f = [&](auto const& x, auto const& y) { return 0.5 * sla::squared_norm(x - y - b) + sla::squared_norm(y); };
  auto const [value, ga, gb] = sla::value_and_gradient(f, a, b);
  CHECK(double(norm(ga.low - (a.low - 2.0 * b.low))) < 1e-14);
  CHECK(double(norm(ga.high - (a.high - 2.0 * b.high))) < 1e-14);
  CHECK(double(norm(gb.low - (4.0 * b.low - a.low))) < 1e-14);
  CHECK(value > 0);
  auto const [again, tangent] = sla::jvp(f, std::tie(a, b), std::tie(b, a));
  CHECK(again == value);
  CHECK(tangent == Approx(double(dot(ga.low, b.low)) + double(dot(ga.high, b.high)) + double(dot(gb.low, a.low)) + double(dot(gb.high, a.high))));
}
