// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a check of a rule goes through and what it finds: operands, the placements tried on a small simulated mesh, and
// the report. The check itself is in spmd/check/check_rule.hpp. Not part of spmd.hpp.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include <sla/spmd/check/sim/ranks.hpp>
#include <sla/spmd/placement/placement_values.hpp>
#include <sla/spmd/rule/table/strategy.hpp>

namespace sla {

/// One operand of a checked call: its whole value and what the rules know of it. Values should be of both signs and
/// repeat nowhere, and no two dimensions of one extent, or wrong rules may pass.
struct checked_operand {
  sim::array<double> value{};
  bool gradient = true; ///< false for indices, conditions and integers
  int batch = -1; ///< of a sparse operand: its value has the shape [*batch, entries, *block], see sim::sparse_pattern
  int block = 0;  ///< dimensions of its blocks
};

/// Which placements are tried, on which mesh. As it stands: on one axis of 2 ranks, and again of 3, with three families.
struct rule_domain {
  sim::world w{};
  std::vector<std::string_view> names{}; ///< of the axes, for rules with collectives
  std::vector<std::int16_t> families{}; ///< by their numbers in the mesh
  std::vector<std::int16_t> patterns{}; ///< of ghosts, whose family is `ghost_family`
  std::int16_t ghost_family = 1;
  monoid_set folds = all_monoids;
  monoid_set missing_folds = monoid_bit(monoid::sum); ///< of these a refused combination is looked at
  bool invariant = true, varying = true;
  bool orders = false; ///< axes that share a dimension nest in every order
  bool missing = true; ///< look for refused placements that have a right result
  bool across = false; ///< only among those that every axis alone accepts
  int one_in = 1;      ///< of so many combinations one is tried, the same ones each time
  bool gradients = true;
  int split_seeds = 2; ///< ways to shard a pending reduction; the odd ones negate the operands too
};

/// What was found for one combination of operand placements.
struct rule_finding {
  enum class outcome : std::uint8_t {
    wrong_value,    ///< accepted, but the parts do not give the value in the placement of the result
    wrong_gradient, ///< accepted, but a gradient is not what the dual placement says
    missing         ///< refused, but with the results' placements in `results` all is right
  };
  outcome what = outcome::wrong_value;
  std::vector<tensor_placement> operands{}, results{};
  code why = code::ok; ///< of the refusal
};

/// A rule of the strategy that decided no combination, by its number; and of a rule for several reductions, for which it did not.
struct untried_rule {
  int rule = 0;
  monoid fold = monoid::none;
};
/// Where the adjoint came from that was compared with differences of the whole kernel.
enum class adjoint_source : std::uint8_t {
  none,     ///< no gradient was compared
  derived,  ///< from the kernel, by dual numbers: a stand-in of the pullback that a program runs
  stated,   ///< kernel.pullback: a stand-in, if the operation has a pullback of its own
  operation ///< Op::pullback, which a program runs: `op_kernel`
};

/// What `check_rule` tried and found.
struct rule_report {
  int combinations = 0; ///< that operands of these extents can have, and that were tried
  int skipped = 0;      ///< for `rule_domain::one_in`
  int accepted = 0, refused = 0;
  int runs = 0;                    ///< of the kernel, on all ranks
  int gradients = 0;               ///< combinations whose gradients were compared as well
  fixed_array<int, 64> refusals{}; ///< by code
  std::vector<rule_finding> findings{};
  std::vector<std::vector<tensor_placement>> rightly{}; ///< refused, and no placement of the result would be right

  adjoint_source adjoint = adjoint_source::none;
  fixed_array<monoid_set, max_rules> stated{}, tried{}; ///< by rule of the strategy: for which reductions (`none`: without one)
  int beyond_copies = 0;                                ///< accepted with a shard or a pending operand
  bool listed = true;                                   ///< false: a composition, whose rules are not told one by one

  /// The rules that decided nothing: give the families, folds, ranks or extents that they need.
  constexpr std::vector<untried_rule> untried() const {
    std::vector<untried_rule> out;
    for (int n = 0; n < max_rules; ++n)
      for (auto m : {monoid::none, monoid::sum, monoid::average, monoid::maximum, monoid::minimum, monoid::product})
        if (has_monoid(stated[n], m) && !has_monoid(tried[n], m)) out.push_back({n, m});
    return out;
  }
  /// What another mesh showed is added.
  constexpr rule_report& operator+=(rule_report const& o) {
    combinations += o.combinations, skipped += o.skipped, accepted += o.accepted, refused += o.refused;
    runs += o.runs, gradients += o.gradients, beyond_copies += o.beyond_copies;
    for (int c = 0; c < refusals.size(); ++c) refusals[c] += o.refusals[c];
    findings.insert(findings.end(), o.findings.begin(), o.findings.end());
    rightly.insert(rightly.end(), o.rightly.begin(), o.rightly.end());
    if (o.adjoint != adjoint_source::none) adjoint = o.adjoint;
    listed = listed && o.listed;
    for (int n = 0; n < max_rules; ++n) stated[n] |= o.stated[n], tried[n] |= o.tried[n];
    return *this;
  }
  constexpr int count(rule_finding::outcome v) const {
    int n = 0;
    for (auto const& f : findings) n += f.what == v ? 1 : 0;
    return n;
  }
  constexpr int wrong() const {
    return count(rule_finding::outcome::wrong_value) + count(rule_finding::outcome::wrong_gradient);
  }
  constexpr int missing() const { return count(rule_finding::outcome::missing); }
  /// Nothing wrong, nothing missing, and every rule was tried, for each reduction that it states.
  constexpr bool ok() const { return findings.empty() && accepted > 0 && untried().empty() && (listed || beyond_copies > 0); }
};

namespace detail {

/// All placements of one operand on one axis.
constexpr std::vector<placement_value> choices(rule_domain const& d, tensor_placement const& t, bool gradient, int axis) {
  using kind = placement_kind;
  std::vector<placement_value> out = {{kind::replicate}};
  if (d.invariant) out.push_back({kind::invariant});
  if (d.varying) out.push_back({kind::varying});
  for (auto m : {monoid::sum, monoid::average, monoid::maximum, monoid::minimum, monoid::product})
    if (has_monoid(d.folds, m) && (gradient || !t.is_sparse())) out.push_back({kind::partial, m}); // a pattern has no values
  auto const dims = static_cast<std::int8_t>(t.rank);
  for (std::int8_t n = 0; n < dims; ++n) {
    if (t.is_sparse() && (n == t.batch || n == t.batch + 1)) continue;
    int const levels = d.orders ? d.w.axes() - axis : 1; // inside as many of the later axes
    for (auto f : d.families)
      for (int l = 0; l < levels; ++l)
        out.push_back({kind::shard, monoid::none, n, f, -1, static_cast<std::int8_t>(l)});
    if (t.is_sparse()) continue;
    for (auto g : d.patterns) out.push_back({kind::ghost, monoid::none, n, d.ghost_family, g});
    if (gradient)
      for (auto g : d.patterns) out.push_back({kind::ghost_partial, monoid::none, n, d.ghost_family, g});
  }
  if (t.is_sparse())
    for (auto f : d.families) {
      out.push_back({kind::sparse_shard, monoid::none, 0, f});
      out.push_back({kind::sparse_shard, monoid::none, 1, f});
      out.push_back({kind::hyper, monoid::none, 0, f});
    }
  return out;
}

/// Placements that a result might have where the operands have these.
constexpr std::vector<placement_value> result_choices(rule_domain const& d, std::vector<tensor_placement> const& operands, int axis,
                                             tensor_placement const& result) {
  using kind = placement_kind;
  std::vector<placement_value> out = {{kind::replicate}, {kind::invariant}};
  bool varying = false;
  std::vector<placement_value> shards, entries;
  for (auto const& t : operands) {
    auto const p = t.on[axis];
    varying = varying || p.kind == kind::varying;
    if (result.is_sparse() && is_sharded(p.kind)) {
      for (std::int8_t line : {0, 1}) entries.push_back({kind::sparse_shard, monoid::none, line, p.family});
      entries.push_back({kind::hyper, monoid::none, 0, p.family});
    }
    if (is_sharded(p.kind)) shards.push_back({kind::shard, monoid::none, 0, p.family});
    if (p.kind == kind::ghost || p.kind == kind::ghost_partial)
      for (auto k : {kind::ghost, kind::ghost_partial}) shards.push_back({k, monoid::none, 0, p.family, p.pattern});
  }
  if (varying) return {{kind::varying}};
  for (auto m : {monoid::sum, monoid::average, monoid::maximum, monoid::minimum, monoid::product})
    if (has_monoid(d.missing_folds, m)) out.push_back({kind::partial, m});
  for (std::size_t n = 0; n < shards.size(); ++n) {
    bool again = false;
    for (std::size_t m = 0; m < n; ++m) again = again || shards[m] == shards[n];
    for (int dim = 0; dim < result.rank && !again; ++dim) {
      auto p = shards[n];
      p.dim = static_cast<std::int8_t>(dim);
      out.push_back(p);
    }
  }
  for (auto const& p : entries) out.push_back(p);
  return out;
}

} // namespace detail
} // namespace sla
