// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to gradients: value_and_gradient, traced values, vjp of every operation.
// Gradients through distributed values are in dist/.
#pragma once

#include <sla/grad/gradient.hpp>
#include <sla/grad/solve.hpp>
