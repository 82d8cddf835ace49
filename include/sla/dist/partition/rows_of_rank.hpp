// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a partitioner is shown of a matrix whose rows are on ranks, `rows_of_rank`, and what it answers. Partitioners of a matrix that
// somebody has whole are in dist/partition/owners.hpp; those of both kinds stand beside this file and in adapter/.
#pragma once

#include <concepts>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <sla/dist/engine/together.hpp>
#include <sla/dist/partition/graph.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla {

/// The rows that a rank has of a matrix, shown to a partitioner: it finds as many parts as there are ranks.
struct rows_of_rank {
  any_communicator& ranks;
  index_t extent;                   ///< the rows of all ranks
  std::vector<index_t> global;      ///< this rank's, ascending
  std::vector<index_t> entries;     ///< how many each of them stores
  /// The neighbours of these rows in the graph of A + A^T without its diagonal, which number the rows of rank 0 first, then those of rank 1, and so
  /// on. Collective.
  std::function<row_graph<index_t>()> graph;
};

/// A partitioner that runs on all ranks: `partition_on_ranks(rows_of_rank)` gives the part of each of this rank's rows. Collective.
template <class P>
concept RankPartitioner = requires(P const& partitioner, rows_of_rank const& rows) {
  { partitioner.partition_on_ranks(rows) } -> std::same_as<std::vector<int>>;
};

namespace detail {
/// Errors: shape_error and value_error, if coordinates are not finite numbers, one row of them for each of `rows` rows `of_whom`; row(i) is the global
/// number of the i-th.
template <class Row>
void require_coordinates(matrix<double> const& x, index_t rows, char const* who, std::string const& of_whom, Row const& row) {
  if (x.extent(0) != rows || x.extent(1) < 1)
    throw shape_error(text(who, ": the coordinates are ", x.extent(0), " x ", x.extent(1), " for ", rows, " rows", of_whom,
                           "; give one row of coordinates per row, and at least one axis"));
  for (index_t n = 0; n < x.size(); ++n)
    if (!std::isfinite(x[n]))
      throw value_error(text(who, ": coordinate ", n % x.extent(1), " of row ", row(n / x.extent(1)), " is ", x[n], "; give finite numbers"));
}
/// The work of each of `rows` rows: weights, or where there are none the stored entries and row_weight. Errors: shape_error and value_error, as above.
template <class Entries, class Row>
std::vector<double> work_of_rows(vector<double> const& weights, double row_weight, index_t rows, Entries const& entries, char const* who, std::string const& of_whom,
                                 Row const& row) {
  if (weights.size() != 0 && weights.size() != rows)
    throw shape_error(text(who, ": ", weights.size(), " weights for ", rows, " rows", of_whom, "; give one per row, or none"));
  std::vector<double> work(static_cast<std::size_t>(rows));
  for (index_t i = 0; i < rows; ++i) {
    double const w = weights.size() ? weights[i] : double(entries(i)) + row_weight;
    if (!(std::isfinite(w) && w >= 0)) throw value_error(text(who, ": the weight of row ", row(i), " is ", w, "; give finite numbers of at least 0"));
    work[std::size_t(i)] = w;
  }
  return work;
}
/// The work of this rank's rows, whose coordinates a partitioner has. Collective. Errors, on every rank: as above, and a shape_error where ranks have other axes.
template <class Cut>
std::vector<double> checked_work(Cut const& cut, rows_of_rank const& rows, char const* who) {
  auto const axes = all_reduce(rows.ranks, std::int64_t(cut.coordinates.extent(1)), monoid::maximum);
  return together(rows.ranks, [&] {
    auto const of_whom = text(" that rank ", rows.ranks.rank(), " owns");
    auto const global = [&](index_t i) { return rows.global[std::size_t(i)]; };
    auto const count = index_t(rows.global.size());
    require_coordinates(cut.coordinates, count, who, of_whom, global);
    if (cut.coordinates.extent(1) != axes)
      throw shape_error(text(who, ": rank ", rows.ranks.rank(), " gives coordinates on ", cut.coordinates.extent(1), " axes, and another rank on ", axes, "; all give the same"));
    return work_of_rows(cut.weights, cut.row_weight, count, [&](index_t i) { return rows.entries[std::size_t(i)]; }, who, of_whom, global);
  });
}
/// The lowest and the highest coordinate of the boxes that rows are in, box(i) < 0 where in none: low(b, a) = out[2 (b axes + a)], high the next. Collective.
template <class Box>
std::vector<double> box_bounds(any_communicator& c, matrix<double> const& x, index_t boxes, Box const& box) {
  index_t const axes = x.extent(1);
  std::vector<double> out(std::size_t(2 * boxes * axes), std::numeric_limits<double>::infinity());
  for (index_t i = 0; i < x.extent(0); ++i) {
    if (box(i) < 0) continue;
    double* at = out.data() + 2 * index_t(box(i)) * axes;
    for (index_t a = 0; a < axes; ++a, at += 2) at[0] = (std::min)(at[0], x(i, a)), at[1] = (std::min)(at[1], -x(i, a));
  }
  all_reduce(c, std::span<double>(out), monoid::minimum);
  for (std::size_t n = 1; n < out.size(); n += 2) out[n] = -out[n];
  return out;
}
} // namespace detail

} // namespace sla
