// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The seam between algorithms and the world. A method sees vectors, operators and one `Space`; whether that is a host, a
// device, or this rank of a mesh, it does not know. Spaces: exec/host.hpp, exec/deferred.hpp, dist/solve/mesh_world.hpp, adapter/cuda.cuh.
#pragma once

#include <type_traits>
#include <utility>

#include <sla/exec/fuse.hpp>
#include <sla/expr/dense/multi.hpp>
#include <sla/expr/dense/reduce.hpp>
#include <sla/expr/sparse/product.hpp>

namespace sla {

namespace detail {
struct is_equal_to_itself {
  template <class T>
  SLA_HD int operator()(T s) const {
    return s == s;
  }
};
} // namespace detail

/// Five operations, and nothing else of the world reaches an algorithm:
///   like<T>(x)      a work vector like x; its memory is released in the order of the space
///   fuse(space,...) statements in order; reductions come back as scalars of the space, one number per item
///   map(f, s...)    f on scalars, per item, where they live; a pack of results becomes a pack of scalars
///   peek(s)         the numbers of a scalar, one per item, possibly of some calls ago (none while there were too few)
///   finish()        now and exactly: the only synchronisation
/// A scalar is a coefficient of expressions or an argument of `map`; it never converts and never compares.
template <class S, class V>
concept Space = requires(S& space, V const& x, V& y) {
  space.template like<typename V::value_type>(x);
  fuse(space, set(y, x), squared_norm_of(x));
  space.map(detail::is_equal_to_itself{}, std::get<0>(fuse(space, squared_norm_of(x))));
  space.peek(space.map(detail::is_equal_to_itself{}, std::get<0>(fuse(space, squared_norm_of(x)))));
  space.finish();
};

namespace detail {
/// Numbers, rather than what says how to compute them. Higher floors add their own.
template <class Y>
inline constexpr bool is_computed = is_tensor<Y>;
/// Has A * x been computed at once, where `fuse` should do that in its turn? What is written to x before would not be seen.
template <class A, class V>
inline constexpr bool is_computed_at_once = is_computed<std::remove_cv_t<decltype(std::declval<A const&>() * std::declval<V const&>())>>;
} // namespace detail

/// Something that maps vectors of V to vectors of W: a sparse tensor, a distributed one, a preconditioner, a linear_operator, a user's
/// class with an `operator*` that returns a node.
template <class A, class V, class W = V>
concept LinearOperator = requires(A const& a, V const& x, W& y) { set(y, a * x); } && !detail::is_computed_at_once<A, V>;

/// The type of a scalar T of a space.
template <class S, class T>
using scalar_of_t = typename S::template scalar<T>;

} // namespace sla
