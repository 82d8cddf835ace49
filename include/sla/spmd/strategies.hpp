// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to the tables of rules, for own operations that are like one of them, and to the expansion of a table over
// families. The decision for given operands is in spmd/rules.hpp.
#pragma once

#include <sla/spmd/strategies/composite.hpp>
#include <sla/spmd/strategies/einsum.hpp>
#include <sla/spmd/strategies/index.hpp>
#include <sla/spmd/strategies/library.hpp>
#include <sla/spmd/strategies/make.hpp>
#include <sla/spmd/strategies/move.hpp>
#include <sla/spmd/strategies/pointwise.hpp>
#include <sla/spmd/strategies/reduce.hpp>
#include <sla/spmd/strategies/sparse.hpp>
#include <sla/spmd/expand.hpp>
