// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// BiCGStab and GMRES on the device's space.
#include "methods.hpp"

using namespace sla;

TEST_CASE("bicgstab has the host's answer") {
  auto const A = problems::convection_diffusion<double>({12, 13}, 0.5);
  same_answer(A, random<double>(156, 4), bicgstab{.rtol = 1e-10});
}

TEST_CASE("gmres has the host's answer") {
  auto const A = problems::convection_diffusion<double>({12, 13}, 0.5);
  same_answer(A, random<double, Extents<dyn, dyn>>({156, 2}, 5), gmres{.restart = 25, .rtol = 1e-10});
}
