// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a pass over rows is cut into blocks of about a thousand elements, and these between threads. Blocks, not threads, fix the
// order of reductions.
#pragma once

#include <algorithm>

#include <sla/core/short_list.hpp>
#include <sla/exec/product_rows.hpp>
#include <sla/tensor/storage/parallel.hpp>

namespace sla {

/// Rows [first_row, last_row) of every batch item: a pass may come in pieces (interior rows, then boundary rows).
struct row_range {
  index_t first, last;
};

namespace detail {
/// The work that the rows before one take, of a node whose type is not known here.
struct row_work {
  void const* node;
  index_t rows;  ///< of the node: those of a pass are others where the layout of another node rules
  double (*before)(void const* node, index_t row);
  double operator()(index_t row) const { return before(node, row); }
};

/// What statements ask of the blocks of a pass.
struct block_rows {
  index_t least = 1;     ///< a block has at least so many
  index_t together = 1;  ///< blocks end at multiples of it: the rows that a format stores together, as Sell does those of a window
  /// The rows of a block, where a row of the pass has `inner` elements: not more than are computed at a time, but for `least`.
  index_t of_block(index_t inner) const { return (std::max)(block_elements / inner / together, (least + together - 1) / together) * together; }
};

/// How a pass is cut into blocks of rows, and these between threads.
class pass_walk {
public:
  virtual index_t blocks() const = 0;
  /// The blocks of one batch item.
  virtual index_t blocks_of(index_t batch_item) const = 0;
  /// Is each batch item one block?
  virtual bool is_one_each() const = 0;
  /// May it run on several threads, so that it wants to be balanced?
  virtual bool may_share() const = 0;
  /// One more statement is in the pass, which stays on one thread where it is light work in all (tensor/storage/parallel.hpp).
  virtual void add_statement() = 0;
  /// Gives each thread as much work.
  virtual void balance(row_work work) = 0;
  /// one(context, span, n) for the n-th block.
  virtual void run(void (*one)(void const*, row_span const&, index_t), void const* context) const = 0;

protected:
  ~pass_walk() = default;
};
} // namespace detail

/// Is the whole of a pass one block, of one batch item?
SLA_HD inline bool is_one_block(frame const& f) { return f.batch == 1 && f.rows > 0 && f.inner > 0 && f.rows * f.inner <= detail::block_elements; }

/// How a pass over a range of rows is cut into blocks of whole rows, and these between threads.
template <class Index = index_t>
class block_walk final : public detail::pass_walk {
public:
  /// max_threads: 0 for `threads_in_use()`.
  block_walk(frame const& f, row_range range, int max_threads, detail::block_rows rows = {})
      : f_(f), range_(range), block_(rows.of_block(f.inner)), origin_(range.first / rows.together * rows.together) {
    per_item_ = (range.last - origin_ + block_ - 1) / block_;
    if (blocks() <= 1) return;
    index_t const threads = (std::min)(index_t(max_threads ? max_threads : threads_in_use()), blocks());
    if (threads == 1) return;
    for (index_t t = 0; t <= threads; ++t) cuts_.push_back(blocks() * t / threads);
  }

  index_t blocks() const override { return f_.batch * per_item_; }
  index_t blocks_of(index_t) const override { return per_item_; }
  bool is_one_each() const override { return per_item_ == 1; }
  bool may_share() const override { return cuts_.size() > 0; }

  void add_statement() override { work_ += double(range_.last - range_.first) * double(f_.batch * f_.inner); }

  int threads() const { return work_ < light_below || !may_share() ? 1 : int(cuts_.size()) - 1; }

  void balance(detail::row_work work) override {
    int const threads = int(cuts_.size()) - 1;
    if (!may_share() || work.rows < range_.last) return;
    double const first = work(range_.first), all = work(range_.last) - first;
    work_ += all * double(f_.batch * f_.inner);
    if (f_.batch != 1 || range_.first != 0) return;
    for (int t = 1; t < threads; ++t)
      cuts_[std::size_t(t)] = detail::first_reaching(cuts_[std::size_t(t - 1)], per_item_, all * t / threads, [&](index_t n) { return work(n * block_) - first; });
  }

  void run(void (*one)(void const*, row_span const&, index_t), void const* context) const override {
    auto const blocks_from = [&](index_t n, index_t last) {
      for (; n < last; ++n) {
        index_t const b = f_.batch == 1 ? 0 : n / per_item_, end = origin_ + (n - b * per_item_ + 1) * block_;
        index_t const row = (std::max)(range_.first, end - block_), length = (std::min)(end, range_.last) - row;
        one(context, {(b * f_.rows + row) * f_.inner, length * f_.inner, b * f_.rhs, f_.rhs}, n);
      }
    };
    if (threads() == 1) return blocks_from(0, blocks());
    parallel(threads(), [&](int t) { blocks_from(cuts_[std::size_t(t)], cuts_[std::size_t(t) + 1]); });
  }

private:
  frame f_;
  row_range range_;
  index_t block_, origin_, per_item_;  ///< origin: where the first block would begin, if the range did not later
  double work_ = 0;
  detail::short_list<Index, 33> cuts_;  ///< of the blocks; none where one thread runs them all
};

} // namespace sla
