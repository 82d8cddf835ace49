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

/// Rows ascend strictly, and where (i, j) is stored, (j, i) is.
template <class View>
bool is_sorted_and_symmetric(View const& view) {
  struct seen {
    bool sorted = true;
    index_t lower = 0, upper = 0;
    void merge(seen const& o) { sorted = sorted && o.sorted, lower += o.lower, upper += o.upper; }
  };
  seen const rows = merged_ranges<seen>(view.rows, [&](index_t lo, index_t hi) {
    seen here;
    for (index_t i = lo; i < hi; ++i) {
      index_t before = -1;
      view.for_row(i, [&](index_t, index_t j) {
        here.sorted = here.sorted && before < j;
        (j < i ? here.lower : here.upper) += j != i;
        before = j;
      });
    }
    return here;
  });
  if (!rows.sorted || rows.lower != rows.upper) return false;  // as many above as below: one direction decides
  return first_where(view.rows, [&](index_t i) {
           bool mirrored = true;
           view.for_row(i, [&](index_t, index_t j) { mirrored = mirrored && (j >= i || find_slot(view, j, i) >= 0); });
           return !mirrored;
         }) < 0;
}

/// Copies the targets of each vertex, `from(i)` to `from(i) + count[i]`, behind each other.
template <class Idx, class Copy>
row_graph<Idx> packed_graph(index_t vertices, buffer<index_t> const& count, char const* who, Copy const& copy) {
  auto const begin = row_pointers<index_t>(vertices, [&](index_t i) { return count[i]; });
  require_graph_range<Idx>(begin[vertices], "the number of neighbours in the graph of A + A^T", who);
  row_graph<Idx> g{buffer<Idx>(vertices + 1, uninitialized), buffer<Idx>(begin[vertices], uninitialized)};
  parallel_ranges(vertices, [&, at = g.begin.data(), out = g.target.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) {
      at[i] = Idx(begin[i]);
      copy(i, out + begin[i]);
    }
  });
  g.begin[vertices] = Idx(begin[vertices]);
  return g;
}
}  // namespace detail

/// The graph of the rows of a square pattern: i and j are neighbours where A(i, j) or A(j, i) is stored.
/// Cost: O(nnz) and a search per entry below the diagonal; patterns that are not symmetric are transposed on the way.
/// Errors: shape_error, if the pattern is rectangular, or a number does not fit into Idx; `who` asks.
template <class Idx, class View>
row_graph<Idx> graph_of(View const& view, char const* who) {
  index_t const n = view.rows;
  if (n != view.cols)
    throw shape_error(text(who, ": A is ", n, " x ", view.cols, ", and the graph of A + A^T wants as many columns as rows; use strips{}, or rcb"));
  detail::require_graph_range<Idx>(n, "the number of rows", who);
  buffer<index_t> count(n, uninitialized);
  if (detail::is_sorted_and_symmetric(view)) {
    parallel_ranges(n, [&, c = count.data()](index_t lo, index_t hi) {
      for (index_t i = lo; i < hi; ++i) {
        c[i] = 0;
        view.for_row(i, [&](index_t, index_t j) { c[i] += j != i; });
      }
    });
    return detail::packed_graph<Idx>(n, count, who, [&](index_t i, Idx* out) {
      view.for_row(i, [&](index_t, index_t j) {
        if (j != i) *out++ = Idx(j);
      });
    });
  }
  auto const column_pairs = [&](index_t lo, index_t hi, auto const& f) {
    for (index_t i = lo; i < hi; ++i) view.for_row(i, [&](index_t, index_t j) { f(j, i); });
  };
  index_t const entries = view.entries_before(n);  // of diagonals: at least so many
  buffer<Idx> row(entries, uninitialized);
  auto const turned = detail::counting_sort(n, entries, n, column_pairs, [r = row.data()](index_t at, index_t i) { r[at] = Idx(i); });
  auto const room = [&](index_t i) { return view.entries_before(i) + turned[i]; };  // where the neighbours of i may begin
  buffer<Idx> loose(room(n), uninitialized);
  parallel_ranges(n, [&, c = count.data(), all = loose.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) {
      Idx *const first = all + room(i), *last = first;
      view.for_row(i, [&](index_t, index_t j) { *last++ = Idx(j); });
      Idx* const middle = last;
      last = std::copy(row.data() + turned[i], row.data() + turned[i + 1], last);
      std::sort(first, middle);
      std::inplace_merge(first, middle, last);
      last = std::unique(first, last);
      c[i] = std::remove(first, last, Idx(i)) - first;
    }
  });
  return detail::packed_graph<Idx>(n, count, who, [&](index_t i, Idx* out) { std::copy_n(loose.data() + room(i), count[i], out); });
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
