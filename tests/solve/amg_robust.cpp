// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid where it is hard: coefficients that jump from cell to cell, constants that survive every level, matrices that are singular,
// fall into parts or are no elliptic operators at all. What does not converge says so.
#include <cmath>
#include <complex>

#include "suites/grid_problems.hpp"
#include "suites/krylov.hpp"
#include "suites/messages.hpp"
#include "suites/multigrid.hpp"

#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/solve/precond/composed/gauss_seidel.hpp>
#include <sla/tensor/algebra/diagonal.hpp>
#include <sla/tensor/problems/random_problems.hpp>

using suite::tells, suite::words;
using sla::dyn, sla::index_t, sla::amg;

namespace {
constexpr auto by_aggregates = sla::amg_coarsening::smoothed;

/// The solve says why it ended, and "converged" for true residuals alone.
template <class A, class B, class Method, class P>
sla::reason honest_reason(A const& a, B const& b, Method const& method, P const& options) {
  auto const [x, report] = sla::try_solve(a, b, method, options);
  INFO(report);
  double const residual = sla::norm(b - a * x);
  if (report.converged()) CHECK(residual <= 1.0001 * method.rtol * sla::norm(b));
  if (!report.converged()) CHECK(!(residual <= 0.5 * method.rtol * sla::norm(b)));
  return report.reason();
}
}  // namespace

TEST_CASE("amg: prolongations of all levels keep the constants of rows that sum to 0, whatever the signs of coarse entries") {
  for (auto const& A : {sla::problems::grid_laplacian({70, 60}, 7, 12), sla::problems::grid_laplacian({14, 15, 16}, 3, 12)}) {
    auto const M = amg{.coarsening = by_aggregates, .coarsest = 10}.setup(A);
    REQUIRE(M.levels().size() >= 4);
    bool positive = false;
    for (auto const& level : M.hierarchy().levels) {
      sla::vector<double> const sums = level.A * sla::ones<double>(level.A.rows());
      CHECK(sla::norm_inf(sums) <= 1e-12 * sla::norm_inf(A));
      for (index_t i = 0; i < level.A.rows(); ++i)
        level.A.pattern().view().for_row(i, [&](index_t s, index_t j) { positive = positive || (i != j && level.A.values()[s] > 0); });
      if (!level.transfer) continue;
      sla::vector<double> const one = level.P * sla::ones<double>(level.P.cols());
      CHECK(sla::norm_inf(one - sla::ones<double>(one.size())) <= 1e-11);
    }
    CHECK(positive);  // or this would test nothing
  }
}

TEST_CASE("amg of singular systems: solutions for b in the range, no claim for any other") {
  auto const A = sla::problems::grid_laplacian({50, 40}, 7, 6);
  index_t const n = A.rows();
  auto const r = sla::random<double>(n, 1);
  sla::vector<double> const b = r - sla::sum(r) / double(n);
  for (auto const& options : {amg{.coarsening = by_aggregates, .coarsest = 20}, amg{.cycle = sla::amg_cycle::W, .coarsest = 20}, amg{.smoother = sla::gauss_seidel{}, .coarsest = 20}}) {
    auto const [x, report] = sla::try_solve(A, b, sla::cg{.rtol = 1e-8}, options);
    INFO(report);
    CHECK(report.converged());
    CHECK(report.iterations() <= 30);
    CHECK(sla::norm(b - A * x) <= 1.01e-8 * sla::norm(b));
    CHECK(honest_reason(A, sla::vector<double>(b + 1.0), sla::cg{.rtol = 1e-8}, options) != sla::reason::converged);
  }
  // Two bodies: a null space of two dimensions.
  std::vector<index_t> from, to;
  for (index_t i = 0; i + 1 < 600; ++i)
    if (i != 299) from.push_back(i), to.push_back(i + 1);
  auto const L = sla::problems::graph_laplacian(600, from, to);
  sla::vector<double> c = sla::random<double>(600, 2);
  for (index_t half = 0; half < 2; ++half) {
    double sum = 0;
    for (index_t i = 0; i < 300; ++i) sum += c[300 * half + i];
    for (index_t i = 0; i < 300; ++i) c[300 * half + i] -= sum / 300;
  }
  CHECK(honest_reason(L, c, sla::cg{.rtol = 1e-8}, amg{.coarsest = 20}) == sla::reason::converged);
}

TEST_CASE("amg of matrices that are no elliptic operators: the right result, or the reason") {
  auto const b = sla::random<double>(900, 1);
  auto const P = sla::problems::poisson({30, 30});
  amg const options{.coarsest = 20};
  CHECK(honest_reason(suite::shifted(P, -0.5), b, sla::cg{}, options) != sla::reason::converged);       // indefinite
  CHECK(honest_reason(sla::sparse_tensor<double>(-1.0 * P), b, sla::cg{}, options) == sla::reason::indefinite_matrix);
  CHECK(honest_reason(P, b, sla::cg{.max_iterations = 2}, options) == sla::reason::iteration_limit);
  auto const random = sla::problems::random_dominant(900, 6, 3);
  CHECK(honest_reason(random, b, sla::bicgstab{}, options) == sla::reason::converged);
  auto zero_row = P;
  zero_row.pattern().view().for_row(31, [&](index_t s, index_t) { zero_row.values()[s] = 0; });
  CHECK(tells(words([&] { (void)sla::solve(zero_row, b, sla::bicgstab{}, options); }), "amg: the diagonal entry of row 31 is zero or not stored"));
  auto broken = P;
  broken.values()[17] = std::nan("");
  CHECK(tells(words([&] { (void)sla::solve(broken, b, sla::cg{}, options); }), "every entry must be a finite number"));
  auto spoilt = b;
  spoilt[3] = std::nan("");
  CHECK(tells(words([&] { (void)sla::solve(P, spoilt, sla::cg{}, options); }), "every element must be a finite number"));

  // Small, diagonal, already coarse: the answer at once.
  auto const one = sla::from_triplets<double>(1, 1, {0}, {0}, {4.0});
  CHECK(sla::solve(one, sla::vector<double>{2.0}, sla::cg{}, amg{})[0] == Approx(0.5));
  CHECK(amg{}.setup(sla::problems::poisson({14, 14})).levels().size() == 1);
  auto const few = sla::try_solve(sla::problems::poisson({14, 14}), sla::random<double>(196, 2), sla::cg{}, amg{}).report;
  CHECK(few.iterations() == 1);
  sla::vector<double> const d = 2.0 + sla::random<double>(900, 4);
  CHECK(sla::try_solve(sla::sparse_tensor<double>(sla::diagonal(d)), b, sla::cg{}, options).report.iterations() == 1);
  CHECK(tells(words([] { (void)amg{.coarsening = sla::amg_coarsening::grid, .near_null = sla::matrix<double>({9, 1})}.setup(sla::problems::poisson({3, 3})); }),
              "grids take no near-null space"));
}

TEST_CASE("amg by coarse points: constants are kept by few weights, M is a contraction and has the adjoint that it says") {
  amg const classical{.coarsening = sla::amg_coarsening::classical, .coarsest = 10};
  auto const L = sla::problems::grid_laplacian({30, 20}, 7, 6);
  auto const M = classical.setup(L);
  REQUIRE(M.levels().size() >= 3);
  for (auto const& level : M.hierarchy().levels) {
    if (!level.transfer) continue;
    auto const& of = level.transfer->groups.of;
    auto const view = level.P.pattern().view();
    auto const fine = level.A.pattern().view();
    sla::vector<double> const one = level.P * sla::ones<double>(level.P.cols());
    CHECK(sla::norm_inf(one - sla::ones<double>(one.size())) <= 1e-10);
    for (index_t i = 0; i < level.P.rows(); ++i) {
      CHECK(view.row_ptr[i + 1] - view.row_ptr[i] <= 4);
      if (of[i] >= 0) CHECK((view.row_ptr[i + 1] - view.row_ptr[i] == 1 && view.col[view.row_ptr[i]] == of[i]));
      double largest = 0;
      fine.for_row(i, [&](index_t s, index_t j) { largest = std::max(largest, j == i ? 0 : -level.A.values()[s]); });
      bool reaches = of[i] >= 0;  // a row between depends strongly on a coarse point
      fine.for_row(i, [&](index_t s, index_t j) { reaches = reaches || (j != i && of[j] >= 0 && -level.A.values()[s] >= 0.25 * largest); });
      CHECK(reaches);
    }
  }
  suite::contracts(classical.setup(sla::problems::checkerboard({18, 18}, 100.0, 6)), sla::problems::checkerboard({18, 18}, 100.0, 6));
  auto const transport = sla::problems::convection_diffusion({12, 12}, 3.0);
  auto const T = classical.setup(transport);
  auto const x = sla::random<double>(144, 1), y = sla::random<double>(144, 2);
  sla::vector<double> const Tx = T * x, Ty = T.adjoint() * y;
  CHECK(std::abs(sla::dot(Tx, y) - sla::dot(x, Ty)) <= 1e-11 * sla::norm(Tx) * sla::norm(y));
  auto const hermitian = suite::complex_problem<sla::cg>(9);
  CHECK(suite::iterations(hermitian, sla::cg{.rtol = 1e-8}, classical, "classical") <= 18);
  auto U = classical.setup(transport);
  U.update(2.0 * transport);
  CHECK(U.hierarchy().levels[0].transfer.get() != nullptr);
  CHECK(sla::norm(sla::vector<double>(2.0 * (U * x) - Tx)) <= 1e-13 * sla::norm(Tx));
  // A row that stands alone, and parts that do not meet.
  auto const parts = sla::from_triplets<double>(5, 5, {0, 1, 1, 2, 2, 3, 4, 3, 4}, {0, 1, 2, 1, 2, 3, 4, 4, 3}, {3, 2, -1, -1, 2, 2, 2, -1, -1});
  CHECK(honest_reason(parts, sla::random<double>(5, 1), sla::cg{}, amg{.coarsening = sla::amg_coarsening::classical, .coarsest = 1}) == sla::reason::converged);
}

TEST_CASE("amg takes coarse points where cells jump by 1e8, and keeps aggregates where these do; the AMLI-cycle is definite there") {
  auto const A = suite::cells(90, 1, 8);
  CHECK(suite::iterations(A, sla::cg{.rtol = 1e-6}, amg{}, "classical, extended+i") <= 14);
  CHECK(suite::iterations(A, sla::cg{.rtol = 1e-6}, amg{.coarsening = by_aggregates}, "smoothed") >= 25);
  auto const b = sla::random<double>(A.rows(), 1);
  sla::set_threads(1);
  sla::vector<double> const one = amg{}.setup(A) * b;
  sla::set_threads(3);
  sla::vector<double> const three = amg{}.setup(A) * b;
  sla::set_threads(0);
  CHECK(std::equal(one.begin(), one.end(), three.begin()));
  auto const B = suite::cells(110, 6, 6);  // Lanczos's vector must see the squares whose coefficients are small
  CHECK(suite::iterations(B, sla::cg{.rtol = 1e-6}, amg{.cycle = sla::amg_cycle::amli, .coarsening = sla::amg_coarsening::plain}, "plain") <= 30);
  // Six steps of Lanczos's iteration do not see the largest eigenvalues of M A here, of which the cycle's steps know a bound.
  CHECK(suite::iterations(suite::cells(110, 6, 7), sla::cg{.rtol = 1e-6}, amg{.cycle = sla::amg_cycle::amli, .coarsening = sla::amg_coarsening::plain}, "plain") <= 30);
  CHECK(suite::iterations(suite::shuffled(suite::cells(110, 6, 5)), sla::cg{.rtol = 1e-6}, amg{}, "AMLI-cycle") <= 30);
}

TEST_CASE("amg of a network with hubs is coarsened by constants, where smoothing would fill the coarse matrices, with new values too") {
  index_t const n = 6000;
  auto const network = [&](double weight) {  // each node is linked to four ends of links before it (Barabasi and Albert 1999), in two directions with different weights
    sla::triplets<double> t(n, n);
    std::vector<index_t> ends{0, 1, 2, 3, 4};
    auto const pick = sla::random<double>(8 * n, 5);
    for (index_t i = 0; i < n; ++i) t.add(i, i, 1e-3);
    for (index_t i = 5, draw = 0; i < n; ++i)
      for (int e = 0; e < 4; ++e, ++draw) {
        index_t const j = ends[std::size_t(0.5 * (pick[2 * draw] + 1) * double(ends.size() - 1))];
        if (j == i) continue;
        double const w = 1.5 + pick[2 * draw + 1];
        t.add(i, j, -w), t.add(j, i, -weight * w), t.add(i, i, w), t.add(j, j, w);
        ends.push_back(i), ends.push_back(j);
      }
    return t.build();
  };
  auto const complexity = [](auto const& M) {
    index_t entries = 0;
    for (auto const& level : M.hierarchy().levels) entries += level.A.nnz();
    return double(entries) / double(M.hierarchy().levels.front().A.nnz());
  };
  auto const A = network(0.3);
  auto M = amg{}.setup(A);
  CHECK(complexity(M) < 2);
  CHECK(complexity(amg{.coarsening = by_aggregates}.setup(A)) > 4);  // who names it gets it
  CHECK(honest_reason(A, sla::random<double>(n, 1), sla::bicgstab{.rtol = 1e-10}, amg{}) == sla::reason::converged);
  auto const x = sla::random<double>(n, 2), y = sla::random<double>(n, 3);
  sla::vector<double> const Mx = M * x, My = M.adjoint() * y;
  CHECK(std::abs(sla::dot(Mx, y) - sla::dot(x, My)) <= 1e-12 * sla::norm(Mx) * sla::norm(y));
  // New values: the levels of a first set-up.
  auto const B = network(0.6);
  M.update(B);
  M.update(A);
  CHECK(sla::norm_inf(sla::vector<double>(M * x) - Mx) <= 1e-13 * sla::norm_inf(Mx));
}

TEST_CASE("amg whose levels are smoothed and then constants has the same levels for the same values again") {
  int const size = 5, links = 4;
  index_t const count = 6000, n = count * size;  // chains of five, whose ends are linked weakly to those of hubs
  sla::triplets<double> t(n, n);
  std::vector<index_t> ends{0, 1, 2, 3, 4};
  auto const pick = sla::random<double>(4 * n * links, 5);
  index_t draw = 0;
  auto const below = [&](index_t limit) { return (std::min)(limit - 1, index_t(0.5 * (pick[draw++] + 1) * double(limit))); };
  auto const link = [&](index_t i, index_t j, double w) { t.add(i, j, -w), t.add(j, i, -w), t.add(i, i, w), t.add(j, j, w); };
  for (index_t i = 0; i < n; ++i) {
    t.add(i, i, 1e-5);
    if (i % size) link(i, i - 1, 1);
  }
  for (index_t c = 5; c < count; ++c)
    for (int e = 0; e < links; ++e) {
      index_t const j = ends[std::size_t(below(index_t(ends.size())))];
      if (j == c) continue;
      index_t const from = below(size), to = below(size);
      link(c * size + from, j * size + to, 0.05);
      ends.push_back(c), ends.push_back(j);
    }
  auto const A = t.build();
  auto M = amg{}.setup(A);
  bool smoothed = false, constant = false;
  REQUIRE(M.hierarchy().rounded);
  for (auto const& level : M.hierarchy().rounded->levels)
    if (level.transfer) (level.transfer->right ? smoothed : constant) = true;
  REQUIRE((smoothed && constant));
  CHECK(tells(M.remark(), "smoothed aggregation, then plain"));
  auto const x = sla::random<double>(n, 2);
  sla::vector<double> const before = M * x;
  M.update(sla::sparse_tensor<double>(3.0 * A));
  M.update(A);
  CHECK(sla::norm_inf(sla::vector<double>(M * x) - before) <= 1e-13 * sla::norm_inf(before));
}
