// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E23\]: a branch on what may differ between ranks
#include <sla/dist/value/scalars.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;

int f(Mesh const& m) {
  auto const late = rank_along<"tp">(m) > 1;
#ifdef FIXED
  return any_of<"tp">(late) ? 1 : 0;
#else
  return late ? 1 : 0;
#endif
}
int main() {}
