// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes over a list of systems: items are the systems, which have different sizes. Each has scalars of its own, so a method
// stops for each by itself. And A * x of lists.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <sla/exec/evaluate.hpp>
#include <sla/tensor/arrange/sparse_list.hpp>

namespace sla {

namespace detail {
/// How a pass over packed systems is cut into blocks of rows, each of one system, and these between threads.
template <class Index = index_t>
class list_walk final : public pass_walk {
public:
  list_walk(std::vector<index_t> const& cuts, frame const& f) : cuts_(cuts), f_(f), block_((std::max)(index_t(1), block_elements / f.inner)) {
    std::size_t const systems = cuts.size() - 1;
    for (std::size_t k = 0; k < systems; ++k) is_one_each_ = is_one_each_ && cuts[k] < cuts[k + 1] && cuts[k + 1] - cuts[k] <= block_;
    if (!is_one_each_) {
      before_.reserve(systems + 1);
      before_.push_back(0);
      for (std::size_t k = 0; k < systems; ++k) before_.push_back(before_.back() + (cuts[k + 1] - cuts[k] + block_ - 1) / block_);
    }
    index_t const threads = (std::min)(index_t(threads_in_use()), (std::max)(index_t(1), blocks()));
    for (index_t t = 0; t <= threads; ++t) shares_.push_back(blocks() * t / threads);
  }
  index_t blocks() const override { return before(cuts_.size() - 1); }
  index_t blocks_of(index_t k) const override { return before(std::size_t(k) + 1) - before(std::size_t(k)); }
  bool is_one_each() const override { return is_one_each_; }
  bool may_share() const override { return shares_.size() > 2; }

  void add_statement() override { work_ += double(cuts_.back() * f_.inner); }

  void balance(row_work work) override {
    if (work.rows < cuts_.back()) return;
    double const first = work(0), all = work(cuts_.back()) - first;
    work_ += all * double(f_.inner);
    for (std::size_t t = 1, threads = shares_.size() - 1; t < threads; ++t)
      shares_[t] = first_reaching(shares_[t - 1], blocks(), all * double(t) / double(threads), [&](index_t n) { return work(begin(system_of(n), n)) - first; });
  }
  void run(void (*one)(void const*, row_span const&, index_t), void const* context) const override {
    auto const blocks_from = [&](index_t n, index_t last) {
      for (std::size_t k = n < last ? system_of(n) : 0; n < last; ++n) {
        while (before(k + 1) <= n) ++k;
        index_t const row = begin(k, n), length = (std::min)(block_, cuts_[k + 1] - row);
        one(context, {row * f_.inner, length * f_.inner, index_t(k) * f_.rhs, f_.rhs}, n);
      }
    };
    if (work_ < light_below) return blocks_from(0, blocks());
    parallel(int(shares_.size()) - 1, [&](int t) { blocks_from(shares_[std::size_t(t)], shares_[std::size_t(t) + 1]); });
  }

private:
  /// The blocks before a system.
  index_t before(std::size_t k) const { return is_one_each_ ? index_t(k) : before_[k]; }
  std::size_t system_of(index_t n) const { return is_one_each_ ? std::size_t(n) : std::size_t(std::upper_bound(before_.begin(), before_.end(), n) - before_.begin()) - 1; }
  index_t begin(std::size_t k, index_t n) const { return cuts_[k] + (n - before(k)) * block_; }

  std::vector<index_t> const& cuts_;
  frame f_;
  index_t block_;
  double work_ = 0;
  bool is_one_each_ = true;
  kept_list<Index> before_;  ///< where a system has none or several
  short_list<Index, 33> shares_;
};
} // namespace detail

/// The backend of a space whose items are the systems of a list, one per system and right-hand side: its passes are those of
/// openmp, and no block of rows is of two systems. cuts: where the systems begin and end.
class packed_systems {
public:
  static constexpr bool is_backend = true;
  using cuts_type = std::shared_ptr<std::vector<index_t> const>;

  explicit packed_systems(cuts_type cuts) : cuts_(std::move(cuts)) {}
  std::vector<index_t> const& cuts() const { return *cuts_; }

  /// A frame of packed rows by its items. Errors: shape_error, if its rows are not those of the systems.
  template <class = void>
  frame by_items(frame packed) const {
    if (packed.batch != 1 || packed.rows != cuts_->back())
      throw shape_error(text("a list of systems with ", cuts_->back(), " rows together, and vectors of ", packed.rows, " rows, batch ", packed.batch));
    packed.batch = index_t(cuts_->size()) - 1;
    return packed;
  }
  template <std::size_t Count, class... S>
  void run(pass_plan<Count> const& plan, int pass, detail::pack<S...> const& statements, frame f, bool merged,
           result_pointers<S...> const& results) const {
    run(detail::statements_of_pass<frame>(plan, pass, statements, results), f, merged);
  }
  template <class Byte = std::byte>
  void run(std::span<detail::pass_statement const> statements, frame const& f, bool merged) const {
    pass_partials<Byte> partials(merged);
    if (f.inner > 0) {
      detail::list_walk walk(*cuts_, f);
      run_blocks(statements, f, walk, partials);
    }
    partials.fold(statements, f, merged);
  }

private:
  cuts_type cuts_;
};

/// A[k] * x[k] for each system, in one product. Errors: shape_error that names the system.
template <class T, class S, class F, class U, class E>
auto operator*(sparse_list<T, S, F> const& A, std::vector<tensor<U, E>> const& x) {
  return A.unpack_rows(eval(A.packed() * A.pack_cols(x)));
}

} // namespace sla
