// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E17\]
#include <sla/dist/grad/custom.hpp>
#include <sla/spmd/rule/table/einsum.hpp>

using namespace sla;
struct row_products {
  static auto apply(auto const& a, auto const& b) { return vector<double>(Extents<dyn>(a.extent(0) * b.extent(0))); }
};
template <>
inline constexpr auto sla::rule_of<row_products> = strategies::einsum("mk,mk->m");

using Ranks = mesh<axis<"tp", 4>>;
template <class P>
using Factor = dtensor<matrix<double>, Ranks, P>;

#ifdef FIXED
using Other = Factor<Shard<0>>;
#else
using Other = Factor<Shard<1>>;
#endif
// the refused result stands in a larger expression, which finds no fault of its own
auto squared(Other const& a, Factor<Shard<0>> const& b) {
  auto const rows = custom<row_products>(a, b);
  return squared_norm(exp(2.0 * rows) - rows);
}
int main() {}
