// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants on aggregates: which matrices they are for, and coarse matrices, which are sums of entries; and of other levels, whether
// they are Hermitian, their adjoints and first products.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/solve/precond/amg/prolongation.hpp>
#include <sla/tensor/algebra/add.hpp>
#include <sla/tensor/arrange/transpose.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/build/entries.hpp>
#include <sla/tensor/structure/row_scan.hpp>

namespace sla::detail {

/// A count by ranges.
struct tally {
  index_t value = 0;
  void merge(tally const& o) { value += o.value; }
};

/// A sum of hashes of the places of all entries: other patterns have another one, but with probability 2^-64.
template <class = void>
std::uint64_t hash_of_places(amg_pattern const& A) {
  struct sum {
    std::uint64_t value = 0;
    void merge(sum const& o) { value += o.value; }
  };
  return merged_ranges<sum>(A.rows, [view = A.view()](index_t lo, index_t hi) {
           sum here;
           for (index_t i = lo; i < hi; ++i) view.for_row(i, [&](index_t, index_t j) { here.value += entry_sums::mixed(std::uint64_t(i) * 0x9e3779b97f4a7c15ULL + std::uint64_t(j)); });
           return here;
         }).value;
}
/// Errors: shape_error, where values are not on the pattern of the set-up.
template <class = void>
void require_kept_pattern(bool is_kept) {
  if (!is_kept) throw shape_error("amg: update(A) takes another pattern than that of the set-up; set up anew");
}

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

/// Pairs of entries that agree, and entries in columns before and behind those of a range of rows.
struct hermitian_evidence {
  bool holds = true;
  index_t before = 0, behind = 0;
  void merge(hermitian_evidence const& o) { holds = holds && o.holds, before += o.before, behind += o.behind; }
};
/// Is A its own adjoint, up to rounding? Whether it is so bit by bit is told by sums, in the order of memory. Else partners are compared. Rows ascend, so that
/// entries before the diagonal come, column by column, in the order in which the rows of their partners are walked: each row knows the one that comes next.
/// Between the rows of two threads, partners are searched for.
template <class T, class S>
bool is_hermitian(sparse_tensor<T, S, Csr<std::int32_t>> const& A) {
  constexpr index_t B = S::block_rows;
  auto const view = A.pattern().view();
  auto const* const a = kernel_pointer(A.values().data());
  auto const sums = merged_ranges<row_scan>(A.rows(), [&](index_t lo, index_t hi) {
    row_scan here;
    here.any = true;
    for (index_t i = lo; i < hi; ++i) view.for_row(i, [&](index_t s, index_t j) {
        for (index_t e = 0; e < B * B; ++e) entry_sums::add(here, i * B + e / B, j * B + e % B, a[s * B * B + e]);
      });
    return here;
  });
  if (sums.adjoint == 0) return true;
  auto const* const row_ptr = A.pattern().row_ptr.data();
  auto const* const col = A.pattern().col.data();
  auto const least = 64 * std::numeric_limits<real_t<T>>::epsilon();
  auto const agree = [&](index_t s, index_t t) {  // the block s, and the adjoint of t
    bool all = true;
    for (index_t e = 0; e < B * B; ++e) {
      auto const one = a[s * B * B + e], other = conj_of(a[t * B * B + e % B * B + e / B]);
      all = all && (s == t && e % (B + 1) == 0 ? real_of(one) == one : abs_of(one - other) <= least * abs_of(one));
    }
    return all;
  };
  auto const e = merged_ranges<hermitian_evidence>(A.rows(), [&](index_t lo, index_t hi) {
    hermitian_evidence here;
    std::vector<std::int32_t> next(static_cast<std::size_t>(hi - lo));
    for (index_t i = lo; i < hi; ++i) {
      std::int32_t s = row_ptr[i];
      while (s < row_ptr[i + 1] && col[s] < lo) ++s;
      here.before += s - row_ptr[i], next[std::size_t(i - lo)] = s;
    }
    entries_ahead entries(view, a, lo, B * B);
    for (index_t i = lo; i < hi && here.holds; ++i) {
      entries.reach(i);
      std::int32_t s = next[std::size_t(i - lo)];
      std::int32_t const end = row_ptr[i + 1];
      if (s < end && col[s] < i) here.holds = false;  // it has no partner
      if (s < end && col[s] == i) here.holds = here.holds && agree(s, s), ++s;
      for (; s < end && here.holds; ++s) {
        index_t const j = col[s];
        index_t t = -1;
        if (j < hi) {
          t = next[std::size_t(j - lo)]++;
          if (t >= row_ptr[j + 1] || col[t] != i) t = -1;
        } else if (++here.behind; j < view.rows) {
          t = find_slot(view, j, i);
        }
        here.holds = t >= 0 && agree(s, t);
      }
    }
    return here;
  });
  return e.holds && e.before == e.behind;
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
  return detail::shared_of<amg_pattern const>(amg_pattern{n, n, std::move(row_ptr), std::move(col)});
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

/// A^H; on the pattern of A, where that is symmetric, which takes no sorting.
template <class T>
amg_matrix<T> adjoint_on_pattern(amg_matrix<T> const& A) {
  auto const view = A.pattern().view();
  buffer<T> values(view.row_ptr[view.rows], uninitialized);
  auto const unpaired = merged_ranges<tally>(A.rows(), [&, a = kernel_pointer(A.values().data()), to = kernel_pointer(values.data())](index_t lo, index_t hi) {
    tally here;  // entries before the diagonal, less those behind it that have a partner; more than all, where one has none
    for (index_t i = lo; i < hi; ++i)
      view.for_row(i, [&](index_t s, index_t j) {
        index_t const t = j < i ? -1 : j == i ? s : find_slot(view, j, i);
        if (t >= 0) to[s] = conj_of(a[t]), to[t] = conj_of(a[s]);
        here.value += j < i ? 1 : t < 0 ? view.row_ptr[view.rows] : j > i ? -1 : 0;
      });
    return here;
  });
  if (unpaired.value == 0) return {A.shape(), A.shared_pattern(), std::move(values)};
  return adjointed(A);
}
/// The values of A^H on its pattern: rows of A are walked in order, and each row of A^H knows its next entry.
template <class T>
amg_matrix<T> adjoint_on(std::shared_ptr<amg_pattern const> const& pattern, amg_matrix<T> const& A) {
  buffer<T> values(A.nnz(), uninitialized);
  int const parts = parallel_parts(A.nnz());
  parallel(parts, [&, n = A.rows(), view = A.pattern().view(), out = pattern->view(), a = kernel_pointer(A.values().data()), to = kernel_pointer(values.data())](int t) {
    index_t const first = n * t / parts;
    std::vector<std::int32_t> next(std::size_t(out.rows));
    for (index_t j = 0; j < out.rows; ++j) next[std::size_t(j)] = std::int32_t(std::lower_bound(out.col + out.row_ptr[j], out.col + out.row_ptr[j + 1], first) - out.col);
    for (index_t i = first; i < n * (t + 1) / parts; ++i) view.for_row(i, [&](index_t s, index_t j) { to[next[std::size_t(j)]++] = conj_of(a[s]); });
  });
  return {Matrix(A.cols(), A.rows()), pattern, std::move(values)};
}
/// A + B.
template <class T>
amg_matrix<T> sum_of(amg_matrix<T> const& A, amg_matrix<T> const& B) {
  if (A.shared_pattern() != B.shared_pattern()) return add(real_t<T>(1), A, real_t<T>(1), B);
  buffer<T> values(A.nnz(), uninitialized);
  parallel_ranges(A.nnz(), [&, a = kernel_pointer(A.values().data()), b = kernel_pointer(B.values().data()), to = kernel_pointer(values.data())](index_t lo, index_t hi) {
    for (index_t s = lo; s < hi; ++s) to[s] = a[s] + b[s];
  });
  return {A.shape(), A.shared_pattern(), std::move(values)};
}

/// A B, its pattern and its values: entries are counted first, then written where they stay, and each row is sorted, unless another product is to add up over it. For short rows it takes less time than a
/// multiply_plan, whose values these are: sums are in the order of entries.
template <class T>
amg_matrix<T> multiplied_at_once(amg_matrix<T> const& A, amg_matrix<T> const& B, bool sorts = true) {
  using K = kernel_t<T>;
  index_t const n = A.rows();
  auto const left = A.pattern().view(), right = B.pattern().view();
  int const parts = parallel_parts(A.nnz());
  buffer<std::int32_t> count(n, uninitialized);
  auto const in_parts = [&](auto const& row) {
    parallel(parts, [&](int t) {
      std::vector<std::int32_t> seen(std::size_t(B.cols()), -1);
      std::vector<std::pair<std::int32_t, K>> sorted;
      for (index_t i = n * t / parts; i < n * (t + 1) / parts; ++i) row(i, seen.data(), sorted);
    });
  };
  in_parts([&, lengths = count.data()](index_t i, std::int32_t* seen, auto&) {
    std::int32_t size = 0;
    left.for_row(i, [&](index_t, index_t k) {
      right.for_row(k, [&](index_t, index_t j) { size += seen[j] != i, seen[j] = std::int32_t(i); });
    });
    lengths[i] = size;
  });
  auto row_ptr = row_pointers<std::int32_t>(n, [c = count.data()](index_t i) { return index_t(c[i]); });
  buffer<std::int32_t> columns(row_ptr[n], uninitialized);
  buffer<T> numbers(row_ptr[n], uninitialized);
  in_parts([&, a = kernel_pointer(A.values().data()), b = kernel_pointer(B.values().data()), col = columns.data(), value = kernel_pointer(numbers.data()), ptr = row_ptr.data()](
               index_t i, std::int32_t* slot, auto& sorted) {
    std::int32_t const first = ptr[i];
    std::int32_t end = first;
    left.for_row(i, [&](index_t s, index_t k) {
      right.for_row(k, [&](index_t t, index_t j) {
        if (slot[j] < first) col[end] = std::int32_t(j), value[end] = K{}, slot[j] = end++;
        K& sum = value[slot[j]];
        sum += op::mul::apply(a[s], b[t]);
      });
    });
    if (!sorts) return;
    if (end - first > 24) {  // a long row is sorted beside it
      sorted.clear();
      for (std::int32_t s = first; s < end; ++s) sorted.emplace_back(col[s], value[s]);
      std::sort(sorted.begin(), sorted.end(), [](auto const& x, auto const& y) { return x.first < y.first; });
      for (std::int32_t s = first; s < end; ++s) col[s] = sorted[std::size_t(s - first)].first, value[s] = sorted[std::size_t(s - first)].second;
      return;
    }
    for (std::int32_t s = first + 1; s < end; ++s) {
      std::int32_t const j = col[s];
      K const v = value[s];
      std::int32_t at = s;
      for (; at > first && col[at - 1] > j; --at) col[at] = col[at - 1], value[at] = value[at - 1];
      col[at] = j, value[at] = v;
    }
  });
  return {Matrix(n, B.cols()), detail::shared_of<amg_pattern const>(amg_pattern{n, B.cols(), std::move(row_ptr), std::move(columns)}), std::move(numbers)};
}

/// The values of A B on its pattern, row by row, of which no entry is looked for again. Law: the pattern has every entry of A B.
template <class T>
amg_matrix<T> multiplied_on(std::shared_ptr<amg_pattern const> const& pattern, amg_matrix<T> const& A, amg_matrix<T> const& B) {
  index_t const n = A.rows();
  amg_matrix<T> out(Matrix(n, B.cols()), pattern);
  int const parts = parallel_parts(A.nnz());
  parallel(parts, [&, left = A.pattern().view(), right = B.pattern().view(), view = pattern->view(), a = kernel_pointer(A.values().data()), b = kernel_pointer(B.values().data()),
                   value = kernel_pointer(out.values().data())](int t) {
    std::vector<std::int32_t> slots(std::size_t(B.cols()), 0);  // of a column, in the row being made
    auto* const slot = slots.data();
    for (index_t i = n * t / parts; i < n * (t + 1) / parts; ++i) {
      view.for_row(i, [&](index_t s, index_t j) { slot[j] = std::int32_t(s); });
      left.for_row(i, [&](index_t s, index_t k) {
        right.for_row(k, [&, weight = a[s]](index_t r, index_t j) {
          auto& sum = value[slot[j]];
          sum += op::mul::apply(weight, b[r]);
        });
      });
    }
  });
  return out;
}

} // namespace sla::detail
