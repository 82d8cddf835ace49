// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: distribute\(A, mesh, partitioner\): a partitioner has a member owner_map partition\(pattern view, parts\) const, strips\{\} is one
#include <sla/dist/assembly/distribute.hpp>

using namespace sla;
using Line = mesh<axis<"line">>;

auto f(sparse_tensor<double> const& A, Line const& m) {
#ifdef FIXED
  return distribute<SparseShard<0>>(A, m, strips{});
#else
  return distribute<SparseShard<0>>(A, m, 4);
#endif
}
int main() {}
