// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: eigs.D, k, .... of a matrix on ranks has no derivatives: of a symmetric D eigsh
#include <sla/dist.hpp>
#include <sla/eigenvalues.hpp>

using Line = sla::mesh<sla::axis<"rows">>;
double value(sla::dsparse_tensor<sla::sparse_tensor<double>, Line, sla::SparseShard<0>> const& d) {
  auto const f = [&](auto const& a) {
#ifdef FIXED
    return sum(eigsh(a, 2, sla::smallest{}).values);
#else
    return sum(eigs(a, 2, sla::smallest{}).values);
#endif
  };
  return std::get<0>(sla::value_and_gradient(f, d));
}
