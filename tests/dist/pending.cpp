// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps without waiting give the values of those that wait, to the bit, while messages are late and other work goes on.
#include <chrono>

#include <sla/dist/pending.hpp>
#include <sla/dist/threads.hpp>

#include "catch.hpp"
#include "suites/steps.hpp"

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
