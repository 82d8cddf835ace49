// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The columns of one row at a time: `column_set` finds the distinct ones in ascending order, `column_places` tells the
// place of each. Rows of narrow span use flags that stay in the near caches, wide ones a hash table.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include <sla/core/shape.hpp>

namespace sla::detail {

/// Rows whose columns span less than this are narrow: their flags take 32 KiB, their places 1 MiB.
inline constexpr index_t narrow_span = index_t(1) << 18;
/// Flags sort as they go, so full rows may have more of them: up to 512 KiB.
inline constexpr index_t widest_flags = index_t(1) << 22;

/// An open-addressing table of columns; its capacity is a power of two and at least twice what goes in.
class column_table {
public:
  template <class = void>
  void open(index_t most) {
    int bits = 4;
    while ((index_t(1) << bits) < 2 * most) ++bits;
    shift_ = 64 - bits;
    mask_ = (std::size_t(1) << bits) - 1;
    if (key_.size() <= mask_) key_.resize(mask_ + 1);
    std::fill(key_.begin(), key_.begin() + std::ptrdiff_t(mask_ + 1), index_t(-1));
  }
  /// Where column j is, or may be put.
  std::size_t find(index_t j) const {
    std::size_t at = std::size_t((std::uint64_t(j) * 0x9e3779b97f4a7c15ULL) >> shift_); // Fibonacci hashing
    while (key_[at] != j && key_[at] >= 0) at = (at + 1) & mask_;
    return at;
  }
  index_t& key(std::size_t at) { return key_[at]; }
  std::size_t capacity() const { return mask_ + 1; }

private:
  std::vector<index_t> key_;
  std::size_t mask_ = 0;
  int shift_ = 0;
};

/// The distinct columns of a row. open(...), insert by `fill(walk)`, then `drain(f)`, which empties the set.
class column_set {
public:
  /// A row with columns in [first, last]; `most` are inserted, repeats counted.
  template <class = void>
  void open(index_t first, index_t last, index_t most) {
    index_t const span = last - first;
    base_ = first;
    count_ = 0;
    narrow_ = span < narrow_span || (span < widest_flags && span / 4096 < 8 * most);
    if (narrow_) {
      used_groups_ = std::size_t(span / 4096 + 1);
      if (groups_.size() < used_groups_) {
        groups_.resize(used_groups_);
        flags_.resize(used_groups_ * 64);
      }
    } else {
      table_.open(most);
    }
  }
  /// walk(insert) calls insert(column).
  template <class Walk>
  void fill(Walk const& walk) {
    if (narrow_) {
      index_t count = 0;
      std::uint64_t* const flags = flags_.data();
      std::uint64_t* const groups = groups_.data();
      walk([&, base = base_](index_t j) {
        std::uint64_t const at = std::uint64_t(j - base), flag = std::uint64_t(1) << (at % 64);
        std::uint64_t& word = flags[at / 64];
        count += (word & flag) == 0;
        word |= flag;
        groups[at / 4096] |= std::uint64_t(1) << (at / 64 % 64);
      });
      count_ += count;
    } else {
      walk([&](index_t j) {
        index_t& key = table_.key(table_.find(j));
        count_ += key < 0;
        key = j;
      });
    }
  }
  index_t size() const { return count_; }
  /// f(column), ascending.
  template <class F>
  void drain(F const& f) {
    if (narrow_) {
      for (std::size_t g = 0; g < used_groups_; ++g) {
        for (std::uint64_t group = groups_[g]; group; group &= group - 1) {
          std::size_t const w = g * 64 + std::size_t(std::countr_zero(group));
          for (std::uint64_t word = flags_[w]; word; word &= word - 1) f(base_ + index_t(w) * 64 + std::countr_zero(word));
          flags_[w] = 0;
        }
        groups_[g] = 0;
      }
    } else {
      sorted_.clear();
      for (std::size_t at = 0; at < table_.capacity(); ++at)
        if (table_.key(at) >= 0) sorted_.push_back(table_.key(at));
      std::sort(sorted_.begin(), sorted_.end());
      for (index_t j : sorted_) f(j);
    }
  }

private:
  index_t base_ = 0, count_ = 0;
  bool narrow_ = true;
  std::size_t used_groups_ = 0;
  std::vector<std::uint64_t> flags_, groups_; ///< a flag per column; a flag per word of those
  column_table table_;
  std::vector<index_t> sorted_;
};

/// The place of each column of a row of ascending columns.
class column_places {
public:
  template <class Col>
  void open(Col const* columns, index_t count) {
    base_ = count ? index_t(columns[0]) : 0;
    narrow_ = count == 0 || index_t(columns[count - 1]) - base_ < narrow_span;
    if (narrow_) {
      if (count && near_.empty()) near_.resize(std::size_t(narrow_span));
      for (index_t n = 0; n < count; ++n) near_[std::size_t(columns[n] - base_)] = std::int32_t(n);
    } else {
      table_.open(count);
      if (far_.size() < table_.capacity()) far_.resize(table_.capacity());
      for (index_t n = 0; n < count; ++n) {
        std::size_t const at = table_.find(columns[n]);
        table_.key(at) = columns[n];
        far_[at] = n;
      }
    }
  }
  /// walk(place), where place(j) is the place of a column j that the row has.
  template <class Walk>
  void use(Walk const& walk) const {
    if (narrow_)
      walk([near = near_.data(), base = base_](index_t j) { return index_t(near[j - base]); });
    else
      walk([this](index_t j) { return far_[table_.find(j)]; });
  }

private:
  index_t base_ = 0;
  bool narrow_ = true;
  std::vector<std::int32_t> near_;
  std::vector<index_t> far_;
  column_table table_;
};

} // namespace sla::detail
