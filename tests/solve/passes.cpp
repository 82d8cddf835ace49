// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes, bytes and synchronisations, counted by a space that the library has never seen.
#include "catch.hpp"

#include <sla/solve.hpp>

#include "suites/counting.hpp"

using sla::dyn, sla::index_t;

namespace {
/// What `iterations` more iterations cost: the difference of two runs that end at the limit.
template <bool Many, class A, class B, class Method>
suite::counts per_iteration(A const& a, B const& b, Method method, int iterations = 10) {
  suite::counts first, second;
  method.rtol = 1e-300;
  method.max_iterations = 5;
  (void)sla::try_solve(a, b, method, sla::jacobi{}, sla::on(suite::counting<Many>(first)));
  method.max_iterations = 5 + iterations;
  auto const [x, report] = sla::try_solve(a, b, method, sla::jacobi{}, sla::on(suite::counting<Many>(second)));
  REQUIRE(report.reason() == sla::reason::iteration_limit);
  REQUIRE(report.iterations() == 5 + iterations);
  CHECK(first.synchronizations == 2);
  CHECK(second.synchronizations == 2);
  return {(second.fuses - first.fuses) / iterations, (second.passes - first.passes) / iterations, 0, 0, (second.bytes - first.bytes) / iterations};
}
}  // namespace

TEST_CASE("Jacobi-CG makes three passes per iteration and moves 160 bytes per unknown for five points") {
  auto const A = sla::problems::poisson({60, 60});
  auto const b = sla::random<double>(A.rows(), 1);
  auto const each = per_iteration<false>(A, b, sla::cg{});
  CHECK(each.passes == 3);
  // CSR: 12 bytes per entry and 4 per row; the boundary has fewer entries
  double const expected = double(A.nnz() * 12 + (A.rows() + 1) * 4) + 96.0 * double(A.rows());
  CHECK(double(each.bytes) == Approx(expected).epsilon(0.001));
  CHECK(expected / double(A.rows()) <= 160);
}

TEST_CASE("A batch and several right-hand sides add no pass, and A is read once for all right-hand sides") {
  auto const A = sla::problems::poisson({20, 20});
  auto const C = sla::to_batch<3>(A);
  auto const one = per_iteration<true>(A, sla::random<double, sla::Extents<dyn, dyn>>({A.rows(), 1}, 1), sla::cg{});
  auto const four = per_iteration<true>(A, sla::random<double, sla::Extents<dyn, dyn>>({A.rows(), 4}, 1), sla::cg{});
  auto const batch = per_iteration<true>(C, sla::random<double, sla::Extents<3, dyn>>({3, A.rows()}, 1), sla::cg{});
  CHECK(one.passes == 3);
  CHECK(four.passes == 3);
  CHECK(batch.passes == 3);
  index_t const matrix = A.nnz() * 12 + (A.rows() + 1) * 4, diagonal = 8 * A.rows();
  CHECK(four.bytes - matrix - diagonal == 4 * (one.bytes - matrix - diagonal));
}

TEST_CASE("Jacobi-MINRES makes two passes per iteration and moves 136 bytes per unknown beside A") {
  auto const A = sla::problems::poisson({60, 60});
  auto const each = per_iteration<false>(A, sla::random<double>(A.rows(), 1), sla::minres{});
  CHECK(each.passes == 2);
  CHECK(double(each.bytes) == Approx(double(A.nnz() * 12 + (A.rows() + 1) * 4) + 136.0 * double(A.rows())).epsilon(0.001));
}

TEST_CASE("BiCGStab makes five passes per iteration, GMRES and its flexible form four") {
  auto const A = sla::problems::convection_diffusion({30, 30}, 1.0);
  auto const b = sla::random<double>(A.rows(), 1);
  CHECK(per_iteration<false>(A, b, sla::bicgstab{}).passes == 5);
  CHECK(per_iteration<false>(A, b, sla::gmres{}).passes == 4);
  CHECK(per_iteration<false>(A, b, sla::fgmres{}).passes == 4);
}

TEST_CASE("A call of a method synchronises twice, whatever the iterations, on a queue too") {
  struct counted : sla::deferred {
    int& total;
    counted(sla::frame f, int lag, int& into) : sla::deferred(f, lag), total(into) {}
    ~counted() { total += synchronizations(); }
  };
  auto const A = sla::problems::poisson({40, 40});
  auto const b = sla::random<double>(A.rows(), 1);
  for (int lag : {0, 4, 32}) {
    int synchronizations = 0;
    auto const [x, report] = sla::try_solve(A, b, sla::cg{}, sla::jacobi{}, sla::on([&](sla::frame f) { return counted(f, lag, synchronizations); }));
    CHECK(report.converged());
    CHECK(report.iterations() > 50);
    CHECK(synchronizations == 2 * report.runs);
  }
}
