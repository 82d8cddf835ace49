// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `kron(A, B)`: Kronecker products of sparse tensors.
#pragma once

#include <utility>

#include <sla/core/held.hpp>
#include <sla/core/op.hpp>
#include <sla/tensor/algebra/pair.hpp>

namespace sla {

namespace detail {
template <class SA, class SB>
using kron_shape_t = Shape<typename batch_axes<common_batch_t<SA, SB>>::type,
                           product_extent<SA::static_rows, SB::static_rows>,
                           product_extent<SA::static_cols, SB::static_cols>, typename SB::block_axes>;

/// Row i k of the product follows row i of A, and within each of its entries row k of B.
template <class F, class A, class B>
auto kron_of(A const& a, B const& b) {
  using S = kron_shape_t<typename A::shape_type, typename B::shape_type>;
  using T = user_t<promote_t<typename A::value_type, typename B::value_type>>;
  using Col = typename F::col_type;
  using pattern = typename F::template pattern<host_memory>;
  constexpr index_t block = B::block_size;
  auto const va = a.pattern().view();
  auto const vb = b.pattern().view();
  // The constructor of the shape refuses extents that are not countable.
  Extents<dyn, dyn> const countable_rows(a.rows(), b.rows()), countable_cols(a.cols(), b.cols());
  S const shape(common_batch(a.shape(), b.shape(), "kron(A, B)"), countable_rows.total(), countable_cols.total());
  narrowed<Col>(shape.cols(), "the number of columns of kron(A, B),", wide_columns);
  auto length = [](auto const& v, index_t i) { return index_t(v.row_ptr[i + 1]) - index_t(v.row_ptr[i]); };
  auto row_ptr = row_pointers<typename F::ptr_type>(
      shape.rows(), [&](index_t r) { return length(va, r / b.rows()) * length(vb, r % b.rows()); },
      "the number of entries of kron(A, B),",
      "Csr<std::int32_t, std::int64_t> for A: kron(to<Csr<std::int32_t, std::int64_t>>(A), B)");
  buffer<Col> col(row_ptr[shape.rows()], uninitialized);
  index_t const items = shape.batch_count(), entries = col.size();
  buffer<T> values(sparse_tensor<T, S, F>::value_count(shape, entries), uninitialized);
  parallel_work(row_ptr, [&, columns = col.data(), out = kernel_pointer(values.data()),
                          left = kernel_pointer(a.values().data()),
                          right = kernel_pointer(b.values().data())](index_t lo, index_t hi, int) {
    for (index_t r = lo, at = row_ptr[lo]; r < hi; ++r)
      va.for_row(r / b.rows(), [&](index_t s, index_t i) {
        vb.for_row(r % b.rows(), [&](index_t t, index_t j) {
          columns[at] = Col(i * b.cols() + j);
          for (index_t item = 0; item < items; ++item)
            for (index_t e = 0; e < block; ++e)
              out[(item * entries + at) * block + e] =
                  op::mul::apply(left[item * item_stride(a) + s], right[item * item_stride(b) + t * block + e]);
          ++at;
        });
      });
  });
  return sparse_tensor<T, S, F>(
      shape, detail::shared_of<pattern const>(pattern{shape.rows(), shape.cols(), std::move(row_ptr), std::move(col)}),
      std::move(values));
}
} // namespace detail

/// The Kronecker product, (*batch, M_A M_B, N_A N_B, *block): row i M_B + k, column j N_B + l holds A_ij B_kl. B may have
/// blocks; batch axes may be missing on one side. Rows ascend. Gradient: on the patterns of A and B.
/// Cost: one pass over the result, in parallel. Errors: an index type too narrow for the result.
template <class TA, class SA, class FA, class TB, class SB, class FB>
auto kron(sparse_tensor<TA, SA, FA> const& A, sparse_tensor<TB, SB, FB> const& B) {
  constexpr bool fits = !SA::is_blocked && detail::batches_fit<SA, SB>;
  static_assert(fits, "sla: kron(A, B): A has scalar entries (take unblocked(A) first), and batch axes are equal or "
                      "missing on one side");
  if constexpr (fits)
    return detail::with_sorted_rows(A, [&](auto const& a) {
      return detail::with_sorted_rows(B, [&](auto const& b) {
        using Direct = common_format_t<csr_for_t<FA>, csr_for_t<FB>>;
        auto C = detail::kron_of<Direct>(a, b);
        if constexpr (std::same_as<FA, FB> && !std::same_as<FA, Direct>)
          return to<FA>(C);
        else
          return C;
      });
    });
  else
    return A;
}

template <class TA, class SA, class FA, class TB, class SB, class FB>
auto perform(op::kron, sparse_tensor<TA, SA, FA> const& A, sparse_tensor<TB, SB, FB> const& B) {
  return kron(A, B);
}
template <class A, class B>
  requires(!(is_sparse_tensor<A> && is_sparse_tensor<B>) && requires(A const& a, B const& b) { perform(op::kron{}, a, b); })
auto kron(A const& a, B const& b) {
  return perform(op::kron{}, a, b);
}

} // namespace sla
