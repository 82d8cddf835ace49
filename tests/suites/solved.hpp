// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The report of a solve that has to converge, by GMRES with a preconditioner.
#pragma once

#include "catch.hpp"

#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/linear/linear.hpp>

namespace suite {

/// A random b, to nine digits.
template <class A, class P>
sla::report solved(A const& a, P const& preconditioner) {
  auto const b = sla::random<typename A::value_type>(a.rows(), 3);
  auto [x, report] = sla::try_solve(a, b, sla::gmres{.rtol = 1e-9, .max_iterations = 2000}, preconditioner);
  CAPTURE(report);
  CHECK(report.converged());
  return report;
}

} // namespace suite
