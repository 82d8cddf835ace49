// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which ranks an axis connects, as (size, stride) atoms: equality, subgroups, joint orthogonality, flattening, coordinates.
// No rank is ever listed. Meshes are in spmd/mesh/mesh.hpp, the names of axes in messages in spmd/mesh/axis_names.hpp.
#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>

#include <sla/core/meta.hpp>

namespace sla {

/// A number of ranks, at least 1: a coefficient times powers of sizes that are known at run time only (symbols 0 to 7).
struct rank_count {
  std::int64_t number = 1;
  std::uint32_t symbols = 0; ///< four bits for the power of each

  static constexpr rank_count symbol(int n) { return {1, std::uint32_t{1} << (4 * n)}; }
  constexpr bool known() const { return symbols == 0; }
  constexpr int power(int n) const { return static_cast<int>(symbols >> (4 * n) & 15u); }
  constexpr int degree() const {
    int sum = 0;
    for (int n = 0; n < 8; ++n) sum += power(n);
    return sum;
  }
  constexpr bool operator==(rank_count const&) const = default;
  friend constexpr rank_count operator*(rank_count l, rank_count r) {
    return {l.number * r.number, l.symbols + r.symbols};
  }
};

/// Is l <= r whatever the symbols are? No: there are sizes for which it is not.
constexpr bool at_most(rank_count l, rank_count r) {
  if (l.number > r.number) return false;
  for (int n = 0; n < 8; ++n)
    if (l.power(n) > r.power(n)) return false;
  return true;
}
/// Is n a multiple of d, for every value of the sizes that are known at run time only?
constexpr bool is_divisor(rank_count d, rank_count n) {
  if (n.number % d.number != 0) return false;
  for (int s = 0; s < 8; ++s)
    if (d.power(s) > n.power(s)) return false;
  return true;
}
/// Law: is_divisor(d, n).
constexpr rank_count operator/(rank_count n, rank_count d) { return {n.number / d.number, n.symbols - d.symbols}; }

/// `size` ranks, neighbours `stride` apart.
struct axis_atom {
  rank_count size{}, stride{};
  constexpr bool operator==(axis_atom const&) const = default;
};

/// The most atoms of a layout.
inline constexpr int max_atoms = 8;

/// The ranks that an axis connects, counted from the first of them. Canonical: no atom of size 1, strides descend, and
/// neighbours that continue each other are one; so equal layouts are equal values, whatever their axes are called.
struct axis_layout {
  int count = 0;
  fixed_array<axis_atom, max_atoms> atom{};

  constexpr axis_layout() = default;
  constexpr axis_layout(rank_count size, rank_count stride) {
    if (!(size == rank_count{})) atom[count++] = {size, stride};
  }
  constexpr axis_layout(std::int64_t size, std::int64_t stride) : axis_layout(rank_count{size}, rank_count{stride}) {}
  constexpr rank_count size() const {
    rank_count all;
    for (int n = 0; n < count; ++n) all = all * atom[n].size;
    return all;
  }
  constexpr bool known() const {
    bool all = true;
    for (int n = 0; n < count; ++n) all = all && atom[n].size.known() && atom[n].stride.known();
    return all;
  }
  constexpr bool operator==(axis_layout const&) const = default;
};

namespace detail {

inline constexpr int max_listed_atoms = 64;

/// Atoms of several axes, each with the number of its axis.
struct atom_list {
  int count = 0;
  fixed_array<axis_atom, max_listed_atoms> atom{};
  fixed_array<std::int8_t, max_listed_atoms> axis{};
};

/// A total order in which a divisor stands before its multiples.
constexpr bool before(rank_count l, rank_count r) {
  if (l.degree() != r.degree()) return l.degree() < r.degree();
  return l.symbols != r.symbols ? l.symbols < r.symbols : l.number < r.number;
}

template <class = void>
constexpr atom_list by_ascending_stride(std::span<axis_layout const> axes) {
  atom_list out;
  std::int8_t axis = 0;
  for (auto const& a : axes) {
    if (out.count + a.count > max_listed_atoms) throw std::length_error("more than 64 atoms of axes");
    for (int n = 0; n < a.count; ++n) {
      int at = out.count++;
      for (; at > 0 && before(a.atom[n].stride, out.atom[at - 1].stride); --at)
        out.atom[at] = out.atom[at - 1], out.axis[at] = out.axis[at - 1];
      out.atom[at] = a.atom[n];
      out.axis[at] = axis;
    }
    ++axis;
  }
  return out;
}

} // namespace detail

/// Why axes are not jointly orthogonal: the steps of axis `second` fall on ranks that the axes in `first` (a bit each)
/// reach already. `second` is -1 where they are orthogonal.
struct axis_overlap {
  std::uint32_t first = 0;
  int second = -1;
  constexpr explicit operator bool() const { return second >= 0; }
  constexpr bool operator==(axis_overlap const&) const = default;
};

/// Do different coordinates on the axes always mean different ranks? Axes of size 1 are orthogonal to all, another axis
/// of the same ranks to none; orthogonal pairs need not be orthogonal together: strides 5, 6, 7 of size 2.
/// Cost: quadratic in the atoms. Of sizes known at run time only nested strides are known to be orthogonal.
template <class = void>
constexpr axis_overlap overlap(std::span<axis_layout const> axes) {
  auto const all = detail::by_ascending_stride(axes);
  std::int64_t span = 0;
  bool known = true;
  for (int n = 0; n < all.count; ++n) {
    auto const [size, stride] = all.atom[n];
    bool const clear =
        known ? stride.number > span : at_most(all.atom[n - 1].size * all.atom[n - 1].stride, stride);
    if (!clear) {
      std::uint32_t below = 0;
      for (int m = n; m-- > 0;) below |= std::uint32_t{1} << all.axis[m];
      if (axes.size() > 2)
        for (int other = 0; other < static_cast<int>(axes.size()); ++other) { // one that alone is to blame
          if (other == all.axis[n] || !(below >> other & 1u)) continue;
          axis_layout const pair[] = {axes[static_cast<std::size_t>(other)],
                                      axes[static_cast<std::size_t>(all.axis[n])]};
          if (overlap(pair)) return {std::uint32_t{1} << other, all.axis[n]};
        }
      return {below, all.axis[n]};
    }
    known = known && size.known() && stride.known();
    if (known) span += (size.number - 1) * stride.number;
  }
  return {};
}
/// Do these axes connect different ranks, so that together they can be axes of one mesh?
template <class... Layout>
constexpr bool orthogonal(axis_layout const& first, Layout const&... rest) {
  axis_layout const all[] = {first, rest...};
  return !overlap(all);
}

/// The one axis of all ranks that the axes reach together, or why there is none.
struct flat_axis {
  axis_layout layout{};
  axis_overlap why{};
  constexpr bool ok() const { return !why; }
};
/// Several axes as one, the first of them outermost.
template <class = void>
constexpr flat_axis flatten(std::span<axis_layout const> axes) {
  flat_axis out;
  out.why = overlap(axes);
  if (out.why) return out;
  auto const all = detail::by_ascending_stride(axes);
  auto& layout = out.layout;
  for (int n = all.count; n-- > 0;) {
    auto const inner = all.atom[n];
    if (layout.count > 0 && layout.atom[layout.count - 1].stride == inner.size * inner.stride) {
      auto& outer = layout.atom[layout.count - 1];
      outer = {outer.size * inner.size, inner.stride};
    } else {
      if (layout.count == max_atoms) throw std::length_error("an axis of more than 8 atoms");
      layout.atom[layout.count++] = inner;
    }
  }
  return out;
}
template <class... Layout>
constexpr flat_axis flatten(axis_layout const& first, Layout const&... rest) {
  axis_layout const all[] = {first, rest...};
  return flatten(std::span<axis_layout const>(all));
}

/// The coordinate of a rank on an axis, outermost atom first. Law: the sizes are known.
constexpr std::int64_t coordinate_on(axis_layout const& a, std::int64_t rank) {
  std::int64_t c = 0;
  for (int n = 0; n < a.count; ++n)
    c = c * a.atom[n].size.number + rank / a.atom[n].stride.number % a.atom[n].size.number;
  return c;
}
/// The rank of a coordinate, counted from the axis's first.
constexpr std::int64_t rank_on(axis_layout const& a, std::int64_t coordinate) {
  std::int64_t rank = 0;
  for (int n = a.count; n-- > 0; coordinate /= a.atom[n].size.number)
    rank += coordinate % a.atom[n].size.number * a.atom[n].stride.number;
  return rank;
}
/// Is it a rank of the axis (counted from its first)? Law: the axis has orthogonal atoms of known sizes.
template <class = void>
constexpr bool contains(axis_layout const& a, std::int64_t rank) {
  for (int n = 0; n < a.count; ++n) {
    auto const steps = rank / a.atom[n].stride.number, last = a.atom[n].size.number - 1;
    rank -= (steps < last ? steps : last) * a.atom[n].stride.number;
  }
  return rank == 0;
}

/// Are the ranks of `part` among those of `whole`, both counted from their first? Computed on atoms. Of axes whose strides
/// do not divide each other the answer may be a wrong no beyond 4096 ranks, and of run-time sizes where it depends on them.
template <class = void>
constexpr bool subgroup(axis_layout const& part, axis_layout const& whole) {
  if (!part.known() || !whole.known()) { // every atom inside of one atom
    for (int n = 0; n < part.count; ++n) {
      bool inside = false;
      for (int m = 0; m < whole.count && !inside; ++m)
        inside = is_divisor(whole.atom[m].stride, part.atom[n].stride) &&
                 at_most(part.atom[n].size * (part.atom[n].stride / whole.atom[m].stride), whole.atom[m].size);
      if (!inside) return false;
    }
    return true;
  }
  // Written in the strides of `whole`, no sum of steps of `part` has a digit too large: then all sums are its ranks.
  fixed_array<std::int64_t, max_atoms> digit{};
  bool fits = true;
  for (int n = 0; n < part.count; ++n) {
    auto rest = part.atom[n].stride.number;
    for (int m = 0; m < whole.count; ++m) {
      auto const steps = rest / whole.atom[m].stride.number, last = whole.atom[m].size.number - 1;
      auto const taken = steps < last ? steps : last;
      rest -= taken * whole.atom[m].stride.number;
      digit[m] += taken * (part.atom[n].size.number - 1);
      fits = fits && digit[m] <= last;
    }
    if (rest != 0) return false; // the first step leads outside
  }
  if (fits) return true;
  auto const ranks = part.size().number;
  if (ranks > 4096) return false;
  for (std::int64_t c = 0; c < ranks; ++c)
    if (!contains(whole, rank_on(part, c))) return false;
  return true;
}

} // namespace sla
