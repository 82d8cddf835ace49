// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: for_run_time_numbers_write_uniform
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Rows = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0, Part<>>>;

auto f(Rows const& D, double s) {
#ifdef FIXED
  return uniform(s) * D;
#else
  return s * D;
#endif
}
int main() {}
