// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Algebra of traced sparse tensors, with traced sparse results: A + B, A - B, A * B, kron(A, B), scaling by rows and columns,
// and stored transposes. Each cotangent lives on the pattern of its operand. Products with vectors are in grad/operation/traced_product.hpp.
#pragma once

#include <sla/core/held.hpp>
#include <sla/grad/operation/traced_product.hpp>
#include <sla/tensor/algebra/kron.hpp>
#include <sla/tensor/algebra/sampled.hpp>

namespace sla {

namespace detail {
template <class X>
concept SparseOrTraced = TracedMatrix<X> || SparseOperand<X>;
template <class A, class B>
concept TracedSparsePair = SparseOrTraced<A> && SparseOrTraced<B> && (TracedMatrix<A> || TracedMatrix<B>);
template <class A, class X>
concept TracedRowScaling = SparseOrTraced<A> && VectorOrTraced<X> && (TracedMatrix<A> || Traced<X>);

/// alpha g on the pattern of the sum.
template <class N, class G>
auto sample_of(N alpha, G const& g) {
  return adds([alpha, &g](auto& sum) { add_sample(sum, alpha, g); });
}

/// A sparse operand with its views evaluated: traced, or an owner.
template <SparseOrTraced X>
decltype(auto) evaluated_sparse(X const& x) {
  if constexpr (is_traced_view<X>)
    return eval(x);
  else if constexpr (Traced<X>)
    return (x);
  else
    return stored(x);
}
/// The same as the forward operation and the rules see it. The traced value outlives the rules of forward mode.
template <class Home, class X>
auto sparse_part(Home& t, X const& x) {
  if constexpr (Traced<X>)
    return operand_of(x);
  else
    return kept_operand<X>{t.keep(x)};
}
template <class A, class N>
concept TracedViewScaling = (is_traced_view<A> && NumberOrTraced<N>) || (SparseView<A> && Traced<N> && Number<plain_t<N>>);
} // namespace detail

// ---- stored views

template <class X, bool Transposed, bool Conj>
auto perform(op::eval, traced_view<X, Transposed, Conj> const& a) {
  auto rule = linear_in(
      a.A,
      [](auto const&, auto const& g) {
        return adds([&g](auto& sum) { detail::add_sample(sum, 1, detail::stored_as<Transposed, Conj>(g)); });
      },
      [](auto const&, auto const& d) { return values(detail::stored_as<Transposed, Conj>(d)); });
  return record(a.home(), detail::stored_as<Transposed, Conj>(a.A.value()), std::move(rule));
}

/// What reads entries one by one reads those of the value.
template <class Op, class A, class... Rest>
  requires(reads_entries<Op> && detail::is_traced_view<A> && Performs<Op, decltype(perform(op::eval{}, std::declval<A const&>())), Rest const&...>)
auto perform(Op op, A const& a, Rest const&... rest) {
  return perform(op, perform(op::eval{}, a), rest...);
}

/// A number times a view, stored; one of them is traced.
template <class A, class N>
  requires detail::TracedViewScaling<A, N>
auto perform(op::mul, A const& a, N const& s) {
  return perform(op::eval{}, a) * s;
}
template <class N, class A>
  requires detail::TracedViewScaling<A, N>
auto perform(op::mul, N const& s, A const& a) {
  return s * perform(op::eval{}, a);
}
template <class A, class N>
  requires detail::TracedViewScaling<A, N>
auto perform(op::div, A const& a, N const& s) {
  return perform(op::eval{}, a) / s;
}
template <class A>
  requires detail::is_traced_view<A>
auto operator-(A const& a) {
  return -perform(op::eval{}, a);
}

// ---- elementwise functions, of the stored values

namespace detail {
template <class A>
void require_single_entries(A const& a) {
  if (has_repeated_entries(a))
    throw value_error("a function of the entries of a traced sparse tensor that stores some places twice: sum them before it is traced, sorted(A)");
}
} // namespace detail

template <class Op, detail::TracedMatrix A>
  requires(keeps_zeros<Op> && !std::same_as<Op, op::conj>)
auto perform(Op op, A const& a) {
  auto const& owner = detail::evaluated_sparse(a);
  if (!detail::is_additive<Op>) detail::require_single_entries(detail::plain_value(owner));
  return with_values(owner, perform(op, values(owner)));
}

// ---- sums

namespace detail {
/// How alpha A + ... depends on A.
template <class A, class N>
auto summand_rule(A const& a, N alpha) {
  if constexpr (Traced<A>)
    return linear_in(
        a, [alpha](auto const&, auto const& g) { return sample_of(conj_of(to_kernel(alpha)), g); },
        [alpha](auto const&, auto const& d) { return adds([alpha, &d](auto& sum) { add_spread(sum, to_kernel(alpha), d); }); });
  else
    return no_rule{};
}
} // namespace detail

template <Number NA, class A, Number NB, class B>
  requires detail::TracedSparsePair<A, B>
auto perform(op::add, NA alpha, A const& a, NB beta, B const& b) {
  auto const& x = detail::evaluated_sparse(a);
  auto const& y = detail::evaluated_sparse(b);
  return record(home_of(a, b), add(alpha, detail::plain_value(x), beta, detail::plain_value(y)), detail::summand_rule(x, alpha),
                        detail::summand_rule(y, beta));
}
template <class A, class B>
  requires detail::TracedSparsePair<A, B>
auto perform(op::add, A const& a, B const& b) {
  return perform(op::add{}, 1, a, 1, b);
}
template <class A, class B>
  requires detail::TracedSparsePair<A, B>
auto perform(op::sub, A const& a, B const& b) {
  return perform(op::add{}, 1, a, -1, b);
}

// ---- products

namespace detail {
template <class A, class B>
auto shared_plan(A const& a, B const& b) {
  static_assert(is_csr<typename A::format_type> && is_csr<typename B::format_type>,
                "sla: A * B of traced sparse tensors wants both in Csr: convert them before they are traced, with to<Csr<>>(A)");
  using Plan = multiply_plan<typename A::format_type, typename B::format_type>;
  return detail::shared_of<Plan const>(a, b);
}
} // namespace detail

template <class A, class B>
  requires detail::TracedSparsePair<A, B>
auto perform(op::mul, A const& a, B const& b) {
  auto& t = home_of(a, b);
  auto const& x = detail::evaluated_sparse(a);
  auto const& y = detail::evaluated_sparse(b);
  auto const left = detail::sparse_part(t, x);
  auto const right = detail::sparse_part(t, y);
  auto const plan = detail::shared_plan(left.value(), right.value());
  auto to_left = linear_in(
      left,
      [plan, right](auto const&, auto const& g) {
        return adds([plan, right, &g](auto& sum) { detail::add_times_adjoint(*plan, sum, g, right.value()); });
      },
      [plan, right](auto const&, auto const& d) { return values((*plan)(d, right.value())); });
  auto to_right = linear_in(
      right,
      [plan, left](auto const&, auto const& g) {
        return adds([plan, left, &g](auto& sum) { detail::add_adjoint_times(*plan, sum, left.value(), g); });
      },
      [plan, left](auto const&, auto const& d) { return values((*plan)(left.value(), d)); });
  return record(t, (*plan)(left.value(), right.value()), std::move(to_left), std::move(to_right));
}

/// The cotangents of A and B where C = A B, from g on the pattern of C: (g B^H on the pattern of A, A^H g on that of B).
/// Cost: that of A B twice, and of its plan. Errors: shape_error, if g has another pattern than A B.
template <SparseOwner A, SparseOwner B, SparseOwner G>
auto vjp(op::mul, A const& a, B const& b, G const& g) {
  auto const plan = detail::shared_plan(a, b);
  if (!same_pattern(g.pattern(), *plan->shared_pattern()))
    throw shape_error(text("vjp(mul, A, B, g): g stores ", g.nnz(), " entries, A B ", plan->shared_pattern()->nnz(), "; g lives on the pattern of A B"));
  return std::tuple{detail::collected(a, adds([&](auto& sum) { detail::add_times_adjoint(*plan, sum, g, b); })),
                    detail::collected(b, adds([&](auto& sum) { detail::add_adjoint_times(*plan, sum, a, g); }))};
}

// ---- Kronecker products

template <class A, class B>
  requires detail::TracedSparsePair<A, B>
auto perform(op::kron, A const& a, B const& b) {
  auto& t = home_of(a, b);
  auto const& x = detail::evaluated_sparse(a);
  auto const& y = detail::evaluated_sparse(b);
  auto const left = detail::sparse_part(t, x);
  auto const right = detail::sparse_part(t, y);
  auto to_left = linear_in(
      left,
      [right](auto const&, auto const& g) { return adds([right, &g](auto& sum) { detail::add_kron_left(sum, g, right.value()); }); },
      [right](auto const&, auto const& d) { return values(kron(d, right.value())); });
  auto to_right = linear_in(
      right,
      [left](auto const&, auto const& g) { return adds([left, &g](auto& sum) { detail::add_kron_right(sum, left.value(), g); }); },
      [left](auto const&, auto const& d) { return values(kron(left.value(), d)); });
  return record(t, kron(left.value(), right.value()), std::move(to_left), std::move(to_right));
}

// ---- scaling

namespace detail {
template <bool Rows, class A, class D>
auto scaled_by(A const& a, D const& d) {
  if constexpr (Rows)
    return scale_rows(a, d);
  else
    return scale_cols(a, d);
}
/// The sums of conj(a) g over each row, or column.
template <bool Rows, class A, class G>
auto scale_cotangent(A const& a, G const& g) {
  using R = real_t<typename G::value_type>;
  auto const both = with_values(g, conj(values(a)) * values(g));
  if constexpr (Rows)
    return eval(both * ones<R, domain_extents_t<typename G::shape_type>>(g.domain()));
  else
    return eval(transpose(both) * ones<R, range_extents_t<typename G::shape_type>>(g.range()));
}

template <bool Rows, class A, class X>
auto trace_scaling(A const& a, X const& d) {
  auto& t = home_of(a, d);
  auto const& m = evaluated_sparse(a);
  auto const matrix = sparse_part(t, m);
  auto const factor = trace_operand<true>(t, d);
  auto to_A = linear_in(
      matrix, [factor](auto const&, auto const& g) { return values(scaled_by<Rows>(g, conj(factor.node()))); },
      [factor](auto const&, auto const& dA) { return values(scaled_by<Rows>(dA, factor.node())); });
  auto to_d = linear_in(
      factor, [matrix](auto const&, auto const& g) { return scale_cotangent<Rows>(matrix.value(), g); },
      [matrix](auto const&, auto const& dd) { return values(scaled_by<Rows>(matrix.value(), dd)); });
  return record(t, scaled_by<Rows>(matrix.value(), factor.node()), std::move(to_A), std::move(to_d));
}
} // namespace detail

template <class A, class X>
  requires detail::TracedRowScaling<A, X>
auto perform(op::scale_rows, A const& a, X const& d) {
  return detail::trace_scaling<true>(a, d);
}
template <class A, class X>
  requires detail::TracedRowScaling<A, X>
auto perform(op::scale_cols, A const& a, X const& d) {
  return detail::trace_scaling<false>(a, d);
}

/// The cotangents of A and d where C = diag(d) A, or A diag(d), from g on the pattern of A.
template <SparseOwner A, Tensorial D, SparseOwner G>
auto vjp(op::scale_rows, A const& a, D const& d, G const& g) {
  auto const& factor = detail::argument(d);
  return std::tuple{detail::collected(a, values(scale_rows(g, conj(factor)))), detail::collected(factor, detail::scale_cotangent<true>(a, g))};
}
template <SparseOwner A, Tensorial D, SparseOwner G>
auto vjp(op::scale_cols, A const& a, D const& d, G const& g) {
  auto const& factor = detail::argument(d);
  return std::tuple{detail::collected(a, values(scale_cols(g, conj(factor)))), detail::collected(factor, detail::scale_cotangent<false>(a, g))};
}

} // namespace sla
