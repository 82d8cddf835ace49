// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse owners of what views say: `eval(transpose(A))`, `eval(adjoint(A))`, `eval(conj(A))`, and views that are borrowed as
// owners. The views themselves are in expr/sparse/product.hpp.
#pragma once

#include <algorithm>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/expr/sparse/values.hpp>
#include <sla/tensor/arrange/transpose.hpp>

namespace sla {

namespace detail {
/// A sparse tensor that borrows what a view shows; conjugation is not applied. A copy owns its values, not its pattern.
template <class T, class S, class Pattern, class Memory, bool Conj>
auto borrowed_tensor(sparse_view<T, S, Pattern, Memory, Conj> const& v) {
  using V = sparse_tensor<user_t<T>, S, typename Pattern::format_type, Memory>;
  using P = typename V::pattern_type;
  index_t const count = v.batch_stride * v.shape.batch_count();
  auto values = buffer<user_t<T>, Memory>::borrow(reinterpret_cast<user_t<T> const*>(v.values), count);
  return V(v.shape, detail::shared_of<P const>(v.pattern.borrowed(Memory{}, v.batch_stride / V::block_size)),
           std::move(values));
}

/// An owner of op(A), pattern included.
template <bool Transposed, bool Conj, class A>
auto stored_as(A const& a) {
  if constexpr (Transposed && Conj)
    return adjointed(a);
  else if constexpr (Transposed)
    return transposed(a);
  else if constexpr (Conj)
    return with_values(a, conj(values(a)));
  else
    return a;
}
template <class T, class S, class Pattern, class Memory, bool Conj, bool Transposed>
auto stored(sparse_operand<sparse_view<T, S, Pattern, Memory, Conj>, Transposed> const& a) {
  auto const borrowed = borrowed_tensor(a.A);
  if constexpr (Transposed) {
    return stored_as<Transposed, Conj>(borrowed);
  } else {
    using V = std::remove_const_t<decltype(borrowed)>;
    using P = typename V::pattern_type;
    return stored_as<Transposed, Conj>(V(a.A.shape, detail::shared_of<P const>(borrowed.pattern()), borrowed.values()));
  }
}
template <class Owner, bool Conj, bool Transposed>
auto stored(sparse_operand<held_sparse<Owner, Conj>, Transposed> const& a) {
  return stored_as<Transposed, Conj>(a.A.owner);
}
template <SparseOwner A>
A const& stored(A const& a) {
  return a;
}
} // namespace detail

/// What transpose, adjoint or conj made of a sparse tensor.
template <class A>
concept SparseView = SparseOperand<A> && !SparseOwner<A>;

/// The value of a view of a sparse tensor, as an owner of its own.
template <class View, bool Transposed>
auto perform(op::eval, sparse_operand<View, Transposed> const& a) {
  return detail::stored(a);
}
template <SparseOwner A>
A perform(op::eval, A const& a) {
  return a;
}

/// Operations on a sparse tensor that read its entries one by one: of a view, those of its value.
template <class Op>
inline constexpr bool reads_entries = false;
template <>
inline constexpr bool reads_entries<op::values> = true;
template <>
inline constexpr bool reads_entries<op::with_values> = true;
template <>
inline constexpr bool reads_entries<op::diagonal_of> = true;
template <>
inline constexpr bool reads_entries<op::masked> = true;
template <>
inline constexpr bool reads_entries<op::band> = true;
template <>
inline constexpr bool reads_entries<op::select> = true;
template <>
inline constexpr bool reads_entries<op::batch_items> = true;
template <>
inline constexpr bool reads_entries<op::sum> = true;
template <>
inline constexpr bool reads_entries<op::norm> = true;
template <>
inline constexpr bool reads_entries<op::norm1> = true;
template <>
inline constexpr bool reads_entries<op::norm_inf> = true;

template <class Op, SparseView A, class... Rest>
  requires(reads_entries<Op> && Performs<Op, decltype(detail::stored(std::declval<A const&>())), Rest...>)
auto perform(Op op, A const& a, Rest&&... rest) {
  return perform(op, detail::stored(a), std::forward<Rest>(rest)...);
}

} // namespace sla
