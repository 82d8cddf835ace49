// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: another program needs the same instance of the sentence
// expect-error: gradients need the adjoint of A and of the preconditioner, and an operator of yours has none
#include <sla/solve.hpp>

struct halved {
#ifdef FIXED
  halved adjoint() const { return {}; }
#else
  void adjoint() const {}
#endif
  template <sla::Tensorial X>
  friend auto operator*(halved const&, X&& x) {
    return 0.5 * std::forward<X>(x);
  }
};
struct halving {
  using preconditioner_tag = void;
  halved setup(auto const&) const { return {}; }
};

int main() {
  auto const A = sla::problems::poisson<double>({4, 4});
  return sla::prepare(A, sla::gmres{}, halving{}).solve_transpose(sla::ones<double>(A.rows())).size() ? 0 : 1;
}
