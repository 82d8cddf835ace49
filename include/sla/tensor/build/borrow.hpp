// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A user's CSR arrays as a sparse tensor, checked once and not copied; and `sorted`, the same with rows in order.
#pragma once

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/tensor/build/build.hpp>

namespace sla {

namespace detail {
template <class Ptr, class Col>
void check_csr(index_t rows, index_t cols, Ptr const* row_ptr, index_t pointers, Col const* col, index_t nnz) {
  if (pointers != rows + 1)
    throw shape_error(text("arrays of a Csr matrix: row_ptr of ", pointers, " numbers for ", rows, " rows; it has one more than there are rows"));
  if (!row_ptr || (nnz > 0 && !col)) throw value_error("arrays of a Csr matrix: row_ptr or col is a null pointer; a matrix without rows has row_ptr = {0}");
  if (row_ptr[0] != 0) throw index_error(text("arrays of a Csr matrix: row_ptr[0] is ", row_ptr[0], "; it must be 0 (indices count from 0)"));
  index_t const falls = first_where(rows, [&](index_t i) { return row_ptr[i + 1] < row_ptr[i]; });
  if (falls >= 0)
    throw index_error(text("arrays of a Csr matrix: row_ptr[", falls + 1, "] is ", row_ptr[falls + 1], ", less than row_ptr[", falls,
                           "] = ", row_ptr[falls], "; row pointers never fall"));
  if (index_t(row_ptr[rows]) != nnz)
    throw index_error(text("arrays of a Csr matrix: row_ptr[", rows, "] is ", row_ptr[rows], ", but there are ", nnz,
                           " columns; the last row pointer is the number of entries"));
  index_t const bad = first_where(nnz, [&](index_t k) { return index_t(col[k]) < 0 || index_t(col[k]) >= cols; });
  if (bad < 0) return;
  index_t const row =
      std::upper_bound(row_ptr, row_ptr + rows + 1, bad, [](index_t a, Ptr b) { return a < index_t(b); }) - row_ptr - 1;
  throw index_error(text("arrays of a Csr matrix: entry ", bad, " (row ", row, "): column ", col[bad], " of a ", rows, " x ", cols,
                         " matrix; it must be at least 0 and less than ", cols));
}
/// A pointer and a length, as a range.
template <class T>
struct run {
  T* first;
  index_t count;
  T* data() const { return first; }
  index_t size() const { return count; }
};
template <class Range>
inline constexpr bool is_kept = std::is_lvalue_reference_v<Range> || std::is_trivially_copyable_v<Range>;
template <class X>
inline constexpr bool is_pointer = std::is_pointer_v<std::remove_cvref_t<X>>;  // an array is none
} // namespace detail

/// A user's CSR arrays as a tensor of shape S, not copied: the user keeps `row_ptr` and `col` alive while any tensor
/// shares the pattern, and `values` ([*batch][entry][*block]) while this one lives. Const values cannot be written
/// through it; a copy owns its values. Columns may stand in any order within a row (`sorted(A)` orders them).
/// Cost: one pass that checks the arrays. Errors: lengths, row pointers that fall, columns out of range.
template <class S, class RowPtr, class Cols, class Values>
requires(is_shape<S>) auto borrow_csr(S shape, RowPtr&& row_ptr, Cols&& col, Values&& values) {
  using Ptr = detail::element_t<RowPtr>;
  using Col = detail::element_t<Cols>;
  using T = detail::element_t<Values>;
  static_assert(
      std::integral<Ptr> && std::integral<Col> && Scalar<T>,
      "sla: borrow_csr(rows, cols, row_ptr, col, values) wants integers, integers, and float, double or complex");
  static_assert(detail::is_kept<RowPtr> && detail::is_kept<Cols> && detail::is_kept<Values>,
                "sla: borrow_csr does not copy: give it arrays that outlive the result, not temporaries");
  index_t const nnz = index_t(std::size(col));
  detail::check_csr(shape.rows(), shape.cols(), std::data(row_ptr), index_t(std::size(row_ptr)), std::data(col), nnz);
  auto pattern = detail::shared_of<csr_pattern<Col, Ptr, host_memory>>();
  pattern->rows = shape.rows();
  pattern->cols = shape.cols();
  Ptr const* const pointers = std::data(row_ptr);
  Col const* const columns = std::data(col);
  pattern->row_ptr = buffer<Ptr>::borrow(pointers, shape.rows() + 1);
  pattern->col = buffer<Col>::borrow(columns, nnz);
  return sparse_tensor<T, S, Csr<Col, Ptr>>(shape, std::move(pattern),
                                            buffer<T>::borrow(std::data(values), index_t(std::size(values))));
}

/// The rows x cols matrix of a user's CSR arrays, not copied.
template <class RowPtr, class Cols, class Values>
auto borrow_csr(index_t rows, index_t cols, RowPtr&& row_ptr, Cols&& col, Values&& values) {
  constexpr bool counted = !(detail::is_pointer<RowPtr> || detail::is_pointer<Cols> || detail::is_pointer<Values>);
  static_assert(counted, "sla: borrow_csr(rows, cols, row_ptr, col, values): pointers have no lengths: give the number of entries before them, "
                         "borrow_csr(rows, cols, nnz, row_ptr, col, values), or spans, std::span(row_ptr, rows + 1)");
  if constexpr (counted)
    return borrow_csr(Matrix(rows, cols), std::forward<RowPtr>(row_ptr), std::forward<Cols>(col), std::forward<Values>(values));
  else
    return sparse_tensor<double>();
}

/// The same from pointers: rows + 1 row pointers, nnz columns and nnz values.
template <std::integral Ptr, std::integral Col, class T>
auto borrow_csr(index_t rows, index_t cols, index_t nnz, Ptr const* row_ptr, Col const* col, T* values) {
  return borrow_csr(Matrix(rows, cols), detail::run<Ptr const>{row_ptr, rows + 1}, detail::run<Col const>{col, nnz},
                    detail::run<T>{values, nnz});
}

namespace detail {
/// The entries of a pattern by row, then column: the order that `sorted` gives to values.
template <class Col, class Ptr>
triplet_order<Col, Ptr> sort_rows(csr_pattern<Col, Ptr, host_memory> const& pattern) {
  buffer<index_t> begin(pattern.rows + 1, uninitialized);
  std::copy(pattern.row_ptr.begin(), pattern.row_ptr.end(), begin.data());
  buffer<sorted_triplet<Col>> order(pattern.nnz(), uninitialized);
  parallel_ranges(pattern.nnz(), [out = order.data(), col = pattern.col.data()](index_t lo, index_t hi) {
    for (index_t s = lo; s < hi; ++s) out[s] = {col[s], s};
  });
  return sort_within_rows<Col, Ptr>(pattern.rows, pattern.cols, std::move(begin), std::move(order));
}
} // namespace detail

/// A with the columns of each row in ascending order and repeated entries summed, on a pattern of its own.
template <class T, class S, class Col, class Ptr>
sparse_tensor<T, S, Csr<Col, Ptr>> sorted(sparse_tensor<T, S, Csr<Col, Ptr>> const& A) {
  auto order = detail::sort_rows(A.pattern());
  auto values = detail::sum_triplets<T>(order, A.values().data(), A.batch_count(), A.block_size);
  return {A.shape(), std::move(order.pattern), std::move(values)};
}

} // namespace sla
