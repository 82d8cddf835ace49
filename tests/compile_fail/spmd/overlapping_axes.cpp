// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E27\]: axes of a mesh are not jointly orthogonal
#include <sla/spmd.hpp>

using namespace sla;

int main() {
#ifdef FIXED
  return mesh<axis<"a", 2, 5>, axis<"b", 2, 6>, axis<"c", 2, 12>>::rank - 3;
#else
  return mesh<axis<"a", 2, 5>, axis<"b", 2, 6>, axis<"c", 2, 7>>::rank - 3;
#endif
}
