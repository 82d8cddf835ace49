// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fixes that a refusal prints: each, applied, is accepted; the cheapest come first; none makes a program pending that was not.
#include <set>
#include <string>
#include <vector>

#include <sla/spmd.hpp>

#include "catch.hpp"
#include "placed.hpp"

namespace test_fixes {

using namespace sla;
using namespace placed_values;

namespace {

std::string letter(placement_value p) {
  for (auto const& [at, name] : {std::pair{R, "R"}, {Inv, "I"}, {V, "V"}, {P, "P"}})
    if (p == at) return name;
  if (p.kind == placement_kind::shard) return "S" + std::to_string(p.dim);
  return p.kind == placement_kind::sparse_shard ? "rows_or_columns" : "ghost";
}

std::string spelled(suggested_fix const& f) {
  std::string out;
  for (int n = 0; n < f.size; ++n) {
    auto const& s = f.steps[n];
    out += (n ? " + " : "") + std::string(name_of(s.step.how)) + " " + letter(s.step.from) + letter(s.step.to) + (s.insisted ? " (expert)" : "");
  }
  return out + " => " + letter(f.result);
}

template <class Rule>
suggested_fixes fixes_of(Rule const& rule, std::vector<operand> const& operands) {
  auto const refused = check(rule, operands);
  REQUIRE_FALSE(refused.ok());
  return suggest([&](std::span<operand const> o) { return check(rule, o); }, operands, refused.why);
}

std::vector<operand> on_one_axis(std::vector<placement_value> const& at) {
  std::vector<operand> out;
  for (auto p : at) out.push_back(tensor_on(p, 1));
  return out;
}

std::set<std::string> all_of(suggested_fixes const& list) {
  std::set<std::string> out;
  for (int n = 0; n < list.size; ++n) out.insert(spelled(list.best[n]));
  return out;
}

/// Applies a fix step by step: every step is legal where it is taken, and then the call is.
template <class Rule>
void check_fix(Rule const& rule, std::vector<operand> operands, suggested_fix const& f) {
  int cost = 0;
  for (int n = 0; n < f.size; ++n) {
    auto const& s = f.steps[n];
    auto& t = operands.at(static_cast<std::size_t>(s.operand)).type;
    REQUIRE(t.on[s.axis] == s.step.from);
    REQUIRE(check_step(s.step.how, t, s.axis, s.step.to, s.insisted).what == code::ok);
    t.on[s.axis] = s.step.to;
    cost += cost_of(s.step, t);
  }
  REQUIRE(check(rule, operands).ok());
  REQUIRE(f.cost == cost);
}

struct tally {
  int refused = 0, mended = 0;
};

template <class Rule>
void check_fixes(Rule const& rule, std::vector<operand> const& operands, tally& count) {
  auto const first = check(rule, operands);
  if (first.ok()) return;
  ++count.refused;
  auto const list = fixes_of(rule, operands);
  count.mended += list.size > 0;
  for (int n = 0; n < list.size; ++n) {
    check_fix(rule, operands, list.best[n]);
    REQUIRE((n == 0 || list.best[n - 1].cost <= list.best[n].cost));
  }
}

op_rule const nonlinear{}, linear{.linear = linearity::joint}, multilinear{.linear = linearity::separate};

} // namespace

TEST_CASE("the fixes of operations on copies, sums and varying values") {
  struct row {
    std::vector<placement_value> operands;
    std::set<std::string> nonlinear, linear, multilinear; // empty: legal
  };
  std::string const read = "convert IR => ", reduce = "all_reduce PR => ", once = "all_reduce PI => I", insist = "convert IP (expert) => P";
  std::vector<row> const table = {
      {{Inv, R}, {read + "R"}, {read + "R"}, {read + "R"}},
      {{Inv, V}, {read + "V"}, {read + "V"}, {read + "V"}},
      {{Inv, P}, {once}, {insist, once}, {read + "P", once}},
      {{P, R}, {reduce + "R"}, {reduce + "R", "convert RP => P"}, {}},
      {{P, V}, {reduce + "V"}, {reduce + "V"}, {reduce + "V"}},
      {{P, P}, {"all_reduce PR + all_reduce PR => R"}, {}, {reduce + "P"}},
      {{P}, {reduce + "R", once}, {}, {}},
      {{Inv, R, V}, {read + "V"}, {read + "V"}, {read + "V"}},
      {{R, P, V}, {reduce + "V"}, {reduce + "V"}, {reduce + "V"}},
      {{Inv, R, P},
       {"convert IR + all_reduce PR => R"},
       {"convert IR + all_reduce PR => R", "convert IP (expert) + convert RP => P"},
       {read + "P"}}};
  for (auto const& [at, of_nonlinear, of_linear, of_multilinear] : table)
    for (auto const& [rule, expected] :
         {std::pair{&nonlinear, &of_nonlinear}, std::pair{&linear, &of_linear}, std::pair{&multilinear, &of_multilinear}}) {
      auto const operands = on_one_axis(at);
      CHECK(check(*rule, operands).ok() == expected->empty());
      if (!expected->empty()) CHECK(all_of(fixes_of(*rule, operands)) == *expected);
    }
}

TEST_CASE("every fix of every refusal on one axis is accepted") {
  std::vector<placement_value> const all = {R, Inv, V, P, S(0), S(0, 3)};
  tally count;
  for (auto const* rule : {&nonlinear, &linear, &multilinear})
    for (auto a : all) {
      check_fixes(*rule, on_one_axis({a}), count);
      for (auto b : all) {
        check_fixes(*rule, on_one_axis({a, b}), count);
        for (auto c : all) check_fixes(*rule, on_one_axis({a, b, c}), count);
      }
    }
  CHECK(count.refused > 400);
  INFO(count.mended << " of " << count.refused);
  CHECK(count.mended > 400);
}

TEST_CASE("every fix on two axes mends both") {
  std::vector<placement_value> const all = {R, Inv, V, P, S(0), S(1)};
  tally count;
  for (auto const& rule : {linear, multilinear})
    for (auto a : all)
      for (auto b : all)
        for (auto c : all)
          for (auto d : all) {
            std::vector<operand> operands = {tensor_on(a, 2), tensor_on(c, 2)};
            operands[0].type.axes = operands[1].type.axes = 2;
            operands[0].type.on[1] = b;
            operands[1].type.on[1] = d;
            check_fixes(rule, operands, count);
          }
  INFO(count.mended << " of " << count.refused);
  CHECK(count.refused > 1000);
  CHECK(count.mended > count.refused / 2);
}

TEST_CASE("every fix of products and solves with sparse operands is accepted") {
  std::vector<placement_value> const of_A = {R, Inv, P, rows_or_columns(0), rows_or_columns(0, 3), rows_or_columns(1), rows_or_columns(1, 3)};
  std::vector<placement_value> const of_x = {R, Inv, V, P, S(0), S(0, 3), ghost(0), ghost(0, true)};
  tally count;
  for (auto const& rule : {rule_of<op::matvec>, rule_of<op::transposed_matvec>, rule_of<op::solve>})
    for (auto A : of_A)
      for (auto x : of_x) check_fixes(rule, {tensor_on(A, 2, 0), tensor_on(x, 1)}, count);
  INFO(count.mended << " of " << count.refused);
  CHECK(count.refused > 80);
  CHECK(count.mended > 60);
}

TEST_CASE("shards are mended by the cheapest step") {
  CHECK(spelled(fixes_of(linear, on_one_axis({S(0), R})).best[0]) == "convert RS0 => S0"); // free both ways
  CHECK(spelled(fixes_of(linear, on_one_axis({S(0), R})).best[1]) == "all_gather S0R => R");
  CHECK(spelled(fixes_of(linear, {tensor_on(S(0), 2), tensor_on(S(1), 2)}).best[0]) == "all_to_all S0S1 => S1");
  CHECK(spelled(fixes_of(linear, on_one_axis({S(0), S(0, 3)})).best[0]) == "repartition S0S0 => S0");
  CHECK(spelled(fixes_of(linear, on_one_axis({S(0), P})).best[0]) == "reduce_scatter PS0 => S0");
  auto const sparse = [](placement_value A, placement_value x) { return fixes_of(rule_of<op::matvec>, {tensor_on(A, 2, 0), tensor_on(x, 1)}); };
  CHECK(spelled(sparse(rows_or_columns(0), S(0, 3)).best[0]) == "repartition S0S0 => S0");
  CHECK(spelled(sparse(rows_or_columns(1), R).best[0]) == "convert RS0 => P");
}

TEST_CASE("numbers are no operands to wrap") {
  auto const list = fixes_of(linear, {tensor_on(P, 1), literal_operand()});
  REQUIRE(list.size == 1);
  CHECK(spelled(list.best[0]) == "all_reduce PR => R");
}

TEST_CASE("a step that was asked for wrongly names the one that keeps the value") {
  auto const t = [](placement_value at) { return tensor_on(at, 1).type; };
  auto const one = [&](placement_value from, step asked, placement_value to) {
    auto const f = suggest_step(t(from), 0, asked, to);
    return f.size == 0 ? std::string() : spelled(f);
  };
  CHECK(one(P, step::convert, R) == "all_reduce PR => R");
  CHECK(one(P, step::all_gather, R) == "all_reduce PR => R");
  CHECK(one(P, step::convert, S(0)) == "reduce_scatter PS0 => S0");
  CHECK(one(S(0), step::reinterpret, R) == "all_gather S0R => R");
  CHECK(one(R, step::convert, Inv) == "convert RI (expert) => I");
  CHECK(one(R, step::reinterpret, P) == "convert RP => P"); // the value is kept
  CHECK(one(V, step::reinterpret, R) == "all_gather VR => R");
  CHECK(one(R, step::all_reduce, R).empty()); // to be removed
  // what is printed is legal where it is printed
  for (auto from : {R, Inv, V, P, S(0), S(0, 3), ghost(0), ghost(0, true)})
    for (auto to : {R, Inv, V, P, S(0), S(0, 3), ghost(0), ghost(0, true)})
      for (int how = 0; how < step_count; ++how) {
        auto const f = suggest_step(t(from), 0, static_cast<step>(how), to);
        if (f.size == 0) continue;
        auto const& s = f.steps[0];
        CHECK(check_step(s.step.how, t(from), 0, to, s.insisted).what == code::ok);
      }
}

TEST_CASE("copies are cut inside of what other axes shard already") {
  tensor_placement t = tensor_on(R, 1).type;
  t.axes = 2;
  t.on[1] = S(0);
  REQUIRE(check_step(step::convert, t, 0, S(0)).what == code::not_innermost);
  placement_value inner = S(0);
  inner.level = 1;
  auto const f = suggest_step(t, 0, step::convert, S(0));
  REQUIRE(f.size == 1);
  CHECK(f.steps[0] == inserted_call{0, 0, {step::convert, R, inner}});
  CHECK(check_step(step::convert, t, 0, inner).what == code::ok);
}

TEST_CASE("a number is reduced rather than a tensor gathered beside it") {
  auto number = tensor_on(P, 0);
  auto const list = fixes_of(rule_of<op::mul>, {number, tensor_on(S(0), 1)});
  REQUIRE(list.size >= 1);
  CHECK(spelled(list.best[0]) == "all_reduce PR => S0");
}

// the search is a constant expression
static_assert([] {
  operand const sum[] = {tensor_on(P, 1), tensor_on(R, 1)};
  auto const found =
      suggest([](std::span<operand const> o) { return check(rule_of<op::add>, o); }, sum, check(rule_of<op::add>, sum).why);
  return found.size == 2 && found.best[0].steps[0] == inserted_call{1, 0, {step::convert, R, P}} &&
         found.best[1].steps[0] == inserted_call{0, 0, {step::all_reduce, P, R}};
}());

} // namespace test_fixes
