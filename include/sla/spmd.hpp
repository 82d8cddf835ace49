// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to placements as types: meshes, placements, the rules that combine them, and the sentences of the refusals.
// Nothing here communicates; distributed tensors, collectives and plans are behind sla/dist.hpp. Of the tables of rules it
// has products and maps; all of them are behind sla/spmd/rule/tables.hpp. `check_rule` is behind sla/check.hpp.
#pragma once

#include <sla/spmd/mesh/mesh.hpp>
#include <sla/spmd/placement/family.hpp>
#include <sla/spmd/placement/named.hpp>
#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/placement/partition_spec.hpp>
#include <sla/spmd/placement/placement.hpp>
#include <sla/spmd/placement/placement_values.hpp>
#include <sla/spmd/refusal/diagnose.hpp>
#include <sla/spmd/refusal/explain_error.hpp>
#include <sla/spmd/rule/compose.hpp>
#include <sla/spmd/rule/modes.hpp>
#include <sla/spmd/rule/rules.hpp>
#include <sla/spmd/rule/table/composite.hpp>
#include <sla/spmd/rule/table/einsum.hpp>
#include <sla/spmd/rule/table/op_rule.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>
#include <sla/spmd/rule/well_typed.hpp>
#include <sla/spmd/step/transition.hpp>
