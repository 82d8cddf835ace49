// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: squared_norm.A. of a sparse tensor: squared_norm.values.A.., and norm.A. is its root
#include <sla/grad.hpp>

auto f(sla::sparse_tensor<double> const& A) {
  return sla::value_and_gradient([](auto const& a) {
#ifdef FIXED
    return squared_norm(values(a));
#else
    return squared_norm(a);
#endif
  }, A);
}
int main() {}
