// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Branches of solutions of F(u, lambda) = 0, followed by pseudo-arclength continuation past folds, which are located: `trace_branch`, its options
// `arclength`, and what it returns: `branch`, of `branch_point`, with a `branch_report`.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sla/solve/nonlinear/nonlinear_solve.hpp>

namespace sla {

/// How `trace_branch` goes along a branch. The length of (u, lambda) is the root of |u|^2 / n + (lambda / lambda_scale)^2, n being the number of unknowns.
struct arclength {
  double step = 0.1;  ///< the first one; a negative one begins towards smaller lambda
  int steps = 50;     ///< that are made, at most
  double max_step = 1, min_step = 1e-6;
  double rtol = default_rule().rtol;  ///< of (u, lambda): the most that Newton's method would still correct at a point
  int newton_iterations = 8;  ///< at one point, at most; where they are not enough, the step is halved
  double least_lambda = -std::numeric_limits<double>::infinity(), most_lambda = std::numeric_limits<double>::infinity();  ///< it ends where lambda leaves these
  double lambda_scale = 1;    ///< a change of lambda that is neither small nor large
  bool keep_u = true;         ///< u of all points, rather than of folds and the last point
  given_pattern pattern = {};
};

/// A point of a branch. Law: F(u, lambda) = 0, to the residual.
template <class V>
struct branch_point {
  typename V::value_type lambda;
  V u;              ///< of no elements, if it is not kept
  double norm;      ///< |u|
  double residual;  ///< |F(u, lambda)|, recomputed
  double step;      ///< the arclength from the point before that is not a fold
  int iterations;   ///< of Newton's method
  bool fold;        ///< does lambda turn here? Located between two steps
};

/// What `trace_branch` did. `true_residual` is the largest of all points, `first_residual` that of (u0, lambda0), `step_lengths` are in arclength; `state` is converged where all steps
/// were made, or lambda left its range, and `why` says which.
struct branch_report : nonlinear_report {
  int folds = 0;
  int newton_iterations = 0;
  int rejected = 0;  ///< steps that were halved
};

/// One line: "trace_branch: 1 fold in 40 steps, all that were asked for, largest true residual 2e-12, 97 Newton iterations, 2 steps halved, 120 Jacobians by ..., 5 ms".
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, branch_report const& r) {
  auto const digits = out.precision(2);
  auto const counted = [&](int n, char const* one, char const* many) -> auto& { return out << n << ' ' << (n == 1 ? one : many); };
  counted((out << r.method << ": ", r.folds), "fold in ", "folds in ");
  counted(r.steps, "step", "steps") << ", " << r.why << ", largest true residual " << r.true_residual << ", ";
  counted(r.newton_iterations, "Newton iteration, ", "Newton iterations, ");
  counted(r.rejected, "step halved, ", "steps halved, ");
  counted(r.jacobians, "Jacobian", "Jacobians") << " by " << r.jacobian << ", " << r.linear_solves << " linear solves by " << r.linear << ", " << detail::seconds_text(r.seconds);
  out.precision(digits);
  return out;
}

/// What `trace_branch` returns: points in their order, folds among them.
template <class V>
struct branch {
  std::vector<branch_point<V>> points;
  branch_report report;
};

namespace detail {
/// Keller's corrector for F(u, lambda) = 0 at a distance along a tangent, and the branch that is made of it. Problem: a
/// nonlinear_problem of u -> F(u, lambda), lambda being the Parameter, by whose statements all vectors are made.
template <class F, class V, class Parameter, class Problem, class Solver>
class branch_tracer {
  using T = typename V::value_type;
  /// A pair (u, lambda), or a direction in which it changes.
  struct pair {
    V u;
    T lambda;
  };
  struct place {
    pair at, tangent;
    double residual = 0;
    int iterations = 0;
    double cosine = 1;  ///< between its tangent and that of the place before
  };

public:
  /// Law: the problem reads this lambda, which is set here at each place.
  branch_tracer(F const& f, Parameter& lambda, Problem const& problem, arclength const& options, Solver& solver, branch_report& report)
      : f_(f), lambda_(lambda), problem_(problem), options_(options), solver_(solver), report_(report) {}

  std::vector<branch_point<V>> run(V const& u0, T lambda0) {
    V every = u0;
    std::fill_n(own_numbers(every), own_size(every), T(1));
    unknowns_ = problem_.count(every);
    std::vector<branch_point<V>> points;
    double const scale = options_.lambda_scale;
    auto const keep = [&](place const& p, double step, bool fold) {
      if (!options_.keep_u && !points.empty() && !points.back().fold) points.back().u = no_elements_of(u0);
      points.push_back({p.at.lambda, p.at.u, problem_.norm(p.at.u), p.residual, step, p.iterations, fold});
      report_.true_residual = (std::max)(report_.true_residual, p.residual), report_.history.push_back(p.residual);
    };
    place const outside{{u0, lambda0}, {none_like(u0), T(options_.step > 0 ? scale : -scale)}};
    auto const start = correct(outside, 0);
    if (!start)
      throw value_error(text("trace_branch(F, u0, lambda0): Newton's method finds no solution at lambda0 = ", lambda0, " from u0: ", failed_, "; take u0 from nonlinear_solve, and lambda0 away from a fold"));
    place now = *start;
    keep(now, 0, false);
    double ds = std::abs(options_.step);
    T turning = now.tangent.lambda;
    auto const in_range = [&](place const& p) { return options_.least_lambda <= double(p.at.lambda) && double(p.at.lambda) <= options_.most_lambda; };
    bool inside = in_range(now);
    while (report_.steps < options_.steps) {
      std::optional<place> next;
      for (;; ds /= 2, ++report_.rejected) {
        if (ds < options_.min_step) {
          stop_for(report_, why_, text("the step after lambda = ", now.at.lambda, " fell to ", ds, ", below {.min_step = ", options_.min_step, "}: ", failed_));
          return points;
        }
        next = correct(now, ds);
        if (!next) continue;
        if (next->cosine < 0.8) {
          fail(reason::stagnated, "the branch turns by more than 37 degrees in it");
        } else if (next->tangent.lambda * turning < 0) {
          if (auto const fold = locate(now, *next, ds)) {
            keep(fold->first, fold->second, true), ++report_.folds;
            break;
          }
          failed_ = text("lambda turns in it, and where is not found: ", failed_);
        } else {
          break;
        }
      }
      if (next->tangent.lambda != 0) turning = next->tangent.lambda;
      keep(*next, ds, false);
      ++report_.steps, report_.step_lengths.push_back(ds);
      now = std::move(*next);
      if (bool const was_inside = std::exchange(inside, in_range(now)); was_inside && !inside) {
        stop_for(report_, reason::converged, "until lambda left its range");
        return points;
      }
      double const angle = std::acos((std::min)(now.cosine, 1.0)), wanted = now.iterations <= 2 ? 2 : now.iterations == 3 ? 1.2 : 0.7;
      ds = std::clamp(ds * (std::min)(wanted, 0.3 / (std::max)(angle, 1e-8)), options_.min_step, options_.max_step);
    }
    stop_for(report_, reason::converged, "all that were asked for");
    return points;
  }

private:
  double inner(pair const& x, pair const& y) const {
    double const scale = options_.lambda_scale;
    return double(problem_.inner(x.u, y.u)) / unknowns_ + double(x.lambda) / scale * (double(y.lambda) / scale);
  }
  pair sum(pair const& x, double a, pair const& y) const { return {problem_.sum(x.u, T(a), y.u), x.lambda + T(a) * y.lambda}; }
  /// A vector of zeros. Law: x is finite.
  V none_like(V const& x) const { return problem_.scaled(0, x); }
  bool fail(reason why, std::string words) {
    why_ = why, failed_ = std::move(words);
    return false;
  }

  /// The point of the branch in the plane at this distance along the tangent, with its own; none where Newton's corrections do not halve, or more than allowed
  /// are needed. Of distance 0, where all begins, they may.
  std::optional<place> correct(place const& from, double ds) {
    place p{sum(from.at, ds, from.tangent), from.tangent};
    double last = 0;
    for (;; ++p.iterations, ++report_.newton_iterations) {
      auto const r = evaluate(p);
      if (!r) return std::nullopt;
      V const slope = slope_to_lambda(p.at.u);
      double const apart = inner(sum(p.at, -1, from.at), from.tangent) - ds;
      if (!factor(p.at.u, slope)) return std::nullopt;
      auto const correction = bordered(slope, from.tangent, *r, apart);
      if (!correction) return std::nullopt;
      double const size = std::sqrt(inner(*correction, *correction));
      if (size <= options_.rtol * (std::max)(std::sqrt(inner(p.at, p.at)), std::abs(options_.step))) {
        auto const tangent = bordered(slope, from.tangent, none_like(*r), 1);
        if (!tangent) return std::nullopt;
        double const length = std::sqrt(inner(*tangent, *tangent));
        p.tangent = {problem_.scaled(T(1 / length), tangent->u), tangent->lambda / T(length)}, p.cosine = 1 / length;
        p.at = sum(p.at, -1, *correction);
        return evaluate(p) ? std::optional(p) : std::nullopt;
      }
      if (p.iterations >= (ds == 0 ? 25 : options_.newton_iterations) || (ds > 0 && p.iterations > 0 && !(size <= 0.5 * last)))
        return fail(reason::stagnated, text("Newton's method would still correct by ", size, " after ", p.iterations, p.iterations == 1 ? " iteration" : " iterations", " at lambda = ", p.at.lambda)), std::nullopt;
      p.at = sum(p.at, -1, *correction);
      last = size;
    }
  }
  /// F at a place, and its residual there; none if it is no number. From now on F is that of its lambda. Errors: value_error, if it is none where all begins.
  std::optional<V> evaluate(place& p) {
    lambda_ = argument_number(p.at.u, double(p.at.lambda));
    bool const first = report_.evaluations == 0;
    auto at = first ? problem_.first_value(p.at.u) : problem_.value(p.at.u);
    if (!std::isfinite(at.norm)) return fail(reason::not_a_number, text(problem_.words_of(at.r), " and lambda = ", p.at.lambda)), std::nullopt;
    p.residual = at.norm;
    if (first) report_.first_residual = p.residual;
    return std::move(at.r);
  }
  /// dF / dlambda.
  V slope_to_lambda(V const& u) {
    ++report_.derivatives;
    Parameter const one = argument_number(u, 1);
    return laid_as(u, std::get<1>(jvp([&](auto const& lambda) { return f_(u, lambda); }, std::tie(lambda_), std::tie(one))));
  }
  /// Ready for `bordered`. Where J is singular to rounding, at a fold, J + s I is factored, for a small s: refinement is with J.
  bool factor(V const& u, V const& slope) {
    auto const solved = [&] {
      auto [v, linear] = solver_.solve(slope, report_);
      if (is_usable(linear)) through_slope_ = std::move(v);
      return is_usable(linear) || fail(linear.reason(), text("the linear solve with dF/du failed: ", linear));
    };
    solver_.linearize(problem_.function(), u, report_);
    if (solved()) return true;
    double const length = problem_.norm(slope), size = (std::max)(length, problem_.norm(solver_.times(slope)) / length);
    solver_.set_up_shifted(T(size * std::sqrt(double(std::numeric_limits<T>::epsilon()))));
    return solved();
  }
  /// x with J x.u + slope x.lambda = r and <tangent, x> = length: block elimination, and at least one step of refinement, without which it loses all
  /// digits where J is nearly singular.
  std::optional<pair> bordered(V const& slope, pair const& tangent, V const& r, double length) {
    V const none = none_like(r);
    pair x{none, 0};
    V rest = r;
    double rest_length = length;
    double const of_r = problem_.norm(r), of_slope = problem_.norm(slope), enough = (std::max)(1e-10, 100 * double(std::numeric_limits<T>::epsilon()));
    for (int pass = 0; pass < 6; ++pass) {
      pair step{none, 0};  // w, and w - mu v with mu is the change
      if (pass > 0 || of_r > 0) {
        auto [w, linear] = solver_.solve(rest, report_);
        if (!is_usable(linear)) return fail(linear.reason(), text("the linear solve with dF/du failed: ", linear)), std::nullopt;
        step.u = std::move(w);
      }
      pair const along{*through_slope_, -1};
      double const mu = (inner(tangent, step) - rest_length) / inner(tangent, along);
      x = sum(sum(x, 1, step), -mu, along);
      rest = problem_.sum(problem_.sum(r, -1, solver_.times(x.u)), -x.lambda, slope);
      rest_length = length - inner(tangent, x);
      double const left = problem_.norm(rest), of = of_r + std::abs(double(x.lambda)) * of_slope;
      if (!std::isfinite(left + rest_length)) break;
      if (pass > 0 && left <= enough * of && std::abs(rest_length) <= enough * (std::abs(length) + std::sqrt(inner(x, x)))) return x;
      if (pass == 5 && left <= 0.01 * of) return x;  // of linear solves that are not exact
    }
    return fail(reason::singular, "the bordered system of dF/du, dF/dlambda and the tangent is singular, as where branches cross"), std::nullopt;
  }
  /// Where lambda turns between two places: its part of the tangent is zero, by regula falsi (Illinois). None where Newton's method fails on the way.
  std::optional<std::pair<place, double>> locate(place const& from, place const& to, double ds) {
    double a = 0, b = ds, ga = double(from.tangent.lambda), gb = double(to.tangent.lambda);
    std::pair<place, double> best = std::abs(ga) < std::abs(gb) ? std::pair(from, a) : std::pair(to, b);
    double const rounding = double(std::numeric_limits<T>::epsilon());
    auto const turns_to = [&](double slope) { return std::abs(double(best.first.tangent.lambda)) <= slope * options_.lambda_scale; };
    fail(reason::stagnated, "the tangent does not turn smoothly");
    for (int tries = 0; tries < 30 && !turns_to((std::max)(1e-8, 10 * rounding)); ++tries) {
      double const s = (a * gb - b * ga) / (gb - ga);
      auto p = correct(from, s);
      if (!p) break;
      double const g = double(p->tangent.lambda);
      if (std::abs(g) < std::abs(double(best.first.tangent.lambda))) best = {*p, s};
      if ((g > 0) == (gb > 0))
        ga /= 2;
      else
        a = b, ga = gb;
      b = s, gb = g;
    }
    return turns_to((std::max)(1e-6, 1000 * rounding)) ? std::optional(best) : std::nullopt;  // lambda is as exact as its square
  }

  F const& f_;
  Parameter& lambda_;  ///< where F was evaluated last, and its Jacobian with it
  Problem const& problem_;
  arclength const& options_;
  Solver& solver_;
  branch_report& report_;
  double unknowns_ = 1;
  std::optional<V> through_slope_;  ///< J^-1 dF/dlambda
  sla::reason why_ = reason::stagnated;
  std::string failed_;
};

/// Errors: value_error that names the option which makes no sense.
template <class = void>
void require_sensible(arclength const& o) {
  double const step = std::abs(o.step);
  if (!(o.min_step > 0 && o.min_step <= step && step <= o.max_step && std::isfinite(o.max_step)))
    throw value_error(text("arclength{.step = ", o.step, ", .min_step = ", o.min_step, ", .max_step = ", o.max_step, "}: .min_step is positive, and the size of .step is from it to .max_step"));
  if (!(o.rtol > 0 && o.rtol < 1)) throw value_error(text("arclength{.rtol = ", o.rtol, "}: a relative tolerance is more than 0 and less than 1, such as 1e-8"));
  if (o.steps < 0 || o.newton_iterations < 1) throw value_error(text("arclength{.steps = ", o.steps, ", .newton_iterations = ", o.newton_iterations, "}: .steps is at least 0, and .newton_iterations at least 1"));
  if (!(o.least_lambda <= o.most_lambda)) throw value_error(text("arclength{.least_lambda = ", o.least_lambda, ", .most_lambda = ", o.most_lambda, "}: the first is at most the second, and neither is NaN"));
  if (!(o.lambda_scale > 0 && std::isfinite(o.lambda_scale))) throw value_error(text("arclength{.lambda_scale = ", o.lambda_scale, "}: a scale is positive and finite"));
}

/// The laws of the call, with their sentences; O: what stands behind the options.
template <class F, class V, class... O>
constexpr bool require_branch() {
  constexpr bool real_elements = !is_complex<typename element_type_of<V>::type>, linear_options = ((role_of<O> != role_of_option::parameter) && ...);
  static_assert(real_elements, "sla: trace_branch(F, u0, lambda0, arclength{}): u has real elements; write a complex system by its real and imaginary parts");
  static_assert(linear_options, "sla: trace_branch(F, u0, lambda0, arclength{}, ...): behind the options stand a linear method and a preconditioner, or nothing, and on(make_space), on ranks jacobian_on(D); other parameters F catches");
  if constexpr (real_elements && linear_options)
    if constexpr (require_unknown<V>()) return require_values<F, V, decltype(argument_number(std::declval<V const&>(), 0.0))>();
  return false;
}
} // namespace detail

/// The branch of solutions of F(u, lambda) = 0 that goes through the one at lambda0 near u0, by pseudo-arclength continuation, past folds, where lambda turns and dF/du is singular:
///     auto [points, report] = trace_branch(bratu, zeros<double>(n), 0.0, arclength{.step = 0.1, .steps = 30});
///     for (auto const& p : points) std::cout << p.lambda << ' ' << p.norm << (p.fold ? " fold\n" : "\n");
/// Each step goes along the tangent and back to the branch by Newton's method in the plane across it, with bordered systems by block elimination and refinement, dF/du being factored by lu{}, or set up
/// by the linear method and the preconditioner that stand behind the options, where on(make_space) may stand too. Steps grow where that is easy, and are halved where it fails or the branch turns by more than 37 degrees. Folds are located and
/// stand among the points. Where a step falls below min_step, the points so far are returned, and report.why says why.
/// Law: real u, as of nonlinear_solve; lambda is a number, which F takes by `auto const&`, on ranks a distributed one, Replicate. Two folds in one step are not seen; of branches that cross, one is followed.
/// Placement: the points lie as u0; on ranks solves are with J v, by GMRES or the method behind the options, or with Jacobians by jacobian_on(D).
/// Cost: per Newton iteration a Jacobian, a factorisation, and about five solves. Memory: a vector per point (keep_u). Errors: value_error, shape_error; where there is no solution at lambda0, value_error.
/// Source: Keller, Numerical solution of bifurcation and nonlinear eigenvalue problems (1977); Govaerts and Pryce, Block elimination with one refinement solves bordered linear systems accurately (1990).
template <class F, class U, class... O>
[[nodiscard]] auto trace_branch(F const& f, U const& u0, double lambda0, arclength const& options, O const&... more) {
  auto const& start = detail::argument(detail::plain_value(u0));
  using V = std::remove_cvref_t<decltype(start)>;
  if constexpr (detail::require_branch<F, V, O...>()) {
    detail::require_sensible(options);
    branch<V> out;
    out.report.method = "trace_branch", out.report.rtol = options.rtol;
    if (!std::isfinite(lambda0)) throw value_error(text("trace_branch(F, u0, lambda0): lambda0 is ", lambda0));
    if (std::string const words = detail::not_finite_in(start); !words.empty()) throw value_error(text("trace_branch(F, u0, lambda0): u0 has ", words));
    double const begun = detail::seconds_now();
    auto const of = detail::by_role(more...);
    auto const factors = dependent_t<lu<>, F>{};
    auto const linear = [&] {
      if constexpr (detail::is_host_tensor<V> && std::tuple_size_v<decltype(of.linear)> == 0)
        return std::tie(factors);
      else
        return of.linear;
    }();
    auto const solver = detail::solver_for<V>(options, of.place, linear, of.stored);
    solver->with_diagonal();
    auto lambda = argument_number(start, lambda0);
    auto const of_u = detail::with_parameters(f, lambda);
    auto space = detail::space_of_unknowns(start, of.place);
    detail::nonlinear_problem<std::remove_const_t<decltype(of_u)>, V, decltype(space)> const problem(of_u, out.report, space);
    out.points = detail::branch_tracer<F, V, decltype(lambda), std::remove_const_t<decltype(problem)>, std::remove_cvref_t<decltype(*solver)>>(f, lambda, problem, options, *solver, out.report)
                     .run(start, typename V::value_type(lambda0));
    out.report.seconds = detail::seconds_now() - begun;
    return out;
  } else {
    return detail::never<branch<dependent_t<tensor<double, Extents<dyn>>, F>>>();  // well-formed, so that the sentence is the only error
  }
}

} // namespace sla
