// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The planner of one tensor against brute force: another model of placements and steps, and Bellman-Ford over all of its
// states, for all pairs of placements on meshes of one, two and three axes.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "catch.hpp"

#include <sla/spmd/plan/route.hpp>

namespace test_plan_search {

using namespace sla;
using namespace sla::plans;

namespace {

// ---- the other model: a letter per axis, and per dimension the axes that shard it, the outermost first
struct world {
  std::vector<int> size;
  int dims;
  topology wired;
  std::int64_t bytes;
  int axes() const { return static_cast<int>(size.size()); }
};
struct held {
  std::string kind;                    // R, P, S per axis
  std::vector<std::vector<int>> lists; // per dimension
  auto operator<=>(held const&) const = default;
};

void all_states(world const& w, held h, int axis, std::vector<held>& out) {
  if (axis == w.axes()) {
    out.push_back(h);
    return;
  }
  for (char k : {'R', 'P'}) {
    h.kind[std::size_t(axis)] = k;
    all_states(w, h, axis + 1, out);
  }
  h.kind[std::size_t(axis)] = 'S';
  for (auto& list : h.lists)
    for (std::size_t at = 0; at <= list.size(); ++at) {
      list.insert(list.begin() + std::ptrdiff_t(at), axis);
      all_states(w, h, axis + 1, out);
      list.erase(list.begin() + std::ptrdiff_t(at));
    }
}
std::vector<held> all_states(world const& w) {
  std::vector<held> out;
  all_states(w, {std::string(w.size.size(), 'R'), std::vector<std::vector<int>>(std::size_t(w.dims))}, 0, out);
  return out;
}

struct edge {
  held to;
  step how;
  unsigned axes;
  std::int64_t cost;
};

// In units of 2^-16 ps: latency per round, and bytes over the slowest wire.
std::int64_t cost(world const& w, held const& h, step how, std::vector<int> const& axes) {
  std::int64_t n = 1, latency = 0, slow = 1 << 30, parts = 1;
  for (int a : axes) {
    n *= w.size[std::size_t(a)];
    latency = std::max(latency, w.wired.along[a].latency_ns);
    slow = std::min(slow, w.wired.along[a].megabytes_per_s);
  }
  for (int a = 0; a < w.axes(); ++a)
    if (h.kind[std::size_t(a)] == 'S') parts *= w.size[std::size_t(a)];
  std::int64_t const beta = (std::int64_t{1000000} << 16) / slow;
  std::int64_t rounds = 0, per_byte = 0;
  if (how == step::all_gather) rounds = n - 1, per_byte = beta * (n - 1) / parts;
  if (how == step::all_to_all || how == step::reduce_scatter) rounds = n - 1, per_byte = beta * (n - 1) / n / parts;
  if (how == step::all_reduce) rounds = 2 * (n - 1), per_byte = 2 * (beta * (n - 1) / n / parts);
  if (how == step::permute_shards) rounds = 1, per_byte = beta / parts;
  if (how == step::convert) return std::int64_t{1000} << 16;
  return ((rounds * latency * 1000) << 16) + per_byte * w.bytes;
}

unsigned bits(std::vector<int> const& axes) {
  unsigned b = 0;
  for (int a : axes) b |= 1u << a;
  return b;
}

std::vector<edge> moves(world const& w, held const& h, unsigned may_be_sum) {
  std::vector<edge> out;
  auto const put = [&](held const& to, step how, std::vector<int> const& axes) { out.push_back({to, how, bits(axes), cost(w, h, how, axes)}); };
  for (unsigned set = 1; set < 1u << w.axes(); ++set) {
    std::vector<int> axes;
    bool pending = true;
    for (int a = 0; a < w.axes(); ++a)
      if (set >> a & 1) {
        axes.push_back(a);
        pending = pending && h.kind[std::size_t(a)] == 'P';
      }
    if (!pending) continue;
    held to = h;
    for (int a : axes) to.kind[std::size_t(a)] = 'R';
    put(to, step::all_reduce, axes);
    for (int a : axes) to.kind[std::size_t(a)] = 'S';
    for (auto& list : to.lists) {
      auto const old = list;
      list.insert(list.end(), axes.begin(), axes.end());
      put(to, step::reduce_scatter, axes);
      list = old;
    }
  }
  for (std::size_t d = 0; d < h.lists.size(); ++d) {
    auto const& list = h.lists[d];
    for (std::size_t begin = 0; begin < list.size(); ++begin) {
      std::vector<int> const axes(list.begin() + std::ptrdiff_t(begin), list.end());
      held to = h;
      to.lists[d].resize(begin);
      for (std::size_t e = 0; e < h.lists.size(); ++e)
        if (e != d) {
          held moved = to;
          moved.lists[e].insert(moved.lists[e].end(), axes.begin(), axes.end());
          put(moved, step::all_to_all, axes);
        }
      for (int a : axes) to.kind[std::size_t(a)] = 'R';
      put(to, step::all_gather, axes);
    }
    auto order = list;
    std::sort(order.begin(), order.end());
    do {
      std::vector<int> changed;
      for (std::size_t i = 0; i < list.size(); ++i)
        if (order[i] != list[i]) changed.push_back(order[i]);
      held to = h;
      to.lists[d] = order;
      if (!changed.empty()) put(to, step::permute_shards, changed);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  for (int a = 0; a < w.axes(); ++a) {
    if (h.kind[std::size_t(a)] != 'R') continue;
    held to = h;
    to.kind[std::size_t(a)] = 'S';
    for (auto& list : to.lists) {
      list.push_back(a);
      put(to, step::convert, {a});
      list.pop_back();
    }
    to.kind[std::size_t(a)] = 'P';
    if (may_be_sum >> a & 1) put(to, step::convert, {a});
  }
  return out;
}

tensor_placement typed(world const& w, held const& h) {
  tensor_placement t;
  t.axes = static_cast<std::int8_t>(w.axes());
  t.rank = static_cast<std::int8_t>(w.dims);
  for (int a = 0; a < w.axes(); ++a) {
    t.on[a] = {placement_kind::replicate};
    if (h.kind[std::size_t(a)] == 'P') t.on[a] = {placement_kind::partial, monoid::sum};
  }
  for (std::size_t d = 0; d < h.lists.size(); ++d)
    for (std::size_t i = 0; i < h.lists[d].size(); ++i)
      t.on[h.lists[d][i]] = {placement_kind::shard, monoid::none, static_cast<std::int8_t>(d), 0, -1, static_cast<std::int8_t>(i)};
  return t;
}

plan_setting setting(world const& w) {
  plan_setting m;
  m.axes = static_cast<std::int8_t>(w.axes());
  for (int a = 0; a < w.axes(); ++a) m.size[a] = w.size[std::size_t(a)];
  m.wired = w.wired;
  m.families = 1;
  m.even[0] = m.stated[0] = true;
  m.plain = 0;
  return m;
}

struct best {
  std::int64_t cost = unreachable_cost;
  int steps = 0;
  bool operator<(best const& o) const { return cost != o.cost ? cost < o.cost : steps < o.steps; }
};

/// Every `every`-th source against all targets. Returns how many pairs were compared.
int compare_all_pairs(world const& w, std::size_t every = 1) {
  auto const states = all_states(w);
  std::map<held, std::size_t> number;
  for (std::size_t n = 0; n < states.size(); ++n) number[states[n]] = n;
  std::vector<std::vector<std::vector<edge>>> out; // by what may become a pending sum, then by state
  for (unsigned sums = 0; sums < 1u << w.axes(); ++sums) {
    out.emplace_back();
    for (auto const& s : states) out.back().push_back(moves(w, s, sums));
  }
  int pairs = 0, wrong = 0;
  for (std::size_t source = 0; source < states.size(); source += every) {
    std::map<unsigned, std::vector<best>> known;
    for (std::size_t target = 0; target < states.size(); ++target) {
      unsigned sums = 0; // a pending sum is made only where the target has one and the source was not sharded
      for (int a = 0; a < w.axes(); ++a)
        if (states[target].kind[std::size_t(a)] == 'P' && states[source].kind[std::size_t(a)] != 'S') sums |= 1u << a;
      auto& d = known[sums];
      if (d.empty()) {
        d.resize(states.size());
        d[source] = {0, 0};
        for (bool changed = true; changed;) {
          changed = false;
          for (std::size_t n = 0; n < states.size(); ++n) {
            if (d[n].cost == unreachable_cost) continue;
            for (auto const& e : out[sums][n]) {
              best const next{d[n].cost + e.cost, d[n].steps + 1};
              auto& at = d[number.at(e.to)];
              if (next < at) at = next, changed = true;
            }
          }
        }
      }
      auto const r = route_between(typed(w, states[source]), typed(w, states[target]), setting(w));
      auto g = r.problem;
      g.bytes = w.bytes;
      auto const found = search<1024>(g, r.from, &r.to).path(r.to);
      bool right = found.cost == d[target].cost && (!found.reachable() || found.size == d[target].steps);
      held at = states[source]; // every step is a step of the other model, at its price; on no axis S, R, P
      std::int64_t sum = 0;
      std::vector<std::string> seen(w.size.size());
      for (int k = 0; right && found.reachable() && k < found.size; ++k) {
        bool known_step = false;
        for (auto const& e : moves(w, at, sums))
          if (!known_step && e.how == found.steps[k].how && e.axes == found.steps[k].axes &&
              state_of(r, typed(w, e.to)) == found.steps[k].after) {
            for (std::size_t a = 0; a < w.size.size(); ++a)
              if (at.kind[a] != e.to.kind[a]) seen[a] += at.kind[a];
            sum += e.cost;
            at = e.to;
            known_step = true;
          }
        right = known_step;
      }
      if (found.reachable()) right = right && at == states[target] && sum == found.cost;
      for (std::size_t a = 0; a < w.size.size(); ++a)
        if (states[target].kind[a] == 'P' && states[source].kind[a] == 'S' && found.reachable()) right = false;
      if (right && found.reachable()) right = line_of(g, found).at(w.bytes) == found.cost;
      wrong += !right;
      ++pairs;
    }
  }
  CHECK(wrong == 0);
  return pairs;
}

topology const uneven_wires = {{{{2700, 20000}, {600, 90909}, {900, 40000}}}, 0};

} // namespace

TEST_CASE("plans cost what brute force finds, on all pairs of placements") {
  std::int64_t const bytes = GENERATE(1, 4096, 1 << 20, 1 << 28);
  int pairs = 0;
  for (int dims = 1; dims <= 3; ++dims) {
    pairs += compare_all_pairs({{4}, dims, uneven_wires, bytes});
    pairs += compare_all_pairs({{2, 4}, dims, uneven_wires, bytes});
  }
  CHECK(pairs == 9 + 16 + 25 + 100 + 324 + 784);
}

TEST_CASE("plans cost what brute force finds on three axes") {
  CHECK(compare_all_pairs({{2, 2, 4}, 1, uneven_wires, 1 << 20}) == 38 * 38);
  CHECK(compare_all_pairs({{2, 3, 4}, 2, uneven_wires, 1 << 16}) == 92 * 92);
  CHECK(compare_all_pairs({{2, 3, 4}, 3, uneven_wires, 1 << 24}, 8) == 22 * 176);
}

TEST_CASE("a way through a third placement is never cheaper, and without pending sums every way has a way back") {
  world const w{{2, 4}, 2, uneven_wires, 1 << 16};
  auto const states = all_states(w);
  std::vector<std::vector<std::int64_t>> d(states.size(), std::vector<std::int64_t>(states.size()));
  for (std::size_t x = 0; x < states.size(); ++x)
    for (std::size_t y = 0; y < states.size(); ++y) {
      auto const r = route_between(typed(w, states[x]), typed(w, states[y]), setting(w));
      auto g = r.problem;
      g.bytes = w.bytes;
      d[x][y] = search<256>(g, r.from).to(r.to);
    }
  int sums_of_shards = 0;
  for (std::size_t x = 0; x < states.size(); ++x)
    for (std::size_t z = 0; z < states.size(); ++z) {
      bool makes_sum_of_shard = false;
      for (std::size_t a = 0; a < 2; ++a) makes_sum_of_shard = makes_sum_of_shard || (states[x].kind[a] == 'S' && states[z].kind[a] == 'P');
      CHECK((d[x][z] == unreachable_cost) == makes_sum_of_shard);
      sums_of_shards += makes_sum_of_shard;
      if (makes_sum_of_shard) continue;
      for (std::size_t y = 0; y < states.size(); ++y)
        if (d[x][y] != unreachable_cost && d[y][z] != unreachable_cost) CHECK(d[x][z] <= d[x][y] + d[y][z]);
    }
  CHECK(sums_of_shards > 0);
}

TEST_CASE("uneven pieces of uneven pieces are gathered one axis at a time") {
  tensor_placement from, to;
  from.axes = to.axes = 2;
  from.rank = to.rank = 1;
  plan_setting m;
  m.axes = 2;
  m.size = {{4, 4}};
  m.families = 2;
  m.even[0] = m.stated[0] = m.stated[1] = true; // 0: equal pieces, 1: not
  m.plain = 0;
  m.wired.along[0] = m.wired.along[1] = {2000000, 80000}; // few rounds matter, so one step would be cheaper
  to.on[0] = to.on[1] = {placement_kind::replicate};
  for (std::int16_t const family : {std::int16_t{0}, std::int16_t{1}}) {
    from.on[0] = from.on[1] = {placement_kind::shard, monoid::none, 0, family};
    auto const r = route_between(from, to, m);
    auto g = r.problem;
    g.bytes = 1024;
    auto const found = search<256>(g, r.from, &r.to).path(r.to);
    REQUIRE(found.reachable());
    CHECK(found.size == 2);
    CHECK(found.steps[0].how == step::all_gather);
  }
  // The latencies of two axes add up to less than those of one of 16 ranks; where an axis has two ranks they do not.
  m.size = {{1, 2}};
  from.on[0] = from.on[1] = {placement_kind::shard, monoid::none, 0, 0};
  auto const flat = route_between(from, to, m);
  auto g = flat.problem;
  g.bytes = 1024;
  CHECK(search<256>(g, flat.from, &flat.to).path(flat.to).size == 1);
  from.on[0].family = from.on[1].family = 1;
  auto const nested = route_between(from, to, m);
  g = nested.problem;
  g.bytes = 1024;
  CHECK(search<256>(g, nested.from, &nested.to).path(nested.to).size == 2);
}

TEST_CASE("a careful plan shards no equal pieces that neither end has") {
  world const w{{2, 4}, 2, uneven_wires, 1 << 24};
  auto const states = all_states(w);
  int free_ways = 0;
  for (auto const& x : states)
    for (auto const& y : states) {
      auto const r = route_between(typed(w, x), typed(w, y), setting(w));
      auto const c = route_between(typed(w, x), typed(w, y), setting(w), {false, true});
      auto g = r.problem, h = c.problem;
      g.bytes = h.bytes = w.bytes;
      auto const fast = search<256>(g, r.from, &r.to).path(r.to), safe = search<256>(h, c.from, &c.to).path(c.to);
      CHECK(fast.reachable() == safe.reachable());
      CHECK(fast.cost <= safe.cost);
      if (!fast.reachable()) continue;
      CHECK(!needs_division(c, safe));
      free_ways += needs_division(r, fast);
      if (!needs_division(r, fast)) CHECK(fast.cost == safe.cost);
    }
  CHECK(free_ways > 0);
  // Extents that are known decide instead: 8 rows can be cut into 8 pieces, 12 cannot.
  held const sums{"PP", {{}, {}}}, whole{"RR", {{}, {}}};
  for (std::int64_t rows : {8, 12, 3}) {
    auto const r = route_between(typed(w, sums), typed(w, whole), setting(w), {false, false, false, {{rows, 1}}});
    auto g = r.problem;
    g.bytes = w.bytes;
    auto const path = search<256>(g, r.from, &r.to).path(r.to);
    CHECK(path.size == (rows == 8 ? 3 : rows == 12 ? 3 : 2));
    CHECK((path.steps[0].how == step::reduce_scatter) == (rows != 3));
  }
}

TEST_CASE("nor by way of unequal ones") {
  world const w{{2, 4}, 2, uneven_wires, 1 << 24};
  auto m = setting(w);
  std::int16_t const uneven = m.families++;
  m.stated[uneven] = true;
  auto const by = [&](tensor_placement const& t, int d, std::int16_t family) { // the axes that shard a dimension so
    unsigned axes = 0;
    for (int a = 0; a < t.axes; ++a)
      if (t.on[a].kind == placement_kind::shard && t.on[a].dim == d && t.on[a].family == family) axes |= 1U << a;
    return axes;
  };
  for (auto const& x : all_states(w))
    for (auto const& y : all_states(w))
      for (unsigned unequal = 1; unequal < 16; ++unequal) {
        auto from = typed(w, x), to = typed(w, y);
        for (int a = 0; a < 2; ++a) {
          if (unequal >> a & 1) from.on[a].family = uneven;
          if (unequal >> (a + 2) & 1) to.on[a].family = uneven;
        }
        for (std::int64_t const bytes : {1 << 10, 1 << 24}) {
          auto const r = route_between(from, to, m, {false, true});
          auto g = r.problem;
          g.bytes = bytes;
          auto const path = search<1024>(g, r.from, &r.to).path(r.to);
          for (int k = 0; k < path.size && path.reachable(); ++k) {
            auto const t = tensor_placement_of(r, path.steps[k].after, from);
            for (int d = 0; d < w.dims; ++d) {
              auto const axes = by(t, d, 0);
              CHECK(((axes & ~by(from, d, 0)) == 0 || (axes & ~by(to, d, 0)) == 0));
            }
          }
        }
      }
}

TEST_CASE("a family that refuses extents shards nothing but what it does in the target") {
  world const w{{2, 4}, 2, uneven_wires, 1 << 24};
  auto m = setting(w);
  std::int16_t const table = m.families++;
  m.stated[table] = true;
  /// Is each shard by the table, after each step, a shard of the source or of the target with the same axes outside?
  auto const in_place = [&](planned_route const& r, step_list const& path, tensor_placement const& from, tensor_placement const& to) {
    auto const has = [&](tensor_placement const& end, tensor_placement const& t, int a) {
      auto const there = shards_of(end, t.on[a].dim), here = shards_of(t, t.on[a].dim);
      for (int n = 0; n < there.count && n < here.count; ++n) {
        auto const p = end.on[there.axis[n]], q = t.on[here.axis[n]];
        if (there.axis[n] != here.axis[n] || p.family != q.family) return false;
        if (here.axis[n] == a) return true;
      }
      return false;
    };
    for (int k = 0; k < path.size; ++k) {
      auto const t = tensor_placement_of(r, path.steps[k].after, from);
      for (int a = 0; a < t.axes; ++a)
        if (t.on[a].kind == placement_kind::shard && t.on[a].family == table && !has(from, t, a) && !has(to, t, a)) return false;
    }
    return true;
  };
  int elsewhere = 0;
  for (auto const& x : all_states(w))
    for (auto const& y : all_states(w))
      for (unsigned by_table = 1; by_table < 16; ++by_table)
        for (bool avoid_new_even_shards : {false, true}) {
          auto from = typed(w, x), to = typed(w, y);
          bool some = true; // each axis that is meant is sharded
          for (int a = 0; a < 2; ++a) {
            if (by_table >> a & 1) some = some && from.on[a].kind == placement_kind::shard, from.on[a].family = table;
            if (by_table >> (a + 2) & 1) some = some && to.on[a].kind == placement_kind::shard, to.on[a].family = table;
          }
          if (!some) continue;
          auto const planned = [&](bool rejects_some_extents) {
            m.rejects_some_extents[table] = rejects_some_extents;
            auto const r = route_between(from, to, m, {false, avoid_new_even_shards, false, {}});
            auto g = r.problem;
            g.bytes = w.bytes;
            return std::pair(r, search<1024>(g, r.from, &r.to).path(r.to));
          };
          auto const [route, path] = planned(true);
          auto const [any_route, any_path] = planned(false);
          CHECK(path.reachable() == any_path.reachable());
          if (!path.reachable()) continue;
          CHECK(in_place(route, path, from, to));
          if (in_place(any_route, any_path, from, to))
            CHECK(path.cost == any_path.cost);
          else
            ++elsewhere;
        }
  CHECK(elsewhere > 0); // a family that takes all extents may lie anywhere
}

TEST_CASE("where sizes are unknown the kinds of steps decide: nothing is gathered to be cut again, no reduction in two halves") {
  world const w{{2, 4}, 2, uneven_wires, 0};
  auto const plan = [&](held const& x, held const& y) {
    auto const r = route_between(typed(w, x), typed(w, y), setting(w));
    return search<256>(r.problem, r.from, &r.to).path(r.to);
  };
  auto const moved = plan({"RS", {{1}, {}}}, {"RS", {{}, {1}}});
  CHECK(moved.size == 1);
  CHECK(moved.steps[0].how == step::all_to_all);
  auto const reduced = plan({"RP", {{}, {}}}, {"RR", {{}, {}}});
  CHECK(reduced.size == 1);
  CHECK(reduced.steps[0].how == step::all_reduce);
  auto const scattered = plan({"RP", {{}, {}}}, {"RS", {{}, {1}}});
  CHECK(scattered.size == 1);
  CHECK(scattered.steps[0].how == step::reduce_scatter);
}

} // namespace test_plan_search
