// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plane stress by linear triangles: element matrices assembled from triplets, displacements prescribed on the boundary. Triangles
// reproduce every linear displacement (the patch test: Zienkiewicz and Taylor, The Finite Element Method, vol. 1, chapter 10).
#include <array>
#include <vector>

#include <sla/solve.hpp>

#include "check.hpp"

namespace {
using sla::index_t;
constexpr index_t n = 24;  // squares along each axis, two triangles in each

index_t node(index_t x, index_t y) { return x + (n + 1) * y; }
bool on_boundary(index_t x, index_t y) { return x == 0 || y == 0 || x == n || y == n; }
std::array<double, 2> position(index_t x, index_t y) {  // inner nodes are moved, so that no two triangles are alike
  double const off = on_boundary(x, y) ? 0.0 : 0.2 * double((7 * x + 3 * y) % 5 - 2) / 2.0;
  return {(double(x) + off) / n, (double(y) - off) / n};
}
/// The displacement that is prescribed on the boundary, and found inside.
std::array<double, 2> exact(std::array<double, 2> p) { return {0.02 * p[0] - 0.01 * p[1], 0.005 * p[0] + 0.03 * p[1]}; }

/// The stiffness of a triangle of unit thickness: area B^T D B, 6 x 6, row-major (u and v of each corner in turn).
std::array<double, 36> stiffness(std::array<std::array<double, 2>, 3> const& p) {
  constexpr double young = 210.0, poisson = 0.3;
  double const c = young / (1 - poisson * poisson);
  double const D[3][3] = {{c, c * poisson, 0}, {c * poisson, c, 0}, {0, 0, c * (1 - poisson) / 2}};
  double const twice_area = (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[2][0] - p[0][0]) * (p[1][1] - p[0][1]);
  double B[3][6] = {};
  for (std::size_t k = 0; k < 3; ++k) {
    auto const &q = p[(k + 1) % 3], &r = p[(k + 2) % 3];
    double const dx = (q[1] - r[1]) / twice_area, dy = (r[0] - q[0]) / twice_area;
    B[0][2 * k] = B[2][2 * k + 1] = dx;
    B[1][2 * k + 1] = B[2][2 * k] = dy;
  }
  std::array<double, 36> K{};
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j)
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) K[6 * i + j] += 0.5 * twice_area * B[a][i] * D[a][b] * B[b][j];
  return K;
}
} // namespace

int main() {
  index_t const unknowns = 2 * (n + 1) * (n + 1);
  sla::triplets<double> elements(unknowns, unknowns);
  for (index_t y = 0; y < n; ++y)
    for (index_t x = 0; x < n; ++x)
      for (int half = 0; half < 2; ++half) {
        std::array<std::array<index_t, 2>, 3> const corner = half == 0 ? std::array{std::array{x, y}, std::array{x + 1, y}, std::array{x + 1, y + 1}}
                                                                       : std::array{std::array{x, y}, std::array{x + 1, y + 1}, std::array{x, y + 1}};
        std::array<std::array<double, 2>, 3> points;
        std::array<index_t, 6> rows;
        for (std::size_t k = 0; k < 3; ++k) {
          points[k] = position(corner[k][0], corner[k][1]);
          rows[2 * k] = 2 * node(corner[k][0], corner[k][1]);
          rows[2 * k + 1] = rows[2 * k] + 1;
        }
        elements.add_block(rows, rows, stiffness(points));  // entries that are given again are summed
      }
  auto const K = elements.build();

  // The free unknowns in terms of the prescribed ones: K_ff u_f = -K_fp u_p.
  std::vector<index_t> free, fixed;
  std::vector<double> given, wanted;
  for (index_t y = 0; y <= n; ++y)
    for (index_t x = 0; x <= n; ++x)
      for (index_t d = 0; d < 2; ++d) {
        (on_boundary(x, y) ? fixed : free).push_back(2 * node(x, y) + d);
        (on_boundary(x, y) ? given : wanted).push_back(exact(position(x, y))[std::size_t(d)]);
      }
  auto const prescribed = sla::borrow(given.data(), index_t(given.size()));
  auto const right = sla::borrow(wanted.data(), index_t(wanted.size()));
  sla::vector<double> const load = -1.0 * (sla::select(K, free, fixed) * prescribed);
  auto const [u, report] = sla::try_solve(sla::select(K, free, free), load, sla::cg{.rtol = 1e-12}, sla::ic0{});
  std::cout << report << '\n';

  checks check;
  check.at_most("displacements of the inner nodes, relative", sla::norm(u - right) / sla::norm(right), 1e-9);
  return check.exit_status();
}
