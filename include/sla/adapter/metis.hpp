// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// METIS (component `metis`): `metis_kway`, a partitioner by the graph of A + A^T, like `strips` and `rcb`.
// The graph is built in dist/partition/graph.hpp, the result is judged in dist/partition/quality.hpp.
#pragma once

#include <metis.h>

#include <sla/dist/partition/graph.hpp>

namespace sla {

/// What METIS makes small: the values that a product communicates, or the entries between parts.
enum class metis_objective { volume, edge_cut };

namespace detail {
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
  owner_map partition(View const& view, int parts) const {
    if (!(imbalance >= 0.001 && imbalance <= 1000))
      throw value_error(text("metis_kway: imbalance is ", imbalance, "; METIS counts it in thousandths, from 0.001"));
    if (seed < 0) throw value_error(text("metis_kway: seed is ", seed, "; METIS takes -1 for its own choice, give at least 0"));
    // Its turn is needed for the signals of the process, too, which METIS takes over while it runs; it divides by the number of edges.
    return detail::sharded_by_graph<idx_t, idx_t>(*this, "metis_kway", view, parts, [&](auto& graph, auto& work, auto& owner) {
      idx_t options[METIS_NOPTIONS];
      METIS_SetDefaultOptions(options);
      options[METIS_OPTION_OBJTYPE] = objective == metis_objective::volume ? METIS_OBJTYPE_VOL : METIS_OBJTYPE_CUT;
      options[METIS_OPTION_UFACTOR] = idx_t(imbalance * 1000 + 0.5);
      options[METIS_OPTION_SEED] = seed;
      options[METIS_OPTION_NUMBERING] = 0;
      idx_t rows = idx_t(view.rows), constraints = 1, wanted = parts, reached = 0;
      detail::require_metis(METIS_PartGraphKway(&rows, &constraints, graph.begin.data(), graph.target.data(), work.data(), nullptr, nullptr, &wanted,
                                                nullptr, nullptr, options, &reached, owner.data()),
                            view.rows, parts);
    });
  }
};

} // namespace sla
