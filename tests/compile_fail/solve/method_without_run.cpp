// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: the compiler looks at the call of run when it has left the call of solve
// expect-error: the method has no member `run\(space, A, M, b, x, make_stop\)`
#include <sla/krylov.hpp>

struct idle {
  double rtol = 1e-8, atol = 0;
  int max_iterations = 10;
  sla::observer watch = {};
  using method_tag = void;
  static constexpr char const* name = "idle";
#ifdef FIXED
  template <class S, class A, class M, class V, class MakeStop>
  static auto run(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) {
    return sla::cg::run(space, a, m, b, x, make_stop);
  }
#endif
};

int main() {
  auto A = sla::problems::poisson({4, 4});
  auto b = sla::random<double>(16, 1);
  return sla::solve(A, b, idle{}, sla::jacobi{}).size() == 16 ? 0 : 1;
}
