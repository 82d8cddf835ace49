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
TEST_CASE("dense factors of what is nearly full, in complex numbers") {
  auto const A = sla::to<sla::Csr<>>(sla::random<complex_t, sla::Extents<sla::dyn, sla::dyn>>({40, 40}, 4));
  sla::sparse_tensor<complex_t> const H = A * adjoint(A) + sla::eye<complex_t>(40);
  auto const b = sla::random<complex_t>(40, 5);
  sla::lu const f(A);
  suite::is_dense_solution(A, b, f.solve(b), 1e-10);
  suite::is_dense_solution(sla::adjointed(A), b, f.solve_adjoint(b), 1e-10);
  suite::is_dense_solution(sla::transposed(A), b, f.solve_transpose(b), 1e-10);
  sla::ldlt const g(H);
  CHECK(g.preconditioner().bytes() == 40 * 40 * sizeof(complex_t));
  suite::is_dense_solution(H, b, g.solve(b), 1e-10);
  suite::is_dense_solution(sla::transposed(H), b, g.solve_transpose(b), 1e-10);
}
