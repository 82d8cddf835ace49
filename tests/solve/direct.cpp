// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// lu, cholesky and ldlt against dense elimination; singular and indefinite matrices are named.
#include "catch.hpp"

#include <algorithm>
#include <new>

#include <malloc.h>

#include "data.hpp"
#include "suites/krylov.hpp"
#include "suites/memory_limit.hpp"

#include <sla/tensor/files/matrix_market.hpp>

using Catch::Matchers::ContainsSubstring;
using sla::dyn;

namespace {
auto const general = sla::problems::convection_diffusion({8, 8}, 3.0);
auto const definite = sla::problems::checkerboard({8, 8}, 10.0, 2);
}  // namespace

TEST_CASE("lu solves, with the transpose and the adjoint too, and refactors") {
  auto const b = sla::random<double>(64, 1);
  sla::lu f(general);
  suite::is_dense_solution(general, b, f.solve(b));
  suite::is_dense_solution(sla::transposed(general), b, f.solve_transpose(b));
  suite::is_dense_solution(sla::transposed(general), b, f.solve_adjoint(b));
  auto const other = sla::problems::convection_diffusion({8, 8}, 5.0);
  f.refactor(other);
  suite::is_dense_solution(other, b, f.solve(b));
  suite::is_dense_solution(sla::transposed(other), b, f.solve_transpose(b));
  CHECK(f.setups() == 2);
}

TEST_CASE("direct methods are options of solve, and run on a queue") {
  auto const b = sla::random<double>(64, 3);
  auto const [x, report] = sla::try_solve(definite, b, sla::cholesky{});
  CHECK(report.method == "cholesky");
  CHECK(report.converged());
  CHECK(report.iterations() == 1);
  suite::is_dense_solution(definite, b, x);
  suite::is_dense_solution(definite, b, sla::solve(definite, b, sla::ldlt{}));
  auto const y = sla::solve(definite, b, sla::cholesky{}, sla::on([](sla::frame f) { return sla::deferred(f, 4); }));
  CHECK(std::equal(x.begin(), x.end(), y.begin()));
}

TEST_CASE("direct methods on blocks and batches with several right-hand sides") {
  auto const C = sla::to_blocks<2, 2>(sla::stack_batch(definite, sla::problems::checkerboard({8, 8}, 3.0, 2)));
  auto const b = sla::random<double, sla::Extents<2, dyn, 2, dyn>>({2, C.rows(), 2, 3}, 4);
  suite::is_dense_solution(C, b, sla::solve(C, b, sla::ldlt{}));
}

TEST_CASE("singular and indefinite matrices are named") {
  auto const b = sla::random<double>(4, 5);
  auto const structural = sla::read_matrix_market<double>(data("structurally_singular.mtx"));
  auto const report = sla::try_solve(structural, b, sla::lu{}).report;
  CHECK(report.reason() == sla::reason::singular);
  CHECK_THAT(report.choice, ContainsSubstring("structurally singular"));
  auto const numerical = sla::read_matrix_market<double>(data("numerically_singular.mtx"));
  CHECK(sla::try_solve(numerical, b, sla::lu{}).report.reason() == sla::reason::singular);
  CHECK_THROWS_AS(sla::lu(numerical), sla::solve_error);

  auto indefinite = definite;
  indefinite.values()[sla::diagonal_positions(definite.pattern())[20]] *= -1;
  auto const c = sla::random<double>(64, 6);
  CHECK(sla::try_solve(indefinite, c, sla::cholesky{}).report.reason() == sla::reason::indefinite_matrix);
  CHECK_THROWS_WITH(sla::cholesky(indefinite), ContainsSubstring("not positive definite") && ContainsSubstring("the pivot of row 20 is not positive: use ldlt or lu"));
  auto again = sla::prepare(definite, sla::cholesky{});  // after factors that were whole
  again.update(indefinite);
  CHECK_THAT(again.try_solve(c).report.choice, ContainsSubstring("the pivot of row 20 is"));
  auto const apart = sla::block_diagonal(definite, indefinite);  // in a component by itself
  CHECK_THAT(sla::try_solve(apart, sla::ones<double>(128), sla::cholesky{}).report.choice, ContainsSubstring("the pivot of row 84 is"));
  suite::is_dense_solution(indefinite, c, sla::solve(indefinite, c, sla::ldlt{}));
  CHECK_THROWS_WITH(sla::solve(general, c, sla::cholesky{}), ContainsSubstring("not symmetric") && ContainsSubstring("use lu"));
}

TEST_CASE("a zero pivot of ldlt is no singularity, and the automatic choice solves what it cannot factor") {
  auto const swap = sla::from_triplets<double>(2, 2, {0, 1}, {1, 0}, {1.0, 1.0});
  sla::vector<double> const b{1.0, 2.0};
  auto const failed = sla::try_solve(swap, b, sla::ldlt{}).report;
  CHECK(failed.reason() == sla::reason::zero_pivot);
  CHECK_THAT(text(failed), ContainsSubstring("zero pivot") && ContainsSubstring("take lu{} or minres{}") && !ContainsSubstring("is singular"));
  CHECK_THROWS_WITH(sla::ldlt(swap), ContainsSubstring("zero pivot"));
  auto const hollow = sla::from_triplets<double>(3, 3, {0, 1, 1, 2, 2, 0}, {0, 1, 2, 1, 0, 2}, {1.0, 0.0, 2.0, 2.0, 3.0, 3.0});
  CHECK_THAT(sla::try_solve(hollow, sla::ones<double>(3), sla::ldlt{}).report.choice, ContainsSubstring("the pivot of row 1 is zero"));
  suite::is_dense_solution(swap, b, sla::solve(swap, b));

  // a saddle point: B in the corners, nothing on the diagonal below
  auto const saddle = sla::from_triplets<double>(4, 4, {0, 1, 0, 1, 2, 3}, {2, 3, 1, 0, 0, 1}, {1.0, 2.0, 0.5, 0.5, 1.0, 2.0});
  auto const c = sla::random<double>(4, 3);
  CHECK(sla::try_solve(saddle, c, sla::ldlt{}).report.reason() == sla::reason::zero_pivot);
  auto const [x, report] = sla::try_solve(saddle, c);
  CHECK(report.converged());
  suite::is_dense_solution(saddle, c, x);
  // asked for more than rounding allows: the best of all candidates, and no false name
  auto const asked = sla::try_solve(saddle, c, sla::automatic{.rtol = 1e-18}).report;
  CHECK((asked.converged() || asked.reason() == sla::reason::stagnated));
  CHECK(asked.residual() < 1e-15);
}

TEST_CASE("factors of what is nearly full are dense, and sparse again where Eigen has no dense ones") {
  auto const random = [](int seed) { return sla::to<sla::Csr<>>(sla::random<double, sla::Extents<dyn, dyn>>({40, 40}, std::uint64_t(seed))); };
  auto const full = random(8), other = random(9);
  auto const b = sla::random<double>(40, 10);
  std::size_t const dense_bytes = 40 * 40 * sizeof(double);
  sla::lu f(full);
  CHECK(f.preconditioner().bytes() == dense_bytes);
  for (auto const& A : {full, other, full}) {
    f.refactor(A);
    suite::is_dense_solution(A, b, f.solve(b), 1e-10);
    suite::is_dense_solution(sla::transposed(A), b, f.solve_transpose(b), 1e-10);
    suite::is_dense_solution(sla::transposed(A), b, f.solve_adjoint(b), 1e-10);
  }
  sla::sparse_tensor<double> const definite = full * transpose(full) + sla::eye<double>(40);
  auto indefinite = definite;
  indefinite.values()[sla::diagonal_positions(definite.pattern())[20]] *= -1;
  sla::ldlt g(definite);
  for (auto const& A : {definite, indefinite, definite}) {
    g.refactor(A);
    CHECK((g.preconditioner().bytes() == dense_bytes) == (A(20, 20) > 0));
    suite::is_dense_solution(A, b, g.solve(b), 1e-10);
  }
  suite::is_dense_solution(definite, b, sla::cholesky(definite).solve(b), 1e-10);
  CHECK_THROWS_WITH(sla::cholesky(indefinite), ContainsSubstring("not positive definite") && ContainsSubstring("row 20"));
  CHECK(sla::try_solve(sla::sparse_tensor<double>(1e-310 * full), b, sla::lu{}).report.reason() == sla::reason::singular);
  auto singular = full;
  for (int i = 0; i < 40; ++i) singular.values()[40 * i + 7] = 0;
  CHECK(sla::try_solve(singular, b, sla::lu{}).report.reason() == sla::reason::singular);
}

TEST_CASE("one singular item of a batch leaves the others solved") {
  auto zero = definite;
  for (auto& value : zero.values()) value = 0;
  auto const C = sla::stack_batch(definite, zero);
  auto const b = sla::random<double, sla::Extents<2, dyn>>({2, 64}, 7);
  auto const [x, report] = sla::try_solve(C, b, sla::ldlt{});
  CHECK(report.items[0].state == sla::reason::converged);
  CHECK(report.items[1].state == sla::reason::singular);
}

TEMPLATE_TEST_CASE("factors of a matrix without rows", "", sla::lu<>, sla::cholesky<>, sla::ldlt<>) {
  sla::sparse_tensor<double> const none;
  auto const s = sla::prepare(none, TestType{});
  CHECK(s.solve(sla::vector<double>{}).size() == 0);
  CHECK(s.solve_transpose(sla::vector<double>{}).size() == 0);
}

TEST_CASE("where memory runs out for new factors, the old values stay, and their factors, or reports say that there are none") {
  if (suite::sanitized) return;
  mallopt(M_MMAP_THRESHOLD, 1 << 16);  // what is freed counts no longer
  auto const A = sla::problems::poisson({30000});
  auto const b = sla::random<double>(A.rows(), 1);
  auto s = sla::prepare(A, sla::ldlt{});
  auto const x = s.solve(b);
  auto const solves = [&](auto const& of) {
    auto const [y, report] = of.try_solve(b);
    if (report.converged()) return std::equal(x.begin(), x.end(), y.begin());
    CHECK(report.reason() == sla::reason::setup_failed);
    CHECK_THAT(report.choice, ContainsSubstring("out of memory"));
    return false;
  };
  auto const updates = [&](auto& of, std::size_t more) {
    sla::sparse_tensor<double> to = 2.0 * A;
    try {
      suite::memory_limit const limit(more);
      of.update(std::move(to));
      return true;
    } catch (std::bad_alloc const&) {
      return false;
    }
  };
  int lost = 0, kept = 0;
  for (std::size_t more = 0; more < (std::size_t(16) << 20); more += std::size_t(1) << 18) {
    auto shared = s;  // its new factors are made aside
    bool const enough = updates(shared, more);
    CHECK((enough || solves(shared)));
    shared = sla::prepare(sla::problems::poisson({1}), sla::ldlt{});
    if (updates(s, more)) break;
    CHECK(s.matrix().values()[0] == A.values()[0]);
    CHECK(s.setups() == 1 + lost);
    if (solves(s)) {
      ++kept;
    } else {
      ++lost;
      s.update(s.matrix());
      CHECK(solves(s));
    }
  }
  CHECK(kept > 0);
  CHECK(lost > 0);
}
