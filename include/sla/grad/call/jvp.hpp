// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `jvp(f, std::tie(args...), std::tie(tangents...))`: the value of f and its derivative in one direction, by one run of f on values
// with tangents. f may be an operation: jvp(op::mul{}, ...). The rules are those of the gradient (grad/tape/record.hpp).
#pragma once

#include <tuple>

#include <sla/core/held.hpp>
#include <sla/grad/operation/traced_product.hpp>

namespace sla {

namespace detail {
template <class V, class D>
concept TangentOf = std::constructible_from<V, D const&> || (Number<V> && Number<D> && requires(D d) { V(d); });

/// d as a tangent of v: by reference where it is one.
template <class V, class D>
decltype(auto) as_tangent(D const& d) {
  if constexpr (std::same_as<V, D>)
    return (d);
  else
    return V(d);
}

/// Is d, a tangent or cotangent, of the extents and the pattern of v? Errors: shape_error, naming both: `who...` says of d, `whom` of v.
template <class V, class D, class... Who>
void require_fits(V const& v, D const& d, char const* whom, Who const&... who) {
  auto const refuse = [&](auto const&... what) { throw shape_error(text(who..., " ", what...)); };
  if constexpr (is_tensor<V>) {
    if (!(v.extents() == d.extents())) refuse("has extents ", to_string(d.extents()), ", ", whom, " ", to_string(v.extents()));
  } else if constexpr (is_sparse_tensor<V>) {
    if (!(v.shape() == d.shape() && (v.shared_pattern() == d.shared_pattern() || same_slots(v.pattern(), d.pattern()))))
      refuse("has another pattern than ", whom, "; make it with with_values(A, x)");
  } else if constexpr (requires { v.local(); }) {
    require_fits(v.local(), d.local(), whom, who...);
  }
}

/// An argument with its tangent; views both.
template <class V>
std::shared_ptr<dual_variable<V>> input(V const& v, V const& d, std::size_t argument) {
  require_fits(v, d, "the argument", "jvp(f, args, tangents): the tangent of argument ", argument);
  return detail::shared_of<dual_variable<V>>(&v, &d);
}

/// f of the arguments, or the operation f.
template <class F, class... X>
decltype(auto) run_or_perform(F& f, X const&... x) {
  if constexpr (Performs<std::remove_cvref_t<F>, X const&...>)
    return perform(f, x...);
  else
    return f(x...);
}

template <class F, class... V>
auto pushed_forward(F& f, std::shared_ptr<dual_variable<V>> const&... inputs) {
  forward_mode mode;
  using Y = std::remove_cvref_t<decltype(run_or_perform(f, traced<V, forward_mode>(mode, inputs)...))>;
  if constexpr (Traced<Y>) {
    auto const y = run_or_perform(f, traced<V, forward_mode>(mode, inputs)...);
    auto tangent = y.variable().take_tangent();
    return std::tuple{y.variable().take_value(), std::move(tangent)};
  } else {  // no argument mattered
    auto value = eval(run_or_perform(f, traced<V, forward_mode>(mode, inputs)...));
    auto tangent = tangent_space<decltype(value)>::zero(value);
    return std::tuple{std::move(value), std::move(tangent)};
  }
}
template <class F, class... Args, class... D, std::size_t... K>
auto pushed_forward(F& f, std::tuple<Args...> const& args, std::tuple<D...> const& tangents, std::index_sequence<K...>) {
  return pushed_forward(f, input<argument_t<std::remove_cvref_t<Args>>>(argument(std::get<K>(args)),
                                                                       as_tangent<argument_t<std::remove_cvref_t<Args>>>(std::get<K>(tangents)), K)...);
}

template <class Args, class Tangents>
inline constexpr bool tangents_fit = false;
template <class... Args, class... Tangents>
  requires(HasCotangent<argument_t<std::remove_cvref_t<Args>>> && ...)
inline constexpr bool tangents_fit<std::tuple<Args...>, std::tuple<Tangents...>> =
    (TangentOf<argument_t<std::remove_cvref_t<Args>>, std::remove_cvref_t<Tangents>> && ...);
} // namespace detail

/// (f(args...), the derivative of f along the tangents): d/dt f(args + t tangents) at t = 0. f takes traced arguments
/// (`auto const&`), returns a number, a tensor or a sparse tensor, and is run once; an operation stands for its rule.
///     auto [y, dy] = jvp([](auto const& A, auto const& b) { return solve(A, b); }, std::tie(A, b), std::tie(dA, db));
/// Law: a tangent has the type and shape of its argument, a sparse one its pattern. Placement: that of the argument; the
/// tangent of the result has the placement of the result.
/// Cost: of every operation its own once more, a solve included, which shares what the first had set up; nothing is recorded.
/// Errors: what f throws; solve_error, if a solve for a tangent fails; shape_error.
/// Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 3.
template <class F, class... Args, class... Tangents>
auto jvp(F&& f, std::tuple<Args...> const& args, std::tuple<Tangents...> const& tangents) {
  constexpr bool counted = sizeof...(Args) == sizeof...(Tangents) && sizeof...(Args) > 0;
  constexpr bool first_order = !(Traced<Args> || ...);
  static_assert(counted, "sla: jvp(f, std::tie(args...), std::tie(tangents...)): give one tangent for each argument");
  static_assert(first_order, "sla: jvp inside of a differentiated function: second derivatives are not offered there: hvp(f, x, v) has those of the whole function; or take x.value()");
  if constexpr (counted && first_order) {
    constexpr bool fits = detail::tangents_fit<std::tuple<Args...>, std::tuple<Tangents...>>;
    static_assert(fits, "sla: jvp(f, std::tie(args...), std::tie(tangents...)): arguments are numbers, tensors and sparse tensors of floating point, and a tangent is of the type of its argument");
    if constexpr (fits)
      return detail::pushed_forward(f, args, tangents, std::index_sequence_for<Args...>{});
    else
      return std::tuple<double, double>();
  } else {
    return std::tuple<double, double>();  // well-formed, so that the sentence above is the only error
  }
}

} // namespace sla
