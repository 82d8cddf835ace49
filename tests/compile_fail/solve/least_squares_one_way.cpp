// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error: it multiplies by A and by its adjoint
#include <sla/least_squares.hpp>

struct forth {
  using value_type = double;
  using linear_operator_tag = void;
  sla::sparse_tensor<double> A;
  sla::index_t rows() const { return A.rows(); }
  sla::index_t cols() const { return A.cols(); }
#ifdef FIXED
  forth adjoint() const { return {sla::eval(sla::transpose(A))}; }
#endif
};
template <sla::Tensorial X>
auto operator*(forth const& a, X&& x) {
  return a.A * std::forward<X>(x);
}

int main() {
  forth const A{sla::problems::poisson<double>({4, 4})};
  auto x = sla::least_squares(A, sla::ones<double>(16), sla::lsmr{});
  return x[0] > 0 ? 0 : 1;
}
