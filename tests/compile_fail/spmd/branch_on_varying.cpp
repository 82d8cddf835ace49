// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E23\]: ranks may not branch on a value that differs among them
#include <sla/spmd/schedule/outline_operators.hpp>

using namespace sla;
using Rows = mesh<axis<"rows", 4>>;
struct Column {
  using value_type = double;
  using extents_type = Extents<dyn>;
};
template <class Tolerance>
using Number = distributed<double, Rows, Tolerance>;

constexpr auto refine = [](auto const& x, auto const& tolerance) {
  if (tolerance < 0.5) return norm(x);
  return norm(2.0 * x);
};
#ifdef FIXED
static_assert(schedule<refine, distributed<Column, Rows, Shard<0>>, Number<Replicate>>.size() == 1);
#else
static_assert(schedule<refine, distributed<Column, Rows, Shard<0>>, Number<Varying>>.size() == 1);
#endif
int main() {}
