// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `masked(A, M)`: the entries of A at the places that M stores. Products of entries, `multiply_elements(A, B)`, are in expr/sparse/algebra.hpp.
#pragma once

#include <memory>
#include <utility>

#include <sla/tensor/algebra/add.hpp>

namespace sla {

namespace detail {
/// The entries of a where m has one too; both in Csr, of sorted rows.
template <class T, class S, class Col, class Ptr, class M>
sparse_tensor<T, S, Csr<Col, Ptr>> entries_at(sparse_tensor<T, S, Csr<Col, Ptr>> const& a, M const& m) {
  auto const va = a.pattern().view();
  auto const vm = m.pattern().view();
  auto row_ptr = row_pointers<Ptr>(a.rows(), [&](index_t i) {
    index_t count = 0;
    merge_row(va, vm, i, [&](index_t, index_t s, index_t t) { count += s >= 0 && t >= 0; });
    return count;
  });
  index_t const entries = row_ptr[a.rows()];
  if (entries == a.nnz()) return a;
  buffer<Col> col(entries, uninitialized);
  buffer<index_t> source(entries, uninitialized);
  parallel_ranges(a.rows(), [&, c = col.data(), from = source.data()](index_t lo, index_t hi) {
    index_t at = row_ptr[lo];
    for (index_t i = lo; i < hi; ++i)
      merge_row(va, vm, i, [&](index_t j, index_t s, index_t t) {
        if (s < 0 || t < 0) return;
        c[at] = Col(j);
        from[at++] = s;
      });
  });
  auto values = gathered_blocks<sparse_tensor<T, S>::block_size>(a.values().data(), a.batch_stride(), source, a.batch_count());
  using pattern = csr_pattern<Col, Ptr, host_memory>;
  return {a.shape(), std::make_shared<pattern const>(pattern{a.rows(), a.cols(), std::move(row_ptr), std::move(col)}), std::move(values)};
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

} // namespace sla
