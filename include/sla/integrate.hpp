// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to equations in time: M u' = f(u, t) in fixed steps, with derivatives of the states. It opens the doors below it too.
#pragma once

#include <sla/nonlinear.hpp>

#include <sla/solve/integrate/integration.hpp>
