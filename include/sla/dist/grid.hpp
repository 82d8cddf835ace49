// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rectangles: the rows of a matrix dealt out by one axis of the mesh, its columns by another, `distribute<SparseShard<0, Balanced>,
// SparseShard<1, Balanced>>(A, mesh)`. A product sends nothing: x is whole along the rows' axis, and y pending along the columns'.
#pragma once

#include <utility>
#include <vector>

#include <sla/dist/rows.hpp>

namespace sla::detail {

/// The entries of rows [first_row, first_row + rows) and columns [first_col, first_col + cols), counted from there.
template <class Sparse, class T, class S, class F>
Sparse cut_rectangle(sparse_tensor<T, S, F> const& A, index_t first_row, index_t rows, index_t first_col, index_t cols) {
  using Col = typename Sparse::format_type::col_type;
  using Ptr = typename Sparse::format_type::ptr_type;
  narrowed<Col>(cols, "the number of local columns,", wide_columns);
  auto const whole = A.pattern().view();
  std::vector<index_t> slots, at;
  buffer<Ptr> ptr(rows + 1, uninitialized);
  ptr[0] = 0;
  for (index_t i = 0; i < rows; ++i) {
    whole.for_row(first_row + i, [&](index_t s, index_t j) {
      if (j < first_col || j >= first_col + cols) return;
      slots.push_back(s);
      at.push_back(j - first_col);
    });
    ptr[i + 1] = Ptr(slots.size());
  }
  index_t const nnz = index_t(slots.size()), batch = A.batch_count(), block = A.block_size;
  buffer<Col> col(nnz, uninitialized);
  buffer<T> values(batch * nnz * block, uninitialized);
  for (index_t n = 0; n < nnz; ++n) {
    col[n] = Col(at[std::size_t(n)]);
    for (index_t b = 0; b < batch; ++b)
      std::copy_n(A.values().data() + b * A.batch_stride() + slots[std::size_t(n)] * block, block, values.data() + (b * nnz + n) * block);
  }
  using Pattern = typename Sparse::pattern_type;
  auto pattern = std::make_shared<Pattern const>(Pattern{rows, cols, std::move(ptr), std::move(col)});
  return Sparse(typename Sparse::shape_type(A.shape().batch(), rows, cols), std::move(pattern), std::move(values));
}

/// The rectangle of this rank. Of the axes from A on, two deal out rows and columns by stated families, the others copy.
template <int A, class... P, class Mesh, class T, class S, class F>
auto deal_rectangle(sparse_tensor<T, S, F> const& x, shared_layout<Mesh> layout) {
  static_assert(((P::kind == placement_kind::replicate || P::kind == placement_kind::invariant || P::kind == placement_kind::sparse_shard) && ...) &&
                    ((P::kind == placement_kind::sparse_shard ? 1 : 0) + ... + 0) == 2 && is_grid<placements<P...>>,
                "sla: distribute(A, mesh): one axis deals out rows, SparseShard<0, F>, and one columns, SparseShard<1, G>; the others Replicate");
  index_t first[2] = {0, 0}, count[2] = {x.rows(), x.cols()};
  auto const cut = [&]<class Q>(std::type_identity<Q>, int a) {
    if constexpr (Q::kind == placement_kind::sparse_shard) {
      using Family = typename Q::family;
      static_assert(Family::stated && Family::contiguous,
                    "sla: distribute(A, mesh): rows and columns on two axes are dealt out by stated families: SparseShard<0, Balanced>");
      index_t const extent = Q::dim == 0 ? x.rows() : x.cols();
      int const me = layout.mesh.coordinate(a), ranks = layout.mesh.size(a);
      require_accepted<Family>(extent, ranks);
      layout.extent[a] = extent;
      first[Q::dim] = Family::first(me, extent, ranks);
      count[Q::dim] = Family::local_extent(me, extent, ranks);
    }
  };
  int a = A;
  (cut(std::type_identity<P>{}, a++), ...);
  using Sparse = sparse_tensor<T, typename local_shape<S>::rows, local_csr_t<F>>;
  auto part = cut_rectangle<Sparse>(x, first[0], count[0], first[1], count[1]);
  return std::pair{std::move(part), layout_handle<Mesh>(std::make_shared<shared_layout<Mesh> const>(std::move(layout)))};
}

}  // namespace sla::detail
