// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: compiled with others, clang does not tell who asked for it
// expect-error: of what is distributed gather.A., or logdet.A, stochastic_lanczos
#include <sla/determinant.hpp>
#include <sla/dist.hpp>

int main() {
  double most = 0;
  for (double d : sla::threads::run(2, [](auto& world) {
         sla::mesh<sla::axis<"rows">> m(world);
         auto const D = sla::distribute<sla::SparseShard<0>>(sla::problems::poisson<double>({3, 3}), m);
#ifdef FIXED
         return logdet(D, sla::stochastic_lanczos{}).value;
#else
         return logdet(D);
#endif
       }))
    most = d;
  return most > 0 ? 0 : 1;
}
