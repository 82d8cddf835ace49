// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/row_norms.hpp>

#include "suites/krylov.hpp"

TEST_CASE("minres on a batch of complex blocks with several right-hand sides, transposed and in its adjoint") {
  sla::minres const method{.rtol = 1e-11};
  auto const [A, b] = suite::everything_at_once<sla::minres>();
  suite::same_everywhere(A, b, method, sla::row_norms{}, 1e-7);
  auto const s = sla::prepare(A, method, sla::row_norms{});
  auto const x = s.solve(b), y = s.solve_transpose(b), z = s.solve_adjoint(b);
  CHECK(oracle::distance(std::vector(y.begin(), y.end()), suite::dense_solution(sla::transposed(A), b)) <= 1e-7);
  CHECK(oracle::distance(std::vector(z.begin(), z.end()), std::vector(x.begin(), x.end())) <= 1e-7);
}
