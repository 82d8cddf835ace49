// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the methods for F(u) = 0 share: F with its parameters and counters (`nonlinear_problem`), the linear solves with its Jacobian,
// preconditioners that are made of it, and the step along a direction.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/nonlinear/jacobian.hpp>
#include <sla/solve/nonlinear/nonlinear_report.hpp>

namespace sla {

/// Options of a method for F(u) = 0.
template <class M>
concept NonlinearMethod = requires { typename M::nonlinear_method_tag; };

/// A pattern that is given: that of a sparse tensor, `newton{.pattern = P}`. None: it is found.
class given_pattern {
public:
  given_pattern() = default;
  template <class T, class S, class F>
  given_pattern(sparse_tensor<T, S, F> const& A) : plan_(std::make_shared<jacobian_plan const>(A)) {}  // NOLINT: converts by intent
  std::shared_ptr<jacobian_plan const> const& plan() const { return plan_; }

private:
  std::shared_ptr<jacobian_plan const> plan_;
};

/// A preconditioner of any kind, `anderson{.precondition = amg{}}`, which is set up for the Jacobian where the iteration begins; a linear_operator<double>
/// stands for itself, and asks for no Jacobian. None: the identity. Law: the Jacobian is real; it is set up in double.
class jacobian_preconditioner {
  using operator_type = linear_operator<double>;

public:
  jacobian_preconditioner() = default;
  jacobian_preconditioner(operator_type m) : fixed_(std::make_shared<operator_type const>(std::move(m))), name_(operator_type::name) {}  // NOLINT: converts by intent
  template <PreconditionerOptions P>
  jacobian_preconditioner(P const& p) : make_([p](sparse_tensor<double> const& J) { return applied(p.setup(J), J.rows()); }) {  // NOLINT
    if constexpr (requires { P::name; }) name_ = P::name;
  }
  explicit operator bool() const { return make_ || fixed_; }
  std::string const& name() const { return name_; }
  bool needs_jacobian() const { return bool(make_); }
  /// Law: it needs none.
  operator_type const& fixed() const { return *fixed_; }
  /// M of J. Errors: value_error, if J is complex; those of the set-up.
  template <class T>
  operator_type setup(sparse_tensor<T> const& J) const {
    if constexpr (std::same_as<T, double>)
      return make_(J);
    else if constexpr (!is_complex<T>)
      return make_(cast<double>(J));
    else
      throw value_error(text("{.precondition = ", name_, "{}}: a preconditioner is made of real Jacobians; for complex u take newton{}"));
  }

private:
  template <class M>
  static operator_type applied(M made, index_t n) {
    auto const m = std::make_shared<M const>(std::move(made));
    auto const write = [](auto const& by, std::span<double const> r, std::span<double> z) {
      vector<double> const image = by * borrow(r.data(), index_t(r.size()));
      std::copy(image.begin(), image.end(), z.begin());
    };
    auto forth = [m, write](std::span<double const> r, std::span<double> z) { write(*m, r, z); };
    if constexpr (requires { m->adjoint(); }) {
      auto const back = std::make_shared<std::optional<decltype(m->adjoint())>>();
      return {n, n, forth, [m, back, write](std::span<double const> r, std::span<double> z) {
                if (!*back) back->emplace(m->adjoint());
                write(**back, r, z);
              }};
    } else {
      return {n, n, forth};
    }
  }
  std::shared_ptr<operator_type const> fixed_;
  std::function<operator_type(sparse_tensor<double> const&)> make_;
  std::string name_ = "preconditioner";
};

namespace detail {
/// The elements of a tensor of any extents as a vector, and back.
template <class T, class E>
vector<T> flat(tensor<T, E> const& x) {
  return {Extents<dyn>(x.size()), x.values()};
}
template <class T, class E>
tensor<T, E> shaped_as(tensor<T, E> const& like, vector<T> x) {
  return {like.extents(), std::move(x.values())};
}
/// The first element that is no number, or -1.
template <class V>
index_t first_not_finite(V const& x) {
  for (index_t n = 0; n < x.size(); ++n)
    if (!is_finite(to_kernel(x[n]))) return n;
  return -1;
}

/// F with its parameters, as methods see it: values, directional derivatives and Jacobians at u, counted in a report.
template <class F, class V>
class nonlinear_problem {
public:
  using vector_type = V;
  using value_type = typename V::value_type;

  nonlinear_problem(F const& of_u, nonlinear_report& r) : f_(of_u), report_(r) {}
  nonlinear_report& report() const { return report_; }
  F const& function() const { return f_; }

  /// F(u), which may have elements that are no numbers. Errors: shape_error, if F has not as many elements as u.
  V value(V const& u) const {
    ++report_.evaluations;
    auto r = eval(f_(u));
    if (r.size() != u.size())
      throw shape_error(text(report_.method, "{}: F(u) has ", r.size(), " elements and u ", u.size(), "; F gives one equation for each unknown"));
    return V(u.extents(), std::move(r.values()));
  }
  /// F(u0). Errors: value_error, if it is no number.
  V first_value(V const& u) const {
    V r = value(u);
    if (index_t const at = first_not_finite(r); at >= 0)
      throw value_error(text(report_.method, "{}: F(u0) has ", r[at], " at element ", at, ", in iteration 0; begin where F is finite"));
    return r;
  }
  V slope(V const& u, V const& d) const {
    ++report_.derivatives;
    auto s = std::get<1>(jvp(f_, std::tie(u), std::tie(d)));
    return V(u.extents(), std::move(s.values()));
  }

private:
  F const& f_;
  nonlinear_report& report_;
};

/// J set up by a method and a preconditioner, or by the automatic choice.
template <class T, class... Options>
auto prepared_for(sparse_tensor<T> const& J, double rtol, Options const&... options) {
  if constexpr (sizeof...(Options) == 0)
    return prepare(J, automatic{.rtol = rtol});
  else
    return prepare(J, options...);
}
/// The Jacobian of F at u with what solves with it, kept from one u to the next: pattern, colours, order, factors or hierarchy. With diagonal: the pattern
/// has it all, for those who edit the matrix.
template <class T, class... Linear>
class jacobian_solver {
public:
  jacobian_solver(given_pattern const& given, double rtol, Linear const&... linear) : given_(given.plan()), plan_(given_), rtol_(rtol), linear_(linear...) {}
  jacobian_solver& with_diagonal() {
    diagonal_ = true;
    return *this;
  }

  /// The Jacobian at u. A pattern that was found elsewhere, and misses an entry here, is found again. Errors: value_error, shape_error.
  template <class F, class V>
  sparse_tensor<T> const& jacobian_at(F const& f, V const& u, nonlinear_report& report) {
    if (!plan_) plan_ = std::make_shared<jacobian_plan const>(f, u);
    if (plan_->rows() != u.size() || plan_->cols() != u.size())
      throw shape_error(text(report.method, "{.pattern = P}: P is ", plan_->rows(), " x ", plan_->cols(), ", and u has ", u.size(), " elements, as many as F; it is (elements of F) x (elements of u)"));
    if (!J_) complete(*plan_);
    ++report.jacobians, report.derivatives += plan_->colors() + 1;
    if (plan_->differentiate(*J_, f, u) >= 0) {
      if (!given_) complete(plan_->united_with(jacobian_plan(f, u)));
      plan_->update(*J_, f, u);
    }
    report.jacobian = text("dual numbers in ", plan_->colors(), plan_->colors() == 1 ? " colour" : " colours", given_ ? ", pattern given" : ", pattern found");
    return *J_;
  }
  /// Ready to solve with the Jacobian at u.
  template <class F, class V>
  void linearize(F const& f, V const& u, nonlinear_report& report) {
    set_up(jacobian_at(f, u, report));
  }
  /// Ready to solve with a matrix on the pattern of the Jacobian.
  void set_up(sparse_tensor<T> const& K) {
    if (s_)
      s_->update(K);
    else
      s_.emplace(std::apply([&](Linear const&... option) { return prepared_for(K, rtol_, option...); }, linear_));
  }
  sparse_tensor<T> const& jacobian() const { return *J_; }
  /// d with J d = r, if the report says so.
  template <class V>
  std::pair<V, sla::report> solve(V const& r, nonlinear_report& report) const {
    auto s = s_->try_solve(flat(r));
    ++report.linear_solves;
    report.linear_iterations += s.report.iterations();
    report.linear = s.report.preconditioner.empty() ? s.report.method : text(s.report.method, " + ", s.report.preconditioner);
    return {shaped_as(r, std::move(s.x)), std::move(s.report)};
  }
  /// The same for J d = r and J^H w = g of derivatives. Errors: solve_error.
  template <class V>
  V solve(V const& r) const {
    return shaped_as(r, s_->solve(flat(r)));
  }
  template <class V>
  V solve_adjoint(V const& g) const {
    return shaped_as(g, s_->solve_adjoint(flat(g)));
  }

private:
  using Prepared = decltype(prepared_for(std::declval<sparse_tensor<T> const&>(), 0.0, std::declval<Linear const&>()...));

  /// Goes on with this plan, and the diagonal if it is wanted.
  void complete(jacobian_plan plan) {
    plan_ = std::make_shared<jacobian_plan const>(diagonal_ ? plan.united_with(jacobian_plan(eye<T>(plan.rows()))) : std::move(plan));
    J_.emplace(Matrix(plan_->rows(), plan_->cols()), plan_->shared_pattern());
    s_.reset();
  }

  bool diagonal_ = false;
  std::shared_ptr<jacobian_plan const> given_, plan_;
  double rtol_;
  std::tuple<Linear...> linear_;
  std::optional<sparse_tensor<T>> J_;
  std::optional<Prepared> s_;
};

/// M of the Jacobian at u, if a method asks for one.
template <class Method, class F, class V>
std::optional<linear_operator<double>> preconditioner_at(Method const& method, F const& f, V const& u, nonlinear_report& report) {
  jacobian_preconditioner const& p = method.precondition;
  if (!p) return std::nullopt;
  report.linear = p.name();
  if (!p.needs_jacobian()) return p.fixed();
  jacobian_solver<typename V::value_type> at_start(method.pattern, 1e-10);
  auto made = p.setup(at_start.jacobian_at(f, u, report));
  report.jacobian += text(", at u0, for ", p.name());
  return made;
}

/// The tolerance of |F|, and whether a method goes on.
struct nonlinear_stop {
  double tolerance;
  int max_iterations;

  nonlinear_stop(nonlinear_report& r, double rtol, double atol, int limit, double first) : tolerance((std::max)(rtol * first, atol)), max_iterations(limit) {
    r.rtol = rtol, r.atol = atol, r.first_residual = first;
  }
  /// Is another step to be made from where the residual is this?
  bool go_on(nonlinear_report& r, double residual) const {
    r.history.push_back(residual);
    r.true_residual = residual;
    if (residual <= tolerance)
      r.state = reason::converged;
    else if (r.steps >= max_iterations)
      r.state = reason::iteration_limit, r.why = text("{.max_iterations = ", max_iterations, "} were not enough");
    else
      return true;
    return false;
  }
};
/// Is the solution of a linear system, solved or not, a step to go along? Where it left a tenth of the right-hand side at most.
inline bool is_usable(report const& linear) {
  return linear.converged() || ((linear.reason() == reason::iteration_limit || linear.reason() == reason::stagnated) && linear.residual() <= 0.1);
}
inline void stop_for(nonlinear_report& r, reason state, std::string why) { r.state = state, r.why = std::move(why); }

/// What to say of a step that was not found where F is no number at the end of the full one.
template <class Problem, class V>
std::string remark_of_full_step(Problem const& problem, V const& u, V const& d) {
  V const r = problem.value(u + d);
  index_t const at = first_not_finite(r);
  return at >= 0 ? text("; at the full step F is ", r[at], " at element ", at) : std::string();
}

/// A step along d that reduces |F|: Armijo's condition by backtracking, on a parabola first and on cubics then; `slope` is that of |F|^2 / |F(u)|^2
/// along d. Sets u and r = F(u); the length, or 0 if there is none. Of values that are no numbers half the step is tried.
/// Source: Dennis and Schnabel, Numerical Methods for Unconstrained Optimization and Nonlinear Equations (1983), algorithm A6.3.1.
template <class Problem, class V>
double backtrack(Problem const& problem, V& u, V& r, V const& d, double norm_r, double slope = -2) {
  double const armijo = 1e-4;
  double a = 1, last = 0, last_value = 0;
  for (int tries = 0; tries < 40; ++tries) {
    V next = u + real_t<typename V::value_type>(a) * d;
    V value = problem.value(next);
    double const relative = double(norm(value)) / norm_r, phi = relative * relative;
    if (phi <= 1 + armijo * a * slope) {
      u = std::move(next), r = std::move(value);
      return a;
    }
    double shorter = a / 2;
    if (std::isfinite(phi)) {
      double const excess = phi - 1 - slope * a;
      if (last == 0) {
        shorter = -slope * a * a / (2 * excess);
      } else {
        double const last_excess = last_value - 1 - slope * last, scale = 1 / (a - last);
        double const cubic = scale * (excess / (a * a) - last_excess / (last * last)), square = scale * (a * last_excess / (last * last) - last * excess / (a * a));
        double const root = square * square - 3 * cubic * slope;
        shorter = cubic == 0 ? -slope / (2 * square) : root >= 0 ? (std::sqrt(root) - square) / (3 * cubic) : a / 2;
      }
      last = a, last_value = phi;
      shorter = shorter >= 0.1 * a ? (std::min)(shorter, 0.5 * a) : 0.1 * a;
    }
    a = shorter;
  }
  return 0;
}
} // namespace detail

} // namespace sla
