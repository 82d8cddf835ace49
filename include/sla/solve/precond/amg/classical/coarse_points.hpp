// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Coarse points of classical multigrid: a maximal set of rows of which none depends strongly on another, rows on which many depend
// first (PMIS: De Sterck, Yang and Heys, Reducing complexity in parallel algebraic multigrid preconditioners, 2006).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <sla/tensor/storage/dense.hpp>
#include <sla/solve/precond/amg/aggregates.hpp>

namespace sla::detail {

/// A row depends strongly on those that it is coupled to at least this much, of its largest coupling.
inline constexpr double classical_strength = 0.25;

/// f(slot, column) for each row on which row i depends strongly. Columns of other ranks are left out.
template <class T, class F>
void for_strong(amg_matrix<T> const& A, amg_rows<T> const& rows, index_t i, F const& f) {
  using Real = real_t<T>;
  auto const* const a = kernel_pointer(A.values().data());
  Real const most = rows.strongest.data()[i], least = Real(classical_strength) * most;
  if (!(most > 0)) return;
  A.pattern().view().for_row(i, [&, p = rows.phase.data()[i]](index_t s, index_t j) {
    if (j != i && j < A.rows() && coupling(a[s], p) >= least) f(s, j);
  });
}

/// The number of each coarse point among them, -1 of the other rows, and how many there are. They do not depend on the number of threads: rows are
/// taken in the order of how many depend on them, equal ones in an order of chance that their number fixes.
template <class T>
aggregates coarse_points(amg_matrix<T> const& A, amg_rows<T> const& rows) {
  index_t const n = A.rows();
  // The rows that depend on each.
  buffer<std::int32_t> begin(n + 1);
  auto* const first = begin.data();
  for (index_t i = 0; i < n; ++i) for_strong(A, rows, i, [&](index_t, index_t j) { ++first[j]; });
  std::int32_t sum = 0, most = 0;
  for (index_t i = 0; i < n; ++i) most = (std::max)(most, first[i]), sum += std::exchange(first[i], sum);
  first[n] = sum;
  buffer<std::int32_t> dependent(sum, uninitialized);
  for (index_t i = n; i-- > 0;) for_strong(A, rows, i, [&](index_t, index_t j) { dependent.data()[first[j]++] = std::int32_t(i); });
  for (index_t i = n; i > 0; --i) first[i] = first[i - 1];
  first[0] = 0;
  auto const dependents = [&](index_t i, auto const& f) {
    for (std::int32_t s = first[i]; s < first[i + 1]; ++s) f(dependent.data()[s]);
  };
  // By number of dependents, then by chance.
  std::vector<std::pair<double, std::int32_t>> order(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) order[std::size_t(i)] = {double(first[i + 1] - first[i]) + uniform_at(1, std::uint64_t(i)), std::int32_t(i)};
  std::sort(order.begin(), order.end(), [](auto const& x, auto const& y) { return x > y; });
  constexpr std::int32_t open = -2;
  aggregates out{buffer<std::int32_t>(A.cols(), uninitialized)};
  auto* const of = out.of.data();
  std::fill(of, of + n, open), std::fill(of + n, of + A.cols(), -1);
  for (auto const& [weight, i] : order) {
    if (of[i] != open) continue;
    bool const alone = first[i] == first[i + 1] && !(rows.strongest.data()[i] > 0);
    of[i] = alone ? -1 : 0;
    if (!alone) dependents(i, [&](std::int32_t j) { of[j] = of[j] == open ? -1 : of[j]; });
  }
  for (index_t i = 0; i < n; ++i)
    if (of[i] == 0) of[i] = std::int32_t(out.count++);
  return out;
}

} // namespace sla::detail
