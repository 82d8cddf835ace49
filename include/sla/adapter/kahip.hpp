// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// KaHIP (component `kahip`): `kaffpa`, a partitioner by the graph of A + A^T that takes its time for a smaller edge cut.
// The graph is built in dist/partition/graph.hpp, the result is judged in dist/partition/quality.hpp.
#pragma once

#include <kaHIP_interface.h>

#include <sla/dist/partition/graph.hpp>

namespace sla {

/// How much time KaHIP takes; the social modes are for graphs with vertices of very many neighbours.
enum class kaffpa_mode { fast = FAST, eco = ECO, strong = STRONG, fast_social = FASTSOCIAL, eco_social = ECOSOCIAL, strong_social = STRONGSOCIAL };

/// Multilevel partitioning by KaHIP, which makes the edge cut small. The rows' work, stored entries and row_weight each, is
/// balanced up to `imbalance`. Deterministic for a seed.
///     distribute<SparseShard<0>>(A, m, kaffpa_kway{})
/// Errors: shape_error for rectangular patterns, and where its indices are too narrow.
/// Source: Sanders and Schulz, Think Locally, Act Globally: Highly Balanced Graph Partitioning (SEA 2013).
struct kaffpa_kway {
  kaffpa_mode mode = kaffpa_mode::eco;
  double imbalance = 0.03;  ///< how much more than the mean a part may have
  int seed = 0;
  int row_weight = int(detail::usual_row_weight);  ///< what a row costs besides its entries, in entries

  template <CountedPattern View>
  owner_map partition(View const& view, int parts) const {
    if (!(imbalance >= 0 && imbalance <= 1000)) throw value_error(text("kaffpa_kway: imbalance is ", imbalance, "; give a fraction of at least 0"));
    if (kahip_sizeof_idx() != int(sizeof(kahip_idx)))
      throw unavailable_error(text("kaffpa_kway: the KaHIP library has indices of ", 8 * kahip_sizeof_idx(), " bits, and this program was compiled for ",
                                   8 * sizeof(kahip_idx), "; define KAHIP_64BIT for the wider ones"));
    detail::require_graph_range<int>(view.rows, "the number of rows", "kaffpa_kway");
    return detail::sharded_by_graph<kahip_idx, int>(*this, "kaffpa_kway", view, parts, [&](auto& graph, auto& work, auto& owner) {
      int rows = int(view.rows), wanted = parts;
      double allowed = imbalance;
      kahip_idx cut = 0;
      kaffpa(&rows, work.data(), graph.begin.data(), nullptr, graph.target.data(), &wanted, &allowed, true, seed, int(mode), &cut, owner.data());
    });
  }
};

} // namespace sla
