// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves with several items on ranks: right-hand sides, batches (also sharded), blocks, complex numbers.
#include <complex>

#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_items {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
template <class A, class B>
void check(A const& a, B const& b) {
  B const expected = solve(a, b, cg{.rtol = 1e-11}, jacobi{});
  auto const errors = threads::run(3, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(a, m, strips{});
    auto db = distribute(b, D.row_layout());
    auto solution = try_solve(D, db, cg{.rtol = 1e-11}, jacobi{});
    return solution.report.converged() ? double(norm(gather(solution.x) - expected)) : 1.0;
  });
  for (double e : errors) CHECK(e <= 1e-8 * double(norm(expected)));
}
}  // namespace

TEST_CASE("several right-hand sides, batches and blocks on ranks") {
  auto const A = problems::poisson<double>({9, 8});
  check(A, random<double, Extents<dyn, dyn>>({72, 3}, 2));
  auto batch = to_batch<2>(A);
  for (index_t n = 0; n < A.nnz(); ++n) batch.values()[A.nnz() + n] *= 3.0;
  check(batch, random<double, Extents<2, dyn>>({2, 72}, 2));
  check(to_blocks<2, 2>(problems::poisson<double>({6, 6})), random<double, Extents<dyn, 2>>({18, 2}, 2));
}

TEST_CASE("complex systems on ranks") {
  check(cast<std::complex<double>>(problems::poisson<double>({9, 8})), random<std::complex<double>>({72}, 2));
}

TEST_CASE("batches sharded over ranks: each solves its own systems") {
  auto const A = problems::poisson<double>({9, 8});
  auto batch = to_batch<4>(A);
  for (index_t n = 0; n < batch.values().size(); ++n) batch.values()[n] *= 1.0 + double(n / A.nnz());
  auto const b = random<double, Extents<4, dyn>>({4, 72}, 2);
  tensor<double, Extents<4, dyn>> const expected = solve(batch, b, cg{.rtol = 1e-11}, ilu0{});
  auto const errors = threads::run(2, [&](auto& world) {
    mesh<axis<"dp">> m(world);
    auto D = distribute<Shard<0>>(batch, m);
    auto x = solve(D, distribute<Shard<0>>(b, m), cg{.rtol = 1e-11}, ilu0{});
    return double(norm(gather(x) - expected));
  });
  for (double e : errors) CHECK(e <= 1e-8 * double(norm(expected)));
}

TEST_CASE("batches on one axis and rows on the other") {
  auto const A = problems::poisson<double>({9, 8});
  auto batch = to_batch<4>(A);
  for (index_t n = 0; n < batch.values().size(); ++n) batch.values()[n] *= 1.0 + double(n / A.nnz());
  auto const b = random<double, Extents<4, dyn>>({4, 72}, 2);
  tensor<double, Extents<4, dyn>> const expected = solve(batch, b, cg{.rtol = 1e-11}, jacobi{});
  auto const errors = threads::run(4, [&](auto& world) {
    mesh<axis<"dp", 2>, axis<"rows">> m(world);
    auto D = distribute<Shard<0>, SparseShard<0>>(batch, m, strips{});
    auto x = solve(D, distribute(b, D.row_layout()), cg{.rtol = 1e-11}, jacobi{});
    return double(norm(gather(x) - expected));
  });
  for (double e : errors) CHECK(e <= 1e-8 * double(norm(expected)));
}
} // namespace test_items
