// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: inner\(method, inner\(...\)\): an inner iteration is another operator at every step
#include <sla/solve.hpp>

int main() {
  auto A = sla::problems::poisson({4, 4});
  auto b = sla::random<double>(16, 1);
  auto const within = sla::inner(sla::gmres{}, sla::jacobi{});
#ifdef FIXED
  return sla::solve(A, b, sla::fgmres{}, sla::inner(sla::fgmres{}, within)).size() ? 0 : 1;
#else
  return sla::solve(A, b, sla::fgmres{}, sla::inner(sla::gmres{}, within)).size() ? 0 : 1;
#endif
}
