// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `vjp(f, std::tie(args...), g)`: the value of f, and its cotangents from a given cotangent g of the value: the seed. Of real
// functions the seed is 1 (grad/call/gradient.hpp); of one operation, without a tape, see grad/tape/vjp.hpp.
#pragma once

#include <tuple>
#include <utility>

#include <sla/grad/call/jvp.hpp>

namespace sla {

/// The law of a seed of type G for a value of type Y. A higher floor says it in its own words.
template <class Y, class G>
struct seed_law {
  static constexpr bool holds = detail::TangentOf<cotangent_type_t<Y>, G>;
  static constexpr void require() {
    static_assert(holds, "sla: vjp(f, std::tie(args...), g): the seed g is of the type of what f returns, whose cotangent it is");
  }
};

namespace detail {
/// f on traced inputs, the sweep from the seed, and the cotangents.
template <class F, class... Args, class G, std::size_t... K>
auto pulled_back(F& f, std::tuple<Args...> const& args, G const& seed, std::index_sequence<K...>) {
  tape t;
  std::tuple<decltype(argument(std::get<K>(args)))...> const plain{argument(std::get<K>(args))...};
  auto const inputs = std::tie(t.input(std::get<K>(plain))...);
  auto const y = run_or_perform(f, traced<argument_t<std::remove_cvref_t<Args>>>(t, std::get<K>(inputs))...);
  auto const with_cotangents = [&](auto value) { return std::tuple{std::move(value), std::get<K>(inputs).take_cotangent()...}; };
  if constexpr (Traced<decltype(y)>) {
    using Y = plain_t<decltype(y)>;
    seed_law<Y, G>::require();
    Y value = y.value(); // the sweep releases what is recorded
    if constexpr (seed_law<Y, G>::holds) {
      decltype(auto) g = as_tangent<cotangent_type_t<Y>>(seed);
      require_fits(value, g, "what f returns", "vjp(f, args, g): the seed");
      y.variable().add(contributed(g));
      t.sweep();
    }
    return with_cotangents(std::move(value));
  } else {
    return with_cotangents(eval(y)); // no argument mattered
  }
}
} // namespace detail

/// (f(args...), one cotangent per argument) for a cotangent g of f's value: d Re<g, f> = sum of Re<cotangent, d arg>. f takes
/// traced arguments (`auto const&`) and is run once; an operation stands for its rule.
///     auto [y, gA, gb] = vjp([](auto const& A, auto const& b) { return solve(A, b); }, std::tie(A, b), w);
/// Law: g has the type and shape of the value, a sparse one its pattern. Placement: g, like every cotangent, has the dual
/// placements of its value, `cotangent_t`, else E37; the cotangents have those of their arguments. Collective, where f is.
/// Cost, errors: as value_and_gradient; shape_error, if g has other extents or another pattern than the value.
/// Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 3.
template <class F, class... Args, class G>
auto vjp(F&& f, std::tuple<Args...> const& args, G const& g) {
  constexpr bool first_order = !(Traced<std::remove_cvref_t<Args>> || ...);
  constexpr bool differentiable = (HasCotangent<detail::argument_t<std::remove_cvref_t<Args>>> && ...);
  static_assert(first_order, "sla: vjp inside of a differentiated function: second derivatives are not offered there: hvp(f, x, v) has those of the whole function; or take x.value()");
  static_assert(!first_order || differentiable, "sla: vjp(f, std::tie(args...), g): only numbers, tensors and sparse tensors of floating point can be differentiated");
  if constexpr (first_order && differentiable) {
    return detail::pulled_back(f, args, g, std::index_sequence_for<Args...>{});
  } else {
    return std::tuple<double, std::remove_cvref_t<Args>...>(std::tuple_cat(std::tuple(0.0), args)); // well-formed: the sentence is the only error
  }
}

} // namespace sla
