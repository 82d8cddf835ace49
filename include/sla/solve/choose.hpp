// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The automatic choice of a method and preconditioner.
#pragma once

#include <sla/solve/direct.hpp>
#include <sla/solve/engine.hpp>

namespace sla {
struct automatic {
  using method_tag = void;
  static constexpr char const* name = "automatic";
};
}  // namespace sla
