// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When a method stops: one text over the operations of a space. It never reads a number, it masks: an item that has stopped
// is frozen, so neither x nor the count depends on how late the flag is read. The numbers it goes by are in solve/seam/rule.hpp.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <sla/solve/seam/rule.hpp>
#include <sla/solve/seam/space.hpp>
#include <sla/tensor/storage/memory.hpp>

namespace sla {

namespace detail {
SLA_HD inline double tolerance(double bb, double rtol, double atol) {
  double const relative = rtol * rtol * bb, absolute = atol * atol;
  return relative > absolute ? relative : absolute;
}
/// |r| / |b| of squared norms, or |r|.
template <class R>
SLA_HD double relative(R rr, R bb) {
  return bb > 0 ? std::sqrt(double(rr)) / std::sqrt(double(bb)) : std::sqrt(double(rr));
}
/// The state, and what an observer sees of it.
using judged = pack<reason, progress>;

struct start {
  template <class R>
  SLA_HD judged operator()(R bb) const {
    reason const state = bb - bb == 0 ? reason::running : reason::not_a_number;
    return {{{state}, {{state, 0, relative(bb, bb)}}}};
  }
};
struct judge {
  double rtol, atol;
  bool counts;  ///< is there an iteration before this?

  /// A run whose residual fell by so much has no digits left, however little was asked: what its recurrence says from there on
  /// is not of x, and in the end its denominators are 0. Squared.
  static constexpr double exhausted = 1e-36;
  /// One whose residual still grows where it is 1e12 times b has lost x: sixteen digits are less than what it would take off again. Squared.
  static constexpr double lost = 1e24;

  /// own: |b|^2 of the run itself, which may solve for a correction only.
  template <class R>
  SLA_HD judged operator()(reason state, progress before, R rr, R bb, R own) const {
    if (state == reason::running) {
      if (!(rr - rr == 0))
        state = reason::not_a_number;
      else if (double(rr) <= tolerance(double(bb), rtol, atol) || double(rr) <= exhausted * double(own))
        state = reason::converged;
      else if (double(bb) > 0 && double(rr) > lost * double(bb) && relative(rr, bb) > before.residual && before.iterations > 0)
        state = reason::breakdown;
    }
    return {{{state}, {{state, before.iterations + (counts && before.state == reason::running), relative(rr, bb)}}}};
  }
};
/// The state, and num / den or 0 for an item that does not run: one whose den does not fit stops for this reason.
template <class N, class D>
SLA_HD auto checked_ratio(reason state, N num, D den, bool fits, reason why) {
  if (state == reason::running && !(is_finite(den) && fits)) state = is_finite(den) ? why : reason::not_a_number;
  auto const q = op::div::apply(num, state == reason::running ? den : D(1));
  return pack<reason, decltype(op::div::apply(num, den))>{{{state}, {state == reason::running ? q : decltype(q){}}}};
}
struct by_positive {
  reason why;
  template <class N, class D>
  SLA_HD auto operator()(reason state, N num, D den) const {
    return checked_ratio(state, num, den, real_of(den) > 0, why);
  }
};
/// For recurrences whose denominators may have any sign but must not vanish.
struct by_nonzero {
  reason why;
  template <class N, class D>
  SLA_HD auto operator()(reason state, N num, D den) const {
    return checked_ratio(state, num, den, abs2_of(den) > 0, why);
  }
};
/// 1 for an item that runs, 0 for one that is frozen.
struct running_factor {
  template <class R>
  SLA_HD R operator()(reason state, R) const {
    return state == reason::running ? R(1) : R(0);
  }
};
struct blame_no_decrease {
  template <class R>
  SLA_HD reason operator()(reason state, R before, R now) const {
    return state == reason::running && !(now < before / 4) ? reason::stagnated : state;
  }
};
/// A stopped item stays stopped when a method is called again.
struct resume {
  SLA_HD reason operator()(reason state, reason before) const { return before == reason::running ? state : before; }
};
struct finish_progress {
  bool counts;
  SLA_HD progress operator()(reason state, progress last) const {
    return {state, last.iterations + (counts && last.state == reason::running), last.residual};
  }
};
struct summarize {
  template <class R>
  SLA_HD progress operator()(reason state, int n, R rr, R bb) const {
    return {state, n, relative(rr, bb)};
  }
};

/// What one run of a method leaves for those after it: how its items ended, and the |b|^2 that all runs are judged by.
template <class State, class Real>
struct run_record {
  std::optional<State> state;
  std::optional<Real> bb;
  std::size_t bytes = 0;  ///< that tensors held in the memory of the space at its end
  bool stopped = false;   ///< by an observer
};
/// Bytes that tensors hold in the memory of a space; memories other than the host's have a memory_in_use of their own.
template <class Space>
std::size_t bytes_in_use() {
  if constexpr (requires { memory_in_use(typename Space::memory_type{}); })
    return memory_in_use(typename Space::memory_type{}).now;
  else
    return memory_in_use().now;
}
} // namespace detail

/// The stop test of one run of a method. `Real` is the space's scalar of squared norms. All of it is constexpr, for recorders:
/// a Rule has the members of stop_rule.
template <class Space, class Real, class Rule = stop_rule>
class stop_test {
public:
  using judged_scalars = decltype(std::declval<Space&>().map(detail::start{}, std::declval<Real const&>()));
  using state_scalar = detail::part_t<0, judged_scalars>;

  using record = detail::run_record<state_scalar, Real>;

  constexpr stop_test(Space& space, Rule const& rule, Real const& bb) : stop_test(space, rule, bb, bb) {}
  /// For one run of several: it begins with the items stopped that stopped before, is judged by |b|^2 of the first run, and leaves a record.
  stop_test(Space& space, Rule const& rule, Real const& own, record& runs) : stop_test(space, rule, runs.bb ? *runs.bb : own, own) {
    record_ = &runs;
    if (runs.state) now_is(space.map(detail::resume{}, state(), *runs.state));
  }

  /// Judges squared residual norms; is there an item still running? Counts an iteration for those that are.
  constexpr bool go_on(Real const& rr) {
    judged_ = space_.map(detail::judge{rule_.rtol, rule_.atol, in_iteration_}, state(), seen_by_observers(), rr, bb_, own_);
    in_iteration_ = false;
    auto const seen = space_.peek(seen_by_observers());
    if (!seen.empty() && rule_.watch && !asked_) asked_ = !rule_.watch(std::vector<progress>(seen.begin(), seen.end()));
    if constexpr (requires { space_.agreed(true); })
      stopped_ = space_.agreed(asked_); // ranks stop together
    else
      stopped_ = asked_;
    bool const running = seen.empty() || std::any_of(seen.begin(), seen.end(), [](progress const& p) { return p.state == reason::running; });
    if (!running || stopped_ || taken_ >= rule_.max_iterations) return false;
    ++taken_;
    return in_iteration_ = true;
  }

  /// num / den for a running item, else 0. An item whose den has no positive real part stops for that reason.
  template <class N, class D>
  constexpr auto ratio(N const& num, D const& den, reason why) {
    return second_of(space_.map(detail::by_positive{why}, state(), num, den));
  }
  /// num / den for a running item, else 0. An item whose den vanishes stops for that reason.
  template <class N, class D>
  constexpr auto nonzero_ratio(N const& num, D const& den, reason why) {
    return second_of(space_.map(detail::by_nonzero{why}, state(), num, den));
  }

  /// 1 for a running item, 0 for a stopped one: the step of a method without coefficients. `like` tells the type.
  template <class R>
  constexpr auto running(R const& like) {
    return space_.map(detail::running_factor{}, state(), like);
  }
  /// An item whose squared residual fell by less than four stops as stagnated.
  constexpr void expect_decrease(Real const& before, Real const& now) { now_is(space_.map(detail::blame_no_decrease{}, state(), before, now)); }

  /// The reason that f(state, numbers...) gives is each item's state: for methods with laws of their own.
  template <class F, class... N>
  constexpr void judge(F const& f, N const&... numbers) {
    now_is(space_.map(f, state(), numbers...));
  }

  /// The state of each item, for the functors of a method.
  constexpr state_scalar const& state() const { return detail::part<0>(judged_); }

  /// Ends the run: the only synchronisation. One progress per item; whoever still runs met the iteration limit.
  constexpr std::vector<progress> outcome() {
    if (record_) record_->bytes = detail::bytes_in_use<Space>(), record_->state = state(), record_->stopped = stopped_;
    auto last = space_.map(detail::finish_progress{in_iteration_}, state(), seen_by_observers());
    space_.finish();
    std::vector<progress> items = space_.read(last);
    for (progress& p : items)
      if (p.state == reason::running) p.state = stopped_ ? reason::stopped : reason::iteration_limit;
    return items;
  }

private:
  /// own: |b|^2 of the system that this run solves.
  constexpr stop_test(Space& space, Rule const& rule, Real const& bb, Real const& own)
      : space_(space),
        rule_(rule),
        bb_(bb),
        own_(own),
        judged_(space.map(detail::start{}, bb)) {
    if constexpr (requires { space.begin_watch(true); }) space.begin_watch(bool(rule_.watch));
  }
  constexpr auto const& seen_by_observers() const { return detail::part<1>(judged_); }
  constexpr void now_is(state_scalar const& state) { detail::part<0>(judged_) = state; }
  /// Keeps the state, and returns the other.
  template <class Pack>
  constexpr auto second_of(Pack const& state_and_other) {
    now_is(detail::part<0>(state_and_other));
    return detail::part<1>(state_and_other);
  }
  Space& space_;
  Rule rule_;
  Real bb_, own_;
  judged_scalars judged_;
  record* record_ = nullptr;
  int taken_ = 0;
  bool in_iteration_ = false, asked_ = false, stopped_ = false;
};

/// How a method makes its stop test, once it knows |b|^2: `auto stop = make_stop(space, bb)`. It knows nothing of x: of one in float give an rtol.
struct stop_maker {
  stop_rule rule;
  template <class Space, class Real>
  stop_test<Space, Real> operator()(Space& space, Real const& bb) const {
    return {space, rule, bb};
  }
};

} // namespace sla
