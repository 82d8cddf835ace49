// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid for matrices that are operators on a grid: V-cycles of two passes per level over half diagonals in float, down to a grid whose
// band is factored. What other matrices get is in solve/precond/amg/level.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <sla/core/guarded.hpp>
#include <sla/core/held.hpp>
#include <sla/exec/fuse.hpp>
#include <sla/exec/host.hpp>
#include <sla/expr/dense/ops.hpp>
#include <sla/solve/precond/amg/grid/band.hpp>
#include <sla/solve/precond/amg/grid/passes.hpp>
#include <sla/solve/precond/amg/grid/recognise.hpp>

namespace sla::detail {

/// On a device, the inverse of the coarsest grid is stored: about 450 points, and of a thin grid, which has more, no more than these.
inline constexpr double most_device_grid_work = 2e5;
inline constexpr index_t most_device_grid_points = 2000;

/// The cycle as amg knows it, whatever its levels are made of. K: the scalars of b and z.
template <class K>
class grid_cycle {
public:
  virtual ~grid_cycle() = default;
  /// z = M b.
  virtual void apply(K const* b, K* z) const = 0;
  virtual std::vector<grid_shape> shapes() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual bool in_float() const = 0;
  virtual grid_roughness roughness() const = 0;
};

/// Levels with scalars R. One V-cycle: a step of Jacobi, damped by omega, before and after each correction; so M is symmetric, and definite.
template <class R, class K>
class grid_levels : public grid_cycle<K> {
public:
  /// A coarser grid than one whose factors take so much work is not made.
  static constexpr double most_factor_work = 1e7;
  static double factor_work(grid_shape const& s) { return double(s.points()) * double(s.shift(s.pairs - 1)) * double(s.shift(s.pairs - 1)); }
  /// Is a coarser grid made of the last of so many levels?
  static bool goes_on(grid_shape const& s, std::size_t levels, double most_work = most_factor_work) {
    bool const wide = s.nx >= 6 && s.nz >= 6 && (s.is_plane() || s.ny >= 6);
    return wide && (levels == 1 || factor_work(s) > most_work);
  }

  /// Levels for a recognised matrix; none where they would not contract: residuals of conjugate gradients for a random right-hand side, which
  /// are looked at where couplings differ, but not if they differed as much in the matrix that had this pattern before.
  static std::shared_ptr<grid_levels const> make(found_grid<R>&& found, grid_cycle<K> const* before = nullptr, double most_work = most_factor_work) {
    auto out = detail::shared_of<grid_levels>();
    out->scale_ = found.scale, out->rough_ = found.rough;
    bool const looks = found.rough.part > 0 && (!before || found.rough.exceeds(before->roughness()));
    out->levels_.push_back(std::move(found.level));
    while (goes_on(out->levels_.back().shape, out->levels_.size(), most_work)) {
      auto next = coarsened(out->levels_.back());
      if (!next) return nullptr;
      out->levels_.push_back(std::move(*next));
    }
    grid_shape const& last = out->levels_.back().shape;
    bool const is_stored = most_work < most_factor_work;
    if (out->levels_.size() == 1 || factor_work(last) > 20 * most_work || (is_stored && last.points() > most_device_grid_points)) return nullptr;
    for (auto const& level : out->levels_) out->views_.push_back(level.view());
    out->factors_ = band_factors(out->views_.back());
    if (!out->factors_.definite()) return nullptr;
    if (looks && !(out->contraction(found.rough.part > 0.25 ? 0 : 1) <= 0.4)) return nullptr;
    return out;
  }

  void apply(K const* b, K* z) const override {
    with_work([&](work_vectors& work) {
      auto space = immediate_space(host_memory{});
      double const largest = cycle_from(space, work, 0, b, z, K(1), 1 / scale_);
      if (std::is_same_v<R, float> && !(largest == 0 || (largest > 1e-20 && largest < 1e20)) && std::isfinite(largest))
        cycle_from(space, work, 0, b, z, (std::max)(K(largest), (std::numeric_limits<K>::min)()), 1 / scale_);  // float would not hold it
    });
  }
  std::vector<grid_shape> shapes() const override {
    std::vector<grid_shape> out;
    for (auto const& level : levels_) out.push_back(level.shape);
    return out;
  }
  std::size_t bytes() const override {
    std::size_t sum = factors_.bytes();
    for (auto const& level : levels_) sum += level.bytes();
    return sum;
  }
  bool in_float() const override { return std::is_same_v<R, float>; }
  grid_roughness roughness() const override { return rough_; }
  std::vector<grid_level<R>> const& levels() const { return levels_; }
  /// Of the last level.
  band_factors const& factors() const { return factors_; }
  /// By which A is divided.
  double scale() const { return scale_; }

private:
  /// Per level a right-hand side and a correction, but those of the finest, which are others'.
  struct work_vectors {
    std::vector<grid_array<R>> b, z;
    std::vector<double> band;

    explicit work_vectors(grid_levels const& all) {
      for (std::size_t l = 1; l < all.levels_.size(); ++l) b.emplace_back(all.levels_[l].shape), z.emplace_back(all.levels_[l].shape);
    }
  };
  template <class T>
  static auto put(T* to, index_t size, auto const& value) {
    return set_statement<T, std::remove_cvref_t<decltype(value)>, host_memory>{to, size, value};
  }
  template <class T>
  static auto of(T const* p, index_t size) {
    return tensor_view<T, Extents<dyn>, host_memory>{p, Extents<dyn>(size)};
  }

  /// z = factor scale M (b / scale) on level l and below. Returns the largest |b_i| where that may matter, on the finest level.
  template <class Space, class B>
  double cycle_from(Space& space, work_vectors& work, std::size_t l, B const* b, B* z, B scale, double factor = 1) const {
    auto const& A = views_[l];
    if (l + 1 == views_.size()) {
      factors_.solve(b, z, work.band);
      return 0;
    }
    R *const cb = work.b[l].data(), *const cz = work.z[l].data();
    fuse(space, put(cb, A.coarse.points(), grid_restricted<R, B>{{A, true}, b, scale}));
    cycle_from(space, work, l + 1, static_cast<R const*>(cb), cz, R(1));
    grid_corrected<R, B> const corrected{{A, false}, b, cz, scale, B(double(scale) * factor)};
    if constexpr (std::is_same_v<R, B>) {
      fuse(space, put(z, A.shape.points(), corrected));
      return 0;
    } else {
      auto const [largest] = fuse(space, put(z, A.shape.points(), corrected), norm_inf_of(of(b, A.shape.points())));
      return largest;
    }
  }

  /// The mean factor by which six steps of conjugate gradients lessen sqrt((r, M r)), on level l; by which three do, if that is below 0.2 or above 0.4:
  /// means of more steps are seldom less, and seldom twice as large.
  double contraction(std::size_t l) const {
    constexpr int steps = 6;
    grid_shape const& s = views_[l].shape;
    index_t const n = s.points();
    grid_array<R> r(s), z(s), p(s), q(s);
    std::uint64_t state = 1;
    for (index_t i = 0; i < n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      r.data()[i] = R(double(state >> 33) / double(1u << 30) - 1);
    }
    auto space = immediate_space(host_memory{});
    double first = 0, last = 0, mean = INFINITY;
    with_work([&](work_vectors& work) {
      for (int k = 0; k <= steps; ++k) {
        cycle_from(space, work, l, static_cast<R const*>(r.data()), z.data(), R(1));
        auto const [rz] = fuse(space, dot_of(of(r.data(), n), of(z.data(), n)));
        if (k == 0) first = double(rz);
        R const beta = k > 0 && last > 0 ? R(double(rz) / last) : R(0);
        last = double(rz);
        if (k > 0) mean = first > 0 && last >= 0 ? std::pow(last / first, 0.5 / k) : INFINITY;
        if (!(last > 0) || k == steps || (k == 3 && (mean < 0.2 || mean > 0.4))) return;
        fuse(space, put(p.data(), n, of(z.data(), n) + beta * of(p.data(), n)));
        auto const [pq] = fuse(space, put(q.data(), n, grid_product<R>{{views_[l], false}, p.data()}), dot_of(of(p.data(), n), of(q.data(), n)));
        R const alpha = R(last / double(pq));
        fuse(space, put(r.data(), n, of(r.data(), n) - alpha * of(q.data(), n)));
      }
    });
    return mean;
  }

  template <class F>
  void with_work(F const& f) const {
    idle_.with(*this, f);
  }

  std::vector<grid_level<R>> levels_;
  std::vector<grid_view<R>> views_;
  band_factors factors_;
  double scale_ = 1;  ///< by which A is divided
  grid_roughness rough_ = {};
  idle_work<work_vectors> idle_{};  ///< kept for the next application
};

} // namespace sla::detail
