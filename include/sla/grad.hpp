// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to derivatives: value_and_gradient, jvp and vjp, check_gradient; traced values, vjp and jvp of every operation.
// Derivatives through distributed values are in dist/.
#pragma once

#include <sla/solve.hpp>

#include <sla/grad/apply.hpp>
#include <sla/grad/cat.hpp>
#include <sla/grad/check.hpp>
#include <sla/grad/entries.hpp>
#include <sla/grad/gradient.hpp>
#include <sla/grad/jvp.hpp>
#include <sla/grad/norms.hpp>
#include <sla/grad/pullback.hpp>
#include <sla/grad/slice.hpp>
#include <sla/grad/solve.hpp>
#include <sla/grad/sparse.hpp>
