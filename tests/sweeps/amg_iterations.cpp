// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many iterations multigrid takes: figures of problems that are large enough to show them. What it computes is in tests/solve/amg*.cpp, with sanitizers.
#include <cmath>
#include <vector>

#include "suites/grid_problems.hpp"
#include "suites/messages.hpp"
#include "suites/multigrid.hpp"

#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/solve/precond/amg/blocks/rigid_body_modes.hpp>
#include <sla/solve/precond/block_jacobi.hpp>
#include <sla/solve/precond/composed/chebyshev.hpp>
#include <sla/solve/precond/composed/gauss_seidel.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/ssor.hpp>
#include <sla/tensor/problems/random_problems.hpp>
#include <sla/tensor/problems/wave_problems.hpp>

using suite::shuffled, suite::tells;
using sla::index_t, sla::amg, sla::gauss_seidel;

namespace {
constexpr auto by_aggregates = sla::amg_coarsening::smoothed;
amg const constants{.cycle = sla::amg_cycle::amli, .coarsening = sla::amg_coarsening::plain};

/// Diffusion on n x n cells with a coefficient of their own, 10^u for u in [0, most]; the weight of a face is the harmonic mean.
sla::sparse_tensor<double> random_cells(index_t n, double most) {
  auto const u = sla::random<double>(n * n, 99);
  std::vector<index_t> rows, cols;
  std::vector<double> values;
  auto const k = [&](index_t i) { return std::pow(10.0, most * (u[i] + 1) / 2); };
  for (index_t i = 0; i < n * n; ++i) {
    double sum = 0;
    auto const face = [&](index_t j, bool inside) {
      double const w = inside ? 2 * k(i) * k(j) / (k(i) + k(j)) : k(i);
      sum += w;
      if (inside) rows.push_back(i), cols.push_back(j), values.push_back(-w);
    };
    face(i - n, i >= n), face(i - 1, i % n > 0), face(i + 1, i % n < n - 1), face(i + n, i < n * n - n);
    rows.push_back(i), cols.push_back(i), values.push_back(sum);
  }
  return sla::from_triplets<double>(n * n, n * n, rows, cols, values);
}
template <std::size_t D>
int cantilever_iterations(index_t const (&n)[D], amg options = {}) {
  options.near_null = sla::rigid_body_modes(sla::problems::grid_points(n));
  return suite::iterations(sla::problems::cantilever(n), sla::cg{.rtol = 1e-6}, options);
}
} // namespace

TEST_CASE("amg by aggregates takes jumps of the coefficients, from block to block and from cell to cell") {
  amg const options{.coarsening = by_aggregates};
  CHECK(suite::iterations(sla::problems::checkerboard({160, 160}, 1e4, 16), sla::cg{.rtol = 1e-6}, options) <= 16);
  CHECK(suite::iterations(sla::problems::checkerboard({160, 160}, 1e8, 16), sla::cg{.rtol = 1e-6}, options) <= 16);
  CHECK(suite::iterations(sla::problems::checkerboard({192, 192}, 1e8, 64), sla::cg{.rtol = 1e-6}, options) <= 20);
  CHECK(suite::iterations(sla::problems::checkerboard({240, 240}, 1e4, 80), sla::cg{.rtol = 1e-6}, options) <= 19);  // 3 x 3 cells of each
  CHECK(suite::iterations(random_cells(150, 4), sla::cg{.rtol = 1e-6}, options) <= 20);
  CHECK(suite::iterations(random_cells(520, 4), sla::cg{.rtol = 1e-6}, options) <= 22);  // two ranges of rows, which are aggregated beside each other
  CHECK(suite::iterations(random_cells(150, 4), sla::cg{.rtol = 1e-6}, amg{.smoother = sla::gauss_seidel{}, .coarsening = by_aggregates}) <= 18);
}

TEST_CASE("amg solves elasticity in iterations that hardly grow with the body, given its rigid modes") {
  std::vector<int> plane, space;
  for (index_t n : {16, 32, 64, 128}) plane.push_back(cantilever_iterations({n, n}));
  for (index_t n : {6, 9, 12, 15}) space.push_back(cantilever_iterations({n, n, n}));
  INFO("plane " << plane[0] << ' ' << plane[1] << ' ' << plane[2] << ' ' << plane[3] << ", space " << space[0] << ' ' << space[1] << ' ' << space[2] << ' ' << space[3]);
  CHECK(plane[3] <= 18);
  CHECK(plane[3] - plane[0] <= 5);
  CHECK(space[3] <= 18);
  CHECK(space[3] - space[0] <= 5);
  // A beam: its bending is what the constants of each unknown do not see.
  index_t const beam[] = {80, 4, 4};
  int const modes = cantilever_iterations(beam), constants = suite::iterations(sla::problems::cantilever(beam), sla::cg{.rtol = 1e-6}, amg{});
  CHECK(modes <= 34);
  CHECK(constants >= 2 * modes);
  CHECK(constants < suite::iterations(sla::problems::cantilever(beam), sla::cg{.rtol = 1e-6}, sla::block_jacobi{}));
  CHECK(cantilever_iterations(beam, amg{.smoother = sla::chebyshev{.degree = 1, .ratio = 10}}) < modes);
}

TEST_CASE("amg takes fewer iterations with a better smoother") {
  for (auto const& A : {sla::problems::poisson({120, 120}), sla::problems::checkerboard({120, 120}, 1e4, 16)}) {
    int const plain = suite::iterations(A, sla::cg{.rtol = 1e-8}, amg{.coarsening = sla::amg_coarsening::smoothed});
    CHECK(suite::iterations(A, sla::cg{.rtol = 1e-8}, amg{.smoother = gauss_seidel{}}) < plain);
    CHECK(suite::iterations(A, sla::cg{.rtol = 1e-8}, amg{.smoother = gauss_seidel{.part = 1024}}) < plain);
    CHECK(suite::iterations(A, sla::cg{.rtol = 1e-8}, amg{.smoother = sla::ssor{}}) < plain);
    CHECK(suite::iterations(A, sla::cg{.rtol = 1e-8}, amg{.smoother = sla::ilu0{}}) < plain);
    CHECK(suite::iterations(A, sla::cg{.rtol = 1e-8}, amg{.smoother = sla::chebyshev{.degree = 1, .ratio = 10}}) < plain);
    CHECK(std::abs(suite::iterations(A, sla::cg{.rtol = 1e-8}, sla::amg_in<float>{.smoother = sla::ssor{}}) - suite::iterations(A, sla::cg{.rtol = 1e-8}, amg{.smoother = sla::ssor{}})) <= 2);
  }
  CHECK(suite::iterations(sla::problems::poisson({120, 120}), sla::cg{.rtol = 1e-8}, amg{.smoother = sla::chebyshev{.degree = 3, .ratio = 20}}) <= 9);
}

TEST_CASE("amg by constants with the AMLI-cycle takes iterations that hardly grow, and automatic coarsening takes it") {
  char const* const amli = "AMLI-cycle of ";
  for (index_t n : {90, 180, 360}) {
    CHECK(suite::iterations(shuffled(sla::problems::poisson({n, n})), sla::cg{.rtol = 1e-6}, amg{}, amli) <= 20);
    CHECK(suite::iterations(shuffled(sla::problems::checkerboard({n, n}, 1e4, 8)), sla::cg{.rtol = 1e-6}, amg{}, amli) <= 22);
  }
  CHECK(suite::iterations(shuffled(sla::problems::poisson({30, 30, 30})), sla::cg{.rtol = 1e-6}, amg{}, amli) <= 17);
  CHECK(suite::iterations(sla::problems::poisson({60, 60}), sla::cg{.rtol = 1e-6}, constants, amli) <= 20);
  // Half as many as by visiting each level twice, without the steps' coefficients.
  auto const A = shuffled(sla::problems::poisson({180, 180}));
  CHECK(3 * suite::iterations(A, sla::cg{.rtol = 1e-6}, constants, amli) < 2 * suite::iterations(A, sla::cg{.rtol = 1e-6}, amg{.cycle = sla::amg_cycle::W, .coarsening = sla::amg_coarsening::plain}, "W-cycle"));
  // Aggregates of one direction are smoothed, and few rows too; what is asked for is done.
  CHECK(suite::iterations(shuffled(sla::problems::anisotropic({100, 100}, 1e-3)), sla::cg{.rtol = 1e-6}, amg{}, "V-cycle of ") <= 18);
  CHECK(suite::iterations(shuffled(sla::problems::poisson({60, 60})), sla::cg{.rtol = 1e-6}, amg{}, "smoothed aggregation") <= 18);
  CHECK(suite::iterations(A, sla::cg{.rtol = 1e-6}, amg{.cycle = sla::amg_cycle::W}, "W-cycle of ") <= 15);
  auto const T = shuffled(sla::problems::convection_diffusion({90, 90}, 1.0));
  CHECK(tells(sla::try_solve(T, sla::random<double>(T.rows(), 1), sla::bicgstab{}, amg{}).report.preconditioner, "smoothed aggregation"));
}

TEST_CASE("amg by smoothed aggregates takes two steps on small levels, and iterations that hardly grow, where the V-cycle's do") {
  std::vector<int> steps, once;
  for (index_t n : {100, 200, 300}) {
    auto const A = shuffled(sla::problems::anisotropic({n, n}, 0.1));
    steps.push_back(suite::iterations(A, sla::cg{.rtol = 1e-6}, amg{}, "AMLI-cycle of "));
    once.push_back(suite::iterations(A, sla::cg{.rtol = 1e-6}, amg{.coarsening = by_aggregates}, "V-cycle of "));
  }
  INFO(steps[0] << ' ' << steps[1] << ' ' << steps[2] << ", " << once[0] << ' ' << once[1] << ' ' << once[2]);
  CHECK(steps[2] <= steps[0] + 1);
  CHECK(once[2] > steps[2] + 1);
  auto const A = suite::rotated(260, 1e-3);
  CHECK(3 * suite::iterations(A, sla::cg{.rtol = 1e-6}, amg{}, "AMLI-cycle of ") < 2 * suite::iterations(A, sla::cg{.rtol = 1e-6}, amg{.coarsening = by_aggregates}, "V-cycle of "));
}

TEST_CASE("amg on a grid takes few iterations, at every size, and aggregates where a grid does not contract") {
  for (index_t n : {100, 101, 150, 256}) {
    CHECK(suite::iterations(sla::problems::poisson({n, n}), sla::cg{.rtol = 1e-6}, amg{}, "grid ") <= 8);
    CHECK(suite::iterations(sla::problems::checkerboard({n, n}, 1e4, 16), sla::cg{.rtol = 1e-6}, amg{}, "V-cycle") <= 12);
  }
  CHECK(suite::iterations(sla::problems::poisson({160, 70}), sla::cg{.rtol = 1e-6}, amg{}, "grid 160 x 70, 5 points") <= 8);
  CHECK(suite::iterations(sla::problems::poisson({22, 23, 24}), sla::cg{.rtol = 1e-6}, amg{}, "grid 22 x 23 x 24, 7 points") <= 9);
  CHECK(suite::iterations(sla::problems::checkerboard({160, 160}, 1e4, 8), sla::cg{.rtol = 1e-6}, amg{}, "grid 160 x 160") <= 10);
  CHECK(suite::iterations(suite::grid_operator(100, 1, 90, true, 1), sla::cg{.rtol = 1e-6}, amg{}, "grid 100 x 90, 9 points") <= 10);
  CHECK(suite::iterations(suite::grid_operator(20, 21, 22, true, 1), sla::cg{.rtol = 1e-6}, amg{}, "grid 20 x 21 x 22, 27 points") <= 12);
  CHECK(suite::iterations(sla::problems::anisotropic({100, 100}, 1e-3), sla::cg{.rtol = 1e-6}, amg{}, "smoothed aggregation") <= 12);
  CHECK(suite::iterations(sla::problems::checkerboard({100, 100}, 1e8, 4), sla::cg{.rtol = 1e-6}, amg{}, "plain aggregation") <= 22);  // float would not hold it
}
