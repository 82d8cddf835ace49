// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the placement fuzz needs: values, meshes with all families, and the list of combinations that are refused
// although some placement of the result would be right.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <sla/spmd/check/check_rule.hpp>

#include "catch.hpp"
#include "placed.hpp"
#include "sample.hpp"

namespace fuzz {

using namespace sla;
using sim::array;
using shape = std::vector<int>;

/// Numbers of both signs, none of them an integer, without a pattern.
inline checked_operand values(shape const& extents, int which) {
  array<double> x(extents);
  for (int n = 0; n < x.size(); ++n) {
    auto const draw = sim::detail::mix(static_cast<std::uint32_t>(n + 1), static_cast<std::uint32_t>(which + 40));
    x[n] = static_cast<int>(draw % 15U) - 7 + (n % 2 ? 0.5 : 0.25);
  }
  return {std::move(x)};
}
inline checked_operand positive(shape const& extents, int which) {
  auto x = values(extents, which);
  for (double& v : x.value.values) v = v < 0 ? -v : v;
  return x;
}
inline checked_operand indices(shape const& extents, int below) {
  array<double> x(extents);
  for (int n = 0; n < x.size(); ++n)
    x[n] =
        static_cast<int>(sim::detail::mix(static_cast<std::uint32_t>(n + 1), 90U) % static_cast<std::uint32_t>(below));
  return {std::move(x), false};
}
inline checked_operand conditions(shape const& extents) {
  array<double> x(extents);
  for (int n = 0; n < x.size(); ++n) x[n] = n % 3 == 1;
  return {std::move(x), false};
}

inline dims dims_of(checked_operand const& o) {
  dims d = dims::unknown(o.value.rank());
  for (int n = 0; n < d.rank; ++n) d.extent[n] = o.value.extent(n);
  return d;
}

/// A family that the library does not know: blocks of two, sharded in turns.
struct BlockCyclic {
  static constexpr bool even = false, contiguous = false, stated = true;
  static constexpr bool accepts(std::int64_t, int ranks) { return ranks > 0; }
  static constexpr int owner(std::int64_t i, std::int64_t, int ranks) { return static_cast<int>(i / 2 % ranks); }
  static constexpr std::int64_t local_extent(int rank, std::int64_t extent, int ranks) {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < extent; ++i) n += owner(i, extent, ranks) == rank;
    return n;
  }
  static constexpr std::int64_t local_to_global(int rank, std::int64_t j, std::int64_t extent, int ranks) {
    for (std::int64_t i = 0; i < extent; ++i)
      if (owner(i, extent, ranks) == rank && j-- == 0) return i;
    return extent;
  }
};

/// One axis of so many ranks, all families, all kinds.
inline rule_domain one_axis(int ranks) {
  rule_domain d;
  d.w.ranks = {ranks};
  d.w.families = {{},
                  {family_facts_of<Even>},
                  {family_facts_of<Balanced>},
                  {family_facts_of<Ceil>},
                  {family_facts_of<Strided<2, Ceil>>},
                  {family_facts_of<BlockCyclic>},
                  {{}, {1, 0, 1, 1, 2, 0, 1, 2, 0}},
                  {ranks == 2 ? family_facts_of<Table<1, 4>> : family_facts_of<Table<3, 0, 2>>},
                  {family_facts_of<Strided<2>>}};
  d.families = {1, 2, 3, 4, 5, 6, 7};
  d.folds = d.missing_folds = all_monoids;
  return d;
}
/// Two axes, all kinds on each; refusals that no axis alone would make are looked at.
inline rule_domain two_axes(int first, int second) {
  auto d = one_axis(2);
  d.w.ranks = {first, second};
  d.families = {2, 6};
  d.orders = d.across = true;
  d.split_seeds = 1;
  return d;
}

inline std::string spelled(placement_value p, rule_domain const& d) {
  using kind = placement_kind;
  char const* const folds[] = {"", "sum", "avg", "max", "min", "prod"};
  auto const dim = std::to_string(p.dim);
  static_cast<void>(d);
  switch (p.kind) {
  case kind::replicate:
    return "R";
  case kind::invariant:
    return "I";
  case kind::varying:
    return "V";
  case kind::partial:
    return "P(" + std::string(folds[static_cast<int>(p.fold)]) + ")";
  case kind::shard:
    return "S" + dim + (p.level ? "^" + std::to_string(p.level) : "");
  case kind::sparse_shard:
    return p.dim == 0 ? "rows" : "columns";
  case kind::hyper:
    return "entries";
  case kind::ghost:
    return "G" + dim;
  case kind::ghost_partial:
    return "GP" + dim;
  default:
    return "?";
  }
}
inline std::string spelled(std::vector<tensor_placement> const& types, rule_domain const& d) {
  std::string out;
  for (auto const& t : types) {
    if (!out.empty()) out += " ";
    for (int a = 0; a < t.axes; ++a) out += (a ? "/" : "") + spelled(t.on[a], d);
  }
  return out;
}

/// Counts over a whole test, and the refusals with a right result: right on all meshes and for all extents tried.
struct composition_state {
  long combinations = 0, skipped = 0, accepted = 0, gradients = 0, wrong = 0;
  std::map<std::string, std::set<std::string>> missing{}; // by operation

  /// Checks an operation in a domain, or in a sample of it: then refusals are not looked through.
  template <class K, class... Operands>
  void check(std::string const& name, rule_domain d, strategy const& s, K const& kernel, Operands const&... operands) {
    d.one_in *= one_in();
    d.missing = d.missing && one_in() == 1;
    add(name, d, check_rule(d, s, kernel, operands...));
  }
  /// Adds a report; anything wrong is said at once.
  void add(std::string name, rule_domain const& d, rule_report const& r) {
    std::replace(name.begin(), name.end(), ',', ' '); // commas part the cells of the table
    combinations += r.combinations;
    skipped += r.skipped;
    accepted += r.accepted;
    gradients += r.gradients;
    std::set<std::string> found, refuted; // a rule holds for every family
    for (auto const& types : r.rightly) refuted.insert(spelled(types, d));
    for (auto const& f : r.findings) {
      auto const line = name + "," + spelled(f.operands, d) + "," + spelled(f.results, d);
      if (f.what == rule_finding::outcome::missing) {
        if (!refuted.contains(spelled(f.operands, d))) found.insert(line);
      } else {
        ++wrong;
        bool const value = f.what == rule_finding::outcome::wrong_value;
        UNSCOPED_INFO((value ? "wrong value: " : "wrong gradient: ") << line << " on " << d.w.ranks[0] << " ranks");
        if (wrong < 20) CHECK(name == (value ? "right value" : "right gradient"));
      }
    }
    if (!d.missing) return;
    auto const [before, first] = missing.try_emplace(name, found);
    if (first) return;
    std::set<std::string> both;
    for (auto const& line : found)
      if (before->second.contains(line)) both.insert(line);
    before->second = both;
  }
  /// Nothing was wrong, and what is refused though right are the reviewed lines about the operations seen here.
  void finish() const {
    INFO(combinations << " combinations and " << skipped << " skipped, " << accepted << " accepted, " << gradients
                      << " gradients");
    CHECK(wrong == 0);
    std::set<std::string> reviewed;
    for (auto const& row : placed_values::table("reviewed_refusals.csv")) {
      REQUIRE(row.size() == 4);
      REQUIRE(row[3].size() > 8);
      if (missing.contains(row[0])) reviewed.insert(row[0] + "," + row[1] + "," + row[2]);
    }
    for (auto const& [name, lines] : missing)
      for (auto const& line : lines) {
        if (!reviewed.contains(line)) FAIL_CHECK("refused, though right, and not reviewed: " << line);
        reviewed.erase(line);
      }
    for (auto const& line : reviewed) FAIL_CHECK("on the list, but no longer so: " << line);
  }
};

/// The operation in all combinations on one axis of 2 and 3 ranks, and on two axes: all of one operand, of two operands
/// one in 3, of three one in 53, drawn without regard to what they are.
template <class K, class... Operands>
void on_all_meshes(composition_state& l, std::string const& name, strategy const& s, K const& kernel,
                   Operands const&... operands) {
  bool ones = name.find("in place") != std::string::npos; // there the result has the placement of the operand
  for (auto const* o : {&operands...})                    // a dimension of extent 1 is shared out under no rule
    for (int e : o->value.extents) ones = ones || e == 1;
  for (int n : {2, 3}) {
    auto d = one_axis(n);
    d.missing = !ones;
    if (sizeof...(Operands) > 2) d.families = {2, 4, 6};
    l.check(name, d, s, kernel, operands...);
  }
  for (auto [first, second] : {std::pair{2, 2}, std::pair{2, 3}}) {
    auto d = two_axes(first, second);
    d.missing = !ones;
    if (sizeof...(Operands) > 2) d.families = {2};
    d.one_in = sizeof...(Operands) > 2 ? 53 : sizeof...(Operands) > 1 ? 3 : 1;
    l.check(name + " on two axes", d, s, kernel, operands...);
  }
}

} // namespace fuzz
