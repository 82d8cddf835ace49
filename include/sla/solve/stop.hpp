// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When a method stops: one text over the operations of a space. It never reads a number, it masks: an item that has stopped
// is frozen, so neither x nor the count depends on how late the flag is read. The numbers it goes by are in solve/rule.hpp.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/solve/rule.hpp>
#include <sla/solve/space.hpp>

namespace sla {

namespace detail {
SLA_HD inline double tolerance(double bb, double rtol, double atol) {
  double const relative = rtol * rtol * bb, absolute = atol * atol;
  return relative > absolute ? relative : absolute;
}
struct judge {
  double rtol, atol;

  /// A run whose residual fell by so much has no digits left, however little was asked: what its recurrence says from there on
  /// is not of x, and in the end its denominators are 0. Squared.
  static constexpr double exhausted = 1e-36;

  /// own: |b|^2 of the run itself, which may solve for a correction only.
  template <class R>
  SLA_HD reason operator()(reason state, R rr, R bb, R own) const {
    if (state != reason::running) return state;
    if (!(rr - rr == 0)) return reason::not_a_number;
    return double(rr) <= tolerance(double(bb), rtol, atol) || double(rr) <= exhausted * double(own) ? reason::converged : reason::running;
  }
};
struct start_state {
  template <class R>
  SLA_HD reason operator()(R bb) const {
    return bb - bb == 0 ? reason::running : reason::not_a_number;
  }
};
struct blame {
  reason why;
  template <class T>
  SLA_HD reason operator()(reason state, T den) const {
    if (state != reason::running) return state;
    if (!is_finite(den)) return reason::not_a_number;
    return real_of(den) > 0 ? reason::running : why;
  }
};
/// For recurrences whose denominators may have any sign but must not vanish.
struct blame_zero {
  reason why;
  template <class T>
  SLA_HD reason operator()(reason state, T den) const {
    if (state != reason::running) return state;
    if (!is_finite(den)) return reason::not_a_number;
    return abs2_of(den) > 0 ? reason::running : why;
  }
};
struct quotient {
  template <class N, class D>
  SLA_HD auto operator()(reason state, N num, D den) const {
    auto const q = op::div::apply(num, state == reason::running ? den : D(1));
    return state == reason::running ? q : decltype(q){};
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
struct first_iteration {
  template <class R>
  SLA_HD int operator()(R) const {
    return 0;
  }
};
struct count_iteration {
  SLA_HD int operator()(reason state, int n) const { return n + (state == reason::running); }
};
/// A stopped item stays stopped when a method is called again.
struct resume {
  SLA_HD reason operator()(reason state, reason before) const { return before == reason::running ? state : before; }
};
struct finish_progress {
  SLA_HD progress operator()(reason state, int n, progress last) const { return {state, n, last.residual}; }
};
struct summarize {
  template <class R>
  SLA_HD progress operator()(reason state, int n, R rr, R bb) const {
    return {state, n, bb > 0 ? std::sqrt(double(rr)) / std::sqrt(double(bb)) : std::sqrt(double(rr))};
  }
};
} // namespace detail

/// The stop test of one run of a method. `Real` is the space's scalar of squared norms. All of it is constexpr, for recorders:
/// a Rule has the members of stop_rule.
template <class Space, class Real, class Rule = stop_rule>
class stop_test {
public:
  using state_scalar = decltype(std::declval<Space&>().map(detail::start_state{}, std::declval<Real const&>()));
  using count_scalar = decltype(std::declval<Space&>().map(detail::first_iteration{}, std::declval<Real const&>()));
  using progress_scalar = decltype(std::declval<Space&>().map(detail::summarize{}, std::declval<state_scalar const&>(),
                                                              std::declval<count_scalar const&>(), std::declval<Real const&>(),
                                                              std::declval<Real const&>()));

  constexpr stop_test(Space& space, Rule const& rule, Real bb) : stop_test(space, rule, bb, bb) {}
  /// For a method that solves with another right-hand side than the one whose norm counts: |b|^2 of both.
  constexpr stop_test(Space& space, Rule const& rule, Real bb, Real own)
      : space_(space),
        rule_(rule),
        bb_(bb),
        own_(own),
        state_(space.map(detail::start_state{}, bb)),
        iterations_(space.map(detail::first_iteration{}, bb)),
        progress_(space.map(detail::summarize{}, state_, iterations_, bb, bb)) {}

  /// Judges squared residual norms; is there an item still running? Counts an iteration for those that are.
  constexpr bool go_on(Real const& rr) {
    state_ = space_.map(detail::judge{rule_.rtol, rule_.atol}, state_, rr, bb_, own_);
    progress_ = space_.map(detail::summarize{}, state_, iterations_, rr, bb_);
    auto const seen = space_.peek(progress_);
    if (!seen.empty() && rule_.watch && !stopped_) stopped_ = !rule_.watch(seen);
    bool const running = seen.empty() || std::any_of(seen.begin(), seen.end(), [](progress const& p) { return p.state == reason::running; });
    if (!running || stopped_ || taken_ >= rule_.max_iterations) return false;
    ++taken_;
    iterations_ = space_.map(detail::count_iteration{}, state_, iterations_);
    return true;
  }

  /// num / den for a running item, else 0. An item whose den has no positive real part stops for that reason.
  template <class N, class D>
  constexpr auto ratio(N const& num, D const& den, reason why) {
    state_ = space_.map(detail::blame{why}, state_, den);
    return space_.map(detail::quotient{}, state_, num, den);
  }
  /// num / den for a running item, else 0. An item whose den vanishes stops for that reason.
  template <class N, class D>
  constexpr auto nonzero_ratio(N const& num, D const& den, reason why) {
    state_ = space_.map(detail::blame_zero{why}, state_, den);
    return space_.map(detail::quotient{}, state_, num, den);
  }

  /// 1 for a running item, 0 for a stopped one: the step of a method without coefficients. `like` tells the type.
  template <class R>
  constexpr auto running(R const& like) {
    return space_.map(detail::running_factor{}, state_, like);
  }
  /// An item whose squared residual fell by less than four stops as stagnated.
  constexpr void expect_decrease(Real const& before, Real const& now) { state_ = space_.map(detail::blame_no_decrease{}, state_, before, now); }

  /// The reason that f(state, numbers...) gives is each item's state: for methods with laws of their own.
  template <class F, class... N>
  constexpr void judge(F const& f, N const&... numbers) {
    state_ = space_.map(f, state_, numbers...);
  }

  /// Begins with the items stopped that stopped in an earlier run of the method.
  constexpr void resume(state_scalar const& before) { state_ = space_.map(detail::resume{}, state_, before); }

  /// The state of each item, for the functors of a method.
  constexpr state_scalar const& state() const { return state_; }
  constexpr bool stopped_by_observer() const { return stopped_; }

  /// Ends the run: the only synchronisation. One progress per item; whoever still runs met the iteration limit.
  constexpr std::vector<progress> finish() {
    auto last = space_.map(detail::finish_progress{}, state_, iterations_, progress_);
    space_.finish();
    return outcome(space_.read(last));
  }

private:
  constexpr std::vector<progress> outcome(std::vector<progress> items) const {
    for (progress& p : items)
      if (p.state == reason::running) p.state = stopped_ ? reason::stopped : reason::iteration_limit;
    return items;
  }
  Space& space_;
  Rule rule_;
  Real bb_, own_;
  state_scalar state_;
  count_scalar iterations_;
  progress_scalar progress_;
  int taken_ = 0;
  bool stopped_ = false;
};

/// How a method makes its stop test, once it knows |b|^2: `auto stop = make_stop(space, bb)`.
struct stop_maker {
  stop_rule rule;
  template <class Space, class Real>
  stop_test<Space, Real> operator()(Space& space, Real const& bb) const {
    return {space, rule, bb};
  }
};

} // namespace sla
