// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cycle of multigrid (Trottenberg, Oosterlee, Schueller, Multigrid, section 2.4), written over `fuse` alone: per level five passes
// and no reduction, so that results do not depend on the number of threads. Levels on ranks (dist/multigrid) run it too, and levels in the memory of
// a device (solve/precond/amg/in_memory/levels_in_memory.hpp).
#pragma once

#include <utility>

#include <sla/expr/sparse/product.hpp>
#include <sla/solve/precond/amg/amli/amli.hpp>
#include <sla/solve/precond/amg/level.hpp>

namespace sla::detail {

/// z = M b on level l and below, for contiguous vectors: as many sweeps of the smoother before the correction as after it, so that M is
/// Hermitian where A is, but for an F-cycle, of which this is a part if `kind` is V.
template <class Space, class Levels, class T, class Memory>
void amg_cycle_from(Space& space, Levels const& all, amg_work<T, Memory>& work, std::size_t l, kernel_t<T> const* b, kernel_t<T>* z, amg_cycle kind) {
  using K = kernel_t<T>;
  auto const& level = all.levels[l];
  index_t const n = level.A.rows();
  auto const of = [](K const* p, index_t size) { return numbers_at<Memory>(p, size); };
  auto const put = [](K* to, index_t size, auto const& value) { return put_at<Memory>(to, size, value); };
  bool const last = l + 1 == all.levels.size();
  if (last && all.solve_last(space, b, z)) return;
  if (l == 0 && !last && all.options.coarse_only) {
    auto& next = work.levels[1];
    index_t const coarse = level.P.cols();
    K *const cb = kernel_pointer(next.b.data()), *const cx = kernel_pointer(next.x.data());
    fuse(space, put(cb, coarse, level.R * of(b, n)));
    amg_cycle_from(space, all, work, 1, cb, cx, kind);
    return (void)fuse(space, put(z, n, level.P * of(cx, coarse)));
  }
  K *x = kernel_pointer(work.levels[l].spare.data()), *y = z;
  if (level.before) std::swap(x, y);  // its sweeps leave x where it is: in z
  K* const swept = kernel_pointer(work.levels[l].swept.data());
  auto const d = of(kernel_pointer(level.smoother.data()), n), rhs = of(b, n);
  // One sweep from x into y; then they change places.
  auto const smooth = [&](amg_sweep<T> const* sweep) {
    if (sweep) {
      fuse(space, put(y, n, level.A * of(x, n)), put(y, n, rhs - of(y, n)));
      sweep->apply(y, swept);
      return (void)fuse(space, put(x, n, of(x, n) + of(swept, n)));
    }
    fuse(space, put(y, n, level.A * of(x, n)), put(y, n, of(x, n) + d * (rhs - of(y, n))));
    std::swap(x, y);
  };
  if (level.before)
    level.before->apply(b, x);
  else
    fuse(space, put(x, n, d * rhs));
  for (int k = 1; k < all.options.sweeps; ++k) smooth(level.before.get());
  if (!last) {
    auto& next = work.levels[l + 1];
    index_t const coarse = level.P.cols();
    K *const cb = kernel_pointer(next.b.data()), *const cx = kernel_pointer(next.x.data());
    amli_range const range = all.levels[l + 1].range;
    int const visits = kind != amg_cycle::V && !(range.least > 0) && l + 2 < all.levels.size() && !all.options.steps_where_cheap ? 2 : 1;
    for (int visit = 0; visit < visits; ++visit) {
      bool const once = kind == amg_cycle::F && (visit == 1) != all.reversed;
      fuse(space, put(y, n, level.A * of(x, n)), put(y, n, rhs - of(y, n)), put(cb, coarse, level.R * of(y, n)));
      amg_cycle_from(space, all, work, l + 1, cb, cx, once ? amg_cycle::V : kind);
      if (range.least > 0) {  // two steps of Chebyshev's iteration for M A
        using Real = real_t<K>;
        amli_steps const steps(range);
        K *const cr = kernel_pointer(next.r.data()), *const cz = kernel_pointer(next.z.data());
        fuse(space, put(cr, coarse, all.levels[l + 1].A * of(cx, coarse)), put(cr, coarse, of(cb, coarse) - Real(1 / steps.middle) * of(cr, coarse)));
        amg_cycle_from(space, all, work, l + 1, cr, cz, kind);
        fuse(space, put(cx, coarse, Real(steps.first) * of(cx, coarse) + Real(steps.second) * of(cz, coarse)));
      }
      fuse(space, put(y, n, level.P * of(cx, coarse)), put(x, n, of(x, n) + of(y, n)));
    }
  }
  for (int k = 0; k < all.options.sweeps; ++k) smooth(level.after.get());
  if (x != z) fuse(space, put(z, n, of(x, n)));
}

/// The least eigenvalue of M A on each level that takes steps, from the coarsest on: that of a level depends on those below. Cost: some cycles, since the
/// finest level takes no part.
template <class T>
void measure_levels(amg_hierarchy<T>& all) {
  std::size_t const count = all.levels.size();
  bool any = false;
  for (std::size_t l = 1; l < count; ++l) any = any || all.takes_steps(l);
  if (!any) return;
  all.options.cycle = amg_cycle::amli;
  using K = kernel_t<T>;
  auto space = immediate_space(host_memory{});
  all.with_work([&](amg_work<T>& work) {
    for (std::size_t l = count - 1; l-- > 1;) {
      auto& level = all.levels[l];
      level.range.bound = bound_above(all.levels[l + 1].range);
      if (!all.takes_steps(l)) continue;
      index_t const n = level.A.rows();
      level.range = eigenvalue_range<K>(
          n, n, kernel_pointer(level.smoother.data()), level.range.bound, [&](K const* p, K* q) { fuse(space, put_at(q, n, level.A * numbers_at(p, n))); },
          [&](K const* r, K* z) { amg_cycle_from(space, all, work, l, r, z, all.options.cycle); });
    }
  });
}

} // namespace sla::detail
