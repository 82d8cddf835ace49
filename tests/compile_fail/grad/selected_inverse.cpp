// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: selected_inverse.A., traced, has no derivative
#include <sla/determinant.hpp>

int main() {
  auto const A = sla::problems::poisson<double>({3, 3});
  auto const [value, g] = sla::value_and_gradient(
      [](auto const& a) {
#ifdef FIXED
        return logdet(a) + sum(sla::selected_inverse(a.value()));
#else
        return logdet(a) + sum(sla::selected_inverse(a));
#endif
      },
      A);
  return value > 0 ? 0 : 1;
}
