// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E22\]: nothing in place changes a placement
#include <sla/dist/value/in_place.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
template <class P>
using X = dtensor<vector<double>, Mesh, P>;

void f(X<Replicate>& r, X<Varying>& v) {
#ifdef FIXED
  v += r;
#else
  r += v;
#endif
}
int main() {}
