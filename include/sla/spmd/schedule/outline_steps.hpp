// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// More of what a generic function may do with outlines: steps on flattened axes, shards in another order, steps that do not
// wait, and steps in other numbers. Steps on one axis are in spmd/schedule/outline_operators.hpp, plans in dist/plan/redistribute.hpp.
#pragma once
#include <type_traits>
#include <utility>

#include <sla/spmd/refusal/flat_decision.hpp>
#include <sla/spmd/schedule/outline_operators.hpp>
#include <sla/spmd/step/precision.hpp>

namespace sla {

// ---- several axes as one

namespace detail {
/// How many ranks these axes have together; open where the type does not tell.
template <class Mesh>
constexpr int ranks_along(std::span<int const> axes) {
  int ranks = 1;
  for (int a : axes) ranks = ranks == dyn || Mesh::static_size(a) == dyn ? static_cast<int>(dyn) : ranks * Mesh::static_size(a);
  return ranks;
}
template <step How, class Axes, class To, bool Insisted, int Dim = 0, class X>
constexpr auto outlined_flat(X const& x) {
  using decided = flat_step_decision<How, To, Insisted, Axes, X>;
  Axes::template require_one_mode<mesh_of_t<X>>();
  if constexpr (decided::why != code::ok) {
    decided::refuse();
    return x;
  } else {
    using From = typename decided::From;
    using Local = typename decltype(stepped_local<How, typename X::local_type, From, To, ranks_along<mesh_of_t<X>>(decided::axes), Dim>())::type;
    scheduled_step s(transition_of<How, From, To>(), decided::axes[0]);
    for (int n = 1; n < decided::count; ++n) s.act_with(decided::axes[n]);
    return after_step<Local, typename decided::result>(x, s);
  }
}
template <class Order, class X>
constexpr auto outlined_order(X const& x) {
  using decided = order_decision<Order, X>;
  if constexpr (decided::why != code::ok) {
    decided::refuse();
    return x;
  } else {
    tensor_placement const before = operand_traits<X>::template value<typename decided::keys>.type, after = decided::found.type;
    scheduled_step s({step::convert, before.on[decided::axes[0]], before.on[decided::axes[0]]}, decided::axes[0]);
    bool first = true;
    for (int a = 0; a < before.axes; ++a) {
      bool named = false;
      for (int b : decided::axes) named = named || a == b;
      if (named && first)
        s.axis = static_cast<std::int8_t>(a);
      else if (named)
        s.act_with(a);
      first = first && !named;
      if (before.on[a] != after.on[a]) s.what = {step::permute_shards, before.on[a], after.on[a]};
    }
    return after_step<typename X::local_type, typename decided::result>(x, s);
  }
}
} // namespace detail

template <detail::Flattened Axes, Placement To = Replicate, Outlined X>
constexpr auto all_reduce(X const& x) {
  return detail::outlined_flat<step::all_reduce, Axes, To, false>(x);
}
template <detail::Flattened Axes, Placement To = Replicate, int Dim = 0, Outlined X>
constexpr auto all_gather(X const& x) {
  return detail::outlined_flat<step::all_gather, Axes, To, false, Dim>(x);
}
template <detail::Flattened Axes, Placement To, int Dim = 0, Outlined X>
constexpr auto reduce_scatter(X const& x) {
  return detail::outlined_flat<step::reduce_scatter, Axes, To, false, Dim>(x);
}
template <detail::Flattened Axes, Placement To, Outlined X>
constexpr auto all_to_all(X const& x) {
  return detail::outlined_flat<step::all_to_all, Axes, To, false>(x);
}
template <detail::Flattened Axes, Placement To, int Dim = 0, Outlined X>
constexpr auto convert(X const& x) {
  return detail::outlined_flat<step::convert, Axes, To, false, Dim>(x);
}
template <detail::Flattened Axes, Placement To, int Dim = 0, Outlined X>
constexpr auto convert(X const& x, expert_t) {
  return detail::outlined_flat<step::convert, Axes, To, true, Dim>(x);
}
template <fixed_string... Axes, Outlined X>
constexpr auto permute_shards(X const& x) {
  return detail::outlined_order<order_of_shards<Axes...>>(x);
}

// ---- the rows of a sparse tensor on other owners, and dense values by a layout

/// By any partitioner, or by the layout of another outline. Bytes: of each entry its values and its place.
template <fixed_string Axis, Placement To, Outlined X, class How>
  requires detail::is_sparse_outline<X>
constexpr auto repartition(X const& x, How const&) {
  return detail::outlined_step<step::repartition, Axis, To, false>(x);
}
template <fixed_string Axis, Placement To, detail::DenseOutline X>
constexpr auto repartition(X const& x, layout_outline) {
  return detail::outlined_step<step::repartition, Axis, To, false>(x);
}
template <fixed_string Axis, Placement To, detail::DenseOutline X>
constexpr auto convert(X const& x, layout_outline) {
  return detail::outlined_step<step::convert, Axis, To, false>(x);
}

// ---- steps that do not wait

/// The outline of a value that is being communicated.
template <Outlined Y>
class [[nodiscard]] pending_outline {
public:
  constexpr explicit pending_outline(Y y) : value_(std::move(y)), step_(value_.record().size() - 1) {}
  constexpr Y wait() && {
    value_.record().await(step_);
    return value_;
  }

private:
  Y value_;
  int step_;
};

namespace detail {
/// y, whose last step goes on.
template <class Y>
constexpr auto under_way(Y y) {
  pending_outline<Y> out(y);
  y.record().leave_under_way();
  return out;
}
} // namespace detail

template <fixed_string Axis, Placement To = Replicate, Outlined X>
constexpr auto all_reduce(X const& x, async_t) {
  return detail::under_way(all_reduce<Axis, To>(x));
}
template <fixed_string Axis, Placement To = Replicate, Outlined X>
constexpr auto all_gather(X const& x, async_t) {
  return detail::under_way(all_gather<Axis, To>(x));
}
template <fixed_string Axis, Placement To, Outlined X>
constexpr auto reduce_scatter(X const& x, async_t) {
  return detail::under_way(reduce_scatter<Axis, To>(x));
}
template <fixed_string Axis, Placement To, Outlined X>
constexpr auto all_to_all(X const& x, async_t) {
  return detail::under_way(all_to_all<Axis, To>(x));
}
template <fixed_string Axis, Placement To, Outlined X>
constexpr auto repartition(X const& x, async_t) {
  return detail::under_way(repartition<Axis, To>(x));
}
template <fixed_string Axis, fixed_string Pattern = "", Outlined X, Outlined A>
constexpr auto halo_exchange(X const& x, A const& a, async_t) {
  return detail::under_way(halo_exchange<Axis, Pattern>(x, a));
}
template <fixed_string Axis, Outlined X>
constexpr auto halo_reduce(X const& x, async_t) {
  return detail::under_way(halo_reduce<Axis>(x));
}

// ---- steps in other numbers

namespace detail {
template <class Local, class T>
struct outline_in;
template <class T, class E, class U>
struct outline_in<shape_only<T, E>, U> {
  using type = shape_only<U, E>;
};
template <class Local, class T>
using outline_in_t = typename outline_in<Local, T>::type;

template <step How, fixed_string Name, class To, int Dim, class... Option, class X>
constexpr auto outlined_in_numbers(X const& x) {
  require_step<How, X, Name, To>();
  if constexpr (!legal_step<How, X, Name, To>) {
    return x;
  } else {
    constexpr int a = mesh_of_t<X>::template index<Name>();
    using From = placement_on_t<X, a>;
    using Before = typename X::local_type;
    using After = local_after<How, X, a, To, Dim>;
    using In = typename X::value_type;
    using forward = chosen_precision<counts_as_reduction<How, From, To>, In, Option...>;
    using Wire = typename forward::wire_type;
    using List = typename replaced<a, To, placements_of_t<X>>::type;
    scheduled_step s(transition_of<How, From, To>(), a);
    static_cast<carried_bytes&>(s) = {bytes_of<outline_in_t<Before, Wire>>(), bytes_of<outline_in_t<After, Wire>>()};
    if constexpr (!std::is_same_v<typename From::dual, no_dual> && !std::is_same_v<typename To::dual, no_dual>) {
      constexpr step how_back = adjoint_of(transition_of<How, From, To>()).how;
      using backward = backward_precision<counts_as_reduction<how_back, typename To::dual, typename From::dual>, typename forward::out_type, In,
                                          typename backward_among<Option...>::type>;
      using Back = typename backward::wire_type;
      s.other_way_back = true;
      s.back = {bytes_of<outline_in_t<After, Back>>(), bytes_of<outline_in_t<Before, Back>>()};
    }
    return after_step<outline_in_t<After, typename forward::out_type>, List>(x, s);
  }
}
} // namespace detail

template <fixed_string Axis, Placement To = Replicate, Outlined X, detail::PrecisionOption... O>
  requires(sizeof...(O) > 0)
constexpr auto all_reduce(X const& x, O...) {
  return detail::outlined_in_numbers<step::all_reduce, Axis, To, 0, O...>(x);
}
template <fixed_string Axis, Placement To = Replicate, int Dim = 0, Outlined X, detail::PrecisionOption... O>
  requires(sizeof...(O) > 0)
constexpr auto all_gather(X const& x, O...) {
  return detail::outlined_in_numbers<step::all_gather, Axis, To, Dim, O...>(x);
}
template <fixed_string Axis, Placement To, int Dim = 0, Outlined X, detail::PrecisionOption... O>
  requires(sizeof...(O) > 0)
constexpr auto reduce_scatter(X const& x, O...) {
  return detail::outlined_in_numbers<step::reduce_scatter, Axis, To, Dim, O...>(x);
}
template <fixed_string Axis, Placement To, Outlined X, detail::PrecisionOption... O>
  requires(sizeof...(O) > 0)
constexpr auto all_to_all(X const& x, O...) {
  return detail::outlined_in_numbers<step::all_to_all, Axis, To, 0, O...>(x);
}
template <fixed_string Axis, Placement To, int Dim = 0, Outlined X, detail::PrecisionOption... O>
  requires(sizeof...(O) > 0)
constexpr auto convert(X const& x, O...) {
  return detail::outlined_in_numbers<step::convert, Axis, To, Dim, O...>(x);
}

} // namespace sla
