// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What multigrid says of itself: a line per level, grid and operator complexity, bytes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <sla/solve/precond/amg/level.hpp>
#include <sla/solve/seam/report.hpp>

namespace sla {

/// One level of multigrid: its rows and entries.
struct amg_level_size {
  index_t rows, entries;
};

namespace detail {
/// The levels of one hierarchy, from the finest on.
template <class T>
std::vector<amg_level_size> sizes_of(amg_hierarchy<T> const& all) {
  if (all.rounded) return sizes_of(*all.rounded);
  std::vector<dependent_t<amg_level_size, T>> out;
  if (all.grid)
    for (grid_shape const& s : all.grid->shapes()) out.push_back({s.points(), s.entries()});
  if (all.packed)
    for (packed_pattern const& p : all.packed->plan->packed) out.push_back({p.rows, p.entries});
  if (all.blocks)
    for (auto const& [rows, entries] : all.blocks->sizes()) out.push_back({rows, entries});
  for (auto const& level : all.levels) out.push_back({level.A.rows(), level.A.nnz()});
  return out;
}
/// The number of a level, its rows and its entries, in columns.
template <class = void>
std::string level_text(index_t l, amg_level_size const& size) {
  auto const padded = [](std::string s, std::size_t width) { return s.size() < width ? std::string(width - s.size(), ' ') + s : s; };
  return text(padded(text(l), 3), padded(text(size.rows), 12), " rows", padded(text(size.entries), 13), " entries   ");
}
/// The smoother of levels that have a preconditioner for it, or not.
inline char const* smoother_text(amg_smoother const& s, bool is_swept) {
  return s != amg_smoother::automatic ? to_string(s) : is_swept ? ilu0::name : to_string(amg_smoother::spai0);
}
/// "grid 1000 x 1000, 5 points", or how rows are aggregated.
template <class T>
std::string coarsening_text(amg_hierarchy<T> const& all) {
  if (all.rounded) return coarsening_text(*all.rounded);
  auto const constant = [](auto const& level) { return level.transfer && !level.transfer->right; };  // smoothed, but where that would fill
  bool const some = all.options.coarsening == amg_coarsening::smoothed && std::any_of(all.levels.begin(), all.levels.end(), constant);
  if (!all.grid) return text(some && constant(all.levels[0]) ? "plain aggregation" : to_string(all.options.coarsening), some && !constant(all.levels[0]) ? ", then plain" : "", all.options.unknowns > 1 ? text(" of nodes of ", all.options.unknowns) : "");
  auto const finest = all.grid->shapes().front();
  return text("grid ", finest.text_of(), ", ", finest.stencil(), " points");
}
/// The levels of one hierarchy as a table.
template <class Char, class T>
void print_levels(std::basic_ostream<Char>& out, amg_hierarchy<T> const& all) {
  if (all.rounded) return print_levels(out, *all.rounded);
  double rows = 0, entries = 0;
  auto const sizes = sizes_of(all);
  for (auto const& level : sizes) rows += double(level.rows), entries += double(level.entries);
  auto const over = [](double sum, index_t first) { return text(double(std::int64_t(100 * (first > 0 ? sum / double(first) : 1) + 0.5)) / 100); };
  out << "amg: " << coarsening_text(all) << ", " << to_string(all.options.cycle) << " of " << sizes.size() << (sizes.size() == 1 ? " level" : " levels")
      << ", grid complexity " << over(rows, sizes[0].rows) << ", operator complexity " << over(entries, sizes[0].entries) << ", " << bytes_text(all.bytes()) << '\n';
  for (std::size_t l = 0; l < sizes.size(); ++l) {
    bool const last = l + 1 == sizes.size();
    out << level_text(index_t(l), sizes[l]);
    if (all.grid) {
      auto const s = all.grid->shapes()[l];
      out << s.text_of() << ", " << s.stencil() << " points, " << (last ? "factors of a band" : all.grid->in_float() ? "1 + 1 Jacobi in float" : "1 + 1 Jacobi") << '\n';
      continue;
    }
    if (last && (all.packed ? !all.packed->inverse.empty() : all.blocks ? all.blocks->inverts_last() : !all.inverse.empty()))
      out << "dense inverse";
    else
      out << all.options.sweeps << " + " << all.options.sweeps << ' ' << smoother_text(all.options.smoother, !all.levels.empty() && all.levels[l].before) << (all.packed || std::same_as<real_t<T>, float> || (all.blocks && all.blocks->in_float()) ? " in float" : "");
    if (!last) out << ", " << sizes[l + 1].rows << (all.options.coarsener ? " columns" : " aggregates");
    out << '\n';
  }
}
} // namespace detail

} // namespace sla
