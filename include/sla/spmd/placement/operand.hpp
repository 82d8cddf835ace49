// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands: what the checker sees of a C++ type: a distributed value, a literal, a uniform number, or none of these.
// `distributed` itself is in dist/value/distributed.hpp, the placements in spmd/placement/placement.hpp.
#pragma once
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <sla/core/meta.hpp>
#include <sla/core/shape.hpp>
#include <sla/spmd/mesh/mesh.hpp>
#include <sla/spmd/placement/placement_values.hpp>

namespace sla {

/// What a rank holds of a value (its Local), the mesh, and one placement per mesh axis.
template <class Local, class Mesh, class... P>
class distributed;

namespace detail {
/// What the compilers name where a number is not known to them: hence the reference.
template <class Number>
consteval Number for_run_time_numbers_write_uniform(Number const& value) {
  return value;
}
} // namespace detail

/// A number written in the program: the same on every rank because the program is. `2.0 * x` scales a pending sum;
/// `x + 1.0` would add 1 on every rank of it and is refused.
template <class T>
class literal {
public:
  using value_type = T;
  template <class Number>
  requires std::convertible_to<Number, T>
  consteval literal(Number const& value) : value_(static_cast<T>(detail::for_run_time_numbers_write_uniform(value))) {} // NOLINT: converts by intent
  constexpr T value() const { return value_; }

private:
  T value_;
};

/// A run-time number that every rank has computed alike. It counts as replicated, and as a constant for gradients.
template <class T>
class uniform_number {
public:
  using value_type = T;
  constexpr explicit uniform_number(T value) : value_(value) {}
  constexpr T value() const { return value_; }

private:
  T value_;
};

/// States that a number is the same on all ranks: `uniform(alpha) * x`. Law: it is; nothing checks it.
template <class T>
constexpr uniform_number<T> uniform(T value) {
  return uniform_number<T>(value);
}

/// What the rules know of one operand. A weak one (a literal) takes any placement; one without a gradient may be read
/// as Replicate or Invariant, whichever the others need.
struct operand {
  tensor_placement type{};
  bool weak = false;
  bool gradient = true;
  constexpr bool operator==(operand const&) const = default;
};

/// The dimensions of a local part: those of its `shape_type` (sparse) or `extents_type` (dense), none for a number.
/// Specialise it for a local type that has neither.
template <class Local>
struct local_dims {
  static constexpr int batch = -1, rank = 0;
};
template <class Local>
requires requires {
  Local::extents_type::rank;
} &&(!requires { typename Local::shape_type; }) struct local_dims<Local> {
  static constexpr int batch = -1, rank = Local::extents_type::rank;
};
template <class Local>
requires requires { typename Local::shape_type::batch_extents; }
struct local_dims<Local> {
  using shape = typename Local::shape_type;
  static constexpr int batch = shape::batch_extents::rank, rank = batch + 2 + (shape::is_blocked ? 2 : 0);
};

/// What a type is to the checker. A class that stands for a distributed value specialises it by deriving from
/// `operand_traits<distributed<Local, Mesh, P...>>`.
enum class operand_kind : std::uint8_t { other, distributed, literal, uniform, number };

namespace detail {
template <class T>
concept PlainNumber = std::is_arithmetic_v<T> || requires(T z) { // or complex
  { z.real() } -> std::floating_point;
  { z.imag() } -> std::floating_point;
};
} // namespace detail

/// What the rules ask of an operand: its kind, mesh, placements and local type. Specialised for a distributed type.
template <class T>
struct operand_traits {
  static constexpr operand_kind kind = detail::PlainNumber<T> ? operand_kind::number : operand_kind::other;
  using mesh_type = void;
  using placement_list = placements<>;
};
template <class T>
struct operand_traits<literal<T>> : operand_traits<void> {
  static constexpr operand_kind kind = operand_kind::literal;
};
template <class T>
struct operand_traits<uniform_number<T>> : operand_traits<void> {
  static constexpr operand_kind kind = operand_kind::uniform;
};

namespace detail {

template <class Local>
consteval bool has_gradient() { // integers and booleans have none
  if constexpr (requires { typename Local::value_type; })
    return !std::is_integral_v<typename Local::value_type>;
  else
    return !std::is_integral_v<Local>;
}

template <class Keys, class Local, class... P>
consteval operand distributed_operand() {
  static_assert(sizeof...(P) <= max_mesh_axes, "sla: a mesh has at most 6 axes");
  operand out;
  out.gradient = has_gradient<Local>();
  out.type.axes = static_cast<std::int8_t>(sizeof...(P));
  out.type.rank = static_cast<std::int8_t>(local_dims<Local>::rank);
  out.type.batch = static_cast<std::int8_t>(local_dims<Local>::batch);
  int a = 0;
  ((out.type.on[a++] = to_value<P, Keys>()), ...);
  return out;
}

} // namespace detail

template <class Local, class Mesh, class... P>
struct operand_traits<distributed<Local, Mesh, P...>> {
  static_assert(is_mesh<Mesh>,
                "sla: the second argument of distributed<Local, Mesh, ...> is a mesh<axis<\"name\">...>");
  static_assert((Placement<P> && ...), "sla: after the mesh come placements: Replicate, Partial<>, Shard<0>, ...");
  static constexpr operand_kind kind = operand_kind::distributed;
  using local_type = Local;
  using mesh_type = Mesh;
  using placement_list = placements<P...>;
  template <class NewLocal, class... Q>
  using rebind = distributed<NewLocal, Mesh, Q...>;
  template <class Keys>
  static constexpr operand value = detail::distributed_operand<Keys, Local, P...>();
};

/// A value with placements: `distributed`, or a class that stands for one.
template <class T>
concept Distributed = operand_traits<std::remove_cvref_t<T>>::kind == operand_kind::distributed;

/// The mesh of a distributed type, and its placements in mesh order.
template <Distributed T>
using mesh_of_t = typename operand_traits<std::remove_cvref_t<T>>::mesh_type;
/// The placements of T, one per axis of its mesh.
template <Distributed T>
using placements_of_t = typename operand_traits<std::remove_cvref_t<T>>::placement_list;
/// The type of one rank's part of T.
template <Distributed T>
using local_of_t = typename operand_traits<std::remove_cvref_t<T>>::local_type;

namespace detail {

/// The placements of a type as a value, families numbered as on it alone.
template <Distributed T>
inline constexpr tensor_placement tensor_placement_of = operand_traits<T>::template value<typename joined_keys<placements_of_t<T>>::type>.type;

template <int N, class List>
struct placement_number;
template <int N, class... P>
struct placement_number<N, placements<P...>> : type_at_index<N, P...> {};

template <class T, class List>
struct with_list;
template <class T, class... P>
struct with_list<T, placements<P...>> {
  using type = typename operand_traits<T>::template rebind<typename operand_traits<T>::local_type, P...>;
};

template <int N, class New, class List, class Done = placements<>>
struct replaced;
template <int N, class New, class First, class... Rest, class... Done>
struct replaced<N, New, placements<First, Rest...>, placements<Done...>>
    : replaced<N - 1, New, placements<Rest...>, placements<Done..., First>> {};
template <class New, class First, class... Rest, class... Done>
struct replaced<0, New, placements<First, Rest...>, placements<Done...>> {
  using type = placements<Done..., New, Rest...>;
};

template <class List>
struct duals;
template <class... P>
struct duals<placements<P...>> {
  using type = placements<dual_t<P>...>;
};

template <class T>
struct cotangent {
  using type = T;
};
template <Distributed T>
struct cotangent<T> : with_list<T, typename duals<placements_of_t<T>>::type> {};

} // namespace detail

/// The placement on one axis, by number or by name.
template <Distributed T, int Axis>
using placement_on_t = typename detail::placement_number<Axis, placements_of_t<T>>::type;
/// The placement of T on the axis of this name.
template <Distributed T, fixed_string Name>
using placement_along_t = placement_on_t<T, mesh_of_t<T>::template index<Name>()>;

/// T with other placements, or with another placement on the axis of this name; the Local stays.
template <Distributed T, class List>
using with_placements_t = typename detail::with_list<std::remove_cvref_t<T>, List>::type;
/// T with the placement New on the axis of this name.
template <Distributed T, fixed_string Name, Placement New>
using with_placement_t =
    with_placements_t<T,
                      typename detail::replaced<mesh_of_t<T>::template index<Name>(), New, placements_of_t<T>>::type>;

/// `has_placements<decltype(y), Replicate, Shard<0>>`: exactly these, in the order of the mesh axes.
template <class T, class... P>
concept has_placements = Distributed<T> && std::same_as<placements_of_t<T>, placements<P...>>;

/// The type of a gradient: the same Local with the dual placements. Errors: a sentence for Partial<Max> and its like.
template <class T>
using cotangent_t = typename detail::cotangent<std::remove_cvref_t<T>>::type;

} // namespace sla
