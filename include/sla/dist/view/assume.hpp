// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Placements that the program states: `untyped(mesh, local)`, `assume<"tp", Shard<0>>(x)`, `retype<Src, Dst>(std::move(x))`,
// `assume_replicated<"tp">(x)`. What may be stated is decided in spmd/placement/partition_spec.hpp; steps that keep values are collectives.
#pragma once

#include <type_traits>
#include <utility>

#include <sla/dist/engine/replicated_arguments.hpp>
#include <sla/dist/value/expression.hpp>
#include <sla/spmd/placement/named.hpp>

namespace sla {

namespace detail {

/// What X would be if all this were said of it; what is not said stays.
template <class X, class... What>
struct stated_placements {
  using Mesh = mesh_of_t<X>;
  static constexpr int rank = local_dims<local_of_t<X>>::rank;
  using keys = typename requested_placements<Mesh, rank, placements_of_t<X>, What...>::keys;
  static constexpr tensor_placement before = operand_traits<X>::template value<keys>.type;

  static constexpr spec_outcome decide() {
    placement_request<Mesh, rank> r;
    r.shard = to_value<Shard<0>, keys>();
    (statement_of<What>::template say<keys>(r), ...);
    spec_outcome out{.fault = r.fault, .axis = r.wrong_axis};
    if (!out.ok()) return out;
    if (r.spec.given) {
      if (out = specify(r.stated, r.spec, r.shard, {placement_kind::replicate}); !out.ok()) return out;
      for (int d = 0; d < rank; ++d)
        for (int n = 0; n < r.spec.dim[d].count; ++n) {
          int const a = r.spec.dim[d].axis[n];
          r.stated.on[a] = out.type.on[a];
        }
    }
    for (int a = 0; a < Mesh::rank; ++a)
      if (r.stated.on[a].kind == placement_kind::untyped) r.stated.on[a] = r.rest.kind == placement_kind::untyped ? before.on[a] : r.rest;
    out.type = canonical(r.stated);
    return out;
  }
  static constexpr spec_outcome value = decide();
  static_assert(value.ok(), "sla[E29]: assume: what is said names an axis that the mesh has not, or one twice, or has not one entry "
                            "per dimension of the tensor");
  template <int... A>
  static auto list(std::integer_sequence<int, A...>) {
    return placements<placement_at<value.type.on[A], keys>...>{};
  }
  using type = decltype(list(std::make_integer_sequence<int, Mesh::rank>{}));
};

/// Never true; its arguments are what a refusal prints.
template <class From, class To>
inline constexpr bool may_be_assumed = false;

template <code Why, class From, class To>
constexpr void require_assumption() {
  if constexpr (Why == code::reinterpreted_shard)
    static_assert(may_be_assumed<From, To>, "sla[E34]: a Shard is known to be one: nothing else may be assumed of it. Write convert, all_gather or reduce_scatter");
  else if constexpr (Why == code::unprovable_replicate)
    static_assert(may_be_assumed<From, To>, "sla[E13]: nothing proves that the ranks hold equal values: assume_replicated<axis>(x) compares them; write all_gather if "
                                            "they are pieces, all_reduce of assume<axis, Partial<>>(x) if they are contributions");
  else if constexpr (Why == code::no_such_dimension)
    static_assert(may_be_assumed<From, To>, "sla[E29]: a dimension that is sharded keeps its axes and their order: nothing more may be assumed of it");
  else if constexpr (Why != code::ok)
    static_assert(may_be_assumed<From, To>, "sla[E12]: an assumption says more about a value (what was unknown, or Varying), it never says something else. Write "
                                            "convert, which keeps the value, or reinterpret; a pending reduction needs all_reduce or reduce_scatter");
}

/// The extents of dimensions that are now said to be sharded, from the parts. Cost: two all_reduces of a number per axis. Errors, on every rank: shape_error, if the parts are not those of the family.
template <class X, class... P>
layout_handle<mesh_of_t<X>> measured_layout(X const& x, placements<P...>) {
  using S = stated_placements<X, placements<P...>>;
  if constexpr (S::value.type == S::before || S::rank == 0) {
    return x.handle();
  } else {
    auto layout = std::make_shared<shared_layout<mesh_of_t<X>>>(*x.handle());
    auto const measure = [&]<class Q>(std::type_identity<Q>, int a, index_t& e) {
      if constexpr (DenseShard<Q>) {
        using F = typename Q::family;
        static_assert(F::stated, "sla: the partition of a Part is found at run time: distribute(x, layout) shards a tensor by it");
        auto& c = layout->mesh.communicator(a);
        layout->extent[a] = F::even ? all_reduce(c, e, monoid::minimum) * c.size() : all_reduce(c, e);
        bool const mine = F::accepts(layout->extent[a], c.size()) && part_extent<F>(*layout, a, c.rank()) == e;
        if (all_reduce(c, std::int64_t(mine), monoid::minimum) == 0)
          throw shape_error(text("assume: the ranks hold a dimension in other shares than the family's (rank ", c.rank(), " has ", e,
                                 " indices of it); say which family sharded them"));
        e = layout->extent[a];
      }
    };
    for (int d = 0; d < S::rank; ++d) {
      auto const order = order_of(S::value.type, d);
      if (order == order_of(S::before, d)) continue;
      index_t e = x.local().extent(d);
      for (int n = order.count; n-- > 0;) { // from the innermost outwards
        int at = 0;
        ((at++ == order.axis[n] ? measure(std::type_identity<P>{}, order.axis[n], e) : void()), ...);
      }
    }
    return layout;
  }
}

template <bool Given, class X, class List>
auto assumed(X x) {
  using S = stated_placements<X, List>;
  constexpr auto why = Given ? check_retype(S::before, S::value.type) : check_assume(S::before, S::value.type);
  require_assumption<why.what, placements_of_t<X>, List>();
  if constexpr (why.what == code::ok) {
    auto layout = measured_layout(x, List{});
    return with_placements_t<X, List>(std::move(x).local(), std::move(layout));
  } else {
    return x; // one error
  }
}

} // namespace detail

/// What this rank has, a tensor or a number, with nothing said about the others. Placement: Untyped on every axis.
template <class Local, class... Axes>
auto untyped(mesh<Axes...> const& m, Local local) {
  using Mesh = mesh<Axes...>;
  auto layout = std::make_shared<shared_layout<Mesh>>();
  layout->mesh = m;
  return [&]<int... A>(std::integer_sequence<int, A...>) {
    return distributed<Local, Mesh, std::conditional_t<(A >= 0), Untyped, void>...>(std::move(local), std::move(layout));
  }(std::make_integer_sequence<int, Mesh::rank>{});
}

/// States what is not known yet, on one axis: of an Untyped anything, of a Varying that its ranks hold shards or contributions.
/// Law: it is so; nothing checks it but extents. Cost: of shards, two all_reduces of a number.
/// Errors: E12, E13, E29, E34 for what would be another meaning; shape_error, if the parts are not those of the family.
template <fixed_string Axis, Placement P, class X>
  requires(is_distributed<std::remove_cvref_t<X>>)
auto assume(X&& x) {
  using T = std::remove_cvref_t<X>;
  constexpr int a = mesh_of_t<T>::template index<Axis>();
  return detail::assumed<false, T, typename detail::replaced<a, P, placements_of_t<T>>::type>(std::forward<X>(x));
}
/// The same on several axes: `assume<spec<unsharded, "tp">>(x)`, `assume<named<along<"dp", Partial<>>>>(x)`; other axes keep what they have.
template <class... What, class X>
  requires(sizeof...(What) > 0 && is_distributed<std::remove_cvref_t<X>>)
auto assume(X&& x) {
  using T = std::remove_cvref_t<X>;
  return detail::assumed<false, T, typename detail::stated_placements<T, What...>::type>(std::forward<X>(x));
}

/// The same value under other placements, with its source stated: `x = retype<named<along<"tp", Replicate>>, named<along<"tp", Varying>>>(
/// std::move(x))`. Beyond what `assume` accepts, copies may be called Varying. Law: no gradient is taken through it.
template <class Source, class Target, class X>
  requires(is_distributed<std::remove_cvref_t<X>>)
auto retype(X&& x) {
  using T = std::remove_cvref_t<X>;
  static_assert(!std::is_lvalue_reference_v<X>, "sla[E22]: retype gives its argument up, since nothing in place changes a placement: auto y = retype<...>(std::move(x))");
  static_assert(std::is_same_v<typename detail::stated_placements<T, Source>::type, placements_of_t<T>>,
                "sla[E29]: retype<Source, Target>: the value does not hold what Source says");
  return detail::assumed<true, T, typename detail::stated_placements<T, Target>::type>(std::forward<X>(x));
}

/// What each rank has of a shard, as a value of its own: the layout is forgotten. Placement: Shard to Varying, on an axis that alone
/// shards its dimension. Gradient: the shards again. Cost: nothing.
template <fixed_string Axis, class X>
  requires(is_distributed<std::remove_cvref_t<X>>)
auto as_local(X&& x) {
  using T = std::remove_cvref_t<X>;
  using From = placement_along_t<T, Axis>;
  static_assert(From::kind == placement_kind::shard, "sla[E11]: as_local<axis>(x): x is no Shard on the axis; other placements are what each rank has already");
  if constexpr (From::kind == placement_kind::shard) {
    constexpr auto order = order_of(detail::stated_placements<T, placements_of_t<T>>::before, From::dim);
    static_assert(order.count == 1, "sla[E16]: as_local<axis>(x): another axis shards the same dimension, and its parts would be of no tensor. Gather one of them first");
  }
  auto layout = x.handle();
  return with_placement_t<T, Axis, Varying>(std::forward<X>(x).local(), std::move(layout));
}

/// States that the ranks of an axis hold equal values, and compares them. Placement: Untyped or Varying to Replicate.
/// Cost: one pass over x and one collective of 8 bytes per rank. Errors, on every rank of the axis: value_error, if they differ.
template <fixed_string Axis, class X>
  requires(is_distributed<std::remove_cvref_t<X>>)
auto assume_replicated(X&& x) {
  using T = std::remove_cvref_t<X>;
  using From = placement_along_t<T, Axis>;
  static_assert(From::kind == placement_kind::untyped || From::kind == placement_kind::varying,
                "sla[E12]: assume_replicated<axis>(x): only of an Untyped or a Varying; a pending sum needs all_reduce, shards all_gather");
  T value(std::forward<X>(x));
  auto& c = value.mesh().template communicator<Axis>();
  std::uint64_t hash = 0;
  if constexpr (is_tensor<typename T::local_type>)
    hash = detail::hash_of(value.local());
  else
    hash = detail::hash_bytes(&value.local(), sizeof value.local());
  auto const all = all_gather(c, hash);
  for (int r = 1; r < c.size(); ++r)
    if (all[std::size_t(r)] != all[0] && c.engine() != "fake")
      throw value_error(text("assume_replicated: on axis ", Axis.view(), " rank ", r, " holds another value than rank 0"));
  auto layout = value.handle();
  return with_placement_t<T, Axis, Replicate>(std::move(value).local(), std::move(layout));
}

} // namespace sla
