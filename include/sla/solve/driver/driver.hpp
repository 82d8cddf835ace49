// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop around a method: run it, recompute the true residual in the same space and in more digits, and run it again for what
// is left of b while that helps. It fills the report. Which operators, methods and spaces there are is not known here.
#pragma once

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <sla/expr/sparse/residual.hpp>
#include <sla/solve/driver/world.hpp>
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
    // No method can promise less than a rounding of each product: denominators that vanish there say nothing about A.
    bool const exhausted = size - size == 0 && rr <= 64 * digits * digits * size;
    if (exhausted && (state == reason::breakdown || state == reason::indefinite_matrix || state == reason::indefinite_preconditioner)) state = reason::stagnated;
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

/// What one run of a method leaves for the driver, and the |b|^2 that later runs are judged by.
template <class State, class Real>
struct run_record {
  std::optional<State> state;
  std::optional<Real> bb;
  std::vector<progress> items;
  std::size_t bytes = 0;
  bool stopped = false;
};

/// Bytes that tensors hold in the memory of a space; memories other than the host's have a memory_in_use of their own.
template <class Space>
std::size_t bytes_in_use() {
  if constexpr (requires { memory_in_use(typename Space::memory_type{}); })
    return memory_in_use(typename Space::memory_type{}).now;
  else
    return memory_in_use().now;
}

/// A stop test whose items begin as the outcome of the last run left them, and which records how the run ended.
template <class Space, class Real>
class recorded_stop : public stop_test<Space, Real> {
public:
  using base = stop_test<Space, Real>;
  using record = run_record<typename base::state_scalar, Real>;

  recorded_stop(Space& space, stop_rule const& rule, Real const& bb, record& kept) : base(space, rule, kept.bb ? *kept.bb : bb, bb), kept_(kept) {
    if (kept_.state) this->resume(*kept_.state);
  }
  auto finish() {
    kept_.bytes = bytes_in_use<Space>();  // the method's work vectors are still there
    kept_.state = this->state();
    kept_.stopped = this->stopped_by_observer();
    return base::finish();
  }

private:
  record& kept_;
};

/// How the driver has a method make its stop test.
template <class Space, class Real>
struct recorded_stop_maker {
  stop_rule const& rule;
  typename recorded_stop<Space, Real>::record& kept;
  recorded_stop<Space, Real> operator()(Space& space, Real const& bb) const { return {space, rule, bb, kept}; }
};
template <class Space, class V>
using squared_norm_t = std::remove_cvref_t<decltype(std::get<0>(fuse(std::declval<Space&>(), squared_norm_of(std::declval<V const&>()))))>;
/// One run of a method that improves x in a x = b: whatever the method, the driver is compiled once.
template <class Space, class V, class X = V>
using method_run = std::function<std::vector<progress>(recorded_stop_maker<Space, squared_norm_t<Space, V>> const&, V const& b, X& x)>;

/// Solves a x = b from x by runs of a method and fills the report: items, runs, bytes, history. Later runs solve for the
/// correction of x from the accurate residual: iterative refinement (Higham, Accuracy and Stability of Numerical Algorithms, 12).
/// At most two synchronisations per run: its end, and the true residual.
/// Measure: what it is judged by. zero(a, b): a correction of x to begin with.
template <class Measure, class Space, class A, class V, class X>
void drive(Space& space, method_run<Space, V, X> const& run, stop_rule rule, A const& a, V const& b, X& x, X (*zero)(A const&, V const&), bool guessed, bool history, report& out) {
  using Real = squared_norm_t<Space, V>;
  using T = typename V::value_type;
  typename recorded_stop<Space, Real>::record last;
  std::optional<Real> before;
  std::optional<V> left;
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
      items = run({rule, last}, b, x);
    } else {
      if (!left) left.emplace(space.template like<T>(b));
      correction.emplace(zero(a, b));
      fuse(space, set(*left, accurate_residual(b, a * x)));
      items = run({rule, last}, *left, *correction);
      fuse(space, set(x, x + *correction));
    }
    auto [residual, bb, sum_of_b] = Measure::numbers(space, a, b, x, left);
    auto const rr = space.map(only_residual{}, residual);
    reason const unfinished = last.stopped ? reason::stopped : reason::iteration_limit;
    double const digits = double(std::numeric_limits<real_t<T>>::epsilon());
    last.state = space.map(run_outcome{rule.rtol, rule.atol, digits, unfinished, guessed && out.runs == 0}, *last.state, residual, bb, sum_of_b, before ? *before : bb);
    auto const outcome = space.map(summarize{}, *last.state, space.map(no_iterations{}, *last.state), rr, bb);
    space.finish();
    auto judged = space.read(outcome);
    before = rr;
    last.bb = bb;
    if (std::any_of(judged.begin(), judged.end(), [](progress const& p) { return p.state == reason::badly_scaled; })) {
      auto [sum_of_r] = Measure::sum(space, a, b, x, left);
      auto const ratio = space.map(ratio_of_sums{}, sum_of_r, sum_of_b);
      space.finish();
      auto const ratios = space.read(ratio);
      for (std::size_t k = 0; k < judged.size(); ++k)
        if (judged[k].state == reason::badly_scaled) judged[k].residual = ratios[k];
    }

    ++out.runs;
    out.bytes = (std::max)(out.bytes, last.bytes);
    out.items.resize(judged.size(), progress{reason::running, 0, 0});
    int taken = 0;
    again = false;
    for (std::size_t k = 0; k < judged.size(); ++k) {
      out.items[k].iterations += items[k].iterations;
      out.items[k].state = judged[k].state;
      out.items[k].residual = judged[k].residual;
      taken = (std::max)(taken, items[k].iterations);
      again = again || judged[k].state == reason::running;
    }
    rule.max_iterations -= taken;
  }
  if constexpr (requires { space.account(out); }) space.account(out);
}

} // namespace sla::detail
