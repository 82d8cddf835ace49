// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: derivatives of a method for least squares are not there
#include <sla/grad.hpp>
#include <sla/solve.hpp>

struct no_steps {
  double rtol = 1, atol = 0;
  int max_iterations = 1;
  sla::observer watch = {};
  using method_tag = void;
#ifndef FIXED
  using measure = sla::residual_of_normal_equations;
#endif
  static constexpr char const* name = "no steps";

  template <class S, class A, class M, class V, class X, class MakeStop>
  static auto run(S& space, A const&, M const&, V const& b, X&, MakeStop make_stop) {
    auto [bb] = fuse(space, squared_norm_of(b));
    return make_stop(space, bb).outcome();
  }
};

int main() {
  auto const A = sla::problems::poisson<double>({3, 2});
  auto const f = [&](auto const& b) { return norm(solve(A, b, no_steps{})); };
  return int(std::get<0>(sla::value_and_gradient(f, sla::ones<double>(6))));
}
