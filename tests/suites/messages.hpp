// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What errors say: the words of what a call throws, and whether a part of them is among them.
#pragma once

#include <string>

#include <sla/core/error.hpp>

namespace suite {

/// What f() throws says; nothing, if it goes through.
inline std::string words(auto const& f) {
  try {
    f();
  } catch (sla::error const& e) {
    return e.what();
  }
  return "";
}
inline bool tells(std::string const& what, char const* part) { return what.find(part) != std::string::npos; }

}  // namespace suite
