// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transitions against tables: ground truth, and what a model accepts, with a list of reviewed differences. Their
// adjoints on simulated ranks are in adjoint.cpp.
#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "placed.hpp"
#include "stated_steps.hpp"

namespace test_transition {

using namespace sla;
using namespace placed_values;

namespace {

std::vector<std::pair<std::string, step>> const steps = {{"all_reduce", step::all_reduce},
                                                         {"all_gather", step::all_gather},
                                                         {"reduce_scatter", step::reduce_scatter},
                                                         {"convert", step::convert},
                                                         {"reinterpret", step::reinterpret}};
std::vector<std::string> const names = {"R", "I", "V", "P", "S0", "S1"};

// What the library says of one call of the model: which step it is, and the reason against it.
struct outcome {
  code why = code::ok;
  step_path path{};
};
outcome ours(std::string const& call, placement_value from, placement_value to) {
  bool const insisted = call.find("[expert]") != std::string::npos;
  auto const name = call.substr(0, call.find('['));
  if (name == "redistribute") {
    if (from == to) return {};
    step_path const path{{{{route(from, to), from, to}}}, 1};
    bool const gated = to == Inv && from == R;
    return {check_path(path, !gated && !(from == Inv && to == P)), path};
  }
  transition t{step::convert, from, to};
  if (name == "shard" && !is_sharded(to.kind)) return {code::wrong_collective};
  if (name == "unshard") {
    if (!is_sharded(from.kind)) return {code::wrong_collective};
    t.how = step::all_gather;
  }
  if (name == "invariant_to_replicate" && from != Inv) return {code::wrong_collective};
  if (name == "all_to_all") t.how = step::all_to_all;
  for (auto const& [text, how] : steps)
    if (text == name) t.how = how;
  auto const path = steps_of(t);
  return {check_path(path, insisted), path};
}

bool is_refused(std::string const& result) { return result.find("ERROR") != std::string::npos; }

std::string communication_of(step_path const& path) {
  std::string out = "none";
  for (int n = 0; n < path.size; ++n)
    for (auto const& [text, how] : steps)
      if (path.steps[n].how == how && how != step::convert && how != step::reinterpret) out = text;
  for (int n = 0; n < path.size; ++n)
    if (path.steps[n].how == step::all_to_all) out = "all_to_all";
  return out;
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

TEST_CASE("the model accepts the same, but for reviewed differences") {
  std::vector<std::pair<std::string, bool>> reviewed;
  for (auto const& row : table("reviewed_transitions.csv")) {
    REQUIRE(row.size() == 6);
    REQUIRE(row[5].size() > 10);
    reviewed.emplace_back(row[0] + "," + row[1] + "," + row[2] + "," + row[3] + "," + row[4], false);
  }
  int compared = 0, accepted = 0;
  for (auto const& row : table("model_transitions.csv")) {
    auto const from = parse(row[2]), to = parse(row[3]);
    bool const global = row[1] == "global", theirs = !is_refused(row[4]);
    auto mine = ours(row[0], from, to);
    if (global && (from == V || to == V)) mine.why = code::varying_with_shard;
    bool const accept = mine.why == code::ok;
    ++compared;
    auto const key = row[0] + "," + row[1] + "," + row[2] + "," + row[3] + "," + (accept ? "accept" : "refuse");
    INFO(key);
    if (accept != theirs) {
      auto const known = std::find_if(reviewed.begin(), reviewed.end(), [&](auto const& r) { return r.first == key; });
      if (known == reviewed.end())
        FAIL_CHECK("not reviewed");
      else
        known->second = true;
      continue;
    }
    if (!accept) continue;
    ++accepted;
    CHECK(communication_of(mine.path) == row[5]);
    CHECK(communication_of(adjoint_of(mine.path)) == row[7]);
    // their local mode knows no shards: a Varying
    auto const gradient = dual(from);
    CHECK((parse(row[6]) == gradient || (!global && parse(row[6]) == V && is_sharded(gradient.kind))));
  }
  CHECK(compared == 804);
  CHECK(accepted > 150);
  for (auto const& [key, used] : reviewed) {
    INFO("no longer different: " << key);
    CHECK(used);
  }
}

TEST_CASE("what is accepted keeps what it promises") {
  int accepted = 0;
  for (auto const& row : table("transition_semantics.csv")) {
    auto const from = parse(row[1]), to = parse(row[2]);
    auto const mine = ours(row[0], from, to);
    if (mine.why != code::ok || row[3] == "ERROR" || mine.path.size == 0) continue;
    INFO(row[0] << " " << row[1] << " to " << row[2]);
    CHECK(row[4] == "1");
    CHECK(row[5] == "1");
    bool kept = true;
    for (int n = 0; n < mine.path.size; ++n) {
      auto const& t = mine.path.steps[n];
      bool const copies = (t.from == R && t.to == Inv) || (t.from == Inv && t.to == R);
      if (t.how == step::reinterpret && !copies) kept = false;
      if (t.how == step::all_to_all && t.from == V) kept = false;
    }
    CHECK(row[3] == (kept ? "1" : "0"));
    ++accepted;
  }
  CHECK(accepted > 60);
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
  tensor_placement t = tensor_on(S(0), 1).type;
  t.axes = 2;
  t.on[1] = S(0);
  CHECK(check_step(step::all_gather, t, 1, R) == diagnostic{});
  CHECK(check_step(step::all_gather, t, 0, R) == diagnostic{code::not_innermost, 0, 0});
  t.on[0] = P;
  CHECK(check_step(step::reduce_scatter, t, 0, S(0)).what == code::not_innermost);
  CHECK(check_step(step::reduce_scatter, t, 0, S(1)).what == code::no_such_dimension);
  CHECK(check_step(step::all_reduce, t, 0, R) == diagnostic{});
}

} // namespace test_transition
