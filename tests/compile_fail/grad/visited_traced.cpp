// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: sla: for_each_entry.A, f. of a traced A
#include <sla/grad.hpp>

int main() {
  auto const total = [](auto const& A) {
#ifdef FIXED
    return sum(values(A));
#else
    for_each_entry(A, [](sla::index_t, sla::index_t, auto const&) {});
    return sum(values(A));
#endif
  };
  auto const [value, to_A] = sla::value_and_gradient(total, sla::problems::poisson<double>({3, 3}));
  return value == 12 && to_A.values()[0] == 1 ? 0 : 1;
}
