// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the members `needs_definite`, `needs_hermitian` and `needs_square` of a method are, where it has them, static constexpr bool
#include <sla/krylov.hpp>

struct any_sides {
  double rtol = 1e-8, atol = 0;
  int max_iterations = 10;
  sla::observer watch = {};
#ifdef FIXED
  static constexpr bool needs_square = true;
#else
  bool needs_square = true;
#endif
  using method_tag = void;
  static constexpr char const* name = "any_sides";

  template <class S, class A, class M, class V, class MakeStop>
  static auto run(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) {
    return sla::cg::run(space, a, m, b, x, make_stop);
  }
};

int main() {
  auto A = sla::problems::poisson({4, 4});
  auto b = sla::random<double>(16, 1);
  return sla::solve(A, b, any_sides{}, sla::jacobi{}).size() == 16 ? 0 : 1;
}
