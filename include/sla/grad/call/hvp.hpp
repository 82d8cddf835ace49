// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `hvp(f, x, v)`: the Hessian of a real function times a vector, by the gradient of f on dual numbers: forward over reverse. No Hessian is
// formed, and solves are not differentiated: each has one more for its slope (grad/operation/dual_solve.hpp, grad/tape/implicit.hpp).
#pragma once

#include <tuple>
#include <utility>

#include <sla/grad/call/gradient.hpp>
#include <sla/grad/call/jvp.hpp>
#include <sla/grad/tape/dual_elements.hpp>

namespace sla {

namespace detail {
/// The laws of hvp, with their sentences; Args and D: without references.
template <class Args, class D>
inline constexpr bool lawful_hvp = false;
template <class... Args, class... D>
inline constexpr bool lawful_hvp<std::tuple<Args...>, std::tuple<D...>> = [] {
  constexpr bool counted = sizeof...(Args) == sizeof...(D) && sizeof...(Args) > 0;
  constexpr bool first_order = !(Traced<Args> || ...);
  static_assert(counted, "sla: hvp(f, std::tie(args...), std::tie(directions...)): give one direction for each argument");
  static_assert(first_order, "sla: hvp inside of a differentiated function: third derivatives are not offered; take x.value()");
  if constexpr (counted && first_order) {
    constexpr bool have_slopes = (HasSlopes<argument_t<Args>> && ...);
    static_assert(have_slopes, "sla: hvp(f, x, v): arguments are numbers, tensors and sparse tensors of double, on one rank and in host memory: cast<double>(x) is one of another type, real and "
                               "imaginary parts of a complex one are two arguments, and gather(x) is one of a distributed x");
    if constexpr (have_slopes) {
      constexpr bool fit = (TangentOf<argument_t<Args>, D> && ...);
      static_assert(fit, "sla: hvp(f, x, v): the direction v is of the type of x");
      return fit;
    }
  }
  return false;
}();

template <class F, class... Args, class... D, std::size_t... K>
auto hessian_times(F& f, std::tuple<Args...> const& args, std::tuple<D...> const& directions, std::index_sequence<K...>) {
  using X = std::tuple<argument_t<std::remove_cvref_t<Args>>...>;
  auto const dual = [](std::size_t argument, auto const& x, auto const& v) {
    require_fits(x, v, "the argument", "hvp(f, args, directions): the direction of argument ", argument);
    return with_slope(x, v);
  };
  auto const found = value_and_gradient(f, dual(K, argument(std::get<K>(args)), as_tangent<std::tuple_element_t<K, X>>(std::get<K>(directions)))...);
  return X(slope_part(std::get<K + 1>(found))...);
}
} // namespace detail

/// H v, where H is the Hessian of f at the arguments and v the directions, one for each: a tuple of d/dt grad f(args + t v) at t = 0, exact. f takes
/// traced arguments (`auto const&`), returns a real number, and is run once, on dual numbers.
///     auto [Ha, Hb] = hvp(f, std::tie(a, b), std::tie(va, vb));
///     auto Hv = hvp(f, x, v);   // of one argument
/// Law: arguments are numbers, tensors and sparse tensors of double on one rank, in host memory; a direction has the type and shape of its argument, a sparse one
/// its pattern, on which Hv lives. The value of f is real, and sparse tensors that it makes of its arguments are. f has second derivatives: at kinks, of maximum or abs, those of one side.
/// Cost: about two to three gradients: a solve becomes two solves with what is set up once, and so does its adjoint; so it is with all that equations define.
/// Errors: as of value_and_gradient; shape_error, if a direction has other extents or another pattern than its argument.
/// Source: Pearlmutter, Fast exact multiplication by the Hessian (1994); Griewank and Walther, Evaluating Derivatives (2008), section 5.3.
template <class F, class... Args, class... D>
auto hvp(F&& f, std::tuple<Args...> const& args, std::tuple<D...> const& directions) {
  if constexpr (detail::lawful_hvp<std::tuple<std::remove_cvref_t<Args>...>, std::tuple<std::remove_cvref_t<D>...>>)
    return detail::hessian_times(f, args, directions, std::index_sequence_for<Args...>{});
  else
    return args;  // well-formed, so that the sentence is the only error
}
template <class F, class X, class V>
auto hvp(F&& f, X const& x, V const& v) {
  return std::get<0>(hvp(f, std::tie(x), std::tie(v)));
}

} // namespace sla
