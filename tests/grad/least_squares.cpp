// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of least squares to A, b and the damping, with the term of the residual: <w, J d> = <J^H w, d> and Taylor remainders of rate
// 2.0 +- 0.05, of inconsistent, damped, wide and complex problems; what has no derivative says so.
#include <complex>

#include <sla/least_squares.hpp>

#include "catch.hpp"
#include "suites/dense_least_squares.hpp"
#include "suites/dual.hpp"

namespace test_gradient_of_least_squares {

using Catch::Matchers::ContainsSubstring;
using namespace sla;
using gradient::check_dual;
using suite::rectangular;

TEST_CASE("least squares of an inconsistent system, by methods and factors, and of one with more columns than rows") {
  auto const check = [](auto const& A, auto const& b) {
    auto const by = [&](auto const&... options) {
      check_dual([&](auto const& a, auto const& c) { return least_squares(a, c, options...); }, std::tie(A, b), {.accuracy = 1e-9});
    };
    by(lsmr{.rtol = 1e-13});
    by(dense_qr{});
    by();  // chosen
  };
  auto const A = rectangular<double>(30, 12), W = rectangular<double>(12, 30);
  auto const b = random<double>(30, 1), c = random<double>(12, 2);
  check(A, b);
  check(W, c);
  check_dual([&](auto const& a) { return least_squares(a, b, lsqr{.rtol = 1e-13}, jacobi{}); }, std::tie(A), {.accuracy = 1e-9});
  check_dual([&](auto const& c) { return least_squares(A, c, cgls{.rtol = 1e-13}, ic0{}); }, std::tie(b), {.accuracy = 1e-9});
  check_dual([&](auto const& a) { return least_squares(transpose(a), c, lsmr{.rtol = 1e-13}); }, std::tie(A), {.accuracy = 1e-9, .seed = 2});
  check_dual([&](auto const& a) { return try_least_squares(a, c, lsmr{.rtol = 1e-13}).x; }, std::tie(W), {.accuracy = 1e-9});
}

TEST_CASE("least squares with damping, which may be a variable") {
  auto const A = rectangular<double>(30, 12), W = rectangular<double>(12, 30);
  auto const b = random<double>(30, 1), c = random<double>(12, 2);
  double const d = 0.6;
  check_dual([](auto const& a, auto const& c, auto const& e) { return least_squares(a, c, lsmr{.rtol = 1e-13}, damping(e)); }, std::tie(A, b, d), {.accuracy = 1e-9});
  check_dual([](auto const& a, auto const& c, auto const& e) { return least_squares(a, c, damping(e), dense_qr{}); }, std::tie(W, c, d), {.accuracy = 1e-9});
  check_dual([&](auto const& e) { return least_squares(A, b, damping(e * e)); }, std::tie(d), {.accuracy = 1e-9});
  check_dual([&](auto const& a) { return least_squares(a, b, lsqr{.rtol = 1e-13, .damping = 0.3}); }, std::tie(A), {.accuracy = 1e-9});
}

TEST_CASE("least squares of complex problems, of several right-hand sides, of batches and blocks") {
  using complex_t = std::complex<double>;
  auto const Z = rectangular<complex_t>(20, 9);
  auto const z = random<complex_t>(20, 1);
  check_dual([](auto const& a, auto const& c) { return least_squares(a, c, lsmr{.rtol = 1e-13}); }, std::tie(Z, z), {.accuracy = 1e-9});
  auto const A = rectangular<double>(24, 12);
  auto const B = random<double, Extents<dyn, dyn>>({24, 3}, 2);
  check_dual([](auto const& a, auto const& c) { return least_squares(a, c, lsmr{.rtol = 1e-13}, damping(0.2)); }, std::tie(A, B), {.accuracy = 1e-9});
  auto const both = stack_batch(A, -2.0 * A);
  auto const b = random<double, Extents<dyn, dyn>>({2, 24}, 4);
  check_dual([](auto const& a, auto const& c) { return least_squares(a, c); }, std::tie(both, b), {.accuracy = 1e-9});
  auto const blocks = to_blocks<2, 3>(A);
  auto const c = random<double, Extents<dyn, 2>>({12, 2}, 4);
  check_dual([](auto const& a, auto const& c) { return least_squares(a, c, lsmr{.rtol = 1e-13}); }, std::tie(blocks, c), {.accuracy = 1e-9});
}

TEST_CASE("the gradient of least squares has the term of the residual, by its formula") {
  auto const A = rectangular<double>(30, 12);
  auto const b = random<double>(30, 1);
  auto const [value, to_A, to_b, to_d] = value_and_gradient([](auto const& a, auto const& c, auto const& d) { return 0.5 * squared_norm(least_squares(a, c, damping(d), lsmr{.rtol = 1e-14})); }, A, b, 0.4);
  vector<double> const x = suite::by_orthogonal_factors(A, b, 0.4), r = b - A * x;
  Eigen::MatrixXd const dense = suite::dense_of(A, 0.4);
  vector<double> const w = suite::from_dense<double>(oracle::solution<double>(dense.transpose() * dense, suite::dense_of(x, 12))), image = A * w;
  CHECK(value == Approx(0.5 * squared_norm(x)));
  CHECK(norm(to_b - image) <= 1e-11 * norm(image));
  CHECK(to_d == Approx(-0.8 * dot(w, x)));
  auto expected = with_values(A, 0.0 * values(A));
  add_outer(expected, r, w);
  add_outer(expected, vector<double>(-image), x);
  CHECK(norm(values(to_A) - values(expected)) <= 1e-11 * norm(values(expected)));
}

TEST_CASE("of dependent columns a cotangent in the row space has the derivative along changes that keep the rank, by all methods alike") {
  auto const one = rectangular<double>(60, 20);
  auto const with = [](auto const& base) { return cat_cols(base, eval(2.0 * cols(base, 3, 8))); };
  auto change = one;
  for (index_t s = 0; s < change.nnz(); ++s) change.values()[s] = std::sin(double(s));
  auto const A = with(one), E = with(change);
  auto const b = random<double>(60, 1);
  vector<double> const w = transpose(A) * random<double>(60, 2);
  auto const loss = [&](auto const& a) { return eval(dot(w, least_squares(a, b, dense_qr{}))); };
  double const h = 1e-4, difference = (8 * (loss(eval(A + h * E)) - loss(eval(A - h * E))) - (loss(eval(A + 2 * h * E)) - loss(eval(A - 2 * h * E)))) / (12 * h);
  auto const along = [&](auto const& of) { return double(dot(values(std::get<1>(value_and_gradient(of, A))), values(E))); };
  CHECK(along(loss) == Approx(difference).epsilon(1e-7));
  CHECK(along([&](auto const& a) { return eval(dot(w, least_squares(a, b, lsmr{.rtol = 1e-13}))); }) == Approx(difference).epsilon(1e-6));
}

TEST_CASE("derivatives of least squares that are not there are refused") {
  auto const one = rectangular<double>(60, 20);
  auto const A = cat_cols(one, eval(2.0 * cols(one, 3, 8)));
  auto const b = random<double>(60, 1), w = random<double>(25, 2);
  auto const of = [&](auto const&... options) { return value_and_gradient([&](auto const& a) { return eval(dot(w, least_squares(a, b, options...))); }, A); };
  CHECK_THROWS_WITH(of(lsmr{.max_iterations = 200}), ContainsSubstring("independent columns"));
  CHECK_THROWS_WITH(of(dense_qr{}), ContainsSubstring("independent columns"));
  CHECK_NOTHROW(of(damping(0.1)));
  auto const W = eval(transpose(A));
  auto const c = random<double>(25, 3);
  CHECK_THROWS_WITH(value_and_gradient([&](auto const& a) { return squared_norm(least_squares(a, c, lsmr{.rtol = 1e-10})); }, W), ContainsSubstring("rows"));
  auto const V = eval(transpose(one));  // whose x is another one with column scaling
  auto const d = random<double>(20, 4);
  auto const scaled = [&](auto const&... options) { return value_and_gradient([&](auto const& a, auto const& e) { return squared_norm(least_squares(a, e, options..., lsmr{.rtol = 1e-10})); }, V, d); };
  CHECK_THROWS_WITH(scaled(jacobi{}), ContainsSubstring("leave it out, or give a damping"));
  CHECK_NOTHROW(scaled(identity{}));
  CHECK_NOTHROW(scaled(jacobi{}, damping(0.1)));
  CHECK_THROWS_AS(value_and_gradient([&](auto const& a) { return squared_norm(try_least_squares(a, b, lsmr{.max_iterations = 2}).x); }, one), solve_error);
}

} // namespace test_gradient_of_least_squares
