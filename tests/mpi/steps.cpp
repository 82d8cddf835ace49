// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps on MPI ranks against their specification, their adjoints, and the comparison of the ranks' calls.
#include <sla/adapter/mpi.hpp>

#include "expect.hpp"
#include "suites/steps.hpp"

using namespace sla;

int main(int argc, char** argv) {
  mpi::environment environment(argc, argv);
  auto world = environment.world();
  mesh<axis<"tp">> const m(world);
  suite::varying(m);
  suite::halos(m, problems::poisson<double>({6, 5}));
  suite::between<Shard<0, Ceil>, Shard<1, Balanced>>(m, suite::whole_numbers(Extents<dyn, dyn>(7, 5), 1),
                                                     "uneven 0 to 1");
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
