// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: max\(x\), min\(x\) of a traced distributed x have no gradient: norm_inf\(x\) has one
// apart: clang does not name its line, by which errors of programs that are compiled together are told from each other.
#include <sla/dist.hpp>

using Line = sla::mesh<sla::axis<"rows">>;
double largest(sla::dtensor<sla::vector<double>, Line, sla::Shard<0>> const& x) {
  auto const f = [](auto const& v) {
#ifdef FIXED
    return squared_norm(v) / norm_inf(v);
#else
    return (sla::max)(v);
#endif
  };
  return std::get<0>(sla::value_and_gradient(f, x));
}
