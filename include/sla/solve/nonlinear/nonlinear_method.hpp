// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the methods for F(u) = 0 share: preconditioners that are made of a Jacobian, when to stop, and the step along a direction. F is a
// `nonlinear_problem` (solve/nonlinear/unknowns.hpp), linear solves are in solve/nonlinear/jacobian_solver.hpp.
#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/solve/nonlinear/jacobian_solver.hpp>

namespace sla {

/// Options of a method for F(u) = 0.
template <class M>
concept NonlinearMethod = requires { typename M::nonlinear_method_tag; };

/// A preconditioner of any kind, `anderson{.precondition = amg{}}`, which is set up for the Jacobian where the iteration begins; a linear_operator<double>
/// stands for itself, and asks for no Jacobian. None: the identity. Law: the Jacobian is real; it is set up in double.
class jacobian_preconditioner {
  using operator_type = linear_operator<double>;

public:
  jacobian_preconditioner() = default;
  template <std::same_as<operator_type> M>
  jacobian_preconditioner(M const& m) : fixed_(detail::shared_of<M const>(m)), name_(M::name) {}  // NOLINT: converts by intent
  template <PreconditionerOptions P>
    requires(!std::same_as<P, operator_type>)
  jacobian_preconditioner(P const& p)  // NOLINT
      : options_(detail::shared_of<P const>(p)), make_([](void const* of, sparse_tensor<double> const& J) -> std::shared_ptr<void const> {
          return detail::shared_of<dependent_t<operator_type, P> const>(applied(static_cast<P const*>(of)->setup(J), J.rows()));
        }) {
    if constexpr (requires { P::name; }) name_ = P::name;
  }
  explicit operator bool() const { return make_ != nullptr || fixed_ != nullptr; }
  std::string const& name() const { return name_; }
  bool needs_jacobian() const { return bool(make_); }
  /// Law: it needs none.
  template <class X>
  auto fixed() const {
    return std::static_pointer_cast<dependent_t<operator_type, X> const>(fixed_);
  }
  /// M of J. Errors: value_error, if J is complex; those of the set-up.
  template <class T>
  std::shared_ptr<dependent_t<operator_type, T> const> setup(sparse_tensor<T> const& J) const {
    using Operator = dependent_t<operator_type, T>;
    if constexpr (std::same_as<T, double>)
      return std::static_pointer_cast<Operator const>(make_(options_.get(), J));
    else if constexpr (!is_complex<T>)
      return std::static_pointer_cast<Operator const>(make_(options_.get(), cast<double>(J)));
    else
      throw value_error(text("{.precondition = ", name_, "{}}: a preconditioner is made of real Jacobians; for complex u take newton{}"));
  }

private:
  template <class M>
  static dependent_t<operator_type, M> applied(M made, index_t n) {
    auto const m = detail::shared_of<M const>(std::move(made));
    auto const write = [](auto const& by, auto r, auto z) {
      vector<double> const image = by * borrow(r.data(), index_t(r.size()));
      std::copy(image.begin(), image.end(), z.begin());
    };
    auto forth = [m, write](std::span<double const> r, std::span<double> z) { write(*m, r, z); };
    if constexpr (requires { m->adjoint(); }) {
      auto const back = detail::shared_of<std::optional<decltype(m->adjoint())>>();
      return {n, n, forth, [m, back, write](std::span<double const> r, std::span<double> z) {
                if (!*back) back->emplace(m->adjoint());
                write(**back, r, z);
              }};
    } else {
      return {n, n, forth};
    }
  }
  std::shared_ptr<void const> fixed_, options_;  ///< a linear_operator<double>, whose type readers of this header need not compile; a P
  std::shared_ptr<void const> (*make_)(void const*, sparse_tensor<double> const&) = nullptr;
  std::string name_ = "preconditioner";
};

namespace detail {
/// M of the Jacobian at u, or null, if a method asks for none. Errors: value_error, where entries are asked for on ranks.
template <class Method, class F, class V>
std::shared_ptr<dependent_t<linear_operator<double>, V> const> preconditioner_at(Method const& method, F const& f, V const& u, nonlinear_report& report) {
  dependent_t<jacobian_preconditioner, V> const& p = method.precondition;
  if (!p) return nullptr;
  report.linear = p.name();
  if (!p.needs_jacobian()) return p.template fixed<V>();
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
    if (crawls(r)) {
      r.state = reason::stagnated;
      r.why = text("the last ", few, " steps, none longer than a tenth of Newton's, reduced |F| by less than 1 % together: ",
                   r.beyond.empty() ? "u is near a stationary point of |F| that is no root, or F has none" : text("longer ones end where ", r.beyond), "; begin elsewhere, or move the parameters");
      return false;
    }
    if (h.size() < 3 || h.back() <= 0.5 * h[h.size() - 3]) return true;
    return !is_rounding(r, problem.rounding_at(u));
  }
  /// The same of a method that may be slow, by `rounding()`, which is asked for after 3, 7, 15, ... steps, of which half have not halved the residual.
  template <class Rounding>
  bool go_on_unless(nonlinear_report& r, double residual, Rounding const& rounding) const {
    if (!go_on(r, residual)) return false;
    auto const n = r.history.size();
    return n < 4 || (n & (n - 1)) != 0 || residual <= 0.5 * r.history[n / 2] || !is_rounding(r, rounding());
  }
  /// Is the last residual what rounding, of about this size, leaves of it? That is convergence where a part of the first residual was asked for, as where the iteration began at a solution.
  template <class = void>
  bool is_rounding(nonlinear_report& r, double rounding) const {
    if (!(std::isfinite(rounding) && r.true_residual <= 10 * rounding)) return false;
    r.state = r.rtol > 0 ? reason::converged : reason::stagnated;
    r.why = text("|F| falls no more: rounding of u alone changes F by ", rounding, r.rtol > 0 ? "" : text("; ask for no less, {.atol = ", 10 * rounding, "}"));
    return true;
  }

private:
  static constexpr std::size_t few = 8;
  /// Newton's model has |F| = 0 at the end of each step: where many are cut short and |F| hardly falls, the model holds nowhere along them.
  template <std::same_as<nonlinear_report> R>
  static bool crawls(R const& r) {
    auto const& lengths = r.step_lengths;
    if (r.in_time || lengths.size() < few) return false;
    return *std::max_element(lengths.end() - few, lengths.end()) <= 0.1 && r.history.back() > 0.99 * r.history[r.history.size() - 1 - few];
  }
};
/// Is the solution of a linear system, solved or not, a step to go along? Where it left a tenth of the right-hand side at most.
template <class = void>
bool is_usable(report const& linear) {
  return linear.converged() || ((linear.reason() == reason::iteration_limit || linear.reason() == reason::stagnated) && linear.residual() <= 0.1);
}
template <class = void>
void stop_for(nonlinear_report& r, reason state, std::string why) { r.state = state, r.why = std::move(why); }

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
  problem.report().beyond.clear();
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
    } else {
      problem.report().beyond = problem.words_of(value.r);
    }
    a = shorter;
  }
  return 0;
}
} // namespace detail

} // namespace sla
