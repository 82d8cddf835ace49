// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of elementwise operations and reductions of distributed values: a rank's own derivative is placed as it has to be
// already. Products and solves have theirs beside them, the rules on scalars are in grad/.
#pragma once

#include <memory>
#include <utility>

#include <sla/dist/value/compare.hpp>
#include <sla/dist/value/cotangent_space.hpp>
#include <sla/dist/value/reductions.hpp>
#include <sla/grad/operation/traced_apply.hpp>
#include <sla/grad/tape/vjp.hpp>

namespace sla {

namespace detail {
template <class X>
concept TracedDistributed = Traced<X> && is_distributed<plain_t<X>>;
template <class X>
concept TracedDistributedExpr = TracedDistributed<X> && DistributedExpr<plain_t<X>>;
template <class X>
concept TracedRows = TracedDistributed<X> && PlacedSparse<plain_t<X>>;
template <class X>
concept BesideTracedExpr = TracedDistributedExpr<X> || DistributedExpr<X> || Number<X> || operand_traits<std::remove_cvref_t<X>>::kind == operand_kind::uniform;
template <class L, class R>
concept TracedExprPair = (TracedDistributedExpr<L> || TracedDistributedExpr<R>) && BesideTracedExpr<L> && BesideTracedExpr<R>;
template <class... X>
concept TracedExprOperands = (TracedDistributedExpr<X> || ...) && (BesideTracedExpr<X> && ...);

/// An operand as the forward operation sees it; run-time numbers beside traced values count as uniform.
template <class X>
decltype(auto) forward_value(X const& x) {
  if constexpr (Traced<X>)
    return (x.value());
  else if constexpr (Number<X>)
    return uniform(x);
  else if constexpr (is_distributed_node<X>)
    return eval(x);
  else
    return (x);
}
/// What a rule holds of an operand.
template <class Variable>
struct traced_part : traced_operand<Variable> {
  template <class D>
  static auto elements(D const& d) {
    return local_node(d);
  }
};
template <class X>
auto part_of(X const& x) {
  if constexpr (Traced<X>) {
    return traced_part<typename X::variable_type>{{&x.variable()}};
  } else {
    using V = std::remove_cvref_t<decltype(forward_value(x))>;
    return kept_operand<V>{std::make_shared<V const>(forward_value(x))};
  }
}
/// What the rules see of an operand that is kept as this part: of constant(x) that it has no gradient.
template <class X, class Part>
decltype(auto) kept_value(Part const& part) {
  if constexpr (is_distributed_constant<X>)
    return constant(part.value());
  else
    return (part.value());
}
/// This rank's part of a cotangent; a plain number is one already.
template <class G>
decltype(auto) part_of_cotangent(G const& g) {
  if constexpr (is_distributed<G>)
    return (g.local());
  else
    return (g);
}

/// A rank's own elements of operands and cotangents.
struct own_elements {
  template <class Part>
  static auto node(Part const& x) {
    return local_node(x.value());
  }
  template <class G>
  static auto of(G const& g) {
    return as_node(part_of_cotangent(g));
  }
};

template <class Op, TracedDistributedExpr X>
auto trace_distributed(X const& x) {
  auto const part = part_of(x);
  return record(x.home(), eval(distributed_elementwise<Op>(part.value())), pointwise_in(part, [part](auto const&, auto const& g) {
    return contribution<Op, 0>(local_node(part.value()), as_node(part_of_cotangent(g)));
  }));
}
/// The rule of an operation on two operands, to the K-th, which is x.
template <class Op, int K, class Part, class L, class R>
auto derivative_in(Part const& x, L const& left, R const& right) {
  return pointwise_in(x, [left, right](auto const&, auto const& g) {
    return contribution<Op, K>(local_node(left.value()), local_node(right.value()), as_node(part_of_cotangent(g)));
  });
}
template <class Op, class L, class R>
auto trace_distributed(L const& l, R const& r) {
  auto const left = part_of(l);
  auto const right = part_of(r);
  return record(home_of(l, r), eval(distributed_elementwise<Op>(kept_value<L>(left), kept_value<R>(right), derivative<Op>::name)),
                derivative_in<Op, 0>(left, left, right), derivative_in<Op, 1>(right, left, right));
}
/// A rank's part of a number that an operation finishes over the ranks: the sum of all. Of a cotangent it is a pending sum.
template <class Op, class X, class Mesh, class T>
T finished(Mesh const& mesh, T value) {
  for (int a = 0; a < Mesh::rank; ++a)
    if (reduced_axes<Op, X>[a]) value = all_reduce(mesh.communicator(a), value);
  return value;
}
template <class Op, class X, class Y, class Out>
struct finished_tangent {
  Y const& y;
  Out& out;
  template <class Field>
  void add(Field const& field) {
    out.add(finished<Op, X>(y.mesh(), collected(y.local(), field)));
  }
};
/// The rule of a reduction, whose tangent is finished as its value is.
template <class Op, class X, class Rule>
struct finished_rule : Rule {
  template <class Y, class Out>
  void pushforward(Y const& y, Out& out) const {
    finished_tangent<Op, X, Y, Out> local{y, out};
    Rule::pushforward(y, local);
  }
};
/// A reduction, as it is or with what is asked of it.
template <class Op, class X>
auto trace_reduction(X const& x) {
  auto const part = part_of(x);
  auto rule = pointwise_in(part, [part](auto const& y, auto const& g) {
    auto const node = local_node(part.value());
    auto const everywhere = [&](auto here) { return finished<Op, plain_t<X>>(y.mesh(), here); };
    if constexpr (is_distributed<std::remove_cvref_t<decltype(g)>>)
      return reduced_contribution<requested_op_t<Op>>(node, y.local(), everywhere(g.local()), everywhere);
    else
      return reduced_contribution<requested_op_t<Op>>(node, y.local(), g, everywhere);
  });
  return record(x.home(), eval(perform(Op{}, part.value())), finished_rule<Op, plain_t<X>, decltype(rule)>{std::move(rule)});
}
template <class Op, class L, class R>
auto trace_dot(L const& l, R const& r) {
  auto const left = part_of(l);
  auto const right = part_of(r);
  return record(home_of(l, r), eval(perform(Op{}, kept_value<L>(left), kept_value<R>(right))), derivative_in<op::dot, 0>(left, left, right),
                derivative_in<op::dot, 1>(right, left, right));
}
template <class T, class E, class Mesh, class... P>
distributed<T, Mesh, P...> number_of_whole(distributed<tensor<T, E>, Mesh, P...> const& x, index_t n) {
  return {x.local()[n], x.handle()};
}
template <class Op>
concept PendingExtreme = is_extreme<Op> && !rule_of<Op>.finishes;
/// What a refused one returns, well-formed, so that its sentence is the only error.
template <class Op, class X>
struct instead_of_extreme {};
template <PendingExtreme Op, TracedDistributedExpr X>
struct instead_of_extreme<Op, X> : std::type_identity<decltype(trace_reduction<op::sum>(std::declval<X const&>()))> {};
} // namespace detail

template <class Op, detail::TracedDistributedExpr X>
  requires(Differentiable<Op, 1> && !is_reducing<Op>)
auto perform(Op, X const& x) {
  return detail::trace_distributed<Op>(x);
}
template <class Op, class L, class R>
  requires(Differentiable<Op, 2> && !is_reducing<Op> && detail::TracedExprPair<L, R>)
auto perform(Op, L const& l, R const& r) {
  return detail::trace_distributed<Op>(l, r);
}
/// Gradient: that of one rank; the elements of all ranks that norm_inf(x) is taken of share it, which is one all_reduce more.
template <class Op, detail::TracedDistributedExpr X>
  requires(Differentiable<Op, 1> && is_reducing<Op> && !detail::PendingExtreme<Op>)
auto perform(Op, X const& x) {
  return detail::trace_reduction<Op>(x);
}
/// Refused: what a pending maximum or minimum pulls back to is not known before it is finished.
template <class Op, detail::TracedDistributedExpr X>
  requires detail::PendingExtreme<Op>
auto perform(Op, X const& x) -> typename detail::instead_of_extreme<Op, X>::type {
  static_assert(always_false<X>, "sla: max(x), min(x) of a traced distributed x have no gradient: norm_inf(x) has one; so has max of a gathered x, and max(x.value()) is a constant");
  return detail::trace_reduction<op::sum>(x);
}

// ---- comparisons, of the values; where, and functions of the user's own
template <class Op, class L, class R>
  requires(detail::is_one_of<Op, op::less, op::less_equal> && detail::TracedExprPair<L, R>)
auto perform(Op op, L const& l, R const& r) {
  return eval(perform(op, detail::forward_value(l), detail::forward_value(r)));
}
template <class C, class X, class Y>
  requires detail::TracedExprOperands<C, X, Y>
auto perform(op::where, C const& c, X const& x, Y const& y) {
  if constexpr (Traced<C>) { // nothing of the derivative flows through a condition
    return where(c.value(), x, y);
  } else {
    auto const condition = detail::part_of(c);
    auto const left = detail::part_of(x);
    auto const right = detail::part_of(y);
    auto value = eval(perform(op::where{}, detail::kept_value<C>(condition), detail::kept_value<X>(left), detail::kept_value<Y>(right)));
    if constexpr (Traced<X> || Traced<Y>)
      return detail::trace_where<detail::own_elements>(home_of(x, y), std::move(value), condition, left, right);
    else
      return value;
  }
}
template <class F, class... X>
  requires detail::TracedExprOperands<X...>
auto perform(op::apply, F const& f, X const&... x) {
  static_assert(detail::takes_dual_numbers<F, X...>, "sla: apply(f, x...) of traced x: f is called with dual numbers: write it with auto, [](auto a) { return a * exp(-a); }, "
                                                     "and exp(a) after `using std::exp` rather than std::exp(a)");
  if constexpr (detail::takes_dual_numbers<F, X...>)
    return [&](auto const&... part) {
      return detail::trace_apply<detail::own_elements>(home_of(x...), eval(perform(op::apply{}, f, part.value()...)), f, std::index_sequence_for<X...>{},
                                                       part...);
    }(detail::part_of(x)...);
  else
    return detail::first_traced(x...);  // well-formed, so that the sentence is the only error
}

/// x[n] of a tensor that every rank has whole, and alike: a number in its placements. Gradient: g to that element.
template <detail::TracedDistributedExpr X>
  requires detail::all_copied<placements_of_t<plain_t<X>>>
auto perform(op::entry, X const& x, index_t n) {
  auto rule = linear_in(
      detail::part_of(x), [n](auto const&, auto const& g) { return adds([n, here = detail::part_of_cotangent(g)](auto& sum) { sum[n] += here; }); },
      [n](auto const&, auto const& d) { return d.local()[n]; });
  return record(x.home(), detail::number_of_whole(x.value(), n), std::move(rule));
}
/// Refused: elements of shards.
template <detail::TracedDistributedExpr X>
X const& perform(op::entry, X const& x, index_t) {
  static_assert(always_false<X>, "sla: x[n] of a traced x on ranks: x is whole on every rank, Replicate or Invariant; of shards no rank has all elements: all_gather<axis>(x)[n]");
  return x;
}

template <class L, class R>
  requires detail::TracedExprPair<L, R>
auto perform(op::dot, L const& l, R const& r) {
  return detail::trace_dot<op::dot>(l, r);
}
/// The same asked to be pending sums (spmd/rule/out_partial.hpp).
template <class Op, class Word, detail::TracedDistributedExpr X>
  requires(Differentiable<detail::requested_op_t<Op>, 1> && is_reducing<detail::requested_op_t<Op>> && !is_extreme<detail::requested_op_t<Op>>)
auto perform(detail::requesting_partial<Op, Word>, X const& x) {
  return detail::trace_reduction<detail::requesting_partial<Op, Word>>(x);
}
template <class Op, class Word, class L, class R>
  requires(detail::TracedExprPair<L, R> && std::same_as<detail::requested_op_t<Op>, op::dot>)
auto perform(detail::requesting_partial<Op, Word>, L const& l, R const& r) {
  return detail::trace_dot<detail::requesting_partial<Op, Word>>(l, r);
}

} // namespace sla
