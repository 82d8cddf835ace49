// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of a CG solve, operands included: bytes per unknown have a bound.
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

using namespace sla;

namespace {
template <class F>
double peak_per_unknown(index_t n) {
  auto const before = memory_in_use().now;
  auto const A = problems::poisson<double, F>({n, n});
  auto const b = ones<double>(n * n);
  memory_peak_reset();
  auto const [x, report] = try_solve(A, b, cg{.rtol = 1e-6}, jacobi{});
  CHECK(report.converged());
  std::size_t const peak = memory_in_use().peak - before;
  CHECK(report.bytes >= x.size() * sizeof(double));
  CHECK(report.bytes - before <= peak);
  return double(peak) / double(n * n);
}
}  // namespace

TEST_CASE("CG with Jacobi on five points holds at most 124 bytes per unknown") {
  // 64 of A, 8 each of b, x, the diagonal and four work vectors.
  CHECK(peak_per_unknown<Csr<>>(100) <= 120.1);
  // Five diagonals instead: 40.
  CHECK(peak_per_unknown<Dia>(100) <= 96.1);
}

TEST_CASE("a solve gives its memory back") {
  auto const before = memory_in_use().now;
  {
    auto const A = problems::poisson<double>({40, 40});
    auto const b = ones<double>(1600);
    auto const operands = memory_in_use().now;
    auto const x = solve(A, b, cg{}, jacobi{});
    CHECK(memory_in_use().now == operands + x.size() * sizeof(double));
  }
  CHECK(memory_in_use().now == before);
}
