// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SuiteSparseQR against dense QR: tall, wide, damped, rank-deficient and complex problems, batches, and derivatives.
#include <sla/adapter/spqr.hpp>

#include <complex>

#include "catch.hpp"
#include "suites/dense_least_squares.hpp"
#include "suites/dual.hpp"

namespace test_spqr {

using Catch::Matchers::ContainsSubstring;
using namespace sla;
using suite::by_orthogonal_factors;
using suite::rectangular;

TEST_CASE("SuiteSparseQR gives the x of dense QR") {
  auto const check = [](auto const& A) {
    using T = typename std::remove_cvref_t<decltype(A)>::value_type;
    auto const b = random<T>(A.rows(), 5);
    for (double d : {0.0, 0.7}) {
      auto const expected = by_orthogonal_factors(A, b, d);
      auto const [x, report] = try_least_squares(A, b, spqr{.rtol = 1e-12, .damping = d});
      INFO(report);
      CHECK((report.converged() && norm(x - expected) <= 1e-11 * norm(expected)));
    }
  };
  check(rectangular<double>(60, 25));
  check(rectangular<double>(25, 60));
  check(rectangular<std::complex<double>>(40, 30));
  check(read_matrix_market<double>(SLA_TEST_DATA "/ash219.mtx"));
  auto const well = read_matrix_market<double>(SLA_TEST_DATA "/well1850.mtx");
  auto const b = random<double>(well.rows(), 1);
  auto const [x, report] = try_least_squares(well, b, spqr{.rtol = 1e-13});
  INFO(report);
  CHECK((report.converged() && norm(x - least_squares(well, b, lsmr{.rtol = 1e-13})) <= 1e-10 * norm(x)));
  CHECK((report.condition() > 90 && report.condition() < 111.5));

  auto const A = rectangular<double>(60, 24);
  auto const both = stack_batch(A, -2.0 * A);
  auto const c = random<double, Extents<dyn, dyn>>({2, 60}, 4);
  CHECK(norm_inf(least_squares(both, c, spqr{}) - least_squares(both, c, dense_qr{})) <= 1e-11);
  auto const rank_deficient = cat_cols(A, eval(2.0 * cols(A, 3, 8)));
  auto const shortest = [](auto const& D, auto const& r, double tolerance) {
    auto const one = try_least_squares(D, r, spqr{});
    INFO(one.report);
    CHECK(one.report.converged());
    CHECK_THAT(text(one.report), ContainsSubstring("rank 24 of ") && ContainsSubstring(": the shortest x"));
    auto const expected = by_orthogonal_factors(D, r);
    CHECK(norm(one.x - expected) <= tolerance * norm(expected));
  };
  shortest(rank_deficient, random<double>(60, 1), 1e-11);
  auto const few_rows = eval(transpose(rank_deficient));
  shortest(few_rows, random<double>(29, 1), 1e-11);  // which is inconsistent
  shortest(cast<std::complex<double>>(rank_deficient), random<std::complex<double>>(60, 1), 1e-11);
  auto const factored = prepare(rank_deficient, spqr{});
  for (int seed : {1, 2}) CHECK(norm(factored.solve(random<double>(60, seed)) - by_orthogonal_factors(rank_deficient, random<double>(60, seed))) <= 1e-10);
}

TEST_CASE("derivatives by the factors of SuiteSparseQR, tall, damped and wide") {
  auto const A = rectangular<double>(30, 12), W = rectangular<double>(12, 30);
  auto const b = random<double>(30, 1), c = random<double>(12, 2);
  double const d = 0.6;
  gradient::check_dual([](auto const& a, auto const& r) { return least_squares(a, r, spqr{}); }, std::tie(A, b), {.accuracy = 1e-10});
  gradient::check_dual([](auto const& a, auto const& r, auto const& e) { return least_squares(a, r, spqr{}, damping(e)); }, std::tie(A, b, d), {.accuracy = 1e-10});
  gradient::check_dual([](auto const& a, auto const& r) { return least_squares(a, r, spqr{}); }, std::tie(W, c), {.accuracy = 1e-10});
}

} // namespace test_spqr
