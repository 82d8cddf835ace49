// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the dimensions of this operand are 0 to
#include <sla/spmd.hpp>
#include <sla/spmd/rule/tables.hpp>

struct column_sums {};
#ifdef FIXED
template <>
inline constexpr auto sla::rule_of<column_sums> = sla::strategies::sum(sla::dims(4, 6), sla::strategies::over(0));
#else
template <>
inline constexpr auto sla::rule_of<column_sums> = sla::strategies::sum(sla::dims(4, 6), sla::strategies::over(2));
#endif
int main() {}
