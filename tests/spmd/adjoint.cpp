// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every legal step on 2, 3 and 4 simulated ranks: it keeps the value if it says so, its result is what its placement
// says, and the step that adjoint_of names is its adjoint: <back(g), x> = <g, step(x)> for all basis vectors.
#include <string>
#include <utility>
#include <vector>

#include <sla/spmd/check/sim/axis_step.hpp>
#include <sla/spmd/check/sim/value.hpp>

#include "catch.hpp"
#include "placed.hpp"
#include "sample.hpp"
#include "stated_steps.hpp"

namespace test_adjoint {

using namespace sla;
using namespace placed_values;

namespace {

using ranks = sim::on_ranks<double>;
using kind = placement_kind;

bool is_copies(placement_value p) { return p == R || p == Inv; }
bool is_ghost(placement_value p) { return p.kind == kind::ghost || p.kind == kind::ghost_partial; }

// One axis, the shape of the value, and what the numbers of families mean.
struct stage {
  sim::world w;
  std::vector<int> shape;
  int dim = 0; // of tuples

  sim::remainder whole(placement_value p) const {
    return sim::remainder(sim::all_indices(shape[static_cast<std::size_t>(p.dim)]));
  }
  sim::owned_indices owned_indices(placement_value p, bool halo) const {
    if (!is_sharded(p.kind)) return {};
    return sim::holding_of(w, p, 0, whole(p), halo);
  }
  bool fits(placement_value p) const {
    if (p == V) return shape[static_cast<std::size_t>(dim)] == w.ranks[0];
    if (is_ghost(p) && shape[static_cast<std::size_t>(p.dim)] < 3) return false; // the halos name entry 2
    return !is_sharded(p.kind) || (p.dim < static_cast<int>(shape.size()) && sim::accepts(w, p, 0, whole(p)));
  }
  ranks take(transition const& t, ranks const& x) const {
    return sim::take_step(
        t, x, {dim, owned_indices(t.from, false), owned_indices(t.to, false), owned_indices(t.from, true), owned_indices(t.to, true)});
  }
  // The shapes of the parts: a step that keeps the bytes keeps the shape.
  ranks zeros(placement_value p, step how) const {
    ranks out;
    for (int r = 0; r < w.ranks[0]; ++r) {
      auto s = shape;
      if (is_sharded(p.kind)) s[static_cast<std::size_t>(p.dim)] = sim::count(owned_indices(p, true)[r]);
      if (p == V && how != step::reinterpret && how != step::all_to_all) s.erase(s.begin() + dim);
      out.emplace_back(s);
    }
    return out;
  }
  std::vector<ranks> basis(placement_value p, step how) const {
    std::vector<ranks> out;
    auto const none = zeros(p, how);
    auto const own = owned_indices(p, false), all = owned_indices(p, true);
    for (int r = 0; r < sim::count(none); ++r)
      for (int n = 0; n < none[static_cast<std::size_t>(r)].size(); ++n) {
        auto e = none;
        if (is_copies(p)) {
          if (r > 0) continue;
          for (auto& mine : e) mine[n] = 1;
        } else if (p.kind == kind::ghost) { // an own entry, and its copies
          auto const& mine = none[static_cast<std::size_t>(r)];
          int const j = n / mine.inner(p.dim) % mine.extent(p.dim);
          if (j >= sim::count(own[r])) continue;
          e[static_cast<std::size_t>(r)][n] = 1;
          auto const value = sim::joined(sim::owned(e, p.dim, own), p.dim, own);
          e = sim::cut(value, p.dim, all);
        } else {
          e[static_cast<std::size_t>(r)][n] = 1;
        }
        out.push_back(std::move(e));
      }
    return out;
  }
  // Are what the ranks hold values of this placement?
  bool represents(placement_value p, ranks const& x) const {
    if (is_copies(p))
      for (auto const& mine : x)
        if (mine != x[0]) return false;
    if (p.kind == kind::ghost) {
      auto const own = owned_indices(p, false);
      return x == sim::cut(sim::joined(sim::owned(x, p.dim, own), p.dim, own), p.dim, owned_indices(p, true));
    }
    return true;
  }
  sim::array<double> value(placement_value p, ranks const& x) const {
    if (is_copies(p)) return x[0];
    if (p == P) return sim::folded(x, monoid::sum);
    if (p == V) return sim::stack(x, dim);
    if (p.kind == kind::ghost_partial) return sim::added(x, p.dim, owned_indices(p, true));
    return sim::joined(x, p.dim, owned_indices(p, true));
  }
};

// The reason against it, if any.
std::string wrong(stage const& s, transition t, transition back) {
  std::vector<ranks> gradients;
  auto const seeds = s.basis(dual(t.to), t.how);
  for (auto const& g : seeds) {
    gradients.push_back(s.take(back, g));
    if (!s.represents(dual(t.from), gradients.back())) return "the gradient is not what its placement says";
  }
  bool const kept = t.how != step::reinterpret && !(t.how == step::all_to_all && t.from == V);
  for (auto const& x : s.basis(t.from, t.how)) {
    auto const y = s.take(t, x);
    if (!s.represents(t.to, y)) return "the result is not what its placement says";
    if (kept && s.value(t.from, x) != s.value(t.to, y)) return "the value is not kept";
    for (std::size_t n = 0; n < seeds.size(); ++n) {
      if (gradients[n].size() != x.size()) return "the gradient has the wrong shape";
      for (std::size_t r = 0; r < x.size(); ++r)
        if (gradients[n][r].extents != x[r].extents) return "the gradient has the wrong shape";
      if (sim::pairing(t.from, gradients[n], x) != sim::pairing(t.to, seeds[n], y)) return "not the adjoint";
    }
  }
  return "";
}

// Numbers of families: 1 even, 2 balanced, 3 with empty parts, 4 strided, 5 an owner map, 6 a table (4 ranks only).
sim::world world_of(int n) {
  sim::world w{{n}};
  w.families = {{},
                {family_facts_of<Even>},
                {family_facts_of<Balanced>},
                {family_facts_of<Ceil>},
                {family_facts_of<Strided<2>>},
                {{}, {1, 0, 1, 1, 2, 0, 3, 1, 2, 0, 1, 3}},
                {family_facts_of<Table<3, 0, 1, 2>>}};
  w.halos.resize(6); // patterns 2 and 5: entries of others, entries of nobody else, own entries
  w.halos[2] = {{0, 2}, {1, 0}, {}, {2, 1}};
  w.halos[5] = {{2, 1}, {}, {0}, {2}};
  for (auto& halo : w.halos) halo.resize(static_cast<std::size_t>(n));
  return w;
}

std::vector<placement_value> all_placements(int dims) {
  std::vector<placement_value> out = {R, Inv, V, P};
  for (int d = 0; d < dims; ++d)
    for (int f = 1; f <= 6; ++f) out.push_back(S(d, f));
  for (int d = 0; d < dims; ++d)
    for (int f : {2, 5})
      for (bool dual : {false, true}) {
        auto p = ghost(d, dual);
        p.family = static_cast<std::int16_t>(f);
        p.pattern = static_cast<std::int16_t>(f);
        out.push_back(p);
      }
  return out;
}

std::vector<std::vector<int>> shapes_of(int n) {
  return {{n}, {5}, {6}, {2 * n, 3}, {3, n}, {4, 6}, {3, n, 2}, {n, 3, 4}};
}

} // namespace

TEST_CASE("adjoints are legal, involutive and true") {
  int forms = 0, checked = 0;
  for (int n : {2, 3, 4})
    for (auto const& shape : shapes_of(n)) {
      int const dims = static_cast<int>(shape.size());
      for (int dim = 0; dim < dims; ++dim) {
        stage const s{world_of(n), shape, dim};
        auto const all = all_placements(dims);
        for (int how = 0; how < step_count; ++how)
          for (auto from : all)
            for (auto to : all) {
              transition const t{static_cast<step>(how), from, to};
              bool const sparse = t.how == step::assemble || t.how == step::restrict_pattern;
              if (sparse || check(t, true) != code::ok || !s.fits(from) || !s.fits(to)) continue;
              bool const tuples = from == V || to == V;
              if (dim > 0 && !tuples) continue;
              if (from == to && t.how != step::all_to_all) continue;
              auto const back = adjoint_of(t);
              INFO(n << " ranks, step " << how << " from " << int(from.kind) << "(" << int(from.dim) << ","
                     << from.family << ") to " << int(to.kind) << "(" << int(to.dim) << "," << to.family << ")");
              REQUIRE(check(back, true) == code::ok);
              bool const named_twice = t.how == step::reinterpret && is_copies(from) && is_copies(to);
              bool const same_dim = t.how == step::all_to_all && from.dim == to.dim;
              REQUIRE(adjoint_of(back) == (named_twice ? transition{step::convert, from, to} : t));
              if (checked++ % one_in() == 0) CHECK(wrong(s, t, back) == "");
              forms += n == 2 && shape.size() == 1 && shape[0] == n && !same_dim;
            }
      }
    }
  CHECK(forms > 30);
  CHECK(checked > 3500);
}

TEST_CASE("wrong adjoints are caught") {
  stage const s{world_of(3), {3, 3}};
  struct {
    transition forward, back;
  } const mistakes[] = {
      {{step::all_reduce, P, R}, {step::reinterpret, P, R}},            // nothing
      {{step::all_reduce, P, Inv}, {step::all_reduce, Inv, R}},         // reduced again
      {{step::all_gather, S(0), R}, {step::convert, R, S(0)}},          // sliced
      {{step::all_gather, S(0), Inv}, {step::reduce_scatter, P, S(0)}}, // reduced
      {{step::convert, Inv, R}, {step::reinterpret, P, Inv}},           // nothing
      {{step::convert, R, S(0)}, {step::all_gather, S(0), R}},          // gathered
      {{step::reinterpret, V, P}, {step::all_reduce, P, R}},            // reduced
  };
  for (auto const& m : mistakes) {
    CHECK(wrong(s, m.forward, m.back) != "");
    CHECK(wrong(s, m.forward, adjoint_of(m.forward)) == "");
  }
  // and those of halos
  auto p = ghost(0), q = ghost(0, true);
  p.family = q.family = 2, p.pattern = q.pattern = 2;
  CHECK(wrong(s, {step::halo_exchange, S(0, 2), p}, {step::convert, p, S(0, 2)}) != "");
  CHECK(wrong(s, {step::convert, p, S(0, 2)}, {step::halo_exchange, S(0, 2), p}) != "");
}

TEST_CASE("one call of two steps has the adjoints in reverse order") {
  for (auto const t : {transition{step::all_reduce, V, R}, transition{step::all_reduce, V, Inv},
                       transition{step::reduce_scatter, V, S(0)}, transition{step::reduce_scatter, V, V},
                       transition{step::reinterpret, Inv, V}, transition{step::reinterpret, Inv, P}}) {
    auto const path = steps_of(t);
    REQUIRE(path.size == 2);
    CHECK(check_path(path) == code::ok);
    auto const back = adjoint_of(path);
    CHECK(back.steps[0].from == dual(t.to));
    CHECK(back.steps[1].to == dual(t.from));
    CHECK(back.steps[0].to == back.steps[1].from);
    CHECK(adjoint_of(back) == path);
  }
  CHECK(steps_of({step::convert, R, R}).size == 0);
  CHECK(steps_of({step::all_reduce, P, R}).size == 1);
  CHECK(check_path(steps_of({step::reinterpret, V, R})) == code::unprovable_replicate);
  CHECK(check_path(steps_of({step::reduce_scatter, V, R})) == code::wrong_collective);
}

// What is held by several, or by none, is added; the gradient of the sum goes to every term.
TEST_CASE("unassembled sparse terms and their gradients") {
  constexpr int entries = 5;
  sim::owned_indices const terms{entries, {{0, 2, 3}, {2, 4, 0}, {2}}};
  auto const rows = sim::sharded<Balanced>(entries, 3);
  placement_value const by_rows = rows_or_columns(0);
  auto const take = [&](transition const& t, ranks const& x) {
    bool const back = t.how == step::restrict_pattern;
    return sim::take_step(t, x, {0, back ? rows : terms, back ? terms : rows, {}, {}});
  };
  for (placement_value to : {R, Inv, by_rows}) {
    transition const t{step::assemble, P, to}, back = adjoint_of(t);
    REQUIRE(check(t) == code::ok);
    REQUIRE(check(back) == code::ok);
    REQUIRE(adjoint_of(back) == t);
    stage const s{{{3}, {{}, {family_facts_of<Balanced>}}}, {entries}};
    std::vector<ranks> seeds;
    if (to == by_rows)
      seeds = s.basis(S(0, 1), t.how);
    else
      seeds = s.basis(dual(to), t.how);
    for (auto const& g : seeds)
      for (int r = 0; r < 3; ++r)
        for (int n = 0; n < sim::count(terms[r]); ++n) {
          ranks x;
          for (int q = 0; q < 3; ++q) x.emplace_back(std::vector<int>{sim::count(terms[q])});
          x[static_cast<std::size_t>(r)][n] = 1;
          auto const y = take(t, x);
          CHECK(sim::pairing(to == by_rows ? V : to, g, y) == sim::pairing(V, take(back, g), x));
        }
  }
  CHECK(check({step::assemble, P, S(0)}) == code::wrong_collective);
  tensor_placement dense = tensor_on(P, 2).type, sparse = tensor_on(P, 2, 0).type;
  CHECK(check_step(step::assemble, dense, 0, R).what == code::wrong_collective);
  CHECK(check_step(step::assemble, sparse, 0, R).what == code::ok);
}

} // namespace test_adjoint
