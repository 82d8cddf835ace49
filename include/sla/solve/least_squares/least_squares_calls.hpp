// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls: `least_squares` and `try_least_squares`, with their laws. What is traced, a view, or on ranks is a `perform` of a higher floor,
// or has a `linear_world` (solve/driver/world.hpp), as for solve.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/solve/least_squares/least_squares_choice.hpp>
#include <sla/solve/least_squares/lsqr.hpp>
#include <sla/solve/linear/linear.hpp>

namespace sla {

namespace detail {
/// The damping of a call; made by `damping`.
template <class D>
struct damping_option {
  D value;
};
template <class O>
inline constexpr bool is_damping = false;
template <class D>
inline constexpr bool is_damping<damping_option<D>> = true;
template <class O>
using wants_damping = std::bool_constant<is_damping<O>>;
template <class O>
using wants_least_squares = std::bool_constant<LeastSquaresMethod<O> || std::same_as<O, automatic>>;
template <class O>
concept LeastSquaresOption = wants_least_squares<O>::value || wants_preconditioner<O>::value || is_on_space<O> || std::same_as<O, keep_history_t> || is_damping<O>;
} // namespace detail

/// The damping of a least squares problem, where it is a variable of a derivative, or the method is chosen by itself: `least_squares(A, b, damping(0.1))`. Of the square
/// it is, |A x - b|^2 + damping^2 |x|^2, as LSQR and LSMR have it. Gradient: -2 damping Re (w, x), with w as for A.
template <class D>
detail::damping_option<D> damping(D const& d) {
  return {d};
}

namespace detail {
/// The numbers of a call, which make sense. Errors: value_error.
template <class Method, class... Options>
double damping_of_call(Method const& method, Options const&... options) {
  double of_method = 0;
  if constexpr (requires { method.damping; }) of_method = method.damping;
  damping_option<double> const unnamed{0.0};
  double const of_option = double(pick<wants_damping>(options..., unnamed).value), d = of_method != 0 ? of_method : of_option;
  if (of_method != 0 && (wants_damping<Options>::value || ...))
    throw value_error(text("least_squares(A, b, ", Method::name, "{.damping = ", of_method, "}, damping(", of_option, ")): the damping is given twice; give one of them"));
  if (!(d >= 0 && d - d == 0)) throw value_error(text("least_squares(A, b): the damping is ", d, ", and must be a number from 0 on: of |A x - b|^2 + damping^2 |x|^2"));
  return d;
}
template <class Method>
void require_sensible_method(Method const& m) {
  if constexpr (requires { m.max_iterations; })
    require_sensible(Method::name, m.rtol, 0, m.max_iterations);
  else
    require_sensible(Method::name, m.rtol, 0, 0);
}

/// f(), whose errors of parts that are those of solves too have the name of this call.
template <class F>
decltype(auto) named_least_squares(F const& f) {
  auto const renamed = [](std::string const& what) {
    std::string_view const words = what;
    return words.starts_with("solve(A, b") || words.starts_with("solve: ") ? text("least_squares", words.substr(5)) : what;
  };
  try {
    return f();
  } catch (shape_error const& e) {
    throw shape_error(renamed(e.what()));
  } catch (value_error const& e) {
    throw value_error(renamed(e.what()));
  }
}

/// The laws of a call, with their sentences.
template <class A, class B, class... Options>
struct least_squares_laws {
  using World = linear_world<A>;
  template <class O>
  static constexpr bool is_method_of_solve = MethodOption<O> && !wants_least_squares<O>::value;
  template <class O>
  static constexpr bool is_direct = LeastSquaresMethod<O> && requires(O const& m) { requires !requires { m.max_iterations; }; };
  template <class O>
  static constexpr bool can_factor_for = !is_direct<O> || DirectLeastSquares<O, A>;
  static constexpr bool names_method = (LeastSquaresMethod<Options> || ...), brings_preconditioner = (wants_preconditioner<Options>::value || ...);
  static constexpr bool one_method = !(is_method_of_solve<Options> || ...) && (0 + ... + wants_least_squares<Options>::value) <= 1;
  static constexpr bool known = !one_method || (LeastSquaresOption<Options> && ...);
  static constexpr bool named = !brings_preconditioner || (names_method && !(is_direct<Options> || ...));
  static constexpr bool factors = !named || (can_factor_for<Options> && ...);
  static constexpr bool fits = fits_system<World, B>, placed = is_placed<World, B>;
  static constexpr bool has_sides = !fits || !placed || requires(A const& a, typename World::template vector_type<B> const& b) {
    World::zero_of_domain(a, b);
    adjoint(a) * b;
  };
  static_assert(one_method, "sla: least_squares(A, b, method): one method, of lsmr{}, lsqr{}, cgls{}, dense_qr{} and, with <sla/adapter/spqr.hpp>, spqr{}; others are for solve(A, b, method)");
  static_assert(known, "sla: least_squares(A, b, options...): options are a method such as lsmr{}, a preconditioner of A^H A, damping(d), keep_history, on(space)");
  static_assert(named, "sla: least_squares(A, b, method, preconditioner): a preconditioner wants an iterative method beside it: lsmr{}, lsqr{} or cgls{}");
  static_assert(factors, "sla: least_squares(A, b, method): a direct method factors a sparse tensor of the host; of an operator of yours, or of one that is distributed, take lsmr{}");
  static_assert(fits, "sla: least_squares(A, b): b must have the extents (*batch, M, p) of A's range, plus at most one axis of right-hand sides");
  static_assert(has_sides, "sla: least_squares(A, b): it multiplies by A and by its adjoint, and A, an operator of yours, has no adjoint() or no cols(): make it by linear_operator<T>(rows, cols, apply, apply_adjoint)");
  static constexpr bool hold = one_method && known && named && factors && fits && placed && has_sides;
};
template <class... Options>
auto place_of_options(Options const&... options) {
  none const absent{};
  auto const& where = pick<wants_space>(options..., absent);
  return place_of_call<std::remove_cvref_t<decltype(where)>>{where};
}
/// The engine for A that the options ask for.
template <class A, class... Options>
auto least_squares_engine_for(A const& a, double d, Options const&... options) {
  automatic const unnamed{};
  identity const absent{};
  auto const& method = pick<wants_least_squares>(options..., unnamed);
  auto const& p = pick<wants_preconditioner>(options..., absent);
  using Method = std::remove_cvref_t<decltype(method)>;
  using P = std::remove_cvref_t<decltype(p)>;
  require_sensible_method(method);
  linear_world<A>::check(a, false);
  return least_squares_engine<A, Method, P>(a, method, p, d);
}
template <class... Options>
double damping_of_options(Options const&... options) {
  automatic const unnamed{};
  return damping_of_call(pick<wants_least_squares>(options..., unnamed), options...);
}
template <class A, class B, class... Options>
auto least_squares_once(A const& a, B const& b, Options const&... options) {
  using World = linear_world<A>;
  if constexpr (least_squares_laws<A, B, Options...>::hold) {
    return named_least_squares([&] {
      auto engine = least_squares_engine_for(a, damping_of_options(options...), options...);
      auto const& vector = World::right_hand_side(a, b);
      return engine.solve(a, vector, place_of_options(options...), has_history<Options...>);
    });
  } else {
    if constexpr (requires { World::template refuse<B>(); }) World::template refuse<B>();
    return never<least_squares_solution<typename World::template vector_type<B>>>();
  }
}
template <class X>
X converged_x(least_squares_solution<X>&& s) {
  if (!s.report.converged()) throw solve_error(std::move(s.report), "least_squares");
  return std::move(s.x);
}
template <class Op>
concept LeastSquaring = std::same_as<Op, op::least_squares> || std::same_as<Op, op::try_least_squares>;
/// What a call gives of {x, report}: both, or x alone, which has converged.
template <LeastSquaring Op, class S>
auto answer_of(S&& s) {
  if constexpr (std::same_as<Op, op::least_squares>)
    return converged_x(std::move(s));
  else
    return std::move(s);
}
/// What is solved here.
template <class O>
inline constexpr bool has_plain_damping = true;
template <class D>
inline constexpr bool has_plain_damping<damping_option<D>> = Number<D>;
template <class A, class B, class... Options>
concept PlainLeastSquares = linear_world<A>::template accepts<B> && (has_plain_damping<Options> && ...);
template <class A, class B>
concept StoredLeastSquares = SparseView<A> && linear_world<std::remove_cvref_t<decltype(stored(std::declval<A const&>()))>>::template accepts<B>;
} // namespace detail

/// The x of least |A x - b|^2 + damping^2 |x|^2, for A of shape (*batch, M, N, *block) and b (*batch, M, p), or with one more axis of right-hand sides. Where several x
/// are as good, of fewer rows than columns or of a rank less than the columns, it is the shortest, if the method has no preconditioner.
/// `least_squares(A, b)` picks a method; `least_squares(A, b, lsmr{.rtol = 1e-10, .damping = 0.1}, jacobi{})` names it, and a preconditioner, whose options are
/// set up for A^H A + damping^2. Further options: damping(d), keep_history, on(make_space). A may be a linear_operator with its adjoint.
/// Law: |A^H r| <= rtol |A| |r| for every item, or |r| <= rtol |b|, or |A^H r| as small as the rounding of b and x allows for; r = b - A x is recomputed from x in
/// twice the precision; of [A; damping] and [b; 0] where there is damping.
/// Gradient: of x to A, b and the damping, with the term of r; one more problem of this size. Of dependent columns, for a cotangent in the row space, along changes that keep the rank.
/// Errors: solve_error with the report, if the tolerance was not reached; shape_error; value_error for NaN in A or b, for a damping below 0.
template <class A, class B, class... Options>
[[nodiscard]] auto least_squares(A const& a, B const& b, Options const&... options) {
  if constexpr (detail::PlainLeastSquares<A, B, Options...>)
    return detail::converged_x(detail::least_squares_once(a, b, options...));
  else
    return perform(op::least_squares{}, a, b, options...);
}
/// The same as `{x, report}`, a least_squares_report: a tolerance that was not reached is in it, not thrown.
template <class A, class B, class... Options>
[[nodiscard]] auto try_least_squares(A const& a, B const& b, Options const&... options) {
  if constexpr (detail::PlainLeastSquares<A, B, Options...>)
    return detail::least_squares_once(a, b, options...);
  else
    return perform(op::try_least_squares{}, a, b, options...);
}

/// A matrix, or operator, with a method for least squares that is set up once, by `prepare(A, spqr{})`, `prepare(A, lsmr{}, jacobi{}, damping(0.1))`: factors, or the
/// preconditioner, serve all right-hand sides. Copies share them. It owns its copy of A.
template <class A, class Engine, class Place>
class prepared_least_squares {
  using World = linear_world<A>;

public:
  prepared_least_squares(A a, Place place, auto const& make) : state_(detail::shared_of<state const>(std::move(a), make)), place_(std::move(place)) {}

  A const& matrix() const { return state_->a; }
  /// {x, report}, whether or not the tolerance was reached. Options: keep_history. Errors: as of `try_least_squares`.
  template <class B, class... Options>
  auto try_solve(B const& b, Options const&...) const {
    constexpr bool accepts = World::template accepts<B>, known = (std::same_as<Options, keep_history_t> && ...);
    static_assert(accepts, "sla: prepare(A, method for least squares).solve(b): b is a plain tensor or expression that A accepts; of a traced one take least_squares(A, b, method)");
    static_assert(!accepts || known, "sla: prepare(A, method for least squares).solve(b, options...): the one option is keep_history; the others are those of prepare");
    if constexpr (accepts && known)
      return detail::named_least_squares([&] { return state_->engine.solve(matrix(), World::right_hand_side(matrix(), b), place_, detail::has_history<Options...>); });
    else
      return detail::never<least_squares_solution<typename World::template vector_type<B>>>();
  }
  /// x. Errors: those, and solve_error, if the tolerance was not reached.
  template <class B, class... Options>
  auto solve(B const& b, Options const&... options) const {
    return detail::converged_x(try_solve(b, options...));
  }

private:
  struct state {
    state(A matrix, auto const& make) : a(std::move(matrix)), engine(make(a)) {}
    A a;
    Engine engine;
  };
  std::shared_ptr<state const> state_;
  Place place_;
};

template <class A, class... Options>
  requires(LeastSquaresMethod<Options> || ...) && requires { typename linear_world<A>::operator_type; }
auto perform(op::prepare, A const& a, Options const&... options) {
  auto const make = [&](A const& kept) { return detail::least_squares_engine_for(kept, detail::damping_of_options(options...), options...); };
  auto const place = detail::place_of_options(options...);
  return detail::named_least_squares([&] { return prepared_least_squares<A, decltype(make(a)), std::remove_const_t<decltype(place)>>(a, place, make); });
}
template <class A, class... Options>
  requires(LeastSquaresMethod<Options> || ...) && SparseView<A>
auto perform(op::prepare, A const& a, Options const&... options) {
  return prepare(detail::stored(a), options...);
}

// transpose(A), adjoint(A) and conj(A) are stored.
template <detail::LeastSquaring Op, class A, class B, class... Options>
  requires detail::StoredLeastSquares<A, B>
auto perform(Op, A const& a, B const& b, Options const&... options) {
  return detail::answer_of<Op>(try_least_squares(detail::stored(a), b, options...));
}
// What is no problem, of any floor: one sentence.
template <detail::LeastSquaring Op, class A, class B, class... X>
auto perform(Op, A const&, B const&, X const&...) {
  static_assert(detail::is_system<A, B, X...>, "sla: least_squares(A, b, options...): A is a sparse tensor or an operator of yours with its adjoint (linear_operator<T>(rows, cols, apply, apply_adjoint)), "
                                               "not a dense matrix, which to<Csr<>>(A) makes sparse; b a tensor or an expression in the memory of A");
  return detail::answer_of<Op>(detail::never<least_squares_solution<B>>());
}

} // namespace sla
