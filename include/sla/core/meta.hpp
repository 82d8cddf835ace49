// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small compile-time tools: strings as template arguments, text, arrays that host and device lay out alike.
// The shapes of tensors are in core/shape.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <sla/core/config.hpp>

namespace sla {

/// A string that can be a template argument: `axis<"dp", 2>`, `all_reduce<"tp">(x)`.
template <std::size_t Length>
struct fixed_string {
  char data[Length]{};

  constexpr fixed_string() = default;
  constexpr fixed_string(char const (&text)[Length]) {  // NOLINT: a literal converts by intent
    for (std::size_t n = 0; n < Length; ++n) data[n] = text[n];
  }
  constexpr std::string_view view() const { return {data, Length - 1}; }
  constexpr bool operator==(fixed_string const&) const = default;
};

template <std::size_t L, std::size_t R>
constexpr bool operator==(fixed_string<L> const& left, fixed_string<R> const& right) {
  return left.view() == right.view();
}

namespace detail {
template <class T, class...>
struct dependent {
  using type = T;
};
} // namespace detail
/// T, as a type that depends on the template parameters P: its members are compiled for those who call a template, and not for all who include it;
/// so it stands around types of the standard library, and their arguments, too.
template <class T, class... P>
using dependent_t = typename detail::dependent<T, P...>::type;

/// N values in a row; unlike std::array it may be indexed in device code without a compiler flag.
template <class T, int N>
struct fixed_array {
  T data[N > 0 ? N : 1]{};

  SLA_HD constexpr T& operator[](int n) { return data[n]; }
  SLA_HD constexpr T const& operator[](int n) const { return data[n]; }
  SLA_HD static constexpr int size() { return N; }

  SLA_HD constexpr fixed_array& operator+=(fixed_array const& other) {
    for (int n = 0; n < N; ++n) data[n] += other.data[n];
    return *this;
  }
  constexpr bool operator==(fixed_array const&) const = default;
};

/// Text of at most Capacity characters, also in constant expressions; what does not fit is cut off.
template <int Capacity>
class fixed_text {
public:
  constexpr std::string_view view() const { return {data_, static_cast<std::size_t>(size_)}; }
  constexpr operator std::string_view() const { return view(); } // NOLINT: it is that text
  constexpr bool operator==(std::string_view other) const { return view() == other; }

  constexpr fixed_text& operator<<(std::string_view text) {
    for (char const c : text)
      if (size_ < Capacity) data_[size_++] = c;
    return *this;
  }
  constexpr fixed_text& operator<<(char const* text) { return *this << std::string_view(text); }
  constexpr fixed_text& operator<<(int number) { return *this << std::int64_t{number}; }
  constexpr fixed_text& operator<<(std::int64_t number) {
    if (number < 0) return *this << "-" << -number;
    if (number > 9) *this << number / 10;
    char const digit[] = {static_cast<char>('0' + number % 10)};
    return *this << std::string_view(digit, 1);
  }

private:
  char data_[Capacity]{};
  int size_ = 0;
};

namespace detail {
/// The N-th of these types.
template <int N, class... List>
struct type_at_index;
template <int N, class First, class... Rest>
struct type_at_index<N, First, Rest...> : type_at_index<N - 1, Rest...> {};
template <class First, class... Rest>
struct type_at_index<0, First, Rest...> {
  using type = First;
};
} // namespace detail

/// False for every T: `static_assert(always_false<T>, "...")` in the last branch of an `if constexpr`.
template <class...>
inline constexpr bool always_false = false;

/// An expression (a node, expr/dense/node.hpp) names itself so; lower floors accept it without knowing more.
template <class E>
concept Expression = requires { typename std::remove_cvref_t<E>::expression_tag; };

} // namespace sla
