// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of plans beside those that DTensor's two planners take, for every pair of placements of a 16 x 16 matrix of floats on
// one and two axes; where ours are others, they are on a reviewed list with the reason.
#include <map>
#include <string>
#include <vector>

#include "catch.hpp"
#include "placed.hpp"

#include <sla/spmd/plan/route.hpp>

namespace test_plan_oracle {

using namespace sla;
using namespace sla::plans;

namespace {

tensor_placement parsed(std::string const& text, int axes) {
  tensor_placement t;
  t.axes = static_cast<std::int8_t>(axes);
  t.rank = 2;
  auto const parts = placed_values::split(text, ';');
  for (int a = 0; a < axes; ++a) {
    t.on[a] = placed_values::parse(parts[std::size_t(a)]);
    if (t.on[a].kind == placement_kind::shard) t.on[a].family = 0;
  }
  return t;
}

plan_setting mesh_of(std::string const& text) {
  plan_setting m;
  auto const sizes = placed_values::split(text, 'x');
  m.axes = static_cast<std::int8_t>(sizes.size());
  for (int a = 0; a < m.axes; ++a) m.size[a] = std::stoi(sizes[std::size_t(a)]);
  m.families = 1;
  m.even[0] = m.stated[0] = true;
  m.plain = 0;
  return m;
}

step_list plan(std::vector<std::string> const& row) {
  auto const m = mesh_of(row[0]);
  auto const r = route_between(parsed(row[1], m.axes), parsed(row[2], m.axes), m);
  auto g = r.problem;
  g.bytes = 1024;
  return search<512>(g, r.from, &r.to).path(r.to);
}

/// How often which collective: "A2A1 AG1".
std::string steps_of_plan(step_list const& p) {
  if (!p.reachable()) return "unreachable";
  std::map<std::string, int> count;
  std::map<step, std::string> const names = {{step::all_gather, "AG"}, {step::all_to_all, "A2A"},        {step::reduce_scatter, "RS"},
                                             {step::all_reduce, "AR"}, {step::permute_shards, "PERM"}, {step::repartition, "REPART"}};
  for (int k = 0; k < p.size; ++k)
    if (p.steps[k].how != step::convert) ++count[names.at(p.steps[k].how)];
  std::string out;
  for (auto const& [name, n] : count) out += (out.empty() ? "" : " ") + name + std::to_string(n);
  return out.empty() ? "none" : out;
}

} // namespace

TEST_CASE("plans take the steps of the model, or others that were reviewed") {
  std::map<std::string, std::string> reviewed;
  for (auto const& row : placed_values::table("reviewed_redistribute.csv")) reviewed[row[0] + "," + row[1] + "," + row[2]] = row[3];
  int rows = 0, alike = 0;
  for (auto const& row : placed_values::table("redistribute.csv")) {
    auto const ours = steps_of_plan(plan(row));
    auto const key = row[0] + "," + row[1] + "," + row[2];
    INFO(key << ": " << ours << ", the model " << row[3] << " or " << row[4]);
    bool const same = ours == row[3] || ours == row[4];
    auto const listed = reviewed.find(key);
    CHECK(same == (listed == reviewed.end()));
    if (listed != reviewed.end()) CHECK(listed->second == ours);
    CHECK((ours == "unreachable") == (row[3] == "unreachable"));
    CHECK((ours == "none") == (row[3] == "none"));
    alike += same;
    ++rows;
  }
  CHECK(rows == 544);
  CHECK(alike + int(reviewed.size()) == rows);
}

} // namespace test_plan_oracle
