// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transpose(A), adjoint(A) and conj(A) where sparse tensors are looked at, taken apart, put together, converted or written: these
// functions take the value of a view, which is stored for that. Products and sums with views are in expr/sparse/product.hpp and expr/sparse/algebra.hpp.
#pragma once

#include <sla/expr/sparse/stored.hpp>
#include <sla/tensor/arrange/cat.hpp>
#include <sla/tensor/files/matrix_market_write.hpp>
#include <sla/tensor/files/spy.hpp>
#include <sla/tensor/structure/ordering.hpp>
#include <sla/tensor/structure/properties.hpp>

namespace sla {

template <class Target, SparseView A, class... Options>
auto convert(conversion_to<Target> target, A const& a, Options const&... options) {
  return convert(target, detail::stored(a), options...);
}
template <class T, SparseView A>
auto cast(A const& a) {
  return cast<T>(detail::stored(a));
}
template <SparseView A>
auto to_dense(A const& a) {
  return to_dense(detail::stored(a));
}
template <SparseView A, class Visit>
void for_each_entry(A const& a, Visit const& f) {
  for_each_entry(detail::stored(a), f);
}
template <SparseView A>
auto batch_item(A const& a, index_t k) {
  return batch_item(detail::stored(a), k);
}
template <SparseView A, class... Options>
matrix_properties properties(A const& a, Options... options) {
  return properties(detail::stored(a), options...);
}
template <SparseView A>
auto rcm(A const& a) {
  return rcm(detail::stored(a));
}
template <SparseView A, class... Options>
spy_picture spy(A const& a, Options... options) {
  return spy(detail::stored(a), options...);
}
template <class Where, SparseView A>
void write_matrix_market(Where&& where, A const& a, matrix_market_options const& options = {}) {
  write_matrix_market(where, detail::stored(a), options);
}

namespace detail {
/// Sparse tensors, of which some are views.
template <class... Parts>
concept SomeViews = (SparseOperand<Parts> && ...) && (SparseView<Parts> || ...);
} // namespace detail

template <class... Parts>
  requires detail::SomeViews<Parts const&...>
auto cat_rows(Parts const&... parts) {
  return cat_rows(detail::stored(parts)...);
}
template <class... Parts>
  requires detail::SomeViews<Parts const&...>
auto cat_cols(Parts const&... parts) {
  return cat_cols(detail::stored(parts)...);
}
template <class... Parts>
  requires detail::SomeViews<Parts const&...>
auto block_diagonal(Parts const&... parts) {
  return block_diagonal(detail::stored(parts)...);
}
template <class... Parts>
  requires detail::SomeViews<Parts const&...>
auto cat_batch(Parts const&... parts) {
  return cat_batch(detail::stored(parts)...);
}

} // namespace sla
