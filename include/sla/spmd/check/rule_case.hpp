// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One combination of operand placements in the check of a rule: the kernel on all ranks against the kernel on whole
// operands, values and gradients. All combinations are gone through in spmd/check/check_rule.hpp. Not part of spmd.hpp.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <sla/spmd/check/domain.hpp>
#include <sla/spmd/check/kernel.hpp>

namespace sla::detail {

constexpr bool differentiable(tensor_placement const& t) {
  for (int a = 0; a < t.axes; ++a)
    if (dual(t.on[a]).kind == placement_kind::untyped) return false;
  return true;
}
constexpr tensor_placement dual_placement_of(tensor_placement t) {
  for (int a = 0; a < t.axes; ++a) t.on[a] = dual(t.on[a]);
  return t;
}

/// The kernel on all ranks: per result what every rank made. Empty if a result is missing on some rank.
constexpr std::vector<sim::on_ranks<double>> run_ranks(sim::any_kernel const& kernel, sim::call_on_ranks const& c,
                                                       std::vector<tensor_placement> const& made,
                                                       std::vector<std::vector<int>> const& extents) {
  std::vector<sim::on_ranks<double>> out;
  std::vector<sim::any_kernel::numbers> all;
  if (kernel.communicates()) all = kernel.together(c.w, c.parts);
  for (int r = 0; r < c.w.size(); ++r) {
    sim::rank_indices at;
    if (kernel.wants_position()) at = place_of(c, made, extents, r);
    for (std::size_t n = 0; n < at.out.size(); ++n)
      if (at.out[n].empty() && !sim::without_tuples(extents[n], made[n]).empty()) return {};
    sim::any_kernel::numbers y;
    if (kernel.communicates())
      y = all[static_cast<std::size_t>(r)];
    else
      y = kernel(at, c.parts[static_cast<std::size_t>(r)]);
    if (r > 0 && y.size() != out.size()) return {};
    out.resize(y.size(), sim::on_ranks<double>{});
    for (std::size_t n = 0; n < y.size(); ++n) out[n].push_back(std::move(y[n]));
  }
  return out;
}

/// Are the gradients on the ranks those of the whole operands, in the dual placements?
constexpr bool right_gradients(sim::any_kernel const& kernel, sim::call_on_ranks const& c,
                               std::vector<tensor_placement> const& made, std::vector<sim::array<double>> const& g,
                               std::vector<sim::array<double>> const& expected, unsigned wanted) {
  std::vector<std::vector<int>> extents;
  for (auto const& seed : g) extents.push_back(seed.extents);
  std::vector<sim::on_ranks<double>> seeds;
  for (std::size_t n = 0; n < g.size(); ++n)
    seeds.push_back(sim::split(c.w, dual_placement_of(made[n]), g[n], {77, false}));
  std::vector<sim::on_ranks<double>> got(c.types.size(), sim::on_ranks<double>{});
  for (int r = 0; r < c.w.size(); ++r) {
    sim::rank_indices at;
    if (kernel.wants_position()) at = place_of(c, made, extents, r);
    std::vector<sim::array<double>> mine;
    for (auto const& s : seeds) {
      if (s.empty()) return false;
      mine.push_back(s[static_cast<std::size_t>(r)]);
    }
    auto const local = [&](auto const& x) { return kernel(at, x); };
    auto const& x = c.parts[static_cast<std::size_t>(r)];
    auto back = kernel.pullback(x, mine);
    if (!back) back = sim::detail::gradients_of(local, x, mine, wanted);
    if (!back || back->size() != got.size()) return false;
    for (std::size_t k = 0; k < got.size(); ++k) got[k].push_back((*back)[k]);
  }
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (!(wanted >> k & 1U)) continue;
    auto const whole =
        sim::joined(c.w, dual_placement_of(c.types[k]), got[k], sim::without_tuples(c.whole[k].extents, c.types[k]));
    if (!whole || !same(*whole, expected[k])) return false;
  }
  return true;
}

/// One operand in one placement: by manner its whole value, and what every rank holds of it. Not possible: a family
/// cannot shard its extents.
struct sharded_operand {
  std::vector<sim::array<double>> whole{};
  std::vector<sim::on_ranks<double>> parts{};
  bool known = false, possible = true;
};
constexpr sharded_operand shard_operand(rule_domain const& d, checked_operand const& o, tensor_placement const& t, std::uint32_t k) {
  sharded_operand out;
  out.known = true;
  for (int m = 0; m < d.split_seeds && out.possible; ++m) {
    auto x = o.value;
    if (m % 2 == 1 && o.gradient)
      for (double& v : x.values) v = -v;
    for (int a = t.axes; a-- > 0;) { // a tuple: the value, its entries shifted from rank to rank
      if (t.on[a].kind != placement_kind::varying) continue;
      sim::on_ranks<double> tuple;
      for (int r = 0; r < d.w.ranks_of(a); ++r) {
        auto y = x;
        for (int n = 0; n < x.size(); ++n) y[n] = x[(n + r) % x.size()];
        tuple.push_back(std::move(y));
      }
      x = stack(tuple);
    }
    out.parts.push_back(sim::split(d.w, t, x, {sim::detail::mix(static_cast<std::uint32_t>(11 + m), k), m % 2 == 1}));
    out.possible = !out.parts.back().empty();
    out.whole.push_back(std::move(x));
  }
  return out;
}

/// One combination of placements: its calls, and the right answers.
struct rule_case {
  sim::any_kernel const& kernel;
  rule_domain const& domain;
  std::vector<checked_operand> const& operands;
  std::vector<tensor_placement> const& types;
  std::vector<sim::call_on_ranks> calls{}; ///< by manner
  std::vector<std::vector<sim::array<double>>> truths{};
  std::vector<std::vector<sim::on_ranks<double>>> runs{}; ///< of the kernel, by manner
  unsigned wanted = 0;                                    ///< operands that have a gradient

  constexpr void prepare(std::vector<sharded_operand const*> const& sharded) {
    for (int m = 0; m < domain.split_seeds; ++m) {
      sim::call_on_ranks c{domain.w, types};
      auto const at = static_cast<std::size_t>(m);
      for (auto const* o : sharded) c.whole.push_back(o->whole[at]);
      for (int r = 0; r < domain.w.size(); ++r) {
        std::vector<sim::array<double>> mine;
        for (auto const* o : sharded) mine.push_back(o->parts[at][static_cast<std::size_t>(r)]);
        c.parts.push_back(std::move(mine));
      }
      truths.push_back(sim::truth(kernel, domain.w, types, c.whole));
      calls.push_back(std::move(c));
    }
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (operands[k].gradient && differentiable(types[k])) wanted |= 1U << k;
  }
  constexpr std::vector<std::vector<int>> extents() const {
    std::vector<std::vector<int>> out;
    for (auto const& y : truths[0]) out.push_back(y.extents);
    return out;
  }
  /// The right result for a claim: a tuple of equal values may be claimed to be one value.
  constexpr std::optional<sim::array<double>> expected(sim::array<double> y, tensor_placement const& made) const {
    int front = 0;
    for (int a = 0; a < made.axes; ++a) {
      bool tuple = false;
      for (auto const& t : types) tuple = tuple || t.on[a].kind == placement_kind::varying;
      if (!tuple) continue;
      if (made.on[a].kind == placement_kind::varying) {
        ++front;
        continue;
      }
      auto const parts = unstack(y, front);
      for (auto const& part : parts)
        if (!same(part, parts[0])) return std::nullopt;
      y = parts[0];
    }
    return y;
  }
  /// Does what the ranks made in manner m fold to the right result n?
  constexpr bool folds_right(std::size_t m, std::size_t n, tensor_placement const& made) const {
    auto const& y = runs[m];
    if (y.size() != truths[m].size() || made.axes != domain.w.axes()) return false;
    auto const right = expected(truths[m][n], made);
    if (!right) return false;
    auto const whole = sim::joined(domain.w, made, y[n], sim::without_tuples(right->extents, made));
    return whole && same(*whole, *right);
  }
  constexpr void run(std::size_t m, std::vector<tensor_placement> const& made, rule_report& report) {
    if (!kernel.wants_position() && runs.size() > m) return; // what it makes does not depend on the claim
    if (runs.size() <= m) runs.resize(m + 1, std::vector<sim::on_ranks<double>>{});
    runs[m] = run_ranks(kernel, calls[m], made, extents());
    ++report.runs;
  }
  /// Of a kernel that is not told where it runs: is result n right in this placement, whatever the others are?
  constexpr bool right_result(std::size_t n, tensor_placement const& made, rule_report& report) {
    for (std::size_t m = 0; m < calls.size(); ++m) {
      run(m, {}, report);
      if (!folds_right(m, n, made)) return false;
    }
    return true;
  }
  constexpr bool right_value(std::vector<tensor_placement> const& made, rule_report& report) {
    if (made.size() != truths[0].size()) return false; // the rule speaks of another number of results
    for (std::size_t m = 0; m < calls.size(); ++m) {
      run(m, made, report);
      for (std::size_t n = 0; n < made.size(); ++n)
        if (!folds_right(m, n, made[n])) return false;
    }
    return true;
  }
  constexpr bool has_gradient(std::vector<tensor_placement> const& made) const {
    for (std::size_t n = 0; n < made.size(); ++n) {
      if (!differentiable(made[n])) return false;
      auto const right = expected(truths[0][n], made[n]);
      if (right && right->extents != truths[0][n].extents) return false; // the same for every element of a tuple
    }
    return wanted != 0 && domain.gradients && !kernel.communicates();
  }
  /// Invariant operands meet others, and the result has no dual that could say what becomes of their gradients.
  constexpr bool gradient_is_lost(std::vector<tensor_placement> const& made) const {
    if (has_gradient(made) || !domain.gradients) return false;
    for (std::size_t k = 0; k < types.size(); ++k)
      for (int a = 0; a < types[k].axes; ++a)
        if (operands[k].gradient && types[k].on[a].kind == placement_kind::invariant) return true;
    return false;
  }
  constexpr bool right_gradient(std::vector<tensor_placement> const& made) const {
    auto const& c = calls[0];
    std::vector<sim::array<double>> g;
    for (std::size_t n = 0; n < made.size(); ++n)
      g.push_back(sim::detail::cotangent(truths[0][n].extents, static_cast<int>(n)));
    auto const global = [&](auto const& x) { return sim::truth(kernel, c.w, c.types, x); };
    auto const right = sim::detail::gradients_of(global, c.whole, g, wanted);
    return right && right_gradients(kernel, c, made, g, *right, wanted);
  }
};

} // namespace sla::detail
