// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E07\]: this operation is not additive
#include <sla/dist.hpp>

using namespace sla;
using Mesh = mesh<axis<"tp", 4>>;
using Pending = dtensor<vector<double>, Mesh, Partial<>>;

auto f(Pending const& x) {
  auto const square = [](auto a) { return a * a; };
#ifdef FIXED
  return eval(apply(square, all_reduce<"tp">(x)));
#else
  return eval(apply(square, x));
#endif
}
int main() {}
