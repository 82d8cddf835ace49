// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `permute`: arrays whose axes stand in another order, as a sparse tensor (*batch, M, N, *block). Permutations of rows and
// columns are in tensor/arrange/slice.hpp; arrays in the order of the tensor are for `from_triplets` (tensor/build/build.hpp).
#pragma once

#include <array>
#include <vector>

#include <sla/tensor/arrange/slice.hpp>
#include <sla/tensor/build/build.hpp>

namespace sla {

/// The number of axes of (*batch, M, N, *block).
template <class S>
inline constexpr int shape_axes = S::batch_extents::rank + 2 + (S::is_blocked ? 2 : 0);
/// For each axis of (*batch, M, N, *block), which axis of the user's array it is.
template <class S>
using axis_order = std::array<int, std::size_t(shape_axes<S>)>;

namespace detail {
template <class S>
struct axis_places {
  static constexpr int batch_rank = S::batch_extents::rank;
  std::vector<index_t> order;

  explicit axis_places(axis_order<S> const& of) : order(chosen_permutation(of, shape_axes<S>, "permute, axes").list) {}
  index_t row_axis() const { return order[std::size_t(batch_rank)]; }
  index_t col_axis() const { return order[std::size_t(batch_rank) + 1]; }

  /// The extent of axis a of the tensor.
  static index_t extent(S const& shape, int a) {
    return a < batch_rank ? shape.batch()[a] : a == batch_rank ? shape.rows() : a == batch_rank + 1 ? shape.cols() : a == batch_rank + 2 ? S::block_rows : S::block_cols;
  }
  static bool is_sparse(int a) { return a == batch_rank || a == batch_rank + 1; }
};
} // namespace detail

/// Entries at (row_indices[k], col_indices[k]) with values whose dense axes stand in any order. order[a] is the user's axis
/// for axis a of (*batch, M, N, *block); in `values` one axis, of the entries, stands for M and N, where the first of them
/// does. So values (entry, 4), of an array (M, N, 4), become a batch of four:
///     auto A = permute(Shape<Batch<4>, dyn, dyn, Block<>>({4}, m, n), {2, 0, 1}, rows, cols, values);
/// Repeated entries are summed. Cost: a pass over the values, and that of `from_triplets`.
/// Errors: index_error that names the axis which the order repeats or misses; shape_error, if an axis of values has another
/// length; as of `from_triplets`.
template <class S, Format F = Csr<>, class T, class E, class Rows = std::initializer_list<index_t>, class Cols = std::initializer_list<index_t>>
requires(is_shape<S>) sparse_tensor<T, S, F> permute(S shape, axis_order<S> order, Rows const& row_indices, Cols const& col_indices,
                                                     tensor<T, E> const& values, assembly options = {}) {
  using Places = detail::axis_places<S>;
  static_assert(E::rank == shape_axes<S> - 1, "sla: permute(shape, order, rows, cols, values): values has the dense axes of the shape and one axis of entries");
  constexpr int rank = E::rank;
  Places const places(order);
  index_t const first = (std::min)(places.row_axis(), places.col_axis()), second = (std::max)(places.row_axis(), places.col_axis());
  index_t const entries = index_t(std::size(row_indices));
  index_t strides[std::size_t(rank)], stride = 1;
  for (int v = rank; v-- > 0; stride *= values.extent(v)) strides[v] = stride;
  index_t extents[std::size_t(rank)], steps[std::size_t(rank)];  // of the axes [*batch][entry][*block] in values
  for (int a = 0, n = 0; a < shape_axes<S>; ++a) {
    if (a == Places::batch_rank + 1) continue;
    bool const of_entries = a == Places::batch_rank;
    index_t const user = of_entries ? first : places.order[std::size_t(a)];
    int const v = int(user > second ? user - 1 : user);
    index_t const wanted = of_entries ? entries : Places::extent(shape, a);
    if (values.extent(v) != wanted)
      throw shape_error(text("permute: axis ", v, " of the values is ", values.extent(v), " long, and should be ", wanted,
                             of_entries ? " as there are row indices" : text(": it is axis ", a, " of the tensor, axis ", user, " of the array")));
    extents[n] = wanted;
    steps[n++] = strides[v];
  }
  buffer<T> ordered(values.size(), uninitialized);
  parallel_ranges(ordered.size(), [&, to = ordered.data(), from = values.data()](index_t lo, index_t hi) {
    for (index_t e = lo; e < hi; ++e) {
      index_t rest = e, at = 0;
      for (int n = rank; n-- > 0; rest /= extents[n]) at += rest % extents[n] * steps[n];
      to[e] = from[at];
    }
  });
  return from_triplets<T, F>(shape, row_indices, col_indices, ordered, options);
}

/// Coordinates along every axis of the user's array, dense ones too: value k stands at (coordinates[0][k],
/// coordinates[1][k], ...), and order[a] is the user's axis for axis a of (*batch, M, N, *block). The pattern is the union
/// of those of all batch items, with zeros where an item or a block has no value; repeated coordinates are summed.
/// Cost: O(values log row). Errors: index_error that names the axis and the coordinate outside of it; shape_error, if
/// lengths differ.
template <class S, Scalar T>
requires(is_shape<S>) sparse_tensor<T, S> permute(S shape, axis_order<S> order, std::vector<std::vector<index_t>> const& coordinates, std::vector<T> const& values) {
  using Places = detail::axis_places<S>;
  constexpr index_t block = S::block_rows * S::block_cols;
  Places const places(order);
  index_t const n = index_t(values.size());
  if (coordinates.size() != places.order.size())
    throw shape_error(text("permute: coordinates along ", coordinates.size(), " axes for a tensor of ", places.order.size(), " axes; give as many"));
  auto along = [&](int a) -> std::vector<index_t> const& { return coordinates[std::size_t(places.order[std::size_t(a)])]; };
  for (int a = 0; a < shape_axes<S>; ++a) {
    index_t const extent = Places::extent(shape, a);
    if (index_t(along(a).size()) != n) throw shape_error(text("permute: ", along(a).size(), " coordinates along axis ", places.order[std::size_t(a)], " for ", n, " values"));
    index_t const bad = detail::first_where(n, [&](index_t k) { return along(a)[std::size_t(k)] < 0 || along(a)[std::size_t(k)] >= extent; });
    if (bad >= 0)
      throw index_error(text("permute: coordinate ", bad, " along axis ", places.order[std::size_t(a)], " is ", along(a)[std::size_t(bad)],
                             "; it must be at least 0 and less than ", extent));
  }
  auto const& row = along(Places::batch_rank);
  auto const& col = along(Places::batch_rank + 1);
  auto const sorted = detail::sort_triplets<Csr<>::col_type, Csr<>::ptr_type>(shape.rows(), shape.cols(), n, row.data(), col.data());
  sparse_tensor<T, S> A(shape, sorted.pattern);
  parallel_ranges(shape.rows(), [&, view = sorted.pattern->view(), out = A.values().data()](index_t lo, index_t hi) {
    for (index_t at = sorted.begin[lo]; at < sorted.begin[hi]; ++at) {
      auto const k = std::size_t(sorted.order[at].number);
      index_t item = 0, within = 0;
      for (int a = 0; a < shape_axes<S>; ++a)
        if (!Places::is_sparse(a)) {
          index_t& position = a < Places::batch_rank ? item : within;
          position = position * Places::extent(shape, a) + along(a)[k];
        }
      out[item * A.batch_stride() + find_slot(view, row[k], col[k]) * block + within] += values[k];
    }
  });
  return A;
}

} // namespace sla
