// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse tensors put together: one below the other, side by side, along the diagonal, and as a batch on the union of their
// patterns. Taking parts is in tensor/arrange/slice.hpp; systems that are packed to be solved are in tensor/arrange/sparse_list.hpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/tensor/algebra/add.hpp>

namespace sla {

namespace detail {
/// Parts of a tensor, part k with its first entry at (row[k], col[k]). Parts that share rows come with ascending columns.
template <class A>
struct placed_parts {
  std::vector<A const*> part;
  std::vector<index_t> row, col;
  index_t rows = 0, cols = 0;
};

template <class S>
struct any_size;
template <class B, index_t M, index_t N, class K>
struct any_size<Shape<B, M, N, K>> {
  using type = Shape<B, dyn, dyn, K>;
};

template <class T, class S, class F>
auto put_together(placed_parts<sparse_tensor<T, S, F>> const& parts) {
  using To = typename any_size<S>::type;
  using Direct = csr_for_t<F>;
  using Col = typename Direct::col_type;
  constexpr index_t block = S::block_rows * S::block_cols;
  narrowed<Col>(parts.cols, "the number of columns,", wide_columns);
  std::size_t const count = parts.part.size();
  buffer<index_t> before(parts.rows);  // entries of each row in the parts so far
  index_t* const taken = before.data();
  for (std::size_t k = 0; k < count; ++k)
    parallel_ranges(parts.part[k]->rows(), [&, view = parts.part[k]->pattern().view()](index_t lo, index_t hi) {
      for (index_t i = lo; i < hi; ++i) taken[parts.row[k] + i] += row_length(view, i);
    });
  auto row_ptr = row_pointers<typename Direct::ptr_type>(parts.rows, [&](index_t i) { return std::exchange(taken[i], index_t(0)); });
  buffer<Col> col(row_ptr[parts.rows], uninitialized);
  index_t const entries = col.size(), batch = parts.part[0]->batch_count();
  buffer<T> values(batch * entries * block, uninitialized);
  for (std::size_t k = 0; k < count; ++k)
    parallel_ranges(parts.part[k]->rows(), [&, c = col.data(), out = values.data(), view = parts.part[k]->pattern().view(), from = parts.part[k]->values().data(),
                                            stride = parts.part[k]->batch_stride()](index_t lo, index_t hi) {
      for (index_t i = lo; i < hi; ++i) {
        index_t const row = parts.row[k] + i;
        view.for_row(i, [&](index_t s, index_t j) {
          index_t const at = index_t(row_ptr[row]) + taken[row]++;
          c[at] = Col(parts.col[k] + j);
          for (index_t b = 0; b < batch; ++b) std::copy_n(from + b * stride + s * block, block, out + (b * entries + at) * block);
        });
      }
    });
  using pattern = csr_pattern<Col, typename Direct::ptr_type, host_memory>;
  return sparse_tensor<T, To, Direct>(To(parts.part[0]->shape().batch(), parts.rows, parts.cols),
                                      detail::shared_of<pattern const>(pattern{parts.rows, parts.cols, std::move(row_ptr), std::move(col)}), std::move(values));
}

/// Down: each part is below the one before; Across: to its right.
template <bool Down, bool Across, class A>
auto catenated(std::vector<A const*> parts, char const* what) {
  if (parts.empty()) throw shape_error(text(what, " of no tensors: there is at least one"));
  placed_parts<A> placed;
  for (A const* a : parts) {
    A const& first = *parts[0];
    if ((!Down && a->rows() != first.rows()) || (!Across && a->cols() != first.cols()) || a->shape().batch() != first.shape().batch())
      throw shape_error(text(what, ": tensor ", placed.row.size(), " is ", a->rows(), " x ", a->cols(), ", batch ", a->batch_count(), "; tensor 0 is ",
                             first.rows(), " x ", first.cols(), ", batch ", first.batch_count(), "; they need equal ",
                             Down && Across ? "batches" : Down ? "columns and batches" : "rows and batches"));
    placed.row.push_back(Down ? placed.rows : 0);
    placed.col.push_back(Across ? placed.cols : 0);
    placed.rows = Down ? placed.rows + a->rows() : a->rows();
    placed.cols = Across ? placed.cols + a->cols() : a->cols();
  }
  placed.part = std::move(parts);
  return put_together(placed);
}
template <class A>
std::vector<A const*> addresses(std::vector<A> const& parts) {
  std::vector<A const*> out;
  for (A const& a : parts) out.push_back(&a);
  return out;
}
} // namespace detail

/// Sparse tensors one below the other, (*batch, sum of M, N, *block), in Csr. All have one type, or come in a vector.
/// Cost: O(nnz + rows) of all. Errors: shape_error that names the tensor whose columns or batch differ from the first one's.
template <class T, class S, class F>
auto cat_rows(std::vector<sparse_tensor<T, S, F>> const& parts) {
  return detail::catenated<true, false>(detail::addresses(parts), "cat_rows");
}
template <class T, class S, class F, std::same_as<sparse_tensor<T, S, F>>... More>
auto cat_rows(sparse_tensor<T, S, F> const& A, More const&... more) {
  return detail::catenated<true, false>(std::vector{&A, &more...}, "cat_rows");
}
/// Sparse tensors side by side, (*batch, M, sum of N, *block). Errors: as of `cat_rows`, for rows.
template <class T, class S, class F>
auto cat_cols(std::vector<sparse_tensor<T, S, F>> const& parts) {
  return detail::catenated<false, true>(detail::addresses(parts), "cat_cols");
}
template <class T, class S, class F, std::same_as<sparse_tensor<T, S, F>>... More>
auto cat_cols(sparse_tensor<T, S, F> const& A, More const&... more) {
  return detail::catenated<false, true>(std::vector{&A, &more...}, "cat_cols");
}
/// Sparse tensors along the diagonal, (*batch, sum of M, sum of N, *block). Errors: shape_error, if batches differ.
template <class T, class S, class F>
auto block_diagonal(std::vector<sparse_tensor<T, S, F>> const& parts) {
  return detail::catenated<true, true>(detail::addresses(parts), "block_diagonal");
}
template <class T, class S, class F, std::same_as<sparse_tensor<T, S, F>>... More>
auto block_diagonal(sparse_tensor<T, S, F> const& A, More const&... more) {
  return detail::catenated<true, true>(std::vector{&A, &more...}, "block_diagonal");
}

/// Tensors of one shape as a batch on the union of their patterns, (count, *batch, M, N, *block): where one has no entry, its
/// item stores a zero. `stack_batch` is for tensors of one pattern. Gradient: of each entry that a tensor has, its item's.
/// Cost: O(count nnz of the union).
/// Errors: shape_error, if extents differ.
template <class T, class S, class F, std::same_as<sparse_tensor<T, S, F>>... More>
auto cat_batch(sparse_tensor<T, S, F> const& A, More const&... more) {
  auto united = A;
  ((united = add(1, united, 1, more)), ...);
  sparse_tensor<T, S, F> const zeros(united.shape(), united.shared_pattern());
  return stack_batch(add(1, A, 1, zeros), add(1, more, 1, zeros)...);
}

} // namespace sla
