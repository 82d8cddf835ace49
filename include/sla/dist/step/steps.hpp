// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps on one mesh axis, carried out: what a collective or a conversion makes of a rank's part and of its layout. What
// is legal, and each adjoint, is in spmd/step/transition.hpp; the calls are in spmd/step/named_steps.hpp, their gradients in
// dist/step/steps_gradient.hpp.
#pragma once

#include <utility>

#include <sla/dist/step/dense_all_to_all.hpp>
#include <sla/dist/step/dense_shards.hpp>
#include <sla/dist/step/local_ghosts.hpp>
#include <sla/dist/step/step_names.hpp>
#include <sla/dist/step/varying_stack.hpp>
#include <sla/dist/value/reductions.hpp>
#include <sla/spmd/refusal/step_decision.hpp>

namespace sla {

namespace detail {
/// The layout when axis a shards a dimension of this extent by a Family; a found partition is that of `like`, or of
/// `old`.
template <class Family, class Mesh>
layout_handle<Mesh> sharded_layout(layout_handle<Mesh> const& old, int a, index_t extent,
                                 layout_handle<Mesh> const& layout_source) {
  auto const& source = !Family::stated && layout_source && layout_source->rows ? layout_source : old;
  if constexpr (Family::stated)
    require_accepted<Family>(extent, old->mesh.size(a));
  else if (!source->rows || source->rows->extent() != extent)
    throw shape_error(text("a partition found at run time shards ", source->rows ? source->rows->extent() : 0,
                           " indices, and the dimension has ", extent,
                           "; give the layout to shard it by, D.row_layout()"));
  if (old->extent[a] == extent && source->rows == old->rows) return old;
  auto layout = std::make_shared<shared_layout<Mesh>>(*old);
  layout->extent[a] = extent;
  layout->rows = source->rows;
  layout->halo = halo_beside(old->mesh, a, *source);
  layout->domain = source->domain;
  return layout;
}

/// One mesh axis on which a step is taken; several as one are in dist/step/flat_steps.hpp.
template <int A>
struct axes_as_one<A> {
  static constexpr int first = A;
  template <class Mesh>
  static constexpr index_t ranks = Mesh::static_size(A);
  template <class Mesh>
  static rank_group group(shared_layout<Mesh> const& layout) {
    return group_of(layout, A);
  }
  template <class Family, class Mesh>
  static auto sharded(layout_handle<Mesh> const& old, index_t extent, layout_handle<Mesh> const& layout_source) {
    return sharded_layout<Family>(old, A, extent, layout_source);
  }
  template <step How, class Mesh, class From, class To>
  static constexpr std::string_view words() {
    return step_words<How, From, To, Mesh, A>.view();
  }
};

/// One step along Axes: the local value and its layout. `like` has the partition of the result, where it has another
/// one.
template <step How, class From, class To, class Axes, int Dim, class Local, class Mesh>
auto take_step(Local const& x, layout_handle<Mesh> const& layout, layout_handle<Mesh> const& layout_source = {}) {
  using kind = placement_kind;
  constexpr kind from = From::kind, to = To::kind;
  constexpr int A = Axes::first;
  constexpr index_t ranks = Axes::template ranks<Mesh>;
  auto const group = Axes::group(*layout);
  if constexpr (is_one_collective(How)) group.c->name_step(Axes::template words<How, Mesh, From, To>());
  auto const here = [&](auto local) { return std::pair{std::move(local), layout}; };
  if constexpr (How == step::all_reduce) {
    Local out = x;
    all_reduce(*group.c, elements_of(out), From::monoid_type::value);
    return here(std::move(out));
  } else if constexpr (How == step::all_gather) {
    if constexpr (from == kind::varying)
      return here(stack_all<Dim, ranks>(x, group));
    else if constexpr (from == kind::ghost)
      return here(gather_parts<Shard<From::dim, typename From::family>>(
          first_rows<From::dim>(x, plan_of(*layout).own()), group));
    else
      return here(gather_parts<From>(x, group));
  } else if constexpr (How == step::reduce_scatter && to == kind::varying) {
    return here(unstack_fold<Dim>(x, group, From::monoid_type::value));
  } else if constexpr (How == step::reduce_scatter && to == kind::ghost_partial) {
    auto sharded = with_halo_of(layout, A, layout_source ? *layout_source : *layout);
    auto const& plan = plan_of(*sharded);
    require_extent_of_halo(x.extent(To::dim), *sharded);
    auto const own = reduce_parts<Shard<To::dim, typename To::family>>(x, Axes::group(*sharded), monoid::sum);
    return std::pair{among_zeros<To::dim>(own, plan.own() + plan.ghosts()), std::move(sharded)};
  } else if constexpr (How == step::reduce_scatter) {
    auto sharded = Axes::template sharded<typename To::family>(layout, x.extent(To::dim), layout_source);
    auto out = reduce_parts<To>(x, Axes::group(*sharded), From::monoid_type::value);
    return std::pair{std::move(out), std::move(sharded)};
  } else if constexpr (How == step::all_to_all && from == kind::varying) {
    return here(exchange_stacks(x, group));
  } else if constexpr (How == step::all_to_all || How == step::repartition) {
    auto sharded = Axes::template sharded<typename To::family>(
        layout, From::dim == To::dim ? layout->extent[A] : x.extent(To::dim), layout_source);
    auto out = exchange_parts<From, To>(x, group, Axes::group(*sharded));
    return std::pair{std::move(out), std::move(sharded)};
  } else if constexpr (How == step::halo_exchange) {
    auto sharded = with_halo_of(layout, A, layout_source ? *layout_source : *layout);
    auto const& plan = plan_of(*sharded);
    require_rows_of_halo(*layout, *sharded);
    return std::pair{with_halo<From::dim>(x, plan), std::move(sharded)};
  } else if constexpr (How == step::halo_reduce) {
    return here(with_contributions<From::dim>(x, plan_of(*layout)));
  } else if constexpr (std::same_as<From, To> || How == step::reinterpret || is_copied(to)) {
    return here(x);
  } else if constexpr (to == kind::varying) { // out of copies
    return here(unstack_own<Dim>(x, group));
  } else if constexpr (from == kind::varying) { // into a pending sum, as the parts below
    return here(stack_own<Dim, ranks>(x, group));
  } else if constexpr (from == kind::ghost) {
    return here(first_rows<From::dim>(x, plan_of(*layout).own()));
  } else if constexpr (to == kind::ghost_partial) {
    auto sharded = with_halo_of(layout, A, layout_source ? *layout_source : *layout);
    auto const& plan = plan_of(*sharded);
    require_rows_of_halo(*layout, *sharded);
    return std::pair{among_zeros<From::dim>(x, plan.own() + plan.ghosts()), std::move(sharded)};
  } else if constexpr (to == kind::ghost) {
    auto sharded = with_halo_of(layout, A, layout_source ? *layout_source : *layout);
    auto const& plan = plan_of(*sharded);
    require_extent_of_halo(x.extent(To::dim), *sharded);
    return std::pair{picked_rows<To::dim>(x, plan, *sharded->rows), std::move(sharded)};
  } else if constexpr (from == kind::ghost_partial) {
    return here(distributed_rows<From::dim>(x, plan_of(*layout), *layout->rows));
  } else if constexpr (to == kind::shard) { // out of copies
    auto sharded = Axes::template sharded<typename To::family>(layout, x.extent(To::dim), layout_source);
    auto out = cut_part<To>(x, Axes::group(*sharded));
    return std::pair{std::move(out), std::move(sharded)};
  } else if constexpr (from == kind::shard) { // into a pending sum
    return here(pad_part<From>(x, group));
  } else { // copies into a pending sum: one rank keeps them
    static_assert(to == kind::partial);
    Local out = x;
    if (group.rank != 0)
      for (auto& each : elements_of(out)) each = {};
    return here(std::move(out));
  }
}

/// The value itself of what is traced.
template <class X>
decltype(auto) value_under(X const& x) {
  if constexpr (requires { typename X::plain_type; })
    return x.value();
  else
    return (x);
}

/// The step S of x; `layout_source` has the partition of the result, where it has another one.
template <class S, class X>
auto stepped(X const& x, layout_handle<mesh_of_t<stepping_t<X>>> const& layout_source = {}) {
  if constexpr (!is_distributed<X>) {
    return stepped<S>(eval(x), layout_source);
  } else {
    using decided = step_decision<S, X>;
    decided::require();
    constexpr bool on_host = std::same_as<memory_on_ranks_t<X>, host_memory>;
    static_assert(on_host, "sla: gather, collectives, conversions and halos by name send parts that are in host memory: to<host_memory>(x)");
    if constexpr (decided::legal && on_host) {
      using Axes = typename S::axes::template on<mesh_of_t<X>>;
      using List = typename decided::result;
      auto [local, layout] = take_step<S::how, typename decided::From, typename S::to, Axes, S::dim>(x.local(), x.handle(), layout_source);
      static_assert(found_partitions<List> < 2,
                    "sla: two axes would shard a tensor by partitions found at run time, and its layout holds one: "
                    "repartition one of them first, to Shard<d, Balanced>");
      return typename distributed_with<decltype(local), mesh_of_t<X>, List>::type(std::move(local), std::move(layout));
    } else {
      return x;
    }
  }
}
} // namespace detail

template <StepOn S, class X>
requires DistributedExpr<X>
auto perform(S, X const& x, layout_handle<mesh_of_t<detail::stepping_t<X>>> const& layout_source = {}) {
  return detail::stepped<S>(x, layout_source);
}

/// What a step may be taken on: distributed values, expressions of them, and what is traced of either.
template <class X>
concept Stepping = DistributedExpr<X> || DistributedExpr<detail::stepping_t<X>>;

/// To the partition of a layout, found at run time.
template <StepOn S, Stepping X, class Mesh, class... P>
auto perform(S to_take, X const& x, vector_layout<Mesh, P...> const& layout) {
  return perform(to_take, x, layout.handle());
}

} // namespace sla
