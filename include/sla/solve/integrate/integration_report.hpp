// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an integration in time did: `integration_report`, `integration_error`, which carries it, and `integration`, the states with the report.
#pragma once

#include <ostream>
#include <string>
#include <utility>

#include <sla/solve/nonlinear/nonlinear_report.hpp>

namespace sla {

/// What `integrate` did. The residual of a step is the norm of M (own u_new + ...) - h f, recomputed from u_new.
struct integration_report {
  std::string method;
  std::string jacobian;  ///< how derivatives of f were had
  std::string linear;    ///< what solved the linear systems, last
  std::string why;       ///< in words, where a step failed
  sla::reason state = sla::reason::running;
  index_t steps = 0, steps_asked = 0;
  double time = 0;  ///< that was reached
  double largest_residual = 0;
  index_t largest_residual_step = 0;  ///< counted from 1
  index_t newton_iterations = 0, evaluations = 0, jacobians = 0;
  index_t set_ups = 0;  ///< factorisations, or hierarchies
  index_t linear_solves = 0, linear_iterations = 0;
  index_t checkpoints = 0;     ///< states that a gradient stores at once, at most
  index_t repeated_steps = 0;  ///< that a gradient does again
  double seconds = 0;

  bool converged() const { return state == sla::reason::converged; }
  sla::reason reason() const { return state; }
};

/// One line: "theta: 40 of 40 steps to t = 0.1, largest true residual 2e-15 (step 1), 40 Newton iterations, 1 Jacobian set up, 40 linear solves by ldlt, 3 ms".
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, integration_report const& r) {
  out << r.method << ": " << r.steps << " of " << r.steps_asked << " steps, to t = " << r.time;
  auto const digits = out.precision(2);
  out << ", largest true residual " << r.largest_residual << " (step " << r.largest_residual_step << ")";
  out.precision(digits);
  out << ", " << r.newton_iterations << " Newton iterations, " << r.set_ups << " of " << r.jacobians << " Jacobians set up, " << r.linear_solves << " linear solves";
  if (!r.linear.empty()) out << " by " << r.linear;
  if (r.checkpoints > 0) out << "; a gradient stores " << r.checkpoints << " states and repeats " << r.repeated_steps << " steps";
  out << ", " << detail::seconds_text(r.seconds);
  if (!r.why.empty()) out << "; " << r.why;
  return out;
}

/// An integration of which a step failed.
class integration_error : public error {
public:
  template <class = void>
  explicit integration_error(integration_report r) : error(text("integrate: ", r)), report_(std::move(r)) {}
  integration_report const& report() const { return report_; }

private:
  integration_report report_;
};

/// What `integrate` returns: `auto [x, states, report] = integrate(f, u0, times, theta{});`
template <class X, class S>
struct integration {
  X x;       ///< at the last time
  S states;  ///< (n, times), a column for each time, u0 first
  integration_report report;
};

} // namespace sla
