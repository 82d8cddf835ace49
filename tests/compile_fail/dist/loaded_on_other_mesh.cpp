// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the types are of tensors on another kind of mesh than this one
#include <sla/dist.hpp>

using namespace sla;
using Rows = mesh<axis<"rows">>;
using Column = dtensor<vector<double>, Rows, Shard<0, Part<>>>;

void f(mesh<axis<"tp">> const& other, Rows const& rows) {
#ifdef FIXED
  Column const x = load<Column>(rows, "state");
  (void)other;
#else
  auto const x = load<Column>(other, "state");
  (void)rows;
#endif
  (void)x;
}
int main() {}
