// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: for_run_time_numbers_write_uniform
#include <sla/dist.hpp>

using namespace sla;
using Rows = dtensor<vector<double>, mesh<axis<"rows">>, Shard<0, Part<>>>;

auto f(Rows const& x, double s) {
#ifdef FIXED
  return eval(uniform(s) * x);
#else
  return eval(s * x);
#endif
}
int main() {}
