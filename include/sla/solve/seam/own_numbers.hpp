// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For methods that decide on the host what comes next: the numbers of a vector that this process has, the one number of a scalar, and
// room for blocks of vectors. Ranks add theirs in dist/solve/mesh_blocks.hpp.
#pragma once

#include <vector>

#include <sla/tensor/storage/dense.hpp>

namespace sla {

/// Room for `columns` vectors like x, (N) or (N, k): a block (N, columns), where x lies.
template <class T, class U, class E, class Memory>
tensor<T, Extents<dyn, dyn>, Memory> block_like(tensor<U, E, Memory> const& x, index_t columns) {
  return tensor<T, Extents<dyn, dyn>, Memory>({x.extent(0), columns}, uninitialized);
}
/// Room for a vector like one column of x.
template <class T, class U, class E, class Memory>
tensor<T, Extents<dyn>, Memory> column_like(tensor<U, E, Memory> const& x) {
  return tensor<T, Extents<dyn>, Memory>({x.extent(0)}, uninitialized);
}

namespace detail {
/// The numbers of x that this process has: row-major, a row of the columns for each of N.
template <class V>
auto* own_numbers(V& x) {
  if constexpr (requires { x.local(); })
    return x.local().data();
  else
    return x.data();
}
template <class V>
index_t own_size(V const& x) {
  if constexpr (requires { x.local(); })
    return x.local().size();
  else
    return x.size();
}
/// The columns of a block.
template <class V>
index_t width_of(V const& block) {
  if constexpr (requires { block.local(); })
    return block.local().extent(1);
  else
    return block.extent(1);
}
/// The one number of a scalar, exactly.
template <class Space, class S>
auto read_one(Space& space, S const& s) {
  space.finish();
  return space.read(s)[0];
}
/// The same as its user writes it.
template <class Space, class S>
auto read_number(Space& space, S const& s) {
  auto const number = read_one(space, s);
  return user_t<std::remove_const_t<decltype(number)>>(number);
}
template <class Space, class R>
auto number_in(Space& space, R value) {
  return space.scalar(std::vector<R>(1, value));
}
/// Column j of a block, written from v.
template <class V, class W>
void put_column(V& block, index_t j, W const& v) {
  auto* const to = own_numbers(block);
  auto const* const from = own_numbers(v);
  index_t const rows = own_size(v), columns = rows ? own_size(block) / rows : 0;
  for (index_t i = 0; i < rows; ++i) to[i * columns + j] = from[i];
}
} // namespace detail

} // namespace sla
