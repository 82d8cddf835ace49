// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The door to solving: methods, preconditioners, direct solvers, the automatic choice. It opens the doors below it too; one that
// reads no factorisations is sla/krylov.hpp.
#pragma once

#include <sla/krylov.hpp>

#include <sla/solve/direct/direct.hpp>
#include <sla/solve/direct/fill_ordering.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/condition.hpp>
#include <sla/solve/linear/describe.hpp>

#if __has_include(<sla_instances/solve.hpp>)  // of the component `instances`: what is compiled already
#include <sla_instances/solve.hpp>
#endif
