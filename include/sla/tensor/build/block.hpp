// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks and batches: `to_blocks<3, 3>(A)` and back with `unblocked(A)`; `to_batch<4>(A)`, `stack_batch(A, B)` and back
// with `batch_item(A, k)`.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla {

namespace detail {
constexpr index_t divided(index_t extent, index_t by) { return extent == dyn ? dyn : extent / by; }
constexpr index_t multiplied(index_t extent, index_t by) { return extent == dyn ? dyn : extent * by; }

template <class S, index_t P, index_t Q>
struct blocked_shape;
template <class B, index_t M, index_t N, index_t P, index_t Q>
struct blocked_shape<Shape<B, M, N, Block<>>, P, Q> {
  using type = Shape<B, divided(M, P), divided(N, Q), Block<P, Q>>;
};
template <class S>
struct unblocked_shape;
template <class B, index_t M, index_t N, index_t... PQ>
struct unblocked_shape<Shape<B, M, N, Block<PQ...>>> {
  using S = Shape<B, M, N, Block<PQ...>>;
  using type = Shape<B, multiplied(M, S::block_rows), multiplied(N, S::block_cols), Block<>>;
};
template <class S, class B>
struct batched_shape;
template <index_t... B, index_t M, index_t N, class K, index_t... Front>
struct batched_shape<Shape<Batch<B...>, M, N, K>, Batch<Front...>> {
  using type = Shape<Batch<Front..., B...>, M, N, K>;
};
template <class S>
struct item_shape;
template <class B, index_t M, index_t N, class K>
struct item_shape<Shape<B, M, N, K>> {
  using type = Shape<Batch<>, M, N, K>;
};

/// The block columns of block row i, ascending.
template <index_t P, index_t Q, class View>
void block_columns(View const& view, index_t i, std::vector<index_t>& columns) {
  columns.clear();
  for (index_t r = i * P; r < (i + 1) * P; ++r)
    view.for_row(r, [&](index_t, index_t j) {
      if (columns.empty() || columns.back() != j / Q) columns.push_back(j / Q);
    });
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
}
} // namespace detail

/// The same matrix in P x Q blocks, (*batch, M/P, N/Q, P, Q): a block is stored where A has an entry, its gaps are
/// zeros. Cost: O(nnz). Errors: M or N is not a multiple of the block.
template <index_t P, index_t Q, class T, class S, class F>
auto to_blocks(sparse_tensor<T, S, F> const& A) {
  static_assert(P > 0 && Q > 0, "sla: to_blocks<P, Q>(A): block extents are at least 1");
  static_assert(!S::is_blocked, "sla: to_blocks<P, Q>(A): A has blocks already; take unblocked(A) first");
  static_assert((S::static_rows == dyn || S::static_rows % P == 0) &&
                    (S::static_cols == dyn || S::static_cols % Q == 0),
                "sla: to_blocks<P, Q>(A): the rows of A are a multiple of P, its columns of Q");
  using To = typename detail::blocked_shape<S, P, Q>::type;
  using Direct = csr_for_t<F>;
  using Ptr = typename Direct::ptr_type;
  using Col = typename Direct::col_type;
  if (A.rows() % P != 0 || A.cols() % Q != 0)
    throw shape_error(text("to_blocks<", P, ", ", Q, "> of a ", A.rows(), " x ", A.cols(), " matrix: ",
                           A.rows() % P ? A.rows() : A.cols(), " is not a multiple of ", A.rows() % P ? P : Q,
                           "; choose a block that divides it, or add rows and columns of the identity"));
  index_t const rows = A.rows() / P;
  auto const view = A.pattern().view();
  auto row_ptr = detail::row_pointers<Ptr>(rows, [&](index_t i) {
    thread_local std::vector<index_t> columns;
    detail::block_columns<P, Q>(view, i, columns);
    return index_t(columns.size());
  });
  buffer<Col> col(row_ptr[rows], uninitialized);
  buffer<index_t> source(col.size() * P * Q, uninitialized);
  parallel_ranges(rows, [&, out = col.data(), from = source.data()](index_t lo, index_t hi) {
    std::vector<index_t> columns;
    for (index_t i = lo; i < hi; ++i) {
      detail::block_columns<P, Q>(view, i, columns);
      index_t const first = row_ptr[i];
      std::copy(columns.begin(), columns.end(), out + first);
      std::fill(from + first * P * Q, from + index_t(row_ptr[i + 1]) * P * Q, index_t(-1));
      for (index_t p = 0; p < P; ++p)
        view.for_row(i * P + p, [&](index_t s, index_t j) {
          index_t const at = first + (std::lower_bound(columns.begin(), columns.end(), j / Q) - columns.begin());
          index_t& slot = from[(at * P + p) * Q + j % Q];
          if (slot >= 0)
            throw value_error(text("to_blocks<", P, ", ", Q, ">(A): two entries at row ", i * P + p, ", column ", j, ": sum them first, sorted(A)"));
          slot = s;
        });
    }
  });
  auto values = detail::gathered_blocks<1>(A.values().data(), A.batch_stride(), source, A.batch_count());
  using pattern = csr_pattern<Col, Ptr, host_memory>;
  return detail::in_format<F>(sparse_tensor<T, To, Direct>(
      To(A.shape().batch(), rows, A.cols() / Q),
      detail::shared_of<pattern const>(pattern{rows, A.cols() / Q, std::move(row_ptr), std::move(col)}),
      std::move(values)));
}

/// The same matrix with scalar entries, (*batch, M P, N Q), in the Csr format of A's index types; every number of a
/// block is an entry.
template <class T, class S, class F>
auto unblocked(sparse_tensor<T, S, F> const& A) {
  constexpr index_t p = S::block_rows, q = S::block_cols;
  using To = typename detail::unblocked_shape<S>::type;
  using Ptr = typename F::ptr_type;
  using Col = typename F::col_type;
  index_t const rows = A.rows() * p, cols = A.cols() * q;
  auto const view = A.pattern().view();
  detail::narrowed<Col>(cols, "the number of columns,", detail::wide_columns);
  auto row_ptr = detail::row_pointers<Ptr>(rows, [&](index_t r) { return detail::row_length(view, r / p) * q; });
  buffer<Col> col(row_ptr[rows], uninitialized);
  buffer<index_t> source(col.size(), uninitialized);
  parallel_ranges(rows, [&, out = col.data(), from = source.data()](index_t lo, index_t hi) {
    for (index_t r = lo; r < hi; ++r) {
      index_t at = row_ptr[r];
      view.for_row(r / p, [&](index_t s, index_t j) {
        for (index_t e = 0; e < q; ++e, ++at) {
          out[at] = Col(j * q + e);
          from[at] = (s * p + r % p) * q + e;
        }
      });
    }
  });
  auto values = detail::gathered_blocks<1>(A.values().data(), A.batch_stride(), source, A.batch_count());
  using pattern = csr_pattern<Col, Ptr, host_memory>;
  return sparse_tensor<T, To, Csr<Col, Ptr>>(
      To(A.shape().batch(), rows, cols),
      detail::shared_of<pattern const>(pattern{rows, cols, std::move(row_ptr), std::move(col)}), std::move(values));
}

namespace detail {
/// The values of the tensors item(k) one after the other, on the pattern of A, the first.
template <class To, class T, class S, class F, class Item>
sparse_tensor<T, To, F> stacked(index_t count, sparse_tensor<T, S, F> const& A, Item const& item) {
  index_t const each = A.values().size();
  buffer<T> values(Extents<dyn, dyn>(count, each).total(), uninitialized);
  for (index_t k = 0; k < count && each > 0; ++k)
    host_memory::copy(item(k).values().data(), values.data() + k * each, std::size_t(each) * sizeof(T));
  typename To::batch_extents batch = [&]<std::size_t... Axis>(std::index_sequence<Axis...>) {
    return typename To::batch_extents(count, A.shape().batch()[int(Axis)]...);
  }
  (std::make_index_sequence<std::size_t(S::batch_extents::rank)>{});
  return {To(batch, A.rows(), A.cols()), A.shared_pattern(), std::move(values)};
}
} // namespace detail

/// K copies of A's values on A's pattern, (K, *batch, M, N, *block): the start of a batch whose items differ in values.
template <index_t K, class T, class S, class F>
requires(K != dyn) auto to_batch(sparse_tensor<T, S, F> const& A) {
  static_assert(K > 0, "sla: to_batch<K>(A): K is at least 1");
  return detail::stacked<typename detail::batched_shape<S, Batch<K>>::type>(K, A, [&](index_t) -> auto const& { return A; });
}
/// The same with a number known at run time, (dyn, *batch, M, N, *block).
template <class T, class S, class F>
auto to_batch(sparse_tensor<T, S, F> const& A, index_t count) {
  if (count < 1) throw shape_error(text("to_batch(A, ", count, "): a batch made from A has at least one item"));
  return detail::stacked<typename detail::batched_shape<S, Batch<dyn>>::type>(count, A, [&](index_t) -> auto const& { return A; });
}

/// Tensors of one pattern as a batch, (count, *batch, M, N, *block). Errors: patterns differ.
template <class T, class S, class F, class... More>
requires(std::same_as<More, sparse_tensor<T, S, F>>&&...) auto stack_batch(sparse_tensor<T, S, F> const& A,
                                                                           More const&... more) {
  constexpr index_t count = 1 + index_t(sizeof...(More));
  sparse_tensor<T, S, F> const* items[] = {&A, &more...};
  for (index_t k = 1; k < count; ++k)
    if (!same_pattern(A.pattern(), items[k]->pattern()) || items[k]->shape() != A.shape())
      throw shape_error(text("stack_batch: item ", k, " (", items[k]->rows(), " x ", items[k]->cols(), ", ",
                             items[k]->nnz(), " entries) does not have the pattern of item 0 (", A.rows(), " x ",
                             A.cols(), ", ", A.nnz(),
                             " entries); a batch shares one: store the union of the entries in each, with zeros"));
  return detail::stacked<typename detail::batched_shape<S, Batch<count>>::type>(count, A, [&](index_t k) -> auto const& { return *items[k]; });
}

/// Item k of a batch (counted over all batch axes, row-major), with values of its own, on the shared pattern.
template <class T, class S, class F>
auto batch_item(sparse_tensor<T, S, F> const& A, index_t k) {
  static_assert(S::is_batched, "sla: batch_item(A, k): A has no batch axes");
  if (k < 0 || k >= A.batch_count())
    throw index_error(text("batch_item(A, ", k, "): A has ", A.batch_count(), " items; ask for one that is at least 0 and less than that"));
  using To = typename detail::item_shape<S>::type;
  buffer<T> values(A.batch_stride(), uninitialized);
  host_memory::copy(A.values().data() + k * A.batch_stride(), values.data(), values.bytes());
  return sparse_tensor<T, To, F>(To(A.rows(), A.cols()), A.shared_pattern(), std::move(values));
}

} // namespace sla
