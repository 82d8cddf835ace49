// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps on MPI ranks against their specification, their adjoints, and the comparison of the ranks' calls.
#include <sla/adapter/mpi.hpp>
#include <sla/dist/step/pending.hpp>

#include "expect.hpp"
#include "suites/steps.hpp"

using namespace sla;

/// Steps without waiting, by MPI's collectives that do not block, or by messages, are the steps that wait; numbers are whole, so in any order.
template <class Mesh>
void without_waiting(Mesh const& m, bool by_mpi = true) {
  auto& c = m.communicator(0);
  auto p = suite::as<Partial<>>(suite::whole_numbers(Extents<dyn, dyn>(12, 5), c.rank()), m);
  auto const highest = suite::as<Partial<Max>>(suite::whole_numbers(Extents<dyn, dyn>(12, 5), c.rank()), m);
  auto s = distribute<Shard<0, Ceil>>(suite::whole_numbers(Extents<dyn, dyn>(12, 5), 3), m);
  auto const averages = suite::as<Partial<Avg>>(suite::whole_numbers(Extents<dyn, dyn>(12, 5), c.rank()), m);
  auto const sum = all_reduce<"tp">(p), high = all_reduce<"tp">(highest), average = all_reduce<"tp">(averages), whole = all_gather<"tp">(s);
  auto const part = reduce_scatter<"tp", Shard<1, Balanced>>(p);
  c.reset_stats();
  auto sum_later = all_reduce<"tp">(p, async), high_later = all_reduce<"tp">(highest, async), average_later = all_reduce<"tp">(averages, async);
  auto whole_later = all_gather<"tp">(s, async);
  auto part_later = reduce_scatter<"tp", Shard<1, Balanced>>(p, async);
  { auto dropped = all_gather<"tp">(s, async); }
  traffic const sent = c.stats();
  for (double& e : p.local()) e = 0;  // the operands are free
  for (double& e : s.local()) e = 0;
  while (!part_later.done()) {
  }
  using suite::equal;
  expect(equal(std::move(whole_later).wait().local(), whole.local()), "all_gather without waiting");
  expect(equal(std::move(part_later).wait().local(), part.local()), "reduce_scatter without waiting");
  expect(equal(std::move(high_later).wait().local(), high.local()), "a maximum without waiting");
  expect(equal(std::move(average_later).wait().local(), average.local()), "an average without waiting");
  expect(equal(std::move(sum_later).wait().local(), sum.local()), "all_reduce without waiting");
  if (by_mpi) expect(sent.messages == 0 && sent.count(collective::all_reduce) == 3 && sent.count(collective::all_gather) == 2, "they are MPI's");
}

int main(int argc, char** argv) {
  mpi::environment environment(argc, argv);
  auto world = environment.world();
  mesh<axis<"tp">> const m(world);
  suite::varying(m);
  suite::halos(m, problems::poisson<double>({6, 5}));
  suite::between<Shard<0, Ceil>, Shard<1, Balanced>>(m, suite::whole_numbers(Extents<dyn, dyn>(7, 5), 1),
                                                     "uneven 0 to 1");
  for (bool compared : {true, false}) {
    auto again = environment.world();  // a handle
    again.compare_calls(std::chrono::seconds(compared ? 2 : 0));
    without_waiting(mesh<axis<"tp">>(again));
    again.limit_calls_to(7);  // reductions in pieces, the rest by messages
    without_waiting(mesh<axis<"tp">>(again), false);
    again.limit_calls_to(1 << 30);
    again.want_equal_bits();
    without_waiting(mesh<axis<"tp">>(again), false);
    again.want_equal_bits(false);
  }
  environment.world().compare_calls();
  if (world.size() > 1) {
    auto const p = suite::as<Partial<>>(suite::whole_numbers(Extents<dyn, dyn>(12, 2), 1), m);
    std::string words;
    try {
      if (world.rank() == 1)
        reduce_scatter<"tp", Shard<0>>(p);
      else
        all_reduce<"tp">(p);
    } catch (rank_error const& e) {
      words = e.what();
    }
    expect(words.find("rank 0 called all_reduce<\"tp\", Partial<Sum>, Replicate>") != words.npos,
           "the step of rank 0 is named");
    expect(words.find("rank 1 called reduce_scatter<\"tp\", Partial<Sum>, Shard<0>>") != words.npos,
           "the step of rank 1 is named");
    expect(all_reduce<"tp">(p).local()[0] == world.size() * p.local()[0], "and the ranks go on");
  }
  return failures();
}
