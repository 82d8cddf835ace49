// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla\[E16\]: the rule of this operation is a composition, or knows nothing of ranks: it has no table to plan by
#include <sla/dist/plan/auto_plan.hpp>

using namespace sla;
struct row_lengths;
template <>
inline constexpr auto sla::rule_of<row_lengths> = rules::compose([](auto x) { return rules::einsum<"m_->m">(x); });

using Ring = mesh<axis<"tp", 4>>;
using Columns = dtensor<matrix<double>, Ring, Shard<1>>;

void lengths(Columns const& x) {
#ifdef FIXED
  auto const rows = redistribute<Shard<0>>(x);
  require_well_typed<row_lengths, std::remove_const_t<decltype(rows)>>();
#else
  auto_plan<row_lengths>(x);
#endif
}
int main() {}
