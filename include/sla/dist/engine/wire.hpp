// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What travels between ranks: elements, and the operations that fold them. Engines see bytes, an element and a fold.
// Who carries it is in dist/engine/communicator.hpp; calls on typed spans are in dist/engine/typed_collectives.hpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <sla/core/bfloat16.hpp>
#include <sla/core/op.hpp>
#include <sla/core/scalar.hpp>
#include <sla/spmd/placement/placement.hpp>

namespace sla {

/// The elements that a communicator knows. A complex number travels as two reals, any other trivially copyable type as
/// bytes.
enum class wire_type : std::uint8_t { byte, int32, int64, uint64, float32, float64, bfloat16 };

/// The calls that all ranks of a communicator make together.
enum class collective : std::uint8_t { barrier, broadcast, all_reduce, all_gather, reduce_scatter, all_to_all, split };
/// The number of kinds of collectives.
inline constexpr int collective_count = 7;

/// Its name, as messages have it.
constexpr std::string_view name_of(wire_type type) {
  constexpr std::string_view names[] = {"byte", "int32", "int64", "uint64", "float32", "float64", "bfloat16"};
  return names[static_cast<std::size_t>(type)];
}
constexpr std::string_view name_of(monoid how) {
  constexpr std::string_view names[] = {"none", "sum", "average", "maximum", "minimum", "product"};
  return names[static_cast<std::size_t>(how)];
}
constexpr std::string_view name_of(collective what) {
  constexpr std::string_view names[] = {"barrier",        "broadcast",  "all_reduce", "all_gather",
                                        "reduce_scatter", "all_to_all", "split"};
  return names[static_cast<std::size_t>(what)];
}
/// The bytes of an element.
constexpr std::size_t size_of(wire_type type) {
  constexpr std::size_t sizes[] = {1, 4, 8, 8, 4, 8, 2};
  return sizes[static_cast<std::size_t>(type)];
}

/// The run-time name of what a reduction folds with (core/op.hpp).
template <class Fold>
inline constexpr monoid monoid_of = monoid::none;
template <>
inline constexpr monoid monoid_of<op::plus> = monoid::sum;
template <>
inline constexpr monoid monoid_of<op::minimum> = monoid::minimum;
template <>
inline constexpr monoid monoid_of<op::maximum> = monoid::maximum;

namespace detail {

template <class T>
consteval wire_type element_of() {
  if constexpr (is_complex<T>) {
    return element_of<real_t<T>>();
  } else if constexpr (std::same_as<T, float>) {
    return wire_type::float32;
  } else if constexpr (std::same_as<T, double>) {
    return wire_type::float64;
  } else if constexpr (std::same_as<T, bfloat16>) {
    return wire_type::bfloat16;
  } else if constexpr (std::integral<T> && !std::same_as<T, bool> && sizeof(T) == 8) {
    return std::is_signed_v<T> ? wire_type::int64 : wire_type::uint64;
  } else if constexpr (std::signed_integral<T> && sizeof(T) == 4) {
    return wire_type::int32;
  } else {
    return wire_type::byte;
  }
}

} // namespace detail

/// How a T travels: `type`, and how many of them one T is.
template <class T>
struct wire_traits {
  static_assert(std::is_trivially_copyable_v<T>,
                "sla: only trivially copyable values travel between ranks; send their parts");
  static constexpr wire_type type = detail::element_of<T>();
  static constexpr std::size_t parts = sizeof(T) / size_of(type);
};

/// Values that ranks can fold: float, double, their complex numbers (sums only), and integers of 32 signed or 64 bits.
template <class T>
concept Foldable = wire_traits<std::remove_cv_t<T>>::type != wire_type::byte;

namespace detail {

template <class T, class Fold>
void fold_each(std::byte* into, std::byte const* from, std::size_t count, Fold each) {
  for (std::size_t n = 0; n < count; ++n) {
    T a, b; // copied, since the bytes of a message may lie anywhere
    std::memcpy(&a, into + n * sizeof(T), sizeof(T));
    std::memcpy(&b, from + n * sizeof(T), sizeof(T));
    each(a, b);
    std::memcpy(into + n * sizeof(T), &a, sizeof(T));
  }
}

template <class T>
void fold_typed(monoid how, std::byte* into, std::byte const* from, std::size_t count) {
  // Sums and products of signed integers wrap around as unsigned ones do: a rank cannot know what the others hold.
  using Ring = typename std::conditional_t<std::integral<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  switch (how) {
  case monoid::sum:
    return fold_each<Ring>(into, from, count, [](Ring& a, Ring b) { a += b; });
  case monoid::product:
    return fold_each<Ring>(into, from, count, [](Ring& a, Ring b) { a *= b; });
  case monoid::minimum:
    return fold_each<T>(into, from, count, [](T& a, T b) { op::minimum::fold(a, b); });
  case monoid::maximum:
    return fold_each<T>(into, from, count, [](T& a, T b) { op::maximum::fold(a, b); });
  case monoid::average: // any_communicator makes a sum of it
  case monoid::none:
    return;
  }
}

/// into[n] = into[n] (how) from[n]: the one definition of a fold, for every engine. A NaN survives minimum and maximum.
template <class = void>
void fold_bytes(wire_type type, monoid how, std::byte* into, std::byte const* from, std::size_t count) {
  switch (type) {
  case wire_type::int32:
    return fold_typed<std::int32_t>(how, into, from, count);
  case wire_type::int64:
    return fold_typed<std::int64_t>(how, into, from, count);
  case wire_type::uint64:
    return fold_typed<std::uint64_t>(how, into, from, count);
  case wire_type::float32:
    return fold_typed<float>(how, into, from, count);
  case wire_type::float64:
    return fold_typed<double>(how, into, from, count);
  case wire_type::bfloat16:
    return fold_typed<bfloat16>(how, into, from, count);
  case wire_type::byte:
    return; // any_communicator refuses it
  }
}

/// values[n] /= ranks: what an average is after its sum.
template <class = void>
void divide_bytes(wire_type type, std::byte* values, std::size_t count, int ranks) {
  auto const by = [&]<class T>(T divisor) { fold_each<T>(values, values, count, [&](T& a, T) { a /= divisor; }); };
  if (type == wire_type::float32) by(static_cast<float>(ranks));
  if (type == wire_type::float64) by(static_cast<double>(ranks));
  if (type == wire_type::bfloat16) by(bfloat16(static_cast<float>(ranks)));
}

/// memcpy, which may not be given null pointers, even for no bytes.
inline void copy_bytes(std::byte* into, std::byte const* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(into, from, bytes);
}

} // namespace detail

} // namespace sla
