// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// GMRES on the device, real and complex.
#include "same_answer.cuh"

using namespace on_device;

int main() {
  return run([] {
    auto const C = problems::convection_diffusion<double>({40, 50}, 0.5);
    same_answer(C, random<double>(C.rows(), 1), gmres{.restart = 20, .rtol = 1e-10}, 1e-7, "gmres");
    auto const Z = problems::convection_diffusion<std::complex<double>>({40, 50}, 0.5);
    same_answer(Z, random<std::complex<double>, Extents<dyn, dyn>>({Z.rows(), 2}, 4), gmres{.restart = 20, .rtol = 1e-10}, 1e-7,
                "complex gmres with right-hand sides");
  });
}
