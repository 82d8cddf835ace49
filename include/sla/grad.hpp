// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to derivatives: value_and_gradient, jvp and vjp, hvp, check_gradient; traced values, rules of operations and of equations.
// Derivatives through distributed values are in dist/.
#pragma once

#include <sla/solve.hpp>

#include <sla/grad/call/check_gradient.hpp>
#include <sla/grad/call/gradient.hpp>
#include <sla/grad/call/hvp.hpp>
#include <sla/grad/call/jvp.hpp>
#include <sla/grad/call/pullback.hpp>
#include <sla/grad/operation/traced_apply.hpp>
#include <sla/grad/operation/traced_blocks.hpp>
#include <sla/grad/operation/traced_cat.hpp>
#include <sla/grad/operation/traced_entries.hpp>
#include <sla/grad/operation/traced_norms.hpp>
#include <sla/grad/operation/traced_slice.hpp>
#include <sla/grad/operation/traced_solve.hpp>
#include <sla/grad/operation/traced_sparse.hpp>
#include <sla/grad/tape/implicit.hpp>
