// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Algebra of sparse tensors, at once, with sparse results: A + B, A - B, A * B, and scaling by rows and columns. Operands may
// be views: transpose(P) * (A * P). The kernels are in tensor/algebra/add.hpp and tensor/algebra/multiply.hpp.
#pragma once

#include <sla/expr/sparse/stored.hpp>
#include <sla/tensor/algebra/add.hpp>
#include <sla/tensor/algebra/diagonal.hpp>
#include <sla/tensor/algebra/masked.hpp>
#include <sla/tensor/algebra/multiply.hpp>

namespace sla {

namespace detail {
template <class A, class B>
inline constexpr bool on_host = std::same_as<typename A::memory_type, host_memory> && std::same_as<typename B::memory_type, host_memory>;

template <class A, class B>
auto sparse_sum(A const& a, int sign, B const& b) {
  if constexpr (on_host<A, B>) {
    return add(1, a, sign, b);
  } else {
    static_assert(std::same_as<typename A::shape_type, typename B::shape_type> && std::same_as<typename A::pattern_type, typename B::pattern_type>,
                  "sla: A + B and A - B in the memory of a device need sparse tensors of one shape, format and memory");
    if (a.shared_pattern() != b.shared_pattern())
      throw shape_error(text("A + B in the memory of a device: the sparse tensors (", a.nnz(), " and ", b.nnz(),
                             " stored entries) do not share one pattern; add them on the host, with to<host_memory>(A)"));
    return with_values(a, values(a) + sign * values(b));
  }
}

template <class A, class B>
auto sparse_product(A const& a, B const& b) {
  static_assert(on_host<A, B>, "sla: products of sparse tensors are computed on the host: bring them over with to<host_memory>(A)");
  if constexpr (on_host<A, B>)
    return multiplied(a, b);
  else
    return a;
}
} // namespace detail

// Views stand where owners do.
template <Number NA, SparseOperand A, Number NB, SparseOperand B>
  requires(!SparseOwner<A> || !SparseOwner<B>)
auto perform(op::add, NA alpha, A const& a, NB beta, B const& b) {
  return add(alpha, detail::stored(a), beta, detail::stored(b));
}
template <SparseOperand A, SparseOperand B>
  requires(!SparseOwner<A> || !SparseOwner<B>)
auto perform(op::kron, A const& a, B const& b) {
  return kron(detail::stored(a), detail::stored(b));
}

template <SparseOwner A, SparseView M>
auto perform(op::masked, A const& a, M const& m) {
  return masked(a, detail::stored(m));
}
template <class Op, SparseView A>
  requires(keeps_zeros<Op> && !std::same_as<Op, op::conj>)
auto perform(Op, A const& a) {
  return detail::function_on_pattern<Op>(detail::stored(a));
}
template <class Op, class A>
auto detail::function_of_entries(A&& a) {
  if constexpr (std::same_as<Op, op::conj>)
    return conjugated_operand(std::forward<A>(a));
  else
    return function_on_pattern<Op>(stored(a));
}
template <Number N, SparseView A>
auto operator*(N s, A const& a) {
  return s * detail::stored(a);
}
template <Number N, SparseView A>
auto operator*(A const& a, N s) {
  return detail::stored(a) * s;
}
template <Number N, SparseView A>
auto operator/(A const& a, N s) {
  return detail::stored(a) / s;
}
template <SparseView A>
auto operator-(A const& a) {
  return -detail::stored(a);
}

/// A + B on the union of the patterns; `add(alpha, A, beta, B)` says more.
template <SparseOperand A, SparseOperand B>
auto operator+(A&& a, B&& b) {
  return detail::sparse_sum(detail::stored(a), 1, detail::stored(b));
}
template <SparseOperand A, SparseOperand B>
auto operator-(A&& a, B&& b) {
  return detail::sparse_sum(detail::stored(a), -1, detail::stored(b));
}
template <SparseOwner A, SparseOperand B>
A& operator+=(A& a, B&& b) {
  return a = a + std::forward<B>(b);
}
template <SparseOwner A, SparseOperand B>
A& operator-=(A& a, B&& b) {
  return a = a - std::forward<B>(b);
}
/// A B, sparse; `multiply_plan` says more, and multiplies new values without looking for the pattern again.
template <SparseOperand A, SparseOperand B>
auto operator*(A&& a, B&& b) {
  return detail::sparse_product(detail::stored(a), detail::stored(b));
}

// What would not be sparse, or is said otherwise, is refused by one sentence.
namespace detail {
template <class L, class R>
concept SparseAndDense = (SparseOperand<L> && Operand<R>) || (Operand<L> && SparseOperand<R>);
template <class L, class R>
concept SparseQuotient = (SparseOperand<L> && (Tensorial<R> || SparseOperand<R>)) || (Operand<L> && SparseOperand<R>);
/// The operand that the result would resemble.
template <class L, class R>
auto refused_operand(L&& l, R&& r) {
  if constexpr (Tensorial<L> || Tensorial<R>)
    return dense_operand(std::forward<L>(l), std::forward<R>(r));
  else if constexpr (SparseOperand<L>)
    return stored(l);
  else
    return stored(r);
}
} // namespace detail
template <class L, class R>
  requires detail::SparseAndDense<L, R>
auto operator+(L&& l, R&& r) {
  static_assert(always_false<L>, "sla: A + x: A is sparse, and what it does not store would be filled; to shift its diagonal add a sparse s * I, "
                                 "to change what is stored with_values(A, values(A) + x)");
  return detail::refused_operand(std::forward<L>(l), std::forward<R>(r));
}
template <class L, class R>
  requires detail::SparseAndDense<L, R>
auto operator-(L&& l, R&& r) {
  static_assert(always_false<L>, "sla: A - x: A is sparse, and what it does not store would be filled; to shift its diagonal subtract a sparse s * I, "
                                 "to change what is stored with_values(A, values(A) - x)");
  return detail::refused_operand(std::forward<L>(l), std::forward<R>(r));
}
template <Tensorial X, SparseOperand A>
node_t<X> operator*(X&& x, A&&) {
  static_assert(always_false<X>, "sla: x * A: a sparse tensor is the left factor; of a vector, x A is transpose(A) * x, and diag(x) A is scale_rows(A, x)");
  return as_node(std::forward<X>(x));
}
template <class L, class R>
  requires detail::SparseQuotient<L, R>
auto operator/(L&& l, R&& r) {
  static_assert(always_false<L>, "sla: a quotient with a sparse tensor: A^-1 b is solve(A, b), and rows divided by x are scale_rows(A, 1.0 / x)");
  return detail::refused_operand(std::forward<L>(l), std::forward<R>(r));
}

namespace detail {
/// diag(d) A, or A diag(d): d has an element for each scalar row, or column, of each batch item.
template <bool Rows, class A, class D>
auto scaled(A const& a, D const& d) {
  using S = typename A::shape_type;
  using T = user_t<promote_t<typename A::value_type, typename D::value_type>>;
  using To = sparse_tensor<T, S, typename A::format_type>;
  constexpr index_t P = S::block_rows, Q = S::block_cols;
  index_t const rows = a.rows(), cols = a.cols();
  To result(a.shape(), a.shared_pattern());
  auto const view = a.pattern().view();
  parallel_ranges(a.batch_count() * rows, [&, out = kernel_pointer(result.values().data()), in = kernel_pointer(a.values().data()),
                                           scale = kernel_pointer(d.data())](index_t first, index_t last) {
    for (index_t n = first; n < last; ++n) {
      index_t const b = n / rows;
      view.for_row(n - b * rows, [&](index_t slot, index_t j) {
        index_t const block = b * a.batch_stride() + slot * P * Q;
        for (index_t p = 0; p < P; ++p)
          for (index_t q = 0; q < Q; ++q)
            out[block + p * Q + q] = op::mul::apply(in[block + p * Q + q], scale[Rows ? n * P + p : (b * cols + j) * Q + q]);
      });
    }
  });
  return result;
}

template <bool Rows, class A, class X>
auto scale(A const& a, X const& x) {
  using S = typename A::shape_type;
  using Wanted = std::conditional_t<Rows, range_extents_t<S>, domain_extents_t<S>>;
  constexpr bool fits = extents_may_agree<Wanted, typename X::extents_type>;
  constexpr bool here = std::same_as<typename A::memory_type, host_memory> && std::same_as<typename X::memory_type, host_memory>;
  static_assert(fits, "sla: scale_rows(A, d), scale_cols(A, d): d has the extents (*batch, M, p) of A's range for rows, (*batch, N, q) of its domain for columns");
  static_assert(here, "sla: scale_rows and scale_cols compute on the host: bring A and d over with to<host_memory>(A)");
  if constexpr (fits && here) {
    auto const wanted = [&] {
      if constexpr (Rows)
        return a.range();
      else
        return a.domain();
    }();
    for (int axis = 0; axis < Wanted::rank; ++axis)
      if (x.extents()[axis] != wanted[axis])
        throw shape_error(text(Rows ? "scale_rows" : "scale_cols", "(A, d): A is ", a.rows(), " x ", a.cols(), ", d is ", to_string(x.extents()),
                               "; it should be ", to_string(wanted)));
    return scaled<Rows>(a, x);
  } else {
    return a;
  }
}
/// An operand as a tensor: itself, or its value.
template <class X>
decltype(auto) as_tensor(X const& x) {
  if constexpr (is_tensor<X>) {
    return (x);
  } else {
    using N = node_t<X const&>;
    return tensor<user_t<typename N::value_type>, typename N::extents_type, typename N::memory_type>(as_node(x));
  }
}

template <class A, class X>
concept ScaledByElements = SparseOperand<A> && Tensorial<X>;
} // namespace detail

template <Format F, Expression X>
auto perform(op::diagonal, conversion_to<F>, X const& v) {
  return diagonal<F>(detail::as_tensor(v));
}

template <SparseOperand A, Tensorial X>
auto perform(op::scale_rows, A const& a, X const& x) {
  return detail::scale<true>(detail::stored(a), detail::as_tensor(x));
}
template <SparseOperand A, Tensorial X>
auto perform(op::scale_cols, A const& a, X const& x) {
  return detail::scale<false>(detail::stored(a), detail::as_tensor(x));
}

/// diag(d) A: row i times d_i, on the pattern of A. d has the extents (*batch, M, p) of A's range.
/// Gradient: scale_rows(g, conj(d)) to A; to d the sums of conj(A) g over rows.
/// Cost: one pass over A. Errors: shape_error, if extents differ.
template <class A, class X>
  requires(detail::ScaledByElements<A, X> || Performs<op::scale_rows, A, X>)
auto scale_rows(A&& a, X&& x) {
  if constexpr (detail::ScaledByElements<A, X>)
    return detail::scale<true>(detail::stored(a), detail::as_tensor(x));
  else
    return perform(op::scale_rows{}, std::forward<A>(a), std::forward<X>(x));
}
/// A diag(d): column j times d_j, on the pattern of A. d has the extents (*batch, N, q) of A's domain.
/// Gradient, Cost, Errors: as of `scale_rows`, by columns.
template <class A, class X>
  requires(detail::ScaledByElements<A, X> || Performs<op::scale_cols, A, X>)
auto scale_cols(A&& a, X&& x) {
  if constexpr (detail::ScaledByElements<A, X>)
    return detail::scale<false>(detail::stored(a), detail::as_tensor(x));
  else
    return perform(op::scale_cols{}, std::forward<A>(a), std::forward<X>(x));
}

/// The product of entries at the same place, sparse: entries that only one of them stores are zero in the product, and not stored.
///     multiply_elements(A, A), multiply_elements(A, with_values(M, abs(values(M)) > 1e-3))
/// Law: one shape (*batch, M, N, *block). Gradient: g times the other one, conjugated, on the pattern of each. Cost: as of `masked`, twice.
/// Errors: shape_error, if extents differ.
template <class A, class B>
  requires(Performs<op::masked, A const&, B const&> && Performs<op::masked, B const&, A const&>)
auto multiply_elements(A const& a, B const& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols())
    throw shape_error(text("multiply_elements(A, B): A is ", a.rows(), " x ", a.cols(), ", B is ", b.rows(), " x ", b.cols(), "; they need equal extents"));
  auto const left = masked(a, b);
  auto const right = masked(b, a);
  if (left.shape().batch_count() != right.shape().batch_count())
    throw shape_error(text("multiply_elements(A, B): A has ", left.shape().batch_count(), " items, B ", right.shape().batch_count(), "; they need equal batches"));
  return with_values(left, values(left) * values(right));
}

} // namespace sla
