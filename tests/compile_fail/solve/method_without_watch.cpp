// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the method has no member `watch`
#include <sla/krylov.hpp>

struct unwatched {
  double rtol = 1e-8, atol = 0;
  int max_iterations = 10;
#ifdef FIXED
  sla::observer watch = {};
#endif
  using method_tag = void;
  static constexpr char const* name = "unwatched";

  template <class S, class A, class M, class V, class MakeStop>
  static auto run(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) {
    return sla::cg::run(space, a, m, b, x, make_stop);
  }
};

int main() {
  auto A = sla::problems::poisson({4, 4});
  auto b = sla::random<double>(16, 1);
  return sla::solve(A, b, unwatched{}, sla::jacobi{}).size() == 16 ? 0 : 1;
}
