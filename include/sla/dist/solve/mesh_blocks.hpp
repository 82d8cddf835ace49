// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of vectors whose rows are on ranks, for methods that take some vectors and make blocks of as many as they need
// (solve/eigen/problem.hpp): each rank has its rows of all columns.
#pragma once

#include <sla/dist/value/distributed.hpp>

namespace sla {

/// Room for `columns` vectors like x, in its placements.
template <class T, class U, class E, class Mesh, class... P>
auto block_like(distributed<tensor<U, E>, Mesh, P...> const& x, index_t columns) {
  using Local = tensor<T, Extents<dyn, dyn>>;
  return distributed<Local, Mesh, P...>(Local({x.local().extent(0), columns}, uninitialized), x.handle());
}
/// Room for a vector like one column of x.
template <class T, class U, class E, class Mesh, class... P>
auto column_like(distributed<tensor<U, E>, Mesh, P...> const& x) {
  using Local = tensor<T, Extents<dyn>>;
  return distributed<Local, Mesh, P...>(Local({x.local().extent(0)}, uninitialized), x.handle());
}

} // namespace sla
