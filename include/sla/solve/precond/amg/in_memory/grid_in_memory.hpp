// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Levels that are grids in the memory of a device: those that the host set up, copied there, and the same V-cycle point by point: four passes per level,
// where the host's two compute the slabs between threads twice (solve/precond/amg/grid/grid_cycle.hpp).
#pragma once

#include <utility>
#include <vector>

#include <sla/solve/precond/amg/amli/amli.hpp>
#include <sla/solve/precond/amg/grid/grid_cycle.hpp>
#include <sla/solve/precond/amg/in_memory/in_memory.hpp>

namespace sla::detail {

/// A level as a point sees it: see grid_view. The points of its grid and of the coarse one along each axis; where the neighbours in each direction are.
template <class R>
struct grid_points {
  unsigned nx, ny, nz, coarse_x, coarse_y, coarse_z;
  int pairs, types;  ///< types: bits of the axes that there are
  index_t count, coarse_count, shift[13];
  R omega;
  R const *inverse, *sums, *off[13], *weight[8][8];

  /// f(j, a_ij) for all neighbours j of point i; where there is none, for i itself and 0.
  template <class F>
  SLA_HD void for_neighbours(index_t i, F const& f) const {
    for (int h = 0; h < pairs; ++h) {
      bool const after = i + shift[h] < count, before = i >= shift[h];
      index_t const j = after ? i + shift[h] : i, k = before ? i - shift[h] : i;
      R const a = off[h][i], b = off[h][k];
      f(j, after ? a : R(0));
      f(k, before ? b : R(0));
    }
  }
};

/// What the nodes share. Memory of a device, or the host's where it is simulated.
template <class R, class Memory>
struct grid_point_node {
  using expression_tag = void;
  using value_type = R;
  using extents_type = Extents<dyn>;
  using memory_type = Memory;
  static constexpr reach depth = reach::gather;

  grid_points<R> A;
  R const *b, *x;  ///< of all points; x of some nodes alone
};

/// b - A t with t = omega D^-1 b.
template <class R, class Memory>
struct grid_defect : grid_point_node<R, Memory> {
  auto extents() const { return Extents<dyn>(this->A.count); }
  SLA_HD R at(element e) const {
    R sum{};
    this->A.for_neighbours(e.at, [&](index_t j, R a) { sum += a * (this->A.inverse[j] * this->b[j]); });
    return (1 - this->A.omega) * this->b[e.at] - sum;  // a_ii t_i = omega b_i
  }
  template <class F>
  grid_defect rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(memory_access{this->b, this->A.count * index_t(sizeof(R)), true, false});
  }
};

/// P^T x at the coarse points.
template <class R, class Memory>
struct grid_restriction : grid_point_node<R, Memory> {
  auto extents() const { return Extents<dyn>(this->A.coarse_count); }
  SLA_HD R at(element e) const {
    auto const& A = this->A;
    unsigned const C = unsigned(e.at), line = C / A.coarse_x, X = C - line * A.coarse_x, Z = line / A.coarse_y, Y = line - Z * A.coarse_y;
    R sum = this->x[(index_t(2 * Z) * A.ny + 2 * Y) * A.nx + 2 * X];
    for (int t = 1; t <= A.types; ++t) {
      if ((t & A.types) != t) continue;
      for (int c = t;; c = (c - 1) & t) {
        bool const there = X >= unsigned(c & 1) && Y >= unsigned(c >> 1 & 1) && Z >= unsigned(c >> 2);
        unsigned const x0 = X - unsigned(c & 1), y0 = Y - unsigned(c >> 1 & 1), z0 = Z - unsigned(c >> 2);
        unsigned const px = 2 * x0 + unsigned(t & 1), py = 2 * y0 + unsigned(t >> 1 & 1), pz = 2 * z0 + unsigned(t >> 2);
        if (there && px < A.nx && py < A.ny && pz < A.nz)
          sum += A.weight[t][c][(index_t(z0) * A.coarse_y + y0) * A.coarse_x + x0] * this->x[(index_t(pz) * A.ny + py) * A.nx + px];
        if (c == 0) break;
      }
    }
    return sum;
  }
  template <class F>
  grid_restriction rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(memory_access{this->x, this->A.count * index_t(sizeof(R)), true, false});
  }
};

/// omega D^-1 b + P x, for x of the coarse points.
template <class R, class Memory>
struct grid_correction : grid_point_node<R, Memory> {
  auto extents() const { return Extents<dyn>(this->A.count); }
  SLA_HD R at(element e) const {
    auto const& A = this->A;
    unsigned const p = unsigned(e.at), line = p / A.nx, px = p - line * A.nx, pz = line / A.ny, py = line - pz * A.ny;
    unsigned const X = px / 2, Y = py / 2, Z = pz / 2;
    index_t const C = (index_t(Z) * A.coarse_y + Y) * A.coarse_x + X;
    int const t = int(px & 1) | int(py & 1) << 1 | int(pz & 1) << 2;
    R sum = A.inverse[e.at] * this->b[e.at];
    if (t == 0) return sum + this->x[C];
    for (int c = t;; c = (c - 1) & t) {
      unsigned const x1 = X + unsigned(c & 1), y1 = Y + unsigned(c >> 1 & 1), z1 = Z + unsigned(c >> 2);
      if (x1 < A.coarse_x && y1 < A.coarse_y && z1 < A.coarse_z) sum += A.weight[t][c][C] * this->x[(index_t(z1) * A.coarse_y + y1) * A.coarse_x + x1];
      if (c == 0) break;
    }
    return sum;
  }
  template <class F>
  grid_correction rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(memory_access{this->b, this->A.count * index_t(sizeof(R)), true, false});
    f(memory_access{this->x, this->A.coarse_count * index_t(sizeof(R)), true, false});
  }
};

/// x + omega D^-1 (b - A x).
template <class R, class Memory>
struct grid_step : grid_point_node<R, Memory> {
  auto extents() const { return Extents<dyn>(this->A.count); }
  SLA_HD R at(element e) const {
    R const here = this->x[e.at];
    R sum = this->A.sums[e.at] * here;
    this->A.for_neighbours(e.at, [&](index_t j, R a) { sum += a * (this->x[j] - here); });
    return here + this->A.inverse[e.at] * (this->b[e.at] - sum);
  }
  template <class F>
  grid_step rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool) const {
    f(memory_access{this->b, this->A.count * index_t(sizeof(R)), true, false});
    f(memory_access{this->x, this->A.count * index_t(sizeof(R)), true, false});
  }
};

/// The levels of a grid_levels in this memory; the coarsest by its inverse, a matrix whose rows are full.
template <class R, class Memory>
class grid_in_memory {
public:
  /// Per level a residual, a correction in the making, and, but for the finest, which are others', a right-hand side and a correction.
  struct work_vectors {
    struct level {
      vector<R, Memory> r, x, b, z;
    };
    std::vector<level> levels;
  };

  template <class K>
  explicit grid_in_memory(grid_levels<R, K> const& host) : scale_(host.scale()) {
    for (auto const& from : host.levels()) {
      auto& to = levels_.emplace_back();
      to.numbers = buffer_in_memory<Memory>(from.numbers.all()), to.weights = buffer_in_memory<Memory>(from.weights.all());
      auto const of_numbers = [&](R const* p) { return std::as_const(to.numbers).data() + (p - from.numbers.all().data()); };
      auto const view = from.view();
      auto const &s = view.shape, &c = view.coarse;
      auto& A = to.points;
      A = {unsigned(s.nx), unsigned(s.ny), unsigned(s.nz), unsigned(c.nx), unsigned(c.ny), unsigned(c.nz), s.pairs, s.is_plane() ? 5 : 7, s.points(), c.points(), {}, view.omega,
           of_numbers(view.inverse), of_numbers(view.sums), {}, {}};
      for (int h = 0; h < s.pairs; ++h) A.shift[h] = s.shift(h), A.off[h] = of_numbers(view.off[h]);
      for (int t = 1; t < 8; ++t)
        for (int k = 0; k <= t; ++k)
          if (view.weight[t][k]) A.weight[t][k] = std::as_const(to.weights).data() + (view.weight[t][k] - from.weights.all().data());
    }
    index_t const n = levels_.back().points.count;
    std::vector<R> numbers(static_cast<std::size_t>(n * n));
    parallel_ranges(n, [&](index_t lo, index_t hi) {  // the inverse is symmetric
      std::vector<R> unit(static_cast<std::size_t>(n));
      std::vector<double> work;
      for (index_t i = lo; i < hi; ++i) {
        unit[std::size_t(i)] = 1;
        host.factors().solve(unit.data(), numbers.data() + i * n, work);
        unit[std::size_t(i)] = 0;
      }
    }, 16);
    inverse_ = full_matrix<R, Memory>(numbers, n);
  }

  index_t points() const { return levels_.front().points.count; }
  /// By which A was divided.
  double scale() const { return scale_; }
  std::size_t bytes() const {
    std::size_t sum = inverse_.bytes();
    for (auto const& level : levels_) sum += level.numbers.bytes() + level.weights.bytes();
    return sum;
  }
  /// z = scale M b.
  template <class Space>
  void apply(Space& space, R const* b, R* z) const {
    work_vectors work;
    for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
      auto const of = [&](index_t size) { return space.template temporary<R>(Extents<dyn>(size)); };
      auto const& A = levels_[l].points;
      work.levels.push_back({of(A.count), of(A.count), of(A.coarse_count), of(A.coarse_count)});
    }
    cycle_from(space, work, 0, b, z);
  }

private:
  template <class Space>
  void cycle_from(Space& space, work_vectors& work, std::size_t l, R const* b, R* z) const {
    auto const& A = levels_[l].points;
    if (l + 1 == levels_.size()) return (void)fuse(space, put_at<Memory>(z, A.count, inverse_ * numbers_at<Memory>(b, A.count)));
    auto& w = work.levels[l];
    R *const r = w.r.data(), *const x = w.x.data(), *const cb = w.b.data(), *const cz = w.z.data();
    fuse(space, put_at<Memory>(r, A.count, grid_defect<R, Memory>{{A, b, nullptr}}), put_at<Memory>(cb, A.coarse_count, grid_restriction<R, Memory>{{A, nullptr, r}}));
    cycle_from(space, work, l + 1, cb, cz);
    fuse(space, put_at<Memory>(x, A.count, grid_correction<R, Memory>{{A, b, cz}}), put_at<Memory>(z, A.count, grid_step<R, Memory>{{A, b, x}}));
  }

  struct level {
    buffer<R, Memory> numbers, weights;
    grid_points<R> points{};
  };
  std::vector<level> levels_;
  amg_matrix<R, Memory> inverse_;
  double scale_;
};

} // namespace sla::detail
