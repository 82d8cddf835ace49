// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: ilu0 and factorisations run on the host: bring A and b there
#include <sla/adapter/cuda.cuh>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/tensor/problems/problems.hpp>

using namespace sla;

int main() {
  auto const A = problems::poisson<double>({4, 4});
  auto const b = ones<double>(16);
#ifdef FIXED
  return solve(A, b, gmres{}, ilu0{}).size() ? 0 : 1;
#else
  return solve(to<device_memory>(A), to<device_memory>(b), gmres{}, ilu0{}).size() ? 0 : 1;
#endif
}
