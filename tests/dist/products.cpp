// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of distributed sparse tensors, on 1 to 8 thread ranks, against one rank.
#include <complex>
#include <sstream>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/engine/self.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/build.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_products {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
/// A random rectangular matrix with some empty rows.
template <class T>
sparse_tensor<T> scattered(index_t rows, index_t cols, index_t entries) {
  std::vector<index_t> row, col;
  auto const where = random<double>({2 * entries}, 11);
  sla::vector<T> const value = random<T>({entries}, 12);
  for (index_t n = 0; n < entries; ++n) {
    row.push_back(index_t((where[2 * n] + 1) / 2 * double(rows)));
    col.push_back(index_t((where[2 * n + 1] + 1) / 2 * double(cols)));
  }
  return from_triplets<T>(rows, cols, row, col, std::vector<T>(value.begin(), value.end()));
}

template <class T, class S, class F, class X, class Y>
void check_products(int ranks, sparse_tensor<T, S, F> const& A, X const& x, Y const& u) {
  Y const y = A * x, y2 = conj(A) * x;
  X const v = transpose(A) * u, w = adjoint(A) * u;
  auto const errors = threads::run(ranks, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, strips{});
    auto dx = distribute(x, D.col_layout());
    auto du = distribute(u, D.row_layout());
    return std::array<double, 6>{norm(gather(D * dx) - y),
                                 norm(gather(conj(D) * dx) - y2),
                                 norm(gather(transpose(D) * du) - v),
                                 norm(gather(adjoint(D) * du) - w),
                                 norm(gather(D * (2.0 * dx) - du) - (2.0 * y - u)),
                                 norm(gather(dx) - x)};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-12 * (1 + norm(y) + norm(v)));
}
}  // namespace

TEST_CASE("products of row-sharded matrices are those of one rank") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  auto const A = problems::poisson<double>({13, 17});
  check_products(ranks, A, random<double>({A.cols()}, 1), random<double>({A.rows()}, 2));
  auto const R = scattered<double>(70, 45, 200);
  check_products(ranks, R, random<double>({45}, 1), random<double>({70}, 2));
}

TEST_CASE("several right-hand sides, complex numbers, blocks and batches") {
  int const ranks = GENERATE(2, 3);
  auto const R = scattered<std::complex<double>>(60, 60, 300);
  check_products(ranks, R, random<std::complex<double>, Extents<dyn, dyn>>({60, 3}, 1), random<std::complex<double>, Extents<dyn, dyn>>({60, 3}, 2));
  auto const B = to_blocks<2, 2>(problems::poisson<double>({8, 8}));
  check_products(ranks, B, random<double, Extents<dyn, 2>>({32, 2}, 1), random<double, Extents<dyn, 2>>({32, 2}, 2));
  auto const A = problems::poisson<double>({9, 7});
  auto batch = to_batch<3>(A);
  for (index_t n = 0; n < batch.values().size(); ++n) batch.values()[n] *= 1.0 + double(n / batch.batch_stride());
  check_products(ranks, batch, random<double, Extents<3, dyn>>({3, 63}, 1), random<double, Extents<3, dyn>>({3, 63}, 2));
}

TEST_CASE("more ranks than rows, and ranks without rows") {
  auto const A = problems::poisson<double>({2, 2});
  check_products(8, A, random<double>({4}, 1), random<double>({4}, 2));
  auto const E = scattered<double>(3, 40, 5);
  check_products(5, E, random<double>({40}, 1), random<double>({3}, 2));
}

TEST_CASE("replicated and batch-sharded matrices multiply without communication") {
  auto const A = problems::poisson<double>({6, 5});
  auto B = to_batch<4>(A);
  for (index_t n = 0; n < B.values().size(); ++n) B.values()[n] *= 1.0 + double(n / B.batch_stride());
  auto const x = random<double, Extents<4, dyn>>({4, 30}, 1);
  tensor<double, Extents<4, dyn>> const y = B * x;
  sla::vector<double> const x0 = random<double>({30}, 7), y0 = A * x0;
  threads::run(2, [&](auto& world) {
    mesh<axis<"dp", 2>> m(world);
    auto D = distribute<Shard<0>>(B, m);
    auto dx = distribute<Shard<0>>(x, m);
    auto const before = m.communicator(0).stats().collectives();
    auto dy = eval(D * dx);
    static_assert(has_placements<decltype(dy), Shard<0>>);
    auto R = distribute<Replicate>(A, m);
    auto const same = m.communicator(0).stats().collectives();
    auto ry = eval(R * distribute<Replicate>(x0, m));
    bool const quiet = before == same && m.communicator(0).stats().exchanges == 0;
    if (!quiet || norm(gather(dy) - y) > 1e-12 || norm(ry.local() - y0) > 1e-12) throw value_error("wrong product");
  });
}

TEST_CASE("a transposed product of doubles into floats is rounded once, after the ranks have added") {
  auto const A = from_triplets<double>(2, 2, std::vector{0, 1, 1}, std::vector{0, 0, 1}, std::vector{16777217.0, -16777216.0, 1.0});
  threads::run(2, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, strips{});
    auto const u = distribute(ones<double>(2), D.row_layout());
    auto y = distribute(vector<float>(2), D.row_layout());
    y = transpose(D) * u;
    auto const all = gather(y);
    if (all[0] != 1.0f || all[1] != 1.0f) throw value_error("wrong sum");
  });
}

TEST_CASE("the interior is computed while messages are under way") {
  auto const A = problems::poisson<double>({300, 300});
  auto const x = random<double>({A.cols()}, 1);
  auto const seconds = [](auto f) {
    auto const begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  auto const delay = std::chrono::milliseconds(60);
  auto const took = threads::run(2, {.delay = delay}, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, strips{});
    auto dx = distribute(x, D.row_layout());
    auto dy = eval(D * dx);
    m.world().barrier();
    return seconds([&] { dy = D * dx; });
  });
  auto const longest = *std::max_element(took.begin(), took.end()); // a rank that starts late waits less
  CHECK(longest >= 0.055);
  CHECK(longest < 0.5);
}

TEST_CASE("a walk over ranges of rows comes to each of them once, on several threads too") {
  std::vector<row_range> const runs{{3, 4}, {10, 3000}, {3001, 3002}, {4000, 9000}};
  set_threads(3);
  for (index_t inner : {1, 3})
    for (double work : {0.0, 1e9}) {
      frame const f{2, 9500, inner, 1};
      index_t const together = inner == 1 && work > 0 ? 768 : 1;
      detail::runs_walk walk(f, runs, {1, together});
      if (work > 0) walk.balance({&work, 9500, [](void const* w, index_t row) { return *static_cast<double const*>(w) * double(row); }});
      struct seen {
        std::vector<int> times = std::vector<int>(19000 * 3), block;
      } all;
      all.block.resize(std::size_t(walk.blocks()));
      walk.run(
          [](void const* to, row_span const& s, index_t n) {
            auto& in = *static_cast<seen*>(const_cast<void*>(to));
            ++in.block[std::size_t(n)];
            for (index_t e = s.first; e < s.first + s.count; ++e) ++in.times[std::size_t(e)];
          },
          &all);
      CHECK(std::count(all.block.begin(), all.block.end(), 1) == walk.blocks());
      CHECK(walk.blocks() == 2 * walk.blocks_of(0));
      for (index_t e = 0; e < 2 * 9500 * inner; ++e) {
        index_t const row = e / inner % 9500;
        bool const listed = std::any_of(runs.begin(), runs.end(), [&](row_range const& r) { return row >= r.first && row < r.last; });
        if (all.times[std::size_t(e)] != int(listed)) FAIL("row " << row << " of " << inner << " elements");
      }
    }
  set_threads(0);
}

TEST_CASE("wrong arguments are refused on every rank") {
  auto const A = problems::poisson<double>({6, 6});
  CHECK_THROWS_AS(threads::run(3,
                               [&](auto& world) {
                                 Rows m(world);
                                 auto const mine = world.rank() == 1 ? problems::poisson<double>({6, 7}) : A;
                                 auto D = distribute<SparseShard<0>>(mine, m, strips{});
                               }),
                  rank_error);
  auto const heard = threads::run(3, [&](auto& world) {
    Rows m(world);
    try {
      distribute<SparseShard<0>>(world.rank() == 1 ? problems::poisson<double>({6, 7}) : A, m, strips{});
    } catch (shape_error const& e) {
      return std::string(e.what());
    }
    return std::string();
  });
  for (auto const& words : heard) CHECK(words.find("rank 1 has 1, 42, 42") != std::string::npos);

  self world;
  Rows m(world);
  auto D = distribute<SparseShard<0>>(A, m, strips{});
  CHECK_THROWS_AS(distribute(random<double>({35}, 1), D.row_layout()), shape_error);
  auto other = distribute<SparseShard<0>>(problems::poisson<double>({6, 7}), m, strips{});
  CHECK_THROWS_AS(eval(D * distribute(random<double>({42}, 1), other.row_layout())), shape_error);
  std::ostringstream out;
  out << report_partition(D);
  CHECK(out.str().find("36 rows (36 interior)") != std::string::npos);
}
} // namespace test_products
