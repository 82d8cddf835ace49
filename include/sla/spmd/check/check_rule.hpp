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

/// Is it looked for a result, where this is refused? A pending index has none that a kernel could read.
constexpr bool may_be_missing(rule_domain const& domain, std::vector<checked_operand> const& operands, std::vector<tensor_placement> const& types) {
  for (std::size_t k = 0; k < types.size(); ++k)
    for (int a = 0; a < types[k].axes; ++a) {
      auto const p = types[k].on[a];
      bool const pending = p.kind == placement_kind::partial || p.kind == placement_kind::ghost_partial;
      if (pending && !operands[k].gradient) return false;
      if (p.kind == placement_kind::partial && !has_monoid(domain.missing_folds, p.fold)) return false;
    }
  return domain.missing && !families_meet(types);
}

/// What the rules of s state: for each the reductions of its placeholders, or none.
constexpr void note_stated(rule_report& report, strategy const& s) {
  for (int n = 0; n < s.size; ++n) {
    bool open = false;
    for (int k = 0; k < s.inputs; ++k) open = open || (s.rules[n].in[k].kind == slot_kind::partial && s.rules[n].in[k].fold == monoid::none);
    report.stated[n] = open ? s.rules[n].folds : monoid_bit(monoid::none);
  }
}
/// Which of them decided an accepted call, on some axis.
constexpr void note_tried(rule_report& report, strategy const& s, std::span<operand const> operands, placement_outcome const& said, call_context const& now) {
  for (int a = 0; a < said.type.axes; ++a)
    for (int n = 0; n < s.size; ++n) {
      auto const f = try_rule(s, s.rules[n], operands, a, {}, now);
      if (!f.all) continue;
      auto const made = results_of(s, s.rules[n], f.filled);
      bool same = made.at[0].kind == said.type.on[a].kind && made.at[0].fold == said.type.on[a].fold && made.at[0].dim == said.type.on[a].dim;
      for (int k = 1; k < s.results; ++k) same = same && made.at[k].kind == said.more[k - 1].on[a].kind;
      if (same) report.tried[n] |= monoid_bit(report.stated[n] == monoid_bit(monoid::none) ? monoid::none : f.filled.fold);
    }
}

} // namespace detail

/// What says which placements an operation accepts.
class any_rule {
public:
  constexpr placement_outcome operator()(std::span<operand const> operands) const { return decide_(*this, operands); }
  strategy const* table = nullptr; ///< of which every rule is to be tried
  bool listed = false;             ///< false: a composition or a function, without a table
  call_context now{};

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
  report.listed = decide.listed;
  if (decide.listed) detail::note_stated(report, *decide.table);
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
      bool copies = true;
      for (auto const& t : types)
        for (int a = 0; a < axes; ++a) copies = copies && (is_copied(t.on[a].kind) || t.on[a].kind == placement_kind::varying);
      report.beyond_copies += copies ? 0 : 1;
      if (decide.listed) detail::note_tried(report, *decide.table, requested, said, decide.now);
      one.prepare(parts);
      std::vector<tensor_placement> made = {said.type};
      for (int n = 0; n < max_results - 1 && said.more[n].axes > 0; ++n) made.push_back(said.more[n]);
      bool const value = one.right_value(made, report);
      bool gradient = true;
      if (value && one.has_gradient(made)) {
        gradient = one.right_gradient(made);
        ++report.gradients;
        report.adjoint = kernel.adjoint();
      }
      if (!value || !gradient)
        report.findings.push_back({value ? outcome::wrong_gradient : outcome::wrong_value, types, made, code::ok});
      return;
    }
    ++report.refused;
    ++report.refusals[static_cast<int>(said.why.what)];
    if (!detail::may_be_missing(domain, operands, types) || kernel.communicates()) return;
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

namespace detail {
constexpr call_context context_of_domain(rule_domain const& domain) {
  call_context now;
  now.even_families = 0;
  for (std::size_t f = 0; f < domain.w.families.size(); ++f)
    if (auto const& facts = domain.w.families[f].facts; facts.even && facts.reshapeable) now.even_families |= std::uint64_t{1} << f;
  for (int a = 0; a < domain.w.axes(); ++a) now.ranks[a] = domain.w.ranks_of(a);
  for (std::size_t a = 0; a < domain.names.size(); ++a) now.axis_names[static_cast<int>(a)] = domain.names[a];
  return now;
}

/// The domain with what it leaves open: families of equal, of contiguous and of scattered pieces, and so many ranks.
constexpr rule_domain completed(rule_domain d, int ranks) {
  if (d.w.ranks.empty()) d.w.ranks = {ranks};
  if (d.w.families.empty()) {
    d.w.families = {{}, {family_facts_of<Even>}, {family_facts_of<Balanced>}, {family_facts_of<Strided<2, Ceil>>}};
    d.families = {1, 2, 3};
  }
  return d;
}

/// A rule holds for every family and every number of ranks: what is not right for one of them is not missing for another.
constexpr void drop_refuted(rule_report& report) {
  auto const alike = [](std::vector<tensor_placement> const& x, std::vector<tensor_placement> const& y) {
    for (std::size_t k = 0; k < x.size(); ++k)
      for (int a = 0; a < x[k].axes; ++a) {
        auto p = x[k].on[a], q = y[k].on[a];
        p.family = q.family = 0;
        if (!(p == q)) return false;
      }
    return true;
  };
  std::vector<rule_finding> kept;
  for (auto& f : report.findings) {
    bool refuted = false;
    for (auto const& types : report.rightly) refuted = refuted || (f.what == rule_finding::outcome::missing && alike(f.operands, types));
    if (!refuted) kept.push_back(std::move(f));
  }
  report.findings = std::move(kept);
}

constexpr operand whole_operand_of(checked_operand const& o) {
  operand out;
  out.gradient = o.gradient;
  out.type.axes = 1;
  out.type.batch = static_cast<std::int8_t>(o.batch);
  out.type.rank = static_cast<std::int8_t>(o.value.rank() + (o.batch >= 0 ? 1 : 0));
  out.type.on[0].kind = placement_kind::replicate;
  return out;
}

/// decide(operands, now) on each mesh of the domain; `table`: its rules, if they can be listed one by one.
template <class Decide, class K, class... Operands>
constexpr rule_report check_on_meshes(rule_domain const& domain, Decide const& decide, bool listed, strategy const& table, K const& kernel, Operands const&... operands) {
  sim::kernel_of<static_cast<int>(sizeof...(Operands)), K> const on_ranks(kernel);
  std::vector<checked_operand> all;
  (all.push_back(operands), ...);
  rule_report report;
  for (int ranks : {2, 3}) {
    auto const d = completed(domain, ranks);
    auto const now = context_of_domain(d);
    auto const here = [&](std::span<operand const> o) { return decide(o, now); };
    rule_from rule(here);
    rule.table = &table;
    rule.listed = listed;
    rule.now = now;
    report += check_rule_over(d, rule, on_ranks, all);
    if (!domain.w.ranks.empty()) break;
  }
  return drop_refuted(report), report;
}

/// The table of a rule on whole operands of these shapes, if it has one.
template <class Rule>
struct table_of {
  static constexpr bool listed = false;
  static constexpr strategy of(Rule const&, std::span<operand const>) { return {}; }
};
template <>
struct table_of<strategy> {
  static constexpr bool listed = true;
  static constexpr strategy of(strategy const& s, std::span<operand const>) { return s; }
};
template <>
struct table_of<op_rule> {
  static constexpr bool listed = true;
  static constexpr strategy of(op_rule const& r, std::span<operand const> o) { return strategy_of(r, o); }
};
} // namespace detail

namespace rules {
template <class F>
struct chosen;
}
struct local_only;
namespace detail {
template <class F>
struct table_of<rules::chosen<F>> {
  static constexpr bool listed = true;
  static constexpr strategy of(rules::chosen<F> const& r, std::span<operand const> o) {
    auto const found = r.f(o);
    return table_of<std::remove_const_t<decltype(found)>>::of(found, o);
  }
};
template <>
struct table_of<local_only> { // it states no rule beyond that of whole operands
  static constexpr bool listed = true;
  static constexpr strategy of(local_only const&, std::span<operand const>) { return {}; }
};
} // namespace detail

/// Checks any rule, decide(operands) -> placement_outcome, against its kernel: kernel(a, b, ...) or kernel(here, a, b, ...) on
/// sim::array<T> for any number type T, which returns one array or several. Its adjoint is found by dual numbers, or is
/// kernel.pullback(operands, gradients), which is then checked as well; `op_kernel<Op, X...>` is the kernel of `custom<Op>` and its
/// pullbacks. A kernel that communicates has together(world, parts), what all ranks make, for a rule with collectives; its gradients
/// are not checked. In a constant expression if the kernel allows.
template <class Decide, class K, class... Operands>
constexpr rule_report check_rule_of(rule_domain const& domain, Decide const& decide, K const& kernel,
                                    Operands const&... operands) {
  return detail::check_on_meshes(domain, [&](std::span<operand const> o, call_context const&) { return decide(o); }, false, strategy{}, kernel, operands...);
}

/// Checks a strategy against its kernel.
template <class K, class... Operands>
constexpr rule_report check_rule(rule_domain const& domain, strategy const& s, K const& kernel,
                                 Operands const&... operands) {
  return detail::check_on_meshes(domain, [&](std::span<operand const> o, call_context const& now) { return check(s, o, now); }, true, s, kernel, operands...);
}

/// Checks the rule of an operation, `rule_of<Op>` in any of its forms, against its kernel.
template <class Op, class K, class... Operands>
constexpr rule_report check_rule(rule_domain const& domain, K const& kernel, Operands const&... operands) {
  using table = detail::table_of<std::remove_const_t<decltype(rule_of<Op>)>>;
  operand whole[] = {operand{}, detail::whole_operand_of(operands)...};
  strategy const s = table::of(rule_of<Op>, std::span<operand const>(whole + 1, sizeof...(Operands)));
  auto const decide = [](std::span<operand const> o, call_context const& now) { return check(rule_of<Op>, o, now); };
  return detail::check_on_meshes(domain, decide, table::listed, s, kernel, operands...);
}

} // namespace sla
