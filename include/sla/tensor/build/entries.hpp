// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looking into sparse tensors: each entry in turn, dense forms, diagonals, the place of an entry, whether rows are sorted and patterns equal.
#pragma once

#include <algorithm>
#include <utility>

#include <sla/core/op.hpp>
#include <sla/tensor/build/convert.hpp>

namespace sla {

namespace detail {
template <index_t A, index_t B>
inline constexpr index_t product_extent = A == dyn || B == dyn ? dyn : A* B;

template <class S>
using dense_extents_t =
    join_t<typename S::batch_extents,
           Extents<product_extent<S::static_rows, S::block_rows>, product_extent<S::static_cols, S::block_cols>>>;

/// Extents of type E whose leading axes are those of `batch`, the others the given sizes.
template <class E, class BatchExtents, class... Sizes>
E extents_after(BatchExtents const& batch, Sizes... sizes) {
  index_t all[std::size_t(E::rank)], tail[] = {sizes...};
  for (int a = 0; a < E::rank; ++a) all[a] = a < BatchExtents::rank ? batch[a] : tail[a - BatchExtents::rank];
  return [&]<std::size_t... Axis>(std::index_sequence<Axis...>) { return E(all[Axis]...); }
  (std::make_index_sequence<std::size_t(E::rank)>{});
}
} // namespace detail

/// The dense tensor (*batch, M p, N q) of A, row-major. Repeated entries are summed. For tests and little matrices.
template <class T, class S, class F>
tensor<T, detail::dense_extents_t<S>> to_dense(sparse_tensor<T, S, F> const& A) {
  constexpr index_t p = S::block_rows, q = S::block_cols;
  index_t const rows = A.rows() * p, cols = A.cols() * q;
  using E = detail::dense_extents_t<S>;
  tensor<T, E> D(detail::extents_after<E>(A.shape().batch(), rows, cols));
  auto const view = A.pattern().view();
  for (index_t b = 0; b < A.batch_count(); ++b)
    parallel_ranges(A.rows(), [&, out = D.data() + b * rows * cols](index_t lo, index_t hi) {
      T const* const values = A.values().data() + b * A.batch_stride();
      for (index_t i = lo; i < hi; ++i)
        view.for_row(i, [&](index_t s, index_t j) {
          for (index_t k = 0; k < p * q; ++k) out[(i * p + k / q) * cols + j * q + k % q] += values[s * p * q + k];
        });
    });
  return D;
}

/// f(i, j, value) of each stored entry, row by row: `for_each_entry(A, [&](index_t i, index_t j, double v) { ... })`. Entries of a row come in the order in which they are stored, those that
/// are stored twice twice; of Dia every place of its diagonals inside of A. Of `f(slot, j)` of one row see the view of the pattern, `A.pattern().view().for_row(i, f)`.
/// Law: one matrix with scalar entries. Cost: one pass, on this thread.
template <class T, class S, class F, class Visit>
void for_each_entry(sparse_tensor<T, S, F> const& A, Visit const& f) {
  static_assert(!S::is_batched && !S::is_blocked, "sla: for_each_entry(A, f): A is one matrix with scalar entries: of a batch take batch_item(A, k), of blocks unblocked(A)");
  auto const view = A.pattern().view();
  for (index_t i = 0; i < A.rows(); ++i) view.for_row(i, [&](index_t s, index_t j) { f(i, j, A.values()[s]); });
}

/// The slot of entry (i, i) for each row, -1 where it is not stored (and in rows below a short last column).
template <class Pattern>
buffer<index_t> diagonal_positions(Pattern const& pattern) {
  auto const view = pattern.view();
  buffer<index_t> at(pattern.rows, uninitialized);
  parallel_ranges(pattern.rows, [&, slot = at.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) {
      slot[i] = -1;
      view.for_row(i, [&](index_t s, index_t j) {
        if (i == j) slot[i] = s;
      });
    }
  });
  return at;
}

namespace detail {
/// f(n, at): element n of the diagonal is, or has as a summand, the value at this position of A.
template <class A, class F>
void for_diagonal(A const& a, F const& f) {
  constexpr index_t p = A::shape_type::block_rows;
  static_assert(p == A::shape_type::block_cols, "sla: diagonal_of wants square blocks");
  auto const view = a.pattern().view();
  index_t const rows = a.rows(), stride = a.batch_stride();
  for (index_t b = 0; b < a.batch_count(); ++b)
    parallel_ranges(rows, [&](index_t lo, index_t hi) {
      for (index_t i = lo; i < hi; ++i)
        view.for_row(i, [&](index_t s, index_t j) {
          if (i != j) return;
          for (index_t k = 0; k < p; ++k) f((b * rows + i) * p + k, b * stride + (s * p + k) * p + k);
        });
    });
}
} // namespace detail

/// The diagonal, (*batch, M, p): zero where no entry is stored, the scalar diagonal of blocks, repeated entries summed.
/// Law: blocks are square. Gradient: g at the stored diagonal entries.
template <class T, class S, class F>
tensor<T, range_extents_t<S>> diagonal_of(sparse_tensor<T, S, F> const& A) {
  tensor<T, range_extents_t<S>> d(A.range());
  detail::for_diagonal(A, [out = d.data(), values = A.values().data()](index_t n, index_t at) { out[n] += values[at]; });
  return d;
}
template <class T, class S, class F>
auto perform(op::diagonal_of, sparse_tensor<T, S, F> const& A) {
  return diagonal_of(A);
}
template <class A>
  requires(!is_sparse_on_host<A> && requires(A const& a) { perform(op::diagonal_of{}, a); })
auto diagonal_of(A const& a) {
  return perform(op::diagonal_of{}, a);
}

/// True if the columns of every row ascend strictly: no entry is stored twice, and rows can be searched.
template <class Pattern>
bool has_sorted_columns(Pattern const& pattern) {
  auto const view = pattern.view();
  return detail::first_where(pattern.rows, [&](index_t i) {
           index_t before = -1;
           bool ascends = true;
           view.for_row(i, [&](index_t, index_t j) {
             ascends = ascends && before < j;
             before = j;
           });
           return !ascends;
         }) < 0;
}

namespace detail {
inline bool same_part(index_t a, index_t b) { return a == b; }
/// On a device two runs are the same where they are one.
template <class Int, class Memory>
bool same_part(buffer<Int, Memory> const& a, buffer<Int, Memory> const& b) {
  if (a.size() != b.size() || std::as_const(a).data() == std::as_const(b).data()) return a.size() == b.size();
  if constexpr (Memory::is_host)
    return std::equal(a.begin(), a.end(), b.begin());
  else
    return false;
}
template <class Pattern>
bool same_slots(Pattern const& a, Pattern const& b) {
  return a.parts([&](auto const&... of_a) { return b.parts([&](auto const&... of_b) { return (same_part(of_a, of_b) && ...); }); });
}
} // namespace detail

/// True if two patterns store the same entries in the same slots. Cost: none where they are one object, else O(nnz).
template <class Pattern>
bool same_pattern(Pattern const& a, Pattern const& b) {
  return &a == &b || detail::same_slots(a, b);
}

/// The slot of entry (i, j), -1 if it is not stored. Rows are sorted (`has_sorted_columns`). Cost: O(log row).
template <class Col, class Ptr>
index_t find_slot(csr_view<Col, Ptr> const& view, index_t i, index_t j) {
  Col const *first = view.col + view.row_ptr[i], *last = view.col + view.row_ptr[i + 1];
  if (last - first <= 16) {  // one branch that is not foreseen, where halves take three or four
    while (first != last && index_t(*first) < j) ++first;
    return first != last && index_t(*first) == j ? first - view.col : -1;
  }
  Col const* const at = std::lower_bound(first, last, j, [](Col a, index_t b) { return index_t(a) < b; });
  return at != last && index_t(*at) == j ? at - view.col : -1;
}
template <class Index>
index_t find_slot(coo_view<Index> const& view, index_t i, index_t j) {
  Index const *first = view.col + view.entries_before(i), *last = view.col + view.entries_before(i + 1);
  Index const* const at = std::lower_bound(first, last, j, [](Index a, index_t b) { return index_t(a) < b; });
  return at != last && index_t(*at) == j ? at - view.col : -1;
}
inline index_t find_slot(dia_view const& view, index_t i, index_t j) {
  index_t const *last = view.offset + view.diagonals, *at = std::lower_bound(view.offset, last, j - i);
  return at != last && *at == j - i ? (at - view.offset) * view.rows + i : -1;
}

} // namespace sla
