// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ic0, ssor and block_jacobi on thread ranks: preconditioners of each rank's own block, their adjoints, failures of one rank.
#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_factorisations {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
/// M r on 1 to 4 ranks: on one rank that of the host, on more <M r, s> = <r, M^H s>.
template <class A, class B, class P>
void check(A const& a, B const& r, B const& s, P const& p) {
  B const expected = p.setup(a) * r;
  for (int ranks : {1, 2, 3, 4}) {
    auto const all = threads::run(ranks, [&](auto& world) {
      Rows m(world);
      auto D = distribute<SparseShard<0>>(a, m, strips{});
      auto M = linear_world<decltype(D)>::setup(p, D);
      M.update(D);
      auto const dr = distribute(r, D.row_layout()), ds = distribute(s, D.row_layout());
      auto Mr = dr, Ms = ds;
      Mr = M * dr, Ms = M.adjoint() * ds;
      B const whole = gather(Mr);
      return std::array{double(norm(whole - expected)), std::abs(double(dot(whole, s)) - double(dot(r, gather(Ms))))};
    });
    for (auto const& [error, defect] : all) {
      if (ranks == 1) CHECK(error <= 1e-14 * double(norm(expected)));
      CHECK(error <= 0.5 * double(norm(expected)));
      CHECK(defect <= 1e-13);
    }
  }
}
}  // namespace

TEST_CASE("each rank preconditions with its own block") {
  auto const A = problems::convection_diffusion<double>({11, 10}, 1.0);
  auto const r = random<double>({A.rows()}, 5), s = random<double>({A.rows()}, 6);
  check(A, r, s, ssor{.omega = 1.2});
  check(problems::poisson<double>({11, 10}), r, s, ic0{});
  auto const K = to_blocks<2, 2>(A);
  check(K, random<double, Extents<dyn, 2>>({55, 2}, 2), random<double, Extents<dyn, 2>>({55, 2}, 3), block_jacobi{});
}

TEST_CASE("conjugate gradients with incomplete Cholesky factors of each rank's own block") {
  auto const A = problems::poisson<double>({11, 10});
  auto const b = random<double>({A.rows()}, 5);
  int one_block = 0;
  for (int ranks : {1, 2, 3, 4}) {
    auto const all = threads::run(ranks, [&](auto& world) {
      Rows m(world);
      auto D = distribute<SparseShard<0>>(A, m, strips{});
      auto const solution = prepare(D, cg{.rtol = 1e-10}, ic0{}).try_solve(distribute(b, D.row_layout()));
      return std::pair{double(norm(b - A * gather(solution.x))), solution.report.iterations()};
    });
    if (ranks == 1) one_block = all[0].second;
    for (auto const& [residual, iterations] : all) {
      CHECK(residual <= 1.01e-10 * double(norm(b)));
      CHECK(iterations == all[0].second);
      CHECK(iterations >= one_block);
    }
  }
  CHECK(one_block < 20);
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
    CHECK_THAT(heard, Catch::Matchers::ContainsSubstring("is not positive") && Catch::Matchers::ContainsSubstring("the pivot of row 35 ") && Catch::Matchers::ContainsSubstring("found by rank 2"));
  }
}
} // namespace test_factorisations
