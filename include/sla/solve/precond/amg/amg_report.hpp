// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What multigrid says of itself: a line per level, grid and operator complexity, bytes.
#pragma once

#include <ostream>
#include <string>

#include <sla/solve/precond/amg/level.hpp>
#include <sla/solve/seam/report.hpp>

namespace sla {

/// One level of multigrid: its rows and entries.
struct amg_level_size {
  index_t rows, entries;
};

namespace detail {
/// The levels of one hierarchy as a table.
template <class Char, class T>
void print_levels(std::basic_ostream<Char>& out, amg_hierarchy<T> const& all) {
  auto const padded = [](std::string s, std::size_t width) { return s.size() < width ? std::string(width - s.size(), ' ') + s : s; };
  double rows = 0, entries = 0;
  for (auto const& level : all.levels) rows += double(level.A.rows()), entries += double(level.A.nnz());
  auto const over = [](double sum, index_t first) { return text(double(std::int64_t(100 * (first > 0 ? sum / double(first) : 1) + 0.5)) / 100); };
  out << "amg: " << to_string(all.options.coarsening) << ", " << to_string(all.options.cycle) << " of " << all.levels.size() << (all.levels.size() == 1 ? " level" : " levels")
      << ", grid complexity " << over(rows, all.levels[0].A.rows()) << ", operator complexity " << over(entries, all.levels[0].A.nnz()) << ", " << bytes_text(all.bytes()) << '\n';
  for (std::size_t l = 0; l < all.levels.size(); ++l) {
    auto const& A = all.levels[l].A;
    bool const last = l + 1 == all.levels.size();
    out << padded(text(l), 3) << padded(text(A.rows()), 12) << " rows" << padded(text(A.nnz()), 13) << " entries   ";
    if (last && !all.inverse.empty())
      out << "dense inverse";
    else
      out << all.options.sweeps << " + " << all.options.sweeps << ' ' << to_string(all.options.smoother) << (std::same_as<real_t<T>, float> ? " in float" : "");
    if (!last) out << ", " << all.levels[l].transfer->groups.count << " aggregates";
    out << '\n';
  }
}
} // namespace detail

} // namespace sla
