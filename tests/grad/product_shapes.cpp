// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products in batches and blocks, with several right-hand sides and in each format: <J v, w> = <v, J^H w> to 1e-12.
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "suites/gradient_product.hpp"

using namespace sla;
using gradient::check_product, gradient::times, gradient::transpose_times;

TEST_CASE("several right-hand sides are summed") {
  auto const A = read_matrix_market<double>(data("utm300.mtx"));
  check_product(A, random<double, Extents<dyn, 3>>({A.cols(), 3}, 1), times);
  check_product(A, random<double, Extents<dyn, dyn>>({A.cols(), 4}, 1), transpose_times);
}

TEST_CASE("batches and blocks") {
  auto const A = problems::poisson<double>({12, 6});
  auto const C = to_batch<2>(A);
  check_product(C, random<double, Extents<2, dyn>>({2, A.cols()}, 1), times);
  auto const B = to_blocks<2, 3>(A);
  check_product(B, random<double, Extents<dyn, 3>>({A.cols() / 3, 3}, 1), times);
  check_product(B, random<double, Extents<dyn, 2, 2>>({A.rows() / 2, 2, 2}, 1), transpose_times);
}

TEST_CASE("other formats") {
  auto const A = problems::poisson<double>({9, 7});
  auto const x = random<double>(A.cols(), 1);
  check_product(to<Dia>(A), x, times);
  check_product(to<Coo<>>(A), x, times);
  check_product(to<Coo<>>(A), x, transpose_times);
  check_product(to<Dia>(A), x, transpose_times);
  check_product(to<Sell<>>(A), x, times);
  check_product(to<NarrowSell<>>(A), x, times);
  check_product(to<Sell<4, 16>>(A), x, transpose_times);
  check_product(to<NarrowSell<4, 16>>(A), x, transpose_times);
}
