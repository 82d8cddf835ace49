// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a solve says is so: the residual that a report tells is that of x in more digits than x has, and no outcome rests on
// what rounding made of it. Systems whose residual cancels, float, b = 0, and scales near the ends of double.
#include <cmath>
#include <complex>

#include <sla/exec/deferred.hpp>
#include <sla/solve.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "catch.hpp"

using namespace sla;
using Catch::Matchers::ContainsSubstring;

namespace {
/// |b - A x| / |b| in long double: first the products as T has them, which cancel exactly, then b and what rounding took off the products.
template <class T>
double true_residual(sparse_tensor<T> const& A, vector<T> const& b, vector<T> const& x) {
  using wide = long double;
  wide rr = 0, bb = 0;
  for (index_t i = 0; i < A.rows(); ++i) {
    wide products = 0, rest = 0;
    A.pattern().view().for_row(i, [&](index_t s, index_t j) {
      T const product = A.values()[s] * x[j];
      products += product, rest += std::fma(A.values()[s], x[j], -product);
    });
    wide const r = b[i] - products - rest;
    rr += r * r, bb += wide(b[i]) * wide(b[i]);
  }
  return double(std::sqrt(rr / bb));
}
/// Rows that differ in the last digits: |A| |x| is 1e8 times |b| and more.
template <class T>
sparse_tensor<T> nearly_singular(double gap, std::uint64_t seed) {
  auto const v = random<double>(4, seed);
  std::vector<T> const values{T(v[0]), T(v[1]), T(v[0] * (1 + gap * v[2])), T(v[1] * (1 + gap * v[3]))};
  return from_triplets<T>(2, 2, std::vector{0, 0, 1, 1}, std::vector{0, 1, 0, 1}, values);
}
}  // namespace

TEST_CASE("the residual of the normal equations asks for two products with the adjoint") {
  auto const A = problems::convection_diffusion<double>({7, 5}, 2.0);
  index_t const n = A.rows();
  int forth = 0, back = 0;
  linear_operator<double> const op(
      n, n, [&](auto x, auto y) { ++forth, std::ranges::copy(vector<double>(A * borrow(x.data(), n)), y.begin()); },
      [&](auto x, auto y) { ++back, std::ranges::copy(vector<double>(adjoint(A) * borrow(x.data(), n)), y.begin()); });
  auto const b = random<double>(n, 1), x = random<double>(n, 2);
  deferred queue({1, n, 1, 1}, 2);
  measure_room<vector<double>> room;
  auto const [rr, bb, sum] = residual_of_normal_equations::numbers(queue, op, b, x, room);
  auto const [sum_of_r] = residual_of_normal_equations::sum(queue, op, b, x, room);
  queue.finish();
  vector<double> const r = adjoint(A) * (b - A * x), of_b = adjoint(A) * b;
  CHECK(queue.read(rr)[0] == Approx(squared_norm(r)));
  CHECK(queue.read(bb)[0] == Approx(squared_norm(of_b)));
  CHECK(queue.read(sum)[0] == Approx(norm1(of_b)));
  CHECK(queue.read(sum_of_r)[0] == Approx(norm1(r)));
  CHECK((forth == 1 && back == 3));  // and one for the sum, which is asked for only where squares are out of range
}

TEST_CASE("the residual of a nearly singular system is that of x, not of its rounding") {
  int converged = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    auto const A = nearly_singular<double>(1e-9, seed);
    auto const b = random<double>(2, 1000 + seed);
    auto const [x, report] = try_solve(A, b);
    double const wanted = true_residual(A, b, x);
    INFO(report);
    CHECK(report.residual() == Approx(wanted).epsilon(0.02).margin(5e-10));  // long double has eleven bits more, and up to 1e10 cancels
    if (report.converged()) CHECK(wanted <= 1.1e-8);
    converged += report.converged();
  }
  CHECK(converged > 0);
}

TEST_CASE("a float system converges by the residual of its x, or says what float can hold") {
  for (index_t n : {3, 30, 300})
    for (int seed = 0; seed < 20; ++seed) {
      auto const A = problems::random_dominant<float>(n, 2, std::uint64_t(seed));
      auto const b = random<float>(n, std::uint64_t(seed + 1000));
      auto const [x, report] = try_solve(A, b, automatic{.rtol = 1e-8});
      double const wanted = true_residual(A, b, x);
      INFO(report);
      CHECK(report.residual() == Approx(wanted).epsilon(1e-6));
      CHECK(wanted < 2e-7);  // as near as float comes
      CHECK(report.converged() == (wanted <= 1e-8));
      if (!report.converged()) {
        CHECK(report.reason() == reason::stagnated);
        CHECK_THAT(text(report), ContainsSubstring("float"));
      }
    }
}

TEST_CASE("float systems that are solved as well as float can are not called breakdowns") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto const A = nearly_singular<float>(1e-3, seed);
    auto const b = random<float>(2, 1000 + seed);
    auto const [x, report] = try_solve(A, b, bicgstab{}, ssor{});
    auto const size = abs(b) + abs(A) * abs(x);
    INFO(report);
    double const backward = true_residual(A, b, x) * double(norm(b)) / double(norm(size));
    CHECK(report.residual() == Approx(true_residual(A, b, x)).epsilon(1e-6));
    if (backward < 2e-7) CHECK((report.converged() || report.reason() == reason::stagnated));
  }
}

TEST_CASE("later runs solve for the correction from the accurate residual: x is right to its last digits") {
  auto const D = problems::poisson<double>({200});
  auto const A = D * D;  // small integers, condition 1e8
  auto wanted = random<double>(200, 3);
  for (auto& v : wanted) v = std::round(0x1p20 * v);  // A x is exact
  vector<double> const b = A * wanted;
  auto error = [&](auto const& method, auto const&... options) {
    auto const [x, report] = try_solve(A, b, method, options...);
    INFO(report);
    CHECK(report.residual() <= 1e-12);
    return double(norm(x - wanted)) / double(norm(wanted));
  };
  lu<> direct;
  direct.rtol = 0;
  CHECK(error(direct) < 1e-15);
  CHECK(error(bicgstab{.rtol = 0}, factor<factorization::cholesky>{}) < 1e-15);
}

TEST_CASE("scales that differ by a hundred orders make no false claim") {
  std::vector<int> const i{0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4}, j{0, 2, 3, 4, 1, 2, 4, 0, 2, 3, 0, 3, 3, 4};
  std::vector<double> const v{6.2150405800341398e+34,  1.3050152803362176e-130, 1.5339162111995012e-80, 1.0045446298528381e-101, 1.1107792545106601e+44,
                              -0.0010722154927677824,  -8.8736056845397012e+26, -1.8741429665610126e+127, 2.8574172652645291e-36, 132656912779307.84,
                              69215.599594560583,      1.7092624156469816e-108, 3.1075596011760354e-64, 4.909312776679475e-85};
  auto const A = from_triplets<double>(5, 5, i, j, v);
  vector<double> const b{6.0342288074696565e+33, 4.8793713328976435e+41, -1.8196192498677108e+126, 6720.1936917600678, -1.4595085591786013e-64};
  auto const [x, report] = try_solve(A, b, gmres{.restart = 3, .rtol = 1e-6}, jacobi{});
  INFO(report);
  CHECK(!report.converged());
  double const left = double(norm_inf(b - A * x)) / double(norm_inf(b));
  CHECK(left > 1e-6);
  CHECK(report.residual() >= 0.4 * left);  // of norms whose ratio is between 1 and the root of 5
  CHECK(report.residual() <= 2.3 * left);
}

TEST_CASE("of b = 0 the solution is 0, whatever the guess") {
  auto const A = problems::poisson<double>({10, 10});
  vector<double> const b = zeros<double>(100), x0 = random<double>(100, 1);
  auto check = [&](auto const&... options) {
    auto const [x, report] = try_solve(A, b, options..., initial_guess(x0));
    INFO(report);
    CHECK(report.converged());
    CHECK(report.iterations() == 0);
    CHECK(double(norm(x)) == 0);
  };
  check(cg{}, jacobi{});
  check(bicgstab{}, ilu0{});
  check(gmres{}, ilu0{});
  check(minres{}, identity{});
  check(lu{});
  check(automatic{});
  check(cg{}, jacobi{}, on([](frame f) { return deferred(f, 4); }));

  matrix<double> B({100, 3}), X0({100, 3});
  for (index_t n = 0; n < 100; ++n)
    for (index_t k = 0; k < 3; ++k) B(n, k) = k == 1 ? 0 : 1, X0(n, k) = x0[n];
  auto const [X, report] = try_solve(A, B, cg{}, jacobi{}, initial_guess(X0));
  CHECK(report.converged());
  CHECK(report.items[1].iterations == 0);
  for (index_t n = 0; n < 100; ++n) {
    CHECK(X(n, 1) == 0);
    CHECK(X(n, 0) == Approx(X(n, 2)).epsilon(1e-6));
  }
}

TEST_CASE("residuals are told where their squares leave the range of double, and an absolute tolerance holds there") {
  auto const A = problems::poisson<double>({10});
  auto with_size = [&](double size) { return vector<double>(size * ones<double>(10)); };
  auto const tiny = try_solve(A, with_size(1e-150), cg{.atol = 1e-3}, jacobi{}).report;
  INFO(tiny);
  CHECK(tiny.converged());

  auto const Z = 0.0 * A;  // factors of zeros fail, so that x = 0
  auto const failed = try_solve(Z, with_size(1e-300), lu{}).report;
  INFO(failed);
  CHECK(!failed.converged());
  CHECK(failed.residual() == Approx(1));

  vector<double> const far = with_size(1e80);
  auto const one = try_solve(A, with_size(1e-80), cg{.max_iterations = 0}, jacobi{}, initial_guess(far)).report;
  INFO(one);
  CHECK(!one.converged());
  CHECK(one.residual() == Approx(double(norm(A * with_size(1.0))) / double(norm(with_size(1.0))) * 1e160));
}

TEST_CASE("what is asked for is beyond the digits of double: the solve stagnates there, soon, and x is right to its last digits") {
  auto const A = problems::poisson<double>({10, 10});
  auto const wanted = random<double>(100, 3);
  vector<double> const b = A * wanted;
  for (double rtol : {0.0, 1e-17}) {
    auto check = [&](auto method, auto const&... options) {
      method.rtol = rtol;
      auto const [x, report] = try_solve(A, b, method, options...);
      INFO(report);
      CHECK(report.reason() == reason::stagnated);
      CHECK(report.residual() < 1e-16);
      CHECK(report.iterations() < 200);
      CHECK(double(norm(x - wanted)) < 1e-15 * double(norm(wanted)));
      CHECK_THAT(text(report), ContainsSubstring("sixteen digits"));
    };
    check(cg{}, jacobi{});
    check(cg{});
    check(cg{}, ilu0{});
    check(bicgstab{}, ilu0{});
    check(gmres{}, ilu0{});
    check(minres{});
    check(lu<>{});
    check(automatic{});
  }
}
