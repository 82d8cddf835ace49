// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of another floor are traced by what that floor adds: a cotangent_space and `perform` on traced values of its own.
// Here the values are kept in halves; the cotangents add up like them.
#include <sla/grad/gradient.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

namespace elsewhere {
struct halves {
  sla::vector<double> low, high;
};
using half = sla::traced<halves>;
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
half perform(sla::op::sub, half const& x, half const& y) {
  auto *const l = &x.variable(), *const r = &y.variable();
  return sla::detail::record(x.home(), perform(sla::op::sub{}, x.value(), y.value()), [l, r](halves const&, halves const& g) {
    l->add(sum_of_halves{g, 1});
    r->add(sum_of_halves{g, -1});
  });
}
half perform(sla::op::sub, half const& x, halves const& y) {
  auto* const l = &x.variable();
  return sla::detail::record(x.home(), perform(sla::op::sub{}, x.value(), y), [l](halves const&, halves const& g) { l->add(sum_of_halves{g, 1}); });
}
sla::traced<double> perform(sla::op::squared_norm, half const& x) {
  auto* const v = &x.variable();
  double const value = sla::squared_norm(x.value().low) + sla::squared_norm(x.value().high);
  return sla::detail::record(x.home(), value, [v](double, double g) { v->add(sum_of_halves{v->value(), 2 * g}); });
}
}  // namespace elsewhere

TEST_CASE("values of another floor") {
  using elsewhere::halves;
  halves const a{sla::random<double>(5, 1), sla::random<double>(7, 2)}, b{sla::random<double>(5, 3), sla::random<double>(7, 4)};
  auto const [value, ga, gb] = sla::value_and_gradient(
      [&](auto const& x, auto const& y) { return 0.5 * sla::squared_norm(x - y - b) + sla::squared_norm(y); }, a, b);
  CHECK(double(norm(ga.low - (a.low - 2.0 * b.low))) < 1e-14);
  CHECK(double(norm(ga.high - (a.high - 2.0 * b.high))) < 1e-14);
  CHECK(double(norm(gb.low - (4.0 * b.low - a.low))) < 1e-14);
  CHECK(value > 0);
}
