// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which rows of a rank's part of a matrix read nothing of other ranks (interior), and which do (boundary): short lists of ranges, as
// rows stay in ascending order; and the walk of a pass over such a list.
#pragma once

#include <algorithm>
#include <span>

#include <sla/core/kept_blocks.hpp>
#include <sla/exec/walk.hpp>

namespace sla {

/// The rows of a rank, in two lists of ascending ranges. Of a strip the interior is one range, and the boundary at most two.
struct row_runs {
  detail::kept_list<row_range> interior, boundary;
};

namespace detail {
/// Adds the rows [first, last) behind a list of ranges.
template <class Range>
void append_run(kept_list<Range>& list, std::type_identity_t<Range> r) {
  if (r.last <= r.first) return;
  if (!list.empty() && list.back().last == r.first)
    list.back().last = r.last;
  else
    list.push_back(r);
}
/// The rows of these ranges and of those; the rows below `rows` that are in none.
template <class Range>
kept_list<Range> united(kept_list<Range> const& a, kept_list<Range> const& b) {
  kept_list<Range> out;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    Range r = j == b.size() || (i < a.size() && a[i].first <= b[j].first) ? a[i++] : b[j++];
    if (!out.empty()) r.first = (std::max)(r.first, out.back().last);
    append_run(out, r);
  }
  return out;
}
template <class Range>
kept_list<Range> all_but(kept_list<Range> const& runs, index_t rows) {
  kept_list<Range> out;
  index_t next = 0;
  for (Range const& r : runs) {
    append_run(out, {next, r.first});
    next = r.last;
  }
  append_run(out, {next, rows});
  return out;
}
/// The lists of `rows` rows of which is_boundary(i) holds or not. A cut costs about as much as 30 rows, since a row between others is read in the second
/// pass from memory: where interior ranges are many, the short ones are with the boundary, and a pass takes at most a sixteenth longer for its cuts.
template <class Is>
row_runs runs_of(index_t rows, Is const& is_boundary) {
  row_runs out;
  for (index_t i = 0; i < rows; ++i)
    if (is_boundary(i)) append_run(out.boundary, {i, i + 1});
  out.interior = all_but(out.boundary, rows);
  if (out.interior.size() > 8) {
    std::erase_if(out.interior, [](row_range const& r) { return r.last - r.first < 512; });
    out.boundary = all_but(out.interior, rows);
  }
  return out;
}

/// How a pass over a list of ranges is cut into blocks of whole rows, each in one range, and these between threads.
template <class Range = row_range>
class runs_walk final : public pass_walk {
public:
  runs_walk(frame const& f, std::span<std::type_identity_t<Range> const> runs, block_rows rows = {}) : f_(f), runs_(runs), block_(rows.of_block(f.inner)), together_(rows.together) {
    for (row_range const& r : runs) {
      rows_ += r.last - r.first;
      per_item_ += blocks_in(r);
    }
  }
  index_t blocks() const override { return f_.batch * per_item_; }
  index_t blocks_of(index_t) const override { return per_item_; }
  bool is_one_each() const override { return per_item_ == 1; }
  bool may_share() const override { return blocks() > 1 && threads_in_use() > 1; }
  void add_statement() override { work_ += double(rows_) * double(f_.batch * f_.inner); }
  void balance(row_work work) override {
    if (runs_.empty() || work.rows < runs_.back().last) return;
    for (row_range const& r : runs_) work_ += (work(r.last) - work(r.first)) * double(f_.batch * f_.inner);
  }

  void run(void (*one)(void const*, row_span const&, index_t), void const* context) const override {
    index_t const threads = may_share() && work_ >= light_below ? (std::min)(index_t(threads_in_use()), blocks()) : 1;
    // the blocks that begin among a thread's share of the rows of all items
    auto const blocks_from = [&](index_t first, index_t last) {
      for (index_t b = 0, n = 0, at = 0; b < f_.batch; ++b)
        for (row_range const& r : runs_) {
          if (at >= last) return;
          if (at + (r.last - r.first) <= first) {
            n += blocks_in(r), at += r.last - r.first;
            continue;
          }
          for (index_t row = r.first, length = 0; row < r.last; row += length, ++n) {
            length = (std::min)(row / together_ * together_ + block_, r.last) - row;
            if (at >= first && at < last) one(context, {(b * f_.rows + row) * f_.inner, length * f_.inner, b * f_.rhs, f_.rhs}, n);
            at += length;
          }
        }
    };
    index_t const all = f_.batch * rows_;
    if (threads == 1) return blocks_from(0, all);
    parallel(int(threads), [&](int t) { blocks_from(all * t / threads, all * (t + 1) / threads); });
  }

private:
  index_t blocks_in(row_range const& r) const { return (r.last - r.first / together_ * together_ + block_ - 1) / block_; }

  frame f_;
  std::span<Range const> runs_;
  index_t block_, together_, per_item_ = 0, rows_ = 0;
  double work_ = 0;
};
} // namespace detail

} // namespace sla
