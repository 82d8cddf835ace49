// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of least squares: shapes and operators, preconditioners, the automatic choice, what counts as converged, and what is refused.
#include <complex>
#include <limits>

#include <sla/least_squares.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/sell.hpp>

#include "catch.hpp"
#include "suites/dense_least_squares.hpp"

namespace test_least_squares_calls {

using Catch::Matchers::ContainsSubstring;
using namespace sla;
using suite::by_orthogonal_factors;
using suite::rectangular;

TEST_CASE("right-hand sides, batches, blocks, extents that types know, views and operators of the user's") {
  auto const A = rectangular<double>(60, 24);
  auto B = tensor<double, Extents<dyn, dyn>>(Extents<dyn, dyn>(60, 3));
  auto const one = random<double>(60, 1), two = random<double>(60, 2);
  for (index_t i = 0; i < 60; ++i) B(i, 0) = one[i], B(i, 1) = 0, B(i, 2) = 1e6 * two[i];
  auto const of_one = by_orthogonal_factors(A, one), of_two = by_orthogonal_factors(A, vector<double>(1e6 * two));
  auto const by = [&](auto const&... options) {
    auto const [x, report] = try_least_squares(A, B, options...);
    REQUIRE(report.least_squares.size() == 3);
    CHECK(report.converged());
    CHECK((report.items[1].iterations == 0 && report.least_squares[1].residual_norm == 0));
    CHECK(report.least_squares[2].residual_norm == Approx(norm(1e6 * two - A * of_two)));
    for (index_t j = 0; j < 24; ++j) CHECK((std::abs(x(j, 0) - of_one[j]) <= 1e-8 && x(j, 1) == 0 && std::abs(x(j, 2) - of_two[j]) <= 1e-2));
  };
  by(lsmr{.rtol = 1e-10});
  by(cgls{.rtol = 1e-10});
  by(lsqr{.rtol = 1e-10}, jacobi{});
  by();

  auto const both = stack_batch(A, -2.0 * A);
  auto const b = random<double, Extents<dyn, dyn>>({2, 60}, 4);
  auto const blocks = to_blocks<3, 4>(A);
  auto c = tensor<double, range_extents_t<decltype(blocks)::shape_type>>(blocks.range());
  std::copy(one.begin(), one.end(), c.data());
  auto const x_of = [&](auto const&... options) {
    auto const x = least_squares(both, b, options...);
    for (index_t k = 0; k < 2; ++k) {
      vector<double> right(60);
      for (index_t i = 0; i < 60; ++i) right[i] = b(k, i);
      auto const expected = by_orthogonal_factors(k ? eval(-2.0 * A) : A, right);
      for (index_t j = 0; j < 24; ++j) CHECK(x(k, j) == Approx(expected[j]).margin(1e-8));
    }
    auto const y = least_squares(blocks, c, options...);
    for (index_t j = 0; j < 24; ++j) CHECK(y[j] == Approx(of_one[j]).margin(1e-8));
  };
  x_of(lsmr{.rtol = 1e-10});
  x_of(lsmr{.rtol = 1e-10}, jacobi{});
  x_of();

  using Known = Shape<Batch<>, 60, 24, Block<>>;
  sparse_tensor<double, Known> const known(Known(), A.shared_pattern(), A.values());
  auto const z = least_squares(known, one);
  static_assert(std::same_as<decltype(z), tensor<double, Extents<24>> const>);
  CHECK(norm(least_squares(to<Sell<>>(A), one, lsmr{.rtol = 1e-12}) - of_one) <= 1e-9 * norm(of_one));
  CHECK(norm(least_squares(with_adjoint(A), one, lsmr{.rtol = 1e-12}) - of_one) <= 1e-9 * norm(of_one));
  CHECK(norm(least_squares(with_adjoint(A), one) - of_one) <= 1e-5 * norm(of_one));
  auto const wide = random<double>(24, 3);
  auto const shortest = by_orthogonal_factors(eval(transpose(A)), wide);
  CHECK(norm(least_squares(transpose(A), wide, lsqr{.rtol = 1e-12}) - shortest) <= 1e-9 * norm(shortest));

  auto const complex_b = random<std::complex<double>>(60, 8);
  CHECK(norm(least_squares(A, complex_b) - least_squares(A, complex_b, lsmr{.rtol = 1e-13})) <= 1e-9);  // of real factors
  auto const singles = cast<float>(A);
  auto const [w, report] = try_least_squares(singles, vector<float>(one), lsmr{.rtol = 1e-5});
  static_assert(std::same_as<decltype(w)::value_type, float>);
  CHECK((report.converged() && norm(vector<double>(w) - of_one) <= 1e-3 * norm(of_one)));
}

TEST_CASE("preconditioners of A^H A: column scaling mends columns of other sizes, and factors end in a few iterations") {
  auto const base = rectangular<double>(80, 30);
  vector<double> scale(30);
  for (index_t j = 0; j < 30; ++j) scale[j] = std::pow(10.0, double(j % 7) - 3);
  auto const A = scale_cols(base, scale);
  auto const b = random<double>(80, 1);
  for (double d : {0.0, 0.1}) {
    auto const expected = by_orthogonal_factors(A, b, d);
    auto const near = [&](auto const& s) {
      INFO(s.report);
      CHECK(s.report.converged());
      CHECK(norm((s.x - expected) * scale) <= 1e-8 * norm(expected * scale));
      return s.report.iterations();
    };
    int const plain = try_least_squares(A, b, lsmr{.rtol = 1e-12, .damping = d}).report.iterations();
    CHECK(2 * near(try_least_squares(A, b, lsmr{.rtol = 1e-12, .damping = d}, jacobi{})) < plain);
    CHECK(2 * near(try_least_squares(A, b, lsqr{.rtol = 1e-12, .damping = d}, jacobi{})) < plain);
    CHECK(2 * near(try_least_squares(A, b, cgls{.rtol = 1e-12, .damping = d}, ic0{})) < plain);
    CHECK(near(try_least_squares(A, b, lsmr{.rtol = 1e-12, .damping = d}, factor<factorization::cholesky>{})) <= 8);
  }
  auto const minus = linear_operator<double>(30, 30, [](std::span<double const> x, std::span<double> y) { std::ranges::transform(x, y.begin(), std::negate<>{}); });
  CHECK(try_least_squares(A, b, lsmr{}, minus).report.reason() == reason::indefinite_preconditioner);
  CHECK(try_least_squares(A, b, cgls{}, minus).report.reason() == reason::indefinite_preconditioner);
}

TEST_CASE("the automatic choice takes factors of A^H A where LSMR takes long") {
  auto const A = read_matrix_market<double>(SLA_TEST_DATA "/1138_bus.mtx");
  auto const x = random<double>(A.cols(), 1);
  auto const [y, report] = try_least_squares(A, vector<double>(A * x));
  INFO(report);
  CHECK(report.converged());
  CHECK_THAT(report.choice, ContainsSubstring("tried: lsmr: iteration limit after 500"));
  CHECK(report.iterations() <= 100);
  CHECK(norm(y - x) <= 1e-3 * norm(x));
}

TEST_CASE("what is converged says so by its true figure: early ends, right-hand sides in the range, beside it and nearly in it") {
  auto const A = rectangular<double>(60, 25);
  auto const b = random<double>(60, 1);
  auto const early = try_least_squares(A, b, lsmr{.max_iterations = 3});
  CHECK((early.report.reason() == reason::iteration_limit && early.report.iterations() == 3));
  CHECK(early.report.residual() > 1e-6);
  CHECK_THROWS_AS(least_squares(A, b, lsmr{.max_iterations = 3}), solve_error);
  auto const stop_at_two = [](std::vector<progress> const& seen) { return seen[0].iterations < 2; };
  CHECK(try_least_squares(A, b, lsqr{.watch = stop_at_two}).report.reason() == reason::stopped);
  auto const kept = try_least_squares(A, b, lsmr{.rtol = 1e-10}, keep_history);
  CHECK(int(kept.report.history.size()) >= kept.report.iterations());

  auto const x0 = random<double>(25, 3);
  vector<double> const in_range = A * x0, least = by_orthogonal_factors(A, b), beside = b - A * least;
  vector<double> const nearly = in_range + 1e-6 * beside;
  for (auto const& method : {lsmr{.rtol = 1e-12}}) {
    auto const one = try_least_squares(A, in_range, method);
    INFO(one.report);
    CHECK((one.report.converged() && one.report.residual_norm() <= 1e-12 * norm(in_range) && norm(one.x - x0) <= 1e-10 * norm(x0)));
    auto const two = try_least_squares(A, beside, method);
    CHECK((two.report.converged() && norm(two.x) <= 1e-12 * norm(beside)));
    auto const three = try_least_squares(A, nearly, method);
    CHECK((three.report.converged() && norm(three.x - x0) <= 1e-10 * norm(x0)));
  }
  CHECK(norm_inf(least_squares(A, vector<double>(60), lsqr{})) == 0);
  CHECK(norm_inf(least_squares(A, vector<double>(60))) == 0);
  auto const empty = from_triplets<double>(5, 0, {}, {}, std::vector<double>{});
  CHECK(least_squares(empty, ones<double>(5), lsmr{}).size() == 0);
  CHECK(least_squares(empty, ones<double>(5)).size() == 0);
  auto const none = from_triplets<double>(5, 3, {}, {}, std::vector<double>{});
  CHECK(norm_inf(least_squares(none, ones<double>(5), lsmr{})) == 0);
  CHECK(norm_inf(least_squares(none, ones<double>(5), cgls{.damping = 1.0})) == 0);
  CHECK(norm_inf(least_squares(none, ones<double>(5))) == 0);
}

TEST_CASE("a right-hand side that is orthogonal to the range of a rank-deficient A, to the last bit, has x = 0 by all methods") {
  auto const A = from_triplets<double>(3, 2, {0, 0, 1, 1}, {0, 1, 0, 1}, {1.0, 1.0, 1.0, 1.0});
  vector<double> b(3);
  b[0] = 1, b[1] = -1, b[2] = 5;
  auto const by = [&](auto const&... options) {
    auto const [x, report] = try_least_squares(A, b, options...);
    INFO(report);
    CHECK((report.converged() && norm(x) <= 1e-9));
  };
  by(dense_qr{}), by(lsmr{}), by(lsqr{}), by(cgls{}), by(dense_qr{.damping = 1e-3}), by();
}

TEST_CASE("least squares whose squares leave the range of double are not called converged") {
  auto const A = from_triplets<double>(3, 2, {0, 1, 2}, {0, 1, 0}, {1.0, 2.0, 1.0});
  vector<double> b(3);
  b[0] = 1, b[1] = 2, b[2] = 3;
  for (double of_A : {1e-200, 1.0, 1e200})
    for (double of_b : {1e-200, 1.0, 1e200}) {
      auto const by = [&, a = eval(of_A * A), c = vector<double>(of_b * b)](auto const& method) {
        auto const report = try_least_squares(a, c, method).report;
        INFO(report);
        CHECK(report.reason() == (of_A == 1 && of_b == 1 ? reason::converged : reason::badly_scaled));
      };
      by(lsmr{}), by(lsqr{}), by(cgls{}), by(dense_qr{});
    }
  for (double of_A : {1e-120, 1e-80, 1e80, 1e120}) {  // whose squares are in range, but not all that methods make of them: an answer, or what to do
    auto const by = [&, a = eval(of_A * A)](auto const& method, bool solves) {
      auto const [x, report] = try_least_squares(a, b, method);
      INFO(report);
      CHECK(report.reason() == (solves ? reason::converged : reason::badly_scaled));
      if (solves) CHECK(std::abs(of_A * x[0] - 2) + std::abs(of_A * x[1] - 1) <= 1e-10);
      if (!solves) CHECK_THAT(text(report), ContainsSubstring("scale A"));
    };
    by(dense_qr{}, true), by(lsmr{}, true), by(lsqr{}, true), by(cgls{}, false);
  }
  CHECK_THROWS_WITH(least_squares(1e-200 * A, b, lsmr{}), ContainsSubstring("scale A"));
  CHECK(try_least_squares(1e-200 * A, b, lsmr{.damping = 1.0}).report.converged());
  int products = 0;
  linear_operator<double> const fails(3, 2, [&](std::span<double const> v, std::span<double> y) { y[0] = v[0], y[1] = 2 * v[1], y[2] = ++products > 2 ? std::nan("") : v[0]; },
                                      [](std::span<double const> u, std::span<double> y) { y[0] = u[0] + u[2], y[1] = 2 * u[1]; });
  CHECK(try_least_squares(fails, b, lsmr{}).report.reason() == reason::not_a_number);
  CHECK(try_least_squares(cast<float>(1e-25 * A), vector<float>(b), lsmr{}).report.reason() == reason::badly_scaled);
}

TEST_CASE("a method of least squares that is prepared solves for several right-hand sides, as the call does") {
  auto const A = rectangular<double>(60, 25);
  auto const same = [&](auto const& prepared, auto const&... options) {
    for (int seed : {1, 2}) {
      auto const b = random<double>(60, seed);
      auto const [x, report] = prepared.try_solve(b, keep_history);
      auto const expected = try_least_squares(A, b, options...);
      CHECK((report.converged() && report.method == expected.report.method && report.iterations() == expected.report.iterations() && !report.history.empty()));
      CHECK(norm_inf(x - expected.x) == 0);
      CHECK(norm_inf(prepared.solve(b) - x) == 0);
    }
  };
  same(prepare(A, dense_qr{}), dense_qr{});
  same(prepare(A, lsmr{.rtol = 1e-10}, jacobi{}, damping(0.3)), lsmr{.rtol = 1e-10}, jacobi{}, damping(0.3));
  same(prepare(transpose(eval(transpose(A))), lsqr{}), lsqr{});
  auto const factored = prepare(A, dense_qr{});
  CHECK(factored.matrix().shared_pattern() == A.shared_pattern());
  CHECK_THROWS_WITH(factored.solve(random<double>(25, 1)), ContainsSubstring("least_squares(A, b): A is 60 x 25, b is"));
  CHECK_THROWS_AS(prepare(A, lsmr{.max_iterations = 2}).solve(random<double>(60, 1)), solve_error);
}

TEST_CASE("bad problems of least squares are refused by their values") {
  auto const A = rectangular<double>(60, 25);
  auto b = random<double>(60, 1);
  CHECK_THROWS_WITH(least_squares(A, random<double>(25, 1)), ContainsSubstring("axis 0 of b should be 60"));
  CHECK_THROWS_WITH(least_squares(A, b, lsmr{.damping = -1.0}), ContainsSubstring("the damping is -1"));
  CHECK_THROWS_WITH(least_squares(A, b, damping(std::numeric_limits<double>::quiet_NaN())), ContainsSubstring("the damping is"));
  CHECK_THROWS_WITH(least_squares(A, b, lsmr{.damping = 1.0}, damping(2.0)), ContainsSubstring("given twice"));
  CHECK_THROWS_WITH(least_squares(A, b, lsqr{.rtol = 7}), ContainsSubstring("lsqr{.rtol = 7}"));
  CHECK_THROWS_WITH(least_squares(A, b, dense_qr{.rtol = -1}), ContainsSubstring("dense_qr{.rtol = -1}"));
  b[3] = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH(least_squares(A, b), ContainsSubstring("least_squares: b(3) is inf"));
  auto const small = linear_operator<double>(24, 24, [](std::span<double const>, std::span<double>) {});
  CHECK_THROWS_WITH(least_squares(A, ones<double>(60), lsmr{}, small), ContainsSubstring("least_squares(A, b, method, linear_operator): A has 25 rows"));
  CHECK_THROWS_WITH(least_squares(A, ones<double>(60), lsmr{.max_iterations = 1}), ContainsSubstring("least_squares: lsmr: iteration limit"));
  auto bad = A;
  bad.values()[0] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(least_squares(bad, ones<double>(60), lsmr{}), ContainsSubstring("least_squares(A, b): A(0, "));
  linear_operator<double> const one_way(60, 25, [](std::span<double const>, std::span<double>) {});
  CHECK_THROWS_WITH(least_squares(one_way, ones<double>(60), lsmr{}), ContainsSubstring("made without its adjoint"));
}

} // namespace test_least_squares_calls
