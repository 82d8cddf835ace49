// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A matrix of any format and blocks as scalar rows with ascending columns, counted in 32 bits: what amg and gauss_seidel are made from.
#pragma once

#include <limits>
#include <utility>

#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla::detail {

/// f(A in Csr<>, each row's columns ascending, blocks and batch items kept). Errors: shape_error, if 32 bits do not count its entries.
template <class T, class S, class F, class Use>
auto with_csr_rows(sparse_tensor<T, S, F> const& A, char const* who, Use const& f) {
  if constexpr (!std::same_as<F, Csr<std::int32_t>>) {
    index_t const most = (std::numeric_limits<std::int32_t>::max)();
    if (A.rows() > most || A.nnz() > most)
      throw shape_error(text(who, ": A has ", A.rows(), " rows and ", A.nnz(), " entries, and 32 bits count up to ", most, "; use chebyshev{} or schwarz(ic0{})"));
    return with_csr_rows(to<Csr<std::int32_t>>(A), who, f);
  } else {
    if (!has_sorted_columns(A.pattern())) return f(sorted(A));
    return f(A);
  }
}
/// The same of A in scalar entries.
template <class T, class S, class F, class Use>
auto with_scalar_rows(sparse_tensor<T, S, F> const& A, char const* who, Use const& f) {
  if constexpr (S::block_rows > 1)
    return with_csr_rows(unblocked(A), who, f);
  else
    return with_csr_rows(A, who, f);
}

/// One item of a batch, with values of its own.
template <class T, class S>
sparse_tensor<T, Matrix, Csr<std::int32_t>> item_of_rows(sparse_tensor<T, S, Csr<std::int32_t>> const& A, index_t item) {
  buffer<T> values(A.pattern().nnz(), uninitialized);
  host_memory::copy(A.values().data() + item * A.batch_stride(), values.data(), values.bytes());
  return {Matrix(A.rows(), A.cols()), A.shared_pattern(), std::move(values)};
}

} // namespace sla::detail
