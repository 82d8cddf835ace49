// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who holds what: `explain(x)` is a table of ranks and their parts of a distributed value, `draw_placement(out, x)` a picture of it
// as SVG. Nothing is sent. Partitions of points are drawn by dist/partition/picture.hpp.
#pragma once

#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <sla/dist/partition/picture.hpp>
#include <sla/dist/value/shares.hpp>
#include <sla/spmd/placement/spelling.hpp>
#include <sla/tensor/files/print.hpp>

namespace sla {

namespace detail {

/// A placement as it is written.
template <class P>
std::string placement_words() {
  std::ostringstream out;
  write_placement<P>(out);
  return std::move(out).str();
}

using interval = std::pair<index_t, index_t>; ///< first and last
/// The intervals of indices in any order.
template <class = void>
std::vector<interval> intervals_of(std::vector<index_t> indices) {
  std::sort(indices.begin(), indices.end());
  std::vector<interval> out;
  for (index_t const i : indices) {
    if (!out.empty() && out.back().second + 1 == i)
      out.back().second = i;
    else
      out.push_back({i, i});
  }
  return out;
}
/// As in 0-3,8.
template <class = void>
std::string interval_words(std::vector<index_t> indices) {
  if (indices.empty()) return "nothing";
  std::string out;
  for (auto const& [first, last] : intervals_of(std::move(indices)))
    out += last > first ? text(out.empty() ? "" : ",", first, "-", last) : text(out.empty() ? "" : ",", first);
  return out;
}

/// Each placement as it is written.
template <class... P>
std::vector<std::string> placement_words_of(placements<P...>) {
  return {placement_words<P>()...};
}

} // namespace detail

/// Where this rank is, the extents of the whole, and the placements, on one line; then this rank's part as it is printed alone. Nothing is sent: any
/// rank may print, at any time. The whole in its order is `gather(x)`, who holds what of it `explain(x)`.
template <class Local, class Mesh, class... P>
std::ostream& operator<<(std::ostream& out, distributed<Local, Mesh, P...> const& x) {
  using facts = detail::placement_facts<distributed<Local, Mesh, P...>>;
  out << (detail::is_plain_number<Local> ? "number" : is_sparse_tensor<Local> ? "sparse tensor" : "tensor");
  for (int d = 0; d < facts::value.rank; ++d) out << (d == 0 ? " " : " x ") << facts::whole(x, d);
  out << " on ranks, ";
  detail::write_placements(out, placements<P...>{}, std::type_identity<Mesh>{});
  for (int a = 0; a < Mesh::rank; ++a) out << (a == 0 ? "; here " : ", ") << Mesh::name(a) << ' ' << x.mesh().coordinate(a) << " of " << x.mesh().size(a);
  return out << ":\n" << x.local();
}
/// An expression may send: every rank evaluates it, and then any may print.
template <class Node, class Mesh, class... P>
std::ostream& operator<<(std::ostream& out, distributed_node<Node, Mesh, P...> const&) {
  static_assert(always_false<Node>, "sla: std::cout << x of an expression on ranks: its products exchange halos, so that all ranks evaluate it: print eval(x)");
  return out;
}

/// Who holds what of x, as a table: a line per rank with its coordinates and, for each dimension, its global indices; what its numbers
/// are besides (a term of a sum, a value of its own) stands at the end. Cost: as `shares`; at most `lines` ranks are shown.
template <class X>
  requires is_distributed<X>
std::string explain(X const& x, std::size_t lines = 64) {
  using Facts = detail::placement_facts<X>;
  using Mesh = mesh_of_t<X>;
  auto const all = shares(x);
  auto const words = detail::placement_words_of(placements_of_t<X>{});
  std::vector<std::vector<dependent_t<std::string, X>>> table(1);
  std::string title, notes;
  for (int d = 0; d < Facts::value.rank; ++d) title += text(d ? " x " : "", Facts::whole(x, d));
  title = text(title.empty() ? "a number" : title, " on");
  table[0].push_back("rank");
  for (int a = 0; a < Mesh::rank; ++a) {
    auto const name = std::string(Mesh::name(a));
    title += text(" ", name, "=", x.mesh().size(a), " ", words[std::size_t(a)], a + 1 < Mesh::rank ? "," : "");
    table[0].push_back(name);
    auto const kind = Facts::value.on[a].kind;
    if (kind == placement_kind::partial || kind == placement_kind::ghost_partial) notes += text(notes.empty() ? "" : ", ", "a term over ", name);
    if (kind == placement_kind::varying) notes += text(notes.empty() ? "" : ", ", "its own along ", name);
    if (kind == placement_kind::ghost) notes += text(notes.empty() ? "" : ", ", "and copies of its halo along ", name);
    if (kind == placement_kind::hyper) notes += text(notes.empty() ? "" : ", ", "its entries along ", name);
    if (kind == placement_kind::untyped) notes += text(notes.empty() ? "" : ", ", "not known along ", name);
  }
  for (int d = 0; d < Facts::value.rank; ++d) table[0].push_back(text("dimension ", d));
  table[0].push_back(notes.empty() ? "" : "holds");
  for (std::size_t n = 0; n < all.size() && n < lines; ++n) {
    std::vector<dependent_t<std::string, X>> row = {std::to_string(all[n].rank)};
    for (int const c : all[n].coordinates) row.push_back(std::to_string(c));
    for (auto const& indices : all[n].indices) row.push_back(detail::interval_words(indices));
    row.push_back(notes);
    table.push_back(std::move(row));
  }
  std::vector<std::size_t> width(table[0].size());
  for (auto const& row : table)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = (std::max)(width[c], row[c].size());
  std::string out = text(title, "\n");
  for (auto const& row : table) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) line += row[c], line.append(width[c] - row[c].size() + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    out += text(line, "\n");
  }
  if (all.size() > lines) out += text("and ", all.size() - lines, " ranks more\n");
  return out;
}

/// The same as a picture: the first dimension downwards, the second across, a rectangle for each part with the ranks that hold it.
/// A dashed border: the ranks there hold terms of it, or values of their own. Of more dimensions, those that are sharded first.
template <class X>
  requires is_distributed<X>
void draw_placement(std::ostream& out, X const& x, picture_options const& options = {}) {
  using Facts = detail::placement_facts<X>;
  auto const all = shares(x);
  int drawn[2] = {-1, -1};
  for (bool const sharded : {true, false})
    for (int d = 0; d < Facts::value.rank; ++d)
      if ((order_of(Facts::value, d).count > 0) == sharded && drawn[1] < 0 && drawn[0] != d) drawn[drawn[0] < 0 ? 0 : 1] = d;
  if (drawn[1] >= 0 && drawn[0] > drawn[1]) std::swap(drawn[0], drawn[1]);
  auto const extent = [&](int n) { return drawn[n] < 0 ? index_t(1) : Facts::whole(x, drawn[n]); };
  auto const along = [&](rank_share const& s, int n) { return detail::intervals_of(drawn[n] < 0 ? std::vector<index_t>{0} : s.indices[std::size_t(drawn[n])]); };
  using intervals = std::vector<dependent_t<detail::interval, X>>;
  std::map<std::pair<intervals, intervals>, std::string> parts;
  for (auto const& s : all) {
    auto& ranks = parts[{along(s, 0), along(s, 1)}];
    ranks += text(ranks.empty() ? "" : " ", s.rank);
  }
  bool dashed = false;
  for (int a = 0; a < Facts::value.axes; ++a) {
    auto const kind = Facts::value.on[a].kind;
    dashed = dashed || kind == placement_kind::partial || kind == placement_kind::varying || kind == placement_kind::ghost_partial;
  }
  double const margin = 8, width = options.width - 2 * margin;
  double const across = width / double((std::max)(extent(1), index_t(1)));
  double const tall = drawn[1] < 0 ? width / 2 : (std::min)(across * double(extent(0)), 2 * width);
  double const down = tall / double((std::max)(extent(0), index_t(1)));
  auto const height = int(tall + 2 * margin + 1);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << options.width << "\" height=\"" << height << "\" font-family=\"sans-serif\" font-size=\"12\">\n"
      << "<title>who holds what</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  int colour = 0;
  for (auto const& [where, ranks] : parts) {
    bool first = true;
    for (auto const& rows : where.first)
      for (auto const& columns : where.second) {
        double const left = margin + across * double(columns.first), top = margin + down * double(rows.first);
        double const wide = across * double(columns.second - columns.first + 1), high = down * double(rows.second - rows.first + 1);
        out << "<rect x=\"" << left << "\" y=\"" << top << "\" width=\"" << wide << "\" height=\"" << high << "\" fill=\"" << detail::part_colour(colour)
            << "\" fill-opacity=\"0.4\" stroke=\"black\"" << (dashed ? " stroke-dasharray=\"4\"" : "") << "/>\n";
        if (first) out << "<text x=\"" << left + 4 << "\" y=\"" << top + 14 << "\">" << ranks << "</text>\n";
        first = false;
      }
    ++colour;
  }
  out << "</svg>\n";
}

} // namespace sla
