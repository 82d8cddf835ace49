// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shape laws. What the types know is checked by a static_assert with one sentence; the rest once, when the expression is
// made, by an error that names both shapes.
#pragma once

#include <type_traits>

#include <sla/core/error.hpp>
#include <sla/core/scalar.hpp>
#include <sla/core/shape.hpp>

namespace sla {

/// The extents of a number: it takes those of its partner.
struct no_extents {
  static constexpr int rank = -1;
};

/// The memory of a number: it goes anywhere.
struct any_memory {};

namespace detail {
template <index_t... R>
struct common_extents_type<no_extents, Extents<R...>> {
  using type = Extents<R...>;
};
template <>
struct common_extents_type<no_extents, no_extents> {
  using type = no_extents;
};
} // namespace detail

/// The law of elementwise operations: equal ranks, and equal extents as far as the types say. Numbers fit everything.
/// (Laws are constants, not concepts: a failed static_assert then prints its sentence and no derivation.)
template <class L, class R>
inline constexpr bool same_extents_law = std::same_as<L, no_extents> || std::same_as<R, no_extents> || detail::extents_may_agree<L, R>;

/// The extents of an elementwise operation on operands of extents l and r, known to agree.
template <class L, class R>
SLA_HD common_extents_t<L, R> common_extents(L const& l, R const& r) {
  if constexpr (std::same_as<L, common_extents_t<L, R>>)
    return l;
  else if constexpr (std::same_as<R, common_extents_t<L, R>>)
    return r;
  else
    return common_extents_t<L, R>::from(l);
}

/// Errors: shape_error, if the extents differ at run time.
template <class L, class R>
void require_same_extents(L const& l, R const& r, char const* operation, char const* remedy = "elementwise operations need equal extents") {
  if constexpr (L::rank >= 0 && L::rank == R::rank)
    for (int a = 0; a < L::rank; ++a)
      if (l[a] != r[a])
        throw shape_error(text(operation, ": the operands are ", to_string(l), " and ", to_string(r), "; ", remedy));
}

/// The memory of two operands; numbers have `any_memory`.
template <class L, class R>
using common_memory_t = std::conditional_t<std::same_as<L, any_memory>, R, L>;
/// The memory of several operands.
template <class... Memory>
struct common_memory_of {
  using type = any_memory;
};
template <class First, class... Rest>
struct common_memory_of<First, Rest...> {
  using type = common_memory_t<First, typename common_memory_of<Rest...>::type>;
};
/// The memory of several operands.
template <class... Memory>
using common_memory_of_t = typename common_memory_of<Memory...>::type;
/// The law of places: all operands live in one memory.
template <class L, class R>
inline constexpr bool same_memory_law = std::same_as<L, any_memory> || std::same_as<R, any_memory> || std::same_as<L, R>;

/// The law of storing: a complex value does not become real by itself.
template <class To, class From>
inline constexpr bool storage_law = is_complex<To> || !is_complex<From>;

} // namespace sla
