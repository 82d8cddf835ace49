// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: permuted.D, p., permuted.db, p., rcm.D., amd.D. on ranks are not there yet
#include <sla/dist.hpp>

using namespace sla;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, mesh<axis<"line">>, SparseShard<0, Part<>>>;

auto f(Matrix_ const& D) {
#ifdef FIXED
  return amd(gather(D));
#else
  return amd(D);
#endif
}
int main() {}
