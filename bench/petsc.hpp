// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PETSc's defaults as a peer: KSPSolve of a sequential AIJ matrix, GMRES(30) with ILU(0), started from zero.
// Only where PETSc was found, with 32-bit indices (bench/CMakeLists.txt); its scalars are real or complex, as it was built.
#pragma once

#include <petscksp.h>

#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

#include "table.hpp"

namespace bench {

struct petsc_outcome {
  double seconds = 0;
  int iterations = 0;
  bool set_up = false, converged = false;
};

/// Solves A x = b to a relative tolerance (of PETSc's preconditioned residual), set-up included.
inline petsc_outcome petsc_defaults(sla::sparse_tensor<PetscScalar> const& A, sla::vector<PetscScalar> const& b, sla::vector<PetscScalar>& x, double rtol) {
  static bool const started = PetscInitializeNoArguments() == 0;
  if (!started) throw sla::unavailable_error("PETSc does not start; run the benchmark without it");
  petsc_outcome out;
  PetscInt const rows = PetscInt(A.rows());
  auto* const row_ptr = const_cast<PetscInt*>(A.pattern().row_ptr.data());
  auto* const col = const_cast<PetscInt*>(A.pattern().col.data());
  Mat matrix;
  Vec right, left;
  KSP solver;
  // Errors of PETSc end the program with PETSc's own words.
  auto sure = [](PetscErrorCode code) { CHKERRABORT(PETSC_COMM_SELF, code); };
  sure(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, rows, rows, row_ptr, col, const_cast<PetscScalar*>(A.values().data()), &matrix));
  sure(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, rows, b.data(), &right));
  sure(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, rows, x.data(), &left));
  out.seconds = seconds([&] {
    sure(KSPCreate(PETSC_COMM_SELF, &solver));
    sure(KSPSetOperators(solver, matrix, matrix));
    sure(KSPSetTolerances(solver, rtol, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscPushErrorHandler(PetscIgnoreErrorHandler, nullptr);  // ILU(0) may not exist
    out.set_up = KSPSetUp(solver) == 0;
    PetscPopErrorHandler();
    if (out.set_up) sure(KSPSolve(solver, right, left));
  });
  KSPConvergedReason reason = KSP_DIVERGED_NULL;
  PetscInt iterations = 0;
  if (out.set_up) {
    sure(KSPGetConvergedReason(solver, &reason));
    sure(KSPGetIterationNumber(solver, &iterations));
  }
  out.converged = reason > 0, out.iterations = int(iterations);
  sure(KSPDestroy(&solver));
  sure(VecDestroy(&left));
  sure(VecDestroy(&right));
  sure(MatDestroy(&matrix));
  return out;
}

}  // namespace bench
