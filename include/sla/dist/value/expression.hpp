// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expressions of distributed values: a typed shell around local nodes. The rules of spmd/ decide here, with their sentences;
// kernels see the local node only. Reductions are in dist/value/reductions.hpp, products in dist/matrix/matrix_product.hpp.
#pragma once

#include <utility>

#include <sla/dist/halo/halo_in_memory.hpp>
#include <sla/dist/value/common_extents.hpp>
#include <sla/dist/value/distributed.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/spmd/refusal/facts.hpp>
#include <sla/spmd/rule/operators.hpp>

namespace sla {

/// A scalar of a mesh's space. P: Replicate on the axes that share the item, Varying on those whose ranks have items of their own
/// and send each other nothing. It never converts and never compares.
template <class Inner, class Mesh, class... P>
struct mesh_scalar {
  static_assert(((P::kind != placement_kind::partial) && ...), "sla: a scalar of a space is no pending sum: fuse(space, dot_of(x, y)) finishes it");
  using placement_list = placements<P...>;
  Inner inner{};
};
template <class Inner, class Mesh, class... P>
struct operand_traits<mesh_scalar<Inner, Mesh, P...>> : operand_traits<void> {
  static constexpr operand_kind kind = operand_kind::uniform;
};

/// An expression with placements: a local node, and the layout of its operands.
template <class Node, class Mesh, class... P>
struct distributed_node {
  using node_type = Node;
  using value_type = user_t<typename Node::value_type>;

  Node node;
  layout_handle<Mesh> layout;

  /// This rank's part of the value. Collective where products exchange a halo.
  auto evaluated() const {
    if constexpr (std::same_as<typename Node::extents_type, no_extents>) {
      return value_type(node.at(element{}));
    } else {
      tensor<value_type, typename Node::extents_type, typename Node::memory_type> value(node.extents(), uninitialized);
      typename rank_spaces<typename Node::memory_type>::immediate space;
      fuse(space, set(value, node));
      return value;
    }
  }
};
namespace detail {
/// What the checker asks of a dense Local.
template <class T, class E>
struct dense_like {
  using value_type = T;
  using extents_type = E;
};
} // namespace detail
template <class Node, class Mesh, class... P>
struct operand_traits<distributed_node<Node, Mesh, P...>>
    : operand_traits<distributed<
          std::conditional_t<std::same_as<typename Node::extents_type, no_extents>, user_t<typename Node::value_type>,
                             detail::dense_like<typename Node::value_type, typename Node::extents_type>>,
          Mesh, P...>> {};

template <class X>
inline constexpr bool is_distributed_node = false; ///< Is X an expression of distributed operands?
template <class Node, class Mesh, class... P>
inline constexpr bool is_distributed_node<distributed_node<Node, Mesh, P...>> = true;
/// A distributed dense tensor or number, or an expression of them.
template <class X>
concept DistributedExpr = is_distributed_node<std::remove_cvref_t<X>> ||
    (is_distributed<std::remove_cvref_t<X>> && !PlacedSparse<X>);
/// What may stand beside one: numbers of a space, `uniform(alpha)`, and plain operands, which the rules refuse by a sentence.
template <class X>
concept DistributedOperand = DistributedExpr<X> || operand_traits<std::remove_cvref_t<X>>::kind == operand_kind::uniform ||
    operand_traits<std::remove_cvref_t<X>>::kind == operand_kind::literal || Tensorial<X>;
template <class L, class R>
concept DistributedPair = (DistributedExpr<L> || DistributedExpr<R>) && DistributedOperand<L> && DistributedOperand<R>; ///< Two operands, one of them distributed.

namespace detail {
// ---- the local node of an operand
template <class D>
  requires is_distributed<std::remove_cvref_t<D>>
auto local_node(D&& x) {
  if constexpr (std::is_lvalue_reference_v<D>)
    return as_node(std::as_const(x).local());
  else
    return as_node(std::move(x).local());
}
template <class X>
  requires is_distributed_node<std::remove_cvref_t<X>>
auto local_node(X&& x) {
  return std::forward<X>(x).node;
}
template <class T, class Mesh, class... P>
auto local_node(mesh_scalar<T, Mesh, P...> const& s) {
  return as_node(s.inner);
}
template <class T>
auto local_node(uniform_number<T> const& s) {
  return as_node(s.value());
}
template <class T>
auto local_node(literal<T> const& s) {
  return as_node(s.value());
}
template <Tensorial X>
auto local_node(X&& x) {
  return as_node(std::forward<X>(x));
}

template <class X>
auto const& layout_of(X const& x) {
  if constexpr (is_distributed_node<X>)
    return x.layout;
  else
    return x.handle();
}
/// Where the parts of a distributed tensor, or of an expression of them, lie.
template <class B>
struct memory_on_ranks {
  using type = host_memory;
};
template <class B>
  requires requires { typename B::local_type::memory_type; }
struct memory_on_ranks<B> {
  using type = typename B::local_type::memory_type;
};
template <class B>
  requires is_distributed_node<B>
struct memory_on_ranks<B> {
  using type = typename decltype(local_node(std::declval<B const&>()))::memory_type;
};
template <class B, class M = typename memory_on_ranks<std::remove_cvref_t<B>>::type>
using memory_on_ranks_t = std::conditional_t<std::same_as<M, any_memory>, host_memory, M>;

template <class List>
inline constexpr bool has_shards = false;
template <class... P>
inline constexpr bool has_shards<placements<P...>> = (is_sharded(P::kind) || ...);
/// An operand whose layout says where its elements lie. Of a value that every rank has whole, that is not needed.
template <class X>
concept HasShards = DistributedExpr<X> && has_shards<placements_of_t<X>>;

/// How many of these placements have a partition found at run time, and is there a halo?
template <class List>
inline constexpr int found_partitions = 0;
template <class... P>
inline constexpr int found_partitions<placements<P...>> = (int(is_found<P>()) + ... + 0);
template <class List>
inline constexpr bool has_halo = false;
template <class... P>
inline constexpr bool has_halo<placements<P...>> = ((P::kind == placement_kind::ghost || P::kind == placement_kind::ghost_partial) || ...);

/// The layout of the first operand that is sharded, else of the first placed one; two partitions or halos that meet must be one.
/// Errors: shape_error, if two operands of one type were sharded by different partitions or to different extents, or have
/// different halos, or are on different meshes.
template <class... X>
auto common_layout(X const&... x) {
  using Handle = layout_handle<common_mesh_t<X...>>;
  constexpr bool sharded = (HasShards<X> || ...);
  Handle lead, found;
  halo_plan const* halo = nullptr;
  common_extents_of<common_mesh_t<X...>> extents;
  int number = 0;
  auto const look = [&]<class Y>(Y const& y) {
    [[maybe_unused]] int const operand = number++;
    if constexpr (sharded ? HasShards<Y> : DistributedExpr<Y>)
      if constexpr (std::same_as<layout_handle<mesh_of_t<Y>>, Handle>) {
        auto const& other = layout_of(y);
        if (!lead) lead = other;
        if (lead != other) require_one_mesh(lead->mesh, other->mesh);
        if constexpr (sharded && sizeof...(X) > 1) extents.meet(operand, *other, placements_of_t<Y>{});
        if constexpr (found_partitions<placements_of_t<Y>> > 0) {
          if (!found) found = other;
          if (found != other && found->rows && other->rows && !same_rows(found->rows.get(), other->rows.get()))
            throw shape_error("two distributed operands were sharded by different partitions of one type; distribute both by the layout of "
                              "one of them, or give the partitions names: Part<\"name\">");
        }
        if constexpr (has_halo<placements_of_t<Y>>) {
          if (!halo) halo = other->halo.get();
          if (halo && other->halo && !halo->same_ghosts(*other->halo))
            throw shape_error("two distributed operands have the halos of different sparse tensors; give the halos names: "
                              "halo_exchange<axis, pattern>(x, D)");
        }
      }
  };
  (look(x), ...);
  return lead;
}

template <class Node, class Mesh, class List>
struct distributed_by;
template <class Node, class Mesh, class... P>
struct distributed_by<Node, Mesh, placements<P...>> {
  using type = distributed_node<Node, Mesh, P...>;
};
/// The result of Op on operands of these types, as an expression around a local node.
template <class Op, class... X>
struct distributed_result {
  using mesh_type = common_mesh_t<X...>;
  template <class Node>
  using type = typename distributed_by<Node, mesh_type, result_placements_t<Op, std::remove_cvref_t<X>...>>::type;
};

/// f(the local node of x), in the placements of x: an operator that keeps the rows where they are.
template <class X, class F>
auto distributed_like(X&& x, F const& f) {
  auto layout = layout_of(x);
  auto node = f(local_node(std::forward<X>(x)));
  return typename distributed_by<decltype(node), mesh_of_t<X>, placements_of_t<X>>::type{std::move(node), std::move(layout)};
}

/// The result of a refused call: the sentence comes when it is made, at the call, not where somebody asks for its type.
template <class Op, class Result, class... X>
struct refused_result : Result {
  using refused_tag = void;
  static_assert((require_well_typed<Op, X...>(), true));
  refused_result(Result r) : Result(std::move(r)) {}
};
template <class Op, class Result, class... X>
using checked_result = std::conditional_t<well_typed<Op, X...>, Result, refused_result<Op, Result, std::remove_cvref_t<X>...>>;

/// Computed of a refused result, which needs no second sentence.
template <class... X>
concept OfRefused = (requires { typename std::remove_cvref_t<X>::refused_tag; } || ...);
template <class First, class... Rest>
constexpr auto refused_one(First const& first, Rest const&... rest) {
  if constexpr (OfRefused<First>)
    return first;
  else
    return refused_one(rest...);
}

/// What a refused call gives back, so that its sentence is the only error: its first dense operand.
template <class First, class... Rest>
constexpr auto const& stand_in(First const& first, Rest const&... rest) {
  if constexpr (sizeof...(Rest) > 0 && (!Distributed<First> || PlacedSparse<First>))
    return stand_in(rest...);
  else
    return first;
}

template <class Op>
struct elementwise_by {
  char const* name = "";
  template <class... X>
  auto operator()(X&&... x) const {
    if constexpr (sizeof...(X) == 1)
      return elementwise<Op>(std::forward<X>(x)...);
    else
      return elementwise<Op>(std::forward<X>(x)..., name);
  }
};
/// The type of `placed_map<Op>(make, x...)`, asked for without its sentence.
template <class Op, class Make, class... X>
using placed_map_t =
    checked_result<Op, typename distributed_result<Op, X...>::template type<decltype(std::declval<Make const&>()(local_node(std::declval<X>())...))>, X...>;
template <class Op, DistributedExpr X>
  requires is_elementwise<Op>
using distributed_elementwise_t = placed_map_t<Op, elementwise_by<Op>, X>;

/// make(the local nodes of the operands), in the placements that the rules of Op say.
template <class Op, class Make, class... X>
auto placed_map(Make const& make, X&&... x) {
  require_well_typed<Op, std::remove_cvref_t<X>...>();
  auto layout = common_layout(x...);
  auto node = make(local_node(std::forward<X>(x))...);
  return typename distributed_result<Op, X...>::template type<decltype(node)>{std::move(node), std::move(layout)};
}
template <class Op, class X>
auto distributed_elementwise(X&& x) {
  return placed_map<Op>(elementwise_by<Op>{}, std::forward<X>(x));
}
template <class Op, class L, class R>
auto distributed_elementwise(L&& l, R&& r, char const* name) {
  return placed_map<Op>(elementwise_by<Op>{name}, std::forward<L>(l), std::forward<R>(r));
}

template <class L, class R>
  requires DistributedPair<L, R>
struct adds_up<L, R> : std::true_type {};
template <DistributedExpr X>
struct adds_up_with_numbers<X> : std::true_type {};
/// Refused: a std::vector beside a distributed value.
template <class L, class R>
concept BesideNumbers = (DistributedExpr<L> && ForeignNumbers<R>) || (ForeignNumbers<L> && DistributedExpr<R>);
template <class L, class R>
  requires(BesideNumbers<L, R> || OfRefused<L, R>)
struct adds_up<L, R> : std::true_type {};
template <class X>
  requires OfRefused<X>
struct adds_up_with_numbers<X> : std::true_type {};

/// What a message calls an operation of two operands.
template <class Op>
inline constexpr char const* text_of = std::same_as<Op, op::add>   ? "x + y"
                                       : std::same_as<Op, op::sub> ? "x - y"
                                       : std::same_as<Op, op::mul> ? "x * y"
                                       : std::same_as<Op, op::div> ? "x / y"
                                                                   : "pow(x, y)";
} // namespace detail

template <class Op, class... X>
  requires detail::OfRefused<X...>
auto perform(Op, X&&... x) {
  return detail::refused_one(x...);
}
template <class Op, class L, class R>
  requires detail::BesideNumbers<L, R>
auto perform(operation<Op>, L const& l, R const& r) {
  require_well_typed<Op, L, R>();
  return eval(detail::stand_in(l, r));
}
template <class Op, DistributedExpr X>
auto perform(operation<Op>, X&& x) {
  return detail::distributed_elementwise<Op>(std::forward<X>(x));
}
template <class Op, class L, class R>
  requires DistributedPair<L, R>
auto perform(operation<Op>, L&& l, R&& r) {
  return detail::placed_map<Op>(detail::elementwise_by<Op>{detail::text_of<Op>}, std::forward<L>(l), std::forward<R>(r));
}
template <class Op, DistributedExpr X>
  requires is_elementwise<Op>
auto perform(Op, X&& x) -> detail::distributed_elementwise_t<Op, X> {
  return detail::distributed_elementwise<Op>(std::forward<X>(x));
}
template <class L, class R>
  requires DistributedPair<L, R>
auto perform(op::pow, L&& l, R&& r) {
  return perform(operation<op::pow>{}, std::forward<L>(l), std::forward<R>(r));
}

// ---- statements, assignment and evaluation

/// A statement of `fuse` on a mesh: a local statement, and the placements of its number, if it has one.
template <class S, class... P>
struct distributed_statement {
  using distributed_statement_tag = void;
  S local;
};

/// The statement x = expression on a mesh. Law: equal placements, extents and partitions.
template <class T, class E, class Memory, class Mesh, class... P, DistributedExpr X>
auto set(distributed<tensor<T, E, Memory>, Mesh, P...>& destination, X&& expression) {
  static_assert(has_placements<std::remove_cvref_t<X>, P...>, "sla: set(x, expression): the expression has other placements than x");
  (void)detail::common_layout(destination, expression);
  auto statement = set(destination.local(), detail::local_node(std::forward<X>(expression)));
  return distributed_statement<decltype(statement)>{std::move(statement)};
}

/// x = expression; called by the variable's own assignment. In place, unless that would disturb what is still to be read.
template <class Local, class Mesh, class... P, class Node>
void assign_distributed(distributed<Local, Mesh, P...>& x, distributed_node<Node, Mesh, P...> const& expression) {
  if constexpr (is_tensor<Local>) {
    Local& local = x.local();
    memory_access const destination{local.data(), local.size() * index_t(sizeof(typename Local::value_type)), false, true};
    auto const extents = typename Local::extents_type(Local::extents_type::from(expression.node.extents()));
    bool const stays = x.handle() == expression.layout || (!detail::has_halo<placements<P...>> && detail::same_layout<Mesh>(x.handle(), expression.layout));
    if (stays && local.extents() == extents && !detail::reads_elsewhere(destination, lower_tree{}(expression.node))) {
      typename rank_spaces<typename Local::memory_type>::immediate space;
      fuse(space, set(local, expression.node));
      return;
    }
  }
  x = distributed<Local, Mesh, P...>(expression);
}

/// The value of an expression: a distributed tensor of its placements.
template <class Node, class Mesh, class... P>
auto eval(distributed_node<Node, Mesh, P...> const& x) {
  using Local = decltype(x.evaluated());
  return distributed<Local, Mesh, P...>(x);
}
template <class Local, class Mesh, class... P>
distributed<Local, Mesh, P...> eval(distributed<Local, Mesh, P...> x) {
  return x;
}

} // namespace sla
