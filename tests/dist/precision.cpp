// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives in other precisions: what travels, what comes out, and how exact both are, forward and backward.
#include <cmath>
#include <limits>

#include <sla/dist/step/precision_steps.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"
#include "suites/steps.hpp"

namespace test_precision {

using namespace sla;
using suite::require;
using Ranks = mesh<axis<"tp">>;
constexpr int ranks = 3;
using Numbers = suite::numbers<Extents<dyn>>;

namespace {
/// Numbers that no float holds exactly, of one sign, so that sums lose nothing to cancellation.
Numbers fractions(index_t n, int seed) {
  Numbers x{Extents<dyn>(n)};
  for (index_t i = 0; i < n; ++i) x[i] = 1.0 + 1.0 / (3.0 + double(i) + 17 * seed);
  return x;
}
template <class T>
double through(double x) {
  return double(T(x));
}
/// The bytes that this rank contributes to collectives in f().
template <class F>
std::uint64_t bytes_of(any_communicator& c, F const& f) {
  auto const before = c.stats().collective_bytes;
  f();
  return c.stats().collective_bytes - before;
}
/// f(x, options) sends numbers of type Wire, gives an Out, and its gradient travels as Back; each is as exact as these
/// are.
template <class Wire, class Out, class Back, class X, class F>
void check_numbers(any_communicator& c, X const& x, F const& f, char const* what) {
  auto const exact = f(x);
  auto const exact_bytes = bytes_of(c, [&] { f(x); });
  tape t;
  auto& input = t.input(x);
  bool const traced_value = true;
  using Y = plain_t<decltype(f(traced<X>(t, input), traced_value))>;
  static_assert(std::same_as<typename Y::value_type, Out>);
  auto const forward = bytes_of(c, [&] { f(x, traced_value); });
  require(forward * 8 == exact_bytes * sizeof(Wire), c, std::string(what) + ": what travels");
  auto const y = f(traced<X>(t, input), traced_value);
  auto const value = y.value().local();
  double const fine = std::same_as<Wire, bfloat16> ? 1.0 / 128
                      : std::same_as<Wire, float>  ? 1e-6
                      : std::same_as<Out, float>   ? 1e-7
                                                   : 1e-15;
  double worst = 0;
  for (index_t n = 0; n < value.size(); ++n)
    worst = (std::max)(worst, std::abs(double(value[n]) / exact.local()[n] - 1));
  require(worst <= fine * ranks, c, std::string(what) + ": how exact it is");
  if (fine > 1e-8) require(worst > fine / 1e3, c, std::string(what) + ": the numbers were rounded");
  auto g = value;
  auto const noise = fractions(g.size(), std::same_as<placement_on_t<Y, 0>, Partial<>> ? 1 : c.rank());
  for (index_t n = 0; n < g.size(); ++n) g[n] = Out(noise[n]);
  y.variable().add(cotangent_t<Y>(g, y.value().handle()));
  auto const backward = bytes_of(c, [&] { t.sweep(); });
  auto const back = input.take_cotangent();
  static_assert(std::same_as<typename std::remove_const_t<decltype(back)>::value_type, double>);
  if constexpr (!std::same_as<Back, void>)
    require(backward == std::uint64_t(value.size()) * sizeof(Back), c, std::string(what) + ": what travels back");
}
template <class... O>
auto reduced() {
  return [](auto const& x, auto... with) {
    if constexpr (sizeof...(with) > 0 && sizeof...(O) > 0)
      return all_reduce<"tp">(x, O{}...);
    else
      return all_reduce<"tp">(x);
  };
}
template <class... O>
auto gathered_by() {
  return [](auto const& x, auto... with) {
    if constexpr (sizeof...(with) > 0 && sizeof...(O) > 0)
      return all_gather<"tp">(x, O{}...);
    else
      return all_gather<"tp">(x);
  };
}
template <class... O>
auto scattered_by() {
  return [](auto const& x, auto... with) {
    if constexpr (sizeof...(with) > 0 && sizeof...(O) > 0)
      return reduce_scatter<"tp", Shard<0>>(x, O{}...);
    else
      return reduce_scatter<"tp", Shard<0>>(x);
  };
}
} // namespace

TEST_CASE("bfloat16 rounds to the nearest, ties to even, and keeps infinities and NaN") {
  CHECK(float(bfloat16(1.0f)) == 1.0f);
  CHECK(float(bfloat16(1.0f + 1.0f / 256)) == 1.0f);             // a tie, down to even
  CHECK(float(bfloat16(1.0f + 3.0f / 256)) == 1.0f + 1.0f / 64); // a tie, up to even
  CHECK(float(bfloat16(1.0f + 1.1f / 256)) == 1.0f + 1.0f / 128);
  CHECK(float(bfloat16(3.4e38f)) == std::numeric_limits<float>::infinity());
  CHECK(std::isnan(float(bfloat16(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(float(bfloat16(-0.0f)) == 0.0f);
  CHECK(std::signbit(float(bfloat16(-0.0f))));
}

TEST_CASE("what travels and what comes out follow the options, forward and backward") {
  CHECK_NOTHROW(threads::run(ranks, [](auto& world) {
    Ranks const m(world);
    auto& c = m.communicator(0);
    auto const p = suite::as<Partial<>>(fractions(12, c.rank()), m);
    check_numbers<double, double, double>(c, p, reduced<>(), "all_reduce");
    check_numbers<float, float, float>(c, p, reduced<wire<float>>(), "all_reduce, wire");
    check_numbers<double, float, float>(c, p, reduced<out<float>>(), "all_reduce, out");
    check_numbers<float, double, double>(c, p, reduced<wire<float>, out<double>>(), "all_reduce, both");
    check_numbers<float, double, float>(c, p, reduced<wire<float>, out<double>, bwd<wire<float>>>(),
                                        "all_reduce, both and back");
    check_numbers<bfloat16, float, float>(c, p, reduced<wire<bfloat16>, out<float>, bwd<wire<float>>>(),
                                          "all_reduce in bfloat16");
    check_numbers<bfloat16, float, bfloat16>(c, p, reduced<wire<bfloat16>, out<float>, bwd<wire<bfloat16>>>(),
                                             "all_reduce in bfloat16, back too");
    check_numbers<bfloat16, float, float>(c, p, scattered_by<wire<bfloat16>, out<float>>(),
                                          "reduce_scatter in bfloat16: a gather back");
    check_numbers<double, float, float>(c, p, scattered_by<out<float>>(), "reduce_scatter, out");
    auto const s = distribute<Shard<0>>(fractions(12, 5), m);
    check_numbers<double, double, double>(c, s, gathered_by<>(), "all_gather");
    check_numbers<float, float, float>(c, s, gathered_by<wire<float>>(), "all_gather, wire");
    check_numbers<float, float, float>(c, s, gathered_by<out<float>>(), "all_gather, out: the lower travels");
    check_numbers<float, double, double>(c, s, gathered_by<wire<float>, out<double>>(), "all_gather, both");
    check_numbers<bfloat16, float, float>(c, s, gathered_by<wire<bfloat16>, out<float>, bwd<wire<float>>>(),
                                          "all_gather in bfloat16, back in float");
    check_numbers<bfloat16, double, bfloat16>(c, s, gathered_by<wire<bfloat16>, out<double>, bwd<wire<bfloat16>>>(),
                                              "all_gather in bfloat16");
    // without a gradient nobody has to choose
    auto const whole = all_gather<"tp">(s, wire<bfloat16>{}, out<float>{});
    for (index_t n = 0; n < 12; ++n)
      require(double(whole.local()[n]) == through<bfloat16>(fractions(12, 5)[n]), c, "rounded once");
    auto const cut = convert<"tp", Shard<0>>(suite::as<Replicate>(fractions(12, 5), m), out<float>{});
    static_assert(std::same_as<decltype(cut.local()[0]), float const&>);
    auto const turned = all_to_all<"tp", Shard<1>>(
        distribute<Shard<0>>(suite::whole_numbers(Extents<dyn, dyn>(6, 3), 1), m), wire<bfloat16>{}, out<double>{});
    require(suite::equal(gather(turned), suite::whole_numbers(Extents<dyn, dyn>(6, 3), 1)), c,
            "small whole numbers are exact in bfloat16");
  }));
}
} // namespace test_precision
