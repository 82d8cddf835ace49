// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The graph of A + A^T without its diagonal, as the partitioners of graphs read it: built in parallel, in their index type.
// Partitioners that call a library are in adapter/.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include <sla/dist/partition/strips.hpp>
#include <sla/tensor/build/counting.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla {

/// An undirected graph: the neighbours of vertex i, ascending, are target[begin[i]] to target[begin[i + 1] - 1]. There may
/// be unused room at the end of target.
template <class Idx>
struct row_graph {
  buffer<Idx> begin, target;

  index_t vertices() const { return begin.size() - 1; }
  /// Each edge has two ends.
  index_t edges() const { return begin[begin.size() - 1] / 2; }
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

/// The sum of r(i) r(j) over the places (i, j) above the diagonal, less that below, for the random numbers r of `place_number`: 0 for
/// sides that mirror each other, for others once in 2^60.
struct triangle_difference {
  bool sorted = true;  ///< rows ascend strictly
  std::uint64_t sum = 0;
  void merge(triangle_difference const& o) { sorted = sorted && o.sorted, sum += o.sum; }
  bool mirrored() const { return sorted && sum == 0; }
};
/// The graph of a pattern, as if it were symmetric, in one pass over its entries; the sum says whether it is.
template <class Idx, class View>
triangle_difference graph_if_symmetric(View const& view, row_graph<Idx>& out, char const* who) {
  index_t const n = view.rows;
  out.target = buffer<Idx>(view.entries_before(n), uninitialized);
  int const parts = parallel_parts(n);
  auto const first = [&](int t) { return n * t / parts; };
  std::vector<triangle_difference> sums(static_cast<std::size_t>(parts));
  std::vector<index_t> kept(static_cast<std::size_t>(parts));
  parallel(parts, [&, begin = out.begin.data(), target = out.target.data()](int t) {
    triangle_difference here;
    Idx *const start = target + view.entries_before(first(t)), *to = start;  // no row before has more than its entries
    for (index_t i = first(t); i < first(t + 1); ++i) {
      begin[i] = Idx(to - start);
      index_t before = -1, ascents = -1;  // ascents: negative, if each column is above the one before
      std::uint64_t sum = 0;
      view.for_row(i, [&](index_t, index_t j) {
        ascents &= before - j;
        before = j;
        if (j == i) return;
        *to++ = Idx(j);
        sum += j > i ? place_number(j) : -place_number(j);
      });
      here.merge({ascents < 0, place_number(i) * sum});
    }
    sums[std::size_t(t)] = here;
    kept[std::size_t(t)] = to - start;
  });
  for (std::size_t t = 1; t < sums.size(); ++t) sums[0].merge(sums[t]);
  if (!sums[0].mirrored()) return sums[0];

  index_t total = kept[0];  // the parts move together, over the room of the diagonal
  for (int t = 1; t < parts; ++t) {
    Idx const* const from = std::as_const(out.target).data() + view.entries_before(first(t));
    std::copy(from, from + kept[std::size_t(t)], out.target.data() + total);
    for (index_t i = first(t); i < first(t + 1); ++i) out.begin[i] = Idx(out.begin[i] + total);
    total += kept[std::size_t(t)];
  }
  require_graph_range<Idx>(total, "the number of neighbours in the graph of A + A^T", who);
  out.begin[n] = Idx(total);
  return sums[0];
}
} // namespace detail

/// The graph of the rows of a square pattern: i and j are neighbours where A(i, j) or A(j, i) is stored.
/// Cost: one pass over the entries; patterns whose sides of the diagonal differ are transposed, and merged with their transpose.
/// Errors: shape_error, if the pattern is rectangular, or a number does not fit into Idx; `who` asks.
template <class Idx, class View>
row_graph<Idx> graph_of(View const& view, char const* who) {
  index_t const n = view.rows;
  if (n != view.cols)
    throw shape_error(text(who, ": A is ", n, " x ", view.cols, ", and the graph of A + A^T wants as many columns as rows; use strips{}, or rcb"));
  detail::require_graph_range<Idx>(n, "the number of rows", who);
  row_graph<Idx> out{buffer<Idx>(n + 1, uninitialized), {}};
  if (detail::graph_if_symmetric(view, out, who).mirrored()) return out;

  auto const column_pairs = [&](index_t lo, index_t hi, auto const& f) {
    for (index_t i = lo; i < hi; ++i) view.for_row(i, [&](index_t, index_t j) { f(j, i); });
  };
  index_t const entries = view.entries_before(n);  // of diagonals: at least so many
  buffer<Idx> row(entries, uninitialized);
  auto const by_columns = detail::counting_sort(n, entries, n, column_pairs, [r = row.data()](index_t at, index_t i) { r[at] = Idx(i); });
  auto const room = [&](index_t i) { return view.entries_before(i) + by_columns[i]; };  // where the neighbours of i may begin
  buffer<Idx> loose(room(n), uninitialized);
  parallel_ranges(n, [&, count = out.begin.data() + 1, all = loose.data()](index_t lo, index_t hi) {
    for (index_t i = lo; i < hi; ++i) {
      Idx *const first = all + room(i), *last = first;
      view.for_row(i, [&](index_t, index_t j) { *last++ = Idx(j); });
      Idx* const middle = last;
      last = std::copy(row.data() + by_columns[i], row.data() + by_columns[i + 1], last);
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
  for (index_t i = 0; i < view.rows; ++i) cost[i] = Idx(view.entries_before(i + 1) - view.entries_before(i) + row_weight);
  return cost;
}

/// One call at a time of a library that draws from one generator for the whole process.
template <class Library>
std::mutex& turn_of() {
  static std::mutex turn;
  return turn;
}

/// The parts that a library finds in the graph of A + A^T: call(graph, work, owner) has it write the part of each row to owner,
/// whose numbers are Whole; Idx counts edges. What it need not be asked is answered here: one part, a row for each part, a
/// graph without edges.
template <class Idx, class Whole, class Cut, class View, class Call>
owner_map sharded_by_graph(Cut const& cut, char const* who, View const& view, int parts, Call const& call) {
  auto graph = graph_of<Idx>(view, who);
  auto work = row_costs<Whole>(view, cut.row_weight, who);
  std::vector<Whole> owner(static_cast<std::size_t>(view.rows), 0);
  if (parts > 1 && view.rows <= parts) {
    std::iota(owner.begin(), owner.end(), 0);
  } else if (parts > 1) {
    if (graph.edges() == 0) return strips{double(cut.row_weight)}.partition(view, parts);
    std::lock_guard const mine(turn_of<Cut>());
    call(graph, work, owner);
  }
  if constexpr (std::same_as<Whole, int>)
    return {std::move(owner), parts};
  else
    return {std::vector<int>(owner.begin(), owner.end()), parts};
}
} // namespace detail

} // namespace sla
