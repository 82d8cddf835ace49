// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse products as device passes read them, on simulated blocks: rows shared by several threads, products of products.
// The backend suite runs in suite.cpp.
#include <sla/tensor/build.hpp>

#include "simulated.hpp"
#include "suites/backend.hpp"

using namespace sla;

namespace {
auto const simulate = [](frame f) { return std::make_unique<simulated_space>(f); };

/// About `length` entries in each row, some rows empty and one full.
template <class T>
sparse_tensor<T> with_rows_of(index_t n, index_t length) {
  std::vector<index_t> row, col;
  for (index_t i = 0; i < n; ++i) {
    index_t const entries = i % 11 == 10 ? 0 : i == n / 2 ? n : length;
    for (index_t k = 0; k < entries; ++k) {
      row.push_back(i);
      col.push_back((i * 7 + k) % n);
    }
  }
  auto const drawn = random<T>(index_t(row.size()), 6);
  std::vector<T> const value(drawn.begin(), drawn.end());
  return from_triplets<T>(n, n, row, col, value);
}
}  // namespace


TEST_CASE("rows are shared by as many threads as their mean length asks for") {
  CHECK(cuda::row_width(0, 0) == 1);
  CHECK(cuda::row_width(500, 100) == 1);
  CHECK(cuda::row_width(700, 100) == 1);
  CHECK(cuda::row_width(800, 100) == 4);
  CHECK(cuda::row_width(2700, 100) == 8);
  CHECK(cuda::row_width(1000000, 100) == 32);
  for (index_t length : {3, 9, 27, 100}) {
    auto const A = with_rows_of<double>(203, length);
    suites::compare_with_serial(simulate, A, random<double>(203, 1), {1, 203, 1, 1}, 1e-12);
    suites::compare_with_serial(simulate, A, random<double, Extents<dyn, dyn>>({203, 3}, 2), {1, 203, 3, 3}, 1e-12);
    suites::compare_with_serial(simulate, to_batch(A, 2), random<double, Extents<dyn, dyn>>({2, 203}, 3), {2, 203, 1, 1}, 1e-12);
  }
  simulated_space space(frame{1, 203, 1, 1});
  auto const A = with_rows_of<double>(203, 40);
  auto const x = random<double>(203, 4);
  auto y = x, z = x;
  auto [s] = fuse(space, set(y, 2.0 * x), set(z, y - A * x + y), dot(z, A * x));
  CHECK(space.engine().width == 16);
  CHECK(space.engine().passes == 1);
  vector<double> const product = A * x;
  vector<double> const expected = 4.0 * x - product;
  CHECK(eval(norm(z - expected)) <= 1e-12 * eval(norm(expected)));
  CHECK(space.read(s)[0] == Approx(double(dot(expected, product))));
}

TEST_CASE("products of products get a vector in between, and plain evaluation finds the frame") {
  auto const A = problems::poisson<double>({13, 17});
  auto const x = random<double>(A.cols(), 5);
  vector<double> const expected = A * (A * x);
  simulated_space space(frame{1, A.rows(), 1, 1});
  auto y = x;
  fuse(space, set(y, A * (A * x)));
  CHECK(eval(norm(y - expected)) <= 1e-13 * eval(norm(expected)));
  fuse(space, set(y, x - 2.0 * (A * (A * x))));  // below elementwise nodes too
  CHECK(eval(norm(y - (x - 2.0 * expected))) <= 1e-13 * eval(norm(expected)));
  auto const X = random<double, Extents<dyn, dyn>>({A.cols(), 4}, 6);
  tensor<double, Extents<dyn, dyn>> const AX = A * X;
  auto Y = X;
  simulated_immediate immediate;
  auto [s] = fuse(immediate, set(Y, A * X), squared_norm(Y));
  CHECK(eval(norm(Y - AX)) <= 1e-13 * eval(norm(AX)));
  CHECK(s == Approx(double(squared_norm(AX))));
}
