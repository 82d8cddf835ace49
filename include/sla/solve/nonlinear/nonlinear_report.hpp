// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a nonlinear solve did: `nonlinear_report`, `nonlinear_error`, which carries it, and `nonlinear_solution`, the pair of x and report.
// Reasons are those of linear solves (solve/seam/rule.hpp). Room: coloring, dependence, jacobian; this; the methods; the calls.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <sla/solve/seam/report.hpp>

namespace sla {

/// What a nonlinear solve did. The residual is |F(x)|, in the Euclidean norm over all elements, recomputed from x at the end; of bounds it is
/// that of complementarity (solve/nonlinear/bounded.hpp).
struct nonlinear_report {
  char const* call = "nonlinear_solve";  ///< the function that was called
  std::string method;
  char const* measure = "residual";  ///< what is to be small
  std::string jacobian;  ///< how derivatives of F were had
  std::string linear;    ///< what solved the linear systems, last
  std::string beyond;    ///< what F is at the end of a longer step than the last one, if no number
  std::string why;       ///< in words, where it did not converge, or no further than to rounding
  sla::reason state = sla::reason::running;
  double true_residual = 0, first_residual = 0;  ///< at x, and where it began
  double rtol = 0, atol = 0;
  int steps = 0;
  int evaluations = 0;      ///< of F
  int jacobians = 0;        ///< sparse ones
  int derivatives = 0;      ///< of F in one direction
  int linear_solves = 0, linear_iterations = 0;
  int bound_lower = 0, bound_upper = 0;  ///< elements of x that are held at a bound
  std::vector<double> history;       ///< the residual where each step begins, and at the end
  std::vector<double> step_lengths;  ///< of each step: the part of the step that the method proposed, or dt
  bool in_time = false;              ///< step_lengths are dt
  double seconds = 0;

  bool converged() const { return state == sla::reason::converged; }
  sla::reason reason() const { return state; }
  int iterations() const { return steps; }
  double residual() const { return true_residual; }
};

/// One line: "newton: converged in 4 iterations, true residual 3e-12 of 0.05 (asked 1e-10), 5 F, 4 Jacobians of 5 colours, 4 linear solves by cg + amg, 21 ms".
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, nonlinear_report const& r) {
  auto const counted = [&](int n, char const* one, char const* many) -> auto& { return out << n << ' ' << (n == 1 ? one : many); };
  out << r.method << ": " << to_string(r.state) << (r.converged() ? " in " : " after ");
  auto const digits = out.precision(2);
  counted(r.steps, "iteration", "iterations") << ", true " << r.measure << ' ' << r.true_residual << " of " << r.first_residual << " (asked " << r.rtol;
  if (r.atol > 0) out << ", or " << r.atol;
  out << "), ";
  counted(r.evaluations, "value of F", "values of F");
  if (r.jacobians > 0) counted((out << ", ", r.jacobians), "Jacobian", "Jacobians");
  if (!r.jacobian.empty()) out << (r.jacobians > 0 ? " by " : ", ") << r.jacobian;
  if (r.linear_solves > 0) {
    counted((out << ", ", r.linear_solves), "linear solve", "linear solves") << " by " << r.linear;
    if (r.linear_iterations > 0) counted((out << " in ", r.linear_iterations), "iteration", "iterations");
  }
  if (r.bound_lower + r.bound_upper > 0) out << ", at their lower bounds " << r.bound_lower << ", at their upper " << r.bound_upper;
  double shortest = 1;
  for (double a : r.step_lengths) shortest = a < shortest ? a : shortest;
  if (r.in_time && !r.step_lengths.empty())
    out << ", dt from " << r.step_lengths.front() << " to " << r.step_lengths.back();
  else if (!r.step_lengths.empty())
    out << ", " << (shortest < 1 ? text("shortest step ", shortest) : std::string("full steps"));
  out.precision(digits);
  out << ", " << detail::seconds_text(r.seconds);
  if (!r.why.empty()) out << "; " << r.why;
  return out;
}

/// A nonlinear solve that did not reach its tolerance.
class nonlinear_error : public error {
public:
  template <class = void>
  explicit nonlinear_error(nonlinear_report r) : error(text(r.call, ": ", r)), report_(std::move(r)) {}
  nonlinear_report const& report() const { return report_; }

private:
  nonlinear_report report_;
};

/// What `nonlinear_solve` returns: `auto [x, report] = nonlinear_solve(F, u0, newton{});`
template <class X>
struct nonlinear_solution {
  X x;
  nonlinear_report report;
};

} // namespace sla
