// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants on aggregates: which matrices they are for, and coarse matrices, which are sums of entries.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <sla/solve/precond/amg/prolongation.hpp>

namespace sla::detail {

/// Do all couplings pull the same way? A few rows of others would not matter, but those of systems have many.
template <class T>
bool couples_alike(amg_matrix<T> const& A, amg_rows<T> const& rows) {
  auto const view = A.pattern().view();
  auto const* const a = kernel_pointer(A.values().data());
  auto const *const phase = rows.phase.data();
  auto const* const most = rows.strongest.data();
  return first_where(A.rows(), [&](index_t i) {
           bool other = false;
           view.for_row(i, [&](index_t s, index_t j) { other = other || (j != i && coupling(a[s], phase[i]) < -most[i] / 4); });
           return other;
         }) < 0;
}

/// P^T A P for constants on aggregates, each a row of `members`: the entries between two aggregates added up, in the order of rows, whatever the threads.
template <class T>
amg_matrix<T> summed_over(amg_matrix<T> const& A, aggregates const& groups, amg_pattern const& members) {
  using K = kernel_t<T>;
  index_t const n = groups.count;
  struct part {
    std::vector<std::int32_t> col;
    std::vector<K> values;
  };
  int const parts = parallel_parts(A.rows());
  std::vector<part> all(static_cast<std::size_t>(parts));
  buffer<std::int32_t> count(n, uninitialized);
  parallel(parts, [&, entries = count.data(), view = A.pattern().view(), rows = members.view(), a = kernel_pointer(A.values().data()), of = groups.of.data()](int t) {
    auto& mine = all[std::size_t(t)];
    std::vector<std::int32_t> at(std::size_t(n), -1);  // of a column, in the row being made
    std::vector<std::pair<std::int32_t, K>> row;
    for (index_t g = n * t / parts; g < n * (t + 1) / parts; ++g) {
      row.clear();
      rows.for_row(g, [&](index_t, index_t i) {
        view.for_row(i, [&](index_t s, index_t j) {
          std::int32_t const to = of[j];
          if (to < 0) return;
          auto& place = at[std::size_t(to)];
          if (place < 0) place = std::int32_t(row.size()), row.push_back({to, K{}});
          row[std::size_t(place)].second += a[s];
        });
      });
      std::sort(row.begin(), row.end(), [](auto const& x, auto const& y) { return x.first < y.first; });
      for (auto const& [to, value] : row) at[std::size_t(to)] = -1, mine.col.push_back(to), mine.values.push_back(value);
      entries[g] = std::int32_t(row.size());
    }
  });
  auto row_ptr = row_pointers<std::int32_t>(n, [c = count.data()](index_t i) { return index_t(c[i]); });
  buffer<std::int32_t> col(row_ptr[n], uninitialized);
  buffer<T> values(row_ptr[n], uninitialized);
  parallel(parts, [&, to = col.data(), v = kernel_pointer(values.data())](int t) {
    auto const& mine = all[std::size_t(t)];
    index_t const first = row_ptr[n * t / parts];
    std::copy(mine.col.begin(), mine.col.end(), to + first);
    std::copy(mine.values.begin(), mine.values.end(), v + first);
  });
  return amg_matrix<T>(Matrix(n, n), std::make_shared<amg_pattern const>(amg_pattern{n, n, std::move(row_ptr), std::move(col)}), std::move(values));
}

} // namespace sla::detail
