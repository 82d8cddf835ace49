// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prepared solvers: one set-up for many solves, with A, its transpose and its adjoint; new values on the old pattern.
#include "suites/krylov.hpp"

#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/precond/block_jacobi.hpp>
#include <sla/solve/precond/composed/chebyshev.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/ilut.hpp>
#include <sla/solve/precond/composed/inner.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/solve/precond/composed/schwarz.hpp>

using sla::index_t;
using complex_t = std::complex<double>;

namespace {
/// Counts how often it is set up: a preconditioner of the user.
struct counted_jacobi {
  using preconditioner_tag = void;
  static constexpr char const* name = "counted";
  int* setups;
  template <class A>
  auto setup(A const& a) const {
    ++*setups;
    return sla::jacobi{}.setup(a);
  }
};
}  // namespace

TEST_CASE("one set-up serves all solves, transposed ones too") {
  int setups = 0;
  auto const A = suite::problem<sla::bicgstab>(8);
  auto s = sla::prepare(A, sla::bicgstab{.rtol = 1e-11}, counted_jacobi{&setups});
  auto const b = sla::random<double>(A.rows(), 1), c = sla::random<double>(A.rows(), 2);
  suite::is_dense_solution(A, b, s.solve(b), 1e-7);
  suite::is_dense_solution(A, c, s.solve(c), 1e-7);
  suite::is_dense_solution(sla::transposed(A), b, s.solve_transpose(b), 1e-7);
  suite::is_dense_solution(sla::transposed(A), c, s.solve_adjoint(c), 1e-7);
  CHECK(setups == 1);
  CHECK(s.setups() == 1);
  CHECK(s.try_solve(b).report.preconditioner == "counted");
  CHECK(s.try_solve_transpose(b).report.converged());

  auto const other = sla::problems::convection_diffusion({8, 8}, 6.0);
  s.update(other);
  CHECK(s.setups() == 2);
  suite::is_dense_solution(other, b, s.solve(b), 1e-7);
  suite::is_dense_solution(sla::transposed(other), b, s.solve_transpose(b), 1e-7);
}

TEST_CASE("views are solved with as they are stored") {
  auto const A = suite::complex_problem<sla::gmres>(6);
  auto const b = sla::random<std::complex<double>>(A.rows(), 1);
  suite::is_dense_solution(sla::transposed(A), b, sla::solve(transpose(A), b, sla::gmres{.rtol = 1e-10}, sla::ilu0{}), 1e-7);
  suite::is_dense_solution(sla::adjointed(A), b, sla::try_solve(adjoint(A), b).x, 1e-7);
  suite::is_dense_solution(sla::transposed(A), b, sla::prepare(transpose(A), sla::bicgstab{.rtol = 1e-10}, sla::ilu0{}).solve(b), 1e-7);
}

TEST_CASE("transposes and adjoints of complex matrices, with sweeps") {
  auto const A = suite::complex_problem<sla::gmres>(6);
  auto const b = sla::random<complex_t>(A.rows(), 3);
  auto const s = sla::prepare(A, sla::gmres{.rtol = 1e-11}, sla::ilu0{});
  suite::is_dense_solution(A, b, s.solve(b), 1e-7);
  suite::is_dense_solution(sla::transposed(A), b, s.solve_transpose(b), 1e-7);
  suite::is_dense_solution(sla::adjointed(A), b, s.solve_adjoint(b), 1e-7);
}

TEST_CASE("the same result as solve, bit for bit; a matrix may move in") {
  auto A = suite::problem<sla::cg>(9);
  auto const b = sla::random<double>(A.rows(), 4);
  auto const x = sla::solve(A, b, sla::cg{}, sla::jacobi{});
  auto const s = sla::prepare(std::move(A), sla::cg{}, sla::jacobi{});
  auto const y = s.solve(b);
  CHECK(std::equal(x.begin(), x.end(), y.begin()));
}

TEST_CASE("a real matrix and complex right-hand sides, a float matrix under double vectors") {
  auto const A = suite::problem<sla::cg>(6);
  auto const b = sla::random<complex_t>(A.rows(), 5);
  auto const x = sla::solve(A, b, sla::cg{.rtol = 1e-11}, sla::jacobi{});
  static_assert(std::same_as<std::remove_cvref_t<decltype(x[0])>, complex_t>);
  CHECK(double(sla::norm(b - A * x)) <= 1e-10 * double(sla::norm(b)));

  auto const F = sla::cast<float>(A);
  auto const d = sla::random<double>(A.rows(), 6);
  auto const y = sla::solve(F, d, sla::cg{.rtol = 1e-11}, sla::jacobi{});
  CHECK(double(sla::norm(d - F * y)) <= 1e-10 * double(sla::norm(d)));
  auto const z = sla::solve(F, sla::random<float>(A.rows(), 7), sla::cg{.rtol = 1e-5}, sla::jacobi{});
  static_assert(std::same_as<std::remove_cvref_t<decltype(z[0])>, float>);
}

namespace {
/// An operator of the user: the second difference, plus one.
struct second_difference {
  using linear_operator_tag = void;
  using value_type = double;
  sla::sparse_tensor<double> A = sla::problems::poisson({7, 7});
  second_difference adjoint() const { return *this; }
  double const* data() const { return A.values().data(); }  // no array of numbers for that
  std::size_t size() const { return A.values().size(); }
};
template <class X>
auto operator*(second_difference const& D, X const& x) {
  return D.A * x + 1.0 * x;
}
}  // namespace

TEST_CASE("operators of the user are solved with, by any Krylov method") {
  second_difference const D;
  auto const b = sla::random<double>(49, 8);
  auto const [x, report] = sla::try_solve(D, b, sla::cg{.rtol = 1e-10});
  REQUIRE(report.converged());
  CHECK(double(sla::norm(b - D * x)) <= 1e-10 * double(sla::norm(b)));
  auto const y = sla::prepare(D, sla::cg{.rtol = 1e-10}).solve_transpose(b);
  CHECK(std::equal(x.begin(), x.end(), y.begin()));
}

namespace {
template <class P>
void moved_preconditioner(P const& p) {
  auto const A = suite::problem<sla::cg>(6);
  auto const b = sla::random<double>(A.rows(), 1);
  auto m = p.setup(A);
  auto const now = std::move(m);
  sla::vector<double> z = now * b;
  CAPTURE(P::name);
  CHECK_THROWS_AS(z = m * b, sla::value_error);
  CHECK_THROWS_AS(z = m.adjoint() * b, sla::value_error);
  m = now;
  sla::vector<double> const again = m * b;
  CHECK(std::equal(z.begin(), z.end(), again.begin()));
}
}  // namespace

TEST_CASE("prepared solvers, factors and preconditioners that were moved from say so, and can be assigned to") {
  auto const A = suite::problem<sla::cg>(6);
  auto const b = sla::random<double>(A.rows(), 1);
  auto const says_so = Catch::Matchers::ContainsSubstring("a prepared solver was moved from and is empty; assign another one to it first");
  auto s = sla::prepare(A, sla::cg{.rtol = 1e-11}, sla::jacobi{});
  auto const now = std::move(s);
  suite::is_dense_solution(A, b, now.solve(b), 1e-7);
  CHECK_THROWS_WITH(s.solve(b), says_so);
  CHECK_THROWS_WITH(s.try_solve_transpose(b), says_so);
  CHECK_THROWS_WITH(s.update(A), says_so);
  CHECK_THROWS_WITH(s.matrix(), says_so);
  CHECK_THROWS_WITH(s.setups(), says_so);
  CHECK_THROWS_AS(s.preconditioner(), sla::value_error);
  s = now;
  suite::is_dense_solution(A, b, s.solve(b), 1e-7);

  sla::lu F(A);
  auto const factors = std::move(F);
  CHECK_THROWS_WITH(F.solve(b), says_so);
  CHECK_THROWS_WITH(F.solve_transpose(b), says_so);
  CHECK_THROWS_WITH(F.refactor(A), says_so);
  F = factors;
  suite::is_dense_solution(A, b, F.solve(b), 1e-7);

  moved_preconditioner(sla::factor<sla::factorization::lu>{});
  moved_preconditioner(sla::ilu0{});
  moved_preconditioner(sla::ilut{});
  moved_preconditioner(sla::block_jacobi{.size = 2});
  moved_preconditioner(sla::chebyshev{});
  moved_preconditioner(sla::schwarz(sla::ilu0{}));
  moved_preconditioner(sla::inner(sla::cg{}));
}
