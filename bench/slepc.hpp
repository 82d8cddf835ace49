// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SLEPc as a peer: the k smallest pairs of a symmetric matrix by Krylov-Schur with shift and invert at 0, whose systems are solved by CG with GAMG
// to 1e-12. Only where SLEPc with real scalars was found (bench/CMakeLists.txt). Other methods by SLEPc's own options, in SLEPC_OPTIONS.
#pragma once

#include <cstdlib>

#include <slepceps.h>

#include <sla/tensor/storage/sparse.hpp>

#include "table.hpp"

namespace bench {

struct slepc_outcome {
  double seconds = 0;       ///< of processor, of all threads
  int pairs = 0, steps = 0; ///< found; iterations of the inner solver, or of the outer one
  double residual = 0, last = 0;
};

inline slepc_outcome slepc_smallest(sla::sparse_tensor<double> const& A, int k, double rtol) {
  char const* const own = std::getenv("SLEPC_OPTIONS");
  auto sure = [](PetscErrorCode code) { CHKERRABORT(PETSC_COMM_SELF, code); };
  static bool const started = SlepcInitializeNoArguments() == 0;
  if (!started) throw sla::unavailable_error("SLEPc does not start; run the benchmark without it");
  sure(PetscOptionsInsertString(nullptr, own ? own : "-eps_type krylovschur -st_type sinvert -eps_target 0 -eps_target_magnitude -st_ksp_type cg -st_ksp_rtol 1e-12 -st_pc_type gamg"));
  slepc_outcome out;
  PetscInt const rows = PetscInt(A.rows());
  Mat matrix;
  EPS solver;
  sure(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, rows, rows, const_cast<PetscInt*>(A.pattern().row_ptr.data()), const_cast<PetscInt*>(A.pattern().col.data()),
                                 const_cast<PetscScalar*>(A.values().data()), &matrix));
  out.seconds = process_seconds([&] {
    sure(EPSCreate(PETSC_COMM_SELF, &solver));
    sure(EPSSetOperators(solver, matrix, nullptr));
    sure(EPSSetProblemType(solver, EPS_HEP));
    sure(EPSSetWhichEigenpairs(solver, EPS_SMALLEST_REAL));
    sure(EPSSetDimensions(solver, k, PETSC_DEFAULT, PETSC_DEFAULT));
    sure(EPSSetTolerances(solver, rtol, 10000));
    sure(EPSSetFromOptions(solver));
    sure(EPSSolve(solver));
  });
  PetscInt found = 0, steps = 0;
  ST transform;
  KSP inner;
  sure(EPSGetConverged(solver, &found));
  sure(EPSGetIterationNumber(solver, &steps));
  sure(EPSGetST(solver, &transform));
  sure(STGetKSP(transform, &inner));
  PetscInt within = 0;
  sure(KSPGetTotalIterations(inner, &within));
  for (PetscInt j = 0; j < k && j < found; ++j) {
    PetscReal error = 0;
    PetscScalar value = 0;
    sure(EPSComputeError(solver, j, EPS_ERROR_RELATIVE, &error));
    sure(EPSGetEigenvalue(solver, j, &value, nullptr));
    out.residual = error > out.residual ? error : out.residual;
    out.last = value > out.last ? value : out.last;
  }
  out.pairs = int(found), out.steps = int(within ? within : steps);
  sure(EPSDestroy(&solver));
  sure(MatDestroy(&matrix));
  return out;
}

} // namespace bench
