// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules against tables of ground truth: an operation is accepted exactly where some result placement is right for
// the value and for every gradient, and then with that placement.
#include <map>
#include <span>
#include <string>
#include <vector>

#include <sla/core/op.hpp>

#include "catch.hpp"
#include "placed.hpp"

namespace test_rules {

using namespace sla;
using namespace placed_values;

namespace {

struct subject {
  op_rule rule;
  std::vector<int> ranks; // of the operands in the table
  bool literal_first = false, literal_last = false;
};

std::map<std::string, subject> const local_subjects = {
    {"add", {rule_of<op::add>, {1, 1}}},
    {"sub", {rule_of<op::sub>, {1, 1}}},
    {"mul", {rule_of<op::mul>, {1, 1}}},
    {"div", {rule_of<op::div>, {1, 1}}},
    {"pow_tensor", {rule_of<op::pow>, {1, 1}}},
    {"dot", {rule_of<op::dot>, {1, 1}}},
    {"neg", {rule_of<op::neg>, {1}}},
    {"real", {rule_of<op::real>, {1}}},
    {"exp", {rule_of<op::exp>, {1}}},
    {"sqrt", {rule_of<op::sqrt>, {1}}},
    {"abs", {rule_of<op::abs>, {1}}},
    {"norm", {rule_of<op::norm>, {1}}},
    {"sum", {rule_of<op::sum>, {1}}},
    {"max_all", {rule_of<op::maximum>, {1}}},
    {"linalg_solve", {rule_of<op::solve>, {2, 1}}},
    {"scale_literal_left", {rule_of<op::mul>, {1}, true}},
    {"div_literal", {rule_of<op::div>, {1}, false, true}},
    {"rdiv_literal", {rule_of<op::div>, {1}, true}},
    {"add_literal", {rule_of<op::add>, {1}, false, true}},
    {"sub_literal", {rule_of<op::sub>, {1}, false, true}},
};

std::map<std::string, subject> const global_subjects = {
    {"add", {rule_of<op::add>, {2, 2}}},
    {"sub", {rule_of<op::sub>, {2, 2}}},
    {"mul", {rule_of<op::mul>, {2, 2}}},
    {"div", {rule_of<op::div>, {2, 2}}},
    {"pow", {rule_of<op::pow>, {2, 2}}},
    {"add_bias", {rule_of<op::add>, {2, 1}}},
    {"mul_col_k_mk", {rule_of<op::mul>, {1, 2}}},
    {"exp", {rule_of<op::exp>, {2}}},
    {"sqrt", {rule_of<op::sqrt>, {2}}},
    {"abs", {rule_of<op::abs>, {2}}},
    {"neg", {rule_of<op::neg>, {2}}},
    {"scale_literal", {rule_of<op::mul>, {2}, true}},
    {"add_literal", {rule_of<op::add>, {2}, false, true}},
    {"dot", {rule_of<op::dot>, {1, 1}}},
    {"sum_all", {rule_of<op::sum>, {2}}},
    {"norm", {rule_of<op::norm>, {2}}},
    {"mv", {rule_of<op::matvec>, {2, 1}}},
};

// Those result placements of "R:11 I:00" whose digits are all 1.
std::vector<placement_value> right_results(std::string const& sound) {
  std::vector<placement_value> out;
  for (auto const& entry : split(sound, ' ')) {
    auto const colon = entry.find(':');
    if (entry.find('0', colon) == std::string::npos) out.push_back(parse(entry.substr(0, colon)));
  }
  return out;
}

void compare(std::string const& file, std::map<std::string, subject> const& subjects) {
  int compared = 0;
  for (auto const& row : table(file)) {
    auto const found = subjects.find(row[0]);
    REQUIRE(found != subjects.end());
    auto const& what = found->second;
    auto const args = split(row[1], ';');
    if (what.rule.finishes && args[0][0] == 'S') continue; // a norm adds over the ranks, the table's does not
    std::vector<operand> operands;
    if (what.literal_first) operands.push_back(literal_operand());
    for (std::size_t k = 0; k < args.size(); ++k) operands.push_back(tensor_on(parse(args[k]), what.ranks[k]));
    if (what.literal_last) operands.push_back(literal_operand());
    auto const got = check(what.rule, operands);
    auto const right = right_results(row.size() > 2 ? row[2] : "");
    INFO(file << ": " << row[0] << " " << row[1]);
    REQUIRE(right.size() <= 1);
    REQUIRE(got.ok() == !right.empty());
    if (got.ok()) {
      REQUIRE(got.type.on[0] == right[0]);
      REQUIRE(got.implied[0] == communication::none);
    } else {
      REQUIRE(got.why.axis == 0);
      REQUIRE(got.why.operand >= 0);
    }
    ++compared;
  }
  CHECK(compared > 100);
}

code why(op_rule const& rule, std::vector<operand> const& operands) { return check(rule, operands).why.what; }
code why(op_rule const& rule, std::vector<placement_value> const& at) {
  std::vector<operand> operands;
  for (auto p : at) operands.push_back(tensor_on(p, 1));
  return why(rule, operands);
}

} // namespace

TEST_CASE("one axis without shards") { compare("local.csv", local_subjects); }
TEST_CASE("one axis with shards") { compare("global.csv", global_subjects); }

TEST_CASE("each refusal has its code") {
  CHECK(why(rule_of<op::add>, {Inv, R}) == code::invariant_with_replicate);
  CHECK(why(rule_of<op::add>, {Inv, V}) == code::invariant_with_varying);
  CHECK(why(rule_of<op::mul>, {Inv, S(0)}) == code::invariant_with_varying);
  CHECK(why(rule_of<op::add>, {P, R}) == code::partial_plus_replicate);
  CHECK(why(rule_of<op::mul>, {P, P}) == code::partial_times_partial);
  CHECK(why(rule_of<op::add>, {P, V}) == code::partial_with_varying);
  CHECK(why(rule_of<op::mul>, {P, S(0)}) == code::partial_with_varying);
  CHECK(why(rule_of<op::exp>, {P}) == code::nonlinear_in_partial);
  CHECK(why(rule_of<op::squared_norm>, {P}) == code::nonlinear_in_partial);
  CHECK(why(rule_of<op::div>, {R, P}) == code::nonlinear_argument);
  CHECK(why(rule_of<op::add>, {S(0), R}) == code::layouts_differ);
  CHECK(why(rule_of<op::add>, {S(0, 1), S(0, 3)}) == code::layouts_differ);
  CHECK(why(rule_of<op::add>, {S(0), V}) == code::varying_with_shard);
  CHECK(why(rule_of<op::exp>, {S(1)}) == code::no_such_dimension);
  CHECK(why(rule_of<op::exp>, {rows_or_columns(0)}) == code::no_such_dimension);
  CHECK(why(rule_of<op::sum>, {ghost(0)}) == code::reduction_over_ghosts);
  CHECK(why(rule_of<op::add>, {ghost(0), S(0)}) == code::layouts_differ);
  CHECK(why(rule_of<op::matvec>, {tensor_on(rows_or_columns(0), 2, 0), tensor_on(S(0, 3), 1)}) ==
        code::sparse_layouts_differ);
  CHECK(why(rule_of<struct unknown>, {R}) == code::no_rule);
  operand const lit = literal_operand();
  CHECK(why(rule_of<op::add>, {tensor_on(P, 1), lit}) == code::partial_plus_literal);
  CHECK(why(rule_of<op::div>, {lit, tensor_on(P, 1)}) == code::nonlinear_argument);
}

TEST_CASE("what has no gradient may be read as Replicate or Invariant") {
  for (placement_value fixed : {R, Inv}) {
    operand number = tensor_on(fixed, 0);
    number.gradient = false;
    auto const result = [&](op_rule const& rule, placement_value with) {
      std::vector<operand> const operands = {number, tensor_on(with, 1)};
      return check(rule, operands);
    };
    for (placement_value with : {R, Inv, V, S(0)}) {
      CHECK(result(rule_of<op::mul>, with).type.on[0] == with);
      CHECK(result(rule_of<op::add>, with).type.on[0] == with);
    }
    CHECK(result(rule_of<op::mul>, P).type.on[0] == P);
    CHECK(result(rule_of<op::add>, P).why.what == code::partial_plus_replicate);
    std::vector<operand> const alone = {number, number};
    CHECK(check(rule_of<op::add>, alone).type.on[0] == fixed);
  }
}

TEST_CASE("an operation without gradients takes copies of either kind") {
  op_rule const compare{.differentiable = false};
  auto const on = [](placement_value p) { return tensor_on(p, 1); };
  std::vector<operand> const mixed = {on(R), on(Inv)}, varying = {on(Inv), on(V)}, whole = {on(Inv), on(Inv)};
  CHECK(check(compare, mixed).type.on[0] == R);
  CHECK(check(compare, varying).type.on[0] == V);
  CHECK(check(compare, whole).type.on[0] == Inv);
  CHECK(why(compare, {Inv, P}) == code::nonlinear_in_partial);
  CHECK(why(op_rule{}, {R, Inv}) == code::invariant_with_replicate);
}

TEST_CASE("pending maxima and minima") {
  placement_value const maximum{placement_kind::partial, monoid::maximum}, average{placement_kind::partial, monoid::average},
      minimum{placement_kind::partial, monoid::minimum};
  auto const result = [](op_rule const& rule, std::vector<placement_value> const& at) {
    std::vector<operand> operands;
    for (auto p : at) operands.push_back(tensor_on(p, 1));
    return check(rule, operands);
  };
  CHECK(result(rule_of<op::maximum>, {S(0)}).type.on[0] == maximum);
  CHECK(result(rule_of<op::maximum>, {maximum}).type.on[0] == maximum);
  CHECK(result(rule_of<op::minimum>, {maximum}).why.what == code::nonlinear_in_partial);
  CHECK(result(rule_of<op::neg>, {maximum}).type.on[0] == minimum);
  CHECK(result(rule_of<op::exp>, {maximum}).type.on[0] == maximum);
  CHECK(result(rule_of<op::sqrt>, {minimum}).type.on[0] == minimum);
  CHECK(result(rule_of<op::sqrt>, {maximum}).why.what == code::nonlinear_in_partial); // a losing part may be negative
  CHECK(result(rule_of<op::abs>, {maximum}).why.what == code::nonlinear_in_partial);
  CHECK(result(rule_of<op::sub>, {R, maximum}).type.on[0] == minimum);
  CHECK(result(rule_of<op::add>, {average, R}).type.on[0] == average);
  CHECK(result(rule_of<op::add>, {average, average}).type.on[0] == average);
  CHECK(result(rule_of<op::add>, {average, P}).why.what == code::mixed_monoids);
}

TEST_CASE("norms reduce over the ranks") {
  for (auto const& rule : {rule_of<op::norm>, rule_of<op::norm1>, rule_of<op::norm_inf>}) {
    std::vector<operand> const x = {tensor_on(S(0), 1)};
    auto const got = check(rule, x);
    CHECK(got.type.on[0] == R);
    CHECK(got.type.rank == 0);
    CHECK(got.implied[0] == communication::all_reduce);
  }
}

TEST_CASE("several axes are decided one by one") {
  auto const on = [](placement_value first, placement_value second, int rank) {
    operand o = tensor_on(first, rank);
    o.type.axes = 2;
    o.type.on[1] = second;
    return o;
  };
  auto const result = [](op_rule const& rule, std::vector<operand> const& operands) { return check(rule, operands); };
  auto const both = result(rule_of<op::dot>, {on(S(0), P, 1), on(S(0), R, 1)});
  CHECK(both.ok());
  CHECK(both.type.on[0] == P);
  CHECK(both.type.on[1] == P);
  CHECK(result(rule_of<op::add>, {on(S(0), P, 1), on(S(0), R, 1)}).why ==
        diagnostic{code::partial_plus_replicate, 1, 0});
  CHECK(result(rule_of<op::add>, {on(S(0), S(1), 2), on(S(0), S(1), 2)}).type.on[1] == S(1));
  placement_value const maximum{placement_kind::partial, monoid::maximum};
  CHECK(result(rule_of<op::neg>, {on(maximum, P, 1)}).why == diagnostic{code::mixed_monoids, 1, 0});
  CHECK(result(rule_of<op::mul>, {on(maximum, R, 1), on(R, P, 1)}).why.what == code::nonlinear_in_partial);
  CHECK(result(rule_of<op::maximum>, {on(S(0), P, 1)}).why.what == code::nonlinear_in_partial);
}

} // namespace test_rules
