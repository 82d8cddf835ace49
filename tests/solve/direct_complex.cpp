// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "suites/krylov.hpp"

#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>

namespace {
using complex = std::complex<double>;

template <class A, class B, class X>
void is_dense_solution(A const& a, B const& b, X const& x) {
  auto const dense = suite::dense_solution(a, b);
  CHECK(oracle::distance(std::vector(x.begin(), x.end()), dense) <= 1e-11);
}
}  // namespace

TEST_CASE("lu in complex numbers") {
  auto const A = suite::complex_problem<sla::bicgstab>(6);
  auto const b = sla::random<complex>(A.rows(), 2);
  sla::lu const f(A);
  is_dense_solution(A, b, f.solve(b));
  is_dense_solution(sla::adjointed(A), b, f.solve_adjoint(b));
  is_dense_solution(sla::transposed(A), b, f.solve_transpose(b));
}
TEST_CASE("ldlt of a Hermitian matrix") {
  auto const A = suite::complex_problem<sla::cg>(6);
  auto const b = sla::random<complex>(A.rows(), 3);
  sla::ldlt const f(A);
  is_dense_solution(A, b, f.solve(b));
  is_dense_solution(A, b, f.solve_adjoint(b));
  is_dense_solution(sla::transposed(A), b, f.solve_transpose(b));
}
