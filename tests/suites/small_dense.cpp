// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define SLA_SMALL_DENSE template
#include "suites/small_dense.hpp"
