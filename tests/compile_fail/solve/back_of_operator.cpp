// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// apart: clang tells the way to its error up to the solve, and no line of a program
// expect-error: this method multiplies by the adjoint of A too
#include <sla/krylov.hpp>

struct both_ways {
  double rtol = 1, atol = 0;
  int max_iterations = 1;
  sla::observer watch = {};
  using method_tag = void;
  using measure = sla::residual_of_normal_equations;
  static constexpr char const* name = "both ways";
  static constexpr bool needs_square = false;

  template <class S, class A, class M, class V, class X, class MakeStop>
  static auto run(S& space, A const& a, M const&, V const& b, X& x, MakeStop make_stop) {
    auto [bb] = fuse(space, set(x, sla::adjoint(a) * b), squared_norm_of(x));
    return make_stop(space, bb).outcome();
  }
};

struct wave {
  using value_type = double;
  using linear_operator_tag = void;
  sla::linear_operator<double> inner;
#ifdef FIXED
  sla::linear_operator<double> adjoint() const { return inner; }
#endif
};
template <class X>
auto operator*(wave const& a, X const& x) {
  return a.inner * x;
}

int main() {
  wave const a{sla::linear_operator<double>(3, 3, [](auto, auto) {})};
  return int(sla::try_solve(a, sla::ones<double>(3), both_ways{}).x.size());
}
