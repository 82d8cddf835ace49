// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Iterations that take values of F alone: Picard's, u - M F(u), and Anderson's acceleration of it. M is the identity, or made of the
// Jacobian where the iteration begins.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <sla/solve/nonlinear/nonlinear_method.hpp>

namespace sla {

namespace detail {
/// g with the least |f - sum g_k df_k|, the newest difference first: by orthogonalisation, which ends before the first one that depends on
/// those before it to `dependent` of its length. As many coefficients as were taken.
template <class Problem, class V>
std::vector<typename V::value_type> newest_fit(Problem const& problem, std::vector<V> const& df, V const& f) {
  using T = typename V::value_type;
  constexpr double dependent = 1e-8;
  std::vector<V> q;
  std::vector<std::vector<T>> upper;
  std::vector<T> rhs;
  V rest = f;
  for (std::size_t k = 0; k < df.size(); ++k) {
    V v = df[df.size() - 1 - k];
    double const length = problem.norm(v);
    std::vector<T> column;
    for (int twice = 0; twice < 2; ++twice)
      for (std::size_t i = 0; i < q.size(); ++i) {
        T const h = problem.inner(q[i], v);
        if (twice == 0) column.push_back(h);
        if (twice == 1) column[i] += h;
        problem.add(v, -h, q[i]);
      }
    double const left = problem.norm(v);
    if (!(left > dependent * length)) break;
    column.push_back(T(real_t<T>(left)));
    v = problem.scaled(T(real_t<T>(1 / left)), v);
    T const h = problem.inner(v, rest);
    problem.add(rest, -h, v);
    rhs.push_back(h), upper.push_back(std::move(column)), q.push_back(std::move(v));
  }
  for (std::size_t k = rhs.size(); k-- > 0;) {
    rhs[k] /= upper[k][k];
    for (std::size_t i = 0; i < k; ++i) rhs[i] -= upper[k][i] * rhs[k];
  }
  return rhs;
}
/// M r, or r.
template <class V>
V preconditioned(std::shared_ptr<dependent_t<linear_operator<double>, V> const> const& M, V const& r) {
  if (!M) return r;
  if constexpr (std::same_as<real_t<typename V::value_type>, double>)
    return laid_as(r, eval(*M * flat(r)));
  else
    return laid_as(r, eval(cast<typename V::value_type>(eval(*M * flat(r)))));  // M is of double
}

/// Anderson's iteration of a depth, of which 0 is Picard's.
template <class Method, class Problem, class V>
void run_fixed_point(Method const& method, int depth, Problem const& problem, V& u) {
  using T = typename V::value_type;
  auto& report = problem.report();
  auto at = problem.first_value(u);
  auto const M = preconditioner_at(method, problem.function(), u, report);
  nonlinear_stop const stop(report, method.rtol, method.atol, method.max_iterations, at.norm);
  std::vector<V> du, df;
  std::optional<V> before_u, before_f;
  auto const rounding = [&] { return problem.rounding_at(u, at.r, [&](V const& v) { return problem.value(v).r; }); };
  while (stop.go_on_unless(report, at.norm, rounding)) {
    V const f = problem.scaled(T(real_t<T>(-method.damping)), preconditioned(M, at.r));
    if (before_f && depth > 0) {
      if (int(df.size()) == depth) du.erase(du.begin()), df.erase(df.begin());
      du.push_back(problem.sum(u, -1, *before_u)), df.push_back(problem.sum(f, -1, *before_f));
    }
    before_u = u, before_f = f;
    problem.add(u, 1, f);
    auto const fit = newest_fit(problem, df, f);
    for (std::size_t k = 0; k < fit.size(); ++k) {
      std::size_t const n = df.size() - 1 - k;
      problem.add(u, -fit[k], du[n]), problem.add(u, -fit[k], df[n]);
    }
    at = problem.value(u);
    ++report.steps;
    if (!std::isfinite(at.norm)) {
      report.true_residual = at.norm;
      return stop_for(report, reason::not_a_number, text(problem.words_of(at.r), ", in iteration ", report.steps, ": the iteration diverges; take a smaller .damping, a .precondition, or newton{}"));
    }
  }
}
} // namespace detail

/// Anderson's acceleration of u - damping M F(u): `nonlinear_solve(F, u0, anderson{.depth = 5, .precondition = amg{}})`. M is the identity, or the preconditioner of
/// the Jacobian at u0, whose pattern is found or given. Ends when |F(u)| <= max(rtol |F(u0)|, atol).
/// Cost: per iteration one F, one M, and depth^2 passes over vectors, of which each on ranks is an all_reduce. Memory: 2 depth vectors.
/// Source: Walker and Ni, Anderson acceleration for fixed-point iterations (2011).
struct anderson {
  double rtol = default_rule().rtol, atol = default_rule().atol;
  int max_iterations = 1000;
  int depth = 5;
  double damping = 1;
  jacobian_preconditioner precondition = {};
  given_pattern pattern = {};

  using nonlinear_method_tag = void;
  static constexpr char const* name = "anderson";

  /// Improves u until |F(u)| is small.
  template <class Problem, class V>
  void run(Problem const& problem, V& u) const {
    if (depth < 0) throw value_error(text("anderson{.depth = ", depth, "}: so many differences are kept; at least 0, such as 5"));
    detail::run_fixed_point(*this, depth, problem, u);
  }
};

/// Picard's iteration, u - damping M F(u): as anderson without memory.
struct picard {
  double rtol = default_rule().rtol, atol = default_rule().atol;
  int max_iterations = 1000;
  double damping = 1;
  jacobian_preconditioner precondition = {};
  given_pattern pattern = {};

  using nonlinear_method_tag = void;
  static constexpr char const* name = "picard";

  /// Improves u until |F(u)| is small.
  template <class Problem, class V>
  void run(Problem const& problem, V& u) const {
    detail::run_fixed_point(*this, 0, problem, u);
  }
};

} // namespace sla
