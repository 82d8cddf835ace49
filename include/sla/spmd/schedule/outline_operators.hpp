// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a generic function may do with outlines: products, operators, reductions, steps. `schedule<f, X, Y>` runs it in a
// constant expression. Laws and sentences are those of values (spmd/rule/well_typed.hpp, spmd/refusal/diagnose.hpp).
#pragma once
#include <type_traits>
#include <utility>

#include <sla/spmd/refusal/step_decision.hpp>
#include <sla/spmd/schedule/outline.hpp>

namespace sla {

/// `transpose(A)` of a sparse outline.
template <class A>
struct transposed_outline {
  A matrix;
};
template <class T, class S, class Mesh, class... P>
constexpr auto transpose(outline<sparse_shape_only<T, S>, Mesh, P...> const& a) {
  return transposed_outline<outline<sparse_shape_only<T, S>, Mesh, P...>>{a};
}
template <class T, class S, class Mesh, class... P>
constexpr auto adjoint(outline<sparse_shape_only<T, S>, Mesh, P...> const& a) {
  return transpose(a);
}

namespace detail {
template <class Op, class S, class A, class X>
constexpr auto outlined_product(A const& a, X const& x) {
  using Local = shape_only<typename X::value_type, range_extents_t<S>>;
  // right-hand sides stay behind the rows
  using Same = std::conditional_t<Local::extents_type::rank == X::local_type::extents_type::rank, Local, typename X::local_type>;
  auto y = outlined<Op, Same>(a, x);
  if constexpr (well_typed<Op, A, X>) postpone_implied<Op, decltype(y), A, X>(y);
  return y;
}
} // namespace detail

template <class T, class S, class Mesh, class... P, detail::DenseOutline X>
constexpr auto operator*(outline<sparse_shape_only<T, S>, Mesh, P...> const& a, X const& x) {
  return detail::outlined_product<op::matvec, S>(a, x);
}
template <class T, class S, class Mesh, class... P, detail::DenseOutline X>
constexpr auto operator*(transposed_outline<outline<sparse_shape_only<T, S>, Mesh, P...>> const& a, X const& x) {
  return detail::outlined_product<op::transposed_matvec, transposed_shape_t<S>>(a.matrix, x);
}

// ---- operators and functions: the laws are those of spmd/rule/rules.hpp

namespace detail {
template <class L, class R>
  requires DenseOutlinePair<std::remove_cvref_t<L>, std::remove_cvref_t<R>>
struct adds_up<L, R> : std::true_type {};
template <class X>
  requires DenseOutline<std::remove_cvref_t<X>>
struct adds_up_with_numbers<X> : std::true_type {};
template <DenseOutline X>
struct has_own_functions<X> : std::true_type {};
} // namespace detail
template <class Op, class L, class R>
  requires detail::DenseOutlinePair<L, R>
constexpr auto perform(operation<Op>, L const& l, R const& r) {
  return detail::outlined<Op, typename detail::joined_local<L, R>::type>(l, r);
}
template <class Op, detail::DenseOutline X>
constexpr auto perform(operation<Op>, X const& x) {
  return detail::outlined<Op, typename X::local_type>(x);
}

namespace detail {
template <class Op, class T, class... X>
constexpr auto outlined_reduction(X const&... x) {
  auto y = outlined<Op, typename summed<T>::type>(x...);
  if constexpr (well_typed<Op, X...>) postpone_implied<Op, decltype(y), X...>(y);
  return y;
}
} // namespace detail
template <detail::DenseOutline X, detail::DenseOutline Y>
constexpr auto dot_of(X const& x, Y const& y) {
  return detail::outlined_reduction<op::dot, std::common_type_t<typename X::value_type, typename Y::value_type>>(x, y);
}
template <detail::DenseOutline X>
constexpr auto sum_of(X const& x) {
  return detail::outlined_reduction<op::sum, typename X::value_type>(x);
}
template <detail::DenseOutline X>
constexpr auto squared_norm_of(X const& x) {
  return detail::outlined_reduction<op::squared_norm, typename detail::magnitude<typename X::value_type>::type>(x);
}
template <detail::DenseOutline X>
constexpr auto norm_of(X const& x) {
  return detail::outlined_reduction<op::norm, typename detail::magnitude<typename X::value_type>::type>(x);
}
/// The same evaluated at once, as those of values are.
template <detail::DenseOutline X, detail::DenseOutline Y>
constexpr auto dot(X const& x, Y const& y) {
  return eval(dot_of(x, y));
}
template <detail::DenseOutline X>
constexpr auto sum(X const& x) {
  return eval(sum_of(x));
}
template <detail::DenseOutline X>
constexpr auto squared_norm(X const& x) {
  return eval(squared_norm_of(x));
}
template <detail::DenseOutline X>
constexpr auto norm(X const& x) {
  return eval(norm_of(x));
}

// ---- conditions: a comparison of numbers is a truth value in their placements

namespace detail {
template <class L, class R>
concept NumberPair = OutlinePair<L, R> && dims_of<L> <= 0 && dims_of<R> <= 0;
template <class L, class R>
  requires NumberPair<std::remove_cvref_t<L>, std::remove_cvref_t<R>>
struct has_order<L, R> : std::true_type {};
template <class L, class R>
  requires NumberPair<L, R>
struct has_equality<L, R> : std::true_type {};
template <class X>
  requires(dims_of<std::remove_cvref_t<X>> == 0)
struct has_order_with_numbers<X> : std::true_type {};
} // namespace detail
/// Comparing is a nonlinear operation: what is uniform stays so, a pending sum is refused.
template <op::relation Is, class L, class R>
  requires detail::NumberPair<L, R>
constexpr auto perform(op::comparison<Is>, L const& l, R const& r) {
  return detail::outlined<op::pow, bool>(l, r);
}

// ---- evaluation, and steps

/// The value of an expression: what its products send is sent here.
template <Outlined X>
constexpr X eval(X x) {
  x.evaluate();
  return x;
}

namespace detail {
/// x after a step that is legal: of Local and the placements List. It is recorded as `s`, of which the bytes are known here.
template <class Local, class List, class X>
constexpr auto after_step(X x, scheduled_step s) {
  x.evaluate();
  typename outline_with<Local, mesh_of_t<X>, List>::type y(std::in_place, x);
  s.after = static_cast<std::int16_t>(x.after());
  if (s.bytes == linear_bytes{}) static_cast<carried_bytes&>(s) = {bytes_of<typename X::local_type>(), bytes_of<Local>()};
  s.scalar = dims_of<X> == 0;
  x.record().add(s);
  y.known_after(x.record().size());
  return y;
}
template <step How, class From, class To>
constexpr transition transition_of() {
  using keys = typename key_list<From, To>::type;
  return {How, to_value<From, keys>(), to_value<To, keys>()};
}

/// How many ranks these axes have together; open where the type does not tell.
template <class Mesh, class Axes>
constexpr int ranks_along() {
  int ranks = 1;
  for (int a : Axes::template axes<Mesh>)
    ranks = ranks == dyn || Mesh::static_size(a) == dyn ? static_cast<int>(dyn) : ranks * Mesh::static_size(a);
  return ranks;
}
/// The local part after the step S, and the step itself.
template <class S, class X>
struct step_of_outline {
  using decided = step_decision<S, X>;
  using From = typename decided::From;
  using To = typename S::to;
  using Mesh = mesh_of_t<X>;
  using local_type = typename decltype(stepped_local<S::how, typename X::local_type, From, To, ranks_along<Mesh, typename S::axes>(), S::dim>())::type;
  static constexpr transition what = transition_of<S::how, From, To>();
  static constexpr scheduled_step value = [] {
    auto const& axes = S::axes::template axes<Mesh>;
    scheduled_step s(what, axes[0]);
    for (int n = 1; n < S::axes::count; ++n) s.act_with(axes[n]);
    return s;
  }();
};
} // namespace detail

/// A step of an outline, recorded. What else a call is given (a layout, a matrix) leaves no trace in a schedule.
template <StepOn S, Outlined X, class... With>
  requires(!detail::PrecisionOption<With> && ...)
constexpr auto perform(S, X const& x, With const&...) {
  using decided = detail::step_decision<S, X>;
  decided::require();
  if constexpr (!decided::legal) {
    return x;
  } else {
    using taken = detail::step_of_outline<S, X>;
    return detail::after_step<typename taken::local_type, typename decided::result>(x, taken::value);
  }
}

/// Any operation Op with a rule, of a result whose local part is like Local: for kernels of users.
/// `constexpr auto mm(X const& x, Y const& y) { return outline_result<my_op, shape_only<double, Extents<4, 8>>>(x, y); }`
template <class Op, class Local, Outlined... X>
constexpr auto outline_result(X const&... x) {
  return detail::outlined<Op, Local>(x...);
}

// ---- schedules

namespace detail {
template <class Y>
constexpr void finish_outline(Y const& y) {
  if constexpr (is_outline<Y>) (void)eval(y);
}
template <auto F, int Yes, class... Args>
consteval recorded_schedule record_schedule() {
  recorder to(Yes);
  [](auto... x) {
    if constexpr (std::is_void_v<decltype(F(x...))>)
      F(x...);
    else
      finish_outline(F(x...));
  }(typename outline_of<Args>::type(to)...);
  return to.steps();
}
} // namespace detail

/// The schedule of f on arguments of these distributed types, where conditions are true the first `Yes` times. f is a
/// generic function: a lambda of `auto const&...`, which runs on values as well.
template <int Yes, auto F, Distributed... Args>
inline constexpr recorded_schedule schedule_of_loop = detail::record_schedule<F, Yes, Args...>();
/// The schedule of f where no condition holds: `static_assert(schedule<f, X, Y>.count(step::all_reduce) == 2)`.
template <auto F, Distributed... Args>
inline constexpr recorded_schedule schedule = schedule_of_loop<0, F, Args...>;

/// f sends nothing, on any axis.
template <auto F, Distributed... Args>
inline constexpr bool no_collective_in = schedule<F, Args...>.collectives() == 0;

} // namespace sla
