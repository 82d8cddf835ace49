// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program 13_ranks_at_scale on a smaller grid, that of the build folder; with a second argument, other ranks read what it wrote.
#include <cmath>
#include <iostream>
#include <string_view>

#include <sla/adapter/mpi.hpp>
#include <sla/sla.hpp>

#define main main_of_target
#include "13_ranks_at_scale.small.cpp"
#undef main

namespace {
/// Are K and x those of the program on four ranks? Then K x is 1 / (i + 1), and each of the four has added 1, 2 and 3 in three places.
int read_again(int argc, char** argv) {
  using namespace sla;
  mpi::environment mpi(argc, argv);
  mesh<axis<"rows">> m(mpi.world());
  auto const f = generate(problems::poisson<double>(m, {2}).row_layout(), [](index_t) { return 0.0; });
  auto const [K, x] = load<decltype(problems::poisson<double>(m, {2})), std::remove_const_t<decltype(f)>>(m, argv[1]);
  index_t const last = K.rows() - 1;
  auto const b = generate(K.row_layout(), [last](index_t i) { return 1.0 / double(i + 1) + 4.0 * (i == 0 ? 1 : i == 1 ? 2 : i == last ? 3 : 0); });
  bool const right = last > 1 && norm(b - K * x) <= 1e-9 * norm(b);
  if (m.coordinate(0) == 0) std::cout << m.size(0) << " ranks read " << K.rows() << (right ? " rows\n" : " rows, which are others\n");
  return right ? 0 : 1;
}
}  // namespace

int main(int argc, char** argv) { return argc > 2 ? read_again(argc, argv) : main_of_target(argc, argv); }
