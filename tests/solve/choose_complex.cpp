// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "catch.hpp"

#include <complex>

#include "data.hpp"

#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/tensor/files/matrix_market.hpp>

TEST_CASE("the automatic choice solves complex matrices to 1e-8") {
  using T = std::complex<double>;
  for (char const* name : {"young1c.mtx", "qc324.mtx", "mhd1280b.mtx"}) {
    auto const A = sla::read_matrix_market<T>(data(name));
    sla::vector<T> const b = A * sla::ones<T>(A.cols());
    auto const [x, report] = sla::try_solve(A, b);
    INFO(name << ": " << report);
    CHECK(report.converged());
    CHECK(double(sla::norm(b - A * x)) <= 1e-8 * double(sla::norm(b)));
  }
}
