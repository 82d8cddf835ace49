// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Placements seen from another mesh of the same ranks: examples, refusals, and against what every rank holds, one by one.
#include <map>
#include <random>
#include <vector>

#include <sla/spmd/refusal/mesh_hint.hpp>
#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/step/remesh.hpp>

#include "catch.hpp"

namespace test_remesh {

using namespace sla;

namespace {

constexpr placement_value R{placement_kind::replicate}, V{placement_kind::varying}, P{placement_kind::partial, monoid::sum};
constexpr placement_value S(int d, int level = 0, int family = 1) {
  return {placement_kind::shard, monoid::none, static_cast<std::int8_t>(d), static_cast<std::int16_t>(family), -1, static_cast<std::int8_t>(level)};
}
template <class... At>
constexpr tensor_placement placed(At... at) {
  tensor_placement t{static_cast<std::int8_t>(sizeof...(At)), 2};
  int a = 0;
  ((t.on[a++] = at), ...);
  return t;
}
constexpr std::uint64_t even = 0b10; // of the families, number 1 shards equal pieces

using Three = mesh<axis<"dp", 2>, axis<"cp", 2>, axis<"tp", 4>>;
using Flat = mesh<axis<"dp_cp", 4>, axis<"tp", 4>>;
using Experts = mesh<axis<"edp", 2>, axis<"ep", 4>, axis<"etp", 2>>;
using Other = mesh<axis<"tp", 4, 1>, axis<"x", 4, 4>>; // Flat, its axes in another order and under other names
constexpr auto three = value_of_mesh<Three>(), flat = value_of_mesh<Flat>(), experts = value_of_mesh<Experts>(), other = value_of_mesh<Other>();

constexpr remesh_outcome seen(tensor_placement const& t, mesh_value const& from, mesh_value const& to) { return remesh(t, from, to, even); }
constexpr bool same(remesh_outcome const& r, tensor_placement const& t) { return r.ok() && r.type == t; }

// flatten, and back; shared axes keep what they have
static_assert(same(seen(placed(R, R, P), three, flat), placed(R, P)) && same(seen(placed(V, V, S(1)), three, flat), placed(V, S(1))));
static_assert(same(seen(placed(R, P), flat, three), placed(R, R, P)) && same(seen(placed(S(0), S(1)), flat, three), placed(S(0), S(0), S(1))));
static_assert(same(seen(placed(P, S(1)), flat, other), placed(S(1), P)) && same(seen(placed(S(1), P), other, three), placed(P, P, S(1))));
// the axes of a dimension: a full group in its order, at any place of the list
static_assert(same(seen(placed(S(0), S(0), R), three, flat), placed(S(0), R)));
static_assert(same(seen(placed(S(0), S(0), S(0)), three, flat), placed(S(0), S(0))));
static_assert(same(seen(placed(S(0, 1), S(0, 1), S(0)), three, flat), placed(S(0, 1), S(0)))); // (tp, dp, cp) -> (tp, dp_cp)
static_assert(seen(placed(S(0, 1), S(0), R), three, flat).fault == remesh_fault::split_order);   // (cp, dp)
static_assert(seen(placed(S(0), S(0, 1), S(0)), three, flat).fault == remesh_fault::split_order); // (dp, tp, cp)
static_assert(seen(placed(S(0), R, R), three, flat).fault == remesh_fault::mixed_group && seen(placed(S(0), R, R), three, flat).axis == 1);
static_assert(seen(placed(S(0), S(1), R), three, flat).fault == remesh_fault::mixed_group && seen(placed(R, P, R), three, flat).fault == remesh_fault::mixed_group);
// folding all axes of one region into others: one group of everything
static_assert(same(seen(placed(P, P, P), three, experts), placed(P, P, P)) && same(seen(placed(S(1), S(1), S(1)), three, experts), placed(S(1), S(1), S(1))));
static_assert(same(seen(placed(R, S(0), S(0)), three, experts), placed(R, S(0), S(0)))); // dp and edp are the same ranks
static_assert(seen(placed(R, S(0), P), three, experts).fault == remesh_fault::mixed_group);
// uneven shards of a flattened axis are not those of its parts; an axis that stays may have them
static_assert(seen(placed(S(0, 0, 2), S(0, 0, 2), R), three, flat).fault == remesh_fault::uneven && same(seen(placed(R, R, S(0, 0, 2)), three, flat), placed(R, S(0, 0, 2))));
// other ranks
constexpr auto small = value_of_mesh<mesh<axis<"dp", 2>, axis<"tp", 4>>>();
static_assert(seen(placed(R, R, R), three, small).fault == remesh_fault::other_ranks);
// axes of size 1 come and go
constexpr auto with_one = value_of_mesh<mesh<axis<"one", 1>, axis<"dp_cp", 4>, axis<"tp", 4>>>();
static_assert(same(seen(placed(S(0), S(0), R), three, with_one), placed(R, S(0), R)) && same(seen(placed(S(0), S(0), P), with_one, flat), placed(S(0), P)));

// sizes known at run time: on request, if one follows from the other
constexpr auto open_two = value_of_mesh<mesh<axis<"dp">, axis<"cp", 2>>>(), open_one = value_of_mesh<mesh<axis<"all">>>(),
               open_three = value_of_mesh<mesh<axis<"a", 3>, axis<"b">>>(), eight = value_of_mesh<mesh<axis<"x", 4>, axis<"y", 2>>>();
static_assert(correspond(open_two, open_one).fault == remesh_fault::not_comparable);
static_assert(same(remesh(placed(S(0), S(0)), open_two, open_one, even, true), placed(S(0))));
static_assert(same(remesh(placed(P), open_one, open_two, even, true), placed(P, P)));
static_assert(same(remesh(placed(S(1), P), open_two, eight, even, true), placed(S(1), P))); // then dp has 4 ranks
static_assert(correspond(open_two, open_three, true).fault == remesh_fault::not_comparable);

// hints
static_assert(relate(three, experts).relation == mesh_relation::same_ranks);
constexpr auto only_tp = value_of_mesh<mesh<axis<"tp", 4, 1>>>(), only_cp = value_of_mesh<mesh<axis<"cp", 2, 4>>>();
static_assert(relate(only_tp, three).relation == mesh_relation::part && relate(only_tp, three).missing == 0b011);
static_assert(relate(three, only_cp).relation == mesh_relation::contains && relate(three, only_cp).missing == 0b101);
static_assert(relate(only_tp, only_cp).relation == mesh_relation::disjoint);
static_assert(relate(value_of_mesh<mesh<axis<"a", 4, 1>>>(), value_of_mesh<mesh<axis<"b", 4, 2>>>()).relation == mesh_relation::overlapping);

template <class... At>
struct call_with { // one operand, on another mesh
  static constexpr operand operands[] = {{placed(At::value...)}};
};
template <placement_value P>
struct is {
  static constexpr placement_value value = P;
};
template <class Ours, class Theirs, placement_value... P>
using hint = typename detail::mesh_hint_of<call_with<is<P>...>, Ours, Theirs, 0, even>::type;
static_assert(std::is_same_v<hint<Flat, Three, S(0), S(0), P>, call::reinterpret_mesh<Flat>> && std::is_same_v<hint<Flat, Three, S(0), R, P>, axes_do_not_correspond>);
static_assert(std::is_same_v<hint<Three, mesh<axis<"cp", 2, 4>>, P>, without_axes<"dp", "tp">> &&
              std::is_same_v<hint<mesh<axis<"b", 4, 2>>, mesh<axis<"a", 4, 1>>, P>, meshes_overlap> &&
              std::is_same_v<hint<mesh<axis<"a", 4, 1>>, mesh<axis<"b", 4, 4>>, P>, void> && std::is_same_v<hint<mesh<axis<"a">>, Three, P, P, P>, void>);

/// What a rank knows of a tensor of 48 x 48: its rows and columns as intervals, and which part of pending sums and of varying
/// values it has.
struct owned_indices {
  int row = 0, rows = 48, column = 0, columns = 48;
  std::int64_t share = 0, version = 0;
  bool operator==(owned_indices const&) const = default;
};
std::vector<owned_indices> held(tensor_placement const& t, mesh_value const& m, std::int64_t ranks) {
  std::vector<owned_indices> out;
  for (std::int64_t r = 0; r < ranks; ++r) {
    owned_indices h;
    for (int d = 0; d < 2; ++d) {
      auto const order = order_of(t, d);
      for (int n = 0; n < order.count; ++n) {
        auto const& a = m.axis[order.axis[n]];
        int& size = d ? h.columns : h.rows;
        size /= static_cast<int>(a.size().number);
        (d ? h.column : h.row) += size * static_cast<int>(coordinate_on(a, r));
      }
    }
    for (int a = 0; a < m.count; ++a) {
      for (int n = 0; n < m.axis[a].count; ++n) { // the ranks of the axis, written in the strides of the world
        auto const& atom = m.axis[a].atom[n];
        auto const at = r / atom.stride.number % atom.size.number * atom.stride.number;
        if (t.on[a].kind == placement_kind::partial) h.share += at;
        if (t.on[a].kind == placement_kind::varying) h.version += at;
      }
    }
    out.push_back(h);
  }
  return out;
}

} // namespace

TEST_CASE("what every rank holds stays the same, and what is refused has no placement on the other mesh") {
  std::vector<std::vector<mesh_value>> worlds = {
      {three, flat, experts, other, value_of_mesh<mesh<axis<"all", 16>>>(), value_of_mesh<mesh<axis<"a", 2>, axis<"b", 8>>>(),
       value_of_mesh<mesh<axis<"a", 2>, axis<"b", 2>, axis<"c", 2>, axis<"d", 2>>>()},
      {value_of_mesh<mesh<axis<"a", 2>, axis<"b", 3>, axis<"c", 2>>>(), value_of_mesh<mesh<axis<"a", 6>, axis<"b", 2>>>(),
       value_of_mesh<mesh<axis<"b", 3, 2>, axis<"a", 2, 6>, axis<"c", 2, 1>>>(), value_of_mesh<mesh<axis<"a", 4>, axis<"b", 3>>>(),
       value_of_mesh<mesh<axis<"a", 12>>>()}};
  int seen_from = 0, refused = 0, lost = 0;
  for (auto const& world : worlds)
    for (auto const& from : world) {
      auto const ranks = flatten(from.axes()).layout.size().number;
      for (auto const& to : world) {
        // every placement on `to`, by what the ranks hold
        std::map<std::vector<std::int64_t>, tensor_placement> all_on_to;
        auto const flattened = [](std::vector<owned_indices> const& h) {
          std::vector<std::int64_t> out;
          for (auto const& x : h) out.insert(out.end(), {x.row, x.rows, x.column, x.columns, x.share, x.version});
          return out;
        };
        auto const each = [](mesh_value const& m, auto const& f) {
          int cases = 1;
          for (int a = 0; a < m.count; ++a) cases *= 5;
          for (int c = 0; c < cases; ++c) {
            tensor_placement t{static_cast<std::int8_t>(m.count), 2};
            for (int a = 0, rest = c; a < m.count; ++a, rest /= 5) {
              placement_value const kinds[] = {R, V, P, S(0), S(1)};
              t.on[a] = kinds[rest % 5];
            }
            f(t);
            dim_axes backwards; // and the other order of two axes on a dimension
            auto const order = order_of(t, 0);
            if (order.count < 2) continue;
            for (int n = order.count; n-- > 0;) backwards.add(order.axis[n]);
            set_levels(t, backwards);
            f(t);
          }
        };
        each(to, [&](tensor_placement const& t) { all_on_to.emplace(flattened(held(t, to, ranks)), t); });
        each(from, [&](tensor_placement const& t) {
          auto const r = remesh(t, from, to, even);
          auto const before = held(t, from, ranks);
          if (r.ok()) {
            ++seen_from;
            if (!(held(r.type, to, ranks) == before)) ++lost;
          } else if (r.fault != remesh_fault::no_groups) {
            ++refused;
            if (all_on_to.count(flattened(before))) ++lost;
          }
        });
      }
    }
  CHECK(lost == 0);
  CHECK(seen_from > 2500);
  CHECK(refused > 3000);
}

} // namespace test_remesh
