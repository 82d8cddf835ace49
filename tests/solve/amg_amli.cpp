// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid by constants on aggregates with the AMLI-cycle: coarse matrices are sums, the cycle is linear, symmetric and near a contraction,
// iterations hardly grow, and automatic coarsening takes it where aggregates are large.
#include <cmath>
#include <sstream>

#include "suites/grid_problems.hpp"
#include "suites/krylov.hpp"
#include "suites/messages.hpp"
#include "suites/multigrid.hpp"

#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/tensor/algebra/diagonal.hpp>

using suite::shuffled, suite::tells;
using sla::index_t, sla::amg;

namespace {
amg const constants{.cycle = sla::amg_cycle::amli, .coarsening = sla::amg_coarsening::plain};

}  // namespace

TEST_CASE("amg by constants: coarse matrices are sums over aggregates, sorted, whatever the threads") {
  auto const A = shuffled(sla::problems::checkerboard({200, 200}, 100.0, 5));
  auto const M = constants.setup(A);
  auto const& levels = M.hierarchy().levels;
  REQUIRE(levels.size() >= 3);
  for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
    auto const& level = levels[l];
    auto const& next = levels[l + 1].A;
    CHECK(sla::has_sorted_columns(next.pattern()));
    auto const x = sla::random<double>(next.rows(), 3);
    sla::vector<double> const fine = level.P * x, product = level.A * fine, coarse = level.R * product, stored = next * x;
    CHECK(oracle::distance(coarse, stored) <= 1e-12 * sla::norm_inf(stored));
    index_t reached = 0;
    for (auto g : level.transfer->groups.of) reached += g >= 0;
    CHECK(level.P.nnz() == reached);
  }
  suite::same_bits_on_threads(A);
}

TEST_CASE("amg with the AMLI-cycle is linear, symmetric and definite, and serves new values and adjoints") {
  auto const A = sla::problems::checkerboard({40, 40}, 100.0, 6);
  for (auto coarsening : {sla::amg_coarsening::plain, sla::amg_coarsening::smoothed}) {
    amg const options{.cycle = sla::amg_cycle::amli, .coarsening = coarsening, .coarsest = 20};
    auto M = options.setup(A);
    CHECK(M.hierarchy().levels[1].least > 0);
    auto const b = sla::random<double>(A.rows(), 1), c = sla::random<double>(A.rows(), 2);
    sla::vector<double> const z = M * b, y = M * c, sum = M * (b - 3.0 * c);
    CHECK(oracle::distance(sum, sla::vector<double>(z - 3.0 * y)) <= 1e-12 * sla::norm_inf(z));
    CHECK(sla::dot(c, z) == Approx(sla::dot(y, b)).epsilon(1e-10));
    for (int seed : {3, 4, 5}) {
      auto const x = sla::random<double>(A.rows(), std::uint64_t(seed));
      sla::vector<double> const Ax = A * x, MAx = M * Ax;
      CHECK(sla::dot(Ax, MAx) > 0);
      CHECK(sla::dot(Ax, MAx) <= 1.1 * sla::dot(x, Ax));
    }
    CHECK(oracle::distance(sla::vector<double>(M.adjoint() * b), z) == 0);
    auto const before = M.hierarchy().levels[0].transfer.get();
    M.update(4.0 * A);
    CHECK(M.hierarchy().levels[0].transfer.get() == before);
    CHECK(oracle::distance(sla::vector<double>(4.0 * (M * b)), z) <= 1e-10 * sla::norm_inf(z));
  }
  // What was chosen stays with new values.
  auto const S = shuffled(sla::problems::poisson({90, 90}));
  auto M = amg{}.setup(S);
  M.update(sla::sparse_tensor<double>(2.0 * S));
  std::ostringstream out;
  out << M;
  CHECK(tells(out.str(), "amg: plain aggregation, AMLI-cycle of "));
  auto const b = sla::random<double>(S.rows(), 1);
  auto const [x, report] = sla::try_solve(S, b, sla::cg{}, amg{});
  auto const [y, queued] = sla::try_solve(S, b, sla::cg{}, amg{}, sla::on([](sla::frame f) { return sla::deferred(f, 4); }));
  CHECK(std::equal(x.begin(), x.end(), y.begin()));
  CHECK(queued.iterations() == report.iterations());
}

TEST_CASE("amg with the AMLI-cycle measures singular matrices in their range") {
  auto A = sla::problems::checkerboard({120, 100}, 100.0, 7);
  auto const at = sla::diagonal_positions(A.pattern());
  sla::vector<double> const sums = A * sla::ones<double>(A.rows());
  for (index_t i = 0; i < A.rows(); ++i) A.values()[at[i]] -= sums[i];
  amg const options{.cycle = sla::amg_cycle::amli, .coarsening = sla::amg_coarsening::plain};
  auto const M = options.setup(A);
  auto const& levels = M.hierarchy().levels;
  for (std::size_t l = 1; l + 1 < levels.size(); ++l) CHECK(levels[l].least > 0.1);
  auto const [x, report] = sla::try_solve(A, sla::vector<double>(A * sla::random<double>(A.rows(), 3)), sla::cg{.rtol = 1e-8}, options);
  INFO(report);
  CHECK(report.converged());
}
