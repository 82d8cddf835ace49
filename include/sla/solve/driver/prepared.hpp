// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `prepared`: an operator with a method and a preconditioner, set up once. It is made by `prepare` (solve/linear/linear.hpp), and is
// what `lu(A)`, `cholesky(A)` and `ldlt(A)` are (solve/direct/direct.hpp).
#pragma once

#include <utility>

#include <sla/core/held.hpp>
#include <sla/expr/dense/ops.hpp>
#include <sla/solve/driver/engine.hpp>

namespace sla {

namespace detail {
template <class X>
X solved(solution<X>&& s) {
  if (!s.report.converged()) throw solve_error(std::move(s.report));
  return std::move(s.x);
}

/// Solves that throw what the report says, by those of Self that return it. Errors: solve_error; as `solve`.
template <class Self>
class throwing_solves {
public:
  /// x with A x = b. Options: initial_guess, on, keep_history.
  template <class B, class... Options>
  auto solve(B const& b, Options const&... options) const {
    return solved(static_cast<Self const&>(*this).try_solve(b, options...));
  }
  /// x with A^T x = b, by the stored conjugate transpose and the adjoint of the preconditioner, made on first need.
  template <class B, class... Options>
  auto solve_transpose(B const& b, Options const&... options) const {
    return solved(static_cast<Self const&>(*this).try_solve_transpose(b, options...));
  }
  /// x with A^H x = b.
  template <class B, class... Options>
  auto solve_adjoint(B const& b, Options const&... options) const {
    return solved(static_cast<Self const&>(*this).try_solve_adjoint(b, options...));
  }
};
} // namespace detail

/// An operator with a method and a preconditioner, set up once: made by `prepare(A, method, preconditioner)`.
/// It owns its copy of A's values (move A in to spare it). Copies share all until one is updated. Several threads
/// may solve by one object, or by copies of it, at once; observers are called by each of them. What is made on first need, the adjoint,
/// and factors or preconditioners of the automatic choice, one thread makes, while others that solve wait. `update` is for one thread.
template <class A, class Method, class P>
class prepared : public detail::throwing_solves<prepared<A, Method, P>> {
  using World = linear_world<A>;
  /// Right-hand sides of higher floors, traced ones; or of none.
  template <class B>
  static constexpr bool is_foreign = !World::template accepts<B>;

public:
  prepared(A a, Method const& method, P const& p) : state_(detail::shared_of<state>((World::check(a, detail::wants_square<Method>, "prepare(A, ...)"), std::move(a)), method, p)) {}

  A const& matrix() const { return state_->a; }
  /// What stands for A^-1 in the method, set up.
  auto const& preconditioner() const { return state_->engine.preconditioner(); }
  /// How often a factorisation or preconditioner was made or renewed.
  int setups() const { return state_->setups; }

  /// {x, report}, whether or not the tolerance was reached.
  template <class B, class... Options>
  auto try_solve(B const& b, Options const&... options) const {
    if constexpr (is_foreign<B>)
      return perform(op::try_solve{}, *this, b, options...);
    else
      return state_->engine.solve(matrix(), vector(b), options...);
  }
  template <class B, class... Options>
  auto try_solve_adjoint(B const& b, Options const&... options) const {
    if constexpr (is_foreign<B>)
      return perform(op::try_solve_adjoint{}, *this, b, options...);
    else
      return state_->engine.solve_adjoint(matrix(), vector_of_adjoint(b), options...);
  }
  template <class B, class... Options>
  auto try_solve_transpose(B const& b, Options const&... options) const {
    if constexpr (is_foreign<B>) {
      return perform(op::try_solve_transpose{}, *this, b, options...);
    } else if constexpr (is_complex<typename World::template vector_type<B>::value_type>) {
      using V = typename World::template vector_type<B>;
      auto s = try_solve_adjoint(V(conj(vector_of_adjoint(b))), options...);  // A^T x = b is A^H conj(x) = conj(b)
      s.x = conj(s.x);
      return s;
    } else {
      return try_solve_adjoint(b, options...);
    }
  }

  /// New values on the same pattern; the set-up is renewed. Errors: shape_error, if the pattern is another; those of the set-up.
  /// Where it throws, the old values and their set-up stay; but factors that run out of memory say so in each report (setup_failed)
  /// until the next update, which may be with matrix().
  void update(A a) {
    if (!World::same_pattern(matrix(), a))
      throw shape_error("prepared.update(A): A has another shape or pattern than the matrix that was prepared; prepare(A, ...) anew");
    World::check(a, detail::wants_square<Method>, "prepared.update(A)");
    detail::held<state, "a prepared solver"> const next = state_.is_sole() ? state_ : detail::shared_of<state>(*state_);
    next->engine.update(a);
    next->a = std::move(a);
    ++next->setups;
    state_ = next;
  }

private:
  template <class B>
  decltype(auto) vector(B const& b) const {
    return World::right_hand_side(matrix(), b);
  }
  /// Of methods for square operators the same; others have the adjoint look at b.
  template <class B>
  decltype(auto) vector_of_adjoint(B const& b) const {
    if constexpr (detail::wants_square<Method>)
      return vector(b);
    else
      return (b);
  }
  struct state {
    state(A matrix, Method const& method, P const& p) : a(std::move(matrix)), engine(a, method, p) {}
    A a;
    detail::engine<A, Method, P> engine;
    int setups = 1;
  };
  detail::held<state, "a prepared solver"> state_;
};

} // namespace sla
