// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the methods for F(u) = 0 share: the linear solves with the Jacobian of F, stored or not, preconditioners that are made of it, when to
// stop, and the step along a direction. F itself is a `nonlinear_problem` (solve/nonlinear/unknowns.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <sla/grad/call/pullback.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/nonlinear/jacobian.hpp>
#include <sla/solve/nonlinear/unknowns.hpp>

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
/// J + c I. Law: the pattern of J has the diagonal.
template <class T>
sparse_tensor<T> plus_identity(sparse_tensor<T> const& J, real_t<T> c) {
  sparse_tensor<T> K = J;
  parallel_ranges(K.rows(), [view = K.pattern().view(), values = K.values().data(), c](index_t first, index_t last) {
    for (index_t i = first; i < last; ++i)
      view.for_row(i, [&](index_t s, index_t j) {
        if (i == j) values[s] += c;
      });
  });
  return K;
}
/// J set up by a method and a preconditioner, or by the automatic choice.
template <class T, class... Options>
auto prepared_for(sparse_tensor<T> const& J, double rtol, Options const&... options) {
  if constexpr (sizeof...(Options) == 0)
    return prepare(J, automatic{.rtol = rtol});
  else
    return prepare(J, options...);
}
/// The Jacobian of F at u with what solves with it, kept from one u to the next: pattern, colours, order, factors or hierarchy. With diagonal: the pattern
/// has it all, for those who edit the matrix. On: a tuple of where solves run, or none.
template <class T, class On, class... Linear>
class jacobian_solver {
public:
  jacobian_solver(given_pattern const& given, double rtol, On const& on, Linear const&... linear) : given_(given.plan()), plan_(given_), rtol_(rtol), on_(on), linear_(linear...) {}
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
  /// The Jacobian at u, and then ready to solve with J + c I. Law: the pattern has the diagonal.
  template <class F, class V>
  void look(F const& f, V const& u, nonlinear_report& report) {
    jacobian_at(f, u, report);
  }
  void set_up_shifted(real_t<T> c) { set_up(plus_identity(*J_, c)); }
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
    auto s = std::apply([&](auto const&... o) { return s_->try_solve(flat(r), o...); }, on_);
    ++report.linear_solves;
    report.linear_iterations += s.report.iterations();
    report.linear = s.report.preconditioner.empty() ? s.report.method : text(s.report.method, " + ", s.report.preconditioner);
    return {shaped_as(r, std::move(s.x)), std::move(s.report)};
  }
  /// The same for J d = r and J^H w = g of derivatives. Errors: solve_error.
  template <class V>
  V solve(V const& r) const {
    return std::apply([&](auto const&... o) { return shaped_as(r, s_->solve(flat(r), o...)); }, on_);
  }
  template <class V>
  V solve_adjoint(V const& g) const {
    return std::apply([&](auto const&... o) { return shaped_as(g, s_->solve_adjoint(flat(g), o...)); }, on_);
  }
  /// J x, and J^H x.
  template <class V>
  V times(V const& x) const {
    return shaped_as(x, eval(*J_ * flat(x)));
  }
  template <class V>
  V times_adjoint(V const& x) const {
    return shaped_as(x, eval(adjoint(*J_) * flat(x)));
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
  On on_;
  std::tuple<Linear...> linear_;
  std::optional<sparse_tensor<T>> J_;
  std::optional<Prepared> s_;
};

/// J + c I and its adjoint at u, by one directional derivative or one sweep of F each, as functions of this process's numbers.
template <class F, class V>
linear_operator<typename V::value_type> jacobian_operator(F const& f, V const& u, real_t<typename V::value_type> c = 0) {
  using T = typename V::value_type;
  auto const at = std::make_shared<V const>(u);
  auto const write = [c](V const& image, std::span<T const> x, std::span<T> y) {
    auto const* const from = own_numbers(image);
    for (std::size_t n = 0; n < y.size(); ++n) y[n] = c == 0 ? from[n] : from[n] + c * x[n];
  };
  return {own_size(u), own_size(u),
          [f, at, write](std::span<T const> x, std::span<T> y) { write(laid_as(*at, std::get<1>(jvp(f, std::tie(*at), std::tuple<V>(borrowed_as(*at, x))))), x, y); },
          [f, at, write](std::span<T const> x, std::span<T> y) { write(laid_as(*at, std::get<1>(vjp(f, std::tie(*at), borrowed_as(*at, x)))), x, y); }};
}
/// What solves with the Jacobian of F where it is not stored: J v by dual numbers, J^H w by a tape, and the linear method and preconditioner of the call, or else GMRES, with M
/// if there is one.
template <class V, class On, class... Linear>
class operator_solver {
  using T = typename V::value_type;

public:
  operator_solver(double rtol, On const& on, Linear const&... linear) : method_{.rtol = rtol}, on_(on), linear_(linear...) {}
  operator_solver& with_diagonal() { return *this; }
  /// From now on by this method, and M.
  void use(gmres const& method, std::optional<linear_operator<double>> M) { method_ = method, M_ = std::move(M); }

  /// What F refers to outlives the solves.
  template <class F>
  void look(F const& f, V const& u, nonlinear_report& report) {
    if (report.jacobian.find("J v") == std::string::npos) report.jacobian += report.jacobian.empty() ? "J v by dual numbers" : "; J v by dual numbers";
    shifted_ = [f, u](real_t<T> c) { return jacobian_operator(f, u, c); };
  }
  void set_up_shifted(real_t<T> c) { J_.emplace(shifted_(c)); }
  template <class F>
  void linearize(F const& f, V const& u, nonlinear_report& report) {
    look(f, u, report);
    set_up_shifted(0);
  }
  std::pair<V, sla::report> solve(V const& r, nonlinear_report& report) const {
    auto s = attempt(*J_, r);
    ++report.linear_solves;
    report.linear_iterations += s.report.iterations(), report.derivatives += s.report.iterations();
    report.linear = s.report.preconditioner.empty() ? s.report.method : text(s.report.method, " + ", s.report.preconditioner);
    return {shaped_as(r, std::move(s.x)), std::move(s.report)};
  }
  /// Errors: solve_error.
  V solve(V const& r) const { return reached(attempt(*J_, r), r); }
  V solve_adjoint(V const& g) const { return reached(attempt(J_->adjoint(), g), g); }
  V times(V const& x) const { return shaped_as(x, eval(*J_ * flat(x))); }
  V times_adjoint(V const& x) const { return shaped_as(x, eval(J_->adjoint() * flat(x))); }

private:
  auto attempt(linear_operator<T> const& J, V const& r) const {
    auto const& b = flat(r);
    return std::apply(
        [&](auto const&... o) {
          if constexpr (sizeof...(Linear) > 0)
            return std::apply([&](Linear const&... linear) { return try_solve(J, b, linear..., o...); }, linear_);
          else
            return M_ ? try_solve(J, b, method_, *M_, o...) : try_solve(J, b, method_, o...);
        },
        on_);
  }
  template <class S>
  static V reached(S s, V const& like) {
    if (!s.report.converged()) throw solve_error(std::move(s.report));
    return shaped_as(like, std::move(s.x));
  }
  gmres method_;
  On on_;
  std::tuple<Linear...> linear_;
  std::optional<linear_operator<double>> M_;
  std::function<linear_operator<T>(real_t<T>)> shifted_;
  std::optional<linear_operator<T>> J_;
};

/// What solves with the Jacobian of functions of V: stored where its entries are found, on one host. On: as of jacobian_solver.
template <class V, class On, class... Linear>
auto make_jacobian_solver([[maybe_unused]] given_pattern const& pattern, double rtol, On const& on, std::tuple<Linear const&...> const& linear) {
  return std::apply(
      [&](Linear const&... o) {
        if constexpr (is_host_tensor<V>)
          return std::make_shared<jacobian_solver<typename V::value_type, On, Linear...>>(pattern, rtol, on, o...);
        else
          return std::make_shared<operator_solver<V, On, Linear...>>(rtol, on, o...);
      },
      linear);
}

/// M of the Jacobian at u, if a method asks for one. Errors: value_error, where entries are asked for on ranks.
template <class Method, class F, class V>
std::optional<linear_operator<double>> preconditioner_at(Method const& method, F const& f, V const& u, nonlinear_report& report) {
  jacobian_preconditioner const& p = method.precondition;
  if (!p) return std::nullopt;
  report.linear = p.name();
  if (!p.needs_jacobian()) return p.fixed();
  if constexpr (is_host_tensor<V>) {
    jacobian_solver<typename V::value_type, std::tuple<>> at_start(method.pattern, 1e-10, {});
    auto made = p.setup(at_start.jacobian_at(f, u, report));
    report.jacobian += text(", at u0, for ", p.name());
    return made;
  } else {
    throw value_error(text(Method::name, "{.precondition = ", p.name(), "{}}: it is made of the entries of a Jacobian, which are not found on ranks; give a linear_operator<double> of this rank's rows, or take newton{} with jacobian_on(D)"));
  }
}

/// The tolerance of |F|, and whether a method goes on.
struct nonlinear_stop {
  double tolerance;
  int max_iterations;

  nonlinear_stop(nonlinear_report& r, double rtol, double atol, int limit, double first) : tolerance((std::max)(rtol * first, atol)), max_iterations(limit) {
    r.rtol = rtol, r.atol = atol, r.first_residual = first;
  }
  /// Is another step to be made from where the residual is this?
  template <class = void>
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
  /// The same of a method that converges fast near a solution: where two steps have not halved the residual, it may be what rounding leaves of it.
  template <class Problem, class V>
  bool go_on(Problem const& problem, V const& u, double residual) const {
    auto& r = problem.report();
    if (!go_on(r, residual)) return false;
    auto const& h = r.history;
    if (h.size() < 3 || h.back() <= 0.5 * h[h.size() - 3]) return true;
    double const floor = problem.rounding_at(u);
    if (!(residual <= 10 * floor)) return true;
    r.state = reason::stagnated, r.why = text("|F| falls no more: rounding of u alone changes F by ", floor, "; ask for no less, {.atol = ", 10 * floor, "}");
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
  auto const at = problem.value(problem.sum(u, 1, d));
  return std::isfinite(at.norm) ? std::string() : text("; at the full step ", problem.words_of(at.r));
}

/// A step along d that reduces |F|: Armijo's condition by backtracking, on a parabola first and on cubics then; `slope` is that of |F|^2 / |F(u)|^2
/// along d. Sets u and F(u); the length, or 0 if there is none. Of values that are no numbers half the step is tried.
/// Source: Dennis and Schnabel, Numerical Methods for Unconstrained Optimization and Nonlinear Equations (1983), algorithm A6.3.1.
template <class Problem, class V>
double backtrack(Problem const& problem, V& u, residual_at<V>& at, V const& d, double slope = -2) {
  double const armijo = 1e-4;
  double a = 1, last = 0, last_value = 0;
  for (int tries = 0; tries < 40; ++tries) {
    V next = problem.sum(u, typename V::value_type(real_t<typename V::value_type>(a)), d);
    auto value = problem.value(next);
    double const relative = value.norm / at.norm, phi = relative * relative;
    if (phi <= 1 + armijo * a * slope) {
      u = std::move(next), at = std::move(value);
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
