// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// METIS (component `metis`): `metis_kway`, a partitioner by the graph of A + A^T, like `strips` and `rcb`.
// The graph is built in dist/partition/graph.hpp, the result is judged in dist/partition/quality.hpp.
#pragma once

#include <metis.h>

#include <concepts>
#include <mutex>
#include <utility>
#include <vector>

#include <sla/dist/partition/graph.hpp>

namespace sla {

/// What METIS makes small: the values that a product communicates, or the entries between parts.
enum class metis_objective { volume, edge_cut };

namespace detail {
/// METIS draws from one generator for the whole process, and takes over its signals while it runs: one call at a time.
inline std::mutex& metis_turn() {
  static std::mutex turn;
  return turn;
}
/// Errors: what METIS says, in words.
inline void require_metis(int status, index_t rows, int parts) {
  if (status == METIS_OK) return;
  auto const asked = text("metis_kway: METIS_PartGraphKway on ", rows, " rows and ", parts, " parts ");
  if (status == METIS_ERROR_INPUT)
    throw value_error(text(asked, "refuses its input (METIS_ERROR_INPUT); try fewer parts, or a larger imbalance"));
  if (status == METIS_ERROR_MEMORY)
    throw unavailable_error(text(asked, "lacks memory (METIS_ERROR_MEMORY); rcb and strips need less"));
  throw unavailable_error(text(asked, "fails for a reason of its own (code ", status, "); try another seed"));
}
} // namespace detail

/// Multilevel k-way partitioning. The rows' work, stored entries and row_weight each, is balanced up to `imbalance`. Parts may
/// get nothing where there are hardly more rows than parts. Deterministic for a seed, while nothing else draws from rand().
///     distribute<SparseShard<0>>(A, m, metis_kway{})
/// Errors: shape_error for rectangular patterns, and where idx_t is too narrow; what METIS says.
/// Source: Karypis and Kumar, Multilevel k-way Partitioning Scheme for Irregular Graphs (J. Parallel Distrib. Comput. 48, 1998).
struct metis_kway {
  metis_objective objective = metis_objective::volume;
  double imbalance = 0.03;  ///< how much more than the mean a part may have
  int seed = 0;
  int row_weight = int(detail::usual_row_weight);  ///< what a row costs besides its entries, in entries

  template <CountedPattern View>
  owner_map deal(View const& view, int parts) const {
    if (!(imbalance >= 0.001 && imbalance <= 1000))
      throw value_error(text("metis_kway: imbalance is ", imbalance, "; METIS counts it in thousandths, from 0.001"));
    if (seed < 0) throw value_error(text("metis_kway: seed is ", seed, "; METIS takes -1 for its own choice, give at least 0"));
    auto graph = graph_of<idx_t>(view, "metis_kway");
    auto work = detail::row_costs<idx_t>(view, row_weight, "metis_kway");
    return detail::dealt_or_found(view, parts, [&] {
      if (graph.edges() == 0) return strips{double(row_weight)}.deal(view, parts);  // METIS divides by the number of edges
      idx_t options[METIS_NOPTIONS];
      METIS_SetDefaultOptions(options);
      options[METIS_OPTION_OBJTYPE] = objective == metis_objective::volume ? METIS_OBJTYPE_VOL : METIS_OBJTYPE_CUT;
      options[METIS_OPTION_UFACTOR] = idx_t(imbalance * 1000 + 0.5);
      options[METIS_OPTION_SEED] = seed;
      options[METIS_OPTION_NUMBERING] = 0;
      idx_t rows = idx_t(view.rows), constraints = 1, wanted = parts, reached = 0;
      std::vector<idx_t> owner(static_cast<std::size_t>(view.rows), 0);
      int const status = [&] {
        std::lock_guard const mine(detail::metis_turn());
        return METIS_PartGraphKway(&rows, &constraints, graph.begin.data(), graph.target.data(), work.data(), nullptr, nullptr, &wanted, nullptr,
                                   nullptr, options, &reached, owner.data());
      }();
      detail::require_metis(status, view.rows, parts);
      if constexpr (std::same_as<idx_t, int>)
        return owner_map(std::move(owner), parts);
      else
        return owner_map(std::vector<int>(owner.begin(), owner.end()), parts);
    });
  }
};

} // namespace sla
