// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Simulated ranks: each collective against the list of what three ranks hold, written out; values sharded over meshes
// and put together again; two axes that shard one dimension.
#include <cmath>
#include <vector>

#include <sla/spmd/check/sim/derivative.hpp>
#include <sla/spmd/check/sim/axis_step.hpp>
#include <sla/spmd/check/sim/value.hpp>

#include "catch.hpp"
#include "placed.hpp"

namespace test_sim {

using namespace sla;
using namespace placed_values;

namespace {

using array = sim::array<int>;
using ranks = sim::on_ranks<int>;

ranks lists(std::vector<std::vector<int>> const& values) {
  ranks out;
  for (auto const& v : values) out.emplace_back(std::vector<int>{static_cast<int>(v.size())}, v);
  return out;
}
ranks tables(int rows, int columns, std::vector<std::vector<int>> const& values) {
  ranks out;
  for (auto const& v : values) out.emplace_back(std::vector<int>{rows, columns}, v);
  return out;
}
array list(std::vector<int> v) { return lists({std::move(v)})[0]; }

tensor_placement on(std::vector<placement_value> const& at, int rank, int batch = -1) {
  tensor_placement t;
  t.axes = static_cast<std::int8_t>(at.size());
  t.rank = static_cast<std::int8_t>(rank);
  t.batch = static_cast<std::int8_t>(batch);
  for (int a = 0; a < t.axes; ++a) t.on[a] = at[static_cast<std::size_t>(a)];
  return t;
}
placement_value level(placement_value p, int l) { return p.level = static_cast<std::int8_t>(l), p; }
constexpr placement_value partial(monoid m) { return {placement_kind::partial, m}; }

sim::world world_of(std::vector<int> sizes) {
  sim::world w{std::move(sizes)};
  w.families = {{},
                {family_facts_of<Even>},
                {family_facts_of<Balanced>},
                {family_facts_of<Ceil>},
                {family_facts_of<Strided<2, Ceil>>},
                {{}, {1, 0, 0, 1, 2, 0, 3, 1, 2, 0, 1, 3}}};
  return w;
}

constexpr bool deals_out_and_back() { // the same functions in a constant expression
  sim::world w{{2, 3}};
  w.families = {{}, {family_facts_of<Balanced>}};
  sim::array<int> x({5, 2});
  for (int n = 0; n < 10; ++n) x[n] = n * n - 20;
  tensor_placement t;
  t.axes = t.rank = 2;
  t.on[0] = S(0);
  for (auto p : {S(0), S(1), R, P, partial(monoid::maximum), partial(monoid::average)}) {
    t.on[1] = p;
    auto const back = sim::joined(w, t, sim::split(w, t, x), x.extents);
    if (!back || *back != x) return false;
  }
  return true;
}
static_assert(deals_out_and_back());

} // namespace

TEST_CASE("each collective does on lists of ranks what its sentence says") {
  auto const even = sim::sharded<Even>(6, 3);
  auto const uneven = sim::sharded<Table<3, 0, 1>>(4, 3);
  auto const x = lists({{1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}, {100, 200, 300, 400, 500, 600}});
  auto const sum = list({111, 222, 333, 444, 555, 666});
  CHECK(sim::all_reduce(x) == sim::copies(sum, 3));
  CHECK(sim::all_reduce(lists({{1, 9}, {5, 2}, {3, 4}}), monoid::maximum) == lists({{5, 9}, {5, 9}, {5, 9}}));
  CHECK(sim::all_reduce(lists({{1, 9}, {5, 2}, {3, 4}}), monoid::minimum) == lists({{1, 2}, {1, 2}, {1, 2}}));
  CHECK(sim::all_reduce(lists({{1, 9}, {5, 2}, {3, 4}}), monoid::average) == lists({{3, 5}, {3, 5}, {3, 5}}));
  CHECK(sim::all_reduce(lists({{1, 9}, {5, 2}, {3, 4}}), monoid::product) == lists({{15, 72}, {15, 72}, {15, 72}}));
  CHECK(sim::reduce_scatter(x, 0, even) == lists({{111, 222}, {333, 444}, {555, 666}}));
  CHECK(sim::all_gather(lists({{1, 2}, {3, 4}, {5, 6}}), 0, even) == sim::copies(list({1, 2, 3, 4, 5, 6}), 3));
  CHECK(sim::all_gather(lists({{1, 2, 3}, {}, {4}}), 0, uneven) == sim::copies(list({1, 2, 3, 4}), 3));
  CHECK(sim::reduce_scatter(lists({{1, 2, 3, 4}, {1, 1, 1, 1}, {0, 0, 0, 5}}), 0, uneven) ==
        lists({{2, 3, 4}, {}, {10}}));
  CHECK(sim::slice(sim::copies(list({1, 2, 3, 4}), 3), 0, uneven) == lists({{1, 2, 3}, {}, {4}}));
  CHECK(sim::pad(lists({{1, 2, 3}, {}, {4}}), 0, uneven) == lists({{1, 2, 3, 0}, {0, 0, 0, 0}, {0, 0, 0, 4}}));
  CHECK(sim::zero_off_root(sim::copies(list({7, 8}), 3)) == lists({{7, 8}, {0, 0}, {0, 0}}));
  // parts of rows 0, 1, 2 with two columns each: sharded by columns instead
  CHECK(sim::all_to_all(tables(1, 3, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}), 0, sim::sharded<Even>(3, 3), 1,
                        sim::sharded<Even>(3, 3)) == tables(3, 1, {{1, 4, 7}, {2, 5, 8}, {3, 6, 9}}));
  CHECK(sim::all_gather(tables(2, 1, {{1, 4}, {2, 5}, {3, 6}}), 1, sim::sharded<Even>(3, 3)) ==
        sim::copies(tables(2, 3, {{1, 2, 3, 4, 5, 6}})[0], 3));
  // blocks sent within one dimension
  auto const strided = sim::sharded<Strided<3>>(9, 3);
  CHECK(sim::all_to_all(lists({{0, 1, 2}, {3, 4, 5}, {6, 7, 8}}), 0, sim::sharded<Even>(9, 3), 0, strided) ==
        lists({{0, 3, 6}, {1, 4, 7}, {2, 5, 8}}));
  // tuples
  CHECK(sim::all_gather_stack(lists({{1, 2}, {3, 4}, {5, 6}})) ==
        sim::copies(tables(3, 2, {{1, 2, 3, 4, 5, 6}})[0], 3));
  CHECK(sim::all_gather_stack(lists({{1, 2}, {3, 4}, {5, 6}}), 1) ==
        sim::copies(tables(2, 3, {{1, 3, 5, 2, 4, 6}})[0], 3));
  CHECK(sim::all_to_all(lists({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}})) == lists({{1, 4, 7}, {2, 5, 8}, {3, 6, 9}}));
  auto const square = tables(3, 1, {{1, 2, 3}, {10, 20, 30}, {100, 200, 300}});
  CHECK(sim::reduce_scatter_unstack(square) == lists({{111}, {222}, {333}}));
  CHECK(sim::unbind(sim::copies(square[0], 3)) == lists({{1}, {2}, {3}}));
  CHECK(sim::pad_stack(lists({{1}, {2}, {3}})) == tables(3, 1, {{1, 0, 0}, {0, 2, 0}, {0, 0, 3}}));
  CHECK(sim::permute_shards(lists({{0}, {1}, {2}, {3}, {4}, {5}}), 2, 3) == lists({{0}, {2}, {4}, {1}, {3}, {5}}));
}

TEST_CASE("halos on lists of ranks") {
  auto const own = sim::sharded_by({0, 1, 1, 0, 2}, 3);
  auto const ghosts = sim::with_halo(own, {{1, 3}, {0}, {}}); // 3 is its own already
  CHECK(ghosts[0] == std::vector<int>{0, 3, 1});
  auto const x = lists({{10, 13}, {11, 12}, {14}});
  CHECK(sim::halo_exchange(x, 0, own, ghosts) == lists({{10, 13, 11}, {11, 12, 10}, {14}}));
  CHECK(sim::owned(sim::halo_exchange(x, 0, own, ghosts), 0, own) == x);
  auto const g = lists({{1, 2, 3}, {4, 5, 6}, {7}});
  CHECK(sim::halo_reduce(g, 0, own, ghosts) == lists({{1 + 6, 2}, {4 + 3, 5}, {7}}));
  CHECK(sim::zero_halo(x, 0, own, ghosts) == lists({{10, 13, 0}, {11, 12, 0}, {14}}));
  CHECK(sim::embed(g, 0, ghosts) == lists({{1, 3, 0, 2, 0}, {6, 4, 5, 0, 0}, {0, 0, 0, 0, 7}}));
  CHECK(sim::restrict_to(sim::copies(list({0, 1, 2, 3, 4}), 3), 0, ghosts) == lists({{0, 3, 1}, {1, 2, 0}, {4}}));
}

TEST_CASE("a value is sharded over a mesh and put together again") {
  std::vector<placement_value> const choices = {R,
                                       Inv,
                                       P,
                                       partial(monoid::maximum),
                                       partial(monoid::minimum),
                                       partial(monoid::product),
                                       partial(monoid::average),
                                       S(0, 2),
                                       S(1, 2),
                                       S(0, 3),
                                       S(1, 4),
                                       S(0, 5),
                                       ghost(1)};
  int sharded = 0;
  for (auto const& sizes : {std::vector<int>{2, 2}, {2, 3}, {3, 2}})
    for (auto const& shape : {std::vector<int>{5, 4}, {1, 7}, {3, 3}, {0, 4}}) {
      auto w = world_of(sizes);
      w.families[1] = {family_facts_of<Ceil>};
      w.halos = {{}, {}, {{2, 3}, {0, 1}, {1}}};
      sim::array<double> x(shape);
      for (int n = 0; n < x.size(); ++n) x[n] = (n * 5) % 11 - 4;
      for (auto first : choices)
        for (auto second : choices)
          for (unsigned seed : {1U, 2U}) {
            auto const t = on({first, second}, 2);
            bool const ghosts = first.kind == placement_kind::ghost || second.kind == placement_kind::ghost;
            if (check_placements(t).what != code::ok) continue;
            if (ghosts && (shape[1] < 4 || (sharded_dim(first, t) == sharded_dim(second, t)))) continue;
            auto const xs = sim::split(w, t, x, {seed, seed == 2});
            if (xs.empty()) continue;
            REQUIRE(static_cast<int>(xs.size()) == w.size());
            for (int r = 0; r < w.size(); ++r) {
              auto const held = sim::held_by(w, t, shape, r);
              for (int d = 0; d < 2; ++d)
                REQUIRE(sim::count(held[static_cast<std::size_t>(d)]) == xs[static_cast<std::size_t>(r)].extent(d));
              for (int n = 0; n < xs[static_cast<std::size_t>(r)].size() && !ghosts; ++n)
                if (is_sharded(first.kind) && is_sharded(second.kind)) {
                  auto const& mine = xs[static_cast<std::size_t>(r)];
                  int const i = held[0][static_cast<std::size_t>(n / mine.extent(1))];
                  int const j = held[1][static_cast<std::size_t>(n % mine.extent(1))];
                  REQUIRE(mine[n] == x(i, j));
                }
            }
            auto const back = sim::joined(w, t, xs, shape);
            REQUIRE(back.has_value());
            REQUIRE(same(*back, x));
            ++sharded;
          }
    }
  CHECK(sharded > 2000);
}

TEST_CASE("ranks that disagree have no value") {
  auto const w = world_of({2, 2});
  auto xs = sim::split(w, on({R, S(0, 2)}, 1), list({1, 2, 3}));
  CHECK(sim::joined(w, on({R, S(0, 2)}, 1), xs, {3}).has_value());
  CHECK(!sim::joined(w, on({R, S(0, 1)}, 1), xs, {3}).has_value()); // an even family has no 3 for 2
  CHECK(!sim::joined(w, on({R, R}, 1), xs, {3}).has_value());
  xs[2][0] = 5;
  CHECK(!sim::joined(w, on({R, S(0, 2)}, 1), xs, {3}).has_value());
  CHECK(sim::joined(w, on({P, S(0, 2)}, 1), xs, {3})->values == std::vector<int>{6, 4, 6});
  auto copies = sim::split(w, on({ghost(0), R}, 1), list({1, 2, 3}));
  CHECK(copies.empty()); // not even
}

TEST_CASE("pending reductions are never equal shares") {
  sim::array<double> x({12});
  for (int n = 0; n < 12; ++n) x[n] = n - 5;
  for (auto how : {monoid::sum, monoid::average, monoid::maximum, monoid::minimum, monoid::product}) {
    auto const w = world_of({3});
    auto const xs = sim::split(w, on({partial(how)}, 1), x);
    CHECK(xs[0] != xs[1]);
    CHECK(xs[1] != xs[2]);
    if (how == monoid::maximum)
      for (auto const& mine : xs) { // each rank wins somewhere, and loses somewhere
        int wins = 0;
        for (int n = 0; n < 12; ++n) wins += mine[n] == x[n];
        CHECK((wins > 0 && wins < 12));
      }
  }
}

TEST_CASE("two axes that shard one dimension") {
  auto const w = world_of({2, 3});
  array x({12});
  for (int n = 0; n < 12; ++n) x[n] = n;
  auto const in_order = on({S(0), S(0)}, 1), turned = on({level(S(0), 1), S(0)}, 1);
  auto const xs = sim::split(w, in_order, x), ys = sim::split(w, turned, x);
  CHECK(xs == lists({{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}}));
  CHECK(ys == lists({{0, 1}, {4, 5}, {8, 9}, {2, 3}, {6, 7}, {10, 11}}));
  CHECK(sim::permute_shards(xs, 2, 3) == ys);
  // back: the same with the coordinates of the other axis first
  auto listed_by_second = [](ranks const& r) { return ranks{r[0], r[3], r[1], r[4], r[2], r[5]}; };
  CHECK(sim::permute_shards(listed_by_second(ys), 3, 2) == listed_by_second(xs));

  transition const swap{step::permute_shards, S(0), level(S(0), 1)};
  CHECK(route(swap.from, swap.to) == step::permute_shards);
  CHECK(adjoint_of(swap) == transition{step::permute_shards, swap.to, swap.from});
  CHECK(check_step(step::permute_shards, in_order, 0, level(S(0), 1)).what == code::ok);
  CHECK(check_step(step::permute_shards, on({S(0), R}, 1), 0, level(S(0), 1)).what == code::wrong_collective);
  CHECK(check_step(step::permute_shards, in_order, 0, S(0)).what == code::wrong_collective);
  // the innermost axis is the last one, or the one of the highest level
  CHECK(check_step(step::all_gather, in_order, 0, R) == diagnostic{code::not_innermost, 0, 0});
  CHECK(check_step(step::all_gather, in_order, 1, R).what == code::ok);
  CHECK(check_step(step::all_gather, turned, 0, R).what == code::ok);
  CHECK(check_step(step::all_gather, turned, 1, R) == diagnostic{code::not_innermost, 1, 0});
  CHECK(check_step(step::reduce_scatter, on({P, S(0)}, 1), 0, S(0)).what == code::not_innermost);
  CHECK(check_step(step::reduce_scatter, on({P, S(0)}, 1), 0, level(S(0), 1)).what == code::ok);
  CHECK(check_step(step::all_to_all, on({S(0), S(1)}, 2), 0, S(1)).what == code::not_innermost);
  CHECK(check_step(step::all_to_all, on({S(1), S(0)}, 2), 1, S(1)).what == code::ok);
  CHECK(check_step(step::repartition, in_order, 0, S(0, 2)).what == code::not_innermost);
  CHECK(check_step(step::repartition, in_order, 1, S(0, 2)).what == code::ok);
}

TEST_CASE("|a| of plain numbers and of those with derivatives") {
  auto const a = sim::abs(sim::dual<2>::variable(-3.0, 1));
  CHECK((a.value == 3 && a.slope[0] == 0 && a.slope[1] == -1));
  CHECK(sim::abs(-2.5) == 2.5);
  CHECK(!std::signbit(sim::abs(-0.0)));
}

} // namespace test_sim
