// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thousand small systems on one pattern, in one call: a reaction between neighbours whose rates differ from item to item. Each item
// stops by itself. The independent answer is Eigen's dense LU, one system at a time.
#include <algorithm>
#include <cmath>
#include <vector>

#include <Eigen/LU>

#include <sla/solve.hpp>

#include "check.hpp"

int main() {
  using namespace sla;
  constexpr index_t items = 1000, n = 12;

  // One pattern, three diagonals; values are [item][entry].
  std::vector<index_t> row, col;
  for (index_t i = 0; i < n; ++i)
    for (index_t j = std::max<index_t>(0, i - 1); j <= std::min(n - 1, i + 1); ++j) row.push_back(i), col.push_back(j);
  std::vector<double> values;
  for (index_t k = 0; k < items; ++k)
    for (std::size_t e = 0; e < row.size(); ++e) {
      double const rate = 1.0 + 0.01 * double(k % 97) + 0.1 * double(row[e]);
      values.push_back(row[e] == col[e] ? 1.0 + 2.5 * rate : row[e] < col[e] ? -rate : -0.5 * rate);
    }
  auto const A = from_triplets<double>(Shape<Batch<dyn>, dyn, dyn, Block<>>({items}, n, n), row, col, values);
  auto const b = random<double, Extents<dyn, dyn>>({items, n}, 5);

  auto const [x, report] = try_solve(A, b, bicgstab{.rtol = 1e-12}, jacobi{});
  std::cout << report << '\n';

  double worst = 0;
  for (index_t k = 0; k < items; ++k) {
    Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(n, n);
    Eigen::VectorXd right(n);
    for (std::size_t e = 0; e < row.size(); ++e) dense(row[e], col[e]) = values[std::size_t(k) * row.size() + e];
    for (index_t i = 0; i < n; ++i) right(i) = b(k, i);
    Eigen::VectorXd const answer = dense.partialPivLu().solve(right);
    for (index_t i = 0; i < n; ++i) worst = std::max(worst, std::abs(answer(i) - x(k, i)));
  }
  checks check;
  check.at_most("largest difference to Eigen's dense LU", worst, 1e-9);
  return check.exit_status();
}
