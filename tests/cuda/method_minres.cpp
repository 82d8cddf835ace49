// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MINRES and flexible GMRES on the device's space.
#include "methods.hpp"

using namespace sla;

TEST_CASE("minres has the host's answer") {
  auto A = problems::poisson<double>({12, 13});
  auto const diagonal = diagonal_positions(A.pattern());
  for (index_t i = 0; i < A.rows(); ++i) A.values()[diagonal[i]] -= 1.1;
  same_answer(A, random<double>(156, 4), minres{.rtol = 1e-10});
}

TEST_CASE("fgmres has the host's answer") {
  auto const A = problems::convection_diffusion<double>({12, 13}, 0.5);
  same_answer(A, random<double>(156, 5), fgmres{.restart = 25, .rtol = 1e-10});
}
