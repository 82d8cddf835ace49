// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Second derivatives are of real numbers.
// expect-error: sla: hvp\(f, x, v\): arguments are numbers, tensors and sparse tensors of double, on one rank and in host memory
#include <complex>

#include <sla/grad/call/hvp.hpp>

int main() {
#ifdef FIXED
  auto const x = sla::ones<double>(4);
#else
  auto const x = sla::ones<std::complex<double>>(4);
#endif
  auto const Hv = sla::hvp([](auto const& z) { return squared_norm(z); }, x, x);
  return Hv.size() == 4 ? 0 : 1;
}
