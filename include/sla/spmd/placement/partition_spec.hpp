// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which axes shard which dimension, and in which order, as values: the specification of a tensor's partition, what may be
// assumed about what ranks hold. How users write both is in spmd/placement/named.hpp.
#pragma once
#include <cstdint>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/order.hpp>
#include <sla/spmd/placement/placement_values.hpp>

namespace sla {

/// What a specification may do wrong (code E29), with the dimension and the axis, -1 where there is none.
enum class spec_fault : std::uint8_t {
  none,
  length,       ///< not one entry per dimension
  empty_list,   ///< a dimension sharded over no axes: write unsharded
  repeated,     ///< an axis twice
  unknown_axis, ///< no axis of the mesh has this name
  two_forms,    ///< a shard is stated beside the specification
  not_sharded,  ///< the axis shards a dimension, and is stated to hold something else
  unstated,     ///< nothing is said about an axis
  no_order,     ///< two axes shard one dimension, without an order
  no_dimension  ///< the tensor has no such dimension
};
/// The placements that a partition spec says, or what is wrong with it.
struct spec_outcome {
  tensor_placement type{};
  spec_fault fault = spec_fault::none;
  int dim = -1, axis = -1;
  constexpr bool ok() const { return fault == spec_fault::none; }
};

/// A specification of axes by number: for each dimension its axes, outermost first. An axis of -1 has no name in the mesh.
struct spec_value {
  bool given = false;
  int rank = 0;
  fixed_array<dim_axes, max_dims> dim{};
  fixed_array<bool, max_dims> listed{}; ///< written as a list, which must not be empty
};

/// The typing of a tensor of `stated.rank` dimensions: what is stated of each axis (untyped: nothing), the specification, and
/// `rest` for the axes of which neither speaks. The specification's shards are of the family of `shard`.
template <class = void>
constexpr spec_outcome specify(tensor_placement const& stated, spec_value const& spec, placement_value shard, placement_value rest) {
  spec_outcome out;
  out.type = stated;
  auto const wrong = [&](spec_fault f, int dim, int axis) { return out.fault = f, out.dim = dim, out.axis = axis, out; };
  fixed_array<bool, max_mesh_axes> named{};
  if (spec.given) {
    if (spec.rank != stated.rank) return wrong(spec_fault::length, spec.rank, -1);
    for (int d = 0; d < spec.rank; ++d) {
      if (spec.listed[d] && spec.dim[d].count == 0) return wrong(spec_fault::empty_list, d, -1);
      for (int n = 0; n < spec.dim[d].count; ++n) {
        int const a = spec.dim[d].axis[n];
        if (a < 0) return wrong(spec_fault::unknown_axis, d, -1);
        if (named[a]) return wrong(spec_fault::repeated, d, a);
        named[a] = true;
        auto const before = stated.on[a].kind;
        if (is_sharded(before)) return wrong(spec_fault::two_forms, d, a);
        if (before != placement_kind::untyped && before != placement_kind::varying)
          return wrong(spec_fault::not_sharded, d, a);
        out.type.on[a] = shard;
        out.type.on[a].dim = static_cast<std::int8_t>(d);
      }
      set_levels(out.type, spec.dim[d]);
    }
  }
  for (int a = 0; a < stated.axes; ++a) {
    auto& p = out.type.on[a];
    if (named[a]) continue;
    if (p.kind == placement_kind::untyped) p = rest;
    if (p.kind == placement_kind::untyped) return wrong(spec_fault::unstated, -1, a);
    if (spec.given && is_sharded(p.kind)) return wrong(spec_fault::two_forms, p.dim, a);
    if (spec.given && p.kind == placement_kind::varying) return wrong(spec_fault::unstated, -1, a);
  }
  if (!spec.given)
    for (int a = 0; a < stated.axes; ++a) {
      auto const p = out.type.on[a];
      if (p.kind != placement_kind::shard) continue;
      if (p.dim < 0 || p.dim >= stated.rank) return wrong(spec_fault::no_dimension, p.dim, a);
      for (int b = 0; b < a; ++b) {
        auto const q = out.type.on[b];
        if (q.kind == p.kind && q.dim == p.dim && q.level == p.level) return wrong(spec_fault::no_order, p.dim, a);
      }
    }
  out.type = canonical(out.type);
  return out;
}

/// May one say of a value with these placements that it has those? Only more may be said, never something else: nothing was
/// known before, or a Varying turns out to be a Shard or a Partial. A dimension that is sharded keeps its axes and order.
template <class = void>
constexpr diagnostic check_assume(tensor_placement const& from, tensor_placement const& to) {
  using kind = placement_kind;
  auto const refuse = [](code why, int a) { return diagnostic{why, static_cast<std::int8_t>(a), 0}; };
  for (int a = 0; a < from.axes; ++a) {
    auto const p = from.on[a], q = to.on[a];
    auto r = q;
    r.level = p.level;
    if (p == r || p.kind == kind::untyped) continue;
    if (p.kind == kind::varying && (q.kind == kind::shard || q.kind == kind::partial)) continue;
    if (is_sharded(p.kind)) return refuse(code::reinterpreted_shard, a);
    return refuse(p.kind == kind::varying ? code::unprovable_replicate : code::local_conversion, a);
  }
  for (int d = 0; d < from.rank; ++d)
    if (auto const before = order_of(from, d); before.count > 0 && !(before == order_of(to, d))) {
      auto const now = order_of(to, d);
      return refuse(code::no_such_dimension, now.axis[now.count - 1]);
    }
  return {};
}
/// The same of a value without gradient whose argument is given up: copies may also be called Varying.
template <class = void>
constexpr diagnostic check_retype(tensor_placement from, tensor_placement const& to) {
  for (int a = 0; a < from.axes; ++a)
    if (to.on[a].kind == placement_kind::varying && is_copied(from.on[a].kind)) from.on[a] = to.on[a];
  return check_assume(from, to);
}

} // namespace sla
