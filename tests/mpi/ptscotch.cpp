// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PT-Scotch on MPI ranks: rows move to parts of a smaller halo, products stay what they are, and its refusals in words.
#include <sla/adapter/mpi.hpp>
#include <sla/adapter/ptscotch.hpp>
#include <sla/dist/assembly/problems_on_ranks.hpp>
#include <sla/dist/assembly/vectors.hpp>
#include <sla/dist/engine/self.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/matrix/reshard_rows.hpp>
#include <sla/dist/value/reductions.hpp>
#include <sla/dist/value/scalars.hpp>

#include "expect.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

using namespace sla;

int main(int argc, char** argv) {
  self alone;
  try {
    (void)repartition(problems::poisson<double>(mesh<axis<"rows">>(alone), {3}), ptscotch_kway{});
    expect(false, "MPI is needed");
  } catch (value_error const& e) {
    expect(std::string(e.what()).find("MPI has not been started, and the ranks are those of the engine self") != std::string::npos, "MPI is asked for");
  }
  mpi::environment environment(argc, argv);
  mesh<axis<"rows">> const m(environment.world());
  int const ranks = m.size(0);

  auto const D = problems::poisson<double>(m, {60, 60}, suite::scattered_owners(3600, ranks));
  auto const x = generate(D.row_layout(), [](index_t i) { return double(i % 17); });
  auto const E = repartition(D, ptscotch_kway{});
  auto const y = repartition(x, E.row_layout());
  expect(norm(gather(E * y) - gather(D * x)) <= 1e-13 * norm(gather(D * x)), "a product after PT-Scotch");
  auto const before = report_partition(D), after = report_partition(E), strips = report_partition(problems::poisson<double>(m, {60, 60}));
  expect(after.entry_balance() <= 1.25, "the work is balanced");
  expect(ranks == 1 || after.halo() < before.halo() / 4, "the halo is smaller than that of scattered rows");
  expect(double(after.halo()) <= 1.3 * double(strips.halo()), "and about that of strips");

  // Rows without neighbours, an unsymmetric pattern, and ranks without rows.
  auto const loose = repartition(distribute<SparseShard<0>>(suite::scattered<double>(500, 500, 300), m), ptscotch_kway{});
  expect(loose.rows() == 500, "rows without neighbours");
  std::vector<index_t> first(std::size_t(ranks) + 1, 400);
  first[0] = 0;
  auto const one = repartition(problems::poisson<double>(m, {20, 20}, owner_map(std::move(first))), ptscotch_kway{});
  expect(one.local().rows() > 0, "the rows of one rank are shared out");

  auto const words = [&](auto const& A, ptscotch_kway const& cut) {
    try {
      (void)repartition(A, cut);
    } catch (error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  expect(ranks == 1 || words(D, {.comm = MPI_COMM_SELF}).find("of the MPI communicator") != std::string::npos, "another communicator is refused");
  expect(words(D, {.imbalance = -1}).find("imbalance is -1") != std::string::npos, "a negative imbalance is refused");
  expect(words(D, {.row_weight = -1}).find("row_weight is -1") != std::string::npos, "a negative weight is refused");
  return failures();
}
