// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Catch2, version 2 or 3, under the same names: the macros, Approx, and Catch::Matchers with ContainsSubstring.
#pragma once

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
namespace Catch::Matchers {
inline auto ContainsSubstring(std::string const& text) { return Contains(text); }
} // namespace Catch::Matchers
#endif
