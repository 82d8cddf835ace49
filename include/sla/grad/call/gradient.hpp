// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `value_and_gradient(f, args...)`: the value of a real function and its cotangents, one per argument, by one run of f on
// traced arguments and one sweep back.
#pragma once

#include <tuple>

#include <sla/grad/operation/traced_product.hpp>

namespace sla {

namespace detail {
template <class Y>
inline constexpr bool is_real_result = Scalar<plain_t<Y>> && !is_complex<plain_t<Y>>;

/// f on traced inputs, the sweep, and the cotangents.
template <class F, class... V>
auto differentiated(tape& t, F&& f, tape_variable<V>&... inputs) {
  using Y = decltype(f(traced<V>(t, inputs)...));
  static_assert(is_real_result<Y>,
                "sla: value_and_gradient(f, args...): f must return one real number; reduce with sum, dot or squared_norm, and take real(...) of a complex one");
  if constexpr (Traced<Y> && is_real_result<Y>) {
    using R = plain_t<Y>;
    auto const y = f(traced<V>(t, inputs)...);
    R const value = y.value();
    y.variable().add(R(1));
    t.sweep();
    return std::tuple<R, cotangent_type_t<V>...>(value, inputs.take_cotangent()...);
  } else if constexpr (is_real_result<Y>) {
    auto const value = f(traced<V>(t, inputs)...);  // no argument mattered
    return std::tuple<std::remove_const_t<decltype(value)>, cotangent_type_t<V>...>(value, inputs.take_cotangent()...);
  } else {
    return std::tuple<double, cotangent_type_t<V>...>(0.0, inputs.take_cotangent()...);
  }
}
} // namespace detail

/// (f(args...), one cotangent per argument): dL = Re sum conj(g) d(arg). A sparse tensor's cotangent lives on its pattern.
/// f takes traced arguments (`auto const&`) and returns a real number; it is run once.
/// Arguments: tensors, sparse tensors and numbers of floating point, and expressions.
/// Cost: O(1) entries of the tape per operation, a solve included; values of operations are kept until they are pulled back.
/// Errors: what f throws; solve_error, if an adjoint solve fails.
/// Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 3; solves: Giles, Collected matrix derivative
/// results (2008).
template <class F, class... Args>
auto value_and_gradient(F&& f, Args const&... args) {
  constexpr bool first_order = !(Traced<Args> || ...);
  constexpr bool differentiable = (HasCotangent<detail::argument_t<Args>> && ...);
  static_assert(sizeof...(Args) > 0, "sla: value_and_gradient(f, args...): give the arguments to differentiate with respect to");
  static_assert(first_order, "sla: value_and_gradient inside of a differentiated function: second derivatives are not offered there: hvp(f, x, v) has those of the whole function; or take x.value()");
  static_assert(!first_order || differentiable, "sla: value_and_gradient(f, args...): only numbers, tensors and sparse tensors of floating point can be differentiated");
  if constexpr (sizeof...(Args) == 0) {
    return std::tuple(0.0, 0.0);
  } else if constexpr (first_order && differentiable) {
    tape t;
    return [&]<class... A>(A const&... plain) { return detail::differentiated(t, f, t.input(plain)...); }(detail::argument(args)...);
  } else {
    return std::tuple<double, Args...>(0.0, args...);  // well-formed, so that the sentence above is the only error
  }
}

} // namespace sla
