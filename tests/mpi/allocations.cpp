// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An iteration on MPI ranks takes nothing from the heap: of CG with Jacobi, with factors of each rank's block, and with multigrid, and of the other methods, whose
// basis vectors are tensors. What MPI takes is its own.
#include <sla/adapter/mpi.hpp>
#include <sla/dist/multigrid/amg_on_ranks.hpp>
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/fgmres.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>

#include "expect.hpp"
#include "suites/heap.hpp"

int main(int argc, char** argv) {
  sla::mpi::environment environment(argc, argv);
  auto world = environment.world();
  sla::mesh<sla::axis<"rows">> const m(world);
  expect(suite::allocations_of_iterations(m, sla::cg{}, sla::jacobi{}, 45) == 0, "jacobi");
  expect(suite::allocations_of_iterations(m, sla::cg{}, sla::ilu0{}, 45) == 0, "ilu0");
  expect(suite::allocations_of_iterations(m, sla::cg{}, sla::amg{}, 25) == 0, "amg");
  expect(suite::allocations_of_iterations(m, sla::minres{}, sla::jacobi{}, 45) == 0, "minres");
  expect(suite::allocations_of_iterations(m, sla::bicgstab{}, sla::jacobi{}, 45) == 0, "bicgstab");
  expect(suite::allocations_of_iterations(m, sla::gmres{}, sla::jacobi{}, 65) == 0, "gmres");
  expect(suite::allocations_of_iterations(m, sla::fgmres{}, sla::jacobi{}, 65) == 0, "fgmres");
  return failures();
}
