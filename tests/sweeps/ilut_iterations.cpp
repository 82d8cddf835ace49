// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many iterations incomplete factors take: figures. What they are is in tests/solve/ilut.cpp, with sanitizers.
#include "catch.hpp"

#include <complex>

#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/composed/schwarz.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/ilut.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "data.hpp"
#include "suites/solved.hpp"

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using suite::solved;
using complex_t = std::complex<double>;

TEST_CASE("ilut takes fewer iterations than ilu0") {
  auto const A = problems::convection_diffusion<double>({60, 60}, {0.05, 0.02});
  auto const by_ilut = solved(A, ilut{}), by_ilu0 = solved(A, ilu0{});
  CHECK(by_ilut.iterations() * 2 < by_ilu0.iterations());
  CHECK_THAT(by_ilut.preconditioner, ContainsSubstring("ilut, ") && ContainsSubstring(" x the entries of A"));
  CHECK(solved(A, ilut{.drop_tolerance = 1e-5, .fill = 40}).iterations() * 2 < by_ilut.iterations());
  CHECK(solved(A, schwarz(ilut{}, {.parts = 4})).preconditioner == "schwarz of ilut, 4 parts, overlap 1");
  auto const B = read_matrix_market<double>(data("orsirr_1.mtx"));
  CHECK(solved(B, ilut{}).iterations() < solved(B, ilu0{}).iterations());
  auto const U = read_matrix_market<double>(data("utm300.mtx"));
  CHECK_FALSE(try_solve(U, ones<double>(300), gmres{.max_iterations = 1000}, ilu0{}).report.converged());
  CHECK(solved(U, ilut{}).iterations() < 200);
  auto const C = read_matrix_market<complex_t>(data("young1c.mtx"));
  CHECK(solved(C, ilut{.drop_tolerance = 1e-4, .fill = 40}).iterations() * 10 < solved(C, ilu0{}).iterations());
}
