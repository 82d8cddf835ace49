// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>

#include "suites/krylov.hpp"

TEST_CASE("bicgstab gives the dense solution, the same bits on the host and on a queue of any lag") { suite::plain(sla::bicgstab{.rtol = 1e-10}); }
TEST_CASE("bicgstab in complex numbers") { suite::complex_numbers(sla::bicgstab{.rtol = 1e-10}); }
TEST_CASE("bicgstab without a preconditioner") { suite::without_preconditioner(sla::bicgstab{.rtol = 1e-10}); }
TEST_CASE("bicgstab takes small and large numbers, as long as squares hold them") {
  auto const A = suite::shifted(sla::problems::poisson({6, 5}), -3.3);
  for (double size : {1e-60, 1.0, 1e60})
    for (double of_b : {1e-100, 1e-60, 1.0, 1e60}) {
      if (size * of_b <= 1e-150 && size < 1) continue;
      auto const report = sla::try_solve(size * A, of_b * sla::ones<double>(30), sla::bicgstab{}).report;
      INFO(size << ' ' << of_b << ": " << report);
      CHECK(report.converged());
    }
  auto const report = sla::try_solve(1e60 * A, 1e100 * sla::ones<double>(30), sla::bicgstab{}).report;  // |A r|^2 is 1e320
  CHECK((report.reason() == sla::reason::badly_scaled && report.iterations() < 10));
}
