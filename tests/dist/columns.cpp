// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products without halos: matrices sharded by columns, and rows times a whole vector, on 1 to 8 thread ranks.
#include <complex>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/engine/self.hpp>
#include <sla/dist/solve/mesh_world.hpp>
#include <sla/solve.hpp>
#include <sla/tensor/build/block.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_columns {

using namespace sla;
using Line = mesh<axis<"line">>;

namespace {
template <class T, class S, class X, class Y>
double column_errors(int ranks, sparse_tensor<T, S> const& A, X const& x, Y const& u) {
  constexpr int d = S::batch_extents::rank;
  Y const y = A * x;
  X const v = transpose(A) * u, w = adjoint(A) * u;
  return suite::largest_error(ranks, [&](auto& world) {
    Line m(world);
    auto D = distribute<SparseShard<1>>(A, m, suite::scattered_owners(A.cols(), world.size()));
    auto dx = distribute(x, D.col_layout());
    auto du = distribute<Replicate>(u, m);
    auto const before = m.communicator(0).stats();
    auto dy = eval(D * dx);
    auto dv = eval(transpose(D) * du);
    auto const after = m.communicator(0).stats();
    bool const quiet = before.collectives() == after.collectives() && before.exchanges == after.exchanges;
    static_assert(has_placements<decltype(dy), Partial<>> && has_placements<decltype(dv), Shard<d, Part<>>>);
    auto ry = reduce_scatter<"line", Shard<d, Part<>>>(dy);
    auto like = distribute(y, D.row_layout());
    return std::array<double, 6>{norm(all_reduce<"line">(dy).local() - y),
                                 norm(gather(ry) - y),
                                 norm(ry.local() - like.local()),
                                 norm(gather(dv) - v),
                                 norm(gather(adjoint(D) * du) - w),
                                 quiet && D.rows() == A.rows() && D.cols() == A.cols() ? 0.0 : 1.0};
  });
}
template <class T, class S, class X, class Y>
double row_errors(int ranks, sparse_tensor<T, S> const& A, X const& x, Y const& u) {
  constexpr int d = S::batch_extents::rank;
  Y const y = A * x, z = 2.0 * (A * (3.0 * x)) - u;
  return suite::largest_error(ranks, [&](auto& world) {
    Line m(world);
    auto D = distribute<SparseShard<0>>(A, m);
    auto dx = distribute<Replicate>(x, m);
    auto const before = m.communicator(0).stats().exchanges;
    auto dy = eval(D * dx);
    bool const quiet = before == m.communicator(0).stats().exchanges;
    static_assert(has_placements<decltype(dy), Shard<d, Part<>>>);
    auto dz = eval(2.0 * (D * (3.0 * dx)) - distribute(u, D.row_layout()));
    return std::array<double, 3>{norm(gather(dy) - y), norm(gather(dz) - z), quiet ? 0.0 : 1.0};
  });
}
} // namespace

TEST_CASE("columns times a shard are a pending sum, which a collective finishes") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  auto const A = problems::convection_diffusion<double>({9, 8}, {3.0, 1.0});
  CHECK(column_errors(ranks, A, random<double>({72}, 1), random<double>({72}, 2)) < 1e-11);
  CHECK(row_errors(ranks, A, random<double>({72}, 1), random<double>({72}, 2)) < 1e-11);
  auto const R = suite::scattered<double>(50, 35, 160);
  CHECK(column_errors(ranks, R, random<double>({35}, 1), random<double>({50}, 2)) < 1e-11);
  CHECK(row_errors(ranks, R, random<double>({35}, 1), random<double>({50}, 2)) < 1e-11);
}

TEST_CASE("complex columns with several right-hand sides, and batches of blocks") {
  using Z = std::complex<double>;
  auto const R = suite::scattered<Z>(30, 30, 120);
  CHECK(column_errors(3, R, random<Z, Extents<dyn, dyn>>({30, 3}, 1), random<Z, Extents<dyn, dyn>>({30, 3}, 2)) < 1e-11);
  auto B = to_blocks<2, 2>(to_batch<3>(problems::poisson<double>({6, 4})));
  for (index_t n = 0; n < B.values().size(); ++n) B.values()[n] *= 1.0 + double(n / B.batch_stride());
  auto const x = random<double, Extents<3, dyn, 2>>({3, 12, 2}, 1), u = random<double, Extents<3, dyn, 2>>({3, 12, 2}, 2);
  CHECK(column_errors(2, B, x, u) < 1e-11);
  CHECK(row_errors(3, B, x, u) < 1e-11);
}

TEST_CASE("what every rank has meets results of any partition") {
  auto const A = problems::poisson<double>({6, 6});
  auto const x = random<double>({36}, 1);
  vector<double> const sum = 2.0 * (A * x), scaled = double(dot(x, x)) * x;
  CHECK(suite::largest_error(3, [&](auto& world) {
          Line m(world);
          auto D = distribute<SparseShard<1>>(A, m);
          auto E = distribute<SparseShard<1>>(A, m, suite::scattered_owners(36, 3));
          auto const dx = distribute(x, D.col_layout()), ex = distribute(x, E.col_layout());
          auto const both = eval(all_reduce<"line">(D * dx) + all_reduce<"line">(E * ex));
          auto const number = all_reduce<"line">(dot(dx, dx)); // a number beside a vector that lies otherwise
          return std::array<double, 2>{norm(both.local() - sum), norm(gather(number * ex) - scaled)};
        }) < 1e-12);
}

TEST_CASE("a vector of another length is refused on every rank, in words of the whole and of the rank's part") {
  using Catch::Matchers::ContainsSubstring;
  auto const A = problems::poisson<double>({3, 3});
  auto const refused = [&](auto const& f) {
    auto const words = suite::words_of(2, [&](auto& world) {
      Line m(world);
      f(m, distribute<SparseShard<0>>(A, m));
    });
    for (auto const& w : words) CHECK_THAT(w, ContainsSubstring("distribut"));
    return words;
  };
  // 8 and 9 elements: rank 0 has 4 and 5, rank 1 has 4 of both
  auto const sums = refused([](auto& m, auto const&) {
    (void)(distribute<Shard<0, Balanced>>(random<double>({8}, 1), m) + distribute<Shard<0, Balanced>>(random<double>({9}, 1), m));
  });
  CHECK_THAT(sums[0], ContainsSubstring("along line operand 0 shards 8 indices and operand 1 9, of which rank 0 of 2 has 4 and 5"));
  CHECK_THAT(sums[1], ContainsSubstring("along line operand 0 shards 8 indices and operand 1 9, of which rank 1 of 2 has 4 and 4"));
  auto const layout_of_8 = [](auto& m) { return distribute<SparseShard<0>>(problems::poisson<double>({4, 2}), m).row_layout(); };
  auto const products = refused([&](auto& m, auto const& D) { (void)(D * distribute(random<double>({8}, 1), layout_of_8(m))); });
  CHECK_THAT(products[0], ContainsSubstring("rank 0 has the rows 0 to 3 of 8, and of A the rows 0 to 4 of 9; distribute it by A.col_layout()"));
  auto const solves = refused([&](auto& m, auto const& D) { (void)solve(D, distribute(random<double>({8}, 1), layout_of_8(m)), cg{}, jacobi{}); });
  CHECK_THAT(solves[0], ContainsSubstring("solve(A, b): b was sharded by another partition than A's rows: rank 0 has the rows 0 to 3 of 8"));
  // parts that were put together by hand
  auto const by_hand = [](auto const& D) { return distributed<vector<double>, Line, Shard<0, Part<>>>(random<double>({3}, 1), D.handle()); };
  auto const short_x = refused([&](auto&, auto const& D) { (void)(D * by_hand(D)); });
  CHECK_THAT(short_x[1], ContainsSubstring("A * x: x has 3 rows on rank 1 of 2, which owns 4 of 9; distribute it by A.col_layout()"));
  auto const short_b = refused([&](auto&, auto const& D) { (void)solve(D, by_hand(D), cg{}, jacobi{}); });
  CHECK_THAT(short_b[0], ContainsSubstring("solve(A, b): b has 3 rows on rank 0 of 2, which owns 5 of 9; distribute it by A.row_layout()"));
}

TEST_CASE("a vector of another partition is refused") {
  self world;
  Line m(world);
  auto D = distribute<SparseShard<1>>(problems::poisson<double>({6, 6}), m);
  auto other = distribute<SparseShard<1>>(problems::poisson<double>({6, 7}), m);
  CHECK_THROWS_AS(eval(D * distribute(random<double>({42}, 1), other.col_layout())), shape_error);
  CHECK_THROWS_AS(eval(transpose(D) * distribute<Replicate>(random<double>({42}, 1), m)), shape_error);
}
} // namespace test_columns
