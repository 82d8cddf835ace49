// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The graph of A + A^T without its diagonal, as the partitioners of graphs read it: built in parallel, in their index type.
// Partitioners that call a library are in adapter/.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <sla/dist/partition/strips.hpp>
#include <sla/tensor/counting.hpp>
#include <sla/tensor/entries.hpp>

namespace sla {

/// An undirected graph: the neighbours of vertex i, ascending, are target[begin[i]] to target[begin[i + 1] - 1].
template <class Idx>
struct row_graph {
  buffer<Idx> begin, target;

  index_t vertices() const { return begin.size() - 1; }
  /// Each edge has two ends.
  index_t edges() const { return target.size() / 2; }
};

namespace detail {
template <class Idx>
void require_graph_range(index_t number, char const* what, char const* who) {
  if (!std::in_range<Idx>(number))
    throw shape_error(text(who, ": ", what, ", ", number, ", does not fit into the ", 8 * sizeof(Idx),
                           "-bit indices that the library was built with; use one of wider indices, or rcb"));
}

/// Turns begin[i + 1] = the number of neighbours of vertex i into where they begin.
template <class Idx>
void begin_after_counts(buffer<Idx>& begin, char const* who) {
  index_t total = 0;
  begin[0] = 0;
  for (index_t i = 1; i < begin.size(); ++i) begin[i] = Idx(total += begin[i]);
  require_graph_range<Idx>(total, "the number of neighbours in the graph of A + A^T", who);
}

struct triangle_counts {
  bool sorted = true;  ///< rows ascend strictly
  index_t lower = 0, upper = 0;
  void merge(triangle_counts const& o) { sorted = sorted && o.sorted, lower += o.lower, upper += o.upper; }
};
/// Counts the neighbours of each vertex, as if the pattern were symmetric, into begin[i + 1].
template <class Idx, class View>
triangle_counts count_neighbours(View const& view, buffer<Idx>& begin) {
  return merged_ranges<triangle_counts>(view.rows, [&, out = begin.data()](index_t lo, index_t hi) {
    triangle_counts here;
    for (index_t i = lo; i < hi; ++i) {
      index_t before = -1, lower = 0, upper = 0;
      view.for_row(i, [&](index_t, index_t j) {
        here.sorted = here.sorted && before < j;
        lower += j < i;
        upper += j > i;
        before = j;
      });
      out[i + 1] = Idx(lower + upper);
      here.lower += lower, here.upper += upper;
    }
    return here;
  });
}

struct all_mirrored {
  bool holds = true;
  void merge(all_mirrored const& o) { holds = holds && o.holds; }
};
/// Copies the neighbours of the rows [lo, hi) of a pattern whose rows ascend. True if for each (i, j) below the diagonal, (j, i)
/// is stored: rows come in order, so that the next entry of row j that no row has asked for yet must be (j, i).
template <class Idx, class View>
all_mirrored copy_mirrored(View const& view, Idx const* begin, Idx* target, index_t lo, index_t hi) {
  constexpr bool has_columns = requires(index_t s) { view.col[s]; };
  std::vector<Idx> next(has_columns ? std::size_t(hi - lo) : 0);  // where in row j, by row j - lo
  all_mirrored out;
  for (index_t i = lo; i < hi; ++i) {
    Idx* to = target + begin[i];
    index_t above = -1;
    view.for_row(i, [&](index_t s, index_t j) {
      if (j == i) return;
      *to++ = Idx(j);
      if (j > i) {
        above = above < 0 ? s : above;
      } else if (!has_columns || j < lo) {
        out.holds = out.holds && find_slot(view, j, i) >= 0;
      } else if constexpr (has_columns) {
        index_t const at = view.entries_before(j) + next[std::size_t(j - lo)]++;
        out.holds = out.holds && at < view.entries_before(j + 1) && index_t(view.col[at]) == i;
      }
    });
    if constexpr (has_columns) next[std::size_t(i - lo)] = Idx((above < 0 ? view.entries_before(i + 1) : above) - view.entries_before(i));
  }
  return out;
}
}  // namespace detail

/// The graph of the rows of a square pattern: i and j are neighbours where A(i, j) or A(j, i) is stored.
/// Cost: two passes over the entries; patterns that are not symmetric are transposed, and merged with their transpose.
/// Errors: shape_error, if the pattern is rectangular, or a number does not fit into Idx; `who` asks.
template <class Idx, class View>
row_graph<Idx> graph_of(View const& view, char const* who) {
  index_t const n = view.rows;
  if (n != view.cols)
    throw shape_error(text(who, ": A is ", n, " x ", view.cols, ", and the graph of A + A^T wants as many columns as rows; use strips{}, or rcb"));
  detail::require_graph_range<Idx>(n, "the number of rows", who);
  row_graph<Idx> out{buffer<Idx>(n + 1, uninitialized), {}};
  auto const counts = detail::count_neighbours(view, out.begin);
  if (counts.sorted && counts.lower == counts.upper) {  // as many above as below the diagonal: one direction decides
    detail::begin_after_counts(out.begin, who);
    out.target = buffer<Idx>(index_t(out.begin[n]), uninitialized);
    auto const mirrored = detail::merged_ranges<detail::all_mirrored>(n, [&, to = out.target.data()](index_t lo, index_t hi) {
      detail::all_mirrored all;
      for (constexpr index_t rows = 65536; lo < hi; lo += rows)  // what is kept of so many rows stays near
        all.merge(detail::copy_mirrored(view, std::as_const(out.begin).data(), to, lo, (std::min)(hi, lo + rows)));
      return all;
    });
    if (mirrored.holds) return out;
  }

  auto const column_pairs = [&](index_t lo, index_t hi, auto const& f) {
    for (index_t i = lo; i < hi; ++i) view.for_row(i, [&](index_t, index_t j) { f(j, i); });
  };
  index_t const entries = view.entries_before(n);  // of diagonals: at least so many
  buffer<Idx> row(entries, uninitialized);
  auto const turned = detail::counting_sort(n, entries, n, column_pairs, [r = row.data()](index_t at, index_t i) { r[at] = Idx(i); });
  auto const room = [&](index_t i) { return view.entries_before(i) + turned[i]; };  // where the neighbours of i may begin
  buffer<Idx> loose(room(n), uninitialized);
  parallel_ranges(n, [&, count = out.begin.data() + 1, all = loose.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) {
      Idx *const first = all + room(i), *last = first;
      view.for_row(i, [&](index_t, index_t j) { *last++ = Idx(j); });
      Idx* const middle = last;
      last = std::copy(row.data() + turned[i], row.data() + turned[i + 1], last);
      std::sort(first, middle);
      std::inplace_merge(first, middle, last);
      last = std::unique(first, last);
      count[i] = Idx(std::remove(first, last, Idx(i)) - first);
    }
  });
  detail::begin_after_counts(out.begin, who);
  out.target = buffer<Idx>(index_t(out.begin[n]), uninitialized);
  parallel_ranges(n, [&, begin = std::as_const(out.begin).data(), to = out.target.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) std::copy_n(loose.data() + room(i), begin[i + 1] - begin[i], to + begin[i]);
  });
  return out;
}

namespace detail {
/// What each row costs as a whole number: its stored entries and row_weight. Errors: their sum does not fit into Idx.
template <class Idx, class View>
buffer<Idx> row_costs(View const& view, int row_weight, char const* who) {
  if (row_weight < 0) throw value_error(text(who, ": row_weight is ", row_weight, "; give at least 0"));
  require_graph_range<Idx>(view.entries_before(view.rows) + row_weight * view.rows, "the work of all rows", who);
  buffer<Idx> cost(view.rows, uninitialized);
  parallel_ranges(view.rows, [&, c = cost.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) c[i] = Idx(view.entries_before(i + 1) - view.entries_before(i) + row_weight);
  });
  return cost;
}

/// Partitions that no library has to find: one part, or a row for each part. Else -> find().
template <class View, class Find>
owner_map dealt_or_found(View const& view, int parts, Find const& find) {
  if (parts > 1 && view.rows > parts) return find();
  std::vector<int> owner(static_cast<std::size_t>(view.rows), 0);
  if (parts > 1) std::iota(owner.begin(), owner.end(), 0);
  return {std::move(owner), parts};
}
}  // namespace detail

}  // namespace sla
