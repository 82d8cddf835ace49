// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: and norm.gather.D. - gather.E.. matrices
#include <sla/dist.hpp>

using namespace sla;
using Matrix_ = dsparse_tensor<sparse_tensor<double>, mesh<axis<"rows">>, SparseShard<0, Part<>>>;

bool f(Matrix_ const& D, Matrix_ const& E) {
#ifdef FIXED
  return norm(gather(D) - gather(E)) <= 1e-12;
#else
  return D == E;
#endif
}
int main() {}
