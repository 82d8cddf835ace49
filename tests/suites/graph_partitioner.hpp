// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every partitioner of graphs must do; `name` is what its messages begin with.
#pragma once

#include <string>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/partition/quality.hpp>
#include <sla/dist/matrix/matrix_product.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace suite {

template <class Cut>
void check_graph_partitioner(Cut const& cut, std::string const& name, std::initializer_list<int> all_parts) {
  using namespace sla;
  using Catch::Matchers::ContainsSubstring;
  auto const A = problems::poisson<double>({60, 60});
  for (int parts : all_parts) {
    auto const owners = partition(A, parts, cut);
    CHECK((owners.parts() == parts && owners.rows() == A.rows()));
    CHECK(owners == partition(A, parts, cut));
    auto const mine = partition_quality(A, owners), rows = partition_quality(A, partition(A, parts, strips{}));
    if (parts <= 100) {
      CHECK(mine.entry_balance() <= 1.25);
      CHECK(double(mine.halo()) <= (parts < 7 ? 1.3 : 0.9) * double(rows.halo()));
    }
  }
  // Graphs that leave nothing to find: one part, a row each, more parts than rows, no neighbours, no rows.
  auto const line = problems::poisson<double>({5});
  CHECK(partition(line, 1, cut).count(0) == 5);
  for (int parts : {5, 9})
    for (index_t i = 0; i < 5; ++i) CHECK(partition(line, parts, cut)[i] == int(i));
  CHECK(partition(scattered<double>(8, 8, 0), 4, cut).count(2) == 2);
  CHECK(partition(scattered<double>(0, 0, 0), 4, cut).rows() == 0);
  // Unsymmetric patterns, some rows without neighbours.
  CHECK(partition(scattered<double>(500, 500, 700), 6, cut).rows() == 500);
  CHECK_THROWS_WITH(partition(scattered<double>(6, 4, 9), 2, cut), ContainsSubstring(name + ": A is 6 x 4"));

  auto const x = random<double>({A.cols()}, 1);
  sla::vector<double> const y = A * x;
  CHECK(largest_error(3, [&](auto& world) {
          mesh<axis<"rows">> m(world);
          auto D = distribute<SparseShard<0>>(A, m, cut);
          return std::array<double, 1>{norm(gather(D * distribute(x, D.col_layout())) - y)};
        }) <= 1e-12 * norm(y));
}

}  // namespace suite
