// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with sparse tensors, to x and to the values of A: y = A x pulls g back to A^H g, and to g[row] conj(x[col]) on the
// pattern, summed over right-hand sides. A may be transposed, conjugated, batched and blocked.
#pragma once

#include <sla/grad/elementwise.hpp>

namespace sla {

// ---- transposed and conjugated views of a traced sparse tensor

template <class V, bool Transposed, bool Conj>
struct traced_view {
  using plain_type = V;
  traced<V> A;
  tape& home() const { return A.home(); }
  index_t rows() const { return Transposed ? A.cols() : A.rows(); }
  index_t cols() const { return Transposed ? A.rows() : A.cols(); }
};
template <class V, bool Transposed, bool Conj>
inline constexpr bool is_tracing<traced_view<V, Transposed, Conj>> = true;

namespace detail {
template <class V>
traced_view<V, false, false> as_traced_view(traced<V> const& A) {
  return {A};
}
template <class V, bool Transposed, bool Conj>
traced_view<V, Transposed, Conj> as_traced_view(traced_view<V, Transposed, Conj> const& A) {
  return A;
}
template <class X>
inline constexpr bool is_traced_view = false;
template <class V, bool Transposed, bool Conj>
inline constexpr bool is_traced_view<traced_view<V, Transposed, Conj>> = true;
template <class X>
concept TracedMatrix = TracedSparse<X> || is_traced_view<std::remove_cvref_t<X>>;

template <class V, bool Transposed, bool Conj>
traced_view<V, !Transposed, Conj> turned(traced_view<V, Transposed, Conj> const& A) {
  return {A.A};
}
template <class V, bool Transposed, bool Conj>
traced_view<V, Transposed, !Conj> conjugated(traced_view<V, Transposed, Conj> const& A) {
  return {A.A};
}
}  // namespace detail

template <detail::TracedMatrix A>
auto perform(op::transpose, A const& a) {
  return detail::turned(detail::as_traced_view(a));
}
template <detail::TracedMatrix A>
auto perform(op::conj, A const& a) {
  return detail::conjugated(detail::as_traced_view(a));
}
template <detail::TracedMatrix A>
auto perform(op::adjoint, A const& a) {
  return detail::turned(detail::conjugated(detail::as_traced_view(a)));
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

// ---- the matrix as the forward product and the pullback see it

template <bool Transposed, bool Conj, class V>
auto oriented(V const& A) {
  auto const v = view(A);
  if constexpr (Conj)
    return sparse_operand<decltype(v.conjugated()), Transposed>{v.conjugated()};
  else
    return sparse_operand<std::remove_const_t<decltype(v)>, Transposed>{v};
}

template <class V, bool Transposed, bool Conj>
struct traced_matrix {
  static constexpr bool traced = true, transposed = Transposed, conj = Conj;
  variable<V>* v;
  V const& value() const { return v->value(); }
  /// What y = op(A) x hands to A where y has the cotangent sign * g.
  template <class X, class G>
  void pull(X const& x, G const& g, int sign = 1) const {
    v->add(to_values<Transposed, Conj>(view(x), view(g), sign));
  }
};
template <class V, bool Transposed, bool Conj>
struct kept_matrix {
  static constexpr bool traced = false, transposed = Transposed, conj = Conj;
  std::shared_ptr<V const> v;
  V const& value() const { return *v; }
};

/// A view of somebody's sparse tensor becomes an owner, pattern included: both may be gone before the sweep.
template <class T, class S, class Pattern, class Memory, bool Conj>
auto kept_view(tape& t, sparse_view<T, S, Pattern, Memory, Conj> const& v) {
  auto const borrowed = borrowed_tensor(v);
  using V = std::remove_const_t<decltype(borrowed)>;
  using P = typename V::pattern_type;
  return t.keep_as(borrowed, [&] {
    return std::make_shared<V const>(v.shape, std::make_shared<P const>(borrowed.pattern()), borrowed.values());
  });
}

template <class V, bool Transposed, bool Conj>
traced_matrix<V, Transposed, Conj> matrix_operand(tape&, traced_view<V, Transposed, Conj> const& A) {
  return {&A.A.variable()};
}
template <class V>
traced_matrix<V, false, false> matrix_operand(tape&, traced<V> const& A) {
  return {&A.variable()};
}
template <class T, class S, class F, class Memory>
auto matrix_operand(tape& t, sparse_tensor<T, S, F, Memory> const& A) {
  return kept_matrix<sparse_tensor<T, S, F, Memory>, false, false>{t.keep(A)};
}
template <class T, class S, class P, class Memory, bool Conj, bool Transposed>
auto matrix_operand(tape& t, sparse_operand<sparse_view<T, S, P, Memory, Conj>, Transposed> const& A) {
  auto kept = kept_view(t, A.A);
  return kept_matrix<std::remove_const_t<typename decltype(kept)::element_type>, Transposed, Conj>{std::move(kept)};
}
template <class Owner, bool Conj, bool Transposed>
auto matrix_operand(tape& t, sparse_operand<held_sparse<Owner, Conj>, Transposed> const& A) {
  return kept_matrix<Owner, Transposed, Conj>{t.keep(A.A.owner)};
}

template <class A, class X>
auto trace_product(tape& t, A matrix, X&& x) {
  auto const operand = trace_operand<A::traced>(t, std::forward<X>(x));
  auto y = written(oriented<A::transposed, A::conj>(matrix.value()) * operand.node());
  return record(t, std::move(y), [matrix, operand = operand.kept()](auto const&, auto const& g) {
    if constexpr (A::traced) matrix.v->add(to_values<A::transposed, A::conj>(operand.node(), view(g), 1));
    if constexpr (is_traced_operand<std::remove_cvref_t<decltype(operand)>>)
      operand.add(oriented<!A::transposed, !A::conj>(matrix.value()) * g);
  });
}

template <class X>
concept VectorOrTraced = (Traced<X> && is_tensor<plain_t<X>>) || Tensorial<X>;
template <class A, class X>
concept TracedProduct = (TracedMatrix<A> && VectorOrTraced<X>) || (SparseOperand<A> && Traced<X> && VectorOrTraced<X>);
template <class S, class N>
concept TracedScaling = (TracedSparse<S> && (NumberOrTraced<N>)) || (SparseOwner<S> && Traced<N> && Number<plain_t<N>>);
}  // namespace detail

template <class A, class X>
  requires detail::TracedProduct<A, X>
auto perform(op::mul, A&& a, X&& x) {
  tape& t = detail::tape_of(a, x);
  return detail::trace_product(t, detail::matrix_operand(t, a), std::forward<X>(x));
}
template <class A, class X>
  requires detail::TracedProduct<A, X>
auto perform(op::matvec, A&& a, X&& x) {
  return perform(op::mul{}, std::forward<A>(a), std::forward<X>(x));
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
  auto* const v = &a.variable();
  return detail::record(a.home(), detail::written(values(a.value())), [v](auto const&, auto const& g) { v->add(g); });
}
/// A gives its pattern only, so nothing of the gradient flows to its values.
template <class A, class X>
  requires((TracedSparse<A> || SparseOwner<A>) && Traced<X> && is_tensor<plain_t<X>>)
auto perform(op::with_values, A const& a, X const& x) {
  auto const& pattern = [&]() -> auto const& {
    if constexpr (Traced<A>)
      return a.value();
    else
      return a;
  }();
  auto* const v = &x.variable();
  return detail::record(x.home(), with_values(pattern, x.value()), [v](auto const&, auto const& g) { v->add(values(g)); });
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

}  // namespace sla
