// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Owner maps: which part owns each row of a sparse tensor, as contiguous ranges or as any table, and what a partitioner is.
// Partitioners stand beside this file and in adapter/; what ranks make of an owner map is in dist/halo/layout.hpp.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/core/shape.hpp>
#include <sla/spmd/placement/family.hpp>

namespace sla {

namespace detail {
/// A number for a row, or for any place in a list, that looks random: sums of them tell lists apart, but for once in 2^60.
constexpr std::uint64_t place_number(index_t i) {
  std::uint64_t const z = (std::uint64_t(i) + 1) * 0x9e3779b97f4a7c15ULL;
  return z ^ (z >> 32);
}
} // namespace detail

/// Which of `parts()` parts owns each of `rows()` rows: contiguous ranges in the order of the parts, or a table of owners. A
/// table that says the same as ranges is one. The rows of a part keep their global order. Memory: 4 bytes per row (ranges: none).
class owner_map {
public:
  owner_map() = default;
  /// Part r owns the rows [first[r], first[r + 1]). Errors: shape_error, if they do not ascend from 0.
  template <class = void>
  explicit owner_map(std::vector<index_t> first) : first_(std::move(first)) {
    if (first_.size() < 2 || first_[0] != 0 || !std::is_sorted(first_.begin(), first_.end()))
      throw shape_error("owner_map(first): the first rows of the parts ascend from 0, and the number of rows comes last");
  }
  /// Ranges that differ by at most one row.
  template <class = void>
  static owner_map equal(index_t rows, int parts) {
    std::vector<index_t> first;
    for (int r = 0; r <= parts; ++r) first.push_back(Balanced::first(r, rows, parts));
    return owner_map(std::move(first));
  }
  /// Row i belongs to part owner[i], one of 0 to parts - 1. Errors: index_error, which names a row of no such part.
  template <class = void>
  owner_map(std::vector<int> owner, int parts) : first_(std::size_t((std::max)(parts, 1)) + 1, 0), owner_(std::move(owner)) {
    if (parts < 1) throw value_error(text("an owner map of ", parts, " parts: give at least one"));
    for (std::size_t i = 0; i < owner_.size(); ++i) {
      if (owner_[i] < 0 || owner_[i] >= parts)
        throw index_error(text("row ", i, " is given to part ", owner_[i], "; the parts are 0 to ", parts - 1));
      ++first_[std::size_t(owner_[i]) + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    if (std::is_sorted(owner_.begin(), owner_.end())) owner_ = {};
  }

  int parts() const { return int(first_.size()) - 1; }
  index_t rows() const { return first_.back(); }
  bool contiguous() const { return owner_.empty(); }
  index_t count(int part) const { return first(part + 1) - first(part); }
  /// How many rows the lower parts own; of ranges, the first row of this one.
  index_t first(int part) const { return first_[std::size_t(part)]; }
  template <class = void>
  int operator[](index_t row) const {
    if (!contiguous()) return owner_[std::size_t(row)];
    return int(std::upper_bound(first_.begin(), first_.end() - 1, row) - first_.begin()) - 1;
  }
  bool owns(int part, index_t row) const {
    return contiguous() ? row >= first(part) && row < first(part + 1) : owner_[std::size_t(row)] == part;
  }
  /// The order of rows part after part, in a part ascending.
  template <class = void>
  bool before(index_t a, index_t b) const { return contiguous() ? a < b : std::pair((*this)[a], a) < std::pair((*this)[b], b); }
  /// All rows in that order. Cost: O(rows).
  template <class = void>
  std::vector<index_t> order() const {
    std::vector<index_t> out(static_cast<std::size_t>(rows())), next = first_;
    if (contiguous()) std::iota(out.begin(), out.end(), index_t(0));
    for (std::size_t i = 0; i < owner_.size(); ++i) out[std::size_t(next[std::size_t(owner_[i])]++)] = index_t(i);
    return out;
  }
  /// The rows of one part, ascending. Cost: O(rows), of ranges O(count).
  template <class = void>
  std::vector<index_t> members(int part) const {
    std::vector<index_t> out;
    out.reserve(std::size_t(count(part)));
    index_t const begin = contiguous() ? first(part) : 0, end = contiguous() ? first(part + 1) : rows();
    for (index_t i = begin; i < end; ++i)
      if (owns(part, i)) out.push_back(i);
    return out;
  }
  /// The owner of each row.
  template <class = void>
  std::vector<int> table() const {
    if (!contiguous()) return owner_;
    std::vector<int> out;
    for (int r = 0; r < parts(); ++r) out.insert(out.end(), std::size_t(count(r)), r);
    return out;
  }
  /// Equal maps have equal ones. Cost: O(rows) of a table.
  template <class = void>
  std::uint64_t fingerprint() const {
    std::uint64_t sum = 0; // no term waits for the one before it
    index_t place = 0;
    for (index_t n : first_) sum += (std::uint64_t(n) + 1) * detail::place_number(place++);
    for (int n : owner_) sum += (std::uint64_t(n) + 1) * detail::place_number(place++);
    return sum;
  }
  template <class = void>
  bool operator==(owner_map const& other) const { return first_ == other.first_ && owner_ == other.owner_; }

  /// An owner map is the partitioner that finds itself. Errors: shape_error, if it is of other rows, or of other parts.
  template <class View>
  owner_map partition(View const& view, int parts) const {
    if (rows() < view.rows)
      throw shape_error(text("the owner map has ", rows(), " rows, the matrix ", view.rows, ": row ", rows(), " has no owner"));
    if (rows() > view.rows) throw shape_error(text("the owner map has ", rows(), " rows, the matrix ", view.rows, "; give one owner per row"));
    if (parts != this->parts())
      throw shape_error(text("the owner map has ", this->parts(), " parts, and ", parts, " are wanted (one per rank of the axis)"));
    return *this;
  }

  std::vector<index_t> const& starts() const { return first_; }

private:
  std::vector<index_t> first_{0, 0};
  std::vector<int> owner_;  ///< empty: ranges
};

/// A pattern that counts its entries; where nobody has the matrix yet, a pattern has rows and columns only.
template <class View>
concept CountedPattern = requires(View const& view) { view.entries_before(view.rows); };

/// A partitioner finds an owner map: `partition(pattern view, parts)`. What it finds follows from its options and its arguments.
template <class P, class View>
concept Partitioner = requires(P const& partitioner, View const& view) {
  { partitioner.partition(view, 1) } -> std::same_as<owner_map>;
};

/// The rows of A in `parts` parts, without any ranks: `partition(A, 64, rcb{xy})`. Errors: those of the partitioner.
template <class Sparse, class Cut>
owner_map partition(Sparse const& A, int parts, Cut const& partitioner) {
  constexpr bool is_partitioner = Partitioner<Cut, decltype(A.pattern().view())>;
  static_assert(is_partitioner, "sla: partition(A, parts, partitioner): a partitioner has a member owner_map partition(pattern view, parts) const; strips{} is one");
  if (parts < 1) throw value_error(text("partition(A, ", parts, ", partitioner): there is at least one part"));
  if constexpr (is_partitioner)
    return partitioner.partition(A.pattern().view(), parts);
  else
    return {};  // well-formed, so that the sentence is the only error
}

} // namespace sla
