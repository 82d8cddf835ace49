// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: nvcc tells the way to its error up to the solve, and no line of a program
// expect-error: a space without `scalar\(numbers\)`
#include <sla/solve.hpp>

struct own_space : sla::host_space<false> {
  using sla::host_space<false>::host_space;
#ifndef FIXED
  void scalar(double) = delete;
#endif
};

int main() {
  auto A = sla::problems::poisson({4, 4});
  auto b = sla::ones<double>(16);
  auto x = sla::solve(A, b, sla::cg{}, sla::jacobi{}, sla::on([](sla::frame f) { return own_space(f); }));
  return x[0] > 0 ? 0 : 1;
}
