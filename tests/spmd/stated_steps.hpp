// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps that a call with a stated source stands for, on values: the model of what spmd/refusal/step_decision.hpp does on types.
#pragma once

#include <sla/spmd/step/transition.hpp>

namespace sla {

/// One call may name two steps: a reduction whose source is spelled Varying means that the ranks hold contributions,
/// and what leaves Invariant by reinterpretation goes through Replicate. No step at all: the placements are equal.
struct step_path {
  fixed_array<transition, 2> steps{};
  int size = 0;
  constexpr bool operator==(step_path const&) const = default;
};

/// The steps that a call with a stated source, `all_reduce<"tp", Varying, Replicate>(v)`, stands for.
constexpr step_path steps_of(transition t) {
  using kind = placement_kind;
  constexpr placement_value sum{kind::partial, monoid::sum}, copies{kind::replicate};
  bool const reduces = t.how == step::all_reduce || t.how == step::reduce_scatter;
  bool const keeps = t.how == step::convert || (t.how == step::reinterpret && !is_sharded(t.from.kind));
  if (keeps && t.from == t.to) return {};
  if (reduces && t.from.kind == kind::varying)
    return {{{{step::reinterpret, t.from, sum}, {t.how, sum, t.to}}}, 2};
  if (t.how == step::reinterpret && t.from.kind == kind::invariant && t.to.kind != kind::replicate)
    return {{{{step::convert, t.from, copies}, {step::reinterpret, copies, t.to}}}, 2};
  return {{{t}}, 1};
}

/// The first reason against any of the steps. A spelled source insists by itself where two steps are meant.
constexpr code check_path(step_path const& path, bool insisted = false) {
  for (int n = 0; n < path.size; ++n)
    if (auto const why = check(path.steps[n], insisted || path.size == 2); why != code::ok) return why;
  return code::ok;
}

/// The adjoints in reverse order.
constexpr step_path adjoint_of(step_path const& path) {
  step_path back{{}, path.size};
  for (int n = 0; n < path.size; ++n) back.steps[n] = adjoint_of(path.steps[path.size - 1 - n]);
  return back;
}

} // namespace sla
