// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ic0, ssor and block_jacobi on thread ranks: preconditioners of each rank's own block, their adjoints, failures of one rank.
#include <sla/dist.hpp>
#include <sla/tensor/problems.hpp>

#include "catch.hpp"

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
/// cg with the preconditioner reaches the solution on 1 to 4 ranks, and on one rank in the iterations of the host.
template <class A, class B, class P>
void check(A const& a, B const& b, P const& p) {
  cg const method{.rtol = 1e-10};
  auto const [x, report] = try_solve(a, b, method, p);
  for (int ranks : {1, 2, 3, 4}) {
    auto const all = threads::run(ranks, [&](auto& world) {
      Rows m(world);
      auto D = distribute<SparseShard<0>>(a, m, strips{});
      auto s = prepare(D, method, p);
      auto const db = distribute(b, D.row_layout());
      auto const solution = s.try_solve(db);
      s.update(D);
      bool const again = double(norm(gather(s.solve_adjoint(db)) - x)) <= 1e-8 * double(norm(x));
      return std::tuple{double(norm(gather(solution.x) - x)), solution.report.iterations(), again};
    });
    for (auto const& [error, iterations, again] : all) {
      CHECK(error <= 1e-8 * double(norm(x)));
      CHECK(again);
      if (ranks == 1) CHECK(std::abs(iterations - report.iterations()) <= 1);
    }
  }
}
}  // namespace

TEST_CASE("incomplete Cholesky factors and SSOR of each rank's own block") {
  auto const A = problems::poisson<double>({11, 10});
  auto const b = random<double>({A.rows()}, 5);
  check(A, b, ic0{});
  check(A, b, ssor{.omega = 1.2});
}

TEST_CASE("block Jacobi on ranks inverts the blocks of a block matrix") {
  auto const A = to_blocks<2, 2>(problems::poisson<double>({8, 9}));
  check(A, random<double, Extents<dyn, 2>>({36, 2}, 2), block_jacobi{});
}

TEST_CASE("a factorisation that fails on one rank keeps the factors of all") {
  auto const A = problems::poisson<double>({6, 6});
  auto const b = random<double>({36}, 5);
  auto broken = A;
  broken.values()[A.nnz() - 1] = 0.1;
  auto const errors = threads::run(3, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, strips{});
    auto const db = distribute(b, D.row_layout());
    auto s = prepare(D, cg{.rtol = 1e-10}, ic0{});
    std::string heard;
    try {
      s.update(distribute<SparseShard<0>>(broken, m, strips{}));
    } catch (value_error const& e) {
      heard = e.what();
    }
    return std::pair{double(norm(b - A * gather(s.solve(db)))), heard};
  });
  for (auto const& [residual, heard] : errors) {
    CHECK(residual <= 1e-10 * double(norm(b)));
    CHECK_THAT(heard, Catch::Matchers::ContainsSubstring("is not positive") && Catch::Matchers::ContainsSubstring("rows of rank 2"));
  }
}
