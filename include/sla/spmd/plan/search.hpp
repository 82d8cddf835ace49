// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cheapest steps from one placement of a tensor to every other: Dijkstra's algorithm over the graph of
// spmd/plan/moves.hpp, in pieces small enough for the limits of constant evaluation.
#pragma once
#include <cstdint>

#include <sla/spmd/plan/moves.hpp>

namespace sla::plans {

inline constexpr int max_plan_steps = 12;
inline constexpr std::int64_t unreachable_cost = std::int64_t{1} << 62;

/// One step of a plan: what, on which axes (a bit each), and the state after it.
struct plan_step {
  step how = step::convert;
  std::uint8_t axes = 0;
  plan_state after = 0;
  constexpr bool operator==(plan_step const&) const = default;
};

/// The steps from one placement to another. A cost of `unreachable_cost`: there are none.
struct step_list {
  plan_state source = 0;
  std::int64_t cost = 0;
  int size = 0;
  fixed_array<plan_step, max_plan_steps> steps{};
  constexpr bool operator==(step_list const&) const = default;
  constexpr bool reachable() const { return cost < unreachable_cost; }
};

/// How many states can be reached from a state, at most.
template <class = void>
constexpr int count_states(route_problem const& g, plan_state source) {
  auto const u = unpack(source, g.axes);
  int total = 0;
  for (unsigned sharded = 0; sharded < 1u << g.axes; ++sharded) {
    if (sharded & g.fixed) continue;
    int ways = 1, place = 0;
    for (int a = 0; a < g.axes; ++a)
      if (sharded >> a & 1) { // the n-th axis has a dimension, a place and a family: rising factorials
        ways *= (g.dims + place) * g.families;
        ++place;
      } else if (!(g.fixed >> a & 1)) {
        bool const pending = u.kind[a] == plan_partial || (g.to_partial >> a & 1);
        bool const invariant = u.kind[a] == plan_invariant || (g.to_invariant >> a & 1);
        ways *= 1 + pending + invariant + (u.kind[a] == plan_partial && (g.to_partial >> a & 1)); // of another monoid
      }
    total += ways;
  }
  return g.wired.bitwise_replicated ? 2 * total : total; // with the mark and without it
}

/// Distances from one state, as far as the search has come. Ties: fewer steps, then the step that was found first in the
/// order of `for_each_move`; so the result does not depend on the compiler.
template <int Capacity>
struct distances {
  static constexpr int slots = Capacity * 2;
  int size = 0, waiting = 0;
  bool complete = false, overflow = false, marks = false;
  plan_state state[Capacity] = {};
  std::int64_t cost[Capacity] = {};
  std::int16_t before[Capacity] = {};
  std::uint8_t count[Capacity] = {}, axes[Capacity] = {};
  step how[Capacity] = {};
  std::int16_t heap[Capacity] = {}; ///< numbers of the states that wait to be settled, the nearest first
  std::int16_t place[Capacity] = {}; ///< of a state in the heap; -1: it is settled
  std::int16_t table[slots] = {}; ///< by hash: number of a state, plus 1

  static constexpr int hash(plan_state s) { return static_cast<int>((s * 0x9e3779b97f4a7c15ULL >> 40) % slots); }
  /// The number of a state; -1 if it was never reached.
  constexpr int find(plan_state s) const {
    for (int h = hash(s); table[h]; h = h + 1 == slots ? 0 : h + 1)
      if (state[table[h] - 1] == s) return table[h] - 1;
    return -1;
  }
  /// The same with or without the mark, whichever is nearer.
  constexpr int nearest(plan_state s) const {
    int const n = find(s), marked = marks ? find(s | reductions_over) : -1;
    return n < 0 || (marked >= 0 && is_nearer(marked, n)) ? marked : n;
  }
  constexpr std::int64_t to(plan_state s) const {
    int const n = nearest(s);
    return n < 0 ? unreachable_cost : cost[n];
  }
  /// What is nearer than this is settled.
  constexpr std::int64_t frontier() const { return waiting ? cost[heap[0]] : unreachable_cost; }
  /// The distance of what is settled.
  constexpr std::int64_t settled_to(plan_state s) const {
    int const n = nearest(s);
    return n < 0 || place[n] >= 0 ? unreachable_cost : cost[n];
  }
  constexpr int steps_to(plan_state s) const {
    int const n = nearest(s);
    return n < 0 ? 0 : count[n];
  }
  constexpr step_list path(plan_state s) const {
    step_list out;
    out.source = state[0];
    int n = nearest(s);
    if (n < 0 || count[n] > max_plan_steps) return out.cost = unreachable_cost, out;
    out.cost = cost[n];
    out.size = count[n];
    for (int k = out.size; k-- > 0; n = before[n]) out.steps[k] = {how[n], axes[n], state[n]};
    return out;
  }

  constexpr bool is_nearer(int a, int b) const {
    return cost[a] != cost[b] ? cost[a] < cost[b] : count[a] != count[b] ? count[a] < count[b] : a < b;
  }
  template <class = void>
  constexpr void put(int at, int n) {
    heap[at] = static_cast<std::int16_t>(n);
    place[n] = static_cast<std::int16_t>(at);
  }
  /// Brings a state that waits, or that comes to wait, to its place.
  constexpr void rise(int n) {
    int at = place[n];
    for (int up = (at - 1) / 2; at > 0 && is_nearer(n, heap[up]); at = up, up = (at - 1) / 2) put(at, heap[up]);
    put(at, n);
  }
  /// Takes the nearest state from those that wait.
  constexpr int settle() {
    int const nearest = heap[0], last = heap[--waiting];
    place[nearest] = -1;
    if (waiting == 0) return nearest;
    int at = 0;
    for (int down = 1; down < waiting; at = down, down = 2 * at + 1) {
      if (down + 1 < waiting && is_nearer(heap[down + 1], heap[down])) ++down;
      if (is_nearer(last, heap[down])) break;
      put(at, heap[down]);
    }
    put(at, last);
    return nearest;
  }
};

template <int Capacity>
constexpr void relax(distances<Capacity>& r, int from, step how, unsigned axes, plan_state s, std::int64_t step_cost) {
  auto const cost = r.cost[from] + step_cost;
  auto const count = static_cast<std::uint8_t>(r.count[from] + 1);
  int h = r.hash(s);
  while (r.table[h] && r.state[r.table[h] - 1] != s) h = h + 1 == r.slots ? 0 : h + 1;
  int n = r.table[h] - 1;
  if (n < 0) {
    if (r.size == Capacity) {
      r.overflow = true;
      return;
    }
    n = r.size++;
    r.table[h] = static_cast<std::int16_t>(n + 1);
    r.state[n] = s;
    r.marks = r.marks || (s & reductions_over);
    r.place[n] = static_cast<std::int16_t>(r.waiting++);
  } else if (r.place[n] < 0 || cost > r.cost[n] || (cost == r.cost[n] && count >= r.count[n])) {
    return;
  }
  r.cost[n] = cost;
  r.count[n] = count;
  r.before[n] = static_cast<std::int16_t>(from);
  r.how[n] = how;
  r.axes[n] = static_cast<std::uint8_t>(axes);
  r.rise(n);
}

/// What a search looks for: one state, or all. (No pointer: compilers that watch pointers do not take one as a constant.)
struct search_aim {
  bool one = false;
  plan_state state = 0;
};

/// Settles states until so many steps were tried, or until the aim is the nearest.
template <int Capacity>
constexpr void go_on(distances<Capacity>& r, route_problem const& g, int budget, search_aim aim) {
  while (budget > 0) {
    if (r.waiting == 0 || (aim.one && (r.state[r.heap[0]] & ~reductions_over) == aim.state)) {
      r.complete = true;
      return;
    }
    int const at = r.settle();
    budget -= 4; // what a state costs by itself
    for_each_move(g, r.state[at], [&](step how, unsigned axes, plan_state to, std::int64_t cost) {
      --budget;
      relax(r, at, how, axes, to, cost);
    });
  }
}

template <int Capacity>
constexpr distances<Capacity> started(plan_state source) {
  distances<Capacity> r;
  r.size = r.waiting = 1;
  r.state[0] = source;
  r.before[0] = -1;
  r.table[r.hash(source)] = 1;
  return r;
}

template <class = void>
constexpr int capacity_for(route_problem const& g, plan_state source) { return (count_states(g, source) / 32 + 1) * 32; }

// One constant per so many steps: each has the compiler's whole budget. The first are small: often they are enough.
constexpr int steps_in_round(int round) { return round > 2 ? 10000 : 1250 << round; }
template <class Problem, plan_state Source, int Round>
inline constexpr auto search_round = [] {
  constexpr auto g = Problem::value;
  if constexpr (Round == 0) {
    auto r = started<capacity_for(g, Source)>(Source);
    go_on(r, g, steps_in_round(Round), Problem::aim);
    return r;
  } else {
    auto r = search_round<Problem, Source, Round - 1>;
    go_on(r, g, steps_in_round(Round), Problem::aim);
    return r;
  }
}();

template <class Problem, plan_state Source, int Round = 0>
consteval auto const& search_result() {
  if constexpr (search_round<Problem, Source, Round>.complete)
    return search_round<Problem, Source, Round>;
  else
    return search_result<Problem, Source, Round + 1>();
}

/// All distances from a state, as a constant. Problem has `value`, and `aim`, a state to stop at.
template <class Problem, plan_state Source>
inline constexpr auto const& search_v = search_result<Problem, Source>();

/// The same at run time, for sizes that only tests need.
template <int Capacity = 4096>
constexpr distances<Capacity> search(route_problem const& g, plan_state source, plan_state const* target = nullptr) {
  auto r = started<Capacity>(source);
  search_aim const aim = target ? search_aim{true, *target} : search_aim{};
  while (!r.complete) go_on(r, g, Capacity, aim);
  return r;
}

/// What it costs at least to hold something on one axis and something on another, whatever is on the rest.
struct pair_floors {
  static constexpr int ids = 16, last = ids - 1;
  std::int8_t id[max_mesh_axes][128] = {}; ///< of the fields of an axis without their places, from 1 on; many have the last
  std::int8_t known[max_mesh_axes] = {};
  std::int64_t above[max_mesh_axes][max_mesh_axes][ids * ids] = {}; ///< the least cost plus 1 of the pair; 0: it is not settled

  static constexpr unsigned number(unsigned field) { return (field & 31) | (field >> 8) << 5; }
  constexpr int id_of(int a, unsigned field) const { return id[a][number(field)]; }
};
template <int Capacity>
constexpr pair_floors floors_of(distances<Capacity> const& d, int axes) {
  pair_floors out;
  for (int n = 0; n < d.size; ++n) {
    if (d.place[n] >= 0) continue;
    std::int64_t const cost = d.cost[n] + 1;
    int now[max_mesh_axes] = {};
    for (int a = 0; a < axes; ++a) {
      auto& id = out.id[a][pair_floors::number(static_cast<unsigned>(d.state[n] >> (10 * a) & 1023))];
      if (!id) id = out.known[a] < pair_floors::last ? ++out.known[a] : out.known[a];
      now[a] = id;
      for (int b = 0; b <= a; ++b) {
        auto& above = out.above[a][b][now[a] * pair_floors::ids + now[b]];
        if (!above || cost < above) above = cost;
      }
    }
  }
  return out;
}

/// The cost of given steps as a line in the bytes of the tensor.
template <class = void>
constexpr linear_cost line_of(route_problem const& g, step_list const& path) {
  linear_cost total;
  plan_state at = path.source;
  for (int k = 0; k < path.size; ++k) {
    auto const& s = path.steps[k];
    joined_axes j;
    for (int a = 0; a < g.axes; ++a)
      if (s.axes >> a & 1) j.take(g, a);
    auto line = price_of(s.how, j.slowest, j.ranks, parts_of(g, unpack(at, g.axes)));
    if (s.how == step::convert) {
      auto const before = unpack(at, g.axes), after = unpack(s.after, g.axes);
      int a = 0;
      while (!(s.axes >> a & 1)) ++a;
      if (after.kind[a] == plan_invariant) line = {};
      if (before.kind[a] == plan_invariant && after.kind[a] == plan_copies) {
        line = price_of(step::all_reduce, j.slowest, j.ranks, parts_of(g, before));
        line = {line.fixed / 100 * g.wired.backward, line.per_byte / 100 * g.wired.backward};
      }
    }
    total += line;
    at = s.after;
  }
  return total;
}

} // namespace sla::plans
