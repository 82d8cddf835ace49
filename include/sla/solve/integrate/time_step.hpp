// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One step in time: the methods `theta` and `bdf2` as weights of one equation, its residual, and its solution by Newton's method with a
// Jacobian that is kept from step to step. The march over the steps is in solve/integrate/integration.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sla/solve/integrate/integration_report.hpp>
#include <sla/solve/nonlinear/nonlinear_solve.hpp>

namespace sla {

/// The M of M u' = f(u, t), a sparse tensor, which may be traced: `integrate(f, u0, times, theta{}, mass(M))`. It need not be regular.
template <class A>
struct mass {
  A value;
  explicit mass(A m) : value(std::move(m)) {}
};
template <class A>
mass(A) -> mass<A>;

namespace detail {
/// The M that is not given.
struct no_mass {};
template <class X>
struct is_mass : std::false_type {};
template <class A>
struct is_mass<mass<A>> : std::true_type {};

/// M (own u_next + last u + before u_before) = ahead f(u_next, t_next) + behind f(u, t).
struct step_weights {
  double own = 1, last = -1, before = 0, ahead = 0, behind = 0, t_next = 0, t = 0;
};

/// The steps: `steps` equal ones between each time and the next.
class time_grid {
public:
  /// Errors: value_error.
  template <class = void>
  time_grid(std::vector<double> times, int steps) : times_(std::move(times)), steps_(steps) {
    if (times_.size() < 2) throw value_error(text("integrate(f, u0, times, ...): times has ", times_.size(), " elements; give at least two, the first is that of u0"));
    if (steps < 1) throw value_error(text("integrate(f, u0, times, ...): {.steps = ", steps, "}: at least 1 step leads from a time to the next"));
    for (std::size_t n = 0; n < times_.size(); ++n)
      if (!std::isfinite(times_[n]) || (n > 0 && !(times_[n] > times_[n - 1])))
        throw value_error(text("integrate(f, u0, times, ...): times[", n, "] = ", times_[n], n > 0 ? text(" comes after ", times_[n - 1]) : std::string(), "; times are finite and ascend"));
    for (std::size_t n = 1; n < times_.size(); ++n) {
      double const h = (times_[n] - times_[n - 1]) / steps, rounded = 8 * std::numeric_limits<double>::epsilon() * (std::max)(std::abs(times_[n]), std::abs(times_[n - 1])) / steps;
      lengths_.push_back(n > 1 && std::abs(h - lengths_.back()) <= rounded ? lengths_.back() : h);  // what is constant but for rounding has one Jacobian
    }
  }
  index_t steps() const { return index_t(lengths_.size()) * steps_; }
  index_t outputs() const { return index_t(times_.size()); }
  /// Of the k-th step.
  double length(index_t k) const { return lengths_[std::size_t(k / steps_)]; }
  /// Where the k-th step begins; that of steps() is the end.
  double time(index_t k) const { return k % steps_ == 0 ? times_[std::size_t(k / steps_)] : times_[std::size_t(k / steps_)] + double(k % steps_) * length(k); }
  /// Which of the times it is where the k-th step begins, or -1.
  index_t output(index_t k) const { return k % steps_ == 0 ? k / steps_ : -1; }
  template <class = void>
  std::string name(index_t k) const { return text("step ", k + 1, " of ", steps(), ", from t = ", time(k), " to ", time(k + 1)); }

private:
  std::vector<double> times_, lengths_;
  index_t steps_;
};
} // namespace detail

/// M (u_next - u) = h (implicitness f(u_next) + (1 - implicitness) f(u)): implicit Euler with 1, of order 1 and L-stable; the trapezoidal rule
/// (Crank-Nicolson) with 1/2, of order 2 and A-stable; explicit Euler with 0. `steps` equal ones lead from each time to the next; the equation of each is solved until
/// its residual is rtol of the first, or rounding; a gradient stores `checkpoints` states, or, of 0, as many as have each step done three times at most.
/// Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), chapter IV.3.
struct theta {
  double implicitness = 0.5;
  int steps = 1, checkpoints = 0;
  double rtol = 1e-10;
  int max_iterations = 50;
  double linear_rtol = 1e-12;  ///< of the automatic choice
  given_pattern pattern = {};

  using integration_method_tag = void;
  static constexpr char const* name = "theta";
  static constexpr bool reads_before = false;

  /// Errors: value_error.
  template <class Grid>
  void check(Grid const&) const {
    if (!(implicitness >= 0 && implicitness <= 1)) throw value_error(text("theta{.implicitness = ", implicitness, "}: it is from 0 to 1; 0.5 is the trapezoidal rule, 1 implicit Euler"));
  }
  detail::step_weights weights(detail::time_grid const& grid, index_t k) const {
    double const h = grid.length(k);
    return {.ahead = h * implicitness, .behind = h * (1 - implicitness), .t_next = grid.time(k + 1), .t = grid.time(k)};
  }
};

/// The backward differentiation formula of order 2, L-stable, with the weights of unequal steps; its first step is one of implicit Euler.
/// Options as of theta. Law: a step is at most 1 + sqrt(2) times the one before, within which it is stable.
/// Source: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I (1993), chapter III.5.
struct bdf2 {
  int steps = 1, checkpoints = 0;
  double rtol = 1e-10;
  int max_iterations = 50;
  double linear_rtol = 1e-12;
  given_pattern pattern = {};

  using integration_method_tag = void;
  static constexpr char const* name = "bdf2";
  static constexpr bool reads_before = true;

  template <class Grid>
  void check(Grid const& grid) const {
    for (index_t k = 1; k < grid.steps(); ++k)
      if (double const ratio = grid.length(k) / grid.length(k - 1); ratio > 1 + std::sqrt(2.0))
        throw value_error(text("bdf2{}: ", grid.name(k), ", is ", ratio, " times as long as the step before; it is stable up to 2.41: let the times spread more slowly, or take theta{}"));
  }
  detail::step_weights weights(detail::time_grid const& grid, index_t k) const {
    double const h = grid.length(k), t_next = grid.time(k + 1), t = grid.time(k);
    if (k == 0) return {.ahead = h, .t_next = t_next, .t = t};
    double const ratio = h / grid.length(k - 1);
    return {.own = (1 + 2 * ratio) / (1 + ratio), .last = -(1 + ratio), .before = ratio * ratio / (1 + ratio), .ahead = h, .t_next = t_next, .t = t};
  }
};

/// Options of a method of `integrate`.
template <class M>
concept IntegrationMethod = requires { typename M::integration_method_tag; };

namespace detail {
/// The equation of a step, of plain and traced values alike.
template <class F>
struct step_residual {
  F f;
  step_weights w;

  /// The terms of u_next.
  template <class V, class M, class... P>
  auto next(V const& v, M const& m, P const&... p) const {
    return eval(number(v, w.own) * times_mass(m, v) - number(v, w.ahead) * rate(v, w.t_next, p...));
  }
  /// The others.
  template <class L, class B, class M, class... P>
  auto known(L const& last, B const& before, M const& m, P const&... p) const {
    auto moved = eval(number(last, w.last) * last);
    if (w.before != 0) moved = eval(moved + number(last, w.before) * before);
    auto r = times_mass(m, moved);
    if (w.behind != 0) r = eval(r - number(last, w.behind) * rate(last, w.t, p...));
    return r;
  }
  template <class V, class L, class B, class M, class... P>
  auto operator()(V const& v, L const& last, B const& before, M const& m, P const&... p) const {
    return eval(next(v, m, p...) + known(last, before, m, p...));
  }

private:
  template <class V>
  static auto number(V const& v, double a) {
    return common_number(plain_value(v), a);
  }
  template <class V, class... P>
  auto rate(V const& v, double t, P const&... p) const {
    auto y = eval(f(v, t, p...));
    index_t const given = own_size(plain_value(y)), wanted = own_size(plain_value(v));
    if (given != wanted) throw shape_error(text("integrate(f, u0, times, ...): f(u, t) has ", given, " elements, and u ", wanted, "; f gives one for each"));
    return y;
  }
  template <class M, class V>
  static auto times_mass(M const& m, V const& v) {
    if constexpr (std::same_as<M, no_mass>)
      return eval(v);
    else
      return eval(m * v);
  }
};

/// A state between two steps; `before` is empty where the method does not read it.
template <class V>
struct time_state {
  V u, before;
};

/// The linear solves of the steps. As newton sees it, a Jacobian that is stored is set up anew where it is of another step length, or where the last iteration
/// did not take nine tenths of the residual away; of an f that is linear it is set up once.
template <class Solver, class V>
class kept_jacobian {
  static constexpr bool is_stored = requires(Solver const& s) { s.jacobian(); };

public:
  explicit kept_jacobian(std::shared_ptr<Solver> solver) : solver_(std::move(solver)) {}
  bool is_for(step_weights const& w) const { return is_stored && own_ == w.own && ahead_ == w.ahead; }
  /// Exactly that at u.
  template <class F>
  void set(step_weights const& w, F const& f, V const& u, nonlinear_report& report) {
    own_ = w.own, ahead_ = w.ahead;
    renew(f, u, report);
  }
  template <class F>
  void linearize(F const& f, V const& u, nonlinear_report& report) {
    auto const& h = report.history;
    if (!is_stored || always_ || (h.size() > 1 && h.back() > 0.1 * h[h.size() - 2])) renew(f, u, report);
  }
  void renew_always(bool on) { always_ = on; }
  template <class R>
  auto solve(R const& r, nonlinear_report& report) const {
    return solver_->solve(r, report);
  }
  V solve(V const& r) const { return solver_->solve(r); }
  V solve_adjoint(V const& g) const { return solver_->solve_adjoint(g); }
  index_t set_ups() const { return set_ups_; }
  /// What rounding leaves of the residual at v, by a bound of |J|, or by a derivative.
  template <class Problem>
  double rounding(Problem const& problem, V const& v, V const& known) const {
    double const unit = double(std::numeric_limits<real_t<typename V::value_type>>::epsilon());
    return 10 * ((is_stored ? unit * scale_ * problem.norm(v) : problem.rounding_at(v)) + unit * problem.norm(known));
  }

private:
  template <class F>
  void renew(F const& f, V const& u, nonlinear_report& report) {
    if constexpr (!is_stored) {
      solver_->linearize(f, u, report);
    } else {
      auto const& J = solver_->jacobian_at(f, u, report);
      if (index_t(values_.size()) == J.values().size() && std::equal(values_.begin(), values_.end(), J.values().data())) return;
      solver_->set_up(J);
      values_.assign(J.values().data(), J.values().data() + J.values().size());
      ++set_ups_;
      scale_ = 0;
      for (index_t i = 0; i < J.rows(); ++i) {
        double sum = 0;
        J.pattern().view().for_row(i, [&](index_t s, index_t) { sum += double(std::abs(J.values()[s])); });
        scale_ = (std::max)(scale_, sum);
      }
    }
  }
  std::shared_ptr<Solver> solver_;
  std::vector<typename V::value_type> values_;  // those that are set up
  double own_ = 0, ahead_ = 0, scale_ = 0;
  index_t set_ups_ = 0;
  bool always_ = false;
};

/// A step's equation as newton sees it.
template <class F, class V, class Space>
struct step_problem : nonlinear_problem<F, V, Space> {
  using nonlinear_problem<F, V, Space>::nonlinear_problem;
  residual_at<V> first_value(V const& u) const {
    auto at = this->value(u);
    if (!std::isfinite(at.norm)) {
      std::string const words = not_finite_in(at.r);
      throw value_error(words.empty() ? text("the change of u in the step is ", at.norm, ": scale u, or take shorter steps, so that it and its square are numbers")
                                      : text("f(u, t) is no finite number where the step begins, whose equation has ", words));
    }
    return at;
  }
};

/// The march: f, the steps, and what is kept over them.
template <class F, class V, class Method, class On, class Solver>
class time_stepper {
public:
  using residual_type = step_residual<F>;
  using state = time_state<V>;
  static constexpr bool reads_before = Method::reads_before;

  time_stepper(F f, time_grid grid, Method method, On on, std::shared_ptr<Solver> solver)
      : f_(std::move(f)), grid_(std::move(grid)), method_(std::move(method)), on_(std::move(on)), kept_(std::move(solver)) {}
  time_grid const& grid() const { return grid_; }
  residual_type residual(index_t k) const { return {f_, method_.weights(grid_, k)}; }
  state begin(V const& u0) const { return {u0, no_elements_of(u0)}; }

  /// The state after step k. Errors: value_error, if f is no number; integration_error, if the equation is not solved.
  template <class M, class... P>
  state advance(index_t k, state const& s, integration_report& total, M const& m, P const&... p) {
    auto const R = residual(k);
    V const known = R.known(s.u, s.before, m, p...);
    auto const of_next = [&](auto const& v) { return eval(R.next(v, m, p...) + known); };
    V v = s.u;
    nonlinear_report report;
    try {
      auto const run = [&](bool always) {
        report = nonlinear_report{};
        report.method = newton::name;
        auto space = space_of_unknowns(v, on_);
        step_problem<std::remove_const_t<decltype(of_next)>, V, decltype(space)> const problem(of_next, report, space);
        problem.first_value(v);
        if (!kept_.is_for(R.w)) kept_.set(R.w, of_next, v, report);
        kept_.renew_always(always);
        newton{.rtol = method_.rtol, .atol = kept_.rounding(problem, v, known), .max_iterations = method_.max_iterations}.run(problem, kept_, v);
        add(total, report);
      };
      run(false);
      if (!report.converged()) v = s.u, run(true);  // a Jacobian of a step before may have led astray
    } catch (value_error const& e) {
      throw value_error(text("integrate(f, u0, times, ", Method::name, "{}): ", grid_.name(k), ": ", e.what()));
    }
    total.set_ups = kept_.set_ups();
    if (!report.converged()) {
      total.state = report.state;
      total.why = text(grid_.name(k), " failed: ", report);
      throw integration_error(total);
    }
    if (double const r = report.true_residual; r >= total.largest_residual) total.largest_residual = r, total.largest_residual_step = k + 1;
    return {std::move(v), Method::reads_before ? s.u : s.before};
  }
  /// Ready to solve with the derivative of the residual of step k to u_next, exactly. What is given outlives the solves.
  template <class M, class... P>
  auto const& linearized(index_t k, V const& next, M const& m, P const&... p) {
    auto const R = residual(k);
    nonlinear_report report;
    kept_.set(R.w, [R, &m, &p...](auto const& v) { return R.next(v, m, p...); }, next, report);
    return kept_;
  }

private:
  static void add(integration_report& total, nonlinear_report const& r) {
    total.newton_iterations += r.steps, total.evaluations += r.evaluations, total.jacobians += r.jacobians;
    total.linear_solves += r.linear_solves, total.linear_iterations += r.linear_iterations;
    if (!r.jacobian.empty()) total.jacobian = r.jacobian;
    if (!r.linear.empty()) total.linear = r.linear;
  }
  F f_;
  time_grid grid_;
  Method method_;
  On on_;
  kept_jacobian<Solver, V> kept_;
};
} // namespace detail

} // namespace sla
