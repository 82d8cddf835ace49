// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop around a method: run it, recompute the true residual in the same space, and run it again from x while that
// helps. It fills the report. Which operators, methods and spaces there are is not known here.
#pragma once

#include <ctime>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <sla/solve/report.hpp>
#include <sla/tensor/memory.hpp>

namespace sla::detail {

inline double seconds_now() {
  std::timespec t{};
  (void)std::timespec_get(&t, TIME_UTC);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

/// What becomes of an item after a run, from its true residual: a reason, or `running` if the method should run again.
struct verdict {
  double rtol, atol;
  reason unfinished;  ///< of items that still ran at the end
  bool first_of_guess;

  /// Squares of norms must keep their digits, also times rtol^2: outside of this range nothing is judged.
  static constexpr double least = 1e-280, most = 1e280;

  template <class R>
  SLA_HD reason operator()(reason state, R rr, R bb, R sum_of_b, R before) const {
    if (sum_of_b > 0 && sum_of_b - sum_of_b == 0 && !(double(bb) >= least && double(bb) <= most)) return reason::badly_scaled;
    if (!(rr - rr == 0)) return reason::not_a_number;
    if (double(rr) <= tolerance(double(bb), rtol, atol)) return reason::converged;
    if (state == reason::running) return unfinished;
    if (state != reason::converged && state != reason::breakdown && state != reason::stagnated) return state;
    if (first_of_guess || rr < before / 4) return reason::running;
    return state == reason::converged ? reason::stagnated : state;
  }
};
struct no_iterations {
  SLA_HD int operator()(reason) const { return 0; }
};

/// What one run of a method leaves for the driver.
template <class State>
struct run_record {
  std::optional<State> state;
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

/// A stop test whose items begin as the last verdict left them, and which records how the run ended.
template <class Space, class Real>
class recorded_stop : public stop_test<Space, Real> {
public:
  using base = stop_test<Space, Real>;
  using record = run_record<typename base::state_scalar>;

  recorded_stop(Space& space, stop_rule const& rule, Real const& bb, record& kept) : base(space, rule, bb), kept_(kept) {
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
/// One run of a method that improves x: whatever the method, the driver is compiled once.
template <class Space, class V>
using method_run = std::function<std::vector<progress>(recorded_stop_maker<Space, squared_norm_t<Space, V>> const&)>;

/// Solves a x = b from x by runs of a method and fills the report: items, runs, bytes, history. At most two synchronisations
/// per run: its end, and the true residual.
template <class Space, class A, class V>
void drive(Space& space, method_run<Space, V> const& run, stop_rule rule, A const& a, V const& b, V& x, bool guessed, bool history, report& out) {
  using Real = squared_norm_t<Space, V>;
  if (!(rule.rtol >= 0 && rule.atol >= 0))
    throw value_error(text(out.method, "{.rtol = ", rule.rtol, ", .atol = ", rule.atol, "}: tolerances are numbers from 0 on"));
  typename recorded_stop<Space, Real>::record last;
  std::optional<Real> before;
  if (history)
    rule.watch = [&out, watch = rule.watch](std::vector<progress> const& seen) {
      out.history.push_back(seen);
      return !watch || watch(seen);
    };
  for (bool again = true; again;) {
    auto items = run({rule, last});
    auto [rr, bb, sum_of_b] = fuse(space, squared_norm_of(b - a * x), squared_norm_of(b), norm1_of(b));
    reason const unfinished = last.stopped ? reason::stopped : reason::iteration_limit;
    last.state = space.map(verdict{rule.rtol, rule.atol, unfinished, guessed && out.runs == 0}, *last.state, rr, bb, sum_of_b, before ? *before : bb);
    auto const outcome = space.map(summarize{}, *last.state, space.map(no_iterations{}, *last.state), rr, bb);
    space.finish();
    auto const judged = space.read(outcome);
    before = rr;

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
