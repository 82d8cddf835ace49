// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives and conversions of distributed tensors: `all_reduce<"tp">(x)`, `all_gather<"tp">(x)`, `reduce_scatter<"tp",
// Shard<0>>(x)`, `convert<"tp", P>(x)`, `reinterpret<"tp", P>(x)`. What is legal, and each adjoint, is in spmd/transition.hpp.
#pragma once

#include <utility>

#include <sla/dist/elementwise.hpp>
#include <sla/dist/reduce.hpp>

namespace sla {

namespace detail {
template <class E, int D>
struct dynamic_at;
template <index_t... E, int D>
struct dynamic_at<Extents<E...>, D> {
  using type = decltype([]<std::size_t... N>(std::index_sequence<N...>) {
    return Extents<(int(N) == D ? dyn : E)...>{};
  }(std::make_index_sequence<sizeof...(E)>{}));
};
/// The local tensor when dimension D is another part of its whole.
template <class Local, int D>
using resized_t = tensor<typename Local::value_type, typename dynamic_at<typename Local::extents_type, D>::type, typename Local::memory_type>;

/// A tensor as outer x extent x inner around one dimension.
template <class E>
std::pair<index_t, index_t> around(E const& extents, int d) {
  index_t outer = 1, inner = 1;
  for (int n = 0; n < d; ++n) outer *= extents[n];
  for (int n = d + 1; n < E::rank; ++n) inner *= extents[n];
  return {outer, inner};
}
template <class To, class E>
To with_extent(E const& extents, int d, index_t size) {
  return [&]<std::size_t... N>(std::index_sequence<N...>) { return To((int(N) == d ? size : extents[int(N)])...); }(
      std::make_index_sequence<std::size_t(E::rank)>{});
}
/// Where piece r's j-th index lies in the whole, pieces of a found partition in ascending order: call it with (r, j).
template <class Family, class Mesh>
auto piece_places(shared_layout<Mesh> const& layout, int a) {
  if constexpr (Family::stated)
    return [&layout, a](int r, index_t j) { return Family::local_to_global(r, j, layout.extent[a], layout.mesh.size(a)); };
  else
    return [owners = &layout.rows->owners(), order = layout.rows->owners().contiguous() ? std::vector<index_t>() : layout.rows->owners().order()](
               int r, index_t j) { return order.empty() ? owners->first(r) + j : order[std::size_t(owners->first(r) + j)]; };
}
/// to[outer][at(j)][inner] = from[outer][j][inner], or back.
template <bool Scatter, class T, class At>
void move_rows(T const* from, T* to, index_t outer, index_t count, index_t whole, index_t inner, At const& at) {
  for (index_t o = 0; o < outer; ++o)
    for (index_t j = 0; j < count; ++j) {
      index_t const part = (o * count + j) * inner, global = (o * whole + at(j)) * inner;
      std::copy_n(from + (Scatter ? part : global), inner, to + (Scatter ? global : part));
    }
}
template <class Family, class Mesh>
std::vector<std::size_t> piece_counts(shared_layout<Mesh> const& layout, int a, index_t each) {
  std::vector<std::size_t> counts;
  for (int r = 0; r < layout.mesh.size(a); ++r) counts.push_back(std::size_t(part_extent<Family>(layout, a, r) * each));
  return counts;
}
/// This rank's n-th index among its own in ascending order.
template <class Family, class Mesh>
index_t ascending_place(shared_layout<Mesh> const& layout, index_t n) {
  if constexpr (Family::stated)
    return n;
  else
    return layout.rows->ascending(layout.rows->global(n));
}

template <class P, class Local, class Mesh>
auto gather_parts(Local const& x, shared_layout<Mesh> const& layout, int a) {
  using F = typename P::family;
  using To = resized_t<Local, P::dim>;
  using T = typename Local::value_type;
  index_t const whole = layout.extent[a], mine = x.extent(P::dim);
  auto const [outer, inner] = around(x.extents(), P::dim);
  To out(with_extent<typename To::extents_type>(x.extents(), P::dim, whole), uninitialized);
  std::vector<T> sent(std::size_t(x.size())), all(std::size_t(out.size()));
  move_rows<true>(x.data(), sent.data(), outer, mine, mine, inner, [&](index_t n) { return ascending_place<F>(layout, n); });
  auto const counts = piece_counts<F>(layout, a, outer * inner);
  all_gather(layout.mesh.communicator(a), std::span<T const>(sent), std::span<T>(all), counts);
  T const* piece = all.data();
  auto const place = piece_places<F>(layout, a);
  for (int r = 0; r < layout.mesh.size(a); ++r) {
    index_t const count = part_extent<F>(layout, a, r);
    move_rows<true>(piece, out.data(), outer, count, whole, inner, [&](index_t j) { return place(r, j); });
    piece += counts[std::size_t(r)];
  }
  return out;
}
template <class P, class Local, class Mesh>
auto cut_part(Local const& x, shared_layout<Mesh> const& layout, int a) {
  using F = typename P::family;
  using To = resized_t<Local, P::dim>;
  index_t const mine = part_extent<F>(layout, a, layout.mesh.coordinate(a));
  auto const [outer, inner] = around(x.extents(), P::dim);
  To out(with_extent<typename To::extents_type>(x.extents(), P::dim, mine), uninitialized);
  move_rows<false>(x.data(), out.data(), outer, mine, layout.extent[a], inner, [&](index_t n) { return part_global<F>(layout, a, n); });
  return out;
}
/// The inverse of cut_part, zeros elsewhere.
template <class P, class Local, class Mesh>
auto pad_part(Local const& x, shared_layout<Mesh> const& layout, int a) {
  using To = resized_t<Local, P::dim>;
  auto const [outer, inner] = around(x.extents(), P::dim);
  To out(with_extent<typename To::extents_type>(x.extents(), P::dim, layout.extent[a]));
  move_rows<true>(x.data(), out.data(), outer, x.extent(P::dim), layout.extent[a], inner,
                  [&](index_t n) { return part_global<typename P::family>(layout, a, n); });
  return out;
}
template <class P, class Local, class Mesh>
auto reduce_parts(Local const& x, shared_layout<Mesh> const& layout, int a, monoid how) {
  using F = typename P::family;
  using To = resized_t<Local, P::dim>;
  using T = typename Local::value_type;
  index_t const whole = layout.extent[a], mine = part_extent<F>(layout, a, layout.mesh.coordinate(a));
  auto const [outer, inner] = around(x.extents(), P::dim);
  To out(with_extent<typename To::extents_type>(x.extents(), P::dim, mine), uninitialized);
  std::vector<T> sent(std::size_t(x.size())), folded(std::size_t(out.size()));
  auto const counts = piece_counts<F>(layout, a, outer * inner);
  T* piece = sent.data();
  auto const place = piece_places<F>(layout, a);
  for (int r = 0; r < layout.mesh.size(a); ++r) {
    move_rows<false>(x.data(), piece, outer, part_extent<F>(layout, a, r), whole, inner, [&](index_t j) { return place(r, j); });
    piece += counts[std::size_t(r)];
  }
  reduce_scatter(layout.mesh.communicator(a), std::span<T const>(sent), std::span<T>(folded), counts, how);
  move_rows<false>(folded.data(), out.data(), outer, mine, mine, inner, [&](index_t n) { return ascending_place<F>(layout, n); });
  return out;
}

/// The layout when axis a deals out a dimension of this extent.
template <class Family, class Mesh>
layout_handle<Mesh> dealt_layout(layout_handle<Mesh> const& old, int a, index_t extent) {
  static_assert(Family::stated, "sla: a Part is found by a partitioner: distribute(x, layout) deals a tensor out by it");
  require_accepted<Family>(extent, old->mesh.size(a));
  if (old->extent[a] == extent) return old;
  auto layout = std::make_shared<shared_layout<Mesh>>(*old);
  layout->extent[a] = extent;
  return layout;
}

/// One step on one axis: the local value and its layout.
template <step How, class From, class To, class Local, class Mesh>
auto take_step(Local const& x, layout_handle<Mesh> const& layout, int a) {
  using kind = placement_kind;
  constexpr kind from = From::kind, to = To::kind;
  static_assert(from != kind::varying && to != kind::varying,
                "sla: a Varying has no parts of one tensor to move: give it a meaning first, reinterpret<axis, Partial<>>(v)");
  any_communicator& c = layout->mesh.communicator(a);
  constexpr bool copies = to == kind::replicate || to == kind::invariant;
  if constexpr (How == step::all_reduce) {
    Local out = x;
    if constexpr (is_tensor<Local>)
      all_reduce(c, std::span(out.data(), std::size_t(out.size())), From::monoid_type::value);
    else
      out = all_reduce(c, out, From::monoid_type::value);
    return std::pair{std::move(out), layout};
  } else if constexpr (How == step::all_gather) {
    return std::pair{gather_parts<From>(x, *layout, a), layout};
  } else if constexpr (How == step::reduce_scatter) {
    auto dealt = layout;
    if constexpr (To::family::stated) dealt = dealt_layout<typename To::family>(layout, a, x.extent(To::dim));
    auto out = reduce_parts<To>(x, *dealt, a, From::monoid_type::value);
    return std::pair{std::move(out), std::move(dealt)};
  } else if constexpr (std::same_as<From, To> || How == step::reinterpret || copies) {
    return std::pair{x, layout};
  } else if constexpr (to == kind::shard) {  // out of copies
    auto dealt = layout;
    if constexpr (To::family::stated) dealt = dealt_layout<typename To::family>(layout, a, x.extent(To::dim));
    auto out = cut_part<To>(x, *dealt, a);
    return std::pair{std::move(out), std::move(dealt)};
  } else if constexpr (from == kind::shard) {  // into a pending sum
    return std::pair{pad_part<From>(x, *layout, a), layout};
  } else {  // copies into a pending sum: one rank keeps them
    static_assert(to == kind::partial);
    Local out = x;
    if (c.rank() != 0) {
      if constexpr (is_tensor<Local>)
        std::fill(out.begin(), out.end(), typename Local::value_type{});
      else
        out = Local{};
    }
    return std::pair{std::move(out), layout};
  }
}

template <class X>
concept Steppable = Placed<X> || is_placed_reduction<std::remove_cvref_t<X>>;

template <step How, fixed_string Name, class To, bool Insisted, class X>
auto stepped(X const& x) {
  if constexpr (!is_distributed<X>) {
    return stepped<How, Name, To, Insisted>(eval(x));
  } else {
    require_step<How, X, Name, To, Insisted>();
    constexpr int a = mesh_of_t<X>::template index<Name>();
    if constexpr (legal_step<How, X, Name, To, Insisted>) {
      auto [local, layout] = take_step<How, placement_on_t<X, a>, To>(x.local(), x.handle(), a);
      using List = typename replaced<a, To, placements_of_t<X>>::type;
      return typename distributed_with<decltype(local), mesh_of_t<X>, List>::type(std::move(local), std::move(layout));
    } else {
      return x;
    }
  }
}
}  // namespace detail

/// The fold of what the ranks of an axis hold, on all of them. Placement: Partial to Replicate (or Invariant).
/// Gradient: to Replicate an all_reduce, to Invariant nothing. Cost: one all_reduce of the local size.
template <fixed_string Axis, Placement To = Replicate, class X>
  requires detail::Steppable<X>
auto all_reduce(X const& x) {
  return detail::stepped<step::all_reduce, Axis, To, false>(x);
}
/// The whole of what an axis deals out, on all its ranks, in the original order. Placement: Shard to Replicate (or Invariant).
/// Gradient: to Replicate a reduce_scatter, to Invariant a cut. Cost: one all_gather.
template <fixed_string Axis, Placement To = Replicate, class X>
  requires detail::Steppable<X>
auto all_gather(X const& x) {
  return detail::stepped<step::all_gather, Axis, To, false>(x);
}
/// This rank's part of the fold. Placement: Partial to Shard<d, F>. Gradient: an all_gather. Cost: one reduce_scatter.
/// Errors: shape_error, if the family cannot deal the dimension out.
template <fixed_string Axis, Placement To, class X>
  requires detail::Steppable<X>
auto reduce_scatter(X const& x) {
  return detail::stepped<step::reduce_scatter, Axis, To, false>(x);
}
template <fixed_string Axis, int Dim, class X>
  requires detail::Steppable<X>
auto reduce_scatter(X const& x) {
  return detail::stepped<step::reduce_scatter, Axis, Shard<Dim>, false>(x);
}
/// The same value in another placement, without communication. Gradient: that of the table in spmd/transition.hpp.
template <fixed_string Axis, Placement To, class X>
  requires detail::Steppable<X>
auto convert(X const& x) {
  return detail::stepped<step::convert, Axis, To, false>(x);
}
template <fixed_string Axis, Placement To, class X>
  requires detail::Steppable<X>
auto convert(X const& x, expert_t) {
  return detail::stepped<step::convert, Axis, To, true>(x);
}
/// What each rank holds, with another meaning: the value changes.
template <fixed_string Axis, Placement To, class X>
  requires detail::Steppable<X>
auto reinterpret(X const& x) {
  return detail::stepped<step::reinterpret, Axis, To, false>(x);
}
template <fixed_string Axis, Placement To, class X>
  requires detail::Steppable<X>
auto reinterpret(X const& x, expert_t) {
  return detail::stepped<step::reinterpret, Axis, To, true>(x);
}

}  // namespace sla
