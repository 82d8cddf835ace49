// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Diagonal matrices: the identity, `eye<double>(n)`, and `diagonal(v)` of a vector. The way back, `diagonal_of(A)`, is in
// tensor/build/entries.hpp; diag(v) A without the matrix diag(v) is `scale_rows(A, v)`.
#pragma once

#include <memory>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/tensor/algebra/pair.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla {

namespace detail {
template <class E>
using all_but_last_t = typename removed_extent<E, E::rank - 1>::type;
/// (*batch, N, N) for a vector of (*batch, N).
template <class E>
using diagonal_shape_t =
    Shape<typename batch_axes<all_but_last_t<E>>::type, E::static_extent(E::rank - 1), E::static_extent(E::rank - 1), Block<>>;

template <class Col, class Ptr>
std::shared_ptr<csr_pattern<Col, Ptr, host_memory> const> diagonal_pattern(index_t n) {
  narrowed<Col>(n, "the number of columns,", wide_columns);
  narrowed<Ptr>(n, "the number of entries,", "Csr<std::int32_t, std::int64_t>");
  buffer<Ptr> row_ptr(n + 1, uninitialized);
  buffer<Col> col(n, uninitialized);
  parallel_ranges(n + 1, [&, p = row_ptr.data(), c = col.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) {
      p[i] = Ptr(i);
      if (i < n) c[i] = Col(i);
    }
  });
  using pattern = csr_pattern<Col, Ptr, host_memory>;
  return detail::shared_of<pattern const>(pattern{n, n, std::move(row_ptr), std::move(col)});
}
} // namespace detail

/// The sparse matrix with the elements of v on its diagonal, (*batch, N, N) for v of (*batch, N); zeros among them are stored.
/// Gradient: diagonal_of(g). Cost: one pass over v. Errors: an index type too narrow for N.
template <Format F = Csr<>, class T, class E>
auto diagonal(tensor<T, E> const& v) {
  static_assert(E::rank > 0, "sla: diagonal(v): v is a vector, (*batch, N)");
  using S = detail::diagonal_shape_t<E>;
  using Direct = csr_for_t<F>;
  index_t const n = v.extent(E::rank - 1);
  auto const batch = [&]<std::size_t... Axis>(std::index_sequence<Axis...>) {
    return typename S::batch_extents(v.extent(int(Axis))...);
  }(std::make_index_sequence<std::size_t(E::rank - 1)>{});
  return detail::in_format<F>(sparse_tensor<T, S, Direct>(S(batch, n, n), detail::diagonal_pattern<typename Direct::col_type, typename Direct::ptr_type>(n), v.values()));
}

template <Format F, class T, class E>
auto perform(op::diagonal, conversion_to<F>, tensor<T, E> const& v) {
  return diagonal<F>(v);
}
template <Format F = Csr<>, class V>
  requires(!is_host_tensor<V> && requires(V const& v) { perform(op::diagonal{}, conversion_to<F>{}, v); })
auto diagonal(V const& v) {
  return perform(op::diagonal{}, conversion_to<F>{}, v);
}
/// Refused: what is no vector.
template <Format F = Csr<>, class X>
  requires(!is_host_tensor<X> && !requires(X const& x) { perform(op::diagonal{}, conversion_to<F>{}, x); })
auto diagonal(X const&) {
  static_assert(always_false<X>, "sla: diagonal(v): v is a vector, which becomes the diagonal of a sparse matrix; the diagonal of a sparse A is diagonal_of(A), "
                                 "and borrow(v.data(), n) is a vector of an array of another library");
  return sparse_tensor<double>{};
}

/// The identity of n rows, sparse: `A - shift * eye<double>(n)`. A dense one is to_dense(eye<double>(n)).
/// Errors: an index type too narrow for n, which is at least 0.
template <Scalar T = double, Format F = Csr<>>
sparse_tensor<T, Matrix, F> eye(index_t n) {
  return diagonal<F>(ones<T>({n}));
}
/// Refused: the identity is square.
template <Scalar T = double, Format F = Csr<>, std::integral Rows>
sparse_tensor<T, Matrix, F> eye(Rows, index_t) {
  static_assert(always_false<Rows>, "sla: eye<T>(n): the identity is square, and one number says how many rows and columns: eye<double>(3)");
  return {};
}

} // namespace sla
