// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: distribute\(list, mesh\): the systems of a list are solved without communication: give each rank a list of its own
#include <sla/dist/assembly/distribute.hpp>

using namespace sla;
using Line = mesh<axis<"line">>;

auto f(sparse_list<double> const& A, [[maybe_unused]] Line const& m) {
#ifdef FIXED
  return A.systems(0, 2);
#else
  return distribute<Replicate>(A, m);
#endif
}
int main() {}
