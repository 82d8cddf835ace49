// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What multigrid needs to bring its levels into the memory of a device. Law: `to<Memory>(x)` moves tensors, as adapter/cuda/transfer.cuh has it.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/precond/amg/options.hpp>
#include <sla/tensor/build/convert.hpp>

namespace sla::detail {

/// x in this memory.
template <class Memory, class X>
auto in_memory(X const& x) {
  if constexpr (std::same_as<Memory, typename X::memory_type>)
    return x;
  else
    return to<Memory>(x);
}
/// The same of numbers alone.
template <class Memory, class T>
buffer<T, Memory> buffer_in_memory(buffer<T> const& x) {
  if constexpr (Memory::is_host) {
    return x;
  } else {
    auto there = to<Memory>(vector<T>(Extents<dyn>(x.size()), buffer<T>::borrow(x.data(), x.size())));
    return std::move(there.values());
  }
}

/// The n x n numbers, row by row, as a matrix whose rows are full.
template <class T, class Memory>
amg_matrix<T, Memory> full_matrix(std::vector<kernel_t<T>> const& numbers, index_t n) {
  amg_pattern full{n, n, buffer<std::int32_t>(n + 1, uninitialized), buffer<std::int32_t>(n * n, uninitialized)};
  for (index_t i = 0; i <= n; ++i) full.row_ptr[i] = std::int32_t(i * n);
  for (index_t i = 0; i < n; ++i) std::iota(full.col.data() + i * n, full.col.data() + (i + 1) * n, 0);
  buffer<T> values(n * n, uninitialized);
  std::copy(numbers.begin(), numbers.end(), kernel_pointer(values.data()));
  return in_memory<Memory>(amg_matrix<T>(Matrix(n, n), detail::shared_of<amg_pattern const>(std::move(full)), std::move(values)));
}

} // namespace sla::detail
