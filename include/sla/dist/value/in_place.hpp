// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Changes of a distributed tensor or number in place, `x += y`, `x *= 2.0`: whatever its type says stays true. A value that becomes
// another kind of value is a new variable, or `retype`.
#pragma once

#include <type_traits>
#include <utility>

#include <sla/dist/value/expression.hpp>

namespace sla {

namespace detail {
/// Never true; its arguments are what a refusal prints: what x holds, and what the result would.
template <class Held, class Made>
inline constexpr bool placement_stays = false;

/// Of integers and truth values, which have no gradient, an Invariant is a Replicate, and the reverse.
template <class Held, class Made>
inline constexpr bool are_copies_alike = false;
template <class... P, class... Q>
inline constexpr bool are_copies_alike<placements<P...>, placements<Q...>> = ((std::same_as<P, Q> || (is_copied(P::kind) && is_copied(Q::kind))) && ...);

template <class X, class Node>
X& change(X& x, Node const& node) {
  if constexpr (std::is_same_v<placements_of_t<X>, placements_of_t<Node>>) {
    if constexpr (is_tensor<local_of_t<X>>)
      assign_distributed(x, node);
    else
      x = X(node);
  } else if constexpr (std::integral<typename X::value_type> && are_copies_alike<placements_of_t<X>, placements_of_t<Node>>) {
    x = X(node.evaluated(), x.handle());
  } else {
    static_assert(placement_stays<placements_of_t<X>, placements_of_t<Node>>,
                  "sla[E22]: nothing in place changes a placement: the result is of another than x (below: what x holds, what the result "
                  "would). Write it out of place, auto z = x + y, or convert x first");
  }
  return x;
}
} // namespace detail

// Law: those of the operation, and the placement of the result is that of x.
template <class Local, class Mesh, class... P, class R>
  requires DistributedOperand<R>
distributed<Local, Mesh, P...>& operator+=(distributed<Local, Mesh, P...>& x, R&& r) {
  return detail::change(x, std::as_const(x) + std::forward<R>(r));
}
template <class Local, class Mesh, class... P, class R>
  requires DistributedOperand<R>
distributed<Local, Mesh, P...>& operator-=(distributed<Local, Mesh, P...>& x, R&& r) {
  return detail::change(x, std::as_const(x) - std::forward<R>(r));
}
template <class Local, class Mesh, class... P, class R>
  requires DistributedOperand<R>
distributed<Local, Mesh, P...>& operator*=(distributed<Local, Mesh, P...>& x, R&& r) {
  return detail::change(x, std::as_const(x) * std::forward<R>(r));
}
template <class Local, class Mesh, class... P, class R>
  requires DistributedOperand<R>
distributed<Local, Mesh, P...>& operator/=(distributed<Local, Mesh, P...>& x, R&& r) {
  return detail::change(x, std::as_const(x) / std::forward<R>(r));
}
template <class Local, class Mesh, class... P>
distributed<Local, Mesh, P...>& operator+=(distributed<Local, Mesh, P...>& x, detail::literal_beside<distributed<Local, Mesh, P...>> s) {
  return detail::change(x, detail::distributed_elementwise<op::add>(std::as_const(x), s, "x += 1.0"));
}
template <class Local, class Mesh, class... P>
distributed<Local, Mesh, P...>& operator-=(distributed<Local, Mesh, P...>& x, detail::literal_beside<distributed<Local, Mesh, P...>> s) {
  return detail::change(x, detail::distributed_elementwise<op::sub>(std::as_const(x), s, "x -= 1.0"));
}
template <class Local, class Mesh, class... P>
  requires(!is_sparse_tensor<Local>) // those: dist/matrix/algebra_on_ranks.hpp
distributed<Local, Mesh, P...>& operator*=(distributed<Local, Mesh, P...>& x, detail::literal_beside<distributed<Local, Mesh, P...>> s) {
  return detail::change(x, detail::distributed_elementwise<op::mul>(std::as_const(x), s, "x *= 2.0"));
}
template <class Local, class Mesh, class... P>
  requires(!is_sparse_tensor<Local>)
distributed<Local, Mesh, P...>& operator/=(distributed<Local, Mesh, P...>& x, detail::literal_beside<distributed<Local, Mesh, P...>> s) {
  return detail::change(x, detail::distributed_elementwise<op::div>(std::as_const(x), s, "x /= 2.0"));
}

} // namespace sla
