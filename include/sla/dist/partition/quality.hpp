// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a partition costs: `partition_quality(A, owners)` before anything is sharded; printable. The same of an operand that
// ranks hold is `report_partition(D)` in dist/assembly/distribute.hpp, a picture is in dist/partition/picture.hpp.
#pragma once

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <sla/dist/partition/graph.hpp>

namespace sla {

/// Who holds what of a row-sharded operand, and what one product communicates; printable.
struct partition_report {
  struct part {
    index_t rows;
    index_t interior;  ///< of these, those that read nothing of other parts
    index_t entries, ghosts, sent;
    index_t neighbours;  ///< parts that it sends to
  };
  std::vector<part> parts;
  /// Pairs of rows of different parts where A(i, j) or A(j, i) is stored; found by partition_quality, of square A.
  std::optional<index_t> edge_cut{};

  /// The communication volume: values that all parts receive together.
  index_t halo() const { return total(&part::ghosts); }
  index_t messages() const { return total(&part::neighbours); }
  /// The most that one part has over the mean; 1 is perfect.
  double row_balance() const { return balance(&part::rows); }
  double entry_balance() const { return balance(&part::entries); }
  template <class = void>
  index_t most(index_t part::*what) const {
    index_t out = 0;
    for (part const& p : parts) out = (std::max)(out, p.*what);
    return out;
  }
  template <class = void>
  index_t total(index_t part::*what) const {
    index_t out = 0;
    for (part const& p : parts) out += p.*what;
    return out;
  }

  /// What to call where most rows read other parts and cubes of as many rows would have less than a third of these borders; else nothing. So are
  /// strips of a three-dimensional grid in its natural order on many ranks: a part is thinner than a plane, and has no interior rows.
  template <class = void>
  std::string advice() const {
    index_t const rows = total(&part::rows), inside = total(&part::interior);
    auto const holding = std::count_if(parts.begin(), parts.end(), [](part const& p) { return p.rows > 0; });
    if (2 * inside >= rows || double(halo()) <= 18 * double(holding) * std::pow(double(rows) / double(holding), 2.0 / 3)) return {};
    return text("only ", inside, " of ", rows, " rows read nothing of other parts, so that little work hides the messages; parts with shorter borders are found by "
                "repartition(D, rcb{xyz}) or repartition(D, hilbert{xyz}), of coordinates of the rows that this rank owns, or by the graph: repartition(D, ptscotch_kway{}), and of a "
                "matrix that one rank has, metis_kway{}");
  }

private:
  double balance(index_t part::*what) const {
    index_t const all = total(what);
    return all ? double(most(what)) * double(parts.size()) / double(all) : 1;
  }
};

/// A line per part where they are few, and the sums.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, partition_report const& r) {
  using part = partition_report::part;
  if (r.parts.size() <= 16)
    for (std::size_t n = 0; n < r.parts.size(); ++n) {
      auto const& p = r.parts[n];
      out << "part " << n << ": " << p.rows << " rows (" << p.interior << " interior), " << p.entries << " entries, receives " << p.ghosts
          << " and sends " << p.sent << " values per product, in " << p.neighbours << " messages\n";
    }
  out << r.parts.size() << " parts: halo volume " << r.halo() << " values (at most " << r.most(&part::ghosts) << "), " << r.messages()
      << " messages (at most " << r.most(&part::neighbours) << ") per product";
  if (r.edge_cut) out << ", edge cut " << *r.edge_cut;
  auto const digits = out.precision(4);
  out << "; the largest part has " << r.row_balance() << " times the mean rows, " << r.entry_balance() << " times the mean entries\n";
  out.precision(digits);
  if (auto const words = r.advice(); !words.empty()) out << words << '\n';
  return out;
}

/// The costs of A sharded so, without sharding it; the columns of rectangular A in equal ranges, as `distribute` does.
/// Cost: O(nnz), and the graph of A + A^T. Errors: shape_error, if owners are of other rows than A's.
template <class Sparse>
partition_report partition_quality(Sparse const& A, owner_map const& owners) {
  auto const view = A.pattern().view();
  int const parts = owners.parts();
  (void)owners.partition(view, parts);
  bool const square = A.rows() == A.cols();
  owner_map const columns = square ? owners : owner_map::equal(A.cols(), parts);

  partition_report out{std::vector<partition_report::part>(std::size_t(parts)), {}};
  std::vector<int> const owner_of = columns.table();
  // The last part that was seen to read a column, and to read any of a part.
  std::vector<int> reader(owner_of.size(), -1), heard(std::size_t(parts), -1);
  std::vector<char> boundary(std::size_t(A.rows()), 0);
  auto const order = owners.order();
  std::size_t n = 0;
  for (int r = 0; r < parts; ++r) {
    auto& mine = out.parts[std::size_t(r)];
    mine.rows = owners.count(r);
    for (std::size_t const end = n + std::size_t(mine.rows); n < end; ++n) {
      auto const i = std::size_t(order[n]);
      view.for_row(order[n], [&](index_t, index_t column) {
        ++mine.entries;
        auto const j = std::size_t(column);
        int const q = owner_of[j];
        if (q == r) return;
        boundary[i] = 1;
        if (reader[j] == r) return;
        reader[j] = r;
        ++mine.ghosts;
        ++out.parts[std::size_t(q)].sent;
        if (heard[std::size_t(q)] == r) return;
        heard[std::size_t(q)] = r;
        ++out.parts[std::size_t(q)].neighbours;
      });
    }
  }
  n = 0;
  for (auto& mine : out.parts)
    for (index_t k = 0; k < mine.rows; ++k) mine.interior += !boundary[std::size_t(order[n++])];
  if (square) {
    auto const graph = graph_of<index_t>(view, "partition_quality");
    index_t ends = 0;
    for (index_t i = 0; i < A.rows(); ++i)
      for (index_t s = graph.begin[i]; s < graph.begin[i + 1]; ++s)
        ends += owner_of[std::size_t(i)] != owner_of[std::size_t(graph.target[s])];
    out.edge_cut = ends / 2;
  }
  return out;
}

} // namespace sla
