// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Placements as values: what every rule computes with, and the way from types to values and back.
// The types are in spmd/placement/placement.hpp, the rules in spmd/rule/rules.hpp.
#pragma once
#include <cstdint>
#include <type_traits>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/placement.hpp>

namespace sla {

/// The most axes of a mesh.
inline constexpr int max_mesh_axes = 6;
/// The most operands of an operation.
inline constexpr int max_operands = 6;
/// The most dimensions of a tensor.
inline constexpr int max_dims = 8;

/// One placement as a value. Families and patterns are numbers in a list of types, so that values compare as types do.
struct placement_value {
  placement_kind kind = placement_kind::untyped;
  monoid fold = monoid::none;
  std::int8_t dim = -1; ///< of sparse_shard: 0 rows, 1 columns
  std::int16_t family = -1;
  std::int16_t pattern = -1;
  std::int8_t level = 0; ///< of shard: among the axes that shard one dimension, the lowest is outermost
  constexpr bool operator==(placement_value const&) const = default;
};

/// All that the rules know of an operand: one placement per mesh axis, and how many dimensions it has.
struct tensor_placement {
  std::int8_t axes = 0;   ///< of the mesh
  std::int8_t rank = 0;   ///< dimensions; 0 for a scalar
  std::int8_t batch = -1; ///< batch dimensions of a sparse tensor (*batch, M, N, *block); -1 for a dense one
  fixed_array<placement_value, max_mesh_axes> on{};
  constexpr bool operator==(tensor_placement const&) const = default;
  constexpr bool is_sparse() const { return batch >= 0; }
};

/// Why a program is refused. The sentences are in spmd/refusal/diagnose.hpp.
enum class code : std::uint8_t {
  ok,
  invariant_with_replicate, // E01
  invariant_with_varying,   // E02
  partial_plus_replicate,   // E03
  partial_plus_literal,     // E04
  partial_times_partial,    // E05
  partial_with_varying,     // E06
  nonlinear_in_partial,     // E07
  nonlinear_argument,       // E08
  partial_product_plus_replicate, // E09
  reduction_of_replicate,   // E10
  wrong_collective,         // E11
  local_conversion,         // E12
  unprovable_replicate,     // E13
  expert_only,              // E14
  different_meshes,         // E15
  not_innermost,            // E16
  layouts_differ,           // E17
  unstated_partial,         // E18
  sparse_layouts_differ,    // E19
  narrow_reduction,         // E20
  no_rule,                  // E21
  changed_in_place,         // E22
  uneven_branch,            // E23
  run_time_number,          // E24
  repeated_seed,            // E25
  reshaped_shard,           // E26
  overlapping_axes,         // E27
  local_map_result,         // E28
  no_such_dimension,        // E29
  indivisible,              // E30
  mixed_monoids,            // E31
  reduction_over_ghosts,    // E32
  varying_with_shard,       // E33
  reinterpreted_shard,      // E34
  no_placement,             // E35
  mixed_modes,              // E36
  wrong_seed,               // E37
  ambiguous_rule            // E38
};

/// A refusal: what, on which mesh axis, and the operand that it points at; -1 where there is none.
struct diagnostic {
  code what = code::ok;
  std::int8_t axis = -1, operand = -1;
  constexpr bool operator==(diagnostic const&) const = default;
};

namespace detail {

template <class... T>
struct type_list {};

template <class T, class... List>
consteval std::int16_t index_in(type_list<List...>) {
  bool const same[] = {std::is_same_v<T, List>..., true};
  std::int16_t n = 0;
  while (!same[n]) ++n;
  return n;
}

template <int N, class List>
struct type_at;
template <int N, class... List>
struct type_at<N, type_list<List...>> : type_at_index<N, List...> {};

struct no_key {};

template <class P>
concept HasFamily = requires {
  typename P::family;
};
template <class P>
concept HasPattern = requires {
  typename P::pattern;
};

template <class P>
struct keys { // the types that a placement speaks of
  using family = no_key;
  using pattern = no_key;
};
template <HasFamily P>
struct keys<P> {
  using family = typename P::family;
  using pattern = no_key;
};
template <class P>
requires HasFamily<P> && HasPattern<P>
struct keys<P> {
  using family = typename P::family;
  using pattern = typename P::pattern;
};

/// The list of types against which the placements P... become numbers.
template <class... P>
struct key_list {
  using type = type_list<no_key, typename keys<P>::family..., typename keys<P>::pattern...>;
};

/// The same of the placements in several lists.
template <class List, class... Lists>
struct joined_keys;
template <class... P>
struct joined_keys<placements<P...>> : key_list<P...> {};
template <class... P, class... Q, class... Lists>
struct joined_keys<placements<P...>, placements<Q...>, Lists...> : joined_keys<placements<P..., Q...>, Lists...> {};

template <class P, class Keys>
constexpr placement_value to_value() { // not consteval: clang 16 stores what an immediate call returns wrongly
  placement_value out{P::kind};
  if constexpr (requires { typename P::monoid_type; }) out.fold = P::monoid_type::value;
  if constexpr (requires { P::dim; }) {
    // A dimension that no tensor has stays recognisable when it is stored in a byte.
    out.dim = static_cast<std::int8_t>(P::dim < 0 || P::dim >= max_dims ? max_dims : P::dim);
    out.family = index_in<typename keys<P>::family>(Keys{});
    if constexpr (requires { P::level; }) out.level = static_cast<std::int8_t>(P::level);
    if constexpr (HasPattern<P>) out.pattern = index_in<typename keys<P>::pattern>(Keys{});
  }
  return out;
}

template <monoid M>
consteval auto monoid_type() {
  if constexpr (M == monoid::sum)
    return Sum{};
  else if constexpr (M == monoid::average)
    return Avg{};
  else if constexpr (M == monoid::maximum)
    return Max{};
  else if constexpr (M == monoid::minimum)
    return Min{};
  else
    return Prod{};
}

template <placement_value V, class Keys>
consteval auto to_type() {
  if constexpr (V.kind == placement_kind::untyped)
    return Untyped{};
  else if constexpr (V.kind == placement_kind::replicate)
    return Replicate{};
  else if constexpr (V.kind == placement_kind::invariant)
    return Invariant{};
  else if constexpr (V.kind == placement_kind::varying)
    return Varying{};
  else if constexpr (V.kind == placement_kind::partial)
    return Partial<decltype(monoid_type<V.fold>())>{};
  else {
    using F = typename type_at<V.family, Keys>::type;
    if constexpr (V.kind == placement_kind::shard)
      return Shard<V.dim, F, V.level>{};
    else if constexpr (V.kind == placement_kind::sparse_shard)
      return SparseShard<V.dim, F>{};
    else if constexpr (V.kind == placement_kind::hyper)
      return Hyper<F>{};
    else {
      constexpr auto name = type_at<V.pattern, Keys>::type::value;
      if constexpr (V.kind == placement_kind::ghost)
        return Ghost<V.dim, F, name>{};
      else
        return GhostP<V.dim, F, name>{};
    }
  }
}

template <placement_value V, class Keys>
struct type_of_value {
  using type = decltype(to_type<V, Keys>());
};

} // namespace detail

/// The placement of a value, given the list against which it was numbered; the inverse of `detail::to_value`.
template <placement_value Value, class Keys>
using placement_at = typename detail::type_of_value<Value, Keys>::type;

/// The placement of the gradient as a value; untyped where there is none.
template <class = void>
constexpr placement_value dual(placement_value p) {
  switch (p.kind) {
  case placement_kind::replicate:
    return {placement_kind::partial, monoid::sum};
  case placement_kind::partial:
    return p.fold == monoid::sum ? placement_value{placement_kind::replicate} : placement_value{};
  case placement_kind::ghost:
    p.kind = placement_kind::ghost_partial;
    return p;
  case placement_kind::ghost_partial:
    p.kind = placement_kind::ghost;
    return p;
  default:
    return p;
  }
}

/// The dimension of (*batch, M, N, *block), or of a dense tensor, that a placement shards.
constexpr int sharded_dim(placement_value p, tensor_placement const& t) {
  return p.kind == placement_kind::sparse_shard ? t.batch + p.dim : p.dim;
}

/// Is every placement one that a tensor of this many dimensions can have, and do the pending reductions commute?
template <class = void>
constexpr diagnostic check_placements(tensor_placement const& t) {
  monoid pending = monoid::none;
  for (int a = 0; a < t.axes; ++a) {
    auto const p = t.on[a];
    if (p.kind == placement_kind::partial) {
      bool const alone = pending == monoid::none || pending == p.fold || (is_sum(pending) && is_sum(p.fold));
      if (!alone) return {code::mixed_monoids, static_cast<std::int8_t>(a), 0};
      pending = p.fold;
    }
    if (!is_sharded(p.kind)) continue;
    bool const is_row_or_column = t.is_sparse() && (p.dim == t.batch || p.dim == t.batch + 1);
    bool const entries = p.kind == placement_kind::sparse_shard || p.kind == placement_kind::hyper;
    bool const fits = entries ? t.is_sparse() : p.dim < t.rank && !is_row_or_column;
    if (!fits) return {code::no_such_dimension, static_cast<std::int8_t>(a), 0};
  }
  return {};
}

} // namespace sla
