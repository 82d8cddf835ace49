// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cotangents and tangents of distributed values: cotangents have the dual placements, in their types, tangents those of their
// values. The rules that make them are in dist/grad/value_and_gradient.hpp.
#pragma once

#include <optional>
#include <utility>

#include <sla/dist/value/distributed.hpp>
#include <sla/grad/tape/record.hpp>

namespace sla {

namespace detail {
/// sum += contribution, for a cotangent or tangent of v. A contribution is of this rank: a local expression, or a distributed value
/// in the placements of the sum.
template <class Sum, class V, class X>
void add_distributed(std::optional<Sum>& sum, V const& v, X const& contribution) {
  using Local = local_of_t<V>;
  std::optional<Local> local;
  if (sum) local.emplace(std::move(*sum).local());
  if constexpr (is_distributed<X>) {
    static_assert(std::same_as<placements_of_t<X>, placements_of_t<Sum>>);
    cotangent_space<Local>::add(local, v.local(), contributed(contribution.local()));
  } else {
    cotangent_space<Local>::add(local, v.local(), contribution);
  }
  sum.emplace(std::move(*local), v.handle());
}
} // namespace detail

/// The cotangent of a distributed value: the same Local with the dual placements, on the same layout.
template <class Local, class Mesh, class... P>
struct cotangent_space<distributed<Local, Mesh, P...>> {
  using value_type = distributed<Local, Mesh, P...>;
  using type = cotangent_t<value_type>;
  static type zero(value_type const& v) { return {cotangent_space<Local>::zero(v.local()), v.handle()}; }
  template <class X>
  static void add(std::optional<type>& sum, value_type const& v, X const& contribution) {
    detail::add_distributed(sum, v, contribution);
  }
};

/// The tangent of a distributed value: of its own placements, on the same layout. What has no cotangent has none.
template <class Local, class Mesh, class... P>
struct tangent_space<distributed<Local, Mesh, P...>> {
  using type = distributed<Local, Mesh, P...>;
  static type zero(type const& v) { return {tangent_space<Local>::zero(v.local()), v.handle()}; }
  template <class X>
  static void add(std::optional<type>& sum, type const& v, X const& contribution) {
    detail::add_distributed(sum, v, contribution);
  }
};

namespace detail {
template <class Local, class Mesh, class... P>
struct element_type_of<distributed<Local, Mesh, P...>> : element_type_of<Local> {};
} // namespace detail

} // namespace sla
