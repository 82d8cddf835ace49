// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A user's own operation on distributed values: `custom<mm>(x, w)`. Its kernel sees the part of one rank, its rule (rule_of)
// decides the placements, its adjoints carry gradients. How a rule is stated is in spmd/rule/table/op_rule.hpp.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/spmd/schedule/outline_operators.hpp>

namespace sla {

/// The number of an operand: `pullback(operand_number<0>, ...)`.
template <int K>
using operand_number = std::integral_constant<int, K>;

namespace detail {
template <class X>
decltype(auto) whole_operand(X const& x) {
  if constexpr (is_distributed_node<X>)
    return eval(x);
  else
    return (x);
}

/// The layout of a result: what an axis shards is one index of the operands and of the result, of one extent; of a sparse operand
/// that of its rows, whichever of its indices is sharded.
template <class... X>
auto called_layout(X const&... x) {
  using Mesh = common_mesh_t<X...>;
  shared_layout<Mesh> out = *common_layout(x...);
  auto const look = [&]<class... P>(auto const& operand, placements<P...>) {
    int a = 0;
    ((is_sharded(P::kind) ? void(out.extent[a] = operand.handle()->extent[a]) : void(), ++a), ...);
  };
  (look(x, placements_of_t<X>{}), ...);
  return std::make_shared<shared_layout<Mesh> const>(std::move(out));
}

template <class Op, class... X>
auto called(X const&... x) {
  require_well_typed<Op, X...>();
  if constexpr (!well_typed<Op, X...>) {
    return stand_in(x...);
  } else {
    auto layout = called_layout(x...);
    auto local = Op::apply(x.local()...);
    using List = result_placements_t<Op, X...>;
    return typename distributed_with<decltype(local), common_mesh_t<X...>, List>::type(std::move(local), std::move(layout));
  }
}

/// Does a pending sum pass operand K where the others are whole? Then Op is linear in it.
template <class Op, int K, class... X>
inline constexpr bool linear_in_operand = []<std::size_t... N>(std::index_sequence<N...>) {
  return well_typed<Op, with_placements_t<X, typename everywhere_on<std::conditional_t<int(N) == K, Partial<>, Replicate>,
                                                                    placements_of_t<X>>::type>...>;
}(std::index_sequence_for<X...>{});

/// The rule of the K-th of these operands, each a part of a record.
template <class Op, int K, class... Part>
auto called_rule(std::tuple<Part...> const& parts) {
  return linear_in(
      std::get<K>(parts),
      [parts](auto const&, auto const& g) {
        auto const pullback = [&](auto const&... p) {
          return Op::pullback(operand_number<K>{}, p.value().local()..., part_of_cotangent(g));
        };
        auto local = std::apply(pullback, parts);
        auto const& x = std::get<K>(parts).value();
        using X = std::remove_cvref_t<decltype(x)>;
        using List = placements_of_t<cotangent_t<X>>;
        return typename distributed_with<decltype(local), mesh_of_t<X>, List>::type(std::move(local), x.handle());
      },
      [parts](auto const&, auto const& d) {
        // a question of tangents alone: the gradient of an operation that is not linear is asked for without them
        static_assert(linear_in_operand<Op, K, std::remove_cvref_t<decltype(std::declval<Part const&>().value())>...> || always_false<decltype(d)>,
                      "sla: custom<Op>(x...): tangents pass operands in which the rule of Op says that it is linear; of others take the gradient");
        auto const operand = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) -> decltype(auto) {
          if constexpr (int(N) == K)
            return (d);
          else
            return (std::get<N>(parts).value());
        };
        return [&]<std::size_t... N>(std::index_sequence<N...>) {
          return called<Op>(operand(std::integral_constant<std::size_t, N>{})...);
        }(std::index_sequence_for<Part...>{});
      });
}
} // namespace detail

/// The result of Op, where Op has
///   static auto apply(x...)                              the kernel on the parts of one rank: plain tensors
///   static auto pullback(operand_number<K>, x..., g)         the K-th gradient of such a part: the adjoint of the kernel
///   template <> inline constexpr auto sla::rule_of<Op> = sla::strategies::einsum("mk,kn->mn"), or another of spmd/rule/table/op_rule.hpp
/// Law: the rule is true of the kernel: of parts of an index it makes the parts (or the terms) of the result.
/// Placement: by the rule. Gradient: by pullback, in the dual placements. Cost: nothing is sent.
/// Errors: shape_error, if operands shard another extent along an axis.
template <class Op, class... X>
  requires((DistributedExpr<X> && ...) && sizeof...(X) > 0)
auto custom(X const&... x) {
  return detail::called<Op>(detail::whole_operand(x)...);
}
template <class Op, class... X>
  requires((detail::TracedDistributedExpr<X> || ...) && ((detail::TracedDistributedExpr<X> || DistributedExpr<X>)&&...))
auto custom(X const&... x) {
  std::tuple const parts(detail::part_of(x)...);
  auto value = std::apply([](auto const&... part) { return detail::called<Op>(part.value()...); }, parts);
  if constexpr (well_typed<Op, plain_t<X>...>)
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return detail::record(detail::home_of(x...), std::move(value), detail::called_rule<Op, int(K)>(parts)...);
    }(std::index_sequence_for<X...>{});
  else
    return detail::record(detail::home_of(x...), std::move(value)); // well-formed, so that the sentence is the only error
}

/// The same of outlines, for schedules: Op::extents<E...> are the extents of the result of parts of these extents.
template <class Op, Outlined... X>
constexpr auto custom(X const&... x) {
  using T = std::common_type_t<typename X::value_type...>;
  return outline_result<Op, shape_only<T, typename Op::template extents<typename X::local_type::extents_type...>>>(x...);
}

} // namespace sla
