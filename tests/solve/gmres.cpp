// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>

#include "suites/krylov.hpp"

TEST_CASE("gmres gives the dense solution, the same bits on the host and on a queue of any lag") { suite::plain(sla::gmres{.rtol = 1e-10}); }
TEST_CASE("gmres in complex numbers") { suite::complex_numbers(sla::gmres{.rtol = 1e-10}); }
TEST_CASE("gmres restarts, with any capacity, and refuses a restart beyond it") {
  suite::without_preconditioner(sla::basic_gmres<6>{.rtol = 1e-10});
  auto const A = sla::problems::poisson({3, 3});
  CHECK_THROWS_WITH(sla::solve(A, sla::ones<double>(9), sla::basic_gmres<6>{.restart = 7}),
                    Catch::Matchers::ContainsSubstring("from 1 to 6") && Catch::Matchers::ContainsSubstring("basic_gmres<7>"));
  CHECK_THROWS_WITH(sla::solve(A, sla::ones<double>(9), sla::gmres{.restart = 0}), "gmres{.restart = 0}: from 1 to 32 basis vectors");
}
TEST_CASE("gmres of a singular system passes over a pivot that is rounding: the residual is the least one") {
  auto const A = sla::from_triplets<double>(3, 3, {0, 2}, {0, 2}, {1.0, 2.0});
  auto const b = sla::ones<double>(3);
  auto const [x, report] = sla::try_solve(A, b, sla::gmres{});
  CHECK(!report.converged());
  CHECK(double(sla::norm(b - A * x)) <= 1 + 1e-12);
}
