// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to nonlinear systems: F(u) = 0, with bounds and without, sparse Jacobians of functions, and derivatives of solutions.
// It opens the doors below it too.
#pragma once

#include <sla/grad.hpp>

#include <sla/solve/nonlinear/arclength.hpp>
#include <sla/solve/nonlinear/bounded.hpp>
#include <sla/solve/nonlinear/nonlinear_solve.hpp>
