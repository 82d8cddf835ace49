// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to the check of a rule: `check_rule<Op>(...)` tries all placements of the operands on simulated ranks, `describe(report)`
// says what it found. It is for tests; no other door opens it.
#pragma once

#include <sla/spmd/check/check_report.hpp>
#include <sla/spmd/check/check_rule.hpp>
#include <sla/spmd/check/op_kernel.hpp>
