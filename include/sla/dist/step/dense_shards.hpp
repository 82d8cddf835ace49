// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of a dense tensor on the ranks of one line: cut out of the whole, put back, gathered and folded. Exchanges
// between dimensions and families are in dist/step/dense_all_to_all.hpp, stacks of whole tensors in dist/step/varying_stack.hpp, the steps made of
// all in dist/step/steps.hpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/dist/value/distributed.hpp>
#include <sla/tensor/storage/parallel.hpp>

namespace sla::detail {

/// The local tensor with other elements, and with other extents.
template <class Local, class T, class E = typename Local::extents_type>
struct rebuilt {
  using type = tensor<T, E, typename Local::memory_type>;
};
template <class Local, class T, class E = typename Local::extents_type>
using rebuilt_t = typename rebuilt<Local, T, E>::type;
/// The local tensor when dimension D is another part of its whole.
template <class Local, int D>
using resized_t =
    rebuilt_t<Local, typename Local::value_type, typename resized_extents<typename Local::extents_type, D, dyn>::type>;

/// A tensor as outer x extent x inner around one dimension.
template <class E>
std::pair<index_t, index_t> around(E const& extents, int d) {
  index_t outer = 1, inner = 1;
  for (int n = 0; n < d; ++n) outer *= extents[n];
  for (int n = d + 1; n < E::rank; ++n) inner *= extents[n];
  return {outer, inner};
}
template <class To, class E>
To with_extent(E const& extents, int d, index_t size) {
  return [&]<std::size_t... N>(std::index_sequence<N...>) { return To((int(N) == d ? size : extents[int(N)])...); }
  (std::make_index_sequence<std::size_t(E::rank)>{});
}
/// How many pieces of so many elements are moved by a thread at least.
inline index_t least_pieces(index_t each) { return (std::max)(index_t(2), serial_below / (std::max)(index_t(1), each)); }
/// to[outer][at(j)][inner] = from[outer][j][inner], or back. The places at(j) differ: threads share them.
template <bool Scatter, class T, class At>
void move_rows(T const* from, T* to, index_t outer, index_t count, index_t whole, index_t inner, At const& at) {
  parallel_ranges(outer * count, [&](index_t first, index_t last) {
    index_t o = first / (std::max)(count, index_t(1)), j = first - o * count;
    for (index_t n = first; n < last; ++n) {
      index_t const part = n * inner, global = (o * whole + at(j)) * inner;
      std::copy_n(from + (Scatter ? part : global), inner, to + (Scatter ? global : part));
      if (++j == count) ++o, j = 0;
    }
  }, least_pieces(inner));
}

/// The ranks of one mesh axis, or of several axes as one, and the dimension that they shard.
struct rank_group {
  any_communicator* c;
  int size, rank;
  index_t extent;            ///< of the whole that these ranks share
  row_partition const* rows; ///< of a Part: who owns what
};
template <class Mesh>
rank_group group_of(shared_layout<Mesh> const& layout, int a) {
  return {&layout.mesh.communicator(a), layout.mesh.size(a), layout.mesh.coordinate(a), layout.extent[a],
          layout.rows.get()};
}

template <class Family>
index_t part_extent(rank_group const& l, int r) {
  if constexpr (Family::stated)
    return Family::local_extent(r, l.extent, l.size);
  else
    return l.rows->count(r);
}
/// The global index of this rank's n-th.
template <class Family>
index_t part_global(rank_group const& l, index_t n) {
  if constexpr (Family::stated)
    return Family::local_to_global(l.rank, n, l.extent, l.size);
  else
    return l.rows->global(n);
}
/// Who has the global indices at(0) to at(count - 1). Collective where they are found in a directory.
template <class Family, class At>
std::vector<int> part_owners(rank_group const& l, index_t count, At const& at) {
  if constexpr (Family::stated) {
    std::vector<int> out(static_cast<std::size_t>(count));
    for (index_t n = 0; n < count; ++n) out[std::size_t(n)] = Family::owner(at(n), l.extent, l.size);
    return out;
  } else {
    return l.rows->owners_of(*l.c, count, at);
  }
}
/// Where piece r's j-th index lies in the whole, pieces of a found partition in ascending order: call it with (r, j). Collective where rows stand in a
/// directory.
template <class Family>
auto piece_places(rank_group const& l) {
  if constexpr (Family::stated)
    return [l](int r, index_t j) { return Family::local_to_global(r, j, l.extent, l.size); };
  else
    return
        [rows = l.rows, order = l.rows->contiguous() ? std::vector<index_t>() : l.rows->order(*l.c)](int r, index_t j) {
          return order.empty() ? rows->first(r) + j : order[std::size_t(rows->first(r) + j)];
        };
}
template <class Family>
std::vector<std::size_t> piece_counts(rank_group const& l, index_t each) {
  std::vector<std::size_t> counts;
  for (int r = 0; r < l.size; ++r) counts.push_back(std::size_t(part_extent<Family>(l, r) * each));
  return counts;
}
/// The whole, of the pieces of all ranks one after the other; x has the other extents.
template <class P, class Local>
auto unpacked_whole(Local const& x, typename Local::value_type const* piece, rank_group const& l) {
  using F = typename P::family;
  using To = resized_t<Local, P::dim>;
  To out(with_extent<typename To::extents_type>(x.extents(), P::dim, l.extent), uninitialized);
  auto const [outer, inner] = around(x.extents(), P::dim);
  auto const place = piece_places<F>(l);
  for (int r = 0; r < l.size; ++r) {
    index_t const count = part_extent<F>(l, r);
    move_rows<true>(piece, out.data(), outer, count, l.extent, inner, [&](index_t j) { return place(r, j); });
    piece += count * outer * inner;
  }
  return out;
}
/// The pieces of the whole for all ranks, one after the other.
template <class P, class Local>
auto packed_whole(Local const& x, rank_group const& l) {
  using F = typename P::family;
  std::vector<typename Local::value_type> out(std::size_t(x.size()));
  auto const [outer, inner] = around(x.extents(), P::dim);
  auto const place = piece_places<F>(l);
  auto* piece = out.data();
  for (int r = 0; r < l.size; ++r) {
    index_t const count = part_extent<F>(l, r);
    move_rows<false>(x.data(), piece, outer, count, l.extent, inner, [&](index_t j) { return place(r, j); });
    piece += count * outer * inner;
  }
  return out;
}
/// This rank's part, of its piece; x has the other extents.
template <class P, class Local>
auto unpacked_part(Local const& x, typename Local::value_type const* piece, rank_group const& l) {
  using F = typename P::family;
  using To = resized_t<Local, P::dim>;
  index_t const mine = part_extent<F>(l, l.rank);
  To out(with_extent<typename To::extents_type>(x.extents(), P::dim, mine), uninitialized);
  auto const [outer, inner] = around(x.extents(), P::dim);
  std::copy_n(piece, outer * mine * inner, out.data());
  return out;
}

template <class P, class Local>
auto gather_parts(Local const& x, rank_group const& l) {
  using T = typename Local::value_type;
  auto const [outer, inner] = around(x.extents(), P::dim);
  std::vector<T> all(std::size_t(l.extent * outer * inner));
  all_gather(*l.c, std::span<T const>(x.data(), std::size_t(x.size())), std::span<T>(all), piece_counts<typename P::family>(l, outer * inner));
  return unpacked_whole<P>(x, all.data(), l);
}
template <class P, class Local>
auto reduce_parts(Local const& x, rank_group const& l, monoid how) {
  using T = typename Local::value_type;
  auto const [outer, inner] = around(x.extents(), P::dim);
  auto const sent = packed_whole<P>(x, l);
  auto const counts = piece_counts<typename P::family>(l, outer * inner);
  std::vector<T> folded(counts[std::size_t(l.rank)]);
  reduce_scatter(*l.c, std::span<T const>(sent), std::span<T>(folded), counts, how);
  return unpacked_part<P>(x, folded.data(), l);
}
template <class P, class Local>
auto cut_part(Local const& x, rank_group const& l) {
  using F = typename P::family;
  using To = resized_t<Local, P::dim>;
  index_t const mine = part_extent<F>(l, l.rank);
  auto const [outer, inner] = around(x.extents(), P::dim);
  To out(with_extent<typename To::extents_type>(x.extents(), P::dim, mine), uninitialized);
  move_rows<false>(x.data(), out.data(), outer, mine, l.extent, inner, [&](index_t n) { return part_global<F>(l, n); });
  return out;
}
/// The inverse of cut_part, zeros elsewhere.
template <class P, class Local>
auto pad_part(Local const& x, rank_group const& l) {
  using To = resized_t<Local, P::dim>;
  auto const [outer, inner] = around(x.extents(), P::dim);
  To out(with_extent<typename To::extents_type>(x.extents(), P::dim, l.extent));
  move_rows<true>(x.data(), out.data(), outer, x.extent(P::dim), l.extent, inner,
                  [&](index_t n) { return part_global<typename P::family>(l, n); });
  return out;
}

} // namespace sla::detail
