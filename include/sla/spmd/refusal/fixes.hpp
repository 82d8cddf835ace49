// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fixes of a refused call: which collectives or conversions, around which operands, make it legal, the cheapest first.
// Each has been accepted by the rules that refused the call. How they are printed is in spmd/refusal/facts.hpp and
// spmd/refusal/explain_error.hpp.
#pragma once

#include <cstddef>
#include <span>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/operand.hpp>
#include <sla/spmd/placement/placement_values.hpp>
#include <sla/spmd/refusal/words.hpp>
#include <sla/spmd/step/transition.hpp>

namespace sla {

/// A step around an operand, on one axis. `insisted`: it takes the tag sla::expert.
struct inserted_call {
  int operand = -1, axis = -1;
  transition step{};
  bool insisted = false;
  constexpr bool operator==(inserted_call const&) const = default;
};

/// The most steps of one fix.
inline constexpr int max_inserted = 8;
/// The most fixes that a message lists.
inline constexpr int max_fixes = 3;

/// Steps after which the rules accept the call.
struct suggested_fix {
  fixed_array<inserted_call, max_inserted> steps{};
  int size = 0;
  int cost = 0;    ///< of forward and backward together, in passes over a part of the operand
  placement_value result{}; ///< of the call, on the axis that was refused
  constexpr bool operator==(suggested_fix const&) const = default;
};

/// The cheapest fixes of a call that the rules refuse.
struct suggested_fixes {
  fixed_array<suggested_fix, max_fixes> best{};
  int size = 0;
};

/// What a step sends, in passes over a part of the operand: an all_reduce is a reduce_scatter and an all_gather.
template <class = void>
constexpr int cost_of(step how) {
  if (is_free(how)) return 0;
  if (how == step::halo_exchange || how == step::halo_reduce) return 1;
  return how == step::all_reduce ? 4 : 2;
}
/// Forward and backward; a sparse operand is taken to have eight entries per row, and a number is next to nothing.
template <class = void>
constexpr int cost_of(transition t, tensor_placement const& of) {
  bool const has_gradient = dual(t.from).kind != placement_kind::untyped && dual(t.to).kind != placement_kind::untyped;
  int const passes = cost_of(t.how) + (has_gradient ? cost_of(adjoint_of(t).how) : 0);
  return of.rank == 0 ? int(passes > 0) : (of.is_sparse() ? 8 : 1) * passes;
}

namespace detail {

/// The search: one step on the refused axis, or two on different operands if one is not enough; then the axes after it.
template <class Check>
class fix_search {
  using kind = placement_kind;
  static constexpr int max_moves = 48, max_checks = 240;

public:
  constexpr fix_search(Check const& check, std::span<operand const> operands, unsigned unmovable)
      : check_(check), count_(operands.size()), unmovable_(unmovable) {
    for (std::size_t k = 0; k < count_; ++k) given_[k] = operands[k];
  }

  constexpr suggested_fixes find(diagnostic why) {
    suggested_fixes all;
    if (why.axis < 0 || why.what == code::no_such_dimension) return all;
    list_moves(why.axis);
    for (int m = 0; m < moves_size_; ++m) {
      if (m > 0 && moves_[m].group == found_) continue; // the first operand that will do
      if (try_moves(all, why.axis, m, -1)) found_ = moves_[m].group;
    }
    if (all.size > 0) return all;
    for (int m = 0; m < moves_size_; ++m)
      for (int n = m + 1; n < moves_size_; ++n)
        if (moves_[m].how.operand != moves_[n].how.operand) try_moves(all, why.axis, m, n);
    return all;
  }

private:
  struct move {
    inserted_call how{};
    int group = 0;
  };

  constexpr void add(std::size_t k, int axis, placement_value to, int group, bool insisted = false) {
    auto const from = given_[k].type.on[axis];
    bool const number = given_[k].weak || given_[k].type.axes == 0 || (unmovable_ >> k & 1);
    if (number || from == to || moves_size_ == max_moves) return;
    for (int m = 0; m < moves_size_; ++m)
      if (moves_[m].how.operand == static_cast<int>(k) && moves_[m].how.step.to == to) return;
    moves_[moves_size_++] = {{static_cast<int>(k), axis, {route(from, to), from, to}, insisted}, group};
  }

  /// Copies, sums and Varying: the meaning of no operand changes, so R to I and V to P are not among them. An Invariant
  /// is made only beside another, or of the only operand.
  constexpr void list_moves(int axis) {
    bool sharded = false, invariant = false;
    for (std::size_t k = 0; k < count_; ++k) {
      auto const at = given_[k].type.on[axis].kind;
      sharded = sharded || (!given_[k].weak && is_sharded(at));
      invariant = invariant || at == kind::invariant;
    }
    placement_value const replicate{kind::replicate}, sum{kind::partial, monoid::sum};
    struct {
      kind from;
      placement_value to;
      bool insisted;
    } const all[] = {{kind::invariant, replicate, false},
                     {kind::invariant, sum, true},
                     {kind::partial, replicate, false},
                     {kind::partial, {kind::invariant}, false},
                     {kind::replicate, sum, false}};
    int group = 0;
    for (auto const& c : all) {
      ++group;
      if (c.to.kind == kind::invariant && !invariant && count_ > 1) continue;
      for (std::size_t k = 0; k < count_; ++k)
        if (given_[k].type.on[axis].kind == c.from && !(sharded && c.to == sum)) add(k, axis, c.to, group);
    }
    for (int m = 0; m < moves_size_; ++m)
      moves_[m].how.insisted = moves_[m].how.step.to == sum && moves_[m].how.step.from.kind == kind::invariant;
    if (sharded) list_shards(axis, group);
  }

  /// Parts: as another operand is sharded, or whole.
  constexpr void list_shards(int axis, int group) {
    for (std::size_t k = 0; k < count_; ++k) {
      auto const& t = given_[k].type;
      for (std::size_t lead = 0; lead < count_; ++lead) {
        auto const at = given_[lead].type.on[axis];
        if (!is_sharded(at.kind) || given_[lead].weak) continue;
        bool const ghosts = at.kind == kind::ghost || at.kind == kind::ghost_partial;
        for (int d = 0; d < t.rank; ++d) {
          bool const row_or_column = t.is_sparse() && (d == t.batch || d == t.batch + 1);
          placement_value to{row_or_column ? kind::sparse_shard : kind::shard, monoid::none,
                    static_cast<std::int8_t>(row_or_column ? d - t.batch : d), at.family};
          add(k, axis, to, ++group);
          if (!ghosts || lead == k || row_or_column) continue;
          to.kind = kind::ghost;
          to.pattern = at.pattern;
          add(k, axis, to, ++group);
        }
      }
      if (t.on[axis].kind != kind::varying) add(k, axis, {kind::replicate}, ++group);
    }
  }

  constexpr bool apply(operand (&trial)[max_operands], inserted_call const& i) const {
    auto& t = trial[i.operand].type;
    if (check_step(i.step.how, t, i.axis, i.step.to, i.insisted).what != code::ok) return false;
    t.on[i.axis] = i.step.to;
    return true;
  }

  constexpr bool try_moves(suggested_fixes& all, int axis, int first, int second) {
    if (checks_ == max_checks) return false;
    operand trial[max_operands]{};
    for (std::size_t k = 0; k < count_; ++k) trial[k] = given_[k];
    suggested_fix f;
    for (int const m : {first, second}) {
      if (m < 0) continue;
      if (!apply(trial, moves_[m].how)) return false;
      f.steps[f.size++] = moves_[m].how;
      f.cost += cost_of(moves_[m].how.step, given_[moves_[m].how.operand].type);
    }
    ++checks_;
    auto now = check_(std::span<operand const>(trial, count_));
    if (!now.ok() && now.why.axis <= axis) return false;
    while (!now.ok()) { // what the other axes need
      auto const more = fix_search(check_, {trial, count_}, unmovable_).find(now.why);
      if (more.size == 0 || f.size + more.best[0].size > max_inserted) return false;
      for (int n = 0; n < more.best[0].size; ++n) {
        f.steps[f.size++] = more.best[0].steps[n];
        if (!apply(trial, more.best[0].steps[n])) return false;
      }
      f.cost += more.best[0].cost;
      now = check_(std::span<operand const>(trial, count_));
    }
    f.result = now.type.on[axis];
    if (becomes_partial(f, axis)) return false;
    keep(all, f);
    return true;
  }

  /// No fix makes the rest of a program pending which was not.
  constexpr bool becomes_partial(suggested_fix const& f, int axis) const {
    if (f.result.kind != kind::partial) return false;
    for (std::size_t k = 0; k < count_; ++k) {
      if (is_sharded(given_[k].type.on[axis].kind)) return false; // a sum over what is sharded
      bool touched = false;
      for (int n = 0; n < f.size; ++n)
        touched = touched || (f.steps[n].operand == static_cast<int>(k) && f.steps[n].axis == axis);
      if (!touched && given_[k].type.on[axis].kind == kind::partial) return false;
    }
    return true;
  }

  static constexpr void keep(suggested_fixes& all, suggested_fix const& f) { // the cheaper first, else in the order of the search
    int at = all.size;
    while (at > 0 && all.best[at - 1].cost > f.cost) --at;
    if (at == max_fixes) return;
    if (all.size < max_fixes) ++all.size;
    for (int n = all.size - 1; n > at; --n) all.best[n] = all.best[n - 1];
    all.best[at] = f;
  }

  Check const& check_;
  operand given_[max_operands]{};
  std::size_t count_;
  unsigned unmovable_;
  move moves_[max_moves]{};
  int moves_size_ = 0, found_ = -1, checks_ = 0;
};

} // namespace detail

/// The cheapest fixes of a refused call, at most three. `check(operands)` decides as the call does; `unmovable` has a
/// bit for each operand that no step can be put around (a plain number). None where no conversion or collective of
/// spmd/step/transition.hpp helps. Law: each applied, in its order, is legal step by step, and then the call is.
template <class Check>
constexpr suggested_fixes suggest(Check const& check, std::span<operand const> operands, diagnostic why,
                           unsigned unmovable = 0) {
  return detail::fix_search<Check>(check, operands, unmovable).find(why);
}

/// The step that keeps the value, where another one was asked for; the inner axes of its dimension are gathered before
/// it and resharded after it, but copies are cut inside of them unless `exact`ly `to` is wanted. Size 0 if there is none.
template <class = void>
constexpr suggested_fix suggest_step(tensor_placement t, int axis, step requested, placement_value to, bool exact = false) {
  suggested_fix f;
  auto const from = t.on[axis];
  if (from == to) return f;
  auto const take = [&](int a, step how, placement_value target, bool insisted) {
    inserted_call const next{0, a, {how, t.on[a], target}, insisted};
    if (f.size == max_inserted || check_step(how, t, a, target, insisted).what != code::ok) return false;
    f.steps[f.size++] = next;
    f.cost += cost_of(next.step, t);
    t.on[a] = target;
    return true;
  };
  auto const blocked = [&] { return check_step(route(from, to), t, axis, to).what == code::not_innermost; };
  if (!exact && is_copied(from.kind) && to.kind == placement_kind::shard && blocked()) // each rank has the whole: inside of the others it is free
    for (placement_value inner = to; ++inner.level < max_mesh_axes;)
      if (take(axis, route(from, inner), inner, false)) return f.result = inner, f;
  for (bool more = true; more && blocked();) {
    more = false;
    for (int b = t.axes - 1; b >= 0 && !more; --b)
      more = b != axis && t.on[b].kind == placement_kind::shard && t.on[b].dim == from.dim &&
             take(b, step::all_gather, {placement_kind::replicate}, false);
  }
  int const gathered = f.size;
  bool const taken = take(axis, route(from, to), to, false) || take(axis, requested, to, false) ||
                     take(axis, route(from, to), to, true) || take(axis, requested, to, true);
  if (!taken) return {};
  for (int n = gathered; n-- > 0;)
    if (auto const g = f.steps[n]; !take(g.axis, step::convert, g.step.from, false)) return {};
  f.result = to;
  return f;
}

} // namespace sla
