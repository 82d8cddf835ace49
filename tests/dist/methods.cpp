// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The other methods on thread ranks: BiCGStab, GMRES, flexible GMRES and MINRES, with the preconditioners of the local block.
#include <sla/dist.hpp>
#include <sla/tensor/problems.hpp>

#include "catch.hpp"

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
