// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves, by any method: one entry of the tape whatever the iterations, and one more solve with what the first had set up. Back:
// A^H w = g gives b: w and A_k: -w[row] conj(x[col]). Forth: A dx = db - dA x. A solve that fails is a solve_error.
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/grad/operation/dual_solve.hpp>
#include <sla/grad/operation/traced_sparse.hpp>
#include <sla/grad/tape/implicit.hpp>
#include <sla/solve/direct/direct.hpp>
#include <sla/solve/direct/fill_ordering.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/linear.hpp>

namespace sla {

namespace detail {
/// Which system a prepared operator solves: A x = b, A^T x = b or A^H x = b.
template <bool Transposed, bool Conj>
struct orientation {
  static_assert(Transposed || !Conj);

  template <class Prepared, class B, class... Options>
  static auto try_solve(Prepared const& s, B const& b, Options const&... options) {
    if constexpr (!Transposed)
      return s.try_solve(b, options...);
    else if constexpr (Conj)
      return s.try_solve_adjoint(b, options...);
    else
      return s.try_solve_transpose(b, options...);
  }
  /// w with op(A)^H w = g, its true residual checked. Errors: solve_error.
  template <class Prepared, class G, class... Options>
  static auto pullback(Prepared const& s, G const& g, Options const&... options) {
    if constexpr (!Transposed) {
      return s.solve_adjoint(g, options...);
    } else if constexpr (Conj || !is_complex<typename G::value_type>) {
      return s.solve(g, options...);
    } else {
      auto w = s.solve(conj(g), options...);  // conj(A) w = g is A conj(w) = conj(g)
      w = conj(w);
      return w;
    }
  }
};

/// In the place of a traced matrix, where the matrix is constant.
template <bool Transposed, bool Conj>
struct constant_matrix {
  static constexpr bool transposed = Transposed, conj = Conj;
  no_rule residual_rule() const { return {}; }
};

/// The options of one call, for values without a trace: where to begin does not change the solution.
template <class O>
O const& plain_option(O const& option) {
  return option;
}
template <class V, class Home>
guess<V> plain_option(guess<traced<V, Home>> const& option) {
  return {&option.x->value()};
}

/// What solves with op(A), to first order, once the solve itself has reached its tolerance. Errors: solve_error.
template <class Prepared, class System, class Kept>
struct linearized_solve {
  std::shared_ptr<Prepared const> s;
  sla::report report;
  Kept options;

  template <class X>
  linearized_solve const& operator()(X const&) const {
    if (!report.converged()) throw solve_error(report);
    return *this;
  }
  template <class G>
  auto solve_adjoint(G const& g) const {
    return std::apply([&](auto const&... o) { return System::pullback(*s, g, o...); }, options);
  }
  template <class R>
  auto solve(R const& r) const {
    return std::apply([&](auto const&... o) { return solved(System::try_solve(*s, r, o...)); }, options);
  }
};

/// Is it set up with a method that is judged by another measure than b - A x, such as one for least squares? What x leaves of b need not be zero then, and
/// counts in the derivatives.
template <class Prepared>
inline constexpr bool has_other_measure = false;
template <class A, class Method, class P>
inline constexpr bool has_other_measure<prepared<A, Method, P>> = !std::same_as<measure_of_t<Method>, residual_of_system>;
template <class Solver, class DA>
inline constexpr bool has_other_measure<dual_solver<Solver, DA>> = has_other_measure<Solver>;
/// Errors: shape_error, if A is not square, though the method takes it: A x = b does not define x then.
template <class Prepared>
void check_square_system(Prepared const&) {}
template <class A, class Method, class P>
void check_square_system(prepared<A, Method, P> const& s) {
  if constexpr (!wants_square<Method>) linear_world<A>::check(s.matrix(), true);
}
template <class Solver, class DA>
void check_square_system(dual_solver<Solver, DA> const& s) {
  check_square_system(s.values());
}

/// {x, report} of a prepared operator, traced: its matrix (or not), and b (or not). A higher floor brings a matrix of its own,
/// with `transposed`, `conj`, and `residual_rule()`, how the residual b - op(A) x depends on A.
template <class Home, class Prepared, class A, class B, class... Options>
auto trace_solve(Home& home, std::shared_ptr<Prepared const> s, A const& matrix, B const& b, Options const&... options) {
  static_assert(!has_other_measure<Prepared>, "sla: s.solve(b), traced, where s is prepared for a method for least squares, whose derivatives are not there, nor are those of one with another measure of "
                                              "its own: least_squares(A, b) has them, of <sla/least_squares.hpp>");
  check_square_system(*s);
  using System = orientation<A::transposed, A::conj>;
  auto forward = System::try_solve(*s, plain_value(b), plain_option(options)...);
  auto kept = std::tuple_cat(derivative_option(options)...);
  linearized_solve<Prepared, System, decltype(kept)> linearized{std::move(s), forward.report, std::move(kept)};
  auto x = record_implicit(home, std::move(forward.x), std::move(linearized), linear_in(b, unchanged, unchanged), matrix.residual_rule());
  return solution<decltype(x)>{x, std::move(forward.report)};
}
template <bool Transposed, bool Conj, class Prepared, class B, class... Options>
auto trace_constant(Prepared const& s, B const& b, Options const&... options) {
  if constexpr (has_dual_elements<plain_t<B>>)
    return trace_solve(b.home(), detail::shared_of<dual_solver<Prepared> const>(s), constant_matrix<Transposed, Conj>{}, b, options...);
  else
    return trace_solve(b.home(), detail::shared_of<Prepared const>(s), constant_matrix<Transposed, Conj>{}, b, options...);
}

/// How a traced operator is set up: as `prepare` with these options, or as a direct solver that keeps its factors.
template <class... Options>
struct make_prepared {
  std::tuple<Options...> options;
  template <class A>
  auto operator()(A&& a) const {
    return std::apply([&](auto const&... o) { return prepare(std::forward<A>(a), o...); }, options);
  }
};
template <class Direct>
struct make_direct {
  template <class A>
  auto operator()(A&& a) const {
    if constexpr (has_dual_elements<std::remove_cvref_t<A>>)
      return dual_solver_of(a, make_direct<typename factors_of_values<Direct>::type>());
    else
      return Direct(std::forward<A>(a));
  }
};

/// A on the values of another, which outlives it: what is recorded is on the tape before the solves with it.
template <class T, class S, class F, class Memory>
sparse_tensor<T, S, F, Memory> lent(sparse_tensor<T, S, F, Memory> const& a) {
  return {a.shape(), a.shared_pattern(), buffer<T, Memory>::borrow(a.values().data(), a.values().size())};
}
} // namespace detail

/// A traced operator set up once, for values and derivatives: what `prepare(A, method, preconditioner)` is of a traced A, whose
/// values it shares. X: traced<V>.
template <class X, class Make>
class traced_prepared : public detail::throwing_solves<traced_prepared<X, Make>> {
public:
  traced_prepared(X a, Make make) : a_(a), make_(std::move(make)), s_(made(a_)) {}

  X const& matrix() const { return a_; }
  /// What solves with the value of the matrix.
  auto const& plain() const { return *s_; }
  int setups() const { return setups_; }

  template <class B, class... Options>
  auto try_solve(B const& b, Options const&... options) const {
    return run<false, false>(b, options...);
  }
  template <class B, class... Options>
  auto try_solve_transpose(B const& b, Options const&... options) const {
    return run<true, false>(b, options...);
  }
  template <class B, class... Options>
  auto try_solve_adjoint(B const& b, Options const&... options) const {
    return run<true, true>(b, options...);
  }
  /// Another traced matrix, set up anew. Solves that are recorded keep what they were made with; where this throws, all is as before.
  void update(X a) {
    auto next = made(a);
    a_ = std::move(a);
    s_ = std::move(next);
    ++setups_;
  }

private:
  using Prepared = decltype(std::declval<Make const&>()(std::declval<plain_t<X>>()));
  std::shared_ptr<Prepared const> made(X const& a) const { return detail::shared_of<Prepared const>(make_(detail::lent(a.value()))); }
  template <bool Transposed, bool Conj, class B, class... Options>
  auto run(B const& b, Options const&... options) const {
    auto const& s = s_.shared();
    return detail::trace_solve(a_.home(), s, detail::make_matrix_part<Transposed, Conj>(detail::operand_of(a_)), b, options...);
  }
  X a_;
  Make make_;
  detail::held<Prepared const, "a prepared solver"> s_;
  int setups_ = 1;
};

/// Factors of a traced A that are kept for the derivative: what `lu(A)`, `cholesky(A)` and `ldlt(A)` are of it.
template <class Factors, class X>
struct traced_factors : traced_prepared<X, detail::make_direct<Factors>> {
  explicit traced_factors(X a) : traced_prepared<X, detail::make_direct<Factors>>(std::move(a), {}) {}
  void refactor(X a) { this->update(std::move(a)); }
};
template <class V, class Home>
struct lu<traced<V, Home>> : traced_factors<lu<V>, traced<V, Home>> {
  using traced_factors<lu<V>, traced<V, Home>>::traced_factors;
};
template <class V, class Home>
lu(traced<V, Home>) -> lu<traced<V, Home>>;
template <class V, class Home>
struct cholesky<traced<V, Home>> : traced_factors<cholesky<V>, traced<V, Home>> {
  using traced_factors<cholesky<V>, traced<V, Home>>::traced_factors;
};
template <class V, class Home>
cholesky(traced<V, Home>) -> cholesky<traced<V, Home>>;
template <class V, class Home>
struct ldlt<traced<V, Home>> : traced_factors<ldlt<V>, traced<V, Home>> {
  using traced_factors<ldlt<V>, traced<V, Home>>::traced_factors;
};
template <class V, class Home>
ldlt(traced<V, Home>) -> ldlt<traced<V, Home>>;

/// What a prepared operator and the solution of A x = b hand back: (-w[row] conj(x[col]) on the pattern of A, w), A^H w = g.
/// Errors: solve_error, if the adjoint solve fails.
template <class A, class Method, class P, class X, class G>
auto vjp(op::solve, prepared<A, Method, P> const& s, X const& x, G const& g) {
  auto const& solved = detail::argument(x);
  auto w = s.solve_adjoint(detail::argument(g));
  auto to_A = detail::collected(s.matrix(), detail::to_values<false, false>(view(solved), view(w), -1));
  return std::tuple{std::move(to_A), std::move(w)};
}
/// What the tangents dA and db make of the solution of A x = b: A^-1 (db - dA x), by what is set up, to the same tolerance.
/// Errors: solve_error, if that solve fails; shape_error, if dA has another pattern than A.
template <class A, class Method, class P, class X, class DB>
auto jvp(op::solve, prepared<A, Method, P> const& s, X const& x, A const& dA, DB const& db) {
  return s.solve(detail::argument(db) - dA * detail::argument(x));
}

namespace detail {
template <class B>
concept TracedTensor = Traced<B> && is_tensor<plain_t<B>>;
template <class A, class B>
concept TracedSystem = (TracedSparse<A> && VectorOrTraced<B>) || (!is_tracing<A> && TracedTensor<B>);
/// op(A) of a traced A on this machine.
template <class A>
concept StoredTracedView = is_traced_view<A> && is_sparse_tensor<typename A::plain_type>;
} // namespace detail

template <class A, class B, class... Options>
  requires detail::TracedSystem<A, B>
auto perform(op::try_solve, A const& a, B const& b, Options const&... options) {
  detail::make_prepared<Options...> const make{{options...}};
  if constexpr (Traced<A>)
    return traced_prepared<A, detail::make_prepared<Options...>>(a, make).try_solve(b, options...);
  else
    return make(a).try_solve(b, options...);
}
template <class A, class B, class... Options>
  requires detail::TracedSystem<A, B>
auto perform(op::solve, A const& a, B const& b, Options const&... options) {
  constexpr bool has_derivatives = (std::same_as<measure_of_t<Options>, residual_of_system> && ...);
  static_assert(has_derivatives, "sla: solve(A, b, method), traced: derivatives of a method for least squares are not there, nor of one with another measure of its own: "
                                 "least_squares(A, b) has them, of <sla/least_squares.hpp>");
  if constexpr (has_derivatives)
    return detail::solved(perform(op::try_solve{}, a, b, options...));
  else
    return detail::never<plain_t<B>>();
}
template <TracedSparse A, class... Options>
auto perform(op::prepare, A const& a, Options const&... options) {
  return traced_prepared<A, detail::make_prepared<Options...>>(a, {{options...}});
}

// ---- transpose(A), adjoint(A) and conj(A) of a traced A are stored, and solved with, as of a plain one

template <class A, class B, class... Options>
  requires detail::StoredTracedView<A>
auto perform(op::try_solve, A const& a, B const& b, Options const&... options) {
  return try_solve(perform(op::eval{}, a), b, options...);
}
template <class A, class B, class... Options>
  requires detail::StoredTracedView<A>
auto perform(op::solve, A const& a, B const& b, Options const&... options) {
  return solve(perform(op::eval{}, a), b, options...);
}
template <class A, class... Options>
  requires detail::StoredTracedView<A>
auto perform(op::prepare, A const& a, Options const&... options) {
  return prepare(perform(op::eval{}, a), options...);
}

// ---- a plain operator, prepared anywhere, with a traced right-hand side: the tape shares what was set up

template <class A, class Method, class P, detail::TracedTensor B, class... Options>
auto perform(op::try_solve, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::trace_constant<false, false>(s, b, options...);
}
template <class A, class Method, class P, detail::TracedTensor B, class... Options>
auto perform(op::try_solve_transpose, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::trace_constant<true, false>(s, b, options...);
}
template <class A, class Method, class P, detail::TracedTensor B, class... Options>
auto perform(op::try_solve_adjoint, prepared<A, Method, P> const& s, B const& b, Options const&... options) {
  return detail::trace_constant<true, true>(s, b, options...);
}

/// An order of rows and columns is of the pattern, which is constant: permuted(A, amd(A)).
template <TracedSparse A>
auto amd(A const& a) {
  return amd(a.value());
}

} // namespace sla
