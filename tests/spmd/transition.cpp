// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transitions against a table of ground truth, and their adjoints: by type (the dual goes back), and by number, on
// three simulated ranks: <adjoint(g), x> = <g, step(x)> for all basis vectors.
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "placed.hpp"

using namespace sla;
using namespace placed_values;

namespace {

std::vector<std::pair<std::string, step>> const steps = {{"all_reduce", step::all_reduce},
                                                         {"all_gather", step::all_gather},
                                                         {"reduce_scatter", step::reduce_scatter},
                                                         {"convert", step::convert},
                                                         {"reinterpret", step::reinterpret}};
std::vector<std::string> const names = {"R", "I", "V", "P", "S0", "S1"};

// ---- numbers on ranks: global values have n entries; a shard and a varying value have n / ranks of them on each rank
// --
constexpr int ranks = 3, n = 6, part = n / ranks;
using local = fixed_array<double, n>; // the first size(p) entries count
using on_ranks = fixed_array<local, ranks>;

bool is_part(placed p) { return p.kind == placement_kind::shard || p.kind == placement_kind::varying; }
bool is_copy(placed p) { return p == R || p == Inv; }

// reinterpret keeps the sizes, so there a varying value has n entries like the others
int size(placed p, step how) { return is_part(p) && how != step::reinterpret ? part : n; }

on_ranks apply(transition t, on_ranks const& x) {
  on_ranks y{};
  if (t.how == step::reinterpret) return x;
  local whole{}; // the value that x stands for
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < size(t.from, t.how); ++i) {
      if (is_part(t.from)) whole[r * part + i] = x[r][i];
      if (is_copy(t.from)) whole[i] = x[0][i];
      if (t.from == P) whole[i] += x[r][i];
    }
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < size(t.to, t.how); ++i) {
      if (is_part(t.to)) y[r][i] = whole[r * part + i];
      if (is_copy(t.to)) y[r][i] = whole[i];
      if (t.to == P) y[r][i] = is_part(t.from) ? (i / part == r ? whole[i] : 0) : (r == 0 ? whole[i] : 0);
    }
  return y;
}

// <g, x> for x of placement p and g of its dual.
double pairing(placed p, on_ranks const& g, on_ranks const& x) {
  double sum = 0;
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < n; ++i)
      if (p == R)
        sum += g[r][i] * x[0][i];
      else if (p == Inv)
        sum += r == 0 ? g[0][i] * x[0][i] : 0;
      else if (p == P)
        sum += g[0][i] * x[r][i];
      else
        sum += g[r][i] * x[r][i];
  return sum;
}

std::vector<on_ranks> basis(placed p, int entries) {
  std::vector<on_ranks> out;
  for (int r = 0; r < (is_copy(p) ? 1 : ranks); ++r)
    for (int i = 0; i < entries; ++i) {
      on_ranks e{};
      for (int q = 0; q < ranks; ++q) e[q][i] = is_copy(p) || q == r ? 1 : 0;
      out.push_back(e);
    }
  return out;
}

bool adjoint_is_true(transition t, transition back) {
  for (auto const& x : basis(t.from, size(t.from, t.how)))
    for (auto const& g : basis(dual(t.to), size(t.to, t.how)))
      if (pairing(t.from, apply(back, g), x) != pairing(t.to, g, apply(t, x))) return false;
  return true;
}

} // namespace

TEST_CASE("what goes where, and back") {
  std::set<std::string> listed;
  for (auto const& row : table("transitions.csv")) {
    auto const& [name, src, dst, kept, right, backward] = std::tie(row[0], row[1], row[2], row[3], row[4], row[5]);
    transition t;
    for (auto const& [text, how] : steps)
      if (text == name) t.how = how;
    t.from = parse(src), t.to = parse(dst);
    INFO(name << " " << src << " to " << dst);
    REQUIRE(right == "1");
    // Out of Invariant by two steps only; what does not keep the value and does not say so is refused.
    bool const composite = t.how == step::reinterpret && src == "I" && (dst == "V" || dst == "P");
    bool const legal = (t.how == step::reinterpret || kept == "1") && !composite;
    CHECK((check(t, true) == code::ok) == legal);
    listed.insert(name + src + dst);
    if (!legal) continue;
    auto const back = adjoint_of(t);
    bool const communicates = back.how != step::convert && back.how != step::reinterpret;
    CHECK(communicates == (backward != "none"));
    for (auto const& [text, how] : steps)
      if (text == backward) CHECK(back.how == how);
    CHECK(back.from == dual(t.to));
    CHECK(back.to == dual(t.from));
  }
  for (auto const& [name, how] : steps)
    for (auto const& src : names)
      for (auto const& dst : names)
        if (src != dst && !listed.contains(name + src + dst))
          CHECK(check({how, parse(src), parse(dst)}, true) != code::ok);
}

TEST_CASE("adjoints are legal, involutive and true") {
  int checked = 0;
  std::vector<placed> all = {R, Inv, V, P, S(0), rows_or_columns(0), ghost(0), ghost(0, true)};
  for (int how = 0; how < step_count; ++how)
    for (auto from : all)
      for (auto to : all) {
        transition const t{static_cast<step>(how), from, to};
        if (from == to || check(t, true) != code::ok) continue;
        auto const back = adjoint_of(t);
        INFO("step " << how << " from " << int(from.kind) << " to " << int(to.kind));
        CHECK(check(back, true) == code::ok);
        bool const named_twice = t.how == step::reinterpret && is_copy(from) && is_copy(to); // convert says the same
        CHECK(adjoint_of(back) == (named_twice ? transition{step::convert, from, to} : t));
        if (from.kind < placement_kind::sparse_shard && to.kind < placement_kind::sparse_shard) {
          CHECK(adjoint_is_true(t, back));
          ++checked;
        }
      }
  CHECK(checked == 27);
}

TEST_CASE("wrong adjoints are caught by the numbers") {
  CHECK(!adjoint_is_true({step::all_reduce, P, Inv}, {step::all_reduce, P, R}));
  CHECK(!adjoint_is_true({step::all_gather, S(0), R}, {step::convert, R, S(0)}));
  CHECK(!adjoint_is_true({step::convert, Inv, R}, {step::reinterpret, P, Inv}));
  CHECK(!adjoint_is_true({step::reinterpret, V, P}, {step::all_reduce, P, V}));
}

TEST_CASE("each refusal of a step has its code") {
  CHECK(check({step::all_reduce, R, R}) == code::reduction_of_replicate);
  CHECK(check({step::all_reduce, V, R}) == code::reduction_of_replicate);
  CHECK(check({step::all_reduce, S(0), R}) == code::wrong_collective);
  CHECK(check({step::all_gather, P, R}) == code::wrong_collective);
  CHECK(check({step::reduce_scatter, P, R}) == code::wrong_collective);
  CHECK(check({step::convert, P, R}) == code::local_conversion);
  CHECK(check({step::convert, S(0), R}) == code::local_conversion);
  CHECK(check({step::convert, S(0), S(1)}) == code::local_conversion);
  CHECK(check({step::reinterpret, V, R}) == code::unprovable_replicate);
  CHECK(check({step::reinterpret, S(0), V}) == code::reinterpreted_shard);
  CHECK(check({step::halo_exchange, S(0, 3), ghost(0)}) == code::wrong_collective);
  // allowed to those who insist
  for (auto const t : {transition{step::convert, R, Inv}, transition{step::convert, Inv, P},
                       transition{step::convert, V, P}, transition{step::convert, S(0), P},
                       transition{step::reinterpret, R, Inv}, transition{step::reinterpret, Inv, R},
                       transition{step::reinterpret, R, P}, transition{step::reinterpret, R, V}}) {
    CHECK(check(t) == code::expert_only);
    CHECK(check(t, true) == code::ok);
  }
  CHECK(check({step::reinterpret, V, P}) == code::ok);
}

TEST_CASE("axes that share a dimension are gathered from the innermost") {
  typing t = tensor_on(S(0), 1).type;
  t.axes = 2;
  t.on[1] = S(0);
  CHECK(check_step(step::all_gather, t, 1, R) == diagnostic{});
  CHECK(check_step(step::all_gather, t, 0, R) == diagnostic{code::not_innermost, 0, 0});
  t.on[0] = P;
  CHECK(check_step(step::reduce_scatter, t, 0, S(0)).what == code::not_innermost);
  CHECK(check_step(step::reduce_scatter, t, 0, S(1)).what == code::no_such_dimension);
  CHECK(check_step(step::all_reduce, t, 0, R) == diagnostic{});
}
