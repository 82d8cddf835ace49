// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// METIS: its partitions, its graph against the definition, and its refusals in words.
#include <sla/adapter/metis.hpp>

#include <cstdint>
#include <set>

#include "suites/graph_partitioner.hpp"

using namespace sla;
using Catch::Matchers::ContainsSubstring;

namespace {
template <class F>
void check_graph(sparse_tensor<double, Matrix, F> const& A) {
  std::vector<std::set<index_t>> near(static_cast<std::size_t>(A.rows()));
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t, index_t j) {
      if (i == j) return;
      near[std::size_t(i)].insert(j);
      near[std::size_t(j)].insert(i);
    });
  auto const graph = graph_of<idx_t>(A.pattern().view(), "test");
  REQUIRE(graph.vertices() == A.rows());
  index_t wrong = 0;
  for (index_t i = 0; i < A.rows(); ++i) {
    auto const& wanted = near[std::size_t(i)];
    wrong += !std::equal(wanted.begin(), wanted.end(), graph.target.begin() + graph.begin[i], graph.target.begin() + graph.begin[i + 1]);
  }
  CHECK(wrong == 0);
}
}  // namespace

TEST_CASE("metis_kway does what a partitioner must do") {
  suite::check_graph_partitioner(metis_kway{}, "metis_kway", {2, 3, 7, 64, 1000});
  suite::check_graph_partitioner(metis_kway{.objective = metis_objective::edge_cut, .seed = 3}, "metis_kway", {8});
}

TEST_CASE("what METIS minimises is what the quality report counts") {
  auto const A = problems::poisson<double>({50, 40});
  auto graph = graph_of<idx_t>(A.pattern().view(), "test");
  for (auto const kind : {METIS_OBJTYPE_VOL, METIS_OBJTYPE_CUT}) {
    idx_t rows = 2000, one = 1, parts = 6, reached = 0, options[METIS_NOPTIONS];
    std::vector<idx_t> owner(2000);
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_OBJTYPE] = kind;
    REQUIRE(METIS_PartGraphKway(&rows, &one, graph.begin.data(), graph.target.data(), nullptr, nullptr, nullptr, &parts, nullptr, nullptr, options,
                                &reached, owner.data()) == METIS_OK);
    auto const quality = partition_quality(A, owner_map({owner.begin(), owner.end()}, 6));
    CHECK((kind == METIS_OBJTYPE_VOL ? quality.halo() : *quality.edge_cut) == reached);
  }
}

TEST_CASE("the graph is that of A + A^T") {
  check_graph(problems::poisson<double>({7, 5}));
  check_graph(suite::scattered<double>(60, 60, 200));
  check_graph(problems::poisson<double>({300, 250}));  // on several threads
  check_graph(problems::poisson<double, Dia>({40, 30}));
  check_graph(from_triplets<double>(4, 4, std::vector{0, 1, 1, 3}, std::vector{1, 2, 3, 0}, std::vector{1.0, 1.0, 1.0, 1.0}));  // as many above as below?
  check_graph(suite::scattered<double>(40000, 40000, 80000));
  // A large ring, one way round in the first half and the other way in the second: as many entries above as below.
  std::vector<index_t> row, col;
  for (index_t i = 0; i < 40000; ++i) row.push_back(i < 20000 ? i : (i + 1) % 40000), col.push_back(i < 20000 ? i + 1 : i);
  check_graph(from_triplets<double>(40000, 40000, row, col, std::vector<double>(row.size(), 1.0)));
}

TEST_CASE("the graph of each pattern of four rows") {
  for (unsigned bits = 0; bits < 1 << 12; ++bits) {
    std::vector<index_t> row{0, 2}, col{0, 2};  // some of the diagonal
    for (index_t at = 0; at < 12; ++at)
      if (bits >> at & 1) row.push_back(at / 3), col.push_back(at % 3 + (at % 3 >= at / 3));
    check_graph(from_triplets<double>(4, 4, row, col, std::vector<double>(row.size(), 1.0)));
  }
}

TEST_CASE("numbers that do not fit, options out of range, and METIS's codes are refused in words") {
  auto const A = problems::poisson<double>({20, 20});
  CHECK_THROWS_WITH(graph_of<std::int8_t>(A.pattern().view(), "asker"), ContainsSubstring("asker: the number of rows, 400, does not fit into the 8-bit"));
  CHECK_THROWS_WITH(graph_of<std::int8_t>(problems::poisson<double>({10, 10}).pattern().view(), "asker"), ContainsSubstring("neighbours"));
  CHECK_THROWS_WITH(partition(A, 2, metis_kway{.row_weight = 2000000000}), ContainsSubstring("the work of all rows"));
  CHECK_THROWS_WITH(partition(A, 2, metis_kway{.row_weight = -1}), ContainsSubstring("row_weight is -1"));
  CHECK_THROWS_WITH(partition(A, 2, metis_kway{.imbalance = 0}), ContainsSubstring("imbalance is 0"));
  CHECK_THROWS_WITH(partition(A, 2, metis_kway{.seed = -1}), ContainsSubstring("seed is -1"));
  CHECK_NOTHROW(detail::require_metis(METIS_OK, 4, 2));
  CHECK_THROWS_WITH(detail::require_metis(METIS_ERROR_INPUT, 4, 2), ContainsSubstring("on 4 rows and 2 parts refuses its input"));
  CHECK_THROWS_WITH(detail::require_metis(METIS_ERROR_MEMORY, 4, 2), ContainsSubstring("lacks memory"));
  CHECK_THROWS_WITH(detail::require_metis(METIS_ERROR, 4, 2), ContainsSubstring("code -4"));
}
