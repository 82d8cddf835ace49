// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `add(alpha, A, beta, B)`: sums of sparse tensors on the union of their patterns. The operators A + B and A - B are in
// expr/sparse/algebra.hpp.
#pragma once

#include <utility>

#include <sla/core/held.hpp>
#include <sla/core/op.hpp>
#include <sla/tensor/algebra/pair.hpp>
#include <sla/tensor/build/block.hpp>

namespace sla {

namespace detail {
/// f(column, slot of a, slot of b) for the columns of row i of both, ascending; -1 where one has no entry.
template <class PA, class PB, class F>
void merge_row(PA const& a, PB const& b, index_t i, F const& f) {
  index_t s = a.row_ptr[i], t = b.row_ptr[i];
  index_t const a_end = a.row_ptr[i + 1], b_end = b.row_ptr[i + 1];
  while (s < a_end && t < b_end) {
    index_t const j = a.col[s], k = b.col[t];
    f(j < k ? j : k, j <= k ? s : index_t(-1), k <= j ? t : index_t(-1));
    s += j <= k;
    t += k <= j;
  }
  for (; s < a_end; ++s) f(index_t(a.col[s]), s, index_t(-1));
  for (; t < b_end; ++t) f(index_t(b.col[t]), index_t(-1), t);
}

template <class NA, class TA, class NB, class TB>
using sum_scalar_t = user_t<promote_t<promote_t<NA, TA>, promote_t<NB, TB>>>;

/// alpha A + beta B in slot order, where both have one pattern; any format.
template <class To, class NA, class A, class NB, class B>
To add_values(NA alpha, A const& a, NB beta, B const& b, typename To::shape_type const& shape) {
  using V = typename To::value_type;
  index_t const each = a.batch_stride();
  buffer<V> values(To::value_count(shape, a.pattern().slots()), uninitialized);
  for (index_t k = 0; k < shape.batch_count(); ++k)
    parallel_ranges(each, [&, x = kernel_pointer(a.values().data()) + k * item_stride(a),
                           y = kernel_pointer(b.values().data()) + k * item_stride(b),
                           out = kernel_pointer(values.data()) + k * each](index_t lo, index_t hi) {
      for (index_t n = lo; n < hi; ++n)
        out[n] = kernel_t<V>(op::mul::apply(alpha, x[n])) + kernel_t<V>(op::mul::apply(beta, y[n]));
    }, light_below);
  return {shape, a.shared_pattern(), std::move(values)};
}

/// The same on the union of two patterns of sorted rows; the pattern is that of one, if it has all entries of the other.
template <class To, class NA, class A, class NB, class B>
To merge_values(NA alpha, A const& a, NB beta, B const& b, typename To::shape_type const& shape) {
  using V = kernel_t<typename To::value_type>;
  using Col = typename To::format_type::col_type;
  constexpr index_t block = To::block_size;
  auto const va = a.pattern().view();
  auto const vb = b.pattern().view();
  auto row_ptr = row_pointers<typename To::format_type::ptr_type>(shape.rows(), [&](index_t i) {
    index_t count = 0;
    merge_row(va, vb, i, [&](index_t, index_t, index_t) { ++count; });
    return count;
  });
  index_t const entries = row_ptr[shape.rows()];
  bool const of_a = std::same_as<typename A::format_type, typename To::format_type> && entries == a.nnz();
  bool const of_b = std::same_as<typename B::format_type, typename To::format_type> && entries == b.nnz();
  bool const shares = of_a || of_b;
  if (!shares) narrowed<Col>(shape.cols(), "the number of columns,", wide_columns);
  buffer<Col> col(shares ? 0 : entries, uninitialized);
  buffer<typename To::value_type> values(To::value_count(shape, entries), uninitialized);
  auto each_entry = [&](auto const& place) {
    parallel_ranges(shape.rows(), [&](index_t lo, index_t hi) {
      index_t at = row_ptr[lo];
      for (index_t i = lo; i < hi; ++i) merge_row(va, vb, i, [&](index_t j, index_t s, index_t t) { place(at++, j, s, t); });
    });
  };
  Col* const columns = col.data();
  for (index_t k = 0; k < shape.batch_count(); ++k)
    each_entry([=, write = k == 0 && !shares, x = kernel_pointer(a.values().data()) + k * item_stride(a),
                y = kernel_pointer(b.values().data()) + k * item_stride(b),
                out = kernel_pointer(values.data()) + k * entries * block](index_t at, index_t j, index_t s, index_t t) {
      if (write) columns[at] = Col(j);
      for (index_t e = 0; e < block; ++e)
        out[at * block + e] = (s < 0 ? V{} : V(op::mul::apply(alpha, x[s * block + e]))) +
                              (t < 0 ? V{} : V(op::mul::apply(beta, y[t * block + e])));
    });
  if (shape.batch_count() == 0 && !shares)  // of no items, the pattern is all there is
    each_entry([=](index_t at, index_t j, index_t, index_t) { columns[at] = Col(j); });
  if constexpr (std::same_as<typename A::format_type, typename To::format_type>)
    if (of_a) return {shape, a.shared_pattern(), std::move(values)};
  if constexpr (std::same_as<typename B::format_type, typename To::format_type>)
    if (of_b) return {shape, b.shared_pattern(), std::move(values)};
  using pattern = typename To::pattern_type;
  return {shape, detail::shared_of<pattern const>(pattern{shape.rows(), shape.cols(), std::move(row_ptr), std::move(col)}),
          std::move(values)};
}
} // namespace detail

/// alpha A + beta B on the union of the patterns, (*batch, M, N, *block); the pattern is shared where one operand has
/// all entries of the other. Batch axes may be missing on one side: its item then serves all.
/// Law: one shape. Gradient: conj(alpha) g on A's pattern, conj(beta) g on B's.
/// Cost: a pass over the values of one shared pattern; else two over the indices of both, one over the values.
/// Errors: shape_error, if extents differ; an index type too narrow for the union.
template <class NA, class TA, class SA, class FA, class NB, class TB, class SB, class FB>
  requires(std::is_arithmetic_v<NA> || is_complex<NA>)
auto add(NA alpha, sparse_tensor<TA, SA, FA> const& A, NB beta, sparse_tensor<TB, SB, FB> const& B) {
  constexpr bool fits = sum_law<SA, SB>;
  static_assert(fits, "sla: A + B: the sparse tensors need one shape (*batch, M, N, *block); batch axes may be missing "
                      "on one side");
  if constexpr (fits) {
    using S = sum_shape_t<SA, SB>;
    using F = common_format_t<FA, FB>;
    using T = detail::sum_scalar_t<NA, TA, NB, TB>;
    if (A.rows() != B.rows() || A.cols() != B.cols())
      throw shape_error(text("A + B: A is ", A.rows(), " x ", A.cols(), ", B is ", B.rows(), " x ", B.cols(),
                             "; sums need equal extents"));
    S const shape(detail::common_batch(A.shape(), B.shape(), "A + B"), A.rows(), A.cols());
    auto const x = to_kernel(alpha);
    auto const y = to_kernel(beta);
    if constexpr (std::same_as<FA, FB>)
      if (same_pattern(A.pattern(), B.pattern()))
        return detail::add_values<sparse_tensor<T, S, F>>(x, A, y, B, shape);
    return detail::with_sorted_rows(A, [&](auto const& a) {
      return detail::with_sorted_rows(B, [&](auto const& b) {
        using Direct = common_format_t<csr_for_t<FA>, csr_for_t<FB>>;
        return detail::in_format<F>(detail::merge_values<sparse_tensor<T, S, Direct>>(x, a, y, b, shape));
      });
    });
  } else {
    return A;
  }
}

template <class NA, class TA, class SA, class FA, class NB, class TB, class SB, class FB>
  requires(std::is_arithmetic_v<NA> || is_complex<NA>)
auto perform(op::add, NA alpha, sparse_tensor<TA, SA, FA> const& A, NB beta, sparse_tensor<TB, SB, FB> const& B) {
  return add(alpha, A, beta, B);
}
template <class NA, class A, class NB, class B>
  requires(!(is_sparse_tensor<A> && is_sparse_tensor<B>) && requires(NA alpha, A const& a, NB beta, B const& b) { perform(op::add{}, alpha, a, beta, b); })
auto add(NA alpha, A const& a, NB beta, B const& b) {
  return perform(op::add{}, alpha, a, beta, b);
}

} // namespace sla
