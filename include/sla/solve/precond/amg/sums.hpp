// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants on aggregates: which matrices they are for, and coarse matrices, which are sums of entries.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <sla/solve/precond/amg/prolongation.hpp>
#include <sla/tensor/build/convert.hpp>

namespace sla::detail {

/// A count by ranges.
struct tally {
  index_t value = 0;
  void merge(tally const& o) { value += o.value; }
};

/// Do all couplings pull the same way? A few rows of others would not matter, but those of systems have many.
template <class T>
bool couples_alike(amg_matrix<T> const& A, amg_rows<T> const& rows) {
  auto const view = A.pattern().view();
  auto const* const a = kernel_pointer(A.values().data());
  auto const *const phase = rows.phase.data();
  auto const* const most = rows.strongest.data();
  return first_where(A.rows(), [&](index_t i) {
           bool other = false;
           view.for_row(i, [&, p = phase[i], least = -most[i] / 4](index_t s, index_t j) { other |= (j != i) & (coupling(a[s], p) < least); });
           return other;
         }) < 0;
}

/// Have more than a seventh of the rows a neighbour whose couplings are more than a hundred times theirs? Aggregates can be bad then: no row tells how.
template <class T>
bool jumps_in_many_rows(amg_matrix<T> const& A, amg_rows<T> const& rows) {
  auto const* const most = rows.strongest.data();
  auto const count = merged_ranges<tally>(A.rows(), [&, view = A.pattern().view()](index_t lo, index_t hi) {
    tally here;
    for (index_t i = lo; i < hi; ++i) {
      bool jumps = false;
      view.for_row(i, [&](index_t, index_t j) { jumps |= most[j] > 100 * most[i]; });
      here.value += jumps;
    }
    return here;
  });
  return 7 * count.value > A.rows();
}

/// The rows of each aggregate, ascending.
template <class = void>
amg_pattern members_of(aggregates const& groups) {
  index_t const n = groups.of.size();
  buffer<std::int32_t> row_ptr(groups.count + 1), col(n, uninitialized);
  auto* const p = row_ptr.data();
  auto* const c = col.data();
  auto const* const of = groups.of.data();
  for (index_t i = 0; i < n; ++i)
    if (of[i] >= 0) ++p[of[i]];
  std::int32_t sum = 0;
  for (index_t g = 0; g <= groups.count; ++g) sum += std::exchange(p[g], sum);
  for (index_t i = 0; i < n; ++i)
    if (of[i] >= 0) c[p[of[i]]++] = std::int32_t(i);
  for (index_t g = groups.count; g > 0; --g) p[g] = p[g - 1];
  p[0] = 0;
  return {groups.count, n, std::move(row_ptr), std::move(col)};
}

/// The pattern of P^T A P for constants on aggregates, each a row of `members`; columns ascend.
template <class T>
std::shared_ptr<amg_pattern const> summed_pattern(amg_matrix<T> const& A, buffer<std::int32_t> const& group, amg_pattern const& members) {
  index_t const n = members.rows;
  int const parts = parallel_parts(A.rows());
  std::vector<std::vector<std::int32_t>> all(static_cast<std::size_t>(parts));
  buffer<std::int32_t> count(n, uninitialized);
  auto const first_member = [&members](index_t g) { return index_t(members.col.data()[members.row_ptr.data()[g]]); };
  parallel(parts, [&, lengths = count.data(), view = A.pattern().view(), rows = members.view(), of = group.data()](int t) {
    auto& mine = all[std::size_t(t)];
    std::vector<std::int32_t> seen(std::size_t(n), -1);  // the last row that had the column
    std::size_t size = 0;
    entries_ahead entries(view, view.col, first_member(n * t / parts));
    for (index_t g = n * t / parts; g < n * (t + 1) / parts; ++g) {
      std::size_t const first = size;
      entries.reach(first_member(g));
      rows.for_row(g, [&](index_t, index_t i) {
        if (mine.size() < size + std::size_t(row_length(view, i))) mine.resize(2 * size + std::size_t(row_length(view, i)) + 1024);
        auto* const to = mine.data();
        view.for_row(i, [&](index_t, index_t j) {
          std::int32_t const column = of[j];
          if (column < 0) return;
          to[size] = column;  // stays where it is new
          size += seen[std::size_t(column)] != g, seen[std::size_t(column)] = std::int32_t(g);
        });
      });
      std::sort(mine.begin() + std::ptrdiff_t(first), mine.begin() + std::ptrdiff_t(size));
      lengths[g] = std::int32_t(size - first);
    }
    mine.resize(size);
  });
  auto row_ptr = row_pointers<std::int32_t>(n, [c = count.data()](index_t i) { return index_t(c[i]); });
  buffer<std::int32_t> col(row_ptr[n], uninitialized);
  parallel(parts, [&, to = col.data()](int t) { std::copy(all[std::size_t(t)].begin(), all[std::size_t(t)].end(), to + row_ptr[n * t / parts]); });
  return std::make_shared<amg_pattern const>(amg_pattern{n, n, std::move(row_ptr), std::move(col)});
}

/// P^T A P on that pattern: the entries between two aggregates added up, in the order of rows, whatever the threads.
template <class T>
amg_matrix<T> summed_over(amg_matrix<T> const& A, buffer<std::int32_t> const& group, amg_pattern const& members, std::shared_ptr<amg_pattern const> const& pattern) {
  index_t const n = members.rows;
  buffer<T> values(pattern->nnz());
  int const parts = parallel_parts(A.rows());
  auto const first_member = [&members](index_t g) { return index_t(members.col.data()[members.row_ptr.data()[g]]); };
  parallel(parts, [&, sums = kernel_pointer(values.data()), view = A.pattern().view(), rows = members.view(), coarse = pattern->view(), a = kernel_pointer(A.values().data()),
                   of = group.data()](int t) {
    std::vector<std::int32_t> slot(std::size_t(n), 0);  // of a column, in the row being made
    entries_ahead entries(view, a, first_member(n * t / parts));
    for (index_t g = n * t / parts; g < n * (t + 1) / parts; ++g) {
      entries.reach(first_member(g));
      coarse.for_row(g, [&](index_t s, index_t j) { slot[std::size_t(j)] = std::int32_t(s); });
      rows.for_row(g, [&](index_t, index_t i) {
        view.for_row(i, [&](index_t s, index_t j) {
          if (of[j] < 0) return;
          auto& sum = sums[slot[std::size_t(of[j])]];
          sum = sum + a[s];
        });
      });
    }
  });
  return amg_matrix<T>(Matrix(n, n), pattern, std::move(values));
}

} // namespace sla::detail
