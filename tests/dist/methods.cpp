// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The other methods on thread ranks: BiCGStab, GMRES, flexible GMRES and MINRES, with the preconditioners of the local block.
#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_methods {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
template <class Method, class P>
void check(sparse_tensor<double> const& A, Method const& method, P const& p) {
  auto const b = random<double>({A.rows()}, 5);
  for (int ranks : {1, 2, 3, 8}) {
    auto const residuals = threads::run(ranks, [&](auto& world) {
      Rows m(world);
      auto D = distribute<SparseShard<0>>(A, m, strips{});
      return double(norm(b - A * gather(solve(D, distribute(b, D.row_layout()), method, p))));
    });
    for (double r : residuals) CHECK(r <= 1.01e-9 * double(norm(b)));
  }
}
}  // namespace

TEST_CASE("BiCGStab and GMRES on ranks, with every preconditioner") {
  auto const A = problems::convection_diffusion<double>({20, 15}, {30.0, -10.0});
  check(A, bicgstab{.rtol = 1e-9}, identity{});
  check(A, bicgstab{.rtol = 1e-9}, ilu0{});
  check(A, gmres{.rtol = 1e-9}, jacobi{});
  check(A, gmres{.rtol = 1e-9}, ilu0{});
  check(A, gmres{.rtol = 1e-9}, ilut{});
}

TEST_CASE("flexible GMRES on ranks, each with an inner iteration of its own block") {
  check(problems::convection_diffusion<double>({20, 15}, {30.0, -10.0}), fgmres{.rtol = 1e-9}, inner(bicgstab{.rtol = 0.1}, jacobi{}));
}

TEST_CASE("MINRES on ranks, for a matrix of both signs") {
  auto A = problems::poisson<double>({20, 15});
  auto const diagonal = diagonal_positions(A.pattern());
  for (index_t i = 0; i < A.rows(); ++i) A.values()[diagonal[i]] -= 1.1;
  check(A, minres{.rtol = 1e-9}, row_norms{});
}

TEST_CASE("systems of a list go whole to ranks, which solve their own as one rank solves all") {
  std::vector<sparse_tensor<double>> A;
  std::vector<sla::vector<double>> b;
  for (index_t n : {4, 21, 1, 9, 33}) {
    A.push_back(problems::poisson<double>({n, 11}));
    b.push_back(random<double>(11 * n, std::uint64_t(n)));
  }
  sparse_list const L(A);
  auto const all = try_solve(L, b, cg{.rtol = 1e-10}, jacobi{});
  for (int ranks : {1, 2, 3, 8}) {
    auto const differences = threads::run(ranks, [&](auto& world) {
      index_t const first = Balanced::first(world.rank(), L.count(), ranks), last = Balanced::first(world.rank() + 1, L.count(), ranks);
      if (first == last) return 0.0;
      auto const mine = try_solve(L.systems(first, last), std::vector(b.begin() + first, b.begin() + last), cg{.rtol = 1e-10}, jacobi{});
      double worst = 0;
      for (index_t k = first; k < last; ++k) {
        auto const here = std::size_t(k - first), there = std::size_t(k);
        worst = (std::max)(worst, double(norm_inf(mine.x[here] - all.x[there])));
        worst += std::abs(mine.report.items[here].iterations - all.report.items[there].iterations);
      }
      return worst;
    });
    for (double d : differences) CHECK(d == 0);
  }
}
} // namespace test_methods
