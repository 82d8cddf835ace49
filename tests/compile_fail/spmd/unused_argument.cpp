// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E21\]: .* a composed rule takes all operands of the call, and uses each of them
#include <sla/spmd.hpp>

using namespace sla;
using Ranks = mesh<axis<"dp", 2>>;
struct Grid {
  using value_type = double;
  using extents_type = Extents<dyn, dyn>;
};
using Rows = distributed<Grid, Ranks, Shard<0>>;

struct masked_copy; // a kernel of two operands
template <>
inline constexpr auto sla::rule_of<masked_copy> = rules::compose([](auto x, auto mask) {
#ifdef FIXED
  rules::ignore(mask);
#else
  static_cast<void>(mask);
#endif
  return rules::einsum<"mk->mk">(x, rules::linear_in<0>);
});

int main() { require_well_typed<masked_copy, Rows, Rows>(); }
