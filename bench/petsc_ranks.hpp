// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PETSc as a peer on all ranks: KSP with CG for Poisson's equation on a grid, preconditioned by Jacobi, by GAMG or by hypre's BoomerAMG with their defaults.
// Only where PETSc with real scalars was found (bench/CMakeLists.txt).
#pragma once

#include <petscksp.h>

#include <string>

#include "table.hpp"

namespace bench {

struct petsc_run {
  double setup = 0, solve = 0, wall = 0;  ///< seconds of the slowest rank: by the clock, of the processor, by the clock
  int iterations = 0;
};

/// nx * ny * nz points, ny = 1 of a plane; `what` ends with the preconditioner's name. rtol is of the true residual's norm.
inline petsc_run petsc_on_ranks(PetscInt nx, PetscInt ny, PetscInt nz, std::string const& what, double rtol, int most) {
  static bool const started = PetscInitializeNoArguments() == 0;
  if (!started) throw sla::unavailable_error("PETSc does not start; run the benchmark without it");
  auto const sure = [](PetscErrorCode code) { CHKERRABORT(PETSC_COMM_WORLD, code); };
  PetscInt const n = nx * ny * nz;
  bool const plane = ny == 1;
  Mat A;
  Vec x, b;
  KSP solver;
  PC preconditioner;
  sure(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 7, nullptr, 7, nullptr, &A));
  PetscInt first, last;
  sure(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; ++i) {
    PetscInt const place[] = {i % nx, i / nx % ny, i / (nx * ny)}, extent[] = {nx, ny, nz}, stride[] = {1, nx, nx * ny};
    PetscInt col[7], count = 0;
    PetscScalar value[7];
    col[count] = i, value[count++] = plane ? 4 : 6;
    for (int axis = 0; axis < 3; ++axis)
      for (int side = -1; side <= 1; side += 2)
        if (place[axis] + side >= 0 && place[axis] + side < extent[axis]) col[count] = i + side * stride[axis], value[count++] = -1;
    sure(MatSetValues(A, 1, &i, count, col, value, INSERT_VALUES));
  }
  sure(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  sure(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  sure(MatCreateVecs(A, &x, &b));
  PetscScalar* values;
  sure(VecGetArray(x, &values));
  for (PetscInt i = first; i < last; ++i) values[i - first] = std::sin(double(i) * double(i));
  sure(VecRestoreArray(x, &values));
  sure(MatMult(A, x, b));
  sure(KSPCreate(PETSC_COMM_WORLD, &solver));
  sure(KSPSetOperators(solver, A, A));
  sure(KSPSetType(solver, KSPCG));
  sure(KSPSetNormType(solver, KSP_NORM_UNPRECONDITIONED));
  sure(KSPSetTolerances(solver, rtol, PETSC_DEFAULT, PETSC_DEFAULT, most));
  sure(KSPGetPC(solver, &preconditioner));
  sure(PCSetType(preconditioner, what.ends_with("jacobi") ? PCJACOBI : what.ends_with("gamg") ? PCGAMG : PCHYPRE));
  petsc_run out;
  out.setup = seconds([&] { sure(KSPSetUp(solver)); });
  sure(KSPSolve(solver, b, x));
  sure(VecSet(x, 0));
  out.wall = seconds([&] { out.solve = cpu_seconds([&] { sure(KSPSolve(solver, b, x)); }); });
  PetscInt iterations;
  sure(KSPGetIterationNumber(solver, &iterations));
  out.iterations = int(iterations);
  double slowest[] = {out.setup, out.solve, out.wall};
  MPI_Allreduce(MPI_IN_PLACE, slowest, 3, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
  out.setup = slowest[0], out.solve = slowest[1], out.wall = slowest[2];
  sure(KSPDestroy(&solver));
  sure(VecDestroy(&x));
  sure(VecDestroy(&b));
  sure(MatDestroy(&A));
  return out;
}

}  // namespace bench
