// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to solving by methods that are named: Krylov methods and preconditioners. No factorisations, which the automatic choice
// takes too: they are behind sla/solve.hpp. It opens the doors below it too.
#pragma once

#include <sla/tensor.hpp>

#include <sla/exec/deferred.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/norms.hpp>
#include <sla/expr/sparse/refused.hpp>
#include <sla/expr/sparse/views.hpp>
#include <sla/expr/sparse/with_adjoint.hpp>
#include <sla/solve/direct/eliminate.hpp>
#include <sla/solve/driver/progress.hpp>
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/fgmres.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/linear/linear_list.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/solve/precond/amg/blocks/rigid_body_modes.hpp>
#include <sla/solve/precond/block_jacobi.hpp>
#include <sla/solve/precond/composed/chebyshev.hpp>
#include <sla/solve/precond/composed/gauss_seidel.hpp>
#include <sla/solve/precond/composed/inner.hpp>
#include <sla/solve/precond/composed/schwarz.hpp>
#include <sla/solve/precond/composed/two_level_schwarz.hpp>
#include <sla/solve/precond/ic0.hpp>
#include <sla/solve/precond/identity.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/iluk.hpp>
#include <sla/solve/precond/ilut.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/solve/precond/row_norms.hpp>
#include <sla/solve/precond/ssor.hpp>
#include <sla/solve/seam/report.hpp>
