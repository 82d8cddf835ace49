// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One pass on the host: each thread walks its rows in blocks of about a thousand elements and runs the statements one after
// the other inside a block, which stays in the first-level cache. Blocks, not threads, fix the order of reductions.
#pragma once

#include <vector>

#include <sla/core/pack.hpp>
#include <sla/exec/plan.hpp>
#include <sla/exec/product_rows.hpp>
#include <sla/tensor/storage/parallel.hpp>

namespace sla {

namespace detail {
inline row_span span_of(frame const&, row_span s) { return s; }
inline column_span span_of(column_frame const&, row_span s) { return {s.first, s.count, s.item}; }

struct nothing {};
template <class S>
struct accumulator_of {
  using type = nothing;
};
template <class S>
  requires requires { typename S::accumulator_type; }
struct accumulator_of<S> {
  using type = typename S::accumulator_type;
};
template <class S>
using accumulator_of_t = typename accumulator_of<S>::type;
/// Does the statement fold to a result?
template <class S>
inline constexpr bool has_result = !std::same_as<accumulator_of_t<S>, nothing>;
} // namespace detail

/// Rows [first_row, last_row) of every batch item: a pass may come in pieces (interior rows, then boundary rows).
struct row_range {
  index_t first, last;
};

/// How a pass over a range of rows is cut into blocks of whole rows, and these between threads.
class block_walk {
public:
  /// at_once: rows that a block has at least.
  block_walk(frame const& f, row_range range, int max_threads, index_t at_once = 1)
      : f_(f), range_(range), block_((std::max)(at_once, detail::block_elements / f.inner)) {
    index_t const rows = range.last - range.first;
    per_item_ = (rows + block_ - 1) / block_;
    int const threads = int((std::min)(index_t(max_threads), (std::max)(index_t(1), blocks())));
    cuts_.resize(std::size_t(threads) + 1);
    for (int t = 0; t <= threads; ++t) cuts_[std::size_t(t)] = blocks() * t / threads;
  }

  index_t blocks() const { return f_.batch * per_item_; }
  /// The blocks of one batch item.
  index_t blocks_of(index_t) const { return per_item_; }

  /// One more statement is in the pass, which stays on one thread where it is light work in all (tensor/storage/parallel.hpp).
  void add_statement() { work_ += double(range_.last - range_.first) * double(f_.batch * f_.inner); }

  int threads() const { return work_ < light_below ? 1 : int(cuts_.size()) - 1; }

  /// Gives each thread as much work, where work(row) is what the rows before it take.
  template <class Work>
  void balance(Work const& work) {
    int const threads = int(cuts_.size()) - 1;
    if (threads == 1) return;
    double const first = work(range_.first), all = work(range_.last) - first;
    work_ += all * double(f_.batch * f_.inner);
    if (f_.batch != 1 || range_.first != 0) return;
    for (int t = 1; t < threads; ++t) {
      index_t lo = cuts_[std::size_t(t - 1)], hi = per_item_;
      while (lo < hi) {
        index_t const mid = lo + (hi - lo) / 2;
        if (work(mid * block_) - first < all * t / threads)
          lo = mid + 1;
        else
          hi = mid;
      }
      cuts_[std::size_t(t)] = lo;
    }
  }

  /// one(context, span, n) for the n-th block. `one` knows the type of its context: this function need not be a template.
  template <class = void>
  void run(void (*one)(void const*, row_span, index_t), void const* context) const {
    auto const blocks_from = [&](index_t n, index_t last) {
      for (; n < last; ++n) {
        index_t const b = f_.batch == 1 ? 0 : n / per_item_, row = range_.first + (n - b * per_item_) * block_;
        index_t const length = (std::min)(block_, range_.last - row);
        one(context, {(b * f_.rows + row) * f_.inner, length * f_.inner, b * f_.rhs, f_.rhs}, n);
      }
    };
    if (threads() == 1) return blocks_from(0, blocks());
    parallel(threads(), [&](int t) { blocks_from(cuts_[std::size_t(t)], cuts_[std::size_t(t) + 1]); });
  }

private:
  frame f_;
  row_range range_;
  index_t block_, per_item_;
  double work_ = 0;
  std::vector<index_t> cuts_;
};

namespace detail {
/// Balances a walk by the products of a statement: as many stored entries and elements for each thread.
template <class Walk>
struct balance_by_products {
  Walk* walk;
  template <class X>
  X operator()(X const& x) const {
    if constexpr (requires { x.work_before(index_t()); })
      walk->balance([&](index_t row) { return double(x.work_before(row)) + 3.0 * double(row); });
    x.rebuild(*this);
    return x;
  }
};
/// The rows that a block should have for nodes that compute more than those: a stencil of slabs, from the ones beside them too.
struct find_rows_at_once {
  index_t* most;
  template <class X>
  X operator()(X const& x) const {
    if constexpr (requires { x.rows_at_once(); }) *most = (std::max)(*most, x.rows_at_once());
    x.rebuild(*this);
    return x;
  }
};
} // namespace detail

/// The partial results of a pass: per reduction, per block, per right-hand side. Kept between the pieces of a pass.
template <class... S>
class pass_partials {
  template <std::size_t N>
  using statement = detail::part_t<N, detail::pack<S...>>;

public:
  /// Room for the blocks of one more walk, for the reductions of a pass.
  template <std::size_t Count, class Walk>
  void grow(pass_plan<Count> const& plan, int pass, frame const& f, Walk const& walk) {
    base_ = end_;
    end_ += std::size_t(walk.blocks() * f.rhs);
    for (index_t b = 0; b < f.batch; ++b) runs_.push_back({b, walk.blocks_of(b)});
    [&]<std::size_t... N>(std::index_sequence<N...>) {
      auto one = [&]<std::size_t M>(std::integral_constant<std::size_t, M>) {
        if constexpr (detail::has_result<statement<M>>)
          if (plan.pass_of[M] == pass) detail::part<M>(values_).resize(end_);
      };
      (one(std::integral_constant<std::size_t, N>{}), ...);
    }(std::index_sequence_for<S...>{});
  }
  /// The results of the n-th block of the last walk, one per right-hand side.
  template <std::size_t N>
  auto* of_block(index_t n, index_t rhs) {
    return detail::part<N>(values_).data() + base_ + std::size_t(n * rhs);
  }

  /// Folds the blocks, in order, into `result` of each reduction (one value per item, or one in all if merged).
  template <std::size_t N>
  void fold(frame const& f, bool merged, detail::accumulator_of_t<statement<N>>* result) const {
    using Statement = statement<N>;
    if constexpr (detail::has_result<Statement>) {
      index_t const items = merged ? 1 : f.items();
      for (index_t k = 0; k < items; ++k) result[k] = Statement::identity();
      auto const& values = detail::part<N>(values_);
      std::size_t at = 0;
      for (auto const& [batch, count] : runs_)
        for (index_t n = 0; n < count; ++n)
          for (index_t k = 0; k < f.rhs; ++k)
            Statement::monoid_type::fold(result[merged ? 0 : batch * f.rhs + k], values[at++]);
    }
  }

private:
  template <class A>
  using values_of = std::conditional_t<std::same_as<A, detail::nothing>, detail::nothing, std::vector<A>>;
  detail::pack<values_of<detail::accumulator_of_t<S>>...> values_;
  std::vector<std::pair<index_t, index_t>> runs_;  ///< (batch item, blocks) in the order of the values
  std::size_t base_ = 0, end_ = 0;
};

/// Runs the statements of one pass on the blocks of a walk. F: `frame`, or `column_frame`.
template <std::size_t Count, class... S, class F, class Walk, class Partials>
void run_blocks(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, F const& f, Walk& walk, Partials& partials) {
  partials.grow(plan, pass, f, walk);
  auto balance = [&](auto const& s, int of) {
    if (of != pass) return;
    walk.add_statement();
    (void)s.rebuild(detail::balance_by_products<Walk>{&walk});
  };
  auto block = [&](row_span whole, index_t n) {
    auto const s = detail::span_of(f, whole);
    auto one = [&]<std::size_t M>(std::integral_constant<std::size_t, M>) {
      auto const& statement = detail::part<M>(statements);
      using Statement = std::remove_cvref_t<decltype(statement)>;
      if constexpr (!detail::is_whole<Statement>) {
        if (plan.pass_of[M] != pass) return;
        auto run = [&](auto const& bound) {
          if constexpr (detail::has_result<Statement>) {
            auto* const result = partials.template of_block<M>(n, s.rhs);
            for (index_t k = 0; k < s.rhs; ++k) result[k] = Statement::identity();
            detail::with_rows(bound, s, [&](auto const& ready) { ready.run(s, result); });
          } else {
            detail::with_rows(bound, s, [&](auto const& ready) { ready.run(s); });
          }
        };
        if constexpr (std::same_as<decltype(statement.rebuild(bind_item{})), Statement>)
          run(statement);  // nothing in it has a number per item
        else if (s.rhs == 1)
          run(statement.rebuild(bind_item{s.item}));
        else
          run(statement);
      }
    };
    [&]<std::size_t... N>(std::index_sequence<N...>) {
      (one(std::integral_constant<std::size_t, N>{}), ...);
    }(std::index_sequence_for<S...>{});
  };
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    (balance(detail::part<N>(statements), plan.pass_of[N]), ...);
  }(std::index_sequence_for<S...>{});
  walk.run([](void const* b, row_span s, index_t n) { (*static_cast<decltype(block) const*>(b))(s, n); }, &block);
}

/// Runs the statements of one pass on a range of rows, with at most `max_threads` threads.
template <std::size_t Count, class... S, class F, class Partials>
void run_pass(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, F const& f, row_range range,
              int max_threads, Partials& partials) {
  if (range.last <= range.first || f.batch == 0 || f.inner == 0) return;
  index_t at_once = 1;
  auto find = [&](auto const& s, int of) {
    if (of == pass) (void)s.rebuild(detail::find_rows_at_once{&at_once});
  };
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    (find(detail::part<N>(statements), plan.pass_of[N]), ...);
  }(std::index_sequence_for<S...>{});
  block_walk walk(f, range, max_threads, at_once);
  run_blocks(plan, pass, statements, f, walk, partials);
}

} // namespace sla
