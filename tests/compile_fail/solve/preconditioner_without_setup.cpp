// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: the preconditioner has no member `setup\(A\)`
#include <sla/krylov.hpp>

struct nothing {
  using preconditioner_tag = void;
  static constexpr char const* name = "nothing";
#ifdef FIXED
  template <class A>
  auto setup(A const& a) const {
    return sla::identity{}.setup(a);
  }
#endif
};

int main() {
  auto A = sla::problems::poisson({4, 4});
  auto b = sla::random<double>(16, 1);
  return sla::solve(A, b, sla::cg{}, nothing{}).size() == 16 ? 0 : 1;
}
