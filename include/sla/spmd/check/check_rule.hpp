// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks a rule against its kernel: for every combination of placements on a small simulated mesh the kernel is run
// once per rank and compared with one run on whole operands, values and gradients. For tests; not part of spmd.hpp.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <sla/spmd/check/rule_case.hpp>
#include <sla/spmd/rule/rules.hpp>

namespace sla {

namespace detail {

/// Do two families shard operands on one axis? They are different by name, even where they agree for an extent.
constexpr bool families_meet(std::vector<tensor_placement> const& types) {
  for (int a = 0; a < types[0].axes; ++a) {
    int family = -1;
    for (auto const& t : types) {
      if (!is_sharded(t.on[a].kind)) continue;
      if (family >= 0 && family != t.on[a].family) return true;
      family = t.on[a].family;
    }
  }
  return false;
}

/// Is every axis accepted where it is the only one?
template <class Decide>
constexpr bool accepted_axis_by_axis(Decide const& decide, std::vector<operand> const& requested) {
  for (int a = 0; a < requested[0].type.axes; ++a) {
    auto alone = requested;
    for (auto& o : alone) {
      o.type.on[0] = o.type.on[a];
      o.type.on[0].level = 0;
      o.type.axes = 1;
    }
    if (!decide(std::span<operand const>(alone)).ok()) return false;
  }
  return true;
}

/// All lists with one choice per place.
template <class Choice, class F>
constexpr void for_all(std::vector<std::vector<Choice>> const& choices, F f) {
  for (auto const& c : choices)
    if (c.empty()) return;
  std::vector<std::size_t> at(choices.size(), std::size_t{0});
  for (;;) {
    f(at);
    std::size_t n = 0;
    while (n < at.size() && ++at[n] == choices[n].size()) at[n++] = 0;
    if (n == at.size()) return;
  }
}

/// The placements that result n might have; only right ones, if what the kernel makes does not depend on the claim.
constexpr std::vector<tensor_placement> result_typings(rule_domain const& domain, rule_case& one,
                                             std::vector<checked_operand> const& operands, std::size_t n,
                                             rule_report& report) {
  auto const& whole = one.truths[0][n];
  tensor_placement t;
  t.axes = static_cast<std::int8_t>(domain.w.axes());
  t.rank = static_cast<std::int8_t>(whole.rank());
  for (std::size_t k = 0; k < operands.size(); ++k) // of the shape of a sparse operand: sparse, too
    if (one.types[k].is_sparse() && operands[k].value.extents == whole.extents)
      t.batch = one.types[k].batch, t.rank = one.types[k].rank;
  std::vector<std::vector<placement_value>> choices;
  for (int a = 0; a < t.axes; ++a) {
    choices.push_back(result_choices(domain, one.types, a, t));
    if (choices.back()[0].kind == placement_kind::varying) t.rank = static_cast<std::int8_t>(t.rank - 1);
  }
  std::vector<tensor_placement> out;
  for_all(choices, [&](std::vector<std::size_t> const& at) {
    for (int a = 0; a < t.axes; ++a) t.on[a] = choices[static_cast<std::size_t>(a)][at[static_cast<std::size_t>(a)]];
    if (check_placements(t).what != code::ok) return;
    if (one.kernel.wants_position() || one.right_result(n, t, report)) out.push_back(t);
  });
  return out;
}

} // namespace detail

/// What says which placements an operation accepts.
class any_rule {
public:
  constexpr placement_outcome operator()(std::span<operand const> operands) const { return decide_(*this, operands); }

protected:
  placement_outcome (*decide_)(any_rule const&, std::span<operand const>) = nullptr;
};
/// A rule that a function object decides.
template <class F>
class rule_from : public any_rule {
public:
  constexpr explicit rule_from(F const& f) : f_(f) { decide_ = &decide; }

private:
  static constexpr placement_outcome decide(any_rule const& self, std::span<operand const> operands) {
    return static_cast<rule_from const&>(self).f_(operands);
  }
  F const& f_;
};

/// Goes through all placements of the operands in the domain.
constexpr rule_report check_rule_over(rule_domain const& domain, any_rule const& decide, sim::any_kernel const& kernel,
                                      std::vector<checked_operand> const& operands) {
  using outcome = rule_finding::outcome;
  rule_report report;
  int const axes = domain.w.axes();
  std::vector<std::vector<placement_value>> choices; // operand 0 on all axes, operand 1, ...
  std::vector<tensor_placement> types;
  for (auto const& o : operands) {
    tensor_placement t;
    t.axes = static_cast<std::int8_t>(axes);
    t.batch = static_cast<std::int8_t>(o.batch);
    t.rank = static_cast<std::int8_t>(o.value.rank() + (o.batch >= 0 ? 1 : 0));
    types.push_back(t);
    for (int a = 0; a < axes; ++a) choices.push_back(detail::choices(domain, t, o.gradient, a));
  }
  std::vector<std::vector<detail::sharded_operand>> sharded; // by operand, and by the number of its placements
  for (std::size_t k = 0; k < operands.size(); ++k) {
    std::size_t n = 1;
    for (int a = 0; a < axes; ++a)
      n *= choices[k * static_cast<std::size_t>(axes) + static_cast<std::size_t>(a)].size();
    sharded.emplace_back(n, detail::sharded_operand{});
  }
  detail::for_all(choices, [&](std::vector<std::size_t> const& at) {
    std::uint32_t form = 5; // whatever the families: a rule holds for all of them
    for (std::size_t n = 0; n < at.size() && domain.one_in > 1; ++n) {
      auto const& p = choices[n][at[n]];
      int const way = ((p.level * 16 + p.dim + 1) * 8 + int(p.fold)) * 16 + int(p.kind);
      form = sim::detail::mix(form, static_cast<std::uint32_t>(way));
    }
    if (domain.one_in > 1 && form % static_cast<std::uint32_t>(domain.one_in)) {
      ++report.skipped;
      return;
    }
    std::vector<operand> requested;
    std::vector<detail::sharded_operand const*> parts;
    for (std::size_t k = 0; k < types.size(); ++k) {
      std::size_t number = 0;
      for (int a = 0; a < axes; ++a) {
        auto const n = k * static_cast<std::size_t>(axes) + static_cast<std::size_t>(a);
        types[k].on[a] = choices[n][at[n]];
        number = number * choices[n].size() + at[n];
      }
      if (check_placements(types[k]).what != code::ok) return;
      auto& mine = sharded[k][number];
      if (!mine.known) mine = detail::shard_operand(domain, operands[k], types[k], static_cast<std::uint32_t>(k));
      if (!mine.possible) return;
      parts.push_back(&mine);
      requested.push_back({types[k], false, operands[k].gradient});
    }
    detail::rule_case one{kernel, domain, operands, types};
    ++report.combinations;
    placement_outcome const said = decide(std::span<operand const>(requested));
    if (said.ok()) {
      ++report.accepted;
      one.prepare(parts);
      std::vector<tensor_placement> made = {said.type};
      for (int n = 0; n < max_results - 1 && said.more[n].axes > 0; ++n) made.push_back(said.more[n]);
      bool const value = one.right_value(made, report);
      bool gradient = true;
      if (value && one.has_gradient(made)) {
        gradient = one.right_gradient(made);
        ++report.gradients;
      }
      if (!value || !gradient)
        report.findings.push_back({value ? outcome::wrong_gradient : outcome::wrong_value, types, made, code::ok});
      return;
    }
    ++report.refused;
    ++report.refusals[static_cast<int>(said.why.what)];
    if (!domain.missing || detail::families_meet(types)) return;
    if (domain.across && !detail::accepted_axis_by_axis(decide, requested)) return;
    one.prepare(parts);
    std::vector<std::vector<tensor_placement>> results;
    for (std::size_t n = 0; n < one.truths[0].size(); ++n)
      results.push_back(detail::result_typings(domain, one, operands, n, report));
    bool found = false;
    detail::for_all(results, [&](std::vector<std::size_t> const& r) {
      if (found) return;
      std::vector<tensor_placement> made;
      for (std::size_t n = 0; n < r.size(); ++n) made.push_back(results[n][r[n]]);
      if (one.gradient_is_lost(made)) return;
      if (!one.right_value(made, report)) return;
      if (one.has_gradient(made) && !one.right_gradient(made)) return;
      found = true;
      report.findings.push_back({outcome::missing, types, made, said.why.what});
    });
    if (!found) report.rightly.push_back(types);
  });
  return report;
}

/// Checks any rule, decide(operands) -> placement_outcome, against its kernel: kernel(a, b, ...) or kernel(here, a, b, ...) on
/// sim::array<T> for any number type T, which returns one array or several. Its adjoint is found by dual numbers, or is
/// kernel.pullback(operands, gradients), which is then checked as well. In a constant expression if the kernel allows.
template <class Decide, class K, class... Operands>
constexpr rule_report check_rule_of(rule_domain const& domain, Decide const& decide, K const& kernel,
                                    Operands const&... operands) {
  sim::kernel_of<static_cast<int>(sizeof...(Operands)), K> const on_ranks(kernel);
  rule_from<Decide> const rule(decide);
  std::vector<checked_operand> all;
  (all.push_back(operands), ...);
  return check_rule_over(domain, rule, on_ranks, all);
}

namespace detail {
constexpr call_context call_context_of(rule_domain const& domain) {
  call_context now;
  now.even_families = 0;
  for (std::size_t f = 0; f < domain.w.families.size(); ++f)
    if (auto const& facts = domain.w.families[f].facts; facts.even && facts.reshapeable) now.even_families |= std::uint64_t{1} << f;
  for (int a = 0; a < domain.w.axes(); ++a) now.ranks[a] = domain.w.ranks_of(a);
  return now;
}
} // namespace detail

/// Checks a strategy against its kernel.
template <class K, class... Operands>
constexpr rule_report check_rule(rule_domain const& domain, strategy const& s, K const& kernel,
                                 Operands const&... operands) {
  auto const decide = [&, now = detail::call_context_of(domain)](std::span<operand const> o) {
    return check(s, o, now);
  };
  return check_rule_of(domain, decide, kernel, operands...);
}

/// Checks the rule of an operation, `rule_of<Op>` in any of its forms, against its kernel.
template <class Op, class K, class... Operands>
constexpr rule_report check_rule(rule_domain const& domain, K const& kernel, Operands const&... operands) {
  auto const decide = [now = detail::call_context_of(domain)](std::span<operand const> o) {
    return check(rule_of<Op>, o, now);
  };
  return check_rule_of(domain, decide, kernel, operands...);
}

} // namespace sla
