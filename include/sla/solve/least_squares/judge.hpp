// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop around a method for least squares: run it, recompute A^H (b - A x) and what it is beside from x, and run it again from x while
// that helps. It fills the report. That of square systems is solve/driver/driver.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <sla/solve/driver/driver.hpp>
#include <sla/solve/least_squares/least_squares_problem.hpp>
#include <sla/solve/least_squares/least_squares_report.hpp>

namespace sla::detail {

/// The true numbers of an item, with its reason: `running` if the method should run again.
struct least_squares_item {
  reason state = reason::running;
  double figure = 0;
  least_squares_report::numbers numbers{};
};
/// What becomes of an item after a run.
struct judge_least_squares {
  double rtol, damping;
  double digits;       ///< the rounding unit of x
  reason unfinished;   ///< of items that still ran at the end
  bool first, linear;  ///< the first run? is there a linear term?

  /// Does a square lose digits, or its product with rtol^2? Not NaN, which is another reason.
  SLA_HD static bool leaves_range(double square) { return square < run_outcome::least || square > run_outcome::most; }

  template <class R>
  SLA_HD least_squares_item operator()(reason state, least_squares_item before, R ss, R rr, R xx, R bb, R cc, R aa, R sum_of_b, R sum_of_start) const {
    least_squares_item out;
    double const d2 = damping * damping, s = std::sqrt(double(ss)), r = std::sqrt(double(rr) + d2 * double(xx)), size = std::sqrt(double(aa) + d2);
    double const b = std::sqrt(double(bb)), x = std::sqrt(double(xx)), c = std::sqrt(double(cc));
    out.numbers = {std::sqrt(double(rr)), b, x, size, 0, false, false};
    double const beside = size * r > c ? size * r : c;
    double const most = 1 / std::sqrt(std::sqrt(digits));  // an x that is larger beside b is of a matrix near a singular one
    double const size2 = double(aa) + d2, b2 = double(bb), start = double(sum_of_start);
    bool const of_start = linear ? leaves_range(double(cc)) : start * start > run_outcome::most || leaves_range(size2) || leaves_range(size2 * b2);
    bool const badly_scaled = (sum_of_b > 0 && leaves_range(b2)) || (start > 0 && of_start);
    out.figure = s > 0 ? s / beside : s;
    bool const is_number = s + r + x + b + size - (s + r + x + b + size) == 0;
    bool const leaves_methods = !linear && leaves_range(size2 * size2 * b2);  // the square of A A^H b, of which methods make a step
    if (badly_scaled || (!is_number && leaves_methods)) {
      out.state = reason::badly_scaled;
    } else if (!is_number) {
      out.state = reason::not_a_number;
    } else if (s <= rtol * beside) {
      out.state = reason::converged;
    } else if (!linear && r <= rtol * b) {
      out.state = reason::converged, out.numbers.by_residual = true;
    } else if (!linear && s <= 8 * digits * size * (b + (size * x < most * b ? size * x : most * b))) {
      out.state = reason::converged, out.numbers.by_rounding = true;
    } else if (state == reason::running) {
      out.state = unfinished;
    } else if (state != reason::converged && state != reason::breakdown && state != reason::stagnated) {
      out.state = state;
    } else if (first || out.figure < before.figure / 4) {
      out.state = reason::running;
    } else {
      out.state = leaves_methods ? reason::badly_scaled : reason::stagnated;
    }
    return out;
  }
};
struct state_of_item {
  SLA_HD reason operator()(least_squares_item const& i) const { return i.state; }
};
struct blank_item {
  template <class R>
  SLA_HD least_squares_item operator()(R) const {
    return {};
  }
};
struct over_root {
  template <class R>
  SLA_HD R operator()(R vv) const {
    return vv > 0 ? 1 / std::sqrt(vv) : R(0);
  }
};

struct one_where_zero {
  template <class R>
  SLA_HD R operator()(R sum) const {
    return sum > 0 ? R(0) : R(1);
  }
};

/// |A|^2, or less: some steps of the power method from A^H b, or from the linear term; and the sum of the magnitudes of that. Where b is orthogonal to the range
/// they begin from x, which is rounding there. The vectors live until the space has finished.
template <class Space, class P, class V, class X>
auto squared_size_of(Space& space, P const& p, X const& x, V& left, X& v) {
  using sla::adjoint;
  auto [sum] = fuse(space, set(v, adjoint(p.a) * p.b), norm1_of(v));
  auto const is_lost = space.map(one_where_zero{}, sum);
  auto [vv] = fuse(space, set(v, v + is_lost * x), squared_norm_of(v));
  if (p.linear) std::tie(vv, sum) = fuse(space, set(v, *p.linear), squared_norm_of(v), norm1_of(v));
  auto size = vv;
  for (int step = 0; step < 5; ++step) {
    auto const factor = space.map(over_root{}, vv);
    auto [tt] = fuse(space, set(left, factor * (p.a * v)), squared_norm_of(left));
    size = tt;
    if (step == 4) break;
    auto const shrink = space.map(over_root{}, tt);
    auto [next] = fuse(space, set(v, shrink * (adjoint(p.a) * left)), squared_norm_of(v));
    vv = next;
  }
  return std::pair(size, sum);
}

/// A run of some method, whichever it is: the loop is compiled once.
template <class Space, class V>
struct run_of_method {
  using stop_maker = recorded_stop_maker<Space, squared_norm_t<Space, V>>;
  void const* context;
  least_squares_run (*function)(void const* context, stop_maker const&);
};

/// Improves x by runs of a method, and fills the report: items, their numbers, runs, bytes, history.
template <class Space, class A, class V, class X>
void drive_least_squares(Space& space, least_squares_problem<A, V, X> const& p, X& x, stop_rule rule, run_of_method<Space, V> const& run, bool history, dependent_t<least_squares_report, A>& out) {
  using sla::adjoint;
  using T = typename X::value_type;
  using Real = squared_norm_t<Space, V>;
  typename stop_test<Space, Real>::record last;
  auto const d2 = on_every_item(space, p.damping * p.damping);
  double const digits = double(std::numeric_limits<real_t<T>>::epsilon());
  double const asked = rule.rtol;
  if (history)
    rule.watch = [&out, watch = rule.watch](std::vector<progress> const& seen) {
      out.history.push_back(seen);
      return !watch || watch(seen);
    };
  V left = space.template like<typename V::value_type>(p.b);
  X direction = space.template like<T>(x);
  using Sizes = decltype(squared_size_of(space, p, x, left, direction));
  std::optional<Sizes> sizes;
  auto items = space.map(blank_item{}, on_every_item(space, 0.0));
  bool again = true;
  while (again) {
    last.bb.reset();
    auto const ended = run.function(run.context, {rule, last});
    if (!sizes) sizes = squared_size_of(space, p, x, left, direction);
    auto const& [aa, sum_of_start] = *sizes;
    auto [rr, xx, bb, sum_of_b] = fuse(space, set(left, accurate_residual(p.b, p.a * x)), squared_norm_of(left), squared_norm_of(x), squared_norm_of(p.b), norm1_of(p.b));
    auto ss = rr, cc = rr;
    if (p.linear) {
      auto [s2, c2] = fuse(space, squared_norm_of(adjoint(p.a) * left - d2 * x + *p.linear), squared_norm_of(*p.linear));
      ss = s2, cc = c2;
    } else {
      ss = std::get<0>(fuse(space, squared_norm_of(adjoint(p.a) * left - d2 * x)));
      cc = space.map(zero_number{}, rr);
    }
    reason const unfinished = last.stopped ? reason::stopped : reason::iteration_limit;
    items = space.map(judge_least_squares{asked, p.damping, digits, unfinished, out.runs == 0, p.linear != nullptr}, *last.state, items, ss, rr, xx, bb, cc, aa, sum_of_b, sum_of_start);
    last.state = space.map(state_of_item{}, items);
    space.finish();
    auto const outcomes = space.read(items);

    ++out.runs;
    out.bytes = (std::max)(out.bytes, last.bytes);
    out.items.resize(outcomes.size(), progress{reason::running, 0, 0});
    out.least_squares.resize(outcomes.size());
    int taken = 0;
    double reached = asked;
    again = false;
    for (std::size_t k = 0; k < outcomes.size(); ++k) {
      auto const& item = outcomes[k];
      auto const told = [k](std::vector<double> const& numbers) { return k < numbers.size() ? numbers[k] : 0.0; };
      double const condition = (std::max)({out.least_squares[k].condition, told(ended.condition), told(ended.size_of_inverse) * item.numbers.size_of_A});
      out.items[k] = {item.state, out.items[k].iterations + ended.items[k].iterations, item.figure};
      out.least_squares[k] = item.numbers;
      out.least_squares[k].condition = condition;
      taken = (std::max)(taken, ended.items[k].iterations);
      if (item.state == reason::running) again = true, reached = (std::max)(reached, item.figure);
    }
    rule.max_iterations -= taken;
    // What a preconditioned method sees is the figure in another norm: it is asked for as much more as was missing.
    rule.rtol = (std::max)(0.1 * double(rule.rtol) * asked / reached, 1e-30);
  }
  if constexpr (requires { space.account(out); }) space.account(out);
}

} // namespace sla::detail
