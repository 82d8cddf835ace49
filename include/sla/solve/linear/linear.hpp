// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `solve`, `try_solve` and `prepare`: one driver (solve/driver/driver.hpp) around the methods of solve/krylov and solve/direct/direct.hpp; without
// the name of a method, they want solve/linear/choose.hpp too. Devices and meshes take part by a `linear_world` of their operators
// (solve/driver/world.hpp says what it supplies); nothing else.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include <sla/core/held.hpp>
#include <sla/expr/sparse/stored.hpp>
#include <sla/solve/driver/prepared.hpp>

namespace sla {

/// Where to begin: `solve(A, b, cg{}, jacobi{}, initial_guess(x0))`; x0 has the type of the solution. It is viewed, and outlives the
/// call; a temporary is kept.
template <class X>
detail::guess<X> initial_guess(X const& x SLA_LIFETIMEBOUND) {
  return {&x};
}
template <class X>
  requires(!std::is_reference_v<X>)
detail::guess<std::remove_const_t<X>> initial_guess(X&& x) {
  auto const owner = detail::shared_of<std::remove_const_t<X> const>(std::forward<X>(x));
  return {owner.get(), owner};
}
/// Where to run: `make(frame)` returns the space of the solve, as in `on([](frame f) { return deferred(f, 4); })`.
template <class MakeSpace>
on_space<MakeSpace> on(MakeSpace make) {
  return {std::move(make)};
}

namespace detail {
/// The method and the preconditioner of a call: of references where the options hold them.
template <class M, class P>
struct configuration {
  M method;
  P preconditioner;
};
/// Those that the options name, for operators A.
template <class A, class... Options>
auto configured(Options const&... options) {
  automatic const unnamed{};
  none const absent{};
  auto const& method = pick<wants_method>(options..., unnamed);
  auto const& p = pick<wants_preconditioner>(options..., absent);
  using M = std::remove_cvref_t<decltype(method)>;
  using P = std::remove_cvref_t<decltype(p)>;
  if constexpr (requires { linear_world<A>::of_whole(method.preconditioner()); })
    return configuration<decltype(method.method()), decltype(linear_world<A>::of_whole(method.preconditioner()))>{method.method(), linear_world<A>::of_whole(method.preconditioner())};
  else if constexpr (requires { method.preconditioner(); })
    return configuration<decltype(method.method()), decltype(method.preconditioner())>{method.method(), method.preconditioner()};
  else if constexpr (std::same_as<M, automatic>)
    return configuration<M, none>{method, {}};
  else if constexpr (std::same_as<P, none>)
    return configuration<M const&, identity>{method, {}};
  else
    return configuration<M const&, P const&>{method, p};
}

/// The method that the options name, or none.
template <class... Options>
using method_of_t = std::remove_cvref_t<decltype(pick<wants_method>(std::declval<Options const&>()..., std::declval<automatic const&>()))>;
template <class A, class O>
constexpr bool may_be_set_up() {
  if constexpr (PreconditionerOptions<O> && requires { linear_world<A>::template sets_up<O>; })
    return linear_world<A>::template sets_up<O>;
  else
    return true;
}
/// The sentence for the first member that an option misses.
template <class A, class... Options>
constexpr bool require_members() {
  constexpr method_member missing = (std::max)({method_member::none, missing_member<Options>()...});
  constexpr bool has_name = missing != method_member::name, has_rtol = missing != method_member::rtol, has_atol = missing != method_member::atol;
  constexpr bool has_max_iterations = missing != method_member::max_iterations, has_watch = missing != method_member::watch, is_set_up = (may_be_set_up<A, Options>() && ...);
  constexpr bool has_flags = missing != method_member::flags, has_measure = missing != method_member::measure, is_named = (has_readable_name<Options> && ...);
  static_assert(has_name, "sla: solve(A, b, method): the method has no member `name`: static constexpr char const* name = \"...\", which reports print");
  static_assert(has_rtol, "sla: solve(A, b, method): the method has no member `rtol`: relative_tolerance rtol = default_rule().rtol, the tolerance of |b - A x| / |b|");
  static_assert(has_atol, "sla: solve(A, b, method): the method has no member `atol`: double atol = default_rule().atol, the tolerance of |b - A x|");
  static_assert(has_max_iterations, "sla: solve(A, b, method): the method has no member `max_iterations`: int max_iterations = default_rule().max_iterations");
  static_assert(has_watch, "sla: solve(A, b, method): the method has no member `watch`: observer watch = {}, which sees every iteration");
  static_assert(has_flags, "sla: solve(A, b, method): the members `needs_definite`, `needs_hermitian` and `needs_square` of a method are, where it has them, static constexpr bool");
  static_assert(has_measure, "sla: solve(A, b, method): the member `measure` of the method is a type with a `name`, as residual_of_system in sla/solve/seam/measure.hpp");
  static_assert(!has_name || is_named, "sla: solve(A, b, method, preconditioner): the member `name` of a preconditioner is, where it has one, static constexpr char const*, which reports print");
  static_assert(is_set_up, "sla: solve(A, b, method, preconditioner): the preconditioner has no member `setup(A)` that takes such an A, and makes what stands left of * in M * r: Preconditioner in "
                           "sla/solve/seam/method.hpp");
  return missing == method_member::none && is_named && is_set_up;
}

/// The laws of solving, with their sentences; `hold` keeps the one sentence the only error.
template <class A, class... Options>
struct prepare_laws {
  using World = linear_world<A>;
  static constexpr bool is_square = [] {
    if constexpr (wants_square<method_of_t<Options...>> && requires { World::is_square; })
      return World::is_square;
    else
      return true;
  }();
  template <class O>
  static constexpr bool factors_all = requires(O const& method) { method.preconditioner(); };
  template <class O>
  static constexpr bool takes_none = factors_all<O> || std::same_as<O, automatic>;
  static constexpr bool brings_preconditioner = (wants_preconditioner<Options>::value || ...);
  static constexpr bool names_method = (wants_method<Options>::value || ...);
  static constexpr bool fit_together = !brings_preconditioner || !(takes_none<Options> || ...);
  static constexpr bool named = !brings_preconditioner || names_method;
  static constexpr bool is_factored = [] {
    if constexpr (requires { World::is_factored; })
      return World::is_factored;
    else
      return true;
  }();
  template <class O>
  static constexpr bool varies = requires { typename O::varying_tag; };
  template <class O>
  static constexpr bool is_flexible = requires { typename O::flexible_tag; };
  static constexpr bool allows_for_it = !(varies<Options> || ...) || (is_flexible<Options> || ...);
  static constexpr bool can_pick = (names_method && !(std::same_as<Options, automatic> || ...)) || brings_preconditioner || Chosen<A>;
  static constexpr bool may_pick = [] {
    if constexpr (names_method && !(std::same_as<Options, automatic> || ...))
      return true;
    else
      return requires { sizeof(automatic_choice<std::conditional_t<Chosen<A>, automatic, A>>); };
  }();
  static constexpr bool can_factor = is_factored || !(factors_all<Options> || ...);
  template <class O>
  static constexpr bool asks_little = !OwnOperator<A> || !(PreconditionerOptions<O> || factors_all<O>) || requires(O const& p, A const& a) { p.setup(a); };
  static constexpr bool needs_no_entries = (asks_little<Options> && ...);
  static_assert(needs_no_entries, "sla: solve(A, b, ...): A is an operator of yours, without entries that this method or preconditioner could read: take a Krylov method, such as gmres{}, "
                                  "and as preconditioner identity{}, a linear_operator<T>(n, n, apply), or one that is set up: ilu0{}.setup(a matrix near A)");
  static constexpr bool one_of_each = (0 + ... + wants_method<Options>::value) <= 1 && (0 + ... + wants_preconditioner<Options>::value) <= 1;
  static_assert(one_of_each, "sla: solve(A, b, method, preconditioner): one of each; two methods or two preconditioners were given");
  static_assert(is_square, "sla: solve(A, b): A must be square; for least squares, least_squares(A, b)");
  static_assert(fit_together, "sla: solve(A, b, method, preconditioner): a direct or automatic method takes no preconditioner; name a Krylov method such as gmres{}");
  static_assert(named, "sla: solve(A, b, preconditioner): name the method too, such as gmres{}; the automatic choice picks both");
  static_assert(can_factor, "sla: solve(A, b, method): of matrices on ranks direct methods factor those sharded by rows, without a batch, in host memory, which the first rank gathers; name a Krylov method, such as gmres{}, ilu0{}");
  static_assert(can_pick, "sla: solve(A, b) picks a method for sparse tensors in host memory, on ranks for those by rows; here, name one: solve(A, b, gmres{}); on ranks also a preconditioner: solve(D, db, cg{}, jacobi{})");
  static_assert(!can_pick || !named || may_pick, "sla: solve(A, b) picks a method, which may be one of factors: include <sla/solve.hpp> in the place of <sla/krylov.hpp>; or name a method: solve(A, b, gmres{})");
  static_assert(allows_for_it, "sla: solve(A, b, method, inner(...)): an inner iteration is another operator at every step; name the method that allows for it, fgmres{}");
  static constexpr bool hold = require_members<A, Options...>() && one_of_each && is_square && fit_together && named && can_factor && can_pick && may_pick && allows_for_it && needs_no_entries;
};
/// Has b the extents of a right-hand side of A, and does it lie where the rows of A do? A world that does not say takes any.
template <class World, class B>
inline constexpr bool fits_system = true;
template <class World, class B>
  requires requires { World::template fits<B>; }
inline constexpr bool fits_system<World, B> = World::template fits<B>;
template <class World, class B>
inline constexpr bool is_placed = true;
template <class World, class B>
  requires requires { World::template placed<B>; }
inline constexpr bool is_placed<World, B> = World::template placed<B>;

template <class A, class B, class... Options>
struct solve_laws {
  static constexpr bool fits = fits_system<linear_world<A>, B>, placed = is_placed<linear_world<A>, B>;
  static_assert(fits, "sla: solve(A, b): b must have the extents (*batch, M, p) of A's range, plus at most one axis of right-hand sides");
  static constexpr bool hold = [] {
    if constexpr (fits && placed)
      return prepare_laws<A, Options...>::hold;
    else
      return false;  // one sentence for one call
  }();
};
} // namespace detail

// transpose(A), adjoint(A) and conj(A) are stored, and solved with.
namespace detail {
template <class A, class B>
concept StoredSystem = SparseView<A> && linear_world<std::remove_cvref_t<decltype(stored(std::declval<A const&>()))>>::template accepts<B>;
}  // namespace detail
template <class A, class B, detail::SolveOption... Options>
  requires detail::StoredSystem<A, B>
auto perform(op::try_solve, A const& a, B const& b, Options const&... options) {
  return try_solve(detail::stored(a), b, options...);
}
template <class A, class B, detail::SolveOption... Options>
  requires detail::StoredSystem<A, B>
auto perform(op::solve, A const& a, B const& b, Options const&... options) {
  return solve(detail::stored(a), b, options...);
}
template <class A, detail::SolveOption... Options>
  requires SparseView<std::remove_cvref_t<A>>
auto perform(op::prepare, A const& a, Options const&... options) {
  return prepare(detail::stored(a), options...);
}

// What is no system, of any floor: one sentence.
namespace detail {
template <class Op>
concept TrySolving = std::same_as<Op, op::try_solve> || std::same_as<Op, op::try_solve_transpose> || std::same_as<Op, op::try_solve_adjoint>;
template <class Op>
concept Solving = TrySolving<Op> || std::same_as<Op, op::solve> || std::same_as<Op, op::prepare>;
/// Never true; its arguments are what a refusal prints.
template <class... X>
inline constexpr bool is_system = false;
template <class Op, class B = none, class... Options>
auto solved_by_nothing() {
  if constexpr (std::same_as<Op, op::solve>)
    return never<B>();
  else if constexpr (TrySolving<Op>)
    return never<solution<B>>();
  else
    return none{};
}
}  // namespace detail
template <detail::Solving Op, class A, class... X>
auto perform(Op, A const&, X const&...) {
  constexpr bool dense = is_dense_matrix<A>;
  static_assert(!dense, "sla: solve(A, b): A is a dense matrix, and the library solves with sparse ones: solve(to<Csr<>>(A), b, lu{}), or hand it to a library of dense algebra");
  constexpr bool number = !dense && (Number<X> || ...);
  static_assert(!number, "sla: solve(A, b, 1e-8): a number is neither a right-hand side nor an option: a tolerance belongs to its method: solve(A, b, cg{.rtol = 1e-8})");
  static_assert(dense || number || detail::is_system<A, X...>, "sla: solve(A, b, options...), prepare(A, options...).solve(b): A is a sparse tensor or an operator of yours (linear_operator<T>(rows, cols, "
                                            "apply)); b a tensor or an expression in the memory of A (numbers of yours: borrow(v.data(), n)), of a sparse_list a std::vector of tensors; options are a method (one of yours has a `method_tag`), a preconditioner (of yours, a linear_operator, or options with a `preconditioner_tag`), initial_guess(x0), keep_history, on(space)");
  return detail::solved_by_nothing<Op, X...>();
}

namespace detail {
/// What is solved here. All else is a `perform` of a higher floor: operands that are traced, or views.
template <class A, class B, class... Options>
concept PlainSystem = linear_world<A>::template accepts<B> && (SolveOption<Options> && ...);
template <class A, class... Options>
concept PlainOperator = requires { typename linear_world<A>::operator_type; } && (SolveOption<Options> && ...);
} // namespace detail

/// x with A x = b, for square A of shape (*batch, M, M, *block), or whatever sides the method allows for: b is (*batch, M, p), or has one more
/// axis of right-hand sides. `solve(A, b)` looks at A and picks a method; `solve(A, b, cg{.rtol = 1e-10}, jacobi{})` names them; further
/// options: initial_guess(x0), keep_history, on(make_space). A, and the preconditioner, may be a linear_operator: a function of yours.
/// Law: |b - A x| <= max(rtol |b|, atol) for every item, by the residual recomputed from x in twice the precision, whose rounding counts.
/// Gradient: one more solve.
/// Errors: solve_error with the report, if the tolerance was not reached; shape_error; value_error for NaN in A or b.
template <class A, class B, class... Options>
[[nodiscard]] auto solve(A const& a, B const& b, Options const&... options) {
  if constexpr (detail::PlainSystem<A, B, Options...>)
    return detail::solved(try_solve(a, b, options...));
  else
    return perform(op::solve{}, a, b, options...);
}
/// The same as `{x, report}`: a tolerance that was not reached is in the report, not thrown.
template <class A, class B, class... Options>
[[nodiscard]] auto try_solve(A const& a, B const& b, Options const&... options) {
  using World = linear_world<A>;
  if constexpr (!detail::PlainSystem<A, B, Options...>) {
    return perform(op::try_solve{}, a, b, options...);
  } else if constexpr (!detail::solve_laws<A, B, Options...>::hold) {
    if constexpr (requires { World::template refuse<B>(); }) World::template refuse<B>();
    return detail::never<solution<typename World::template vector_type<B>>>();
  } else {
    World::check(a, detail::wants_square<detail::method_of_t<Options...>>);
    auto const& vector = World::right_hand_side(a, b);
    auto const [method, p] = detail::configured<A>(options...);
    using Method = std::remove_cvref_t<decltype(method)>;
    using P = std::remove_cvref_t<decltype(p)>;
    if constexpr (std::same_as<Method, automatic>) {
      if constexpr (detail::Chosen<A>)
        return detail::engine<A, automatic, detail::none>(a, method, p).solve(a, vector, options...);
      else  // refused above; clang goes on
        return detail::never<solution<typename World::template vector_type<B>>>();
    } else {  // nobody keeps the set-up
      detail::require_sensible(Method::name, method.rtol, method.atol, method.max_iterations);
      double const start = detail::seconds_now();
      auto const m = detail::set_up(p, a);
      return detail::call<P>(a, method, m, vector, detail::seconds_now() - start, options...);
    }
  }
}
/// A method and preconditioner set up once for A: solve(b), solve_transpose(b), solve_adjoint(b), update(A2).
template <class A, class... Options>
[[nodiscard]] auto prepare(A&& a, Options const&... options) {
  using Operator = std::remove_cvref_t<A>;
  if constexpr (!detail::PlainOperator<Operator, Options...>) {
    return perform(op::prepare{}, std::forward<A>(a), options...);
  } else if constexpr (detail::prepare_laws<Operator, Options...>::hold) {
    auto const [method, p] = detail::configured<Operator>(options...);
    return prepared<Operator, std::remove_cvref_t<decltype(method)>, std::remove_cvref_t<decltype(p)>>(std::forward<A>(a), method, p);
  } else {
    return detail::none{};
  }
}

} // namespace sla
