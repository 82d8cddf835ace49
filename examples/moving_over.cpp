// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For those who come from Eigen, or have CSR arrays of their own: nothing is copied on the way here, nor on the way back.
#include <algorithm>
#include <cmath>
#include <vector>

#include <Eigen/SparseCholesky>

#include <sla/adapter/eigen.hpp>
#include <sla/solve.hpp>

#include "check.hpp"

int main() {
  using namespace sla;
  constexpr index_t n = 400;
  checks check;

  // An Eigen matrix by rows, as it stands.
  Eigen::SparseMatrix<double, Eigen::RowMajor> E(n, n);
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < n; ++i)
    for (int j : {i - 20, i - 1, i, i + 1, i + 20})
      if (j >= 0 && j < n) entries.emplace_back(i, j, i == j ? 5.0 : -1.0);
  E.setFromTriplets(entries.begin(), entries.end());
  Eigen::VectorXd const right = Eigen::VectorXd::LinSpaced(n, 0.0, 1.0);

  auto const A = borrow_eigen(E);
  auto const b = borrow(right.data(), right.size());
  auto const x = solve(A, b, cg{.rtol = 1e-12}, ic0{});
  Eigen::VectorXd const answer = Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>>(E).solve(right);
  check.at_most("Eigen's matrix here, against Eigen's LDLT", (as_eigen(x) - answer).norm() / answer.norm(), 1e-10);

  // A matrix of sla in an Eigen expression.
  auto const P = problems::poisson<double>({20, 20});
  Eigen::VectorXd const product = as_eigen(P) * as_eigen(x);
  vector<double> const here = P * x;
  check.at_most("a matrix of sla there", (product - as_eigen(here)).norm() / product.norm(), 1e-14);

  // Three arrays, as codes of every language have them; 64-bit row pointers here.
  std::vector<long long> row_ptr{0};
  std::vector<int> col;
  std::vector<double> value;
  for (int i = 0; i < n; ++i) {
    for (int j : {i - 1, i, i + 1})
      if (j >= 0 && j < n) col.push_back(j), value.push_back(i == j ? 2.0 : -1.0);
    row_ptr.push_back(static_cast<long long>(col.size()));
  }
  auto const T = borrow_csr(n, n, row_ptr, col, value);
  auto const y = solve(T, ones<double>(n), cholesky{});
  double worst = 0;  // of -y'' = 1 on n + 2 points: y_i = (i + 1) (n - i) / 2
  for (index_t i = 0; i < n; ++i) worst = std::max(worst, std::abs(y(i) - 0.5 * double(i + 1) * double(n - i)));
  check.at_most("raw arrays, against the closed form, relative", worst / (0.125 * double(n) * double(n)), 1e-10);
  return check.exit_status();
}
