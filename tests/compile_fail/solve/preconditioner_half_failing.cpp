// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: the compiler looks at the preconditioner when it has left the call of solve
// expect-error: a preconditioner with a member failure\(item\), which has .why, a reason, and .what, a text, has bytes\(\) and batch_count\(\) too
#include <sla/krylov.hpp>

struct may_fail {
  struct why_not {
    sla::reason why = sla::reason::converged;
    std::string what;
  };
  may_fail adjoint() const { return *this; }
  why_not failure(sla::index_t) const { return {}; }
#ifdef FIXED
  std::size_t bytes() const { return 0; }
  sla::index_t batch_count() const { return 1; }
#endif
  template <sla::Tensorial X>
  friend auto operator*(may_fail const&, X&& x) {
    return 0.5 * std::forward<X>(x);
  }
};

int main() {
  auto A = sla::problems::poisson({4, 4});
  auto b = sla::random<double>(16, 1);
  return sla::solve(A, b, sla::cg{}, may_fail{}).size() == 16 ? 0 : 1;
}
