// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of what keeps every rank's numbers and changes their extents, mesh or name: reshape, reinterpret_mesh, assume. The
// cotangent takes the way back. Steps that move numbers are in dist/step/steps_gradient.hpp.
#pragma once

#include <utility>

#include <sla/dist/value/expression_gradient.hpp>
#include <sla/dist/view/assume.hpp>
#include <sla/dist/view/reinterpret_mesh.hpp>
#include <sla/dist/view/reshape.hpp>

namespace sla {

namespace detail {
/// The cotangent of a V from one whose numbers are the same, of this rank.
template <class V, class G>
cotangent_t<V> same_numbers(G const& g, typename local_of_t<V>::extents_type const& extents, layout_handle<mesh_of_t<V>> const& home) {
  local_of_t<V> local(extents, uninitialized);
  std::copy_n(g.local().data(), g.local().size(), local.data());
  return {std::move(local), home};
}
template <class V, class G>
  requires is_plain_number<local_of_t<V>>
cotangent_t<V> same_numbers(G const& g, Extents<> const&, layout_handle<mesh_of_t<V>> const& home) {
  return {g.local(), home};
}
template <class V>
auto extents_here(V const& v) {
  if constexpr (is_plain_number<local_of_t<V>>)
    return Extents<>{};
  else
    return v.local().extents();
}
/// f of a traced value, where f changes no number.
template <class X, class F>
auto renamed(X const& x, F const& f) {
  using V = plain_t<X>;
  auto rule = linear_in(
      x,
      [home = x.value().handle(), extents = extents_here(x.value())](auto const&, auto const& g) { return same_numbers<V>(g, extents, home); },
      [f](auto const&, auto const& d) { return f(d); });
  return record(x.home(), f(x.value()), std::move(rule));
}
} // namespace detail

template <fixed_string Pattern, detail::TracedDistributedExpr X, detail::ReshapeArgument... Arg>
auto reshape(X const& x, Arg const&... arg) {
  return detail::renamed(x, [arg...](auto const& v) { return reshape<Pattern>(v, arg...); });
}
template <detail::TracedDistributedExpr X, class... Axes>
auto reinterpret_mesh(X const& x, mesh<Axes...> const& m) {
  return detail::renamed(x, [m](auto const& v) { return reinterpret_mesh(v, m); });
}
template <detail::TracedDistributedExpr X, class... Axes>
auto reinterpret_mesh(X const& x, mesh<Axes...> const& m, assume_layout_t) {
  return detail::renamed(x, [m](auto const& v) { return reinterpret_mesh(v, m, assume_layout); });
}
template <fixed_string Axis, detail::TracedDistributedExpr X>
auto as_local(X const& x) {
  return detail::renamed(x, [](auto const& v) { return as_local<Axis>(v); });
}
/// Law: the value has a gradient: it is Varying on the axis, not Untyped.
template <fixed_string Axis, Placement P, detail::TracedDistributedExpr X>
auto assume(X const& x) {
  return detail::renamed(x, [](auto const& v) { return assume<Axis, P>(v); });
}

} // namespace sla
