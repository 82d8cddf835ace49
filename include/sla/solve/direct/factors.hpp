// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who makes the factors that solve/seam/factorization.hpp declares: Eigen's solvers, read and compiled here; or the component
// `instances`, whose folder of headers says that they are in its library (docs/installing.md).
#pragma once

#include <sla/solve/seam/factorization.hpp>

#if __has_include(<sla_instances/factors.hpp>)
#include <sla_instances/factors.hpp>
#else
#include <sla/adapter/eigen_direct.hpp>
#endif
