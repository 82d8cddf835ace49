// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `prepared`: an operator with a method and a preconditioner, set up once. It is made by `prepare` (solve/linear.hpp), and is
// what `lu(A)`, `cholesky(A)` and `ldlt(A)` are (solve/direct.hpp).
#pragma once

#include <utility>

#include <sla/solve/engine.hpp>

namespace sla {

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
  /// What stands for A^-1 in the method, set up.
  auto const& preconditioner() const { return engine_.preconditioner(); }
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

}  // namespace sla
