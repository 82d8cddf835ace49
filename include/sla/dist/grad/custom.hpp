// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A user's own operation on distributed values: `custom<mm>(x, w)`. Its kernel sees the part of one rank, its rule (rule_of)
// decides the placements, its adjoints carry gradients. How a rule is stated is in spmd/rule/table/op_rule.hpp.
#pragma once

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/value/shares.hpp>
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

/// The extent of what axis a shards, from a part of the result: equal pieces may have been merged or cut by the operation, all others
/// are those of the operands. Errors: shape_error, if the kernel made another extent.
template <class P, class Mesh>
void finish_extent(shared_layout<Mesh>& layout, int a, index_t* sizes) {
  if constexpr (DenseShard<P>) {
    index_t& size = sizes[P::dim];
    if constexpr (P::family::even) {
      size = layout.extent[a] = size * layout.mesh.size(a);
    } else if (index_t const whole = layout.extent[a]; whole != 0) {
      if (index_t const mine = part_extent<typename P::family>(layout, a, layout.mesh.coordinate(a)); size != mine)
        throw shape_error(text("custom<Op>(x...): the kernel made ", size, " indices on dimension ", P::dim, ", and the rule says that the result has the ", mine,
                               " of ", whole, " that this rank's operands have along ", Mesh::name(a), "; check the rule of Op with check_rule"));
      size = whole;
    }
  }
}

/// The layout of a result: what an axis shards is one index of the operands and of the result; of a sparse operand that of its rows,
/// whichever of its indices is sharded.
template <class List, class Local, class... X>
auto called_layout(layout_handle<common_mesh_t<X...>> const& common, Local const& made, X const&... x) {
  using Mesh = common_mesh_t<X...>;
  shared_layout<Mesh> out = *common;
  auto const look = [&]<class... P>(auto const& operand, placements<P...>) {
    int a = 0;
    ((is_sharded(P::kind) ? void(out.extent[a] = operand.handle()->extent[a]) : void(), ++a), ...);
  };
  (look(x, placements_of_t<X>{}), ...);
  if constexpr (is_tensor<Local>) {
    index_t sizes[std::size_t(max_dims)] = {};
    for (int d = 0; d < Local::rank; ++d) sizes[d] = made.extent(d);
    [&]<std::size_t... K>(std::index_sequence<K...>) { // the innermost first
      constexpr auto order = sharding_order<List>::axis;
      (finish_extent<typename placement_number<order[Mesh::rank - 1 - int(K)], List>::type>(out, order[Mesh::rank - 1 - int(K)], sizes), ...);
    }(std::make_index_sequence<std::size_t(Mesh::rank)>{});
  }
  return std::make_shared<shared_layout<Mesh> const>(std::move(out));
}

/// The kernel on the parts of this rank, and one that asks where they stand.
template <class Op, class... X>
auto run_kernel(X const&... x) {
  if constexpr (requires { Op::apply(x.local()...); } || !requires { Op::apply(std::array{share_here(x)...}, x.local()...); })
    return Op::apply(x.local()...);
  else
    return Op::apply(std::array{share_here(x)...}, x.local()...);
}
template <class Op, int K, class G, class... X>
auto run_pullback(G const& g, X const&... x) {
  constexpr operand_number<K> k;
  if constexpr (requires { Op::pullback(k, x.local()..., g); } || !requires { Op::pullback(k, std::array{share_here(x)...}, x.local()..., g); })
    return Op::pullback(k, x.local()..., g);
  else
    return Op::pullback(k, std::array{share_here(x)...}, x.local()..., g);
}

template <class Op, class... X>
auto called(X const&... x) {
  require_well_typed<Op, X...>();
  if constexpr (!well_typed<Op, X...>) {
    return stand_in(x...);
  } else {
    using List = result_placements_t<Op, X...>;
    auto const common = common_layout(x...); // refuses what does not go together before the kernel sees it
    auto local = run_kernel<Op>(x...);
    auto layout = called_layout<List>(common, local, x...);
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
        auto const pullback = [&](auto const&... p) { return run_pullback<Op, K>(part_of_cotangent(g), p.value()...); };
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
/// (or apply(here, x...) and pullback(operand_number<K>, here, x..., g) with here[k], a rank_share: the extents of the whole of operand k and
/// which of its indices this rank has; a rule for `kernel_knows::its_place` is true of no other kernel)
///   template <> inline constexpr auto sla::rule_of<Op> = sla::strategies::einsum("mk,kn->mn"), or another of spmd/rule/table/op_rule.hpp
/// Law: the rule is true of the kernel: of parts of an index it makes the parts (or the terms) of the result.
/// Placement: by the rule. Gradient: by pullback, in the dual placements. Cost: nothing is sent.
/// Errors: shape_error, if operands shard another extent along an axis, or the kernel makes a part of another.
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
      return record(home_of(x...), std::move(value), detail::called_rule<Op, int(K)>(parts)...);
    }(std::index_sequence_for<X...>{});
  else
    return record(home_of(x...), std::move(value)); // well-formed, so that the sentence is the only error
}

/// The same of outlines, for schedules: Op::extents<E...> are the extents of the result of parts of these extents.
template <class Op, Outlined... X>
constexpr auto custom(X const&... x) {
  using T = std::common_type_t<typename X::value_type...>;
  return outline_result<Op, shape_only<T, typename Op::template extents<typename X::local_type::extents_type...>>>(x...);
}

} // namespace sla
