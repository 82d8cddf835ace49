// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a check of a rule found, as text: how much was checked, what was refused and why, and what is wrong or missing.
// The check itself is in spmd/check/check_rule.hpp. Not part of spmd.hpp.
#pragma once
#include <string>

#include <sla/spmd/check/check_rule.hpp>
#include <sla/spmd/refusal/words.hpp>

namespace sla {

namespace detail {

inline std::string spelled_value(placement_value p) {
  using kind = placement_kind;
  constexpr char const* folds[] = {"?", "Sum", "Avg", "Max", "Min", "Prod"};
  auto const of = [&](char const* name) {
    return std::string(name) + "<" + std::to_string(p.dim) + ", family " + std::to_string(p.family) + ">";
  };
  switch (p.kind) {
  case kind::replicate:
    return "Replicate";
  case kind::invariant:
    return "Invariant";
  case kind::varying:
    return "Varying";
  case kind::partial:
    return std::string("Partial<") + folds[static_cast<int>(p.fold)] + ">";
  case kind::shard:
    return of("Shard");
  case kind::sparse_shard:
    return of("SparseShard");
  case kind::hyper:
    return "Hyper<family " + std::to_string(p.family) + ">";
  case kind::ghost:
    return of("Ghost");
  case kind::ghost_partial:
    return of("GhostP");
  case kind::untyped:
    break;
  }
  return "untyped";
}

/// One bracket per value, one placement per mesh axis.
inline std::string spelled_values(std::vector<tensor_placement> const& types) {
  std::string out;
  for (auto const& t : types) {
    out += out.empty() ? "[" : " [";
    for (int a = 0; a < t.axes; ++a) out += (a ? ", " : "") + spelled_value(t.on[a]);
    out += "]";
  }
  return out;
}

} // namespace detail

/// The report in lines. At most `shown` findings are written out.
inline std::string describe(rule_report const& r, std::size_t shown = 20) {
  using outcome = rule_finding::outcome;
  auto const number = [](int n) { return std::to_string(n); };
  std::string out = "checked " + number(r.combinations) + " combinations of placements: " + number(r.accepted) +
                    " accepted (" + number(r.gradients) + " with gradients), " + number(r.refused) + " refused; " +
                    number(r.wrong()) + " wrong, " + number(r.missing()) + " missing\n";
  for (int c = 1; c < r.refusals.size(); ++c)
    if (r.refusals[c] > 0)
      out += "  refused " + number(r.refusals[c]) + ": E" + (c < 10 ? "0" : "") + number(c) + ", " +
             std::string(rule_broken(static_cast<code>(c))) + "\n";
  if (r.adjoint == adjoint_source::derived) out += "  the gradients are those of the kernel by dual numbers: a pullback that a program runs is not among what was checked\n";
  if (r.adjoint == adjoint_source::stated) out += "  the adjoint is the kernel's pullback: that of an operation is checked by op_kernel<Op, X...>\n";
  for (auto const& u : r.untried())
    out += "  not tried: rule " + number(u.rule) + (u.fold == monoid::none ? "" : " for " + detail::spelled_value({placement_kind::partial, u.fold})) +
           ": no operands in these families, folds, ranks and extents come to it\n";
  if (!r.listed && r.beyond_copies == 0) out += "  not tried: nothing with a shard or a pending operand was accepted\n";
  for (std::size_t n = 0; n < r.findings.size() && n < shown; ++n) {
    auto const& f = r.findings[n];
    out += f.what == outcome::missing       ? "  missing: "
           : f.what == outcome::wrong_value ? "  wrong value: "
                                            : "  wrong gradient: ";
    out += detail::spelled_values(f.operands) + " -> " + detail::spelled_values(f.results) + "\n";
  }
  if (r.findings.size() > shown) out += "  and " + std::to_string(r.findings.size() - shown) + " more\n";
  return out;
}

} // namespace sla
