// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The placements that one tensor can have as a graph: states in 64 bits, and the steps that lead from one to another.
// Costs are in spmd/plan/cost.hpp, the search in spmd/plan/search.hpp.
#pragma once
#include <cstdint>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/placement_values.hpp>
#include <sla/spmd/plan/cost.hpp>

namespace sla::plans {

inline constexpr int max_plan_families = 4;

/// A placement of all axes. Ten bits each: kind, dimension or monoid, place in the dimension's list, family.
using plan_state = std::uint64_t;

/// The axes that shard a dimension, and those of them that shard it evenly: a bit each.
struct sharded_axes {
  std::uint8_t all = 0, even = 0;
  constexpr bool operator==(sharded_axes const&) const = default;
  constexpr bool has(sharded_axes part) const { return !(part.all & ~unsigned{all}) && !(part.even & ~unsigned{even}); }
  constexpr void add(int a, bool is_even) {
    all = static_cast<std::uint8_t>(all | 1U << a);
    even = static_cast<std::uint8_t>(even | unsigned{is_even} << a);
  }
};

/// What is given when one tensor is to change its placements.
struct route_problem {
  std::int8_t axes = 0, dims = 0;
  fixed_array<int, max_mesh_axes> size{};
  topology wired{};
  std::int64_t bytes = 0; ///< of the whole tensor; 0: unknown, plans are ordered by the kinds of their steps
  std::uint8_t fixed = 0; ///< a bit per axis whose placement no step changes: Varying, and all of sparse operands
  std::uint8_t sharded = 0; ///< those of them that shard the tensor
  std::uint8_t to_partial = 0, to_invariant = 0; ///< axes that a step may make a pending sum; Invariant
  bool insisted = false;                         ///< Replicate may become Invariant
  std::int8_t families = 0;
  fixed_array<bool, max_plan_families> even{}, reachable{}; ///< may a step shard a dimension by it?
  fixed_array<std::int64_t, max_dims> extent{};             ///< of the whole tensor; 0: unknown
  bool avoid_new_even_shards = false; ///< extents may be indivisible: no Even shards but those of the source and of the target
  fixed_array<sharded_axes, max_dims> source_axes{}, target_axes{}; ///< of each dimension
  fixed_array<bool, max_plan_families> rejects_some_extents{}; ///< Table, Strided: a shard of it is made only where one of `model` has it
  fixed_array<plan_state, max_operands + 1> model{}; ///< for those: the target, or what is known of all operands of a call
  std::int8_t models = 0;
  constexpr bool operator==(route_problem const&) const = default;
};

/// A mark in a state, where all ranks are to get the same bits: a step has replicated, so a pending reduction stays pending.
inline constexpr plan_state reductions_over = plan_state{1} << 60;

enum : unsigned { plan_copies, plan_invariant, plan_partial, plan_shard };

constexpr unsigned plan_field(unsigned kind, unsigned what = 0, unsigned place = 0, unsigned family = 0) {
  return kind | what << 2 | place << 5 | family << 8;
}
constexpr plan_state with_field(plan_state s, int a, unsigned field) {
  return (s & ~(plan_state{1023} << (10 * a))) | plan_state{field} << (10 * a);
}

/// A state as lists: for each dimension the axes that shard it, the outermost first.
struct unpacked {
  unsigned char kind[max_mesh_axes] = {}, what[max_mesh_axes] = {}, family[max_mesh_axes] = {};
  signed char list[max_dims][max_mesh_axes] = {};
  int length[max_dims] = {};
};
template <class = void>
constexpr unpacked unpack(plan_state s, int axes) {
  unpacked u;
  for (int a = 0; a < axes; ++a) {
    unsigned const field = static_cast<unsigned>(s >> (10 * a) & 1023);
    u.kind[a] = field & 3;
    u.what[a] = field >> 2 & 7;
    u.family[a] = static_cast<unsigned char>(field >> 8);
    if (u.kind[a] == plan_shard) {
      u.list[u.what[a]][field >> 5 & 7] = static_cast<signed char>(a);
      ++u.length[u.what[a]];
    }
  }
  return u;
}

struct joined_axes { // several axes as one
  std::int64_t ranks = 1;
  wires slowest{0, std::int64_t{1} << 40};
  constexpr void take(route_problem const& g, int a) {
    auto const& w = g.wired.along[a];
    ranks *= g.size[a];
    if (w.latency_ns > slowest.latency_ns) slowest.latency_ns = w.latency_ns;
    if (w.megabytes_per_s < slowest.megabytes_per_s) slowest.megabytes_per_s = w.megabytes_per_s;
  }
};

/// How many parts the shards make of the tensor.
constexpr std::int64_t parts_of(route_problem const& g, unpacked const& u) {
  std::int64_t parts = 1;
  for (int a = 0; a < g.axes; ++a)
    if (u.kind[a] == plan_shard || (g.sharded >> a & 1)) parts *= g.size[a];
  return parts;
}

template <class = void>
constexpr std::int64_t price(route_problem const& g, step how, joined_axes const& j, std::int64_t parts) {
  if (g.bytes == 0) return class_of(how, j.ranks);
  return price_of(how, j.slowest, j.ranks, parts).at(g.bytes < largest_priced ? g.bytes : largest_priced);
}

/// Is an axis, as number `place` in the list of dimension d, where a model has it, the axes outside of it too?
template <class = void>
constexpr bool follows_model(route_problem const& g, unpacked const& u, int d, int place, int a, int family) {
  for (int n = 0; n < g.models; ++n) {
    auto const w = unpack(g.model[n], g.axes);
    bool same = place < w.length[d] && w.list[d][place] == a && w.family[a] == family;
    for (int i = 0; i < place && same; ++i) same = u.list[d][i] == w.list[d][i] && u.family[u.list[d][i]] == w.family[w.list[d][i]];
    if (same) return true;
  }
  return false;
}

/// Are all of a state's shards by families that do not accept every extent where a model has them?
template <class = void>
constexpr bool follows_models(route_problem const& g, plan_state s) {
  auto const u = unpack(s, g.axes);
  for (int d = 0; d < g.dims; ++d)
    for (int i = 0; i < u.length[d]; ++i)
      if (int const a = u.list[d][i]; g.rejects_some_extents[u.family[a]] && !follows_model(g, u, d, i, a, u.family[a])) return false;
  return true;
}

/// May these axes shard dimension d by the family, inside of the first `outside` axes of its list?
template <class = void>
constexpr bool may_arrive(route_problem const& g, unpacked const& u, int d, int outside, unsigned mask, int family) {
  if (g.rejects_some_extents[family]) {
    int a = 0;
    while (!(mask >> a & 1)) ++a;
    return g.reachable[family] && mask == 1u << a && follows_model(g, u, d, outside, a, family);
  }
  if (!g.reachable[family] || !g.even[family] || (!g.avoid_new_even_shards && !g.extent[d])) return g.reachable[family];
  sharded_axes then;
  for (int a = 0; a < g.axes; ++a)
    if (mask >> a & 1) then.add(a, true);
  for (int i = 0; i < outside; ++i) then.add(u.list[d][i], g.even[u.family[u.list[d][i]]]);
  if (!g.extent[d]) return !g.avoid_new_even_shards || g.source_axes[d].has(then) || g.target_axes[d].has(then);
  std::int64_t pieces = 1;
  for (int a = 0; a < g.axes; ++a)
    if (then.all >> a & 1) pieces *= g.size[a];
  return g.extent[d] % pieces == 0;
}

/// f(dimension, family, state) for every way to append the axes order[0..n) to a dimension's list.
template <class F>
constexpr void for_each_arrival(route_problem const& g, unpacked const& u, plan_state s, signed char const* order, int n,
                                int except, F const& f) {
  unsigned mask = 0;
  for (int i = 0; i < n; ++i) mask |= 1u << order[i];
  for (int d = 0; d < g.dims; ++d) {
    if (d == except) continue;
    for (int family = 0; family < g.families; ++family) {
      if ((n > 1 && !g.even[family]) || !may_arrive(g, u, d, u.length[d], mask, family)) continue;
      plan_state to = s;
      for (int i = 0; i < n; ++i)
        to = with_field(to, order[i],
                        plan_field(plan_shard, static_cast<unsigned>(d), static_cast<unsigned>(u.length[d] + i), static_cast<unsigned>(family)));
      f(to);
    }
  }
}

constexpr unsigned pending_on(route_problem const& g, unpacked const& u) {
  unsigned axes = 0;
  for (int a = 0; a < g.axes; ++a)
    if (u.kind[a] == plan_partial) axes |= 1u << a;
  return axes;
}
/// The mark of a state whose copies a step has made, while reductions are pending on these axes.
constexpr plan_state mark_of(route_problem const& g, unsigned pending) { return g.wired.bitwise_replicated && pending ? reductions_over : 0; }

/// Steps that finish pending reductions of one monoid on a set of axes.
template <class F>
constexpr void for_each_reduction(route_problem const& g, unpacked const& u, plan_state s, std::int64_t parts, F const& f) {
  unsigned const pending = pending_on(g, u);
  if (s & reductions_over) return;
  for (unsigned set = pending; set; set = (set - 1) & pending) {
    joined_axes j;
    signed char order[max_mesh_axes] = {};
    int n = 0;
    bool alike = true;
    plan_state copies = s, invariant = s;
    for (int a = 0; a < g.axes; ++a)
      if (set >> a & 1) {
        j.take(g, a);
        alike = alike && (n == 0 || u.what[a] == u.what[order[0]]);
        order[n++] = static_cast<signed char>(a);
        copies = with_field(copies, a, plan_field(plan_copies));
        invariant = with_field(invariant, a, plan_field(plan_invariant));
      }
    if (!alike) continue;
    auto const reduced = price(g, step::all_reduce, j, parts);
    auto const mark = mark_of(g, pending & ~set);
    f(step::all_reduce, set, copies | mark, reduced);
    if (!(set & ~unsigned{g.to_invariant})) f(step::all_reduce, set, invariant | mark, reduced);
    auto const scattered = price(g, step::reduce_scatter, j, parts);
    for_each_arrival(g, u, s, order, n, -1, [&](plan_state to) { f(step::reduce_scatter, set, to, scattered); });
  }
}

/// Steps that gather or move the last axes of a dimension's list. Several at once only where their pieces are equal:
/// uneven pieces of uneven pieces are not the pieces of all ranks together.
template <class F>
constexpr void for_each_suffix(route_problem const& g, unpacked const& u, plan_state s, std::int64_t parts, F const& f) {
  auto const mark = mark_of(g, pending_on(g, u));
  for (int d = 0; d < g.dims; ++d) {
    joined_axes j;
    unsigned set = 0;
    bool even = true;
    plan_state copies = s, invariant = s;
    for (int n = 1; n <= u.length[d]; ++n) {
      int const a = u.list[d][u.length[d] - n];
      even = even && g.even[u.family[a]];
      if (n > 1 && !even) break;
      set |= 1u << a;
      j.take(g, a);
      copies = with_field(copies, a, plan_field(plan_copies));
      invariant = with_field(invariant, a, plan_field(plan_invariant));
      auto const gathered = price(g, step::all_gather, j, parts), moved = price(g, step::all_to_all, j, parts);
      f(step::all_gather, set, copies | mark, gathered);
      if (!(set & ~unsigned{g.to_invariant})) f(step::all_gather, set, invariant | mark, gathered);
      for_each_arrival(g, u, s, u.list[d] + u.length[d] - n, n, d, [&](plan_state to) { f(step::all_to_all, set, to, moved); });
      if (n > 1) continue;
      for (int family = 0; family < g.families; ++family) // the same axis and place, another family
        if (family != u.family[a] && may_arrive(g, u, d, u.length[d] - 1, set, family))
          f(step::repartition, set,
            with_field(s, a, plan_field(plan_shard, static_cast<unsigned>(d), static_cast<unsigned>(u.length[d] - 1), static_cast<unsigned>(family))),
            price(g, step::repartition, j, parts));
    }
  }
}

/// The k-th order of n axes.
template <class = void>
constexpr fixed_array<int, max_mesh_axes> search_order(int n, int k) {
  fixed_array<int, max_mesh_axes> left{}, order{};
  for (int i = 0; i < n; ++i) left[i] = i;
  int weight = 1;
  for (int i = 2; i <= n; ++i) weight *= i;
  for (int i = 0; i < n; ++i) {
    weight /= n - i;
    int const pick = k / weight;
    k %= weight;
    order[i] = left[pick];
    for (int m = pick; m + 1 < n - i; ++m) left[m] = left[m + 1];
  }
  return order;
}

/// Other orders of the axes that shard one dimension, all in equal pieces: each rank sends its part to one other.
template <class F>
constexpr void for_each_order(route_problem const& g, unpacked const& u, plan_state s, std::int64_t parts, F const& f) {
  for (int d = 0; d < g.dims; ++d) {
    int const n = u.length[d];
    bool even = n > 1;
    for (int i = 0; i < n; ++i) even = even && g.even[u.family[u.list[d][i]]];
    if (!even) continue;
    int total = 1;
    for (int i = 2; i <= n; ++i) total *= i;
    for (int k = 1; k < total; ++k) {
      auto const order = search_order(n, k);
      unsigned set = 0;
      joined_axes j;
      plan_state to = s;
      for (int i = 0; i < n; ++i) {
        int const a = u.list[d][order[i]];
        if (order[i] == i) continue;
        set |= 1u << a;
        j.take(g, a);
        to = with_field(to, a, plan_field(plan_shard, static_cast<unsigned>(d), static_cast<unsigned>(i), u.family[a]));
      }
      f(step::permute_shards, set, to, price(g, step::permute_shards, j, parts));
    }
  }
}

/// f(step, axes, state after it, cost) for every step out of a state, in a fixed order.
template <class F>
constexpr void for_each_move(route_problem const& g, plan_state s, F const& f) {
  auto const u = unpack(s, g.axes);
  auto const parts = parts_of(g, u);
  for_each_reduction(g, u, s, parts, f);
  for_each_suffix(g, u, s, parts, f);
  for_each_order(g, u, s, parts, f);
  for (int a = 0; a < g.axes; ++a) {
    if ((g.fixed >> a & 1) || u.kind[a] > plan_invariant) continue;
    joined_axes j;
    j.take(g, a);
    unsigned const set = 1u << a;
    bool const copies = u.kind[a] == plan_copies;
    auto const at = static_cast<signed char>(a);
    auto const local = price(g, step::convert, j, parts);
    for_each_arrival(g, u, s, &at, 1, -1, [&](plan_state to) { f(step::convert, set, to, local); });
    if ((g.to_partial >> a & 1) && (copies || g.insisted))
      f(step::convert, set, with_field(s, a, plan_field(plan_partial, static_cast<unsigned>(monoid::sum))) | mark_of(g, set), local);
    if (!copies)
      f(step::convert, set, with_field(s, a, plan_field(plan_copies)),
        price(g, step::all_reduce, j, parts) / 100 * (g.bytes ? g.wired.backward : 0));
    else if (g.insisted && (g.to_invariant >> a & 1))
      f(step::convert, set, with_field(s, a, plan_field(plan_invariant)), 0);
  }
}

} // namespace sla::plans
