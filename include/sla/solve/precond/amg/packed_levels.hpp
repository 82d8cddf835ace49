// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Levels in float of constants on aggregates, as solve/precond/amg/amli runs them: how they are made from A, whose products are added up in
// its own scalars before they are packed.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/precond/amg/amli/packed_cycle.hpp>
#include <sla/solve/precond/amg/coarsest.hpp>
#include <sla/solve/precond/amg/sums.hpp>

namespace sla::detail {

/// f(k, slot) for the k-th entry of row i beside the diagonal. Without branches on where the diagonal is, which orders of chance make dear.
template <class F>
void for_couplings(csr_view<std::int32_t, std::int32_t> const& rows, index_t i, F const& f) {
  std::int32_t const *const col = rows.col, first = rows.row_ptr[i], last = rows.row_ptr[i + 1];
  std::int32_t diagonal = first;
  for (std::int32_t s = first; s < last; ++s) diagonal += col[s] < i;
  bool const is_stored = diagonal < last && col[diagonal] == i;
  if (!is_stored) diagonal = last;
  for (std::int32_t k = 0; k < last - first - is_stored; ++k) f(k, first + k + (first + k >= diagonal));
}

/// Where the entries of A are in chunks of rows.
template <class = void>
packed_pattern pack_pattern(amg_pattern const& A) {
  index_t const n = A.rows, chunks = packed_room(n) / packed_chunk;
  auto const view = A.view();
  packed_pattern out{n, A.nnz()};
  out.least = buffer<std::int32_t>(chunks, uninitialized);
  out.begin = row_pointers<std::int32_t>(chunks, [&, least = out.least.data()](index_t at) {
    index_t most = 0;
    least[at] = std::int32_t(at * packed_chunk);
    for (index_t i = at * packed_chunk; i < (std::min)(n, (at + 1) * packed_chunk); ++i) {
      index_t stored = 0;
      view.for_row(i, [&](index_t, index_t j) { stored += j != i; });
      if (stored > 0) least[at] = (std::min)(least[at], view.col[view.row_ptr[i]]);
      most = (std::max)(most, stored);
    }
    return most;
  });
  out.fits = first_where(n, [&, least = out.least.data()](index_t i) {
    index_t const end = view.row_ptr[i + 1], from = least[i / packed_chunk];
    return i - from > packed_word::most || (view.row_ptr[i] < end && view.col[end - 1] - from > packed_word::most);
  }) < 0;
  return out;
}

/// f(slot, column, value) for all slots of this chunk of A, whose entries are multiplied by `inverse`; slots that fill it up have 0 and a row itself.
template <class T, class F>
void for_slots(amg_matrix<T> const& A, packed_pattern const& pattern, double inverse, index_t number, F const& f) {
  auto const view = A.pattern().view();
  T const* const a = A.values().data();
  index_t const first = pattern.begin[number], width = pattern.begin[number + 1] - first;
  for (index_t lane = 0; lane < packed_chunk; ++lane) {
    index_t const i = (std::min)(number * packed_chunk + lane, view.rows - 1), to = first * packed_chunk + lane;
    index_t k = 0;
    if (i == number * packed_chunk + lane) for_couplings(view, i, [&](index_t at, index_t s) { f(to + at * packed_chunk, index_t(view.col[s]), float(double(a[s]) * inverse)), k = at + 1; });
    for (; k < width; ++k) f(to + k * packed_chunk, i, 0.f);
  }
}

/// The numbers of A, divided by `scale`, a power of 2; the sums of its rows are given. By words, if they hold columns, and no entry pulls against the diagonal, whose
/// sign the smoother has, nor the sum of a row by more than a millionth: the rounding of entries is small beside x^H A x then.
template <class T>
packed_level pack_numbers(amg_matrix<T> const& A, std::vector<double> const& sums, vector<T> const& smoother, packed_pattern const& pattern, double scale) {
  index_t const n = A.rows(), chunks = packed_room(n) / packed_chunk, slots = pattern.begin[chunks] * packed_chunk;
  packed_level out{buffer<float>(packed_room(n)), buffer<float>(packed_room(n))};
  parallel_ranges(n, [&, sum = out.sum.data(), d = out.smoother.data(), weight = smoother.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) sum[i] = float(sums[std::size_t(i)] / scale), d[i] = float(double(weight[i]) * scale);
  });
  if (pattern.fits) {
    out.word = buffer<packed_word>(slots, uninitialized);
    auto const against = merged_ranges<tally>(chunks, [&, word = out.word.data(), d = std::as_const(out.smoother).data(), sum = std::as_const(out.sum).data()](index_t lo, index_t hi) {
      tally here;
      for (index_t c = lo; c < hi; ++c)
        for_slots(A, pattern, 1 / scale, c, [&, least = pattern.least[c]](index_t s, index_t j, float a) {
          word[s] = packed_word::of(a, j - least), here.value += a * d[c * packed_chunk + s % packed_chunk] > 0;
        });
      for (index_t i = lo * packed_chunk; i < hi * packed_chunk; ++i) here.value += sum[i] * d[i] < -1e-6f;
      return here;
    }, serial_below / packed_chunk);
    if (against.value == 0) return out;
    out.word = buffer<packed_word>();  // not `= {}`, of which clang 16 leaks the old words here
  }
  out.col = buffer<std::int32_t>(slots, uninitialized), out.value = buffer<float>(slots, uninitialized);
  parallel_ranges(chunks, [&, col = out.col.data(), value = out.value.data()](index_t lo, index_t hi) {
    for (index_t c = lo; c < hi; ++c) for_slots(A, pattern, 1 / scale, c, [&](index_t s, index_t j, float a) { col[s] = std::int32_t(j), value[s] = a; });
  }, serial_below / packed_chunk);
  return out;
}

/// Does float hold the weights of all rows, divided by their size, and corrections that are 1e14 times as large? Penalties of 1e30 are more than that.
template <class T>
bool packs_into_float(amg_rows<T> const& rows) {
  return double(rows.norm) * double(norm_inf(rows.smoother)) <= 1e24;
}

/// Does float serve for the numbers of levels? Rows may differ in size by a factor of 1e5: a correction that is large on strong rows leaves the rounding of their sums in weak ones, and
/// jumps of 1e8 take a third more iterations. Levels of nonsymmetric matrices stay as they are: BiCGSTAB takes up to twice the iterations with rounded ones.
template <class T>
bool rounds_to_float(amg_options const& o, bool hermitian, amg_rows<T> const& rows) {
  if (!hermitian || !o.in_float || o.on_device || o.coarse_only || o.coarsener || o.smoother.maker() || rows.smoother.size() < least_grid_points) return false;
  double const size = double(rows.norm), apart = size * double(norm_inf(rows.smoother));
  return !std::same_as<T, single_t<T>> && size >= 1e-15 && size <= 1e15 && apart <= 1e5;
}

/// Levels for a Hermitian A of numbers, with what is known of its rows, and the first aggregates; or with the plan of a matrix of the same pattern. They are
/// those of amg_levels (solve/precond/amg/level.hpp), sums of entries in the scalars of A, until they are packed.
template <class T>
std::shared_ptr<packed_levels const> packed_levels_of(amg_options const& o, amg_matrix<T> const& A, amg_rows<T> rows, std::optional<aggregates> first, std::shared_ptr<packed_plan const> kept) {
  using plan_type = dependent_t<packed_plan, T>;
  auto plan = kept ? nullptr : detail::shared_of<plan_type>();
  auto out = detail::shared_of<dependent_t<packed_levels, T>>();
  std::uint64_t const places = hash_of_places(A.pattern());
  if (plan) plan->places = places;
  require_kept_pattern(!kept || kept->places == places);
  if (auto const size = double(rows.norm); size > 0 && std::isfinite(size)) out->scale = std::ldexp(1.0, std::ilogb(size));
  std::vector<amg_matrix<T>> coarse;
  std::vector<vector<T>> smoothers;
  std::vector<std::vector<double>> sums;
  auto const matrix = [&](std::size_t l) -> amg_matrix<T> const& { return l == 0 ? A : coarse[l - 1]; };
  plan_type const& known = kept ? *kept : *plan;
  for (std::size_t l = 0;; ++l) {
    amg_matrix<T> const& here = matrix(l);
    index_t const n = here.rows();
    if (l > 0) rows = look_at_rows(here, o.smoother, int(l));
    smoothers.push_back(std::move(rows.smoother));
    if (plan && n > o.coarsest && int(l) + 1 < o.max_levels) {
      auto groups = l == 0 ? std::move(*first) : aggregate(here, rows, o.strength * std::pow(0.5, double(l)));
      if (groups.count > 0 && 10 * groups.count <= 8 * n) {
        plan->members.push_back(members_of(groups));
        plan->patterns.push_back(summed_pattern(here, groups.of, plan->members.back()));
        plan->of.push_back(std::move(groups.of));
      }
    }
    sums.emplace_back(std::size_t(n));
    double* const s = sums.back().data();
    if (l == 0)
      parallel_ranges(n, [&, view = here.pattern().view(), a = here.values().data()](index_t lo, index_t hi) {
        for (index_t i = lo; i < hi; ++i) view.for_row(i, [&](index_t t, index_t) { s[i] += double(a[t]); });
      });
    else
      for (index_t g = 0; g < n; ++g) known.members[l - 1].view().for_row(g, [&, fine = sums[l - 1].data()](index_t, index_t i) { s[g] += fine[i]; });
    if (l > 0 && known.members[l - 1].row_ptr[n] < matrix(l - 1).rows()) {  // couplings to rows that stood alone when aggregates were made are left out
      auto const view = matrix(l - 1).pattern().view();
      for (index_t i = 0; i < view.rows; ++i) {
        std::int32_t const* const of = known.of[l - 1].data();
        if (of[i] >= 0) view.for_row(i, [&, a = matrix(l - 1).values().data()](index_t t, index_t j) { s[of[i]] -= of[j] < 0 ? double(a[t]) : 0; });
      }
    }
    if (l == known.of.size()) break;
    coarse.push_back(summed_over(here, known.of[l], known.members[l], known.patterns[l]));
  }
  std::size_t const last = known.of.size();
  for (std::size_t l = 0; l <= last; ++l) {
    if (plan) plan->packed.push_back(pack_pattern(matrix(l).pattern()));
    out->levels.push_back(pack_numbers(matrix(l), sums[l], smoothers[l], known.packed[l], out->scale));
  }
  if (matrix(last).rows() <= (std::max)(o.coarsest, amg_most_dense_rows))
    for (T const& a : dense_inverse(matrix(last))) out->inverse.push_back(float(double(a) * out->scale));
  out->plan = kept ? kept : plan;
  auto space = immediate_space(dependent_t<host_memory, T>{});
  out->with_work([&](auto& work) {
    for (std::size_t l = last; l-- > 1;) {
      packed_view const B = out->view(l);
      amli_range& range = out->levels[l].range;
      range = eigenvalue_range<float>(
          B.rows, packed_room(B.rows), B.smoother, bound_above(out->levels[l + 1].range), [&](float const* p, float* q) { fuse(space, put_at(q, B.rows, packed_swept{{B.rows}, B, nullptr, p, 0, -1, 1, false})); },
          [&, x = work[l].x.data()](float const* r, float* z) {
            fuse(space, put_at(x, B.rows, numbers_at(B.smoother, B.rows) * numbers_at(r, B.rows)));
            packed_cycle_from(space, *out, work, l, r, x, z);
          });
      range.bound *= packed_word::changes;
      if (range.least > 0) range.most = (std::max)(range.most, range.bound - range.least);  // the two steps are definite up to it
    }
  });
  return out;
}

} // namespace sla::detail
