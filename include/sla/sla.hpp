// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The whole house by one door. Folders are floors, their folders rooms, each with a page; a header includes only lower floors, or what
// stands above it in its own (cmake/floors.txt is the reading order):
#pragma once

//   core/     words, no memory: shapes, scalars, operations by name, errors
//   tensor/   data at rest: memory, formats, dense and sparse owners, assembly, conversion, Matrix Market, model problems
//   expr/     what to compute: shape laws, nodes, operators, reductions, sparse products
//   exec/     where it runs: passes over memory, fuse, the host's backends, the queue that stands for a device
//   solve/    local and global alike: seam/ (space, stop test, report), krylov/, precond/, driver/, direct/, linear/ (the calls); sla/krylov.hpp has no factors;
//             with doors of their own, above grad: least_squares/, eigen/ (sla/eigenvalues.hpp), determinant/, nonlinear/, integrate/
//   grad/     derivatives: the tape and forward mode, one rule per node for both
//   spmd/     placements as types: mesh/, placement/, step/, rule/, refusal/, schedule/, plan/; no communication. check/: <sla/check.hpp>
//   dist/     many ranks: engine/, partition/, halo/, value/, view/, step/, assembly/, matrix/, solve/, grad/, plan/
//   adapter/  one foreign dependency each; include them by name: <sla/adapter/mpi.hpp>, <sla/adapter/cuda.cuh>, ...

#include <sla/tensor.hpp>
#include <sla/solve.hpp>
#include <sla/grad.hpp>
#include <sla/eigenvalues.hpp>
#include <sla/determinant.hpp>
#include <sla/least_squares.hpp>
#include <sla/nonlinear.hpp>
#include <sla/integrate.hpp>
#include <sla/spmd.hpp>
#include <sla/dist.hpp>
