// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Catch2's main, for an installation of Catch2 2 that is headers alone.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
