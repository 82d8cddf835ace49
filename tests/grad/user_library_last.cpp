// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same library, included after the gradients.
#include <sla/grad.hpp>

#include "suites/user_library.hpp"

#include "suites/user_library_traced.hpp"
