// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `value_and_gradient(f, args...)`: the value of a real function and its cotangents, one per argument, by one run of f on
// traced arguments and one sweep back.
#pragma once

#include <tuple>

#include <sla/grad/product.hpp>

namespace sla {

namespace detail {
template <class Y>
inline constexpr bool is_real_result = std::floating_point<plain_t<Y>> || Reduction<Y>;

/// The value and the cotangents; views are those of the arguments.
template <class Y, class... V>
auto swept(tape& t, Y const& y, variable<V>&... inputs) {
  auto const value = [&] {
    if constexpr (Traced<Y>)
      return plain_t<Y>(y.value());
    else if constexpr (Reduction<Y>)
      return eval(y);
    else
      return y;
  }();
  if constexpr (Traced<Y>) {
    y.variable().add(plain_t<Y>(1));
    t.sweep();
  }
  using Value = std::remove_const_t<decltype(value)>;
  return std::tuple<Value, cotangent_type_t<V>...>(value, inputs.take_cotangent()...);
}
}  // namespace detail

/// (f(args...), one cotangent per argument): dL = Re sum conj(g) d(arg). A sparse tensor's cotangent lives on its pattern.
/// f takes traced arguments (`auto const&`) and returns a real number; it is run once.
/// Arguments: tensors, sparse tensors and numbers of floating point, and expressions.
/// Cost: O(1) entries of the tape per operation, a solve included; values of operations are kept until they are pulled back.
/// Errors: what f throws; solve_error, if an adjoint solve fails.
/// Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 3; solves: Giles, Collected matrix derivative
/// results (2008).
template <class F, class... Args>
auto value_and_gradient(F&& f, Args const&... args) {
  static_assert(sizeof...(Args) > 0, "sla: value_and_gradient(f, args...): give the arguments to differentiate with respect to");
  static_assert(!(Traced<Args> || ...),
                "sla: value_and_gradient inside of a differentiated function: second derivatives are not offered; take x.value()");
  tape t;
  return [&]<class... A>(A const&... plain) {
    return [&]<class... V>(variable<V>&... inputs) {
      using Result = decltype(f(traced<V>(t, inputs)...));
      static_assert(detail::is_real_result<Result>,
                    "sla: value_and_gradient(f, args...): f must return one real number; reduce with sum, dot or squared_norm, and take real(...) of a complex one");
      if constexpr (detail::is_real_result<Result>)
        return detail::swept(t, f(traced<V>(t, inputs)...), inputs...);
      else
        return std::tuple<double, cotangent_type_t<V>...>(0.0, inputs.take_cotangent()...);
    }(t.input(plain)...);
  }(detail::argument(args)...);
}

}  // namespace sla
