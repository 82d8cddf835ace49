// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop around a method: run it, recompute the true residual in the same space and in more digits, and run it again for what
// is left of b while that helps. It fills the report. Which operators, methods and spaces there are is not known here.
#pragma once

#include <algorithm>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sla/expr/sparse/residual.hpp>
#include <sla/solve/driver/world.hpp>
#include <sla/solve/precond/sweep.hpp>
#include <sla/solve/seam/report.hpp>
#include <sla/tensor/storage/memory.hpp>

namespace sla::detail {

inline double seconds_now() {
  std::timespec t{};
#ifdef CLOCK_MONOTONIC  // else the clock on the wall, which may be set back
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
#else
  (void)std::timespec_get(&t, TIME_UTC);
#endif
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

/// The square of a true residual, and of the magnitudes |b| + |A| |x| that it is a difference of: 0, where only an operator
/// of the user knows them.
SLA_HD inline double square_of_residual(double rr) { return rr; }
SLA_HD inline double square_of_residual(fixed_array<double, 2> const& rr) { return rr[0]; }
SLA_HD inline double square_of_size(double) { return 0; }
SLA_HD inline double square_of_size(fixed_array<double, 2> const& rr) { return rr[1]; }
/// Is the residual at most this part of the magnitudes that it is a difference of? Of those, the rounding of x alone leaves about a tenth of its
/// rounding unit, and eight units are what a method can promise.
struct is_rounding {
  double part;
  template <class S>
  SLA_HD int operator()(S const& residual) const {
    double const size = square_of_size(residual);
    return size - size == 0 && square_of_residual(residual) <= part * part * size;
  }
};
struct only_residual {
  template <class S>
  SLA_HD double operator()(S const& rr) const {
    return square_of_residual(rr);
  }
};

/// What becomes of an item after a run, from its true residual: a reason, or `running` if the method should run again.
struct run_outcome {
  double rtol, atol;
  double digits;      ///< the rounding unit of x
  reason unfinished;  ///< of items that still ran at the end
  bool first_of_guess;

  /// Squares of norms must keep their digits, also times rtol^2: outside of this range nothing is judged.
  static constexpr double least = 1e-280, most = 1e280;

  template <class S, class R>
  SLA_HD reason operator()(reason state, S const& residual, R bb, R sum_of_b, R before) const {
    double const rr = square_of_residual(residual), size = square_of_size(residual), b2 = double(bb);
    double const rounding = twofold_rounding * std::sqrt(size), r = std::sqrt(rr) + rounding;
    if (atol * atol >= least && r <= atol) return reason::converged;
    if (sum_of_b > 0 && !(b2 >= least && b2 <= most)) return reason::badly_scaled;
    if (!(rr - rr == 0)) return reason::not_a_number;
    // What rounding may have hidden counts, unless it is far below the digits of b: 0 can be asked for.
    bool const sure = r * r <= tolerance(b2, rtol, atol) || rounding * rounding <= 1e-40 * b2;
    if (rr <= tolerance(b2, rtol, atol) && sure) return reason::converged;
    if (state == reason::running) return unfinished;
    // Denominators that vanish there say nothing about A.
    if (is_rounding{8 * digits}(residual) && (state == reason::breakdown || state == reason::indefinite_matrix || state == reason::indefinite_preconditioner)) state = reason::stagnated;
    if (state != reason::converged && state != reason::breakdown && state != reason::stagnated) return state;
    if (first_of_guess || rr < before / 4) return reason::running;
    return state == reason::converged ? reason::stagnated : state;
  }
};
/// 0 for an item without a right-hand side.
struct nonzero_factor {
  template <class R>
  SLA_HD R operator()(R sum_of_b) const {
    return sum_of_b > 0 ? R(1) : R(0);
  }
};
/// Of a badly scaled item, whose squares are out of range.
struct ratio_of_sums {
  template <class R>
  SLA_HD double operator()(R sum_of_r, R sum_of_b) const {
    return double(sum_of_r) / double(sum_of_b);
  }
};
struct no_iterations {
  SLA_HD int operator()(reason) const { return 0; }
};

/// How the driver has a method make its stop test.
template <class Space, class Real>
struct recorded_stop_maker {
  stop_rule const& rule;
  typename stop_test<Space, Real>::record& runs;
  stop_test<Space, Real> operator()(Space& space, Real const& bb) const { return {space, rule, bb, runs}; }
};
template <class Space, class V>
using squared_norm_t = std::remove_cvref_t<decltype(std::get<0>(fuse(std::declval<Space&>(), squared_norm_of(std::declval<V const&>()))))>;
template <class Space, class V>
using stop_of_run = recorded_stop_maker<Space, squared_norm_t<Space, V>>;
/// What the driver wants to know of a method that it runs, whichever it is: the driver is compiled once.
template <class Space, class A, class V, class X>
struct method_of_call {
  char const* name;
  stop_rule rule;
  void const* context;            ///< of the functions below: the method, A and M
  X (*zero)(A const&, V const&);  ///< x to begin with
  std::vector<progress> (*improve)(void const* context, Space&, stop_of_run<Space, V> const&, V const& b, X& x) = nullptr;  ///< x, by a run of the method
  std::string (*asymmetry)(Space&, A const&, V const&, X const&, char const*) = nullptr;  ///< null for methods that take any A
  void (*name_failures)(void const* context, report&) = nullptr;                          ///< null where no item can fail by itself
};

/// Solves a x = b from x by runs of a method and fills the report: items, runs, bytes, history. Later runs solve for the
/// correction of x from the accurate residual: iterative refinement (Higham, Accuracy and Stability of Numerical Algorithms, 12).
/// At most two synchronisations per run: its end, and the true residual.
/// M: what it is judged by.
template <class M, class Space, class A, class V, class X>
void drive(Space& space, method_of_call<Space, A, V, X> const& method, A const& a, V const& b, X& x, bool guessed, bool history, report& out) {
  using Measure = typename decltype(whole_measure<M, Space, A, V, X>())::type;
  using Real = squared_norm_t<Space, V>;
  using T = typename V::value_type;
  stop_rule rule = method.rule;
  if (!rule.watch) rule.watch = default_rule().watch;  // that of `with`
  typename stop_test<Space, Real>::record last;
  std::optional<Real> before;
  measure_room<V, X> room;
  std::optional<V>& left = room.of_range;
  std::optional<X> correction;
  if (history)
    rule.watch = [&out, watch = rule.watch](std::vector<progress> const& seen) {
      out.history.push_back(seen);
      return !watch || watch(seen);
    };
  if (guessed) {  // of b = 0 the solution is known, and no residual could be small beside b
    auto [sum_of_b] = fuse(space, norm1_of(b));
    auto const kept = space.map(nonzero_factor{}, sum_of_b);
    fuse(space, set(x, kept * x));
  }
  for (bool again = true; again;) {
    std::vector<progress> items;
    if (out.runs == 0) {
      items = method.improve(method.context, space, {rule, last}, b, x);
    } else {
      if (!left) left.emplace(space.template like<T>(b));
      correction.emplace(method.zero(a, b));
      fuse(space, set(*left, accurate_residual(b, a * x)));
      items = method.improve(method.context, space, {rule, last}, *left, *correction);
      fuse(space, set(x, x + *correction));
    }
    if (!last.state || items.empty())
      throw value_error(text("solve(A, b, method): the run of ", method.name, " returned without the outcome() of its stop test: return make_stop(space, bb).outcome(), also where there is nothing to do"));
    auto [residual, bb, sum_of_b] = Measure::numbers(space, a, b, x, room);
    auto const rr = space.map(only_residual{}, residual);
    reason const unfinished = last.stopped ? reason::stopped : reason::iteration_limit;
    double const digits = double(std::numeric_limits<real_t<typename X::value_type>>::epsilon());
    last.state = space.map(run_outcome{rule.rtol, rule.atol, digits, unfinished, guessed && out.runs == 0}, *last.state, residual, bb, sum_of_b, before ? *before : bb);
    auto const outcome = space.map(summarize{}, *last.state, space.map(no_iterations{}, *last.state), rr, bb);
    space.finish();
    auto outcomes = space.read(outcome);
    before = rr;
    last.bb = bb;
    if (std::any_of(outcomes.begin(), outcomes.end(), [](progress const& p) { return p.state == reason::badly_scaled; })) {
      auto [sum_of_r] = Measure::sum(space, a, b, x, room);
      auto const ratio = space.map(ratio_of_sums{}, sum_of_r, sum_of_b);
      space.finish();
      auto const ratios = space.read(ratio);
      for (std::size_t k = 0; k < outcomes.size(); ++k)
        if (outcomes[k].state == reason::badly_scaled) outcomes[k].residual = ratios[k];
    }
    if (std::any_of(outcomes.begin(), outcomes.end(), [](progress const& p) { return p.state == reason::stagnated; })) {
      auto const is_rounded = space.map(is_rounding{digits}, residual);
      space.finish();
      auto const all = space.read(is_rounded);
      out.limited_by_rounding = true;
      for (std::size_t k = 0; k < outcomes.size(); ++k)
        if (outcomes[k].state != reason::converged && !(outcomes[k].state == reason::stagnated && all[k])) out.limited_by_rounding = false;
    }

    ++out.runs;
    out.bytes = (std::max)(out.bytes, last.bytes);
    out.items.resize(outcomes.size(), progress{reason::running, 0, 0});
    int taken = 0;
    again = false;
    for (std::size_t k = 0; k < outcomes.size(); ++k) {
      out.items[k].iterations += items[k].iterations;
      out.items[k].state = outcomes[k].state;
      out.items[k].residual = outcomes[k].residual;
      taken = (std::max)(taken, items[k].iterations);
      again = again || outcomes[k].state == reason::running;
    }
    rule.max_iterations -= taken;
  }
  if constexpr (requires { space.account(out); }) space.account(out);
}

} // namespace sla::detail
