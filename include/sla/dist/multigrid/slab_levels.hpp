// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid for operators on a grid whose points the ranks have line by line: each rank runs the passes of one rank (solve/precond/amg/grid) over its slabs and a
// few of its neighbours'. Per level two exchanges with neighbours; coarse grids are on fewer ranks, the last ones on one.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <sla/core/guarded.hpp>
#include <sla/dist/multigrid/recognise_slabs.hpp>
#include <sla/solve/precond/amg/grid/grid_cycle.hpp>

namespace sla::detail {

/// Levels with scalars R for vectors of K. Grids are as those of grid_levels (solve/precond/amg/grid/grid_cycle.hpp), and M the same up to rounding.
template <class R, class K>
class slab_levels {
public:
  using on_one = grid_levels<R, K>;

  /// The levels for a finest one: each is on as many ranks as have `gathered` points and four slabs each, the last on one. None, where that would be too large.
  static std::vector<slab_layout> layouts_for(slab_layout const& finest, index_t gathered) {
    std::vector<slab_layout> out{finest};
    while (on_one::goes_on(out.back().shape, out.size())) {
      auto next = out.back().next();
      auto const crowded = [&] { return next.shape.points() < gathered * next.active() || next.shape.nz < 4 * next.active(); };
      while (next.active() > 1 && (crowded() || !on_one::goes_on(next.shape, out.size() + 1))) next.stride *= 2;
      out.push_back(next);
    }
    if (out.size() == 1 || on_one::factor_work(out.back().shape) > 20 * on_one::most_factor_work) out.clear();
    return out;
  }
  /// Levels for a recognised matrix; none, if a diagonal is not positive. Collective.
  static std::shared_ptr<slab_levels const> make(any_communicator& c, std::shared_ptr<row_partition const> rows, found_slabs<R>&& found, index_t gathered) {
    auto out = std::make_shared<slab_levels>();
    out->c_ = &c, out->rows_ = std::move(rows), out->scale_ = found.scale;
    found.layout.rows = out->rows_.get();
    out->layouts_ = layouts_for(found.layout, gathered);
    if (out->layouts_.empty()) return nullptr;
    out->levels_.push_back(std::move(found.level));
    int const me = c.rank();
    std::int64_t fails = 0;
    for (std::size_t l = 1; l < out->layouts_.size(); ++l) {
      auto const &fine = out->layouts_[l - 1], &layout = out->layouts_[l];
      auto& level = out->levels_.back();
      auto const natural = fine.next();
      range_messages const messages(c, [&](int r) { return natural.own(r); }, [&](int r) { return layout.held(r); });
      auto const held = layout.held(me);
      grid_level<R> next(layout.local(me), level.omega);
      std::vector<std::pair<R const*, R*>> arrays;
      std::optional<grid_level<R>> product;
      if (level.shape.nz > 0) make_interpolation(level), product = galerkin_level(level);
      index_t const slab = natural.shape.slab(), before = fine.held(me).first / 2 * slab;
      for (int k = 1; k < next.shape.pairs + 2; ++k) arrays.push_back({product ? product->numbers.data(k) - before : nullptr, next.numbers.data(k) - held.first * slab});
      exchange_once(c, messages, arrays, slab);
      index_t const first = held.first > 0 ? slab : 0, last = next.shape.points();
      double const bound = all_reduce(c, held.empty() ? 0.0 : invert_diagonal(next, first, last), monoid::maximum);
      if (!std::isfinite(bound)) return nullptr;  // a diagonal entry is not positive
      damp_steps(next, first, held.empty() ? first : last, bound);
      out->levels_.push_back(std::move(next));
    }
    for (auto const& level : out->levels_) out->views_.push_back(level.view());
    if (me == 0) out->factors_ = band_factors(out->views_.back()), fails += !out->factors_.definite();
    return all_reduce(c, fails) > 0 ? nullptr : out;
  }

  /// z = M b of this rank's rows. Collective.
  void apply(K const* b, K* z) const {
    idle_.with(*this, [&](work_vectors& work) {
      index_t const n = rows_->count();
      double largest = take(work, b, 1);
      if constexpr (!std::same_as<R, K>) {
        largest = all_reduce(*c_, largest, monoid::maximum);
        if (!(largest == 0 || (largest > 1e-20 && largest < 1e20)) && std::isfinite(largest))
          take(work, b, (std::max)(K(largest), (std::numeric_limits<K>::min)()));  // float would not hold it
        else
          largest = 1;
      } else {
        largest = 1;
      }
      work.ghosts[0]();
      cycle_from(work, 0);
      if (n > 0) finish(work, z, K(largest / scale_));
    });
  }
  std::vector<grid_shape> shapes() const {
    std::vector<grid_shape> out;
    for (auto const& layout : layouts_) out.push_back(layout.shape);
    return out;
  }
  /// Ranks that have a part of the level.
  int ranks_of(std::size_t level) const { return layouts_[level].active(); }

private:
  /// Per level a right-hand side and a correction of the slabs that are held, and what goes to the next level and comes from it, with its messages.
  struct work_vectors {
    std::vector<grid_array<R>> b, z, restricted, correction;
    std::vector<range_exchange<R>> ghosts, back;  ///< into b of each level, and into the correction of each but the last
    std::vector<double> band;
    std::vector<K> slab;

    explicit work_vectors(slab_levels const& all) {
      any_communicator& c = *all.c_;
      int const me = c.rank();
      for (std::size_t l = 0; l < all.levels_.size(); ++l) {
        auto const& layout = all.layouts_[l];
        auto const& shape = all.levels_[l].shape;
        index_t const size = layout.shape.slab(), begin = layout.held(me).first * size;
        b.emplace_back(shape), z.emplace_back(l > 0 ? shape : grid_shape());
        if (l == 0) {
          ghosts.emplace_back(c, messages_around(c, layout), static_cast<R const*>(b[0].data() - begin), b[0].data() - begin, 1);
        } else {
          auto const& fine = all.layouts_[l - 1];
          index_t const of_finer = fine.held(me).first / 2 * size;
          ghosts.emplace_back(c, messages_down(c, fine, layout), static_cast<R const*>(restricted.back().data() - of_finer), b[l].data() - begin, size);
          back.emplace_back(c, messages_up(c, fine, layout), static_cast<R const*>(z[l].data() - begin), correction.back().data() - of_finer, size);
        }
        if (l + 1 < all.levels_.size()) restricted.emplace_back(shape.coarse()), correction.emplace_back(shape.coarse());
      }
      slab.resize(std::size_t(all.levels_[0].shape.slab()));
    }
  };
  struct span {
    index_t first, count;
  };

  /// b / scale, as R; the largest |b_i|.
  double take(work_vectors& work, K const* b, K scale) const {
    index_t const n = rows_->count(), at = rows_->first(rows_->rank()) - layouts_[0].held(c_->rank()).first * layouts_[0].shape.slab();
    K const inverse = 1 / scale;
    return double(merged_ranges<largest_size<K>>(n, [&, to = work.b[0].data() + at](index_t lo, index_t hi) {
      K most = 0;
      for (index_t i = lo; i < hi; ++i) {
        K const size = std::abs(b[i]);
        most = size > most ? size : most;
        to[i] = R(b[i] * inverse);
      }
      return largest_size<K>{most};
    }, light_below).value);
  }
  /// f(first, last) over a range of slabs, on several threads.
  template <class F>
  static void for_slabs(slab_range range, index_t points, F const& f) {
    parallel_lines(range.count(), 8 * points, [&](index_t lo, index_t hi) { f(range.first + lo, range.first + hi); });
  }
  /// All of level l and below but the correction of the finest.
  void cycle_from(work_vectors& work, std::size_t l) const {
    int const me = c_->rank();
    auto const& A = views_[l];
    auto const& layout = layouts_[l];
    index_t const size = A.shape.slab(), coarse_size = A.coarse.slab(), begin = layout.held(me).first;
    R const* const b = work.b[l].data();
    if (l + 1 == views_.size()) {
      if (me == 0) factors_.solve(b, work.z[l].data(), work.band);
      return;
    }
    auto const onto = layout.next().own(me);
    if (!onto.empty())
      for_slabs({onto.first - begin / 2, onto.last - begin / 2}, size, [&, out = work.restricted[l].data()](index_t lo, index_t hi) {
        grid_restricted<R, R>{{A, true}, b, R(1)}.store(span{lo * coarse_size, (hi - lo) * coarse_size}, out + lo * coarse_size);
      });
    work.ghosts[l + 1]();
    cycle_from(work, l + 1);
    work.back[l]();
    auto const mine = layout.corrected(me);
    if (l > 0 && !mine.empty())
      for_slabs({mine.first - begin, mine.last - begin}, size, [&, out = work.z[l].data()](index_t lo, index_t hi) {
        grid_corrected<R, R>{{A, false}, b, work.correction[l].data(), R(1), R(1)}.store(span{lo * size, (hi - lo) * size}, out + lo * size);
      });
  }
  /// The correction of the finest level into this rank's rows of z: whole slabs, and parts of a first and a last one.
  void finish(work_vectors& work, K* z, K factor) const {
    auto const& layout = layouts_[0];
    index_t const size = layout.shape.slab(), begin = layout.held(c_->rank()).first;
    slab_range const rows{rows_->first(rows_->rank()), rows_->first(rows_->rank() + 1)}, all = layout.corrected(c_->rank());
    slab_range const whole{(rows.first + size - 1) / size, rows.last / size};
    auto const store = [&](index_t lo, index_t hi, K* out) {
      grid_corrected<R, R, K> const pass{{views_[0], false}, work.b[0].data(), work.correction[0].data(), R(1), factor};
      pass.store(span{(lo - begin) * size, (hi - lo) * size}, out);
    };
    auto const part = [&](index_t k) {
      auto const here = rows & slab_range{k * size, (k + 1) * size};
      store(k, k + 1, work.slab.data());
      std::copy_n(work.slab.data() + here.first - k * size, here.count(), z + here.first - rows.first);
    };
    for (index_t k = all.first; k < (std::min)(whole.first, all.last); ++k) part(k);
    if (!whole.empty()) for_slabs(whole, size, [&](index_t lo, index_t hi) { store(lo, hi, z + lo * size - rows.first); });
    for (index_t k = (std::max)(whole.last, whole.first); k < all.last; ++k) part(k);
  }

  any_communicator* c_ = nullptr;
  std::shared_ptr<row_partition const> rows_;
  std::vector<slab_layout> layouts_;
  std::vector<grid_level<R>> levels_;  ///< of the slabs that this rank holds
  std::vector<grid_view<R>> views_;
  band_factors factors_;  ///< of the first rank
  double scale_ = 1;      ///< by which A is divided
  idle_work<work_vectors> idle_{};
};

} // namespace sla::detail
