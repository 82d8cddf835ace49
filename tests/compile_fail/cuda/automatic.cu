// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: picks a method for sparse tensors in host memory, on ranks for those by rows; here, name one
#include <sla/adapter/cuda.cuh>
#include <sla/tensor/problems/problems.hpp>

using namespace sla;

int main() {
  auto const A = problems::poisson<double>({4, 4});
  auto const b = ones<double>(16);
#ifdef FIXED
  return solve(A, b, cg{}, jacobi{}).size() ? 0 : 1;
#else
  return solve(to<device_memory>(A), to<device_memory>(b)).size() ? 0 : 1;
#endif
}
