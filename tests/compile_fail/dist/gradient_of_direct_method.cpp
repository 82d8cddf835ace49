// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a direct method factors a sparse tensor of the host
#include <sla/dist.hpp>
#include <sla/least_squares.hpp>

using Line = sla::mesh<sla::axis<"rows">>;
double value(sla::dsparse_tensor<sla::sparse_tensor<double>, Line, sla::SparseShard<0, sla::Part<>>> const& d, sla::dtensor<sla::vector<double>, Line, sla::Shard<0, sla::Part<>>> const& b) {
  auto const f = [&](auto const& a) {
#ifdef FIXED
    return squared_norm(least_squares(a, b, sla::lsmr{}));
#else
    return squared_norm(least_squares(a, b, sla::dense_qr{}));
#endif
  };
  return std::get<0>(sla::value_and_gradient(f, d));
}
int main() {}
