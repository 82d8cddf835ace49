// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flexible GMRES: with a fixed preconditioner it is GMRES; with one that changes from step to step it still converges.
#include <sla/solve/krylov/fgmres.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/composed/inner.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/solve/precond/composed/schwarz.hpp>

#include "suites/krylov.hpp"

using sla::fgmres, sla::gmres;

TEST_CASE("fgmres with a fixed preconditioner takes the steps of gmres") {
  auto const A = suite::problem<gmres>(11);
  auto const b = sla::random<double>(A.rows(), 1);
  auto const [x, flexible] = sla::try_solve(A, b, fgmres{.restart = 12, .rtol = 1e-10}, sla::jacobi{});
  auto const [y, fixed] = sla::try_solve(A, b, gmres{.restart = 12, .rtol = 1e-10}, sla::jacobi{});
  REQUIRE(flexible.converged());
  CHECK(flexible.iterations() == fixed.iterations());
  CHECK(sla::eval(sla::norm(x - y)) <= 1e-9 * sla::eval(sla::norm(y)));
  CHECK_THROWS_WITH(sla::solve(A, b, fgmres{.restart = 33}, sla::jacobi{}), Catch::Matchers::ContainsSubstring("fgmres{.restart = 33}"));
}

TEST_CASE("fgmres with an inner iteration on a batch of complex blocks with right-hand sides: the same bits whatever the lag") {
  auto const p = sla::inner(gmres{.rtol = 0.1, .max_iterations = 5}, sla::jacobi{});
  auto const [A, b] = suite::everything_at_once<gmres>();
  suite::same_everywhere(A, b, fgmres{.rtol = 1e-10}, p, 1e-7);

  auto s = sla::prepare(A, fgmres{.rtol = 1e-10}, p);
  auto const report = s.try_solve(b).report;
  CHECK(report.preconditioner == "inner gmres + jacobi");
  CHECK(report.iterations() <= 14);
  auto const transposed = s.solve_transpose(b);
  CHECK(oracle::distance(std::vector(transposed.begin(), transposed.end()), suite::dense_solution(sla::transposed(A), b)) <= 1e-7);
  auto const before = s.solve(b);
  s.update(2.0 * A);
  CHECK(sla::eval(sla::norm(s.solve(b) - 0.5 * before)) <= 1e-7);
}

namespace {
/// A preconditioner of the user that is another one each time.
struct moody {
  int* calls;
  moody adjoint() const { return *this; }
};
template <class X>
auto operator*(moody const& M, X const& x) {
  return (++*M.calls % 2 ? 0.3 : 2.0) * x;
}
}  // namespace

TEST_CASE("fgmres with a preconditioner of the user that changes at each application") {
  int calls = 0;
  auto const A = suite::problem<gmres>(8);
  auto const b = sla::random<double>(A.rows(), 3);
  auto const [x, report] = sla::try_solve(A, b, fgmres{.rtol = 1e-10}, moody{&calls});
  CHECK(report.converged());
  CHECK(report.runs == 1);
  CHECK(calls >= report.iterations());
}

TEST_CASE("an inner iteration inside of another") {
  auto const A = suite::problem<gmres>(9);
  auto const b = sla::random<double>(A.rows(), 4);
  auto const within = sla::inner(gmres{.rtol = 0.3, .max_iterations = 3}, sla::jacobi{});
  auto const [x, report] = sla::try_solve(A, b, fgmres{.rtol = 1e-10}, sla::inner(fgmres{.rtol = 0.1, .max_iterations = 3}, within));
  CHECK(report.converged());
  CHECK(report.preconditioner == "inner fgmres + inner gmres + jacobi");
  CHECK(sla::norm(b - A * x) <= 1e-9 * sla::norm(b));
  CHECK(report.iterations() < sla::try_solve(A, b, fgmres{.rtol = 1e-10}, within).report.iterations());
}

// Subdomains whose preconditioners are inner iterations change at each step too, so that solve refuses methods that are not flexible.
static_assert(requires { typename decltype(sla::schwarz(sla::inner(gmres{}, sla::jacobi{})))::varying_tag; });
