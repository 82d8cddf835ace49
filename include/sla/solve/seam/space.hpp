// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The seam between algorithms and the world. A method sees vectors, operators and one `Space`; whether that is a host, a
// device, or this rank of a mesh, it does not know. Spaces: exec/host.hpp, exec/deferred.hpp, dist/solve/mesh_world.hpp, adapter/cuda.cuh.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <vector>

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

/// The scalar that a space S makes of a squared norm of V, and what is asked of it: each by itself, so that a sentence can name it.
template <class S, class V>
using norm_in = std::remove_cvref_t<decltype(std::get<0>(fuse(std::declval<S&>(), squared_norm_of(std::declval<V const&>()))))>;
template <class S, class V>
concept SpaceFuses = requires(S& space, V const& x, V& y) { fuse(space, set(y, x)); typename norm_in<S, V>; };
template <class S, class V>
concept SpaceLike = requires(S& space, V const& x) { space.template like<typename V::value_type>(x); };
template <class S, class V>
concept SpaceMaps = requires(S& space, norm_in<S, V> const& s) { space.map(is_equal_to_itself{}, s); };
template <class S, class V>
concept SpacePeeks = requires(S& space, norm_in<S, V> const& s) { space.peek(s).empty(); };
template <class S, class V>
concept SpaceReads = requires(S& space, norm_in<S, V> const& s) { space.read(s).size(); };
template <class S>
concept SpaceScalar = requires(S& space, std::vector<double> const& numbers) { { space.scalar(numbers) } -> std::same_as<typename S::template scalar_type<double>>; };
template <class S>
concept SpaceItems = requires(S const& space) { { space.items() } -> std::convertible_to<index_t>; };
template <class S>
concept SpaceFinishes = requires(S& space) { space.finish(); };
} // namespace detail

/// What an algorithm may call of the world, all of it, for vectors V of any sizes:
///   like<T>(x)       a work vector of x's layout, with elements of type T; its memory is released in the order of the space
///   fuse(space, ...) statements in order; reductions come back as scalars of the space, one number per item
///   map(f, s...)     f on scalars, per item, where they live; a pack of results becomes a pack of scalars
///   scalar(numbers)  a std::vector of numbers on the host, one per item, as a scalar: the way back up, of type scalar_type<T>
///   peek(s)          the numbers of a scalar, one per item, possibly of some calls ago (none while there were too few)
///   finish()         now and exactly: the only synchronisation
///   read(s)          the numbers of a scalar, one per item, exactly: after `finish`
///   items()          how many items there are
/// A scalar is a coefficient of expressions or an argument of `map`; it never converts and never compares.
/// Of a class that lacks one of these, `require_space` says which.
template <class S, class V>
concept Space = detail::SpaceFuses<S, V> && detail::SpaceLike<S, V> && detail::SpaceMaps<S, V> && detail::SpaceScalar<S> && detail::SpacePeeks<S, V> &&
                detail::SpaceFinishes<S> && detail::SpaceReads<S, V> && detail::SpaceItems<S>;

/// The sentence for the first member that S lacks to be a Space of vectors V: for who takes a space from others.
template <class S, class V>
constexpr bool require_space() {
  if constexpr (!Space<S, V>) {
    constexpr bool fuses = detail::SpaceFuses<S, V>, likes = detail::SpaceLike<S, V>, maps = !fuses || detail::SpaceMaps<S, V>, peeks = !fuses || detail::SpacePeeks<S, V>,
                   reads = !fuses || detail::SpaceReads<S, V>, scalars = detail::SpaceScalar<S>, finishes = detail::SpaceFinishes<S>, counts = detail::SpaceItems<S>;
    constexpr int first = !fuses ? 0 : !likes ? 1 : !maps ? 2 : !scalars ? 3 : !peeks ? 4 : !finishes ? 5 : !reads ? 6 : !counts ? 7 : 8;
    static_assert(first != 0, "sla: a space without `fuse(space, set(y, x), squared_norm_of(x))` for the vectors of this solve: derive it from host_space, or see exec/fuse.hpp");
    static_assert(first != 1, "sla: a space without `like<T>(x)`: a work vector of x's layout, with elements of type T");
    static_assert(first != 2, "sla: a space without `map(f, s...)`: f on scalars of the space, per item");
    static_assert(first != 3, "sla: a space without `scalar(numbers)`: a std::vector of numbers, one per item, as a scalar of the space, of type `scalar_type<T>`");
    static_assert(first != 4, "sla: a space without `peek(s)`: the numbers of a scalar, perhaps of some calls ago");
    static_assert(first != 5, "sla: a space without `finish()`: it waits for all work");
    static_assert(first != 6, "sla: a space without `read(s)`: the numbers of a scalar, exactly, after finish()");
    static_assert(first != 7, "sla: a space without `items()`: how many numbers a scalar has");
  }
  return Space<S, V>;
}

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
using scalar_of_t = typename S::template scalar_type<T>;

} // namespace sla
