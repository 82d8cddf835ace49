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
TEST_CASE("gmres of a singular system whose small triangle hides it returns no x that is worse than where it began") {
  int failed = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<int> i, j;
    for (int row = 0; row < 6; ++row)
      for (int col = row + 1; col < 6; ++col) i.push_back(row), j.push_back(col);
    auto const numbers = sla::random<double>(sla::index_t(i.size()) + 12, seed);
    std::vector<double> v;
    for (std::size_t k = 0; k < i.size(); ++k) v.push_back((numbers[sla::index_t(k)] - 0.5) * std::pow(10.0, double((7 * std::uint64_t(i[k]) + seed) % 9) - 4));
    auto const A = sla::from_triplets<double>(6, 6, i, j, v);
    sla::vector<double> b(6), guess(6);
    for (int k = 0; k < 6; ++k) b[k] = numbers[15 + k], guess[k] = numbers[21 + k];
    auto const never_worse = [&](double start, auto const&... options) {
      auto const [x, report] = sla::try_solve(A, b, sla::gmres{}, options...);
      INFO("seed " << seed << ": " << report);
      CHECK(!report.converged());
      CHECK(sla::norm(b - A * x) <= start * (1 + 1e-12));
      CHECK(report.residual() == Approx(sla::norm(b - A * x) / sla::norm(b)));
      failed += report.residual() == 1;
    };
    never_worse(sla::norm(b));
    never_worse(sla::norm(b - A * guess), sla::initial_guess(guess));
  }
  CHECK(failed > 0);
}
