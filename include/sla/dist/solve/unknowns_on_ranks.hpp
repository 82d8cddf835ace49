// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What nonlinear solves and steps in time ask of vectors on ranks (solve/nonlinear/unknowns.hpp): operators on a rank's numbers as operators of all, numbers
// beside vectors, and which element of the whole an error is about.
#pragma once

#include <string>
#include <type_traits>
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
/// A number of these ranks, which functions of vectors that lie as x does may take, traced or not.
template <class T, class Mesh, class... P>
auto argument_number(distributed<tensor<T, Extents<dyn>>, Mesh, P...> const& x, double a) {
  return distributed<T, Mesh, std::conditional_t<true, Replicate, P>...>(T(a), x.handle());
}

/// say(n, number) of the first rank that has an n with is(n); the number is that of the whole where the layout of x knows it. Collective.
template <class T, class Mesh, class... P, class Is, class Say>
std::string first_said(distributed<tensor<T, Extents<dyn>>, Mesh, P...> const& x, Is const& is, Say const& say) {
  index_t n = 0;
  while (n < x.local().size() && !is(n)) ++n;
  auto& world = x.mesh().world();
  bool const mine = n < x.local().size();
  std::int64_t const first = all_reduce(world, mine ? std::int64_t(world.rank()) : std::int64_t(world.size()), monoid::minimum);
  if (first == world.size()) return {};
  std::vector<char> words;
  if (first == world.rank()) {
    auto const& rows = x.handle()->rows;
    std::string const said = say(n, rows ? std::to_string(rows->global(n)) : text(n, " of rank ", world.rank()));
    words.assign(said.begin(), said.end());
  }
  broadcast(world, words, int(first));
  return {words.begin(), words.end()};
}

} // namespace sla
