// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PETSc as a peer: KSPSolve of a sequential AIJ matrix, started from zero, by its defaults, GMRES(30) with ILU(0), or by multigrid, GAMG or hypre's BoomerAMG.
// Only where PETSc was found, with 32-bit indices (bench/CMakeLists.txt); its scalars are real or complex, as it was built.
#pragma once

#include <petscksp.h>

#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

#include "table.hpp"

namespace bench {

struct petsc_outcome {
  double setup = 0, seconds = 0;  ///< seconds: of both
  int iterations = 0;
  bool set_up = false, converged = false;
};

// Errors of PETSc end the program with PETSc's own words.
inline void sure(PetscErrorCode code) { CHKERRABORT(PETSC_COMM_SELF, code); }

/// A x = b in PETSc's hands: the arrays are ours, the solver is not set up.
struct petsc_system {
  petsc_system(sla::sparse_tensor<PetscScalar> const& A, sla::vector<PetscScalar> const& b, sla::vector<PetscScalar>& x, double rtol) {
    static bool const started = PetscInitializeNoArguments() == 0;
    if (!started) throw sla::unavailable_error("PETSc does not start; run the benchmark without it");
    PetscInt const rows = PetscInt(A.rows());
    auto* const row_ptr = const_cast<PetscInt*>(A.pattern().row_ptr.data());
    auto* const col = const_cast<PetscInt*>(A.pattern().col.data());
    sure(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, rows, rows, row_ptr, col, const_cast<PetscScalar*>(A.values().data()), &matrix));
    sure(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, rows, b.data(), &right));
    sure(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, rows, x.data(), &left));
    sure(KSPCreate(PETSC_COMM_SELF, &solver));
    sure(KSPSetOperators(solver, matrix, matrix));
    sure(KSPSetTolerances(solver, rtol, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  }
  petsc_system(petsc_system const&) = delete;
  petsc_system& operator=(petsc_system const&) = delete;
  ~petsc_system() {
    sure(KSPDestroy(&solver));
    sure(VecDestroy(&left));
    sure(VecDestroy(&right));
    sure(MatDestroy(&matrix));
  }
  /// Seconds of `clock`.
  petsc_outcome run(double (*clock)()) {
    petsc_outcome out;
    double const start = clock();
    PetscPushErrorHandler(PetscIgnoreErrorHandler, nullptr);  // ILU(0) may not exist
    out.set_up = KSPSetUp(solver) == 0;
    PetscPopErrorHandler();
    out.setup = clock() - start;
    if (out.set_up) sure(KSPSolve(solver, right, left));
    out.seconds = clock() - start;
    KSPConvergedReason reason = KSP_DIVERGED_NULL;
    PetscInt iterations = 0;
    if (out.set_up) {
      sure(KSPGetConvergedReason(solver, &reason));
      sure(KSPGetIterationNumber(solver, &iterations));
    }
    out.converged = reason > 0, out.iterations = int(iterations);
    return out;
  }
  Mat matrix;
  Vec right, left;
  KSP solver;
};

/// Solves A x = b to a relative tolerance (of PETSc's preconditioned residual), set-up included.
inline petsc_outcome petsc_defaults(sla::sparse_tensor<PetscScalar> const& A, sla::vector<PetscScalar> const& b, sla::vector<PetscScalar>& x, double rtol) {
  return petsc_system(A, b, x, rtol).run(now);
}

/// The same by CG, or BiCGSTAB, to a tolerance of the true residual, with PCGAMG or PCHYPRE (BoomerAMG; its first level is coarsened aggressively); `unknowns` rows in turn are those of a point.
inline petsc_outcome petsc_multigrid(sla::sparse_tensor<PetscScalar> const& A, sla::vector<PetscScalar> const& b, sla::vector<PetscScalar>& x, double rtol, bool symmetric, PCType what, double (*clock)(), int unknowns = 1) {
  petsc_system system(A, b, x, rtol);
  if (unknowns > 1) sure(MatSetBlockSize(system.matrix, unknowns));
  PC preconditioner;
  sure(KSPSetType(system.solver, symmetric ? KSPCG : KSPBCGS));
  if (symmetric)
    sure(KSPSetNormType(system.solver, KSP_NORM_UNPRECONDITIONED));
  else
    sure(KSPSetPCSide(system.solver, PC_RIGHT));
  sure(KSPSetTolerances(system.solver, rtol, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  sure(KSPGetPC(system.solver, &preconditioner));
  sure(PetscOptionsSetValue(nullptr, "-pc_hypre_boomeramg_agg_nl", "1"));
  sure(PCSetType(preconditioner, what));
  sure(PCSetFromOptions(preconditioner));
  return system.run(clock);
}

}  // namespace bench
