// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: store the adjoint beside it: with_adjoint.to<device_memory>.A., to<device_memory>.adjointed.A...
// alone: nvcc does not name its line, by which errors of programs that are compiled together are told from each other.
#include <sla/adapter/cuda.cuh>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/problems/problems.hpp>

using namespace sla;

int main() {
  auto const A = to_blocks<2, 2>(problems::convection_diffusion<double>({4, 4}, 2.0));
#ifdef FIXED
  auto const dA = to<device_memory>(A);
#else
  auto const dA = to<device_memory>(to<Dia>(A));
#endif
  auto const u = to<device_memory>(ones<double, Extents<dyn, 2>>({8, 2}));
  auto v = u;
  fuse(set(v, adjoint(dA) * u));
  return v.size() == 16 ? 0 : 1;
}
