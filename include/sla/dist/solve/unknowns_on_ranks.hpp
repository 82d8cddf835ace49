// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What nonlinear solves and steps in time ask of vectors on ranks (solve/nonlinear/unknowns.hpp): operators on a rank's numbers as operators of all, and
// where an element is no number.
#pragma once

#include <string>
#include <vector>

#include <sla/dist/solve/own_operator.hpp>

namespace sla {

/// An operator of yours on this rank's numbers as one of vectors that lie as x does. Placement: x is Shard on every axis, as its derivatives are.
template <class T, class U, class Mesh, class... P>
  requires((P::kind == placement_kind::shard) && ...)
auto place_operator(linear_operator<T> const& a, distributed<tensor<U, Extents<dyn>>, Mesh, P...> const& x) {
  return detail::in_layout_of(a, x);
}

/// A number that all ranks have alike, beside x.
template <class T, class Mesh, class... P>
auto common_number(distributed<tensor<T, Extents<dyn>>, Mesh, P...> const&, double a) {
  return uniform(real_t<T>(a));
}

/// "nan at element 7", of the first rank that has one, counted as in the whole where its layout knows that. Collective.
template <class T, class Mesh, class... P>
std::string not_finite_in(distributed<tensor<T, Extents<dyn>>, Mesh, P...> const& x) {
  index_t at = 0;
  while (at < x.local().size() && is_finite(to_kernel(x.local()[at]))) ++at;
  auto& world = x.mesh().world();
  bool const mine = at < x.local().size();
  std::int64_t const first = all_reduce(world, mine ? std::int64_t(world.rank()) : std::int64_t(world.size()), monoid::minimum);
  if (first == world.size()) return {};
  std::vector<char> words;
  if (first == world.rank()) {
    auto const& rows = x.handle()->rows;
    std::string const said = rows ? text(x.local()[at], " at element ", rows->global(at)) : text(x.local()[at], " at element ", at, " of rank ", world.rank());
    words.assign(said.begin(), said.end());
  }
  broadcast(world, words, int(first));
  return {words.begin(), words.end()};
}

} // namespace sla
