// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `masked(A, M)`: the entries of A at the places that M stores; `tril(A, k)` and `triu(A, k)`: those on one side of a diagonal. Products of entries,
// `multiply_elements(A, B)`, are in expr/sparse/algebra.hpp.
#pragma once

#include <limits>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/tensor/algebra/add.hpp>

namespace sla {

namespace detail {
/// The entries of a, in Csr, at which each_kept(i, f) calls f(column, slot), for each row i.
template <class T, class S, class Col, class Ptr, class EachKept>
sparse_tensor<T, S, Csr<Col, Ptr>> kept_entries(sparse_tensor<T, S, Csr<Col, Ptr>> const& a, EachKept const& each_kept) {
  auto row_ptr = row_pointers<Ptr>(a.rows(), [&](index_t i) {
    index_t count = 0;
    each_kept(i, [&](index_t, index_t) { ++count; });
    return count;
  });
  index_t const entries = row_ptr[a.rows()];
  if (entries == a.nnz()) return a;
  buffer<Col> col(entries, uninitialized);
  buffer<index_t> source(entries, uninitialized);
  parallel_ranges(a.rows(), [&, c = col.data(), from = source.data()](index_t lo, index_t hi) {
    index_t at = row_ptr[lo];
    for (index_t i = lo; i < hi; ++i)
      each_kept(i, [&](index_t j, index_t s) {
        c[at] = Col(j);
        from[at++] = s;
      });
  });
  auto values = gathered_blocks<sparse_tensor<T, S>::block_size>(a.values().data(), a.batch_stride(), source, a.batch_count());
  using pattern = csr_pattern<Col, Ptr, host_memory>;
  return {a.shape(), detail::shared_of<pattern const>(pattern{a.rows(), a.cols(), std::move(row_ptr), std::move(col)}), std::move(values)};
}
/// The entries of a where m has one too; both in Csr, of sorted rows.
template <class A, class M>
A entries_at(A const& a, M const& m) {
  return kept_entries(a, [va = a.pattern().view(), vm = m.pattern().view()](index_t i, auto const& f) {
    merge_row(va, vm, i, [&](index_t j, index_t s, index_t t) {
      if (s >= 0 && t >= 0) f(j, s);
    });
  });
}
} // namespace detail

/// The entries of A at the places that M stores, whatever its values: (*batch, M, N, *block) in Csr, on the pattern of A if it keeps all
/// of them. Rows ascend. `masked(A, B)` and `masked(B, A)` have their entries at the same places.
/// Gradient: g on the pattern of A, nothing to M. Cost: two passes over the patterns. Errors: shape_error, if extents differ.
template <class TA, class SA, class FA, class TM, class SM, class FM>
auto masked(sparse_tensor<TA, SA, FA> const& A, sparse_tensor<TM, SM, FM> const& M) {
  constexpr bool fits = std::same_as<typename SA::block_axes, typename SM::block_axes> &&
                        detail::extents_may_agree<Extents<SA::static_rows, SA::static_cols>, Extents<SM::static_rows, SM::static_cols>>;
  static_assert(fits, "sla: masked(A, M), multiply_elements(A, M): both have the same rows, columns and blocks");
  if constexpr (fits) {
    if (A.rows() != M.rows() || A.cols() != M.cols())
      throw shape_error(text("masked(A, M): A is ", A.rows(), " x ", A.cols(), ", M is ", M.rows(), " x ", M.cols(), "; they need equal extents"));
    return detail::with_sorted_rows(A, [&](auto const& a) { return detail::with_sorted_rows(M, [&](auto const& m) { return detail::entries_at(a, m); }); });
  } else {
    return A;
  }
}

template <class TA, class SA, class FA, class TM, class SM, class FM>
auto perform(op::masked, sparse_tensor<TA, SA, FA> const& A, sparse_tensor<TM, SM, FM> const& M) {
  return masked(A, M);
}
template <class A, class M>
  requires(!(is_sparse_tensor<A> && is_sparse_tensor<M>) && requires(A const& a, M const& m) { perform(op::masked{}, a, m); })
auto masked(A const& a, M const& m) {
  return perform(op::masked{}, a, m);
}

namespace detail {
/// The entries A(i, j) with first <= j - i <= last; of what a higher floor has, what it performs.
template <class Sparse>
auto band_of(Sparse const& A, index_t first, index_t last) {
  if constexpr (is_sparse_on_host<Sparse>)
    return with_sorted_rows(A, [&](auto const& a) {
      return kept_entries(a, [=, view = a.pattern().view()](index_t i, auto const& f) {
        view.for_row(i, [&](index_t s, index_t j) {
          if (first <= j - i && j - i <= last) f(j, s);
        });
      });
    });
  else
    return perform(op::band{}, A, first, last);
}
} // namespace detail

template <class T, class S, class F>
auto perform(op::band, sparse_tensor<T, S, F> const& A, index_t first, index_t last) {
  return detail::band_of(A, first, last);
}
/// The lower triangle, the entries A(i, j) with j - i <= k: k = -1 leaves out the diagonal, k = 1 adds the one above it. (*batch, M, N, *block) in Csr, of blocks whole
/// blocks, of which i and j count; tril(unblocked(A), k) counts scalars. Rows ascend; on the pattern of A if it keeps all entries.
/// Gradient: g on the pattern of A. Cost: two passes over the pattern, one over the values that stay.
template <class A>
  requires(requires(A const& a) { perform(op::band{}, a, index_t(), index_t()); })
auto tril(A const& a, index_t k = 0) {
  return detail::band_of(a, (std::numeric_limits<index_t>::min)(), k);
}
/// The upper triangle, the entries A(i, j) with j - i >= k; the rest as of `tril`.
template <class A>
  requires(requires(A const& a) { perform(op::band{}, a, index_t(), index_t()); })
auto triu(A const& a, index_t k = 0) {
  return detail::band_of(a, k, (std::numeric_limits<index_t>::max)());
}

} // namespace sla
