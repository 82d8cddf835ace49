// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An iteration of CG on MPI ranks takes nothing from the heap, with Jacobi, with factors of each rank's block, and with multigrid. What MPI takes is its own.
#include <sla/adapter/mpi.hpp>
#include <sla/dist/multigrid/amg_on_ranks.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>

#include "expect.hpp"
#include "suites/heap.hpp"

int main(int argc, char** argv) {
  sla::mpi::environment environment(argc, argv);
  auto world = environment.world();
  sla::mesh<sla::axis<"rows">> const m(world);
  expect(suite::allocations_of_iterations(m, sla::jacobi{}, 45) == 0, "jacobi");
  expect(suite::allocations_of_iterations(m, sla::ilu0{}, 45) == 0, "ilu0");
  expect(suite::allocations_of_iterations(m, sla::amg{}, 25) == 0, "amg");
  return failures();
}
