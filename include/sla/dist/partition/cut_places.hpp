// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a list that is sorted across ranks is cut, so that each piece has its share of the work: searches by reductions alone, for nothing
// is moved. dist/partition/rcb.hpp and dist/partition/hilbert.hpp are made of it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include <sla/core/shape.hpp>
#include <sla/dist/engine/typed_collectives.hpp>

namespace sla::detail {

/// A number whose order is that of the doubles.
inline std::uint64_t ordered_key(double x) {
  auto const bits = std::bit_cast<std::uint64_t>(x + 0.0);  // -0.0 is 0.0
  return bits >> 63 ? ~bits : bits | std::uint64_t(1) << 63;
}

/// One search: among the places [begin, end) of this rank's list, with those that the other ranks search, for the item that has at most `wanted` work
/// before it and more with it.
struct cut_search {
  index_t begin, end;
  double wanted;
};

/// Narrows each search to the places of the one key that the item has, and its `wanted` to what is wanted after the keys before. Keys ascend among
/// the places of a search; before[n] is the work of the places before n. Collective. Cost: two reductions of at most 16 numbers per search for each
/// factor of 16 between the keys, mostly as many as the list's length has.
template <class = void>
void narrow_to_key(any_communicator& c, std::vector<std::uint64_t> const& key, std::vector<double> const& before, std::vector<cut_search>& all) {
  constexpr std::uint64_t pieces = 16;
  std::vector<std::uint64_t> ends(2 * all.size());
  std::vector<double> work(pieces * all.size());
  for (;;) {
    for (std::size_t s = 0; s < all.size(); ++s) {
      bool const any = all[s].begin < all[s].end;
      ends[2 * s] = any ? key[std::size_t(all[s].begin)] : ~std::uint64_t(0);
      ends[2 * s + 1] = any ? ~key[std::size_t(all[s].end) - 1] : ~std::uint64_t(0);
    }
    all_reduce(c, std::span<std::uint64_t>(ends), monoid::minimum);
    auto const low = [&](std::size_t s) { return ends[2 * s]; };
    auto const high = [&](std::size_t s) { return ~ends[2 * s + 1]; };
    auto const open = [&](std::size_t s) { return low(s) < high(s); };
    auto const place = [&](std::size_t s, std::uint64_t piece) {  // where a piece of the keys begins
      auto const width = (high(s) - low(s)) / pieces + 1;
      return std::partition_point(key.begin() + all[s].begin, key.begin() + all[s].end, [&](std::uint64_t k) { return (k - low(s)) / width < piece; }) - key.begin();
    };
    bool going = false;
    std::fill(work.begin(), work.end(), 0.0);
    for (std::size_t s = 0; s < all.size(); ++s) {
      if (!open(s)) continue;
      going = true;
      index_t from = all[s].begin;
      for (std::uint64_t p = 0; p < pieces; ++p) {
        index_t const to = place(s, p + 1);
        work[pieces * s + p] = before[std::size_t(to)] - before[std::size_t(from)];
        from = to;
      }
    }
    if (!going) return;
    all_reduce(c, std::span<double>(work));
    for (std::size_t s = 0; s < all.size(); ++s) {
      if (!open(s)) continue;
      double done = 0, chosen_after = 0;
      std::uint64_t chosen = 0;  // where rounding leaves none, the last that has any work
      for (std::uint64_t p = 0; p < pieces; ++p) {
        double const here = work[pieces * s + p];
        if (here > 0) chosen = p, chosen_after = done;
        done += here;
        if (done > all[s].wanted) break;
      }
      all[s] = {place(s, chosen), place(s, chosen + 1), all[s].wanted - chosen_after};
    }
  }
}

/// The place in this rank's list where each search cuts all of them, in the order of (key, row): the work before comes nearest to what is wanted. Rows
/// ascend among equal keys, and are one rank's each. Collective.
template <class = void>
std::vector<index_t> cut_places(any_communicator& c, std::vector<std::uint64_t> const& key, std::vector<std::uint64_t> const& row, std::vector<double> const& before,
                                std::vector<cut_search> all) {
  narrow_to_key(c, key, before, all);
  narrow_to_key(c, row, before, all);
  std::vector<double> work;  // of the one item that is left
  for (cut_search const& s : all) work.push_back(before[std::size_t(s.end)] - before[std::size_t(s.begin)]);
  all_reduce(c, std::span<double>(work));
  std::vector<index_t> out;
  for (std::size_t s = 0; s < all.size(); ++s) out.push_back(work[s] - all[s].wanted < all[s].wanted ? all[s].end : all[s].begin);
  return out;
}

} // namespace sla::detail
