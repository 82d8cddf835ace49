// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A method for least squares with its preconditioner or factors, set up for one A, and what solves with it: for b, and, in derivatives,
// for (A^H A + damping^2) w = g. The choice among methods is in solve/least_squares/least_squares_choice.hpp.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include <sla/expr/sparse/algebra.hpp>
#include <sla/solve/driver/engine.hpp>
#include <sla/solve/least_squares/cgls.hpp>
#include <sla/solve/least_squares/dense_qr.hpp>
#include <sla/solve/least_squares/judge.hpp>
#include <sla/solve/precond/jacobi.hpp>

namespace sla::detail {

/// 1 / (|column|^2 + damping^2): the Jacobi preconditioner of the normal equations, which are not formed for it. A column of zeros has 1.
template <class T, class S, class F>
auto inverse_of_columns(sparse_tensor<T, S, F> const& A, double damping) {
  constexpr index_t P = S::block_rows, Q = S::block_cols;
  tensor<T, domain_extents_t<S>> out(A.domain());
  auto const pattern = A.pattern().view();
  for (index_t b = 0; b < A.batch_count(); ++b)
    for (index_t i = 0; i < A.rows(); ++i)
      pattern.for_row(i, [&](index_t s, index_t j) {
        for (index_t p = 0; p < P; ++p)
          for (index_t q = 0; q < Q; ++q) out[(b * A.cols() + j) * Q + q] += T(abs2_of(to_kernel(A.values()[b * A.batch_stride() + (s * P + p) * Q + q])));
      });
  for (T& v : out) {
    v += T(real_t<T>(damping * damping));
    v = v == T(0) ? T(1) : T(1) / v;
  }
  return out;
}
/// A^H A + damping^2, formed. Cost: the sum of the squares of the entries per row.
template <class T, class S, class F>
auto normal_matrix(sparse_tensor<T, S, F> const& A, double damping) {
  auto N = eval(adjoint(A) * A);
  if (damping == 0) return N;
  constexpr index_t Q = S::block_cols;
  for (index_t j = 0; j < N.rows(); ++j) {
    index_t const s = find_slot(N.pattern().view(), j, j);
    if (s < 0)
      throw value_error(text("least_squares(A, b, method, preconditioner): column ", j, " of A is empty, and a preconditioner of A^H A needs its diagonal; leave the column out, or take jacobi{}"));
    for (index_t b = 0; b < N.batch_count(); ++b)
      for (index_t q = 0; q < Q; ++q) N.values()[b * N.batch_stride() + (s * Q + q) * Q + q] += T(real_t<T>(damping * damping));
  }
  return N;
}
/// The preconditioner that p asks for: options are set up for A^H A + damping^2.
template <class P, class A>
auto normal_setup(P const& p, A const& a, double damping) {
  constexpr bool has_entries = !PreconditionerOptions<P> || std::same_as<P, identity> || Readable<A>;
  static_assert(has_entries, "sla: least_squares(A, b, method, preconditioner): options of a preconditioner are set up for A^H A, which is formed of a sparse tensor of the host; here, "
                             "give one that is set up, or a linear_operator<T>(n, n, apply), for vectors like x");
  if constexpr (std::same_as<P, identity> || !has_entries)
    return applied_identity{};
  else if constexpr (!PreconditionerOptions<P>)
    return p;
  else if constexpr (std::same_as<P, jacobi>)
    return applied_jacobi<typename A::value_type, domain_extents_t<typename A::shape_type>>(inverse_of_columns(a, damping), a.batch_count(), A::shape_type::block_cols);
  else
    return p.setup(normal_matrix(a, damping));
}

/// Where a call runs, and what of it derivatives take over.
template <class Where>
struct place_of_call {
  Where where;
  template <class A, class V>
  auto space(A const& a, V const& b) const {
    if constexpr (std::same_as<Where, none>)
      return space_of_call(a, b);
    else
      return space_of_call(a, b, where);
  }
};

/// One solve of a problem from x = 0 by `improve(space, problem, x, make_stop)`; the method, its preconditioner, and the seconds of its set-up are for the report.
template <class A, class V, class Place, class Improve>
auto solved_problem(A const& a, V const& b, std::remove_cvref_t<decltype(linear_world<A>::zero_of_domain(std::declval<A const&>(), std::declval<V const&>()))> const* linear, double damping,
                    Place const& place, bool history, stop_rule const& rule, char const* method, std::string preconditioner, double seconds, Improve const& improve) {
  using X = decltype(linear_world<A>::zero_of_domain(a, b));
  double const start = seconds_now();
  X x = linear_world<A>::zero_of_domain(a, b);
  dependent_t<least_squares_report, A> out;
  out.method = method, out.preconditioner = std::move(preconditioner), out.seconds_setup = seconds;
  out.rtol = rule.rtol;
  out.damping = damping;
  out.measure = "|A^H r| / (|A| |r|)";
  bool is_empty = false;
  if constexpr (requires { linear_world<A>::is_empty(a, b); })
    is_empty = linear_world<A>::is_empty(a, b);
  else
    is_empty = b.size() == 0;
  if (!is_empty && sides_of(a).second > 0) {
    auto space = place.space(a, b);
    least_squares_problem<A, V, X> const problem{a, b, damping, linear};
    using Run = run_of_method<decltype(space), V>;
    auto const once = [&](typename Run::stop_maker const& make_stop) { return improve(space, problem, x, make_stop); };
    Run const run{&once, [](void const* context, typename Run::stop_maker const& make_stop) { return (*static_cast<decltype(once)*>(context))(make_stop); }};
    drive_least_squares(space, problem, x, rule, run, history, out);
    for (auto const& n : out.least_squares) {
      if (n.by_residual && out.choice.empty()) out.choice = "|r| is within the tolerance of |b|";
      if (n.by_rounding && out.choice.empty()) out.choice = "the rounding of b and x allows for no less";
    }
    if (out.reason() == reason::badly_scaled && out.choice.empty()) out.choice = "or |A|^2 |b|^2 does, or |A|^4 |b|^2, of [A; damping]: scale A";
  }
  out.seconds_solve += seconds_now() - start;
  return least_squares_solution<X>{std::move(x), std::move(out)};
}

/// A method with its preconditioner.
template <class A, class Method, class P>
class least_squares_engine {
  using M = decltype(normal_setup(std::declval<P const&>(), std::declval<A const&>(), 0.0));

public:
  least_squares_engine(A const& a, Method const& method, P const& p, double damping)
      : method_(method), damping_(damping), start_(seconds_now()), m_(normal_setup(p, a, damping)), seconds_(seconds_now() - start_) {}

  template <class V, class Place>
  auto solve(A const& a, V const& b, Place const& place, bool history) const {
    return run(method_, a, b, nullptr, place, history);
  }
  /// w with (A^H A + damping^2) w = g, by CGLS; b: a vector of zeros of the range.
  template <class V, class X, class Place>
  auto solve_normal(A const& a, V const& b, X const& g, Place const& place) const {
    return run(cgls{.rtol = method_.rtol, .max_iterations = method_.max_iterations}, a, b, &g, place, false);
  }

private:
  template <class Any, class V, class X, class Place>
  auto run(Any const& method, A const& a, V const& b, X linear, Place const& place, bool history) const {
    std::string remark = name_of<P>();
    if constexpr (remarks_text<M>) remark += m_.remark();
    return solved_problem(a, b, linear, damping_, place, history, {method.rtol, 0, method.max_iterations, method.watch ? method.watch : default_rule().watch}, Any::name, remark, seconds_,
                          [&](auto& space, auto const& problem, auto& x, auto const& make_stop) { return method.run(space, problem, m_, x, make_stop); });
  }
  Method method_;
  double damping_, start_;
  M m_;
  double seconds_;
};
/// One of factors.
template <class A, class Method, class P>
  requires DirectLeastSquares<Method, A>
class least_squares_engine<A, Method, P> {
public:
  least_squares_engine(A const& a, Method const& method, P const&, double damping)
      : method_(method), damping_(damping), start_(seconds_now()), factors_(method.factor(a, damping)), seconds_(seconds_now() - start_) {}

  template <class V, class Place>
  auto solve(A const& a, V const& b, Place const& place, bool history) const {
    auto out = run(a, b, nullptr, place, history);
    if (std::string const words = factors_.remark(); !words.empty()) add_remark(out.report.choice, words);
    return out;
  }
  template <class V, class X, class Place>
  auto solve_normal(A const& a, V const& b, X const& g, Place const& place) const {
    return run(a, b, &g, place, false);
  }

private:
  template <class V, class X, class Place>
  auto run(A const& a, V const& b, X linear, Place const& place, bool history) const {
    return solved_problem(a, b, linear, damping_, place, history, {method_.rtol, 0, 1, default_rule().watch}, Method::name, "", seconds_,
                          [&](auto& space, auto const& problem, auto& x, auto const& make_stop) {
                            auto [xx] = fuse(space, squared_norm_of(x));
                            space.finish();  // factors know of no queue
                            factors_.solve(problem, x);
                            auto stop = make_stop(space, space.map(always_one{}, xx));
                            stop.go_on(space.map(zero_number{}, xx));
                            least_squares_run out{stop.outcome(), {}, {}};
                            index_t const items = index_t(out.items.size()), rhs = items / a.batch_count();
                            for (index_t k = 0; k < items; ++k) out.size_of_inverse.push_back(factors_.size_of_inverse(k / rhs));
                            return out;
                          });
  }
  Method method_;
  double damping_, start_;
  decltype(std::declval<Method const&>().factor(std::declval<A const&>(), 0.0)) factors_;
  double seconds_;
};

} // namespace sla::detail
