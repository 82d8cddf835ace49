// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values of a sparse tensor as a vector, and a sparse tensor with other values: arithmetic on a pattern is arithmetic of
// vectors. `2.0 * A`, `A / s`, `-A` are made of them; A + B and A * B are in expr/sparse/algebra.hpp.
#pragma once

#include <algorithm>
#include <vector>

#include <sla/expr/dense/elementwise.hpp>
#include <sla/expr/sparse/product.hpp>
#include <sla/tensor/build/borrow.hpp>

namespace sla {

/// A sparse tensor that owns its values.
template <class X>
concept SparseOwner = is_sparse_tensor<std::remove_cvref_t<X>>;

namespace detail {
/// A view of the stored values, in the order [*batch][slot][*block].
template <class T, class S, class F, class Memory>
tensor_view<kernel_t<T>, Extents<dyn>, Memory> values_of(sparse_tensor<T, S, F, Memory> const& A) {
  return {kernel_pointer(A.values().data()), Extents<dyn>(A.values().size())};
}
template <class T, class S, class F, class Memory>
vector<T, Memory> values_of(sparse_tensor<T, S, F, Memory>&& A) {
  index_t const count = A.values().size();
  return {Extents<dyn>(count), std::move(A.values())};
}
/// Makes zeros of the slots that only fill up a format, such as Sell: they are no entries, whatever was done to all stored values.
template <class A, class T>
void clear_filling(A const& a, T* values) {
  if constexpr (A::memory_type::is_host) {
    index_t const slots = a.pattern().slots(), block = A::block_size;
    if (slots == a.nnz()) return;
    std::vector<char> filling(std::size_t(slots), 1);
    auto const view = a.pattern().view();
    for (index_t i = 0; i < a.rows(); ++i) view.for_row(i, [&](index_t s, index_t) { filling[std::size_t(s)] = 0; });
    for (index_t b = 0; b < a.batch_count(); ++b)
      for (index_t s = 0; s < slots; ++s)
        if (filling[std::size_t(s)]) std::fill_n(values + (b * slots + s) * block, block, T{});
  }
}
template <SparseOwner A, Tensorial X>
auto with_elements(A const& a, X&& x) {
  using T = user_t<typename node_t<X>::value_type>;
  constexpr bool offered = !(is_complex<T> && is_dual<real_t<T>>);
  static_assert(offered, "sla: hvp(f, x, v): f makes a complex sparse tensor of x, of which second derivatives are not offered: write it for the real and the imaginary parts");
  vector<T, typename A::memory_type> values = as_node(std::forward<X>(x));
  if (values.size() != a.values().size())
    throw shape_error(text("with_values(A, x): x has ", values.size(), " elements, A stores ", a.values().size(), "; give one for each, in the order of values(A)"));
  clear_filling(a, values.data());
  return sparse_tensor<T, typename A::shape_type, typename A::format_type, typename A::memory_type>(
      a.shape(), a.shared_pattern(), std::move(values.values()));
}
} // namespace detail

template <SparseOwner A>
auto perform(op::values, A&& a) { return detail::values_of(std::forward<A>(a)); }
template <SparseOwner A, Tensorial X>
auto perform(op::with_values, A const& a, X&& x) { return detail::with_elements(a, std::forward<X>(x)); }

/// The stored values of A as a vector [*batch][slot][*block]; of an lvalue it is a view. Slots that only fill up a format are among them and
/// hold 0: those of Sell, and of Dia those beyond the matrix. Other places of a diagonal of Dia count as entries, 0 or not.
/// Gradient: with_values(A, g).
template <class A>
  requires(SparseOwner<A> || Performs<op::values, A>)
auto values(A&& a) {
  if constexpr (SparseOwner<A>)
    return detail::values_of(std::forward<A>(a));
  else
    return perform(op::values{}, std::forward<A>(a));
}
template <ViewedSparse A>
auto values(A& a SLA_LIFETIMEBOUND) { return detail::values_of(a); }
/// A sparse tensor with the pattern of A and the elements of x, in the order of `values(A)`; in slots that are no entries 0, whatever x has.
/// Gradient: values(g) to x, nothing to A. Cost: the pattern is shared. Errors: shape_error, if the counts differ.
template <class A, class X>
  requires((SparseOwner<A> && Tensorial<X>) || Performs<op::with_values, A, X>)
auto with_values(A&& a, X&& x) {
  if constexpr (SparseOwner<A> && Tensorial<X>)
    return detail::with_elements(a, std::forward<X>(x));
  else
    return perform(op::with_values{}, std::forward<A>(a), std::forward<X>(x));
}

/// s A, at once: an expression of many products should scale the vectors instead.
template <Number N, SparseOwner A>
auto operator*(N s, A const& a) {
  return with_values(a, s * values(a));
}
template <Number N, SparseOwner A>
auto operator*(A const& a, N s) {
  return with_values(a, values(a) * s);
}
template <Number N, SparseOwner A>
auto operator/(A const& a, N s) {
  return with_values(a, values(a) / s);
}
template <SparseOwner A>
auto operator-(A const& a) {
  return with_values(a, -values(a));
}
template <Number N, SparseOwner A>
A& operator*=(A& a, N s) {
  return a = a * s;
}
template <Number N, SparseOwner A>
A& operator/=(A& a, N s) {
  return a = a / s;
}

/// Functions that are 0 at 0: of a sparse tensor, what is not stored stays zero. (conj(A) is a view.)
template <class Op>
inline constexpr bool keeps_zeros = is_elementwise<Op> && !std::same_as<Op, op::exp> && !std::same_as<Op, op::log> && !std::same_as<Op, op::cos>;

namespace detail {
/// Functions of a sum that are the sums of the functions: of an entry that is stored in two parts, say.
template <class Op>
inline constexpr bool is_additive = std::same_as<Op, op::conj> || std::same_as<Op, op::real> || std::same_as<Op, op::imag>;

/// Is a place stored twice? A user's own arrays may do so.
template <class A>
bool has_repeated_entries(A const& a) {
  if constexpr (is_csr<typename A::format_type> && A::memory_type::is_host)
    if (!has_sorted_columns(a.pattern())) return sort_rows(a.pattern()).pattern->nnz() < a.nnz();
  return false;
}
/// f(A), entries of one place summed.
template <class A, class F>
auto with_single_entries(A const& a, F const& f) {
  if constexpr (is_csr<typename A::format_type> && A::memory_type::is_host)
    if (has_repeated_entries(a)) return f(sorted(a));
  return f(a);
}

template <class Op, SparseOwner A>
auto function_on_pattern(A const& a) {
  static_assert(keeps_zeros<Op>, "sla: exp(A), log(A), cos(A) of a sparse tensor: entries that are not stored would not stay zero; of those that "
                                 "are stored, say with_values(A, exp(values(A)))");
  auto const changed = [](auto const& b) { return with_values(b, elementwise<Op>(values(b))); };
  if constexpr (!keeps_zeros<Op>)
    return a;
  else if constexpr (is_additive<Op>)
    return changed(a);
  else
    return with_single_entries(a, changed);
}
} // namespace detail

/// abs, abs2, sqrt, sin, tanh, real and imag of the stored values, on the pattern of A; entries that a user's arrays store twice
/// are summed first.
template <class Op, SparseOwner A>
  requires(keeps_zeros<Op> && !std::same_as<Op, op::conj>)
auto perform(Op, A const& a) {
  return detail::function_on_pattern<Op>(a);
}
/// Refused where it is called: its type is known without its text.
template <class Op, SparseOwner A>
  requires(is_elementwise<Op> && !keeps_zeros<Op>)
A perform(Op, A const& a) {
  return detail::function_on_pattern<Op>(a);
}

// ---- refused, each by one sentence

namespace detail {
template <SparseOperand X>
inline constexpr bool is_sparse_like<X> = true;
template <class X, class Y>
refused refuse_condition() {
  static_assert(always_false<X>, "sla: a comparison of a sparse tensor, or where(c, x, y) of one: compare the stored values, as in "
                                 "with_values(A, where(values(A) > 0.5, values(A), 0.0)); masked(A, M) has the entries where M stores one");
  return {};
}
} // namespace detail

template <SparseOperand L, SparseOperand R>
bool operator==(L const&, R const&) {
  static_assert(always_false<L>, "sla: A == B of sparse tensors: rounding decides; norm(A - B) <= tolerance compares them, same_pattern(A.pattern(), B.pattern()) their "
                                 "patterns, and std::ranges::equal(A.values(), B.values()) their values one by one");
  return false;
}
/// Refused: the sum of squares of a sparse tensor is that of its values.
template <SparseOperand A>
double squared_norm(A const&) {
  static_assert(always_false<A>, "sla: squared_norm(A) of a sparse tensor: squared_norm(values(A)), and norm(A) is its root");
  return 0;
}
template <class L, class R>
  requires detail::SomeSparse<L, R>
detail::refused operator<(L const&, R const&) {
  return detail::refuse_condition<L, R>();
}
template <class L, class R>
  requires detail::SomeSparse<L, R>
detail::refused operator<=(L const&, R const&) {
  return detail::refuse_condition<L, R>();
}
template <class L, class R>
  requires detail::SomeSparse<L, R>
detail::refused operator>(L const&, R const&) {
  return detail::refuse_condition<L, R>();
}
template <class L, class R>
  requires detail::SomeSparse<L, R>
detail::refused operator>=(L const&, R const&) {
  return detail::refuse_condition<L, R>();
}
template <class C, class X, class Y>
  requires detail::SomeSparse<C, X, Y>
detail::refused where(C const&, X const&, Y const&) {
  return detail::refuse_condition<C, X>();
}
template <class X, class Y>
detail::refused where(detail::refused const&, X const&, Y const&) {
  return {};
}
template <class A>
A masked(A const& a, detail::refused const&) {
  return a;
}

} // namespace sla
