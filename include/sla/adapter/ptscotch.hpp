// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PT-Scotch 7 (component `ptscotch`): `ptscotch_kway`, a partitioner by the graph of A + A^T that runs on all ranks of MPI, for `repartition(D, ...)`.
// The graph is built in dist/matrix/reshard_rows.hpp; METIS and KaHIP want the whole graph on one rank.
#pragma once

#include <sla/adapter/mpi/failure.hpp>

#include <ptscotch.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <sla/dist/partition/rows_of_rank.hpp>

namespace sla {

namespace detail {
/// A graph and a strategy of PT-Scotch, freed with their scope. `bound` is the graph, once it is built, with one thread per rank: with the threads that PT-Scotch
/// takes by itself, one per core, its ranks can disagree about how to exchange halos and wait for each other forever (7.0.3 on two cores, one call of some hundred).
class scotch_job {
public:
  explicit scotch_job(MPI_Comm comm)
      : has_graph_(SCOTCH_dgraphInit(&graph, comm) == 0), has_strategy_(SCOTCH_stratInit(&strategy) == 0), has_context_(SCOTCH_contextInit(&context_) == 0) {}
  scotch_job(scotch_job const&) = delete;
  scotch_job& operator=(scotch_job const&) = delete;
  ~scotch_job() {
    if (is_bound_) SCOTCH_dgraphExit(&bound);
    if (has_context_) SCOTCH_contextExit(&context_);
    if (has_strategy_) SCOTCH_stratExit(&strategy);
    if (has_graph_) SCOTCH_dgraphExit(&graph);
  }
  bool begun() const { return has_graph_ && has_strategy_ && has_context_; }
  bool bind() { return is_bound_ = SCOTCH_contextThreadSpawn(&context_, 1, nullptr) == 0 && SCOTCH_contextBindDgraph(&context_, &graph, &bound) == 0; }

  SCOTCH_Dgraph graph, bound;
  SCOTCH_Strat strategy;

private:
  SCOTCH_Context context_;
  bool has_graph_, has_strategy_, has_context_, is_bound_ = false;
};
} // namespace detail

/// Multilevel k-way partitioning on all ranks, which makes the edge cut small. The rows' work, stored entries and row_weight each, is balanced up to
/// `imbalance`. No rank has more of the graph than its rows; the parts depend on how the rows lay before.
///     auto E = repartition(D, ptscotch_kway{});   auto y = repartition(x, E.row_layout());
/// Law: `comm` has the ranks of D's axis in their order; MPI is there already. Collective.
/// Errors, on every rank: value_error where MPI does not run or comm has other ranks; shape_error for rectangular A, and where SCOTCH_Num is too narrow; unavailable_error where
/// PT-Scotch fails, which says on stderr why.
/// Source: Chevalier and Pellegrini, PT-Scotch: A tool for efficient parallel graph ordering (Parallel Computing 34, 2008).
struct ptscotch_kway {
  MPI_Comm comm = MPI_COMM_WORLD;
  double imbalance = 0.03;  ///< how much more than the mean a part may have
  int row_weight = int(detail::usual_row_weight);  ///< what a row costs besides its entries, in entries

  template <class = void>
  std::vector<int> partition_on_ranks(rows_of_rank const& rows) const {
    any_communicator& c = rows.ranks;
    int runs = 0, ranks = 0, rank = 0;
    MPI_Initialized(&runs);
    if (runs != 0) MPI_Comm_size(comm, &ranks), MPI_Comm_rank(comm, &rank);
    detail::together(c, [&] {
      if (runs == 0) throw value_error(text("ptscotch_kway: MPI has not been started, and the ranks are those of the engine ", c.engine(), "; rcb and hilbert run on any"));
      if (ranks != c.size() || rank != c.rank())
        throw value_error(text("ptscotch_kway: rank ", c.rank(), " of ", c.size(), " is rank ", rank, " of ", ranks, " of the MPI communicator; give comm those of the matrix, in their order"));
      if (!(imbalance >= 0 && imbalance <= 1000)) throw value_error(text("ptscotch_kway: imbalance is ", imbalance, "; give a fraction of at least 0"));
      if (row_weight < 0) throw value_error(text("ptscotch_kway: row_weight is ", row_weight, "; give at least 0"));
      return 0;
    });
    auto const graph = rows.graph();
    auto const n = index_t(rows.global.size());
    std::int64_t sums[] = {std::int64_t(row_weight) * n, graph.begin[n]};
    for (index_t entries : rows.entries) sums[0] += entries;
    all_reduce(c, std::span<std::int64_t>(sums));
    detail::require_graph_range<SCOTCH_Num>(rows.extent, "the number of rows", "ptscotch_kway");
    detail::require_graph_range<SCOTCH_Num>(sums[0], "the work of all rows", "ptscotch_kway");
    detail::require_graph_range<SCOTCH_Num>(sums[1], "the number of neighbours in the graph of A + A^T", "ptscotch_kway");

    std::vector<SCOTCH_Num> begin, target, work, part(std::size_t(n) + 1);
    for (index_t i = 0; i <= n; ++i) begin.push_back(SCOTCH_Num(graph.begin[i]));
    for (index_t k = 0; k < graph.begin[n]; ++k) target.push_back(SCOTCH_Num(graph.target[k]));
    for (index_t entries : rows.entries) work.push_back(SCOTCH_Num((std::max)(entries + row_weight, index_t(1))));
    work.push_back(1), target.push_back(0);  // so that there is memory where there are no rows or neighbours

    detail::scotch_job job(comm);
    detail::together(c, [&] {  // what follows is collective
      if (!job.begun()) throw unavailable_error(text("ptscotch_kway: PT-Scotch does not start on rank ", rank));
      return 0;
    });
    auto const count = SCOTCH_Num(n), edges = begin.back();
    bool const done = SCOTCH_dgraphBuild(&job.graph, 0, count, count, begin.data(), begin.data() + 1, work.data(), nullptr, edges, edges, target.data(), nullptr, nullptr) == 0 &&
                      SCOTCH_stratDgraphMapBuild(&job.strategy, SCOTCH_STRATDEFAULT, ranks, ranks, imbalance) == 0 &&
                      job.bind() && SCOTCH_dgraphPart(&job.bound, ranks, &job.strategy, part.data()) == 0;
    detail::together(c, [&] {
      if (!done) throw unavailable_error(text("ptscotch_kway: PT-Scotch fails on rank ", rank, " with ", n, " of ", rows.extent, " rows; its words are on stderr, and rcb needs coordinates alone"));
      return 0;
    });
    return {part.begin(), part.begin() + n};
  }
};

} // namespace sla
