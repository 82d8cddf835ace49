// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: of a traced distributed D have no gradient: that of a D on one rank has one
// apart: clang does not name its line, by which errors of programs that are compiled together are told from each other.
#include <sla/dist.hpp>

using Line = sla::mesh<sla::axis<"rows">>;
template <class D, class X>
double scaled(D const& d, X const& x) {
  auto const f = [&](auto const& a) {
#ifdef FIXED
    return squared_norm(a * x) / sla::uniform(norm(a.value()));
#else
    return squared_norm(a * x) / sla::uniform(norm(a));
#endif
  };
  return std::get<0>(sla::value_and_gradient(f, d));
}
template double scaled(sla::dsparse_tensor<sla::sparse_tensor<double>, Line, sla::SparseShard<0>> const&, sla::dtensor<sla::vector<double>, Line, sla::Shard<0, sla::Part<>>> const&);
