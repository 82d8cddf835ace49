// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of axes in messages: `dp`, `dp[2:8]` where two axes are called dp, `{dp,cp}` for a flattened axis without a name.
// What axes are is in spmd/mesh/axis_layout.hpp.
#pragma once
#include <span>
#include <string_view>

#include <sla/core/meta.hpp>
#include <sla/spmd/mesh/axis_layout.hpp>

namespace sla {

/// Text of at most 160 characters, made while compiling.
using short_text = fixed_text<160>;

/// An axis of a mesh with its name.
struct named_axis {
  std::string_view name{}; ///< empty: a flattened axis that nobody named
  axis_layout layout{};
};

namespace detail {

/// `12`, `4*n0`: symbols by number.
template <class = void>
constexpr void append(short_text& out, rank_count c) {
  if (c.number != 1 || c.known()) out << c.number;
  bool star = c.number != 1;
  for (int n = 0; n < 8; ++n)
    for (int p = 0; p < c.power(n); ++p) {
      out << (star ? "*n" : "n") << n;
      star = true;
    }
}
template <class = void>
constexpr void append(short_text& out, axis_layout const& a) {
  out << "[";
  for (int n = 0; n < a.count; ++n) {
    if (n > 0) out << ",";
    append(out, a.atom[n].size);
    out << ":";
    append(out, a.atom[n].stride);
  }
  out << "]";
}

/// Chooses axes of `scope`, outermost first, that flatten to `whole`. At most 7 are chosen.
template <class = void>
constexpr bool decompose(axis_layout const& whole, std::span<named_axis const> scope, fixed_array<int, 8>& chosen,
                         int count) {
  if (count > 0) {
    axis_layout taken[8]{};
    for (int n = 0; n < count; ++n) taken[n] = scope[static_cast<std::size_t>(chosen[n])].layout;
    auto const flat = flatten(std::span<axis_layout const>(taken).first(static_cast<std::size_t>(count)));
    if (!flat.ok()) return false;
    if (flat.layout == whole) return chosen[count] = -1, true;
  }
  if (count == 7) return false;
  for (int n = 0; n < static_cast<int>(scope.size()); ++n) {
    auto const& next = scope[static_cast<std::size_t>(n)].layout;
    if (next.count == 0 || !subgroup(next, whole)) continue;
    if (count > 0) { // outermost first
      auto const& last = scope[static_cast<std::size_t>(chosen[count - 1])].layout;
      if (!before(next.atom[0].stride, last.atom[0].stride)) continue;
    }
    chosen[count] = n;
    if (decompose(whole, scope, chosen, count + 1)) return true;
  }
  return false;
}

} // namespace detail

/// The name of an axis among those in scope. A name that stands for two layouts there is followed by its own, `dp[2:8]`; a
/// flattened axis without a name is shown by the axes that it consists of, `{dp,cp}`, or by its layout.
template <class = void>
constexpr short_text axis_label(named_axis const& a, std::span<named_axis const> scope) {
  short_text out;
  auto const by_name = [&](named_axis const& b) {
    out << b.name;
    for (auto const& c : scope)
      if (c.name == b.name && !(c.layout == b.layout)) return detail::append(out, b.layout);
  };
  if (!a.name.empty()) return by_name(a), out;
  if (a.layout.count == 0) return out << "{}";
  fixed_array<int, 8> chosen{};
  if (!detail::decompose(a.layout, scope, chosen, 0)) return detail::append(out, a.layout), out;
  out << "{";
  for (int n = 0; n < 8 && chosen[n] >= 0; ++n) {
    if (n > 0) out << ",";
    by_name(scope[static_cast<std::size_t>(chosen[n])]);
  }
  out << "}";
  return out;
}

} // namespace sla
