// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is yours in a solve: a stencil that is stored nowhere as the matrix, and a factorisation by Eigen of a nearby matrix as the
// preconditioner. Compared with Eigen's own solution of the assembled system.
#include <cmath>
#include <iostream>
#include <span>
#include <vector>

#include <Eigen/SparseCholesky>

#include <sla/grad.hpp>
#include <sla/solve.hpp>

namespace {
constexpr sla::index_t n = 80;  // unknowns of each direction, between walls

/// Flow through a material: the conductivity between two neighbours, by the place of the wall that they share.
double conductivity(double x, double y) { return 1.0 + 0.8 * std::sin(3.0 * x / n) * std::cos(5.0 * y / n); }
double even(double, double) { return 1.0; }

/// f(row, column, entry) for each entry of the matrix: the five points around each unknown, row after row.
template <class K, class F>
void for_entries(K const& k, F const& f) {
  for (sla::index_t j = 0; j < n; ++j)
    for (sla::index_t i = 0; i < n; ++i) {
      double const x = double(i), y = double(j), west = k(x - 0.5, y), east = k(x + 0.5, y), south = k(x, y - 0.5), north = k(x, y + 0.5);
      sla::index_t const row = j * n + i;
      f(row, row, west + east + south + north);
      if (i > 0) f(row, row - 1, -west);
      if (i + 1 < n) f(row, row + 1, -east);
      if (j > 0) f(row, row - n, -south);
      if (j + 1 < n) f(row, row + n, -north);
    }
}
template <class K>
Eigen::SparseMatrix<double> assembled(K const& k) {
  std::vector<Eigen::Triplet<double>> entries;
  for_entries(k, [&](sla::index_t i, sla::index_t j, double a) { entries.emplace_back(int(i), int(j), a); });
  Eigen::SparseMatrix<double> A(n * n, n * n);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}
using Array = Eigen::Map<Eigen::VectorXd>;
using ConstArray = Eigen::Map<Eigen::VectorXd const>;
}  // namespace

int main() {
  using namespace sla;
  using in = std::span<double const>;
  using out = std::span<double>;

  linear_operator<double> const A(
      n * n, n * n,
      [](in x, out y) {
        for_entries(conductivity, [&](index_t i, index_t j, double a) { y[std::size_t(i)] += a * x[std::size_t(j)]; });  // y is 0 at first
      },
      self_adjoint);
  Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> const near(assembled(even));
  linear_operator<double> const M(
      n * n, n * n, [&](in r, out z) { Array(z.data(), n * n) = near.solve(ConstArray(r.data(), n * n)); }, self_adjoint);

  auto const b = random<double>(n * n, 1);
  auto const [x, report] = try_solve(A, b, cg{.rtol = 1e-10}, M);
  auto const alone = try_solve(A, b, cg{.rtol = 1e-10}).report;
  std::cout << report << '\n' << alone << '\n';

  // the same system, assembled and factored by Eigen; and the gradient of the mean of x: A^-1 1 / n^2
  Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> const direct(assembled(conductivity));
  vector<double> y(n * n), wanted(n * n);
  Array(y.data(), n * n) = direct.solve(ConstArray(b.data(), n * n));
  Array(wanted.data(), n * n) = direct.solve(Eigen::VectorXd::Constant(n * n, 1.0 / double(n * n)));
  auto const [mean, slope] = value_and_gradient([&](auto const& rhs) { return sum(solve(A, rhs, cg{.rtol = 1e-10}, M)) / double(n * n); }, b);

  double const apart = norm(x - y) / norm(y), gradient = norm(slope - wanted) / norm(wanted);
  std::cout << "apart from Eigen's solution: " << apart << ", the gradient: " << gradient << ", mean " << mean << '\n';
  bool const good = report.converged() && apart < 1e-8 && gradient < 1e-8 && 4 * report.iterations() < alone.iterations();
  return good ? 0 : 1;
}
