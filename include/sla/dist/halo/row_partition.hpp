// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// row_partition: which rank owns which indices of a dimension, as contiguous ranges that every rank knows, or in a directory that is
// itself shared out among the ranks. Owner maps, which somebody has whole, are in dist/partition/owners.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sla/dist/engine/terms_by_owner.hpp>
#include <sla/dist/engine/together.hpp>
#include <sla/dist/partition/owners.hpp>

namespace sla {

/// A dimension of `extent()` indices that a partitioner sharded, as one rank sees it. This rank's are numbered 0 to count() - 1 in ascending
/// order, whatever matrix has such rows: which of them read nothing of others is a list of each matrix.
/// Owners that are no ranges stand in a directory: of P ranks, rank r has the owners of the r-th of P equal ranges of indices, and is asked for them.
/// Memory of a rank: 8 (P + 1) bytes; where owners are no ranges, 8 bytes for each index that it owns, and 4 for each in its part of the directory.
/// Source: the distributed directory of Tpetra (Baker and Heroux, Tpetra, and the use of generic programming in scientific computing, 2012).
class row_partition {
public:
  /// Of a map that this rank has whole. `alone`: the other ranks cannot be asked (engine fake), and the table stays.
  template <class = void>
  row_partition(owner_map const& owners, int rank, bool alone = false) : first_(owners.starts()), rank_(rank), fingerprint_(owners.fingerprint()) {
    if (owners.contiguous()) return;
    mine_ = owners.members(rank);
    auto const table = owners.table();
    ranges_ = false, whole_ = alone;
    if (!alone) listed_ = Balanced::first(rank, extent(), ranks());
    owner_.assign(table.begin() + listed_, alone ? table.end() : table.begin() + Balanced::first(rank + 1, extent(), ranks()));
  }
  /// Of claims that the ranks make together: each says of some rows, any of them, whose they are; part[k], one of c.size(), owns row[k]. Collective.
  /// Cost: each claim travels to the directory, and from there to the owner. Errors, on every rank: index_error for a row that no rank or two claim,
  /// or that is given to no part.
  template <class = void>
  row_partition(any_communicator& c, index_t extent, std::span<index_t const> row, std::span<int const> part);

  /// Are the rows of every rank a range?
  bool contiguous() const { return ranges_; }
  int ranks() const { return int(first_.size()) - 1; }
  int rank() const { return rank_; }
  index_t extent() const { return first_.back(); }
  /// How many rows the lower ranks own; of ranges, the first row of this one.
  index_t first(int r) const { return first_[std::size_t(r)]; }
  index_t count(int r) const { return first(r + 1) - first(r); }
  index_t count() const { return count(rank_); }
  /// Does this rank own it? Cost: where owners are no ranges O(log count).
  template <class = void>
  bool owns(index_t global) const {
    if (ranges_) return global >= first(rank_) && global < first(rank_ + 1);
    return std::binary_search(mine_.begin(), mine_.end(), global);
  }
  /// The global index of this rank's n-th, and back. Cost: the latter, where owners are no ranges, O(log count).
  index_t global(index_t local) const { return ranges_ ? first(rank_) + local : mine_[std::size_t(local)]; }
  template <class = void>
  index_t local(index_t global) const {
    if (ranges_) return global - first(rank_);
    return std::lower_bound(mine_.begin(), mine_.end(), global) - mine_.begin();
  }
  /// The rows of this rank, ascending.
  template <class = void>
  std::vector<index_t> members() const {
    std::vector<index_t> out(static_cast<std::size_t>(count()));
    for (std::size_t n = 0; n < out.size(); ++n) out[n] = global(index_t(n));
    return out;
  }
  /// The owners of the indices at(0) to at(count - 1), in any order. Collective where owners are no ranges: each index that is another rank's travels to
  /// the directory once, and its owner back.
  template <class At>
  std::vector<int> owners_of(any_communicator& c, index_t count, At const& at) const;
  /// The rows of all ranks, rank after rank, of each ascending. Collective where owners are no ranges. Cost: O(extent).
  template <class = void>
  std::vector<index_t> order(any_communicator& c) const;
  /// A hash of who owns what: two partitions of one type are told apart by it.
  std::uint64_t fingerprint() const { return fingerprint_; }
  /// The memory that this rank has for it.
  std::size_t bytes() const { return sizeof(*this) + (first_.size() + mine_.size()) * sizeof(index_t) + owner_.size() * sizeof(int); }
  /// What this rank owns, for messages.
  template <class = void>
  std::string words() const {
    if (count() == 0) return "no rows";
    if (ranges_) return text("the rows ", first(rank_), " to ", first(rank_ + 1) - 1);
    return text(count(), " rows from ", mine_.front(), " to ", mine_.back());
  }

private:
  template <class = void>
  int range_owner(index_t global) const { return int(std::upper_bound(first_.begin(), first_.end() - 1, global) - first_.begin()) - 1; }

  std::vector<index_t> first_;
  std::vector<index_t> mine_{};  ///< where owners are no ranges
  std::vector<int> owner_{};     ///< the directory: of the indices from listed_ on
  index_t listed_ = 0;
  int rank_;
  bool ranges_ = true, whole_ = false;
  std::uint64_t fingerprint_;
};

template <class>
row_partition::row_partition(any_communicator& c, index_t extent, std::span<index_t const> row, std::span<int const> part)
    : listed_(Balanced::first(c.rank(), extent, c.size())), rank_(c.rank()) {
  struct claim {
    index_t row;
    int part, by;
  };
  auto where = detail::together(c, [&] {
    std::vector<int> out(row.size());
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (row[k] < 0 || row[k] >= extent || part[k] < 0 || part[k] >= c.size())
        throw index_error(text("owners of rows: rank ", rank_, " gives row ", row[k], " of ", extent, " to part ", part[k], "; the rows are 0 to ", extent - 1,
                               ", the parts 0 to ", c.size() - 1));
      out[k] = Balanced::owner(row[k], extent, c.size());
    }
    return out;
  });
  auto const claims = detail::terms_by_owner(c, std::move(where)).send<claim>(c, 1, [&](index_t k, claim* to) { *to = {row[std::size_t(k)], part[std::size_t(k)], rank_}; });
  detail::together(c, [&] {
    owner_.assign(std::size_t(Balanced::first(rank_ + 1, extent, c.size()) - listed_), -1);
    std::vector<int> by(owner_.size());
    for (claim const& one : claims.values) {
      auto const n = std::size_t(one.row - listed_);
      if (owner_[n] >= 0)
        throw index_error(text("owners of rows: row ", one.row, " has two owners, part ", owner_[n], " by rank ", by[n], " and part ", one.part, " by rank ", one.by,
                               "; one rank gives each row, once"));
      owner_[n] = one.part, by[n] = one.by;
    }
    if (auto const none = std::find(owner_.begin(), owner_.end(), -1); none != owner_.end())
      throw index_error(text("owners of rows: row ", listed_ + (none - owner_.begin()), " of ", extent, " has no owner; some rank gives each row, as those that own the rows now do"));
    return 0;
  });

  mine_ = detail::terms_by_owner(c, owner_).send<index_t>(c, 1, [&](index_t n, index_t* to) { *to = listed_ + n; }).values;  // ascending, as directories are
  first_.assign(1, 0);
  for (index_t n : all_gather(c, index_t(mine_.size()))) first_.push_back(first_.back() + n);
  bool const range = mine_.empty() || (mine_.front() == first(rank_) && mine_.back() == first(rank_ + 1) - 1);
  ranges_ = all_reduce(c, std::int64_t(range), monoid::minimum) == 1;
  if (ranges_) {
    mine_ = {}, owner_ = {};
    fingerprint_ = owner_map(first_).fingerprint();
  } else {
    auto place = ranks() + 1 + listed_;  // the terms of the table of an owner_map, each in its place
    std::uint64_t sum = 0;
    for (int r : owner_) sum += (std::uint64_t(r) + 1) * detail::place_number(place++);
    fingerprint_ = owner_map(first_).fingerprint() + all_reduce(c, sum);
  }
}

template <class At>
std::vector<int> row_partition::owners_of(any_communicator& c, index_t count, At const& at) const {
  std::vector<int> out(static_cast<std::size_t>(count));
  if (ranges_ || whole_) {
    for (index_t k = 0; k < count; ++k) out[std::size_t(k)] = ranges_ ? range_owner(at(k)) : owner_[std::size_t(at(k))];
    return out;
  }
  std::vector<index_t> asked;
  for (index_t k = 0; k < count; ++k)
    if (!owns(at(k))) asked.push_back(at(k));
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  std::vector<std::size_t> counts(first_.size() - 1, 0);
  for (index_t i : asked) ++counts[std::size_t(Balanced::owner(i, extent(), ranks()))];
  dependent_t<any_communicator, At>& ranks_of_all = c;
  auto const heard = all_to_all(ranks_of_all, asked, counts);
  std::vector<int> told, got(asked.size());
  for (index_t i : heard.values) told.push_back(owner_[std::size_t(i - listed_)]);
  all_to_all(ranks_of_all, std::span<int const>(told), heard.counts, std::span<int>(got), counts);
  for (index_t k = 0; k < count; ++k) {
    auto const found = std::lower_bound(asked.begin(), asked.end(), at(k));
    out[std::size_t(k)] = found != asked.end() && *found == at(k) ? got[std::size_t(found - asked.begin())] : rank_;
  }
  return out;
}

template <class>
std::vector<index_t> row_partition::order(any_communicator& c) const {
  std::vector<index_t> out(static_cast<std::size_t>(extent()));
  if (ranges_) {
    for (std::size_t n = 0; n < out.size(); ++n) out[n] = index_t(n);
  } else if (whole_) {
    auto next = first_;
    for (std::size_t i = 0; i < owner_.size(); ++i) out[std::size_t(next[std::size_t(owner_[i])]++)] = index_t(i);
  } else {
    std::vector<std::size_t> counts;
    for (int r = 0; r < ranks(); ++r) counts.push_back(std::size_t(count(r)));
    all_gather(c, std::span<index_t const>(mine_), std::span<index_t>(out), counts);
  }
  return out;
}

namespace detail {
/// Do two partitions say the same of every index? Found by identity, or else by their fingerprints.
inline bool same_rows(row_partition const* a, row_partition const* b) { return a == b || (a && b && a->fingerprint() == b->fingerprint()); }

/// Indices of other ranks, owner after owner, ascending of each, and how many each owner has of them.
struct foreign_indices {
  std::vector<index_t> at;
  std::vector<std::size_t> counts;
};
/// Those that this rank uses and does not own. Collective where owners are no ranges.
template <class Indices>
foreign_indices foreign_among(any_communicator& c, row_partition const& rows, Indices const& used) {
  std::vector<index_t> all;
  for (index_t j : used)
    if (!rows.owns(j)) all.push_back(j);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  auto const owner = rows.owners_of(c, index_t(all.size()), [&](index_t k) { return all[std::size_t(k)]; });
  foreign_indices out{{}, std::vector<std::size_t>(std::size_t(rows.ranks()), 0)};
  for (int r : owner) ++out.counts[std::size_t(r)];
  if (rows.contiguous()) {
    out.at = std::move(all);
    return out;
  }
  std::vector<std::size_t> next(out.counts.size(), 0);
  for (std::size_t r = 1; r < next.size(); ++r) next[r] = next[r - 1] + out.counts[r - 1];
  out.at.resize(all.size());
  for (std::size_t k = 0; k < all.size(); ++k) out.at[next[std::size_t(owner[k])]++] = all[k];
  return out;
}
} // namespace detail

} // namespace sla
