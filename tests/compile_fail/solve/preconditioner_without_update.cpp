// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the preconditioner has no member update\(A\)
#include <sla/krylov.hpp>

struct applied_halving {
  applied_halving adjoint() const { return *this; }
#ifdef FIXED
  template <class A>
  void update(A const&) {}
#endif
  template <sla::Tensorial X>
  friend auto operator*(applied_halving const&, X&& x) {
    return 0.5 * std::forward<X>(x);
  }
};

int main() {
  auto A = sla::problems::poisson({4, 4});
  auto b = sla::random<double>(16, 1);
  auto s = sla::prepare(A, sla::cg{}, applied_halving{});
  s.update(2.0 * A);
  return s.solve(b).size() == 16 ? 0 : 1;
}
