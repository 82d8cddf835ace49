// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that was compiled knowing only the solve door works when traced.
#include "suites/user_library.hpp"

#include "suites/user_library_traced.hpp"
