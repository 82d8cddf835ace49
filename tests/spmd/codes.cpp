// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every code that a rule on values can give is given by one; the others are those of calls and types, on the page of placements.
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <sla/core/op.hpp>
#include <sla/spmd.hpp>
#include <sla/spmd/rule/tables.hpp>
#include <sla/tensor/storage/dense.hpp>

#include "catch.hpp"
#include "placed.hpp"

namespace test_codes {

using namespace sla;
using namespace placed_values;

namespace {

op_rule const nonlinear{}, linear{.linear = linearity::joint}, multilinear{.linear = linearity::separate};

template <class Rule>
diagnostic refusal(Rule const& rule, std::vector<operand> const& operands, call_context const& now = {}) {
  return check(rule, operands, now).why;
}
code of(op_rule const& rule, placement_value a, placement_value b) { return refusal(rule, {tensor_on(a, 1), tensor_on(b, 1)}).what; }
code step_code(step how, placement_value from, placement_value to) { return check(transition{how, from, to}); }

tensor_placement on_two_axes(placement_value a, placement_value b) {
  auto t = tensor_on(a, 2).type;
  t.axes = 2;
  t.on[1] = b;
  return t;
}

using Grid = mesh<axis<"dp", 2>, axis<"tp", 4>>;
using X = distributed<vector<double>, Grid, Replicate, Replicate>;
using Elsewhere = distributed<vector<double>, mesh<axis<"dp", 2>>, Replicate>;

/// What each of these gives, by the number of the code that it must give.
std::vector<std::pair<int, code>> given() {
  auto const split = [](int k) { return tensor_on(S(0), k); };
  call_context says_so, in_place;
  says_so.explicit_partial = 1;
  in_place.in_place = 0;
  auto const layer = strategies::einsum_plus("mk,kn->mn", dims::unknown(1), 0, dims::unknown(2), dims::unknown(2));
  strategy twice; // two rules for the same operands
  twice.inputs = 1;
  rule shards;
  shards.in[0] = {slot_kind::shard, 0};
  shards.out[0] = {slot_kind::shard, 0};
  twice.add(shards);
  shards.out[0] = {slot_kind::replicate};
  twice.add(shards);
  filler_list one_family;
  one_family.at[one_family.size++] = {};
  return {
      {1, of(linear, Inv, R)},
      {2, of(linear, Inv, V)},
      {3, of(linear, P, R)},
      {4, refusal(linear, {tensor_on(P, 1), literal_operand()}).what},
      {5, of(multilinear, P, P)},
      {6, of(linear, P, V)},
      {7, of(nonlinear, P, P)},
      {8, of(rule_of<op::div>, R, P)},
      {9, refusal(layer, {tensor_on(R, 1), tensor_on(P, 2), tensor_on(R, 2)}).what},
      {10, step_code(step::all_reduce, R, R)},
      {11, step_code(step::all_gather, P, R)},
      {12, step_code(step::convert, P, R)},
      {13, step_code(step::reinterpret, V, R)},
      {14, step_code(step::convert, R, Inv)},
      {15, outcome_of<op::add, X, Elsewhere>.why.what},
      {16, check_step(step::all_gather, on_two_axes(S(0), S(0)), 0, R).what},
      {17, of(linear, S(0), R)},
      {18, refusal(rule_of<op::dot>, {split(1), split(1)}, says_so).what},
      {19, refusal(rule_of<op::matvec>, {tensor_on(rows_or_columns(0), 2, 0), tensor_on(S(0, 3), 1)}).what},
      {21, refusal(op_rule{.known = false}, {split(1)}).what},
      {22, refusal(linear, {tensor_on(R, 1), tensor_on(V, 1)}, in_place).what},
      {23, check_branch(tensor_on(V, 0).type).what},
      {24, outcome_of<op::mul, double, X>.why.what},
      {29, check_placements(tensor_on(S(1), 1).type).what},
      {31, check_placements(on_two_axes(P, {placement_kind::partial, monoid::maximum})).what},
      {32, refusal(rule_of<op::sum>, {tensor_on(ghost(0), 1)}).what},
      {33, of(linear, S(0), V)},
      {34, step_code(step::reinterpret, S(0), R)},
      {35, outcome_of<op::add, X, vector<double>>.why.what},
      {38, expand(twice, one_family).why},
  };
}

} // namespace

TEST_CASE("every code of the rules is given by a rule") {
  std::set<int> seen;
  for (auto const& [number, what] : given()) {
    INFO(number);
    CHECK(number_of(what) == number);
    seen.insert(number);
  }
  // of options, seeds, reshapes, meshes, mapped functions, flattened axes: types of dist/, which the page shows
  for (int n : {20, 25, 26, 27, 28, 30, 36, 37}) CHECK(seen.insert(n).second);
  CHECK(static_cast<int>(seen.size()) == number_of(code::ambiguous_rule));
}

TEST_CASE("the page shows every refusal of a program") {
  std::ifstream page(data("../../include/sla/spmd/README.md"));
  REQUIRE(page);
  std::set<int> shown;
  for (std::string line; std::getline(page, line);)
    if (line.starts_with("### E")) CHECK(shown.insert(std::stoi(line.substr(5, 2))).second);
  for (int n = 1; n <= number_of(code::ambiguous_rule); ++n) {
    INFO(n);
    CHECK(shown.count(n) == 1);
  }
}

} // namespace test_codes
