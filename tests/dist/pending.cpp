// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps without waiting give the values of those that wait, to the bit, while messages are late and other work goes on.
#include <chrono>

#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/step/pending_gradient.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"
#include "suites/steps.hpp"

namespace test_pending {

using namespace sla;
using namespace std::chrono_literals;
using suite::equal;
using suite::require;
using Ranks = mesh<axis<"tp">>;

namespace {
template <class E>
suite::numbers<E> fractions(E extents, int seed) {
  auto x = suite::whole_numbers(extents, seed);
  for (index_t n = 0; n < x.size(); ++n) x[n] = x[n] / 7 + 1.0 / double(n + 3 + seed);
  return x;
}
} // namespace

TEST_CASE("steps without waiting are those that wait, in any order and with late messages") {
  auto const late = GENERATE(0us, 200us);
  int const ranks = GENERATE(1, 2, 3, 4);
  auto const A = problems::poisson<double>({6, 5});
  CHECK_NOTHROW(threads::run(ranks, {.delay = late}, [&](auto& world) {
    Ranks const m(world);
    auto& c = m.communicator(0);
    Extents<dyn, dyn> const shape(12, 5);
    auto p = suite::as<Partial<>>(fractions(shape, c.rank()), m);
    auto s = distribute<Shard<0, Ceil>>(fractions(shape, 3), m);
    auto const averages = suite::as<Partial<Avg>>(fractions(shape, c.rank()), m);
    auto const D = distribute<SparseShard<0>>(A, m, suite::scattered_owners(30, c.size()));
    auto const x = distribute(fractions(Extents<dyn, dyn>(30, 2), 4), D.col_layout());
    auto const sum = all_reduce<"tp">(p);
    auto const part = reduce_scatter<"tp", Shard<1, Balanced>>(p);
    auto const whole = all_gather<"tp">(s);
    auto const turned = all_to_all<"tp", Shard<1, Ceil>>(s);
    auto const again = repartition<"tp", Shard<0, Balanced>>(s);
    auto const ghosts = halo_exchange<"tp", "A">(x, D);
    auto const average = all_reduce<"tp">(averages);

    auto sum_later = all_reduce<"tp", Invariant>(p, async);
    auto part_later = reduce_scatter<"tp", Shard<1, Balanced>>(p, async);
    auto whole_later = all_gather<"tp">(s, async);
    auto turned_later = all_to_all<"tp", Shard<1, Ceil>>(s, async);
    auto again_later = repartition<"tp", Shard<0, Balanced>>(s, async);
    auto ghosts_later = halo_exchange<"tp", "A">(x, D, async);
    auto average_later = all_reduce<"tp">(averages, async);
    { auto dropped = all_gather<"tp">(s, async); }
    for (double& e : p.local()) e = 0; // the operands are free
    for (double& e : s.local()) e = 0;
    require(all_reduce(c, 1.0) == c.size(), c, "a collective in between");
    while (!turned_later.done()) {
    }
    require(equal(std::move(ghosts_later).wait().local(), ghosts.local()), c, "halo_exchange");
    require(equal(std::move(turned_later).wait().local(), turned.local()), c, "all_to_all");
    auto const late_sum = std::move(sum_later).wait();
    static_assert(has_placements<std::remove_const_t<decltype(late_sum)>, Invariant>);
    require(equal(late_sum.local(), sum.local()), c, "all_reduce");
    require(equal(std::move(whole_later).wait().local(), whole.local()), c, "all_gather");
    require(equal(std::move(again_later).wait().local(), again.local()), c, "repartition");
    require(equal(gather(std::move(part_later).wait()), gather(part)), c, "reduce_scatter");
    require(equal(std::move(average_later).wait().local(), average.local()), c, "an average");
    bool told = false;
    try {
      std::move(whole_later).wait();
    } catch (value_error const&) {
      told = true;
    }
    require(told, c, "a value is taken once");
  }));
}

TEST_CASE("gradients of steps without waiting are those of the steps, and so are tangents") {
  CHECK_NOTHROW(threads::run(GENERATE(1, 2, 3, 4, 8), {.delay = 50us}, [&](auto& world) {
    Ranks const m(world);
    auto& c = m.communicator(0);
    Extents<dyn, dyn> const shape(48, 5);
    auto const p = suite::as<Partial<>>(suite::whole_numbers(shape, c.rank()), m);
    auto const s = distribute<Shard<0, Ceil>>(suite::whole_numbers(shape, 3), m);
    auto const D = distribute<SparseShard<0>>(problems::poisson<double>({6, 5}), m, suite::scattered_owners(30, c.size()));
    auto const x = distribute(suite::whole_numbers(Extents<dyn, dyn>(30, 2), 4), D.col_layout());
    auto const ghosts = halo_exchange<"tp", "A">(x, D);
    auto const contributions = convert<"tp", GhostP<0, Part<>, "A">>(owned<"tp">(ghosts));
    using suite::check_adjoint;
    check_adjoint(c, p, [](auto const& v) { return all_reduce<"tp">(v, async).wait(); }, "all_reduce to R");
    check_adjoint(c, p, [](auto const& v) { return all_reduce<"tp", Invariant>(v, async).wait(); }, "all_reduce to I");
    check_adjoint(c, p, [](auto const& v) { return reduce_scatter<"tp", Shard<1, Balanced>>(v, async).wait(); }, "reduce_scatter");
    check_adjoint(c, s, [](auto const& v) { return all_gather<"tp">(v, async).wait(); }, "all_gather to R");
    check_adjoint(c, s, [](auto const& v) { return all_gather<"tp", Invariant>(v, async).wait(); }, "all_gather to I");
    check_adjoint(c, s, [](auto const& v) { return all_to_all<"tp", Shard<1, Ceil>>(v, async).wait(); }, "all_to_all");
    check_adjoint(c, s, [](auto const& v) { return repartition<"tp", Shard<0, Balanced>>(v, async).wait(); }, "repartition");
    check_adjoint(c, x, [&](auto const& v) { return halo_exchange<"tp", "A">(v, D, async).wait(); }, "halo_exchange");
    check_adjoint(c, contributions, [](auto const& v) { return halo_reduce<"tp">(v, async).wait(); }, "halo_reduce");
    check_adjoint(c, ghosts, [](auto const& v) { return all_gather<"tp">(v, async).wait(); }, "all_gather of a Ghost");
    require(equal(all_gather<"tp">(ghosts, async).wait().local(), all_gather<"tp">(ghosts).local()), c, "the whole of a Ghost");
    require(equal(halo_reduce<"tp">(contributions, async).wait().local(), halo_reduce<"tp">(contributions).local()), c, "halo_reduce");

    // three under way at once
    auto const waiting = [](auto const& v) {
      auto const whole = all_gather<"tp">(v);
      auto const turned = all_to_all<"tp", Shard<1, Ceil>>(v), doubled = all_to_all<"tp", Shard<1, Ceil>>(2.0 * v);
      return eval(convert<"tp", Shard<1, Ceil>>(whole * whole) + turned * doubled);
    };
    auto const going_on = [](auto const& v) {
      auto whole_later = all_gather<"tp">(v, async);
      auto turned = all_to_all<"tp", Shard<1, Ceil>>(v, async);
      auto doubled = all_to_all<"tp", Shard<1, Ceil>>(2.0 * v, async);
      auto const product = std::move(doubled).wait() * std::move(turned).wait();
      auto const whole = std::move(whole_later).wait();
      return eval(convert<"tp", Shard<1, Ceil>>(whole * whole) + product);
    };
    auto const direction = distribute<Shard<0, Ceil>>(suite::whole_numbers(shape, 8), m);
    auto const [y, dy] = jvp(waiting, std::tie(s), std::tie(direction));
    auto const [z, dz] = jvp(going_on, std::tie(s), std::tie(direction));
    require(equal(z.local(), y.local()) && equal(dz.local(), dy.local()), c, "values and tangents");
    auto const [loss, g] = value_and_gradient([&](auto const& v) { return 0.5 * squared_norm(waiting(v)); }, s);
    auto const [same, h] = value_and_gradient([&](auto const& v) { return 0.5 * squared_norm(going_on(v)); }, s);
    require(same == loss && equal(h.local(), g.local()), c, "gradients");
  }));
}

TEST_CASE("a cotangent is under way from where the value was waited for to where the step began") {
  CHECK_NOTHROW(threads::run(3, [&](auto& world) {
    Ranks const m(world);
    auto& c = m.communicator(0);
    auto const s = distribute<Shard<0>>(suite::whole_numbers(Extents<dyn, dyn>(6, 2), 3), m);
    tape t;
    auto& input = t.input(s);
    traced<std::remove_const_t<decltype(s)>> const x(t, input);
    std::uint64_t seen = 0;
    auto later = all_gather<"tp">(x, async);
    auto& between = t.record(s, [&](auto const&, auto const&) { seen = c.stats().exchanges; }); // it sends nothing
    auto const whole = std::move(later).wait();
    between.add(s);
    whole.variable().add(suite::some_cotangent(whole.value(), c.rank()));
    auto const before = c.stats().exchanges;
    t.sweep();
    require(seen == before + 1 && c.stats().exchanges == seen, c, "one exchange, begun before");
  }));
}
} // namespace test_pending
