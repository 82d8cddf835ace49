// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix Market files that no rank has whole: `read_matrix_market<double>(mesh, path)` and `read_matrix_market_vector<double>(layout, path)`. Each
// rank reads a range of the file's bytes; one rank's reader, and what such files are, is in tensor/files/matrix_market.hpp.
#pragma once

#include <array>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <sla/dist/assembly/vectors.hpp>
#include <sla/tensor/files/matrix_market.hpp>

namespace sla {

namespace detail {
/// Calls line(lines) for the data lines of a file that begin in this rank's share of its bytes, and gives its header. No communication.
template <class T, class Line>
market_header read_market_share(std::string const& path, bool dense, int rank, int ranks, Line const& line) {
  return with_file<std::ifstream>(path, [&](std::istream& in) {
    text_lines top(in, path);
    auto const header = read_market_header<T>(top, dense);
    std::uint64_t const body = top.next_begins_at();
    in.clear();
    in.seekg(0, std::ios::end);
    if (in.tellg() < 0) throw io_error(path, 0, 0, "the file has no length: on ranks it is one that can be read from any place, as a pipe cannot");
    std::uint64_t const size = std::uint64_t(in.tellg()) - body, begin = body + size * std::uint64_t(rank) / std::uint64_t(ranks),
                        end = body + size * (std::uint64_t(rank) + 1) / std::uint64_t(ranks);
    std::uint64_t const from = begin == body ? body : begin - 1;  // with the end of the line before
    in.seekg(std::streamoff(from));
    text_lines lines(in, begin == body ? path : text(path, ", lines counted from byte ", begin));
    if (begin != body) lines.next();
    while (from + lines.next_begins_at() < end && lines.next_data('%') && from + lines.begins_at() < end) line(lines, header);
    return header;
  });
}
template <class = void>
void require_market_count(any_communicator& c, std::string const& path, index_t found, index_t wanted) {
  index_t const all = all_reduce(c, found);
  if (all != wanted) throw io_error(path, 0, 0, text("expected ", wanted, " entries, as its line of sizes says, found ", all));
}
} // namespace detail

/// The matrix of a Matrix Market coordinate file, its rows sharded as `how` says: equal_rows, a partitioner that needs no pattern, or the layout of
/// something else. Each rank reads its share of the file's bytes, and no rank has more than that and its rows. Collective.
///     auto D = read_matrix_market<double>(mesh, "A.mtx");
/// Cost: linear in the share; each entry travels once. Errors: as of one rank, on every rank; lines are counted from where a rank began to read, which it says.
template <Scalar T, detail::FormatOption F = Csr<>, class Mesh, class How = equal_rows>
  requires(is_mesh<Mesh>)
auto read_matrix_market(Mesh const& m, std::string const& path, How const& how = {}, assembly options = {}) {
  static_assert(Mesh::rank == 1, "sla: read_matrix_market<T>(mesh, path): rows are sharded, over a mesh of one axis");
  any_communicator& c = m.communicator(0);
  std::vector<index_t> row, col;
  std::vector<T> value;
  index_t count = 0;
  int triangle = 0;
  auto const header = detail::together(c, [&] {
    std::optional<detail::market_entries<T>> entries;
    auto const found = detail::read_market_share<T>(path, false, c.rank(), c.size(), [&](auto& lines, detail::market_header const& head) {
      if (!entries) entries.emplace(head, options);
      ++count;
      entries->read(lines, [&](index_t i, index_t j, T v) { row.push_back(i), col.push_back(j), value.push_back(v); });
    });
    if (entries) triangle = entries->triangle();
    return found;
  });
  detail::require_agreement(c, "read_matrix_market(mesh, path)", "rows, columns, entries", std::array<index_t, 3>{header.rows, header.cols, header.entries});
  detail::require_market_count(c, path, count, header.entries);
  if (all_reduce(c, std::int64_t(triangle), monoid::minimum) * all_reduce(c, std::int64_t(triangle), monoid::maximum) < 0)
    throw io_error(path, 0, 0, text("expected entries of one triangle only in a ", detail::symmetry_names[int(header.symmetry)], " file, found some of both"));
  if (!options.allow_empty_rows)
    detail::refuse_emptiness(text(path, ": "), header.rows, "rows", header.entries, "read it with assembly{.allow_empty_rows = true}");
  return assemble<SparseShard<0>, F>(m, header.rows, header.cols, row, col, value, how);
}

/// The vector of a Matrix Market array file of one column, as a layout says: `read_matrix_market_vector<double>(D.row_layout(), "b.mtx")`. Collective.
/// Cost, Errors: as above, and a shape_error where the file has another length than the layout.
template <Scalar T, class Mesh, class... P>
auto read_matrix_market_vector(vector_layout<Mesh, P...> const& like, std::string const& path, assembly options = {}) {
  any_communicator& c = like.mesh().communicator(detail::rows_of_layout<P...>::axis);
  index_t const wanted = like.handle()->extent[detail::rows_of_layout<P...>::axis];
  std::vector<T> value;
  auto const header = detail::together(c, [&] {
    auto const found = detail::read_market_share<T>(path, true, c.rank(), c.size(), [&](auto& lines, detail::market_header const& head) {
      value.push_back(detail::read_market_value<T>(lines, head, options));
      lines.expect_end("a value");
    });
    if (found.cols != 1 || found.symmetry != matrix_symmetry::general || found.rows != wanted)
      throw shape_error(text(path, ": a ", detail::symmetry_names[int(found.symmetry)], " array of ", found.rows, " x ", found.cols, ", and the layout is of vectors of ", wanted));
    return found;
  });
  detail::require_market_count(c, path, index_t(value.size()), header.rows);
  auto const counts = all_gather(c, index_t(value.size()));
  index_t first = 0;
  for (int r = 0; r < c.rank(); ++r) first += counts[std::size_t(r)];
  std::vector<index_t> row(value.size());
  for (std::size_t n = 0; n < row.size(); ++n) row[n] = first + index_t(n);
  return assemble(like, row, value);
}

} // namespace sla
