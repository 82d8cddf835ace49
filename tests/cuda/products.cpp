// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse products as device passes read them, on simulated blocks: rows shared by several threads, right-hand sides, diagonal
// blocks, products of products. The backend suite runs in suite.cpp.
#include <sla/exec/cuda/diagonal.cuh>
#include <sla/solve/precond/block_jacobi.hpp>
#include <sla/tensor/build/build.hpp>
#include <sla/tensor/build/sell.hpp>

#include "simulated.hpp"
#include "suites/backend.hpp"

using namespace sla;

namespace {
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
  for (index_t length : {3, 27}) {  // the entries of a row are not side by side
    auto const A = to<Sell<>>(with_rows_of<double>(203, length));
    suites::compare_with_serial(simulate, A, random<double>(203, 1), {1, 203, 1, 1}, 1e-12);
    suites::compare_with_serial(simulate, A, random<double, Extents<dyn, dyn>>({203, 3}, 2), {1, 203, 3, 3}, 1e-12);
  }
  simulated_space space(frame{1, 203, 1, 1});
  auto const A = with_rows_of<double>(203, 40);
  auto const x = random<double>(203, 4);
  auto y = x, z = x;
  auto [s] = fuse(space, set(y, 2.0 * x), set(z, y - A * x + y), dot_of(z, A * x));
  CHECK(space.engine().width == 16);
  CHECK(space.engine().passes == 1);
  vector<double> const product = A * x;
  vector<double> const expected = 4.0 * x - product;
  CHECK(eval(norm(z - expected)) <= 1e-12 * eval(norm(expected)));
  CHECK(space.read(s)[0] == Approx(double(dot(expected, product))));
}

TEST_CASE("with right-hand sides, a warp reads the entries of a row together") {
  auto const width = [](index_t rhs, int wanted) { return cuda::share({1, 1000, rhs, rhs}, 256, wanted).width; };
  CHECK(width(1, 32) == 32);
  CHECK(width(3, 32) == 8);
  CHECK(width(4, 4) == 4);
  CHECK(width(16, 32) == 2);
  CHECK(width(17, 32) == 1);
  CHECK(width(300, 32) == 1);
  auto const A = to<Dia>(problems::convection_diffusion<double>({9, 23}, 1.0));
  for (index_t rhs : {1, 2, 7, 64, 130}) {
    auto const X = random<double, Extents<dyn, dyn>>({207, rhs}, std::uint64_t(rhs));
    suites::compare_with_serial(simulate, A, X, {1, 207, rhs, rhs}, 1e-12);
    simulated_space space(frame{1, 207, rhs, rhs});
    auto Y = X;
    fuse(space, set(Y, A * X));
    CHECK(space.engine().passes == 1);
  }
  auto const F = with_rows_of<float>(203, 9);  // four neighbouring columns to a thread, in a batch too
  suites::compare_with_serial(simulate, F, random<float, Extents<dyn, dyn>>({203, 132}, 2), {1, 203, 132, 132}, 1e-4);
  suites::compare_with_serial(simulate, to_batch(A, 2), random<double, Extents<dyn, dyn, dyn>>({2, 207, 6}, 3), {2, 207, 6, 6}, 1e-12);
}

TEST_CASE("diagonals of blocks are turned where they lie") {
  auto const A = to<Dia>(to_blocks<2, 3>(problems::convection_diffusion<double>({12, 9}, 1.0)), dia_limit{30});
  auto const u = random<double, Extents<dyn, 2>>(A.range(), 8);
  tensor<double, Extents<dyn, 3>> w(A.domain());
  tensor<double, Extents<dyn, 3>> const expected = adjointed(A) * u;
  simulated_space space(frame{1, 36, 3, 1});
  fuse(space, set(w, adjoint(A) * u));
  CHECK(norm_inf(w - expected) <= 1e-13);
}

TEST_CASE("diagonal blocks are read, and their inverses applied, as on the host") {
  auto const A = to_batch(to_blocks<2, 2>(problems::convection_diffusion<double>({6, 8}, 0.5)), 3);
  vector<double> blocks(Extents<dyn>(3 * 24 * 4 * 4), uninitialized);
  simulated_immediate immediate;
  fuse(immediate, set(blocks, cuda::blocks_node(A, 4)));
  auto inverse = blocks.values();
  detail::invert_blocks<2>(inverse, A.rows(), 4);
  auto const M = block_jacobi{.size = 4}.setup(A);
  CHECK(std::equal(inverse.begin(), inverse.end(), M.inverses().begin()));
  suites::compare_with_serial(simulate, M, random<double, Extents<dyn, dyn, dyn, dyn>>({3, 24, 2, 2}, 7), {3, 24, 4, 2}, 1e-12);
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
  auto [s] = fuse(immediate, set(Y, A * X), squared_norm_of(Y));
  CHECK(eval(norm(Y - AX)) <= 1e-13 * eval(norm(AX)));
  CHECK(s == Approx(double(squared_norm(AX))));
}
