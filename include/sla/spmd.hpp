// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to placements as types: meshes, placements, the rules that combine them, and the sentences of the refusals.
// Nothing here communicates; distributed tensors, collectives and plans are behind sla/dist.hpp. Of the tables of rules it
// has products and maps; all of them are behind sla/spmd/strategies.hpp. `check_rule` is in sla/spmd/check_rule.hpp.
#pragma once

#include <sla/spmd/family.hpp>
#include <sla/spmd/placement.hpp>
#include <sla/spmd/mesh.hpp>
#include <sla/spmd/typing.hpp>
#include <sla/spmd/partition_spec.hpp>
#include <sla/spmd/operand.hpp>
#include <sla/spmd/named.hpp>
#include <sla/spmd/op_rule.hpp>
#include <sla/spmd/strategies/pointwise.hpp>
#include <sla/spmd/strategies/einsum.hpp>
#include <sla/spmd/strategies/composite.hpp>
#include <sla/spmd/modes.hpp>
#include <sla/spmd/rules.hpp>
#include <sla/spmd/transition.hpp>
#include <sla/spmd/compose.hpp>
#include <sla/spmd/well_typed.hpp>
#include <sla/spmd/diagnose.hpp>
#include <sla/spmd/explain_error.hpp>
