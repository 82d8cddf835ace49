// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/solve/precond/row_norms.hpp>

#include "suites/krylov.hpp"

using sla::index_t, sla::minres, sla::reason;

TEST_CASE("minres gives the dense solution of indefinite matrices, the same bits on the host and on a queue of any lag") {
  suite::plain(minres{.rtol = 1e-10});
}
TEST_CASE("minres stops each item by itself") { suite::items_are_independent(minres{.rtol = 1e-10}); }

namespace {
/// The Laplacian of a grid with free boundaries: constant vectors are its null space.
auto const neumann = [] {
  auto A = sla::problems::poisson({14, 15});
  auto const diagonal = sla::diagonal_positions(A.pattern());
  for (index_t i = 0; i < A.rows(); ++i) A.values()[diagonal[i]] = double(A.pattern().row_ptr[i + 1] - A.pattern().row_ptr[i] - 1);
  return A;
}();
auto const b = sla::random<double>(neumann.rows(), 1);

auto run(sla::sparse_tensor<double> const& A, sla::vector<double> const& rhs, minres method = {.rtol = 1e-10}) {
  return sla::try_solve(A, rhs, method, sla::jacobi{});
}
}  // namespace

TEST_CASE("the residual of minres never grows; where M is constant, that is the 2-norm") {
  std::vector<double> residuals;
  auto const watch = [&](std::vector<sla::progress> const& seen) { return residuals.push_back(seen[0].residual), true; };
  auto const A = suite::shifted(sla::problems::poisson({12, 13}), -2.1);
  auto const report = run(A, sla::random<double>(A.rows(), 2), minres{.rtol = 1e-10, .watch = watch}).report;
  REQUIRE(report.converged());
  CHECK(report.runs == 1);
  CHECK(residuals.back() == Approx(report.residual()).epsilon(1e-3));
  CHECK(std::is_sorted(residuals.rbegin(), residuals.rend()));
}

TEST_CASE("minres on singular matrices: consistent systems converge, others end as stagnated with a least-squares solution") {
  sla::vector<double> const in_range = neumann * b;
  auto const solved = run(neumann, in_range);
  CHECK(solved.report.converged());

  auto const [x, report] = run(neumann, b);
  INFO(report);
  CHECK(report.reason() == reason::stagnated);
  sla::vector<double> const scaled = sla::jacobi{}.setup(neumann) * (b - neumann * x);
  CHECK(sla::eval(sla::norm_inf(neumann * scaled)) < 1e-6);  // the residual, shortest in the norm of M, is orthogonal to the range
  CHECK(sla::eval(sla::norm_inf(x)) < 1e3);

  sla::vector<double> const constant = sla::full<double>(neumann.rows(), 0.3);
  auto const [y, none] = run(neumann, constant);
  CHECK(none.reason() == reason::stagnated);
  CHECK(sla::eval(sla::norm_inf(y)) < 1e3);
  sla::vector<double> const rounding = neumann * constant + constant;  // the same, and A times it is rounding
  CHECK(sla::eval(sla::norm_inf(run(0.1 * neumann, 0.1 * rounding).x)) < 1e3);
}

TEST_CASE("minres names an indefinite preconditioner, NaN and the limit") {
  auto const A = suite::shifted(sla::problems::poisson({9, 9}), -4.5);
  auto const d = sla::random<double>(A.rows(), 3);
  CHECK(run(suite::shifted(A, 4.5), d).report.converged());
  auto two_signs = A;
  two_signs.values()[0] = 3;
  CHECK(run(two_signs, d).report.reason() == reason::indefinite_preconditioner);
  CHECK(run(A, d).report.reason() == reason::indefinite_preconditioner);
  CHECK(sla::try_solve(two_signs, d, minres{}, sla::row_norms{}).report.converged());
  auto const limited = run(suite::shifted(A, 4.5), d, minres{.rtol = 1e-10, .max_iterations = 3});
  CHECK(limited.report.reason() == reason::iteration_limit);
  CHECK(limited.report.iterations() == 3);
}

TEST_CASE("the norms of rows precondition matrices with zeros on the diagonal, and take new values") {
  auto A = suite::shifted(sla::problems::poisson({8, 8}), -4.0);
  auto const d = sla::random<double>(A.rows(), 4);
  auto s = sla::prepare(A, minres{.rtol = 1e-10}, sla::row_norms{});
  auto const N = s.preconditioner();
  sla::vector<double> const scaled = N * d;
  auto const dense = oracle::dense(A);
  for (index_t i = 0; i < A.rows(); ++i) {
    double squares = 0;
    for (index_t j = 0; j < A.cols(); ++j) squares += dense[std::size_t(i * A.cols() + j)] * dense[std::size_t(i * A.cols() + j)];
    CHECK(scaled[i] == Approx(d[i] / std::sqrt(squares)));
  }
  A = 3.0 * A;
  s.update(A);
  sla::vector<double> const rescaled = s.preconditioner() * d;
  CHECK(rescaled[5] == Approx(scaled[5] / 3));
}
