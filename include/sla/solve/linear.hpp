// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `solve`, `try_solve` and `prepare`: one driver (solve/driver.hpp) around the methods of solve/krylov and solve/direct.hpp.
// Devices and meshes take part by a `linear_world` of their operators (solve/world.hpp says what it supplies); nothing else.
#pragma once

#include <utility>

#include <sla/solve/choose.hpp>
#include <sla/solve/engine.hpp>

namespace sla {

/// Where to begin: `solve(A, b, cg{}, jacobi{}, initial_guess(x0))`; x0 has the type of the solution and outlives the call.
template <class X>
guess<X> initial_guess(X const& x) {
  return {&x};
}
/// Where to run: `make(frame)` returns the space of the solve, as in `on([](frame f) { return deferred(f, 4); })`.
template <class MakeSpace>
on_space<MakeSpace> on(MakeSpace make) {
  return {std::move(make)};
}

namespace detail {
template <class X>
X solved(solution<X>&& s) {
  if (!s.report.converged()) throw solve_error(std::move(s.report));
  return std::move(s.x);
}
}  // namespace detail

/// An operator with a method and a preconditioner, set up once: made by `prepare(A, method, preconditioner)`.
/// It owns its copy of A's values (move A in to spare it). Calls on one object are not for several threads at once.
template <class A, class Method, class P>
class prepared {
  using World = linear_world<A>;

 public:
  prepared(A a, Method const& method, P const& p) : a_((World::check(a), std::move(a))), engine_(a_, method, p) {}

  A const& matrix() const { return a_; }
  /// How often a factorisation or preconditioner was made or renewed.
  int setups() const { return setups_; }

  /// x with A x = b. Errors: solve_error; as `solve`. Options: initial_guess, on, keep_history.
  template <class B, class... Options>
  auto solve(B const& b, Options const&... options) const {
    return detail::solved(try_solve(b, options...));
  }
  /// x with A^T x = b, by the stored conjugate transpose and the adjoint of the preconditioner, made on first need.
  template <class B, class... Options>
  auto solve_transpose(B const& b, Options const&... options) const {
    return detail::solved(try_solve_transpose(b, options...));
  }
  /// x with A^H x = b.
  template <class B, class... Options>
  auto solve_adjoint(B const& b, Options const&... options) const {
    return detail::solved(try_solve_adjoint(b, options...));
  }

  /// The same, with the report instead of solve_error.
  template <class B, class... Options>
  auto try_solve(B const& b, Options const&... options) const {
    return engine_.solve(a_, vector(b), options...);
  }
  template <class B, class... Options>
  auto try_solve_adjoint(B const& b, Options const&... options) const {
    return engine_.solve_adjoint(a_, vector(b), options...);
  }
  template <class B, class... Options>
  auto try_solve_transpose(B const& b, Options const&... options) const {
    using V = std::remove_cvref_t<decltype(vector(b))>;
    if constexpr (is_complex<typename V::value_type>) {
      auto s = engine_.solve_adjoint(a_, V(conj(vector(b))), options...);  // A^T x = b is A^H conj(x) = conj(b)
      s.x = conj(s.x);
      return s;
    } else {
      return try_solve_adjoint(b, options...);
    }
  }

  /// New values on the same pattern; the set-up is renewed. Errors: shape_error, if the pattern is another.
  void update(A a) {
    if (!World::same_pattern(a_, a))
      throw shape_error("prepared.update(A): A has another shape or pattern than the matrix that was prepared; prepare(A, ...) anew");
    World::check(a);
    a_ = std::move(a);
    engine_.update(a_);
    ++setups_;
  }

 private:
  template <class B>
  decltype(auto) vector(B const& b) const {
    static_assert(World::template accepts<B>, "sla: prepared.solve(b): b is a tensor or an expression, in the memory of A");
    return World::right_hand_side(a_, b);
  }
  A a_;
  detail::engine<A, Method, P> engine_;
  int setups_ = 1;
};

namespace detail {
/// The method and the preconditioner that the options name, as f(method, preconditioner).
template <class F, class... Options>
decltype(auto) configured(F const& f, Options const&... options) {
  auto const& method = pick<wants_method>(automatic{}, options...);
  auto const& p = pick<wants_preconditioner>(none{}, options...);
  using M = std::remove_cvref_t<decltype(method)>;
  constexpr bool given = !std::same_as<std::remove_cvref_t<decltype(p)>, none>;
  if constexpr (requires { method.preconditioner(); }) {
    static_assert(!given, "sla: solve(A, b, method, preconditioner): a direct or automatic method takes no preconditioner; name a Krylov method such as gmres{}");
    return f(method.method(), method.preconditioner());
  } else if constexpr (std::same_as<M, automatic>) {
    static_assert(!given, "sla: solve(A, b, preconditioner): name the method too, such as gmres{}; the automatic choice picks both");
    return f(method, none{});
  } else if constexpr (given) {
    return f(method, p);
  } else {
    return f(method, identity{});
  }
}
}  // namespace detail

template <class A, class B, detail::SolveOption... Options>
  requires(linear_world<A>::template accepts<B>)
auto perform(op::try_solve, A const& a, B const& b, Options const&... options) {
  using World = linear_world<A>;
  World::check(a);
  auto const& vector = World::right_hand_side(a, b);
  return detail::configured(
      [&](auto const& method, auto const& p) {
        detail::engine<A, std::remove_cvref_t<decltype(method)>, std::remove_cvref_t<decltype(p)>> const engine(a, method, p);
        return engine.solve(a, vector, options...);
      },
      options...);
}
template <class A, class B, detail::SolveOption... Options>
  requires(linear_world<A>::template accepts<B>)
auto perform(op::solve, A const& a, B const& b, Options const&... options) {
  return detail::solved(perform(op::try_solve{}, a, b, options...));
}
template <class A, detail::SolveOption... Options>
  requires requires { typename linear_world<std::remove_cvref_t<A>>::operator_type; }
auto perform(op::prepare, A&& a, Options const&... options) {
  using Operator = std::remove_cvref_t<A>;
  return detail::configured(
      [&](auto const& method, auto const& p) {
        return prepared<Operator, std::remove_cvref_t<decltype(method)>, std::remove_cvref_t<decltype(p)>>(std::forward<A>(a), method, p);
      },
      options...);
}

/// x with A x = b, for square A of shape (*batch, M, M, *block): b is (*batch, M, p), or has one more axis of right-hand
/// sides. `solve(A, b)` looks at A and picks a method; `solve(A, b, cg{.rtol = 1e-10}, jacobi{})` names them; further
/// options: initial_guess(x0), keep_history, on(make_space).
/// Law: |b - A x| <= max(rtol |b|, atol) for every item, by the residual recomputed from x. Gradient: one more solve.
/// Errors: solve_error with the report, if the tolerance was not reached; shape_error; value_error for NaN in A or b.
template <class A, class B, class... Options>
  requires Performs<op::solve, A const&, B const&, Options const&...>
auto solve(A const& a, B const& b, Options const&... options) {
  return perform(op::solve{}, a, b, options...);
}
/// The same as `{x, report}`: a tolerance that was not reached is in the report, not thrown.
template <class A, class B, class... Options>
  requires Performs<op::try_solve, A const&, B const&, Options const&...>
auto try_solve(A const& a, B const& b, Options const&... options) {
  return perform(op::try_solve{}, a, b, options...);
}
/// A method and preconditioner set up once for A: solve(b), solve_transpose(b), solve_adjoint(b), update(A2).
template <class A, class... Options>
  requires Performs<op::prepare, A, Options const&...>
auto prepare(A&& a, Options const&... options) {
  return perform(op::prepare{}, std::forward<A>(a), options...);
}

}  // namespace sla
