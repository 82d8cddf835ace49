// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of different types in a row, as an aggregate: std::tuple without the cost of compiling it. Users get tuples; the
// lists of statements and results inside of the library are packs.
#pragma once

#include <cstddef>
#include <utility>

#include <sla/core/config.hpp>

namespace sla::detail {

template <std::size_t N, class T>
struct pack_part {
  T value;
};
template <class Indices, class... T>
struct pack_parts;
template <std::size_t... N, class... T>
struct pack_parts<std::index_sequence<N...>, T...> : pack_part<N, T>... {};

template <class... T>
struct pack : pack_parts<std::index_sequence_for<T...>, T...> {};

template <class... T>
constexpr pack<T...> packed(T... values) {
  return {{{std::move(values)}...}};
}

/// The N-th value, and its type.
template <std::size_t N, class T>
SLA_HD constexpr T& part(pack_part<N, T>& p) {
  return p.value;
}
template <std::size_t N, class T>
SLA_HD constexpr T const& part(pack_part<N, T> const& p) {
  return p.value;
}
template <class T>
inline constexpr bool is_pack = false;
template <class... T>
inline constexpr bool is_pack<pack<T...>> = true;

template <std::size_t N, class T>
T type_of_part(pack_part<N, T> const*);
template <std::size_t N, class Pack>
using part_t = decltype(type_of_part<N>(static_cast<Pack const*>(nullptr)));

/// f(values...)
template <class F, class... T>
constexpr decltype(auto) with_parts(F const& f, pack<T...>& p) {
  return [&]<std::size_t... N>(std::index_sequence<N...>) -> decltype(auto) { return f(part<N>(p)...); }(std::index_sequence_for<T...>{});
}
template <class F, class... T>
constexpr decltype(auto) with_parts(F const& f, pack<T...> const& p) {
  return [&]<std::size_t... N>(std::index_sequence<N...>) -> decltype(auto) { return f(part<N>(p)...); }(std::index_sequence_for<T...>{});
}

/// The values of packs, one pack after the other.
inline constexpr pack<> joined() { return {}; }
template <class... T>
constexpr pack<T...> joined(pack<T...> const& p) {
  return p;
}
template <class... L, class... R, class... More>
constexpr auto joined(pack<L...> const& l, pack<R...> const& r, More const&... more) {
  auto both = [&]<std::size_t... N, std::size_t... M>(std::index_sequence<N...>, std::index_sequence<M...>) {
    return pack<L..., R...>{{{part<N>(l)}..., {part<M>(r)}...}};
  };
  return joined(both(std::index_sequence_for<L...>{}, std::index_sequence_for<R...>{}), more...);
}

} // namespace sla::detail
