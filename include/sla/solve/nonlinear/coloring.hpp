// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `color_columns(A)`: colours of columns such that no row has two entries of one colour, so that one directional derivative gives
// all columns of a colour. The Jacobian that is made so is in solve/nonlinear/jacobian.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <sla/tensor/arrange/transpose.hpp>

namespace sla {

/// In which order columns are coloured. The fewest colours: the natural order where it needs no more than the longest row has entries,
/// and else the better of it and smallest_last.
enum class column_order { fewest_colors, natural, largest_first, smallest_last };

/// A colour for each column, from 0 on.
struct column_coloring {
  std::vector<std::int32_t> color;
  int count = 0;  ///< of colours
};

namespace detail {
/// Rows and columns of a pattern, both walked.
template <class Pattern>
struct column_graph {
  Pattern const& rows;
  Pattern const& columns;  ///< the transpose

  explicit column_graph(Pattern const& by_rows, Pattern const& by_columns) : rows(by_rows), columns(by_columns) {}
  /// f(k) for the columns k that share a row with column j, as often as they do, j itself too.
  template <class F>
  void for_neighbours(index_t j, F const& f) const {
    columns.view().for_row(j, [&](index_t, index_t i) { rows.view().for_row(i, [&](index_t, index_t k) { f(k); }); });
  }
  index_t degree(index_t j) const {
    index_t sum = 0;
    columns.view().for_row(j, [&](index_t, index_t i) { sum += index_t(rows.row_ptr[i + 1] - rows.row_ptr[i]) - 1; });
    return sum;
  }
  std::vector<index_t> degrees() const {
    std::vector<index_t> out(std::size_t(columns.rows));
    for (index_t j = 0; j < columns.rows; ++j) out[std::size_t(j)] = degree(j);
    return out;
  }
};

/// Columns of many neighbours first.
template <class Graph>
std::vector<index_t> largest_first(Graph const& graph) {
  auto const degree = graph.degrees();
  std::vector<index_t> order(degree.size());
  std::iota(order.begin(), order.end(), index_t(0));
  std::stable_sort(order.begin(), order.end(), [&](index_t a, index_t b) { return degree[std::size_t(a)] > degree[std::size_t(b)]; });
  return order;
}
/// The column of the fewest neighbours among those left comes last. Degrees count shared rows, so that none is stored.
/// Source: Matula and Beck (JACM 1983); Gebremedhin, Manne and Pothen, What color is your Jacobian? (SIAM Review 2005).
template <class Graph>
std::vector<index_t> smallest_last(Graph const& graph) {
  auto degree = graph.degrees();
  std::vector<std::vector<index_t>> buckets;
  auto const put = [&](index_t j) {
    auto const d = std::size_t(degree[std::size_t(j)]);
    if (buckets.size() <= d) buckets.resize(d + 1);
    buckets[d].push_back(j);
  };
  for (index_t j = 0; j < index_t(degree.size()); ++j) put(j);
  std::vector<index_t> order(degree.size());
  std::size_t low = 0;
  for (std::size_t left = order.size(); left > 0;) {
    while (buckets[low].empty()) ++low;
    index_t const j = buckets[low].back();
    buckets[low].pop_back();
    if (degree[std::size_t(j)] != index_t(low)) continue;  // it has moved to a lower bucket, or is placed
    degree[std::size_t(j)] = -1;
    order[--left] = j;
    graph.for_neighbours(j, [&](index_t k) {
      auto& d = degree[std::size_t(k)];
      if (d > 0) --d, put(k), low = (std::min)(low, std::size_t(d));
    });
  }
  return order;
}

/// Each column in turn gets the first colour that none of its neighbours has.
template <class Graph, class Order>
column_coloring colored_in_turn(Graph const& graph, Order const& column_at) {
  auto const n = std::size_t(graph.columns.rows);
  column_coloring out{std::vector<std::int32_t>(n, -1), 0};
  std::vector<index_t> taken_by;  // the last column that may not have a colour
  for (std::size_t at = 0; at < n; ++at) {
    index_t const j = column_at(index_t(at));
    graph.for_neighbours(j, [&](index_t k) {
      if (auto const c = out.color[std::size_t(k)]; c >= 0) taken_by[std::size_t(c)] = j;
    });
    std::size_t c = 0;
    while (c < taken_by.size() && taken_by[c] == j) ++c;
    if (c == taken_by.size()) taken_by.push_back(-1);
    out.color[std::size_t(j)] = std::int32_t(c);
  }
  out.count = int(taken_by.size());
  return out;
}

template <class Col, class Ptr>
column_coloring color_columns(csr_pattern<Col, Ptr, host_memory> const& rows, column_order order) {
  index_t longest = 0;
  for (index_t i = 0; i < rows.rows; ++i) longest = (std::max)(longest, index_t(rows.row_ptr[i + 1] - rows.row_ptr[i]));
  if (longest == rows.cols) {  // a row of all columns, as of a sum over the unknowns: no two share a colour, and nothing is gained by the square of its entries
    column_coloring each{std::vector<std::int32_t>(std::size_t(longest)), int(longest)};
    std::iota(each.color.begin(), each.color.end(), 0);
    return each;
  }
  auto const by_columns = transpose_pattern(rows);
  column_graph const graph(rows, *by_columns.pattern);
  auto const listed = [&](std::vector<index_t> const& list) { return colored_in_turn(graph, [&](index_t at) { return list[std::size_t(at)]; }); };
  if (order == column_order::largest_first) return listed(largest_first(graph));
  if (order == column_order::smallest_last) return listed(smallest_last(graph));
  auto natural = colored_in_turn(graph, [](index_t at) { return at; });
  if (order == column_order::natural) return natural;
  if (natural.count <= longest) return natural;
  auto other = listed(smallest_last(graph));
  return other.count < natural.count ? other : natural;
}
} // namespace detail

/// Colours of the columns of A, of which no row has two entries of one colour; at least as many as its longest row has entries.
/// Law: A is in host memory, of scalar entries; its values are not read. Cost: for each row the square of its entries.
/// Source: Curtis, Powell and Reid, On the estimation of sparse Jacobian matrices (1974); Coleman and More, Estimation of sparse
/// Jacobian matrices and graph coloring problems (1983).
template <class T, class S, class F>
column_coloring color_columns(sparse_tensor<T, S, F> const& A, column_order order = column_order::fewest_colors) {
  constexpr bool scalar_entries = !S::is_blocked;
  static_assert(scalar_entries, "sla: color_columns(A): A has scalar entries: take unblocked(A)");
  if constexpr (is_csr<F>)
    return detail::color_columns(A.pattern(), order);
  else
    return detail::color_columns(to<csr_for_t<F>>(A).pattern(), order);
}
/// Refused: of what has no pattern here.
template <class A>
  requires(!is_sparse_tensor<A>)
column_coloring color_columns(A const&, column_order = column_order::fewest_colors) {
  static_assert(always_false<A>, "sla: color_columns(A): A is a sparse tensor of one rank in host memory, as gather(D) is of a distributed D");
  return {};
}

namespace detail {
/// A row in which J v and a derivative along v differ by more than rounding, unless terms of it cancel.
struct suspect_row {
  index_t row;
  double apart;
};
/// Those to look at: the first, and those that differ most, 8 in all.
template <class Rows>
Rows most_suspect(Rows rows) {
  constexpr std::size_t most = 8;
  if (rows.size() > most) {
    std::partial_sort(rows.begin() + 1, rows.begin() + most, rows.end(), [](auto const& a, auto const& b) { return a.apart > b.apart; });
    rows.resize(most);
  }
  return rows;
}
} // namespace detail

} // namespace sla
