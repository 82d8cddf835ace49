// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of collectives and conversions: the adjoint step of spmd/step/transition.hpp carries the cotangent back, the
// step itself a tangent on. Other operations on distributed values are in dist/grad/value_and_gradient.hpp.
#pragma once

#include <utility>

#include <sla/dist/step/collectives.hpp>
#include <sla/dist/value/cotangent_space.hpp>
#include <sla/grad/tape/record.hpp>

namespace sla {

namespace detail {
template <class X>
concept TracedSteppable = Traced<X> && is_distributed<plain_t<X>> && DistributedExpr<plain_t<X>>;

/// How a gradient is carried back over the step: one of S on what was From.
template <step How, class From, class To>
inline constexpr step adjoint_step = [] {
  using keys = typename key_list<From, To>::type;
  return adjoint_of(transition{How, to_value<From, keys>(), to_value<To, keys>()}).how;
}();
template <class S, class X>
using placement_before = placement_on_t<plain_t<X>, S::axes::template on<mesh_of_t<plain_t<X>>>::first>;
template <class S, class X>
using step_back = step_on<adjoint_step<S::how, placement_before<S, X>, typename S::to>, typename S::axes, dual_t<placement_before<S, X>>, true, S::dim>;
} // namespace detail

template <StepOn S, detail::TracedSteppable X>
auto perform(S, X const& x, layout_handle<mesh_of_t<plain_t<X>>> const& layout_source = {}) {
  auto const home = x.value().handle();
  auto rule = linear_in(
      x, [home](auto const&, auto const& g) { return detail::stepped<detail::step_back<S, X>>(g, home); },
      [layout_source](auto const&, auto const& d) { return detail::stepped<S>(d, layout_source); });
  return record(x.home(), detail::stepped<S>(x.value(), layout_source), std::move(rule));
}

} // namespace sla
