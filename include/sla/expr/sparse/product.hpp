// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of sparse tensors: A : (*batch, M, N, p, q) times x : (*batch, N, q) gives (*batch, M, p); a trailing axis of x
// is right-hand sides. `transpose(A)`, `adjoint(A)` and `conj(A)` are views (expr/sparse/sparse_operand.hpp); they copy nothing.
#pragma once

#include <sla/expr/sparse/kernels.hpp>
#include <sla/expr/sparse/sparse_operand.hpp>
#include <sla/expr/sparse/scatter.hpp>

namespace sla {

namespace detail {
/// The extents of A * x: those of the range, and the right-hand side axis of x.
template <class RangeE, class XE, bool HasRhs>
struct product_extents {
  using type = RangeE;
};
template <class RangeE, index_t... E>
struct product_extents<RangeE, Extents<E...>, true> {
  using type = join_t<RangeE, Extents<Extents<E...>::static_extent(int(sizeof...(E)) - 1)>>;
};
template <class S, class XE>
inline constexpr bool has_rhs_axis = XE::rank == domain_extents_t<S>::rank + 1;
} // namespace detail

/// y = A x as a node; element i is the product of row i.
template <class View, class X>
struct product {
  using expression_tag = void;
  using shape_type = typename View::shape_type;
  using value_type = promote_t<typename View::value_type, typename X::value_type>;
  using memory_type = typename X::memory_type;
  static constexpr bool has_rhs = detail::has_rhs_axis<shape_type, typename X::extents_type>;
  using extents_type = typename detail::product_extents<range_extents_t<shape_type>, typename X::extents_type, has_rhs>::type;
  static constexpr reach depth = X::depth == reach::pointwise ? reach::gather : reach::whole;
  static constexpr index_t P = shape_type::block_rows, Q = shape_type::block_cols;

  View A;
  X x;
  extents_type result;

  SLA_HD extents_type const& extents() const { return result; }
  SLA_HD index_t rhs() const {
    if constexpr (has_rhs)
      return result[extents_type::rank - 1];
    else
      return 1;
  }
  frame layout() const { return {A.shape.batch_count(), A.shape.rows(), P * rhs(), rhs()}; }
  index_t work_before(index_t row) const { return A.pattern.entries_before(row); }
  index_t rows_together() const {
    if constexpr (requires { decltype(A.pattern)::rows_together; })
      return decltype(A.pattern)::rows_together;
    else
      return 1;
  }

  static constexpr bool needs_vector = false;
  template <class Y>
  auto with_operand(Y const& y) const {
    return product<View, Y>{A, y, result};
  }
  template <class F>
  auto rebuild(F const& f) const {
    return product<decltype(A.rebuild(f)), decltype(f(x))>{A.rebuild(f), f(x), result};
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(A.stored());
    x.accesses(f, true);
  }

  SLA_HD value_type at(element e) const {
    index_t const K = rhs(), row = has_rhs ? e.at / K : e.at, k = e.at - row * K;
    index_t const block_row = row / P, c = row - block_row * P;
    index_t const b = shape_type::is_batched ? block_row / A.shape.rows() : 0, i = block_row - b * A.shape.rows();
    value_type total{};
    A.pattern.for_row(i, [&](index_t slot, index_t j) {
      for (index_t q = 0; q < Q; ++q) {
        index_t const from = (b * A.shape.cols() + j) * Q + q;
        total += op::mul::apply(A.entry(b, slot, c, q), x.at(element{from * K + k, from, e.item}));
      }
    });
    return total;
  }

  /// Is a span one of whole rows of one batch item, as `store` wants it? In a pass with the layout of another product it need not be.
  template <class Span>
    requires(P > 1 || has_rhs || shape_type::is_batched)
  bool stores(Span s) const {
    index_t const inner = P * rhs(), rows = A.shape.rows();
    return (s.rhs == rhs() || s.rhs == 1) && s.first % inner == 0 && s.count % inner == 0 && s.first / inner / rows == (s.first + s.count - 1) / inner / rows;
  }
  /// Writes the rows of a span, which lies inside of one batch item, from `out` on.
  template <class Span, class T>
  SLA_HD void store(Span s, T* out) const {
    index_t const inner = P * rhs(), row = s.first / inner, count = s.count / inner;
    index_t const b = shape_type::is_batched ? row / A.shape.rows() : 0, i = row - b * A.shape.rows();
    if constexpr (P == 1 && Q == 1 && !has_rhs)
      detail::entry_rows(*this, b, i, count, s.item, out);
    else
      detail::walk_rows(*this, b, i, count, s.item, out);
  }
};

/// y = transpose(A) x without a stored transpose: rows are scattered (expr/sparse/scatter.hpp), so it needs the whole of x. In the order of
/// its space, on all threads of the host.
template <class View, class X>
struct transposed_product {
  using expression_tag = void;
  using shape_type = transposed_shape_t<typename View::shape_type>;
  using value_type = promote_t<typename View::value_type, typename X::value_type>;
  using memory_type = typename X::memory_type;
  static constexpr bool has_rhs = detail::has_rhs_axis<shape_type, typename X::extents_type>;
  using extents_type = typename detail::product_extents<range_extents_t<shape_type>, typename X::extents_type, has_rhs>::type;
  static constexpr reach depth = reach::whole;
  static constexpr index_t P = View::shape_type::block_rows, Q = View::shape_type::block_cols;

  View A;
  X x;
  extents_type result;

  SLA_HD extents_type const& extents() const { return result; }
  SLA_HD index_t rhs() const {
    if constexpr (has_rhs)
      return result[extents_type::rank - 1];
    else
      return 1;
  }
  /// Its rows are added up in one task, which does not know whose numbers they want: the space does.
  static constexpr bool needs_vector = detail::reads_items<X>;
  template <class Y>
  auto with_operand(Y const& y) const {
    return transposed_product<View, Y>{A, y, result};
  }
  template <class F>
  auto rebuild(F const& f) const {
    return transposed_product<decltype(A.rebuild(f)), decltype(f(x))>{A.rebuild(f), f(x), result};
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(A.stored());
    x.accesses(f, true);
  }

  template <class Space, class T>
  void apply(Space& space, T* out) const {
    space.run([y = *this, out] { y.scatter(out); });
  }
  /// Adds up in numbers of `out`; in its own where those have fewer digits, and rounds once, as rows do.
  template <class T, class Run = detail::scatter_entries>
  void scatter(T* out, Run const& run = {}) const {
    if constexpr (sizeof(real_t<T>) < sizeof(real_t<value_type>)) {
      buffer<value_type> sums(result.total(), uninitialized);
      detail::scatter_rows(*this, sums.data(), run);
      parallel_ranges(result.total(), [&](index_t first, index_t last) {
        for (index_t e = first; e < last; ++e) out[e] = scalar_cast<T>(sums[e]);
      });
    } else {
      detail::scatter_rows(*this, out, run);
    }
  }
};

// ---- laws and operators -----------------------------------------------------------------------------------------------------

/// The law of products: x has the extents of the domain of A, or those and one axis of right-hand sides.
template <class S, class XE>
inline constexpr bool product_law = detail::extents_may_agree<domain_extents_t<S>, XE> ||
                      (detail::has_rhs_axis<S, XE> &&
                       detail::extents_may_agree<
                           typename detail::product_extents<domain_extents_t<S>, XE, detail::has_rhs_axis<S, XE>>::type, XE>);

namespace detail {
template <class S, class XE>
void require_product_extents(S const& shape, XE const& x) {
  constexpr int batch_rank = S::batch_extents::rank;
  auto refuse = [&](int axis, index_t wanted) {
    throw shape_error(text("A * x: A is ", shape.rows(), " x ", shape.cols(), ", x is ", to_string(x), "; axis ", axis,
                           " of x should be ", wanted));
  };
  for (int a = 0; a < batch_rank; ++a)
    if (x[a] != shape.batch()[a]) refuse(a, shape.batch()[a]);
  if (x[batch_rank] != shape.cols()) refuse(batch_rank, shape.cols());
}

template <class E, class S, class XE>
E make_product_extents(S const& shape, XE const& x) {
  return [&]<std::size_t... Axis>(std::index_sequence<Axis...>) {
    constexpr int batch_rank = S::batch_extents::rank;
    auto size = [&](int a) {
      return a < batch_rank ? shape.batch()[a] : a == batch_rank ? shape.rows() : S::is_blocked && a == batch_rank + 1 ? S::block_rows : x[XE::rank - 1];
    };
    return E(size(int(Axis))...);
  }(std::make_index_sequence<std::size_t(E::rank)>{});
}

/// The node of A * x, its laws checked.
template <SparseOperand A, Tensorial X>
auto product_of(A&& a, X&& x) {
  using O = operand_t<A>;
  using S = typename O::shape_type;
  using Operand = node_t<X>;
  constexpr bool fits = product_law<S, typename Operand::extents_type>;
  constexpr bool together = same_memory_law<typename O::memory_type, typename Operand::memory_type>;
  static_assert(fits, "sla: A * x: x must have the extents (*batch, N, q) of A's domain, plus at most one axis of right-hand sides");
  static_assert(together, "sla: A * x: A and x live in different memories: bring one over with to<device_memory>(x) or to<host_memory>(x)");
  if constexpr (fits && together) {
    auto o = as_sparse(std::forward<A>(a));
    auto node = as_node(std::forward<X>(x));
    auto const shape = o.shape();
    require_product_extents(shape, node.extents());
    auto const made = [&]<template <class, class> class Product, class View>(View&& v) {
      using Node = Product<std::remove_cvref_t<View>, Operand>;
      auto const extents = make_product_extents<typename Node::extents_type>(shape, node.extents());
      return Node{std::forward<View>(v), std::move(node), extents};
    };
    if constexpr (O::is_transposed && requires { std::move(o.A).transposed(); })
      return made.template operator()<product>(std::move(o.A).transposed());
    else if constexpr (O::is_transposed)
      return made.template operator()<transposed_product>(std::move(o.A));
    else
      return made.template operator()<product>(std::move(o.A));
  } else {
    return as_node(std::forward<X>(x));
  }
}
} // namespace detail

/// The product; see the head of this file for shapes.
/// Law: the extents of x are those of A's domain, plus at most one axis of right-hand sides. Cost: A is read once for all
/// right-hand sides. Errors: shape_error where only run time can tell.
template <SparseOperand A, Tensorial X>
auto operator*(A&& a, X&& x) { return detail::product_of(std::forward<A>(a), std::forward<X>(x)); }
template <ViewedSparse A, Viewed X>
auto operator*(A& a SLA_LIFETIMEBOUND, X& x SLA_LIFETIMEBOUND) { return detail::product_of(a, x); }
template <ViewedSparse A, ByValue X>
  requires Tensorial<X>
auto operator*(A& a SLA_LIFETIMEBOUND, X x SLA_LIFETIMEBOUND) { return detail::product_of(a, std::move(x)); }
template <SparseOperand A, Viewed X>
  requires(!is_sparse_tensor<A>)
auto operator*(A a SLA_LIFETIMEBOUND, X& x SLA_LIFETIMEBOUND) { return detail::product_of(std::move(a), x); }
/// Refused by one sentence.
template <SparseOperand A, detail::ForeignNumbers X>
vector<double> operator*(A&&, X const&) {
  static_assert(always_false<X>, "sla: A * x: x is an array of numbers, not a tensor: borrow(x.data(), n) is one of the same numbers, not copied");
  return {};
}

namespace detail {
template <SparseOperand A>
auto transposed_operand(A&& a) {
  auto o = as_sparse(std::forward<A>(a));
  return sparse_operand<typename decltype(o)::view_type, !decltype(o)::is_transposed>{std::move(o.A)};
}
template <SparseOperand A>
auto conjugated_operand(A&& a) {
  auto o = as_sparse(std::forward<A>(a));
  using O = decltype(o);
  return sparse_operand<typename O::view_type::conjugate_type, O::is_transposed>{std::move(o.A).conjugated()};
}
} // namespace detail

/// A with the sparse axes exchanged, and the block axes too. No copy; `transposed(A)` makes one.
template <SparseOperand A>
auto transpose(A&& a) { return detail::transposed_operand(std::forward<A>(a)); }
template <ViewedSparse A>
auto transpose(A& a SLA_LIFETIMEBOUND) { return detail::transposed_operand(a); }
template <class A>
  requires(!SparseOperand<A> && Performs<op::transpose, A>)
auto transpose(A&& a) { return perform(op::transpose{}, std::forward<A>(a)); }
/// The conjugate transpose. The conjugate is `conj(A)`, as of tensors.
template <SparseOperand A>
auto adjoint(A&& a) { return detail::transposed_operand(detail::conjugated_operand(std::forward<A>(a))); }
template <ViewedSparse A>
auto adjoint(A& a SLA_LIFETIMEBOUND) { return detail::transposed_operand(detail::conjugated_operand(a)); }
template <class A>
  requires(!SparseOperand<A> && Performs<op::adjoint, A>)
auto adjoint(A&& a) { return perform(op::adjoint{}, std::forward<A>(a)); }
template <ViewedSparse A>
auto conj(A& a SLA_LIFETIMEBOUND) { return detail::conjugated_operand(a); }

/// For text that has the operation as a parameter, and `conj` of what has no name.
template <SparseOperand A>
auto perform(op::transpose, A&& a) { return detail::transposed_operand(std::forward<A>(a)); }
template <SparseOperand A>
auto perform(op::conj, A&& a) { return detail::conjugated_operand(std::forward<A>(a)); }
template <SparseOperand A>
auto perform(op::adjoint, A&& a) { return detail::transposed_operand(detail::conjugated_operand(std::forward<A>(a))); }

} // namespace sla
