// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: of what is distributed gather.A., or logdet.A, stochastic_lanczos
#include <sla/determinant.hpp>
#include <sla/dist.hpp>

using Line = sla::mesh<sla::axis<"rows">>;
double value(sla::dsparse_tensor<sla::sparse_tensor<double>, Line, sla::SparseShard<0>> const& d) {
  auto const f = [&](auto const& a) {
#ifdef FIXED
    return sla::logdet(a, sla::stochastic_lanczos{}).value;
#else
    return sla::logdet(a);
#endif
  };
  return std::get<0>(sla::value_and_gradient(f, d));
}
