// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What statements read and write, as address ranges. Passes (exec/plan.hpp), aliasing and byte counts follow from these.
#pragma once

#include <cstdint>

#include <sla/core/shape.hpp>

namespace sla {

/// One operand of a statement: its bytes, and whether an element reads them at other rows than its own.
struct memory_access {
  void const* data;
  index_t bytes;
  bool elsewhere;
  bool writes;
  index_t besides = 0;  ///< bytes that are read with them and never written: the pattern of a sparse tensor
  bool by_row = false;  ///< an element reads all of its own row: at once with its neighbours, where rows are computed one after the other
  index_t step = 0;  ///< bytes from one number to the next, of a column of a block

  bool overlaps(memory_access const& other) const {
    auto const a = reinterpret_cast<std::uintptr_t>(data), b = reinterpret_cast<std::uintptr_t>(other.data);
    if (a >= b + std::uintptr_t(other.bytes) || b >= a + std::uintptr_t(bytes)) return false;
    return !(step && step == other.step && (a < b ? b - a : a - b) % std::uintptr_t(step) != 0);  // other columns
  }
  bool same_as(memory_access const& other) const { return data == other.data && bytes == other.bytes && step == other.step; }
};

} // namespace sla
