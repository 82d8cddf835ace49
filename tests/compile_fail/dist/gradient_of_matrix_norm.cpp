// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: of a traced D that is distributed entry by entry have no gradient: no rank has whole rows or columns of it
// apart: clang does not name its line, by which errors of programs that are compiled together are told from each other.
#include <sla/dist.hpp>

using Line = sla::mesh<sla::axis<"rows">>;
template <class D>
double largest(D const& d) {
#ifdef FIXED
  return std::get<0>(sla::value_and_gradient([](auto const& a) { return norm(a); }, d));
#else
  return std::get<0>(sla::value_and_gradient([](auto const& a) { return norm_inf(a); }, d));
#endif
}
template double largest(sla::dsparse_tensor<sla::sparse_tensor<double>, Line, sla::Hyper<>> const&);
