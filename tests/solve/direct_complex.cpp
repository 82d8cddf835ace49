// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "suites/krylov.hpp"

#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>

using complex_t = std::complex<double>;

TEST_CASE("lu in complex numbers") {
  auto const A = suite::complex_problem<sla::bicgstab>(6);
  auto const b = sla::random<complex_t>(A.rows(), 2);
  sla::lu const f(A);
  suite::is_dense_solution(A, b, f.solve(b));
  suite::is_dense_solution(sla::adjointed(A), b, f.solve_adjoint(b));
  suite::is_dense_solution(sla::transposed(A), b, f.solve_transpose(b));
}
TEST_CASE("ldlt of a Hermitian matrix") {
  auto const A = suite::complex_problem<sla::cg>(6);
  auto const b = sla::random<complex_t>(A.rows(), 3);
  sla::ldlt const f(A);
  suite::is_dense_solution(A, b, f.solve(b));
  suite::is_dense_solution(A, b, f.solve_adjoint(b));
  suite::is_dense_solution(sla::transposed(A), b, f.solve_transpose(b));
}
