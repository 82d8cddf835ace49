// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// BiCGStab and GMRES on the device's space.
#include <sla/expr/sparse/with_adjoint.hpp>
#include <sla/tensor/build/build.hpp>

#include "methods.hpp"
#include "suites/least_squares.hpp"

using namespace sla;

TEST_CASE("bicgstab has the host's answer") {
  auto const A = problems::convection_diffusion<double>({12, 13}, 0.5);
  same_answer(A, random<double>(156, 4), bicgstab{.rtol = 1e-10});
}

TEST_CASE("gmres has the host's answer") {
  auto const A = problems::convection_diffusion<double>({12, 13}, 0.5);
  same_answer(A, random<double, Extents<dyn, dyn>>({156, 2}, 5), gmres{.restart = 25, .rtol = 1e-10});
}

TEST_CASE("least squares have the host's answer, by a stored adjoint") {
  triplets<double> t(150, 40);
  for (index_t i = 0; i < 150; ++i) t.add(i, i % 40, 3.0), t.add(i, (i * 7 + 3) % 40, 0.5 + 0.001 * double(i));
  auto const K = with_adjoint(t.build());
  auto const b = random<double>(150, 4);
  auto const [x, wanted] = try_solve(K, b, suite::cgls{});
  REQUIRE(wanted.converged());
  CHECK(x.size() == 40);
  for (int lag : {0, 4, 32}) {
    auto const [y, report] = try_solve(K, b, suite::cgls{}, on([lag](frame f) { return simulated_space(f, lag); }));
    INFO("lag " << lag << ": " << report);
    CHECK(report.converged());
    CHECK(norm(y - x) <= 1e-8 * norm(x));
  }
}
