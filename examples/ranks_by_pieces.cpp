// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heat equation on ranks, by pieces: every rank gives the triplets of its own strip of the plate, none ever holds the whole matrix. The
// state is saved by four ranks, and three go on from it. The ranks are threads of this process; with sla::mpi the same text runs on many
// machines. Compared with one rank.
#include <vector>

#include <sla/dist.hpp>
#include <sla/solve.hpp>

#include "check.hpp"

namespace {
using namespace sla;
constexpr index_t n = 40;
constexpr double ratio = 4.0;  // dt / h^2

using Rows = mesh<axis<"rows">>;
using Matrix_on_ranks = dsparse_tensor<sparse_tensor<double>, Rows, SparseShard<0>>;
using Column = dtensor<vector<double>, Rows, Shard<0, Part<>>>;

/// Rows first .. last-1 of I + ratio L on an n x n grid.
void strip(index_t first, index_t last, auto const& add) {
  for (index_t row = first; row < last; ++row) {
    index_t const x = row % n, y = row / n;
    add(row, row, 1.0 + 4.0 * ratio);
    if (x > 0) add(row, row - 1, -ratio);
    if (x + 1 < n) add(row, row + 1, -ratio);
    if (y > 0) add(row, row - n, -ratio);
    if (y + 1 < n) add(row, row + n, -ratio);
  }
}
Column steps(Matrix_on_ranks const& A, Column w, int count) {
  auto const step = prepare(A, cg{.rtol = 1e-12}, jacobi{});
  for (int k = 0; k < count; ++k) w = step.solve(w);
  return w;
}
} // namespace

int main() {
  triplets<double> whole(n * n, n * n);
  strip(0, n * n, [&](index_t i, index_t j, double v) { whole.add(i, j, v); });
  auto const start = random<double>({n * n}, 2);
  auto const on_one_rank = prepare(whole.build(), cg{.rtol = 1e-12}, jacobi{});
  vector<double> u = start;
  for (int k = 0; k < 5; ++k) u = on_one_rank.solve(u);

  threads::run(4, [&](auto& world) {
    Rows const m(world);
    std::vector<index_t> i, j;
    std::vector<double> v;
    index_t const pieces = world.size(), mine = world.rank();
    strip(n * n * mine / pieces, n * n * (mine + 1) / pieces, [&](index_t row, index_t col, double value) {
      i.push_back(row), j.push_back(col), v.push_back(value);
    });
    auto const A = assemble<SparseShard<0>>(m, n * n, n * n, i, j, v);
    save("plate", A, steps(A, distribute(start, A.row_layout()), 3));
  });
  auto const found = threads::run(3, [&](auto& world) {
    auto const [A, w] = load<Matrix_on_ranks, Column>(Rows(world), "plate");
    return gather(steps(A, w, 2));
  });

  checks check;
  for (auto const& w : found) check.at_most("three steps on four ranks and two on three, against one, relative", norm(w - u) / norm(u), 1e-11);
  return check.exit_status();
}
