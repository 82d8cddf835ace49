// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: store the adjoint beside A: with_adjoint.to<device_memory>.A., to<device_memory>.adjointed.A...
// alone: nvcc does not name its line, by which errors of programs that are compiled together are told from each other.
#include <sla/adapter/cuda.cuh>
#include <sla/expr/sparse/with_adjoint.hpp>
#include <sla/tensor/problems/problems.hpp>

using namespace sla;

int main() {
  auto const A = problems::convection_diffusion<double>({4, 4}, 2.0);
  auto const dA = to<device_memory>(A);
  auto const u = to<device_memory>(ones<double>(16));
  auto v = u;
#ifdef FIXED
  auto const K = with_adjoint(dA, to<device_memory>(adjointed(A)));
  fuse(set(v, adjoint(K) * u));
#else
  fuse(set(v, adjoint(dA) * u));
#endif
  return v.size() == 16 ? 0 : 1;
}
