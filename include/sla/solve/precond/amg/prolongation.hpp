// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prolongations: from a correction per aggregate to one per row, by a constant, or by a constant after one step of damped Jacobi with
// the strong entries of each row (Vanek, Mandel and Brezina 1996; here each row has a threshold of its own).
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/precond/amg/aggregates.hpp>
#include <sla/solve/precond/amg/classical.hpp>

namespace sla::detail {

inline constexpr double prolongation_damping = 0.75, prolongation_filter = 0.25;

/// The entries of row i of the prolongation, as f(aggregate, weight), an aggregate perhaps more than once; `rows` is what look_at_rows saw. Of row i of A, entries that
/// couple less than a quarter of the largest, and those of the diagonal's sign, are added to the diagonal; what is kept of it, with its
/// diagonal divided out, has weights of at most 1 together, whatever A is, and of 1 where the row of A sums to 0.
template <class T, class F>
void prolongation_row(amg_matrix<T> const& A, aggregates const& groups, amg_rows<T> const& rows, amg_coarsening how, index_t i, F const& f) {
  using K = kernel_t<T>;
  using Real = real_t<T>;
  auto const* const of = groups.of.data();
  if (of[i] < 0) return;
  Real const largest = rows.strongest.data()[i];
  if (how == amg_coarsening::plain || !(largest > 0)) return f(of[i], K(Real(1)));
  K const phase = rows.phase.data()[i];
  auto const view = A.pattern().view();
  auto const* const a = kernel_pointer(A.values().data());
  Real const least = Real(prolongation_filter) * largest;
  auto const keeps = [&](index_t s, index_t j) { return i != j && coupling(a[s], phase) >= least; };
  Real kept = 0, diagonal = 0;
  view.for_row(i, [&](index_t s, index_t j) {
    bool const keep = keeps(s, j);
    kept += keep ? abs_of(a[s]) : Real(0), diagonal += keep ? Real(0) : real_of(a[s] * phase);
  });
  Real const factor = Real(-prolongation_damping) / (std::max)(diagonal, kept);
  f(of[i], K(Real(1 - prolongation_damping)));
  view.for_row(i, [&](index_t s, index_t j) {
    if (keeps(s, j) && of[j] >= 0) f(of[j], K(phase * a[s] * factor));
  });
}

/// The prolongation: the aggregates of each row ascend.
template <class T>
amg_matrix<T> prolongation(amg_matrix<T> const& A, aggregates const& groups, amg_rows<T> const& rows, amg_coarsening how) {
  using K = kernel_t<T>;
  if (how == amg_coarsening::classical) return extended_values(A, rows, groups, extended_pattern(A, rows, groups));
  struct run {
    std::vector<std::int32_t> col;
    std::vector<K> value;
  };
  index_t const n = A.rows();
  int const parts = parallel_parts(n);
  std::vector<run> runs(static_cast<std::size_t>(parts));
  buffer<std::int32_t> count(n, uninitialized);
  parallel(parts, [&, lengths = count.data(), view = A.pattern().view()](int t) {
    run& mine = runs[std::size_t(t)];
    std::size_t size = 0;
    for (index_t i = n * t / parts; i < n * (t + 1) / parts; ++i) {
      std::size_t const first = size, most = size + std::size_t(row_length(view, i)) + 1;
      if (mine.col.size() < most) mine.col.resize(most + most / 2 + 1024), mine.value.resize(mine.col.size());
      prolongation_row(A, groups, rows, how, i, [&, col = mine.col.data(), value = mine.value.data()](std::int32_t g, K weight) {
        std::size_t at = size;
        while (at > first && col[at - 1] > g) --at;
        if (at > first && col[at - 1] == g) return void(value[at - 1] = value[at - 1] + weight);
        for (std::size_t k = size++; k > at; --k) col[k] = col[k - 1], value[k] = value[k - 1];
        col[at] = g, value[at] = weight;
      });
      lengths[i] = std::int32_t(size - first);
    }
    mine.col.resize(size), mine.value.resize(size);
  });
  auto row_ptr = row_pointers<std::int32_t>(n, [c = count.data()](index_t i) { return index_t(c[i]); });
  buffer<std::int32_t> col(row_ptr[n], uninitialized);
  buffer<T> values(row_ptr[n], uninitialized);
  parallel(parts, [&, to = col.data(), put = kernel_pointer(values.data())](int t) {
    run const& mine = runs[std::size_t(t)];
    index_t const at = row_ptr[n * t / parts];
    std::copy(mine.col.begin(), mine.col.end(), to + at), std::copy(mine.value.begin(), mine.value.end(), put + at);
  });
  return {Matrix(n, groups.count), detail::shared_of<amg_pattern const>(amg_pattern{n, groups.count, std::move(row_ptr), std::move(col)}), std::move(values)};
}

/// The values of the prolongation on a pattern of it; aggregates that a row reaches by new values only are left out.
template <class T>
amg_matrix<T> prolongation(amg_matrix<T> const& A, aggregates const& groups, amg_rows<T> const& rows, amg_coarsening how,
                           std::shared_ptr<amg_pattern const> const& pattern) {
  if (how == amg_coarsening::classical) return extended_values(A, rows, groups, pattern);
  amg_matrix<T> P(Matrix(A.rows(), groups.count), pattern);
  auto const& ptr = pattern->row_ptr;
  auto const& col = pattern->col;
  parallel_ranges(A.rows(), [&, p = kernel_pointer(P.values().data())](index_t lo, index_t hi) {
    std::vector<std::int32_t> slot(std::size_t(groups.count), -1);  // of an aggregate, in the last row that has it
    for (index_t i = lo; i < hi; ++i) {
      index_t const first = ptr[i];
      for (index_t s = first; s < ptr[i + 1]; ++s) slot[std::size_t(col[s])] = std::int32_t(s);
      prolongation_row(A, groups, rows, how, i, [&, to = slot.data()](std::int32_t g, kernel_t<T> weight) {
        if (index_t const s = to[g]; s >= first) p[s] = p[s] + weight;
      });
    }
  });
  return P;
}

} // namespace sla::detail
