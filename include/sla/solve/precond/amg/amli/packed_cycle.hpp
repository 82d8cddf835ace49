// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid by constants on aggregates with its levels in float, whatever the scalars of A: the levels, and the AMLI-cycle over them.
// How they are made is in solve/precond/amg/packed_levels.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include <sla/core/guarded.hpp>
#include <sla/solve/precond/amg/amli/amli.hpp>
#include <sla/solve/precond/amg/amli/packed_rows.hpp>
#include <sla/tensor/storage/format.hpp>

namespace sla::detail {

/// What belongs to the pattern of A, and is kept for new values on it: of each level but the last the aggregate of each row, their members, and the next
/// level's pattern; of all where their entries are.
struct packed_plan {
  using pattern = csr_pattern<std::int32_t, std::int32_t, host_memory>;

  std::vector<buffer<std::int32_t>> of = {};
  std::vector<pattern> members = {};
  std::vector<std::shared_ptr<pattern const>> patterns = {};
  std::vector<packed_pattern> packed = {};
  std::uint64_t places = 0;  ///< of the entries of the first level: hash_of_places
};

/// A level's numbers: those of A divided by a number of its size, since float does not reach as far.
struct packed_level {
  buffer<float> sum = {}, smoother = {};
  buffer<packed_word> word = {};     ///< of the slots, or, where one cannot hold them,
  buffer<std::int32_t> col = {};     ///< their columns
  buffer<float> value = {};          ///< and values
  amli_range range = {};  ///< of the eigenvalues of M A on this level and below
};

/// The vectors that a cycle writes on a level.
struct packed_vectors {
  buffer<float> b, x, z, second;
};

/// Those of all levels.
struct packed_work : std::vector<packed_vectors> {
  template <class Levels>
  explicit packed_work(Levels const& all) {
    for (auto const& p : all.plan->packed) {
      index_t const n = packed_room(p.rows), second = this->empty() ? 0 : n;
      this->push_back({buffer<float>(n), buffer<float>(n), buffer<float>(n), buffer<float>(second)});
    }
  }
};

/// All levels, from the finest on, and the inverse of the last one, or nothing, where smoothing has to do.
struct packed_levels {
  std::shared_ptr<packed_plan const> plan;
  std::vector<packed_level> levels = {};
  std::vector<float> inverse = {};
  double scale = 1;  ///< by which A is divided
  idle_work<packed_work> idle{};  ///< kept for the next application

  packed_view view(std::size_t l) const {
    packed_pattern const& p = plan->packed[l];
    packed_level const& v = levels[l];
    return {p.rows, p.begin.data(), p.least.data(), v.word.data(), v.col.data(), v.value.data(), v.sum.data(), v.smoother.data()};
  }
  template <class = void>
  std::size_t bytes() const {
    std::size_t total = inverse.size() * sizeof(float);
    for (auto const& level : levels) total += level.sum.bytes() + level.smoother.bytes() + level.word.bytes() + level.col.bytes() + level.value.bytes();
    for (auto const& p : plan->packed) total += p.bytes();
    for (auto const& p : plan->members) total += p.bytes();
    for (auto const& p : plan->patterns) total += p->bytes();
    for (auto const& of : plan->of) total += of.bytes();
    return total;
  }
  /// f(vectors of all levels) that nobody else has.
  template <class F>
  void with_work(F const& f) const {
    idle.with(*this, f);
  }
};

/// z = M b on level l and below, for x = D b, which is spoilt: one step of the smoother before the correction and one after it.
template <class Space>
void packed_cycle_from(Space& space, packed_levels const& all, std::vector<packed_vectors>& work, std::size_t l, float const* b, float* x, float* z) {
  packed_view const A = all.view(l);
  index_t const n = A.rows;
  if (l + 1 == all.levels.size()) {
    if (all.inverse.empty()) return (void)fuse(space, put_at(z, n, packed_swept{{n}, A, b, x, 1, 1, 1, true}));
    std::fill(z, z + n, 0.f);
    for (index_t j = 0; j < n; ++j) {
      float const* const column = all.inverse.data() + j * n;  // it is symmetric
      SLA_INDEPENDENT
      for (index_t i = 0; i < n; ++i) z[i] += column[i] * b[j];
    }
    return;
  }
  packed_view const next = all.view(l + 1);
  index_t const coarse = next.rows;
  auto& [cb, cx, cz, second] = work[l + 1];
  auto const smoothed = [&](float const* r) { return numbers_at(next.smoother, coarse) * numbers_at(r, coarse); };
  auto const members = all.plan->members[l].view();
  fuse(space, put_at(z, n, packed_swept{{n}, A, b, x, 0, 1, 1, false}), put_at(cb.data(), coarse, packed_summed{{coarse}, members.row_ptr, members.col, z, n}),
       put_at(cx.data(), coarse, smoothed(cb.data())));
  packed_cycle_from(space, all, work, l + 1, cb.data(), cx.data(), cz.data());
  float factor = 1;  // of the correction
  if (amli_range const range = all.levels[l + 1].range; range.least > 0) {
    amli_steps const steps(range);
    fuse(space, put_at(cb.data(), coarse, packed_swept{{coarse}, next, cb.data(), cz.data(), 0, 1, float(1 / steps.middle), false}), put_at(cx.data(), coarse, smoothed(cb.data())));
    packed_cycle_from(space, all, work, l + 1, cb.data(), cx.data(), second.data());
    fuse(space, put_at(cz.data(), coarse, numbers_at(cz.data(), coarse) + float(steps.second / steps.first) * numbers_at(second.data(), coarse)));
    factor = float(steps.first);
  }
  fuse(space, put_at(x, n, packed_corrected{{n}, all.plan->of[l].data(), x, cz.data(), factor, coarse}), put_at(z, n, packed_swept{{n}, A, b, x, 1, 1, 1, true}));
}

/// z = M b.
template <class K>
void packed_apply(packed_levels const& all, K const* b, K* z) {
  all.with_work([&](auto& work) {
    auto space = immediate_space(dependent_t<host_memory, K>{});
    packed_view const A = all.view(0);
    index_t const n = A.rows;
    auto& [f, x, y, none] = work[0];
    auto const load = [&, r = f.data(), first = x.data()](K scale) {
      auto const [squares] = fuse(space, put_at(r, n, packed_scaled<float, K, K>{{n}, b, 1 / scale}),
                                  put_at(first, n, numbers_at(A.smoother, n) * numbers_at(static_cast<float const*>(r), n)), squared_norm_of(numbers_at(b, n)));
      return double(squares);
    };
    K scale = 1;
    if (double const squares = load(scale); !(squares > 1e-30 && squares < 1e30)) {  // float may not hold it
      double const largest = double(norm_inf(numbers_at(b, n)));
      if (largest > 0 && std::isfinite(largest)) load(scale = (std::max)(K(largest), (std::numeric_limits<K>::min)()));
    }
    packed_cycle_from(space, all, work, 0, f.data(), x.data(), y.data());
    fuse(space, put_at(z, n, packed_scaled<K, float, K>{{n}, y.data(), K(double(scale) / all.scale)}));
  });
}

} // namespace sla::detail
