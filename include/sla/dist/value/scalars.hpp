// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Typed scalars: distributed numbers, their comparisons, `rank_along<"tp">(mesh)`, `any_of`, `all_of`, and `constant(x)`. Which of
// them may decide a branch is in their types. Their arithmetic is that of expressions, dist/value/expression.hpp.
#pragma once

#include <type_traits>
#include <utility>

#include <sla/dist/engine/typed_collectives.hpp>
#include <sla/dist/value/expression.hpp>

namespace sla {

namespace op {
/// Comparisons: not linear, without gradient.
struct compare {};
} // namespace op
template <>
inline constexpr op_rule rule_of<op::compare>{.differentiable = false};

/// A distributed operand through which no gradient is taken: `constant(x)`, of a traced x constant(x.value()). It counts as Replicate
/// or as Invariant, whichever the others need, traced or not.
template <DistributedExpr X>
struct constant<X> {
  using node_type = decltype(detail::local_node(std::declval<X const&>()));
  using value_type = typename X::value_type;

  explicit constant(X const& x) : node(detail::local_node(x)), layout(detail::layout_of(x)) {}

  node_type node;
  layout_handle<mesh_of_t<X>> layout;
};
template <DistributedExpr X>
constant(X) -> constant<X>;
template <DistributedExpr X>
inline constexpr bool is_distributed_node<constant<X>> = true;
template <DistributedExpr X>
struct operand_traits<constant<X>> : operand_traits<X> {
  template <class Keys>
  static constexpr operand value = [] {
    auto out = operand_traits<X>::template value<Keys>;
    out.gradient = false;
    return out;
  }();
};
namespace detail {
template <class X>
inline constexpr bool is_distributed_constant = false;
template <DistributedExpr X>
inline constexpr bool is_distributed_constant<constant<X>> = true;
} // namespace detail
template <DistributedExpr X>
auto eval(constant<X> const& x) {
  return eval(typename detail::distributed_by<typename constant<X>::node_type, mesh_of_t<X>, placements_of_t<X>>::type{x.node, x.layout});
}

namespace detail {
template <class X>
inline constexpr bool is_distributed_number_expr = false;
template <DistributedExpr X>
inline constexpr bool is_distributed_number_expr<X> = local_dims<local_of_t<X>>::rank == 0;
} // namespace detail
/// A distributed number, or an expression of them.
template <class X>
concept DistributedNumber = detail::is_distributed_number_expr<std::remove_cvref_t<X>>;
/// Two numbers, one of them placed on a mesh.
template <class L, class R>
concept DistributedNumbers = (DistributedNumber<L> || DistributedNumber<R>) &&
                        (DistributedNumber<L> || operand_traits<std::remove_cvref_t<L>>::kind == operand_kind::uniform) &&
                        (DistributedNumber<R> || operand_traits<std::remove_cvref_t<R>>::kind == operand_kind::uniform);

namespace detail {

/// The number that this rank has.
template <class X>
auto number_here(X const& x) {
  if constexpr (DistributedNumber<X>)
    return eval(x).local();
  else
    return x.value();
}
/// No gradient leads through a comparison.
template <class X>
struct without_gradient {
  using type = X;
};
template <DistributedExpr X>
struct without_gradient<X> {
  using type = constant<X>;
};

template <class L, class R, class F>
auto compared(L const& l, R const& r, F const& f) {
  using A = typename without_gradient<L>::type;
  using B = typename without_gradient<R>::type;
  require_well_typed<op::compare, A, B>();
  bool const holds = f(number_here(l), number_here(r));
  if constexpr (well_typed<op::compare, A, B>)
    return result_t<bool, op::compare, A, B>(holds, common_layout(l, r));
  else
    return holds;  // a branch on it is not refused once more
}

template <class L, class R>
  requires DistributedNumbers<L, R>
struct has_order<L, R> : std::true_type {};
template <class L, class R>
  requires DistributedNumbers<L, R>
struct has_equality<L, R> : std::true_type {};
template <DistributedNumber X>
struct has_order_with_numbers<X> : std::true_type {};
template <DistributedNumber X>
struct has_equality_with_numbers<X> : std::true_type {};
template <class X>
concept DistributedNumberOperand = DistributedNumber<X> || operand_traits<std::remove_cvref_t<X>>::kind == operand_kind::uniform ||
                                   operand_traits<std::remove_cvref_t<X>>::kind == operand_kind::literal;
} // namespace detail

/// Typed scalars compared: a typed truth value.
template <op::relation Is, class L, class R>
  requires((DistributedNumber<L> || DistributedNumber<R>) && detail::DistributedNumberOperand<L> && detail::DistributedNumberOperand<R>)
auto perform(op::comparison<Is> holds, L const& l, R const& r) {
  return detail::compared(l, r, holds);
}

/// This rank's coordinate on an axis, as a typed scalar. Placement: Varying on that axis, Replicate on the others: what is made
/// of it is never mistaken for what all ranks share.
template <fixed_string Axis, class... Axes>
auto rank_along(mesh<Axes...> const& m) {
  using Mesh = mesh<Axes...>;
  constexpr int at = Mesh::template index<Axis>();
  auto layout = std::make_shared<shared_layout<Mesh>>();
  layout->mesh = m;
  return [&]<int... A>(std::integer_sequence<int, A...>) {
    return distributed<index_t, Mesh, std::conditional_t<A == at, Varying, Replicate>...>(index_t(m.coordinate(at)), std::move(layout));
  }(std::make_integer_sequence<int, Mesh::rank>{});
}

namespace detail {
template <fixed_string Axis, class To, class X>
auto vote(X const& x, monoid how) {
  static_assert(std::same_as<local_of_t<X>, bool>, "sla: any_of and all_of fold truth values: the results of comparisons");
  static_assert(placement_along_t<X, Axis>::kind == placement_kind::varying,
                "sla[E10]: any_of and all_of fold the ranks' own truth values, Varying on the axis; another one is complete already");
  static_assert(is_copied(To::kind),
                "sla[E11]: any_of and all_of give every rank the result: Replicate or Invariant");
  auto const all = all_reduce(x.mesh().template communicator<Axis>(), std::int64_t(x.local()), how);
  return with_placement_t<X, Axis, To>(all != 0, x.handle());
}
} // namespace detail

/// Does it hold on some rank of the axis, or on all? Placement: Varying to Replicate (or Invariant). Cost: one all_reduce.
template <fixed_string Axis, Placement To = Replicate, class X>
  requires(is_distributed<X>)
auto any_of(X const& x) {
  return detail::vote<Axis, To>(x, monoid::maximum);
}
template <fixed_string Axis, Placement To = Replicate, class X>
  requires(is_distributed<X>)
auto all_of(X const& x) {
  return detail::vote<Axis, To>(x, monoid::minimum);
}

} // namespace sla
