// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `to<Memory>(D)` and `to<Memory>(x)` on ranks: each rank's part in another memory, in the same layout, so that solves work there. What a space of that memory
// does on a rank is in dist/halo/halo_in_memory.hpp; the way of one tensor is the memory's own (adapter/cuda/transfer.cuh).
#pragma once

#include <utility>

#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/tensor/build/convert.hpp>

namespace sla {

namespace detail {
/// May the parts of X lie in another memory? Vectors, and matrices by rows, or whole on each rank.
template <class X>
inline constexpr bool moves_between_memories = !is_plain_number<local_of_t<X>>;
template <PlacedSparse X>
inline constexpr bool moves_between_memories<X> = !by_entries<placements_of_t<X>> && sparse_dim<placements_of_t<X>> <= 0;
} // namespace detail

/// D or x on ranks with each rank's part in another memory: `to<device_memory>(D)`, `to<host_memory>(x)`. Products, expressions, reductions and
/// solves with Krylov methods, jacobi{} and block_jacobi{} work there; all else on the host. The device of a rank is the current one.
/// Law: D is sharded by rows, or whole on each rank. Placement: as before. Cost: that of each rank's part; no messages but for errors.
/// Errors: those of the memory, on every rank.
template <detail::IsMemory To, class Local, class Mesh, class... P>
auto convert(conversion_to<To>, distributed<Local, Mesh, P...> const& x) {
  using D = distributed<Local, Mesh, P...>;
  static_assert(detail::moves_between_memories<D>, "sla: to<Memory>(D): of matrices on ranks those by rows, SparseShard<0>, work in another memory than the host's; columns, rectangles "
                                                   "and entries stay in host_memory");
  if constexpr (detail::moves_between_memories<D>) {
    auto local = detail::together(x.mesh().world(), [&] { return to<To>(x.local()); });
    return distributed<decltype(local), Mesh, P...>(std::move(local), x.handle());
  } else {
    return x;
  }
}

} // namespace sla
