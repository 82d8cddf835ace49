// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a solve is judged by: the driver recomputes it from x when a method has ended, and the report tells it. A method may name its
// own, `using measure = residual_of_normal_equations;`, and its stop test goes by the same numbers.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>

#include <sla/expr/sparse/linear_operator.hpp>
#include <sla/expr/sparse/residual.hpp>
#include <sla/solve/seam/space.hpp>

namespace sla {

/// Room for vectors of a measure, which live until its space has finished.
template <class V, class X = V>
struct measure_room {
  std::optional<V> of_range;   ///< like b
  std::optional<X> of_domain;  ///< like x
};

/// |b - A x| beside |b|: what methods are judged by that say nothing. A measure has a name, and
///   numbers(space, a, b, x, room)  the squared norm of what should be small, that of what it is beside, and the sum of magnitudes of this
///   sum(space, a, b, x, room)      the sum of magnitudes of the former, for numbers whose squares are out of range; after `numbers`
/// `room` is a measure_room.
struct residual_of_system {
  static constexpr char const* name = "residual";
  template <class S, class A, class V, class X>
  static auto numbers(S& space, A const& a, V const& b, X const& x, measure_room<V, X>&) {
    return fuse(space, squared_norm_of(accurate_residual(b, a * x)), squared_norm_of(b), norm1_of(b));
  }
  template <class S, class A, class V, class X>
  static auto sum(S& space, A const& a, V const& b, X const& x, measure_room<V, X>&) {
    return fuse(space, norm1_of(b - a * x));
  }
};

/// |A^H (b - A x)| beside |A^H b|, which is small for the x of least squares: b - A x itself is not, where b is not in the range of A.
struct residual_of_normal_equations {
  static constexpr char const* name = "residual of A^H A x = A^H b";
  template <class S, class A, class V, class X>
  static auto numbers(S& space, A const& a, V const& b, X const& x, measure_room<V, X>& room) {
    using T = typename V::value_type;
    auto& [r, s] = room;
    if (!r) r.emplace(space.template like<T>(b));
    if (!s) s.emplace(space.template like<T>(x));
    return fuse(space, set(*r, accurate_residual(b, a * x)), set(*s, adjoint(a) * b), squared_norm_of(adjoint(a) * *r), squared_norm_of(*s), norm1_of(*s));
  }
  template <class S, class A, class V, class X>
  static auto sum(S& space, A const& a, V const&, X const&, measure_room<V, X>& room) {
    return fuse(space, norm1_of(adjoint(a) * *room.of_range));
  }
};

namespace detail {
/// How many scalars a call returns, of what is a tuple.
template <class Tuple, std::size_t Count>
concept Scalars = requires { requires std::tuple_size<Tuple>::value == Count; };
template <class M, class S, class A, class V, class X>
concept MeasuresNumbers = requires(S& space, A const& a, V const& b, X const& x, measure_room<V, X>& room) { { M::numbers(space, a, b, x, room) } -> Scalars<3>; };
template <class M, class S, class A, class V, class X>
concept MeasuresSum = requires(S& space, A const& a, V const& b, X const& x, measure_room<V, X>& room) { { M::sum(space, a, b, x, room) } -> Scalars<1>; };
} // namespace detail

/// What a solve may be judged by: a type with a `name`, for reports, and static functions `numbers` and `sum`, as residual_of_system has them.
template <class M, class S, class A, class V, class X = V>
concept Measure = requires { { M::name } -> std::convertible_to<char const*>; } && detail::MeasuresNumbers<M, S, A, V, X> && detail::MeasuresSum<M, S, A, V, X>;

namespace detail {
/// M, or after the sentence for what it lacks another measure, so that it is the only error. Its name is asked for among the members of its method.
template <class M, class S, class A, class V, class X>
constexpr auto whole_measure() {
  constexpr bool has_numbers = MeasuresNumbers<M, S, A, V, X>, has_sum = MeasuresSum<M, S, A, V, X>;
  static_assert(has_numbers, "sla: solve(A, b, method): the measure of the method has no member `numbers`: static auto numbers(space, a, b, x, room), which returns three scalars of fuse, as in "
                             "sla/solve/seam/measure.hpp");
  static_assert(!has_numbers || has_sum, "sla: solve(A, b, method): the measure of the method has no member `sum`: static auto sum(space, a, b, x, room), which returns one scalar of fuse, as in "
                                         "sla/solve/seam/measure.hpp");
  return std::type_identity<std::conditional_t<Measure<M, S, A, V, X>, M, residual_of_system>>();
}

template <class Method>
struct measure_of {
  using type = residual_of_system;
};
template <class Method>
  requires requires { typename Method::measure; }
struct measure_of<Method> {
  using type = typename Method::measure;
};
/// Must A be square? Of methods that do not say so, yes.
template <class Method>
inline constexpr bool wants_square = true;
template <class Method>
  requires requires { typename std::bool_constant<Method::needs_square>; }
inline constexpr bool wants_square<Method> = Method::needs_square;
} // namespace detail
/// What a method is judged by.
template <class Method>
using measure_of_t = typename detail::measure_of<Method>::type;

} // namespace sla
