// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to the tables of rules, for own operations that are like one of them, and to the expansion of a table over
// families. The decision for given operands is in spmd/rule/rules.hpp.
#pragma once

#include <sla/spmd/rule/expand.hpp>
#include <sla/spmd/rule/table/composite.hpp>
#include <sla/spmd/rule/table/einsum.hpp>
#include <sla/spmd/rule/table/folds.hpp>
#include <sla/spmd/rule/table/index.hpp>
#include <sla/spmd/rule/table/library.hpp>
#include <sla/spmd/rule/table/make.hpp>
#include <sla/spmd/rule/table/move.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>
#include <sla/spmd/rule/table/sparse_tensors.hpp>
