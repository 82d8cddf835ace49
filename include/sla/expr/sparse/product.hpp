// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of sparse tensors: A : (*batch, M, N, p, q) times x : (*batch, N, q) gives (*batch, M, p); a trailing axis of x
// is right-hand sides. `transpose(A)`, `adjoint(A)` and `conj(A)` are views; they copy nothing.
#pragma once

#include <sla/expr/dense/ops.hpp>
#include <sla/expr/sparse/kernels.hpp>
#include <sla/tensor/storage/sparse.hpp>

namespace sla {

/// A sparse tensor as kernels see it: `Pattern` walks rows; Conj conjugates the values as they are read.
template <class T, class S, class Pattern, class Memory, bool Conj = false>
struct sparse_view {
  using value_type = T;
  using shape_type = S;
  using pattern_type = Pattern;
  using memory_type = Memory;
  using conjugate_type = sparse_view<T, S, Pattern, Memory, !Conj>;

  Pattern pattern;
  T const* values;
  index_t batch_stride;
  S shape;
  index_t bytes;  ///< of pattern and values, for counting

  SLA_HD T read(T value) const { return Conj ? conj_of(value) : value; }
  /// Entry (c, q) of a stored block of batch item b.
  SLA_HD T entry(index_t b, index_t slot, index_t c, index_t q) const {
    return read(values[b * batch_stride + (slot * S::block_rows + c) * S::block_cols + q]);
  }
  conjugate_type conjugated() const { return {pattern, values, batch_stride, shape, bytes}; }
  /// What a product reads: an element walks slots of any place.
  memory_access stored() const {
    index_t const of_values = shape.batch_count() * batch_stride * index_t(sizeof(T));
    return {values, of_values, true, false, bytes - of_values};
  }
  /// A map over trees may replace the entries: expr/sparse/residual.hpp.
  template <class F>
  auto rebuild(F const& f) const {
    if constexpr (requires { f.entries(*this); })
      return f.entries(*this);
    else
      return *this;
  }
};

template <class T, class S, class F, class Memory>
auto view(sparse_tensor<T, S, F, Memory> const& A) {
  using Pattern = decltype(A.pattern().view());
  return sparse_view<kernel_t<T>, S, Pattern, Memory>{A.pattern().view(), kernel_pointer(A.values().data()),
                                                      A.batch_stride(), A.shape(), index_t(A.bytes())};
}

/// A sparse tensor that was moved into an expression; lowering views it.
template <class Owner, bool Conj = false>
struct held_sparse {
  using value_type = kernel_t<typename Owner::value_type>;
  using shape_type = typename Owner::shape_type;
  using memory_type = typename Owner::memory_type;
  using conjugate_type = held_sparse<Owner, !Conj>;

  Owner owner;
  shape_type shape = owner.shape();

  conjugate_type conjugated() && { return {std::move(owner)}; }
  template <class F>
  auto rebuild(F const&) const {
    if constexpr (Conj)
      return view(owner).conjugated();
    else
      return view(owner);
  }
};

/// What may stand left of `*` as a sparse operator, transposed by its type.
template <class View, bool Transposed>
struct sparse_operand {
  using view_type = View;
  using value_type = typename View::value_type;
  using memory_type = typename View::memory_type;
  using shape_type = std::conditional_t<Transposed, transposed_shape_t<typename View::shape_type>, typename View::shape_type>;
  static constexpr bool is_transposed = Transposed;

  View A;

  index_t rows() const { return Transposed ? A.shape.cols() : A.shape.rows(); }
  index_t cols() const { return Transposed ? A.shape.rows() : A.shape.cols(); }
  shape_type shape() const { return {A.shape.batch(), rows(), cols()}; }

  /// Its value, as of dense expressions: `sparse_tensor<double> B = transpose(A);`
  template <class To>
    requires is_sparse_tensor<To>
  operator To() const {  // NOLINT: converts by intent
    constexpr bool same = std::same_as<To, decltype(perform(op::eval{}, *this))>;
    static_assert(same, "sla: B = transpose(A), adjoint(A) or conj(A): B has another scalar, shape or format than the view of A: take "
                        "auto B = eval(transpose(A)), and then cast<T>(B) or to<Format>(B)");
    if constexpr (same)
      return perform(op::eval{}, *this);
    else
      return {};
  }
};

/// A sparse tensor, or a view of one, as the operand of a product.
template <class T, class S, class F, class Memory>
auto as_sparse(sparse_tensor<T, S, F, Memory> const& A) {
  return sparse_operand<decltype(view(A)), false>{view(A)};
}
template <class T, class S, class F, class Memory>
auto as_sparse(sparse_tensor<T, S, F, Memory>& A) { return sparse_operand<decltype(view(A)), false>{view(A)}; }
template <class T, class S, class F, class Memory>
auto as_sparse(sparse_tensor<T, S, F, Memory>&& A) {
  using Held = held_sparse<sparse_tensor<T, S, F, Memory>>;
  return sparse_operand<Held, false>{Held{std::move(A)}};
}
template <class T, class S, class F, class Memory>
auto as_sparse(sparse_tensor<T, S, F, Memory> const&& A) { return as_sparse(sparse_tensor<T, S, F, Memory>(A)); }
template <class View, bool Transposed>
auto as_sparse(sparse_operand<View, Transposed> A) {
  return A;
}

/// A sparse tensor, or a view of one by `transpose`, `adjoint` or `conj`.
template <class A>
concept SparseOperand = requires(A&& a) { as_sparse(std::forward<A>(a)); };
/// A sparse tensor that has a name, which an expression views: as Viewed of dense ones.
template <class A>
concept ViewedSparse = is_sparse_tensor<std::remove_const_t<A>>;
/// The operand that A is in a product.
template <class A>
using operand_t = decltype(as_sparse(std::declval<A>()));

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
    return s.rhs == rhs() && s.first % inner == 0 && s.count % inner == 0 && s.first / inner / rows == (s.first + s.count - 1) / inner / rows;
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

/// y = transpose(A) x without a stored transpose: rows are scattered, one after the other, so it needs the whole of x.
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
  static constexpr bool needs_vector = false;
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
  template <class T>
  void scatter(T* out) const {
    index_t const K = rhs(), rows = A.shape.rows(), cols = A.shape.cols();
    for (index_t n = 0; n < result.total(); ++n) out[n] = T{};
    for (index_t b = 0; b < A.shape.batch_count(); ++b)
      for (index_t i = 0; i < rows; ++i)
        A.pattern.for_row(i, [&](index_t slot, index_t j) {
          for (index_t c = 0; c < P; ++c)
            for (index_t q = 0; q < Q; ++q) {
              auto const a = A.entry(b, slot, c, q);
              index_t const from = (b * rows + i) * P + c, to = (b * cols + j) * Q + q;
              for (index_t k = 0; k < K; ++k)
                out[to * K + k] = scalar_cast<T>(
                    out[to * K + k] + op::mul::apply(a, x.at(element{from * K + k, from, (K > 1 ? b * K + k : b)})));
            }
        });
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
} // namespace detail

namespace detail {
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
    using Product = std::conditional_t<O::is_transposed, transposed_product<typename O::view_type, Operand>,
                                       product<typename O::view_type, Operand>>;
    auto const extents = make_product_extents<typename Product::extents_type>(shape, node.extents());
    return Product{std::move(o.A), std::move(node), extents};
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

template <SparseOperand A>
auto perform(op::transpose, A&& a) {
  auto o = as_sparse(std::forward<A>(a));
  return sparse_operand<typename decltype(o)::view_type, !decltype(o)::is_transposed>{std::move(o.A)};
}
template <SparseOperand A>
auto perform(op::conj, A&& a) {
  auto o = as_sparse(std::forward<A>(a));
  using O = decltype(o);
  return sparse_operand<typename O::view_type::conjugate_type, O::is_transposed>{std::move(o.A).conjugated()};
}
template <SparseOperand A>
auto perform(op::adjoint, A&& a) {
  return perform(op::transpose{}, perform(op::conj{}, std::forward<A>(a)));
}

/// A with the sparse axes exchanged, and the block axes too. No copy; `transposed(A)` makes one.
template <class A>
  requires Performs<op::transpose, A>
auto transpose(A&& a) {
  return perform(op::transpose{}, std::forward<A>(a));
}
template <ViewedSparse A>
auto transpose(A& a SLA_LIFETIMEBOUND) { return perform(op::transpose{}, a); }
/// The conjugate transpose. The conjugate is `conj(A)`, as of tensors.
template <class A>
  requires Performs<op::adjoint, A>
auto adjoint(A&& a) {
  return perform(op::adjoint{}, std::forward<A>(a));
}
template <ViewedSparse A>
auto conj(A& a SLA_LIFETIMEBOUND) { return perform(op::conj{}, a); }
template <ViewedSparse A>
auto adjoint(A& a SLA_LIFETIMEBOUND) { return perform(op::adjoint{}, a); }

} // namespace sla
