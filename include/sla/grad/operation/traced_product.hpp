// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with sparse tensors, to x and to the values of A: y = A x pulls g back to A^H g, and to g[row] conj(x[col]) on the
// pattern, summed over right-hand sides. A may be transposed, conjugated, batched and blocked.
#pragma once

#include <sla/core/held.hpp>
#include <sla/expr/sparse/linear_operator.hpp>
#include <sla/expr/sparse/with_adjoint.hpp>
#include <sla/grad/operation/traced_elementwise.hpp>

namespace sla {

// ---- transposed and conjugated views of a traced sparse tensor

/// X: a traced sparse tensor.
template <class X, bool Transposed, bool Conj>
struct traced_view {
  using plain_type = plain_t<X>;
  X A;
  auto& home() const { return A.home(); }
  index_t rows() const { return Transposed ? A.cols() : A.rows(); }
  index_t cols() const { return Transposed ? A.rows() : A.cols(); }
};
template <class X, bool Transposed, bool Conj>
inline constexpr bool is_tracing<traced_view<X, Transposed, Conj>> = true;

namespace detail {
template <class V, class Home>
traced_view<traced<V, Home>, false, false> as_traced_view(traced<V, Home> const& A) {
  return {A};
}
template <class X, bool Transposed, bool Conj>
traced_view<X, Transposed, Conj> as_traced_view(traced_view<X, Transposed, Conj> const& A) {
  return A;
}
template <class X>
inline constexpr bool is_traced_view = false;
template <class X, bool Transposed, bool Conj>
inline constexpr bool is_traced_view<traced_view<X, Transposed, Conj>> = true;
template <class X>
concept TracedMatrix = TracedSparse<X> || is_traced_view<std::remove_cvref_t<X>>;
template <TracedMatrix X>
inline constexpr bool is_sparse_like<X> = true;

template <class X, bool Transposed, bool Conj>
traced_view<X, !Transposed, Conj> transposed_view(traced_view<X, Transposed, Conj> const& A) {
  return {A.A};
}
template <class X, bool Transposed, bool Conj>
traced_view<X, Transposed, !Conj> conjugated(traced_view<X, Transposed, Conj> const& A) {
  return {A.A};
}
} // namespace detail

template <detail::TracedMatrix A>
auto perform(op::transpose, A const& a) {
  return detail::transposed_view(detail::as_traced_view(a));
}
template <detail::TracedMatrix A>
auto perform(op::conj, A const& a) {
  return detail::conjugated(detail::as_traced_view(a));
}
template <detail::TracedMatrix A>
auto perform(op::adjoint, A const& a) {
  return detail::transposed_view(detail::conjugated(detail::as_traced_view(a)));
}

namespace detail {
// ---- the contribution to the values

/// sign * left[row] conj(right[col]) on a pattern, conjugated if ConjLeft; the sampled product of two dense factors.
/// Cost: one pass over the pattern; nothing of M x N is formed.
template <bool ConjLeft, class L, class R>
struct outer {
  L left;   ///< a view with the rows of the pattern, and right-hand sides
  R right;  ///< a view with its columns
  int sign;

  template <class T, class S, class F, class Memory>
  void add_to(sparse_tensor<T, S, F, Memory>& sum) const {
    static_assert(Memory::is_host, "sla: gradients to the values of a sparse tensor are computed on the host: bring it over with to<host_memory>(A)");
    constexpr index_t P = S::block_rows, Q = S::block_cols;
    index_t const rows = sum.rows(), cols = sum.cols(), block_rows = sum.batch_count() * rows;
    if (block_rows == 0) return;
    index_t const K = left.extents().total() / (block_rows * P);
    auto const pattern = sum.pattern().view();
    auto* const values = kernel_pointer(sum.values().data());
    parallel_ranges(block_rows, [&](index_t first, index_t last) {
      for (index_t n = first; n < last; ++n) {
        index_t const b = n / rows;
        pattern.for_row(n - b * rows, [&](index_t slot, index_t j) {
          auto* const block = values + b * sum.batch_stride() + slot * P * Q;
          for (index_t c = 0; c < P; ++c)
            for (index_t q = 0; q < Q; ++q)
              block[c * Q + q] += scalar_cast<kernel_t<T>>(entry<T>((n * P + c) * K, ((b * cols + j) * Q + q) * K, K));
        });
      }
    });
  }

private:
  template <class T>
  auto entry(index_t l, index_t r, index_t K) const {
    promote_t<typename L::value_type, typename R::value_type> total{};
    for (index_t k = 0; k < K; ++k)
      if constexpr (ConjLeft)
        total += times(conj_of(left.data[l + k]), right.data[r + k]);
      else
        total += times(left.data[l + k], conj_of(right.data[r + k]));
    return onto<T>::apply(op::mul::apply(total, real_t<T>(sign)));
  }
};
/// What y = op(A) x, where op transposes and conjugates as said, hands to the values of A.
template <bool Transposed, bool Conj, class X, class G>
auto to_values(X const& x, G const& g, int sign) {
  if constexpr (Transposed)
    return outer<!Conj, X, G>{x, g, sign};
  else
    return outer<Conj, G, X>{g, x, sign};
}
/// Errors: shape_error, if left and right are no vectors of the rows and columns of A.
template <class A, class L, class R>
void require_outer(A const& a, L const& left, R const& right) {
  index_t const rows = a.range().total(), cols = a.domain().total();
  bool const fits = rows > 0 && cols > 0 ? left.size() % rows == 0 && right.size() % cols == 0 && left.size() / rows == right.size() / cols : left.size() == rows && right.size() == cols;
  if (!fits)
    throw shape_error(text("add_outer(sum, left, right): sum is ", a.rows(), " x ", a.cols(), ", left ", to_string(left.extents()), " and right ", to_string(right.extents()),
                           "; they have the extents of A x and of x"));
}
} // namespace detail

/// sign * left[row] conj(right[col]) on the pattern of A, summed over right-hand sides, as a contribution of a rule to the cotangent of A: left has the extents of A x,
/// right those of x, which it views. Of a matrix on ranks dist/matrix/product_gradient.hpp has an overload, which exchanges halos.
template <class T, class S, class F, class Memory, class L, class R>
auto outer_contribution(sparse_tensor<T, S, F, Memory> const&, L const& left, R const& right, int sign) {
  return detail::to_values<false, false>(view(right), view(left), sign);
}
/// sum(row, col) += left[row] conj(right[col]) on the pattern of a sparse tensor, summed over right-hand sides: what rules contribute
/// to a matrix. Law: left has the extents of A x, right those of x. Placement: host. Cost: one pass over the pattern.
template <class T, class S, class F, Tensorial L, Tensorial R>
void add_outer(sparse_tensor<T, S, F>& sum, L const& left, R const& right) {
  auto const& l = detail::argument(left);
  auto const& r = detail::argument(right);
  detail::require_outer(sum, l, r);
  detail::outer<false, decltype(view(l)), decltype(view(r))>{view(l), view(r), 1}.add_to(sum);
}

namespace detail {
// ---- the matrix as the forward product and the rule see it

template <bool Transposed, bool Conj, class V>
auto oriented(V const& A) {
  auto const v = view(A);
  if constexpr (Conj)
    return sparse_operand<decltype(v.conjugated()), Transposed>{v.conjugated()};
  else
    return sparse_operand<std::remove_const_t<decltype(v)>, Transposed>{v};
}

/// op(A), where op transposes and conjugates as said, of a traced or a kept A.
template <class Operand, bool Transposed, bool Conj>
struct matrix_part {
  static constexpr bool transposed = Transposed, conj = Conj;
  Operand A;
  auto operator()() const { return oriented<Transposed, Conj>(A.value()); }
  auto adjoint() const { return oriented<!Transposed, !Conj>(A.value()); }

  /// How the residual b - op(A) x depends on A.
  auto residual_rule() const {
    return linear_in(
        A, [](auto const& x, auto const& w) { return to_values<Transposed, Conj>(view(x), view(w), -1); },
        [](auto const& x, auto const& d) { return -(oriented<Transposed, Conj>(d) * x); });
  }
};

/// A view of somebody's sparse tensor becomes an owner, pattern included: both may be gone before the sweep.
template <class Home, class T, class S, class Pattern, class Memory, bool Conj>
auto kept_view(Home& t, sparse_view<T, S, Pattern, Memory, Conj> const& v) {
  auto borrowed = borrowed_tensor(v);
  using V = decltype(borrowed);
  using P = typename V::pattern_type;
  return t.keep_as(std::move(borrowed), [&] {
    return detail::shared_of<V const>(v.shape, detail::shared_of<P const>(borrowed.pattern()), borrowed.values());
  });
}

template <bool Transposed, bool Conj, class Operand>
matrix_part<Operand, Transposed, Conj> make_matrix_part(Operand A) {
  return {std::move(A)};
}
template <class Home, class X, bool Transposed, bool Conj>
auto matrix_operand(Home&, traced_view<X, Transposed, Conj> const& A) {
  return make_matrix_part<Transposed, Conj>(operand_of(A.A));
}
template <class Home, Traced A>
auto matrix_operand(Home&, A const& a) {
  return make_matrix_part<false, false>(operand_of(a));
}
template <class Home, class T, class S, class F, class Memory>
auto matrix_operand(Home& t, sparse_tensor<T, S, F, Memory> const& A) {
  return make_matrix_part<false, false>(kept_operand<sparse_tensor<T, S, F, Memory>>{t.keep(A)});
}
template <class Home, class T, class S, class P, class Memory, bool Conj, bool Transposed>
auto matrix_operand(Home& t, sparse_operand<sparse_view<T, S, P, Memory, Conj>, Transposed> const& A) {
  auto kept = kept_view(t, A.A);
  using V = std::remove_const_t<typename decltype(kept)::element_type>;
  return make_matrix_part<Transposed, Conj>(kept_operand<V>{std::move(kept)});
}
template <class Home, class Owner, bool Conj, bool Transposed>
auto matrix_operand(Home& t, sparse_operand<held_sparse<Owner, Conj>, Transposed> const& A) {
  return make_matrix_part<Transposed, Conj>(kept_operand<Owner>{t.keep(A.A.owner)});
}

/// A d of a tangent d. It has a name, so that the pattern of a Jacobian is read from that of A (solve/nonlinear/dependence_mode.hpp).
template <class A>
struct times_matrix {
  A matrix;
  template <class Y, class D>
  auto operator()(Y const&, D const& d) const {
    return matrix() * d;
  }
};
/// y = A x: A^H g to x, and A d from it; g[row] conj(x[col]) to A, and D x from it.
template <class Home, class A, class X>
auto trace_product(Home& t, A matrix, X&& x) {
  auto const operand = trace_operand<decltype(matrix.A)::traced>(t, std::forward<X>(x));
  auto const kept = operand.kept();
  auto to_A = linear_in(
      matrix.A, [kept](auto const&, auto const& g) { return to_values<A::transposed, A::conj>(kept.node(), view(g), 1); },
      [kept](auto const&, auto const& d) { return oriented<A::transposed, A::conj>(d) * kept.node(); });
  auto to_x = linear_in(
      operand, [matrix](auto const&, auto const& g) { return matrix.adjoint() * g; }, times_matrix<A>{matrix});
  return record(t, written(matrix() * operand.node()), std::move(to_A), std::move(to_x));
}

template <class X>
concept VectorOrTraced = (Traced<X> && is_tensor<plain_t<X>>) || Tensorial<X>;
template <class A, class X>
concept TracedProduct = (TracedMatrix<A> && VectorOrTraced<X>) || (SparseOperand<A> && Traced<X> && VectorOrTraced<X>);
template <class S, class N>
concept TracedScaling = (TracedSparse<S> && (NumberOrTraced<N>)) || (SparseOwner<S> && Traced<N> && Number<plain_t<N>>);
} // namespace detail

template <class A, class X>
  requires detail::TracedProduct<A, X>
auto perform(op::mul, A&& a, X&& x) {
  auto& t = home_of(a, x);
  return detail::trace_product(t, detail::matrix_operand(t, a), std::forward<X>(x));
}
template <class A, class X>
  requires detail::TracedProduct<A, X>
auto perform(op::matvec, A&& a, X&& x) {
  return perform(op::mul{}, std::forward<A>(a), std::forward<X>(x));
}

template <class A, class X>
  requires detail::TracedProduct<A, X>
auto perform(op::transposed_matvec, A&& a, X&& x) {
  return perform(op::mul{}, transpose(a), std::forward<X>(x));
}

namespace detail {
template <class A>
inline constexpr bool is_constant_operator = false;
template <class T, class Memory>
inline constexpr bool is_constant_operator<linear_operator<T, Memory>> = true;
template <class A, class AH>
inline constexpr bool is_constant_operator<matrix_with_adjoint<A, AH>> = true;
} // namespace detail
/// y = A x of an operator of yours, or of `with_adjoint(A)`: A^H g to x, and A d from it. Errors: value_error in the sweep, if A has no adjoint.
template <class A, Traced X>
  requires(detail::is_constant_operator<A> && is_tensor<plain_t<X>>)
auto perform(op::mul, A const& a, X const& x) {
  return record(x.home(), detail::written(a * x.value()),
                        linear_in(x, [a](auto const&, auto const& g) { return a.adjoint() * g; }, [a](auto const&, auto const& d) { return a * d; }));
}

/// The cotangents of A and x where y = A x: (g[row] conj(x[col]) on the pattern of A, A^H g).
template <SparseOwner A, Tensorial X, Tensorial G>
auto vjp(op::matvec, A const& a, X const& x, G const& g) {
  auto const& right = detail::argument(x);
  auto const& left = detail::argument(g);
  return std::tuple{detail::collected(a, detail::to_values<false, false>(view(right), view(left), 1)),
                    detail::collected(right, adjoint(a) * left)};
}
/// The same where y = A^T x: (conj(x[row]) g[col], conj(A) g).
template <SparseOwner A, Tensorial X, Tensorial G>
auto vjp(op::transposed_matvec, A const& a, X const& x, G const& g) {
  auto const& left = detail::argument(x);
  auto const& right = detail::argument(g);
  return std::tuple{detail::collected(a, detail::to_values<true, false>(view(left), view(right), 1)),
                    detail::collected(left, conj(a) * right)};
}

// ---- the values of a sparse tensor

template <TracedSparse A>
auto perform(op::values, A const& a) {
  return record(a.home(), detail::written(values(a.value())),
                        linear_in(a, unchanged, [](auto const&, auto const& d) { return values(d); }));
}
/// A gives its pattern only, so nothing of the derivative flows to or from its values.
template <class A, class X>
  requires((TracedSparse<A> || SparseOwner<A>) && Traced<X> && is_tensor<plain_t<X>>)
auto perform(op::with_values, A const& a, X const& x) {
  auto const& pattern = [&]() -> auto const& {
    if constexpr (Traced<A>)
      return a.value();
    else
      return a;
  }();
  return record(x.home(), with_values(pattern, x.value()),
                        linear_in(x, [](auto const&, auto const& g) { return values(g); }, unchanged));
}

template <class A, class N>
  requires detail::TracedScaling<A, N>
auto perform(op::mul, A const& a, N const& s) {
  return with_values(a, values(a) * s);
}
template <class N, class A>
  requires detail::TracedScaling<A, N>
auto perform(op::mul, N const& s, A const& a) {
  return with_values(a, s * values(a));
}
template <class A, class N>
  requires detail::TracedScaling<A, N>
auto perform(op::div, A const& a, N const& s) {
  return with_values(a, values(a) / s);
}
template <TracedSparse A>
auto perform(op::neg, A const& a) {
  return with_values(a, -values(a));
}

} // namespace sla
