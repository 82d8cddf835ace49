// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How users say where a tensor lies: `spec<unsharded, "tp", nested<"dp", "cp">>` by dimension, `named<along<"tp", Shard<0>>>` by axis,
// `named<...>::or_else<Replicate>`, a bare placement for all axes, or `placements<...>` by position: all become the last.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/placement/partition_spec.hpp>

namespace sla {

/// An entry of a specification: `_` (whole on every rank), a name, or `nested<...>`.
struct spec_entry {
  int count = 0;
  bool listed = false;
  fixed_array<int, max_mesh_axes> length{};
  char letters[64]{};

  constexpr spec_entry() = default;
  template <std::size_t N>
  constexpr spec_entry(char const (&name)[N]) { // NOLINT: a literal converts by intent
    add(std::string_view(name, N - 1));
  }
  constexpr void add(std::string_view name) {
    int at = 0;
    for (int n = 0; n < count; ++n) at += length[n];
    for (char c : name) letters[at++] = c;
    length[count++] = static_cast<int>(name.size());
  }
  constexpr std::string_view name(int which) const {
    int at = 0;
    for (int n = 0; n < which; ++n) at += length[n];
    return {letters + at, static_cast<std::size_t>(length[which])};
  }
};

/// A dimension that no axis shards.
inline constexpr spec_entry unsharded{};
/// A dimension that several axes shard, outermost first.
template <fixed_string... Names>
inline constexpr spec_entry nested = [] {
  static_assert(sizeof...(Names) <= max_mesh_axes, "sla: a mesh has at most 6 axes");
  spec_entry out;
  (out.add(Names.view()), ...);
  out.listed = true;
  return out;
}();

/// The axes of one dimension, outermost first, as a type.
template <fixed_string... Names>
struct sharded_on {
  static constexpr int count = static_cast<int>(sizeof...(Names));
  template <class Mesh>
  static constexpr std::int8_t axes[count > 0 ? count : 1] = {static_cast<std::int8_t>(Mesh::find(Names.view()))...};
};
/// A list of axes that has none; no tensor takes it.
struct sharded_on_no_axes {};
/// For each dimension its axes.
template <class... Dims>
struct partition_spec {};

namespace detail {

template <spec_entry E, int... N>
consteval auto sharded_on_names(std::integer_sequence<int, N...>) {
  return sharded_on<[] {
    fixed_string<static_cast<std::size_t>(E.length[N]) + 1> name;
    for (std::size_t c = 0; c < E.name(N).size(); ++c) name.data[c] = E.name(N)[c];
    return name;
  }()...>{};
}
template <spec_entry E>
consteval auto entry_type() {
  if constexpr (E.listed && E.count == 0)
    return sharded_on_no_axes{};
  else
    return sharded_on_names<E>(std::make_integer_sequence<int, E.count>{});
}

} // namespace detail

/// One entry per dimension: `spec<unsharded, "tp">`, `spec<nested<"dp", "tp">, unsharded>`.
template <spec_entry... E>
using spec = partition_spec<decltype(detail::entry_type<E>())...>;

/// A placement on the axis of this name.
template <fixed_string Name, Placement P>
struct along {
  using placement = P;
  static constexpr std::string_view name() { return Name.view(); }
};

/// Placements by the names of their axes, and one for the axes that nothing names.
template <class Rest, class... On>
struct named_or_else {};
/// Placements by the names of axes: `named<along<"tp", Shard<0>>>`, and `::or_else<Replicate>` for those it does not name.
template <class... On>
struct named {
  template <Placement Rest>
  using or_else = named_or_else<Rest, On...>;
};

namespace detail {

/// One thing that is said: the placements that it mentions, and what it says of a tensor's placements.
template <class What>
struct statement_of {
  static_assert(always_false<What>, "sla: a tensor is placed by spec<...>, named<along<axis, P>...>, placements<...>, a placement, "
                                    "or a family for the shards of spec<...>");
};
template <Placement P>
struct statement_of<P> {
  using mentioned = placements<P>;
  template <class Keys, class Request>
  static constexpr void say(Request& r) {
    r.rest = to_value<P, Keys>();
  }
};
template <class... P>
struct statement_of<placements<P...>> {
  using mentioned = placements<P...>;
  template <class Keys, class Request>
  static constexpr void say(Request& r) {
    static_assert(sizeof...(P) == Request::axes, "sla: placements<...> has one placement per mesh axis, in the order of the mesh");
    int a = 0;
    ((r.stated.on[a++] = to_value<P, Keys>()), ...);
    r.positional = true;
  }
};
template <class... On>
struct statement_of<named<On...>> {
  using mentioned = placements<typename On::placement...>;
  template <class Keys, class Request>
  static constexpr void say(Request& r) {
    (r.state(On::name(), to_value<typename On::placement, Keys>()), ...);
  }
};
template <class Rest, class... On>
struct statement_of<named_or_else<Rest, On...>> {
  using mentioned = placements<Rest, typename On::placement...>;
  template <class Keys, class Request>
  static constexpr void say(Request& r) {
    statement_of<named<On...>>::template say<Keys>(r);
    r.rest = to_value<Rest, Keys>();
  }
};
template <class... Dims>
struct statement_of<partition_spec<Dims...>> {
  using mentioned = placements<>;
  template <class Keys, class Request>
  static constexpr void say(Request& r) {
    static_assert(sizeof...(Dims) <= max_dims, "sla: a tensor has at most 8 dimensions");
    r.spec.given = true;
    (r.add(Dims{}), ...);
  }
};
template <ShardFamily F>
struct statement_of<F> {
  using mentioned = placements<Shard<0, F>>;
  template <class Keys, class Request>
  static constexpr void say(Request& r) {
    r.shard = to_value<Shard<0, F>, Keys>();
  }
};

/// What is asked for a tensor of Rank dimensions on a mesh.
template <class Mesh, int Rank>
struct placement_request {
  static constexpr int axes = Mesh::rank;
  tensor_placement stated{static_cast<std::int8_t>(axes), static_cast<std::int8_t>(Rank)};
  spec_value spec{};
  placement_value shard{}, rest{};
  bool positional = false;
  spec_fault fault = spec_fault::none;
  int wrong_axis = -1;

  constexpr void state(std::string_view name, placement_value p) {
    int const a = Mesh::find(name);
    if (a < 0)
      fault = spec_fault::unknown_axis;
    else if (stated.on[a].kind != placement_kind::untyped)
      fault = spec_fault::repeated, wrong_axis = a;
    else
      stated.on[a] = p;
  }
  template <class Sharded>
  constexpr void add(Sharded) {
    auto& d = spec.dim[spec.rank++];
    for (int n = 0; n < Sharded::count; ++n) d.add(Sharded::template axes<Mesh>[n]);
  }
  constexpr void add(sharded_on_no_axes) { spec.listed[spec.rank++] = true; }
};

template <class Mesh, int Rank, class... What>
struct requested_placements {
  using keys = typename joined_keys<placements<Shard<0>>, typename statement_of<What>::mentioned...>::type;

  static constexpr spec_outcome decide() {
    placement_request<Mesh, Rank> r;
    r.shard = to_value<Shard<0>, keys>();
    (statement_of<What>::template say<keys>(r), ...);
    if (r.fault != spec_fault::none) return {.fault = r.fault, .axis = r.wrong_axis};
    if (r.positional && !r.spec.given) return {.type = canonical(r.stated)}; // its order is the mesh's
    return specify(r.stated, r.spec, r.shard, r.rest);
  }
  static constexpr spec_outcome value = decide();

  template <int... A>
  static auto list(std::integer_sequence<int, A...>) {
    if constexpr (value.ok())
      return placements<placement_at<value.type.on[A], keys>...>{};
    else
      return placements<std::conditional_t<(A >= 0), Replicate, void>...>{}; // one error, not a chain
  }
};

/// Never true; its arguments are what a refusal prints.
template <class Mesh, int Rank, class... What>
inline constexpr bool specification_fits = false;

template <class Mesh, int Rank, class... What>
constexpr bool require_specification() {
  constexpr auto f = requested_placements<Mesh, Rank, What...>::value.fault;
  using enum spec_fault;
  if constexpr (f == length)
    static_assert(specification_fits<Mesh, Rank, What...>, "sla[E29]: spec<...> has one entry per dimension of the tensor: unsharded, an axis or nested<...>");
  else if constexpr (f == empty_list)
    static_assert(specification_fits<Mesh, Rank, What...>, "sla[E29]: nested<> names no axis; a dimension that is whole on every rank is written _");
  else if constexpr (f == repeated)
    static_assert(specification_fits<Mesh, Rank, What...>, "sla[E29]: an axis is named twice: it shards one dimension, or holds one placement");
  else if constexpr (f == unknown_axis)
    static_assert(specification_fits<Mesh, Rank, What...>, "sla[E29]: the mesh has no axis of a name that is used; the names are in its type");
  else if constexpr (f == two_forms)
    static_assert(specification_fits<Mesh, Rank, What...>, "sla[E29]: Shard<d> and spec<...> are two ways to say the same; use one of them for a tensor");
  else if constexpr (f == not_sharded)
    static_assert(specification_fits<Mesh, Rank, What...>, "sla[E29]: an axis of spec<...> shards a dimension, and the same axis is said to be Replicate, Invariant or Partial");
  else if constexpr (f == unstated)
    static_assert(specification_fits<Mesh, Rank, What...>, "sla[E29]: nothing is said about an axis of the mesh: name it in spec<...>, or say Replicate, Invariant or "
                  "Partial<> for it, named<along<axis, P>>, or for all others, or_else<P>");
  else if constexpr (f == no_order)
    static_assert(specification_fits<Mesh, Rank, What...>, "sla[E29]: two axes shard one dimension, and the order matters: write spec<nested<outer, inner>, ...>");
  else if constexpr (f == no_dimension)
    static_assert(specification_fits<Mesh, Rank, What...>, "sla[E29]: the tensor has no such dimension to shard");
  return true;
}
template <class Mesh, int Rank, class... What>
struct specified_placements {
  static_assert(require_specification<Mesh, Rank, What...>());
  using type = decltype(requested_placements<Mesh, Rank, What...>::list(std::make_integer_sequence<int, Mesh::rank>{}));
};

template <class X, int Dim>
consteval auto sharded_dim_entry() {
  using Mesh = mesh_of_t<X>;
  constexpr auto order = order_of(tensor_placement_of<std::remove_cvref_t<X>>, Dim);
  return [&]<int... N>(std::integer_sequence<int, N...>) {
    return sharded_on<Mesh::template name_string<order.axis[N]>()...>{};
  }(std::make_integer_sequence<int, order.count>{});
}
template <class X, int... D>
consteval auto spec_of(std::integer_sequence<int, D...>) {
  return partition_spec<decltype(sharded_dim_entry<X, D>())...>{};
}

} // namespace detail

/// Does this say for every axis what it holds of a tensor of Rank dimensions, without contradiction?
template <class Mesh, int Rank, class... What>
concept specifies = detail::requested_placements<Mesh, Rank, What...>::value.ok();

/// The placements, one per mesh axis, that are meant. Errors: E29, one sentence per fault.
template <class Mesh, int Rank, class... What>
using placements_on_t = typename detail::specified_placements<Mesh, Rank, What...>::type;

/// The specification of a dense distributed tensor: for each dimension its axes, outermost first.
template <Distributed X>
using spec_of_t = decltype(detail::spec_of<X>(
    std::make_integer_sequence<int, local_dims<local_of_t<X>>::rank>{}));

} // namespace sla
