// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: a direct method factors a sparse tensor of the host
#include <sla/solve/least_squares/least_squares_calls.hpp>

#include <sla/dist.hpp>
#include <sla/least_squares.hpp>

using Line = sla::mesh<sla::axis<"rows">>;
double value(sla::dsparse_tensor<sla::sparse_tensor<double>, Line, sla::SparseShard<0, sla::Part<>>> const& d, sla::dtensor<sla::vector<double>, Line, sla::Shard<0, sla::Part<>>> const& b) {
  auto const f = [&](auto const& a) {
#ifdef FIXED
    return squared_norm(try_least_squares(a, b, sla::lsmr{}).x);
#else
    return squared_norm(try_least_squares(a, b, sla::dense_qr{}).x);
#endif
  };
  return std::get<0>(sla::value_and_gradient(f, d));
}
int main() {}
