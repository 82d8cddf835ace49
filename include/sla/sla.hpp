// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The whole house by one door. Folders are floors; a header includes only lower ones, or what stands above it in its own
// (cmake/floors.txt is the reading order):
#pragma once

//   core/     words, no memory: shapes, scalars, operations by name, errors
//   tensor/   data at rest: memory, formats, dense and sparse owners, assembly, conversion, Matrix Market, model problems
//   expr/     what to compute: shape laws, nodes, operators, reductions, sparse products
//   exec/     where it runs: passes over memory, fuse, the host's backends, the queue that stands for a device
//   solve/    local and global alike: space (the seam), stop, krylov/*, precond/*, direct, the automatic choice; sla/krylov.hpp has no factors
//   grad/     derivatives: the tape and forward mode, one rule per node for both
//   spmd/     placements as types: meshes, rules (strategies/), transitions, plans (plan/), sentences; no communication
//   dist/     many ranks: communicators, who owns what (partition/), halos, collectives, distributed products and solves
//   adapter/  one foreign dependency each; include them by name: <sla/adapter/mpi.hpp>, <sla/adapter/cuda.cuh>, ...

#include <sla/tensor.hpp>
#include <sla/solve.hpp>
#include <sla/grad.hpp>
#include <sla/spmd.hpp>
#include <sla/dist.hpp>
