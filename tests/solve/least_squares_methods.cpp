// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Methods for least squares against dense algebra: on spaces of the host, their iterates, tall, wide, rank-deficient and damped problems,
// the numbers of the report. The calls are in tests/solve/least_squares_calls.cpp.
#include <array>
#include <complex>

#include <Eigen/Core>

#include <sla/exec/deferred.hpp>
#include <sla/least_squares.hpp>

#include "catch.hpp"
#include "suites/dense_least_squares.hpp"

namespace test_least_squares_methods {

using Catch::Matchers::ContainsSubstring;
using namespace sla;
using suite::by_orthogonal_factors;
using suite::rectangular;

namespace {
/// All that must hold for a method, whose options it gets as a function of the damping.
template <class T, class Make>
void right_everywhere(sparse_tensor<T> const& A, double damped, Make const& make, double tolerance) {
  auto const b = random<T>(A.rows(), 5);
  auto const expected = by_orthogonal_factors(A, b, damped);
  auto const method = make(damped);
  auto const [x, report] = try_least_squares(A, b, method);
  INFO(report);
  CHECK(report.converged());
  CHECK(norm(x - expected) <= tolerance * norm(expected));
  auto const late = try_least_squares(A, b, method, on([](frame f) { return deferred(f, 4); }));
  CHECK(late.report.iterations() == report.iterations());
  CHECK(norm_inf(late.x - x) == 0);
}
/// A with columns that are sums of others.
sparse_tensor<double> rank_deficient() {
  auto const one = rectangular<double>(60, 20);
  return cat_cols(one, eval(2.0 * cols(one, 3, 8)));
}
} // namespace

TEST_CASE("LSMR, LSQR, CGLS and dense QR find the x of dense algebra, tall, wide, square and damped, real and complex, on a queue of any lag") {
  auto const check = [](auto const& A) {
    for (double d : {0.0, 0.7}) {
      right_everywhere(A, d, [](double damping) { return lsmr{.rtol = 1e-11, .damping = damping}; }, 1e-9);
      right_everywhere(A, d, [](double damping) { return lsqr{.rtol = 1e-11, .damping = damping}; }, 1e-9);
      right_everywhere(A, d, [](double damping) { return cgls{.rtol = 1e-11, .damping = damping}; }, 1e-9);
      right_everywhere(A, d, [](double damping) { return dense_qr{.rtol = 1e-11, .damping = damping}; }, 1e-12);
    }
  };
  check(rectangular<double>(60, 25));
  check(rectangular<double>(25, 60));
  for (double d : {0.0, 0.7}) right_everywhere(rectangular<std::complex<double>>(40, 30), d, [](double damping) { return lsmr{.rtol = 1e-11, .damping = damping}; }, 1e-9);
}

TEST_CASE("an x of LSMR makes |A^H r| least in its Krylov space, and one of LSQR and of CGLS |r|") {
  auto const A = rectangular<double>(40, 15);
  auto const b = random<double>(40, 2);
  for (double d : {0.0, 0.5}) {
    Eigen::MatrixXd const dense = suite::dense_of(A, d), normal = dense.transpose() * dense;
    Eigen::VectorXd const right = suite::dense_of(b, dense.rows()), slope = dense.transpose() * right;
    Eigen::MatrixXd basis(15, 0);
    Eigen::VectorXd next = slope;
    for (int k = 1; k <= 7; ++k) {
      for (int again = 0; again < 2; ++again) next -= basis * (basis.transpose() * next);
      basis.conservativeResize(15, k);
      basis.col(k - 1) = next.normalized();
      next = normal * basis.col(k - 1);
      Eigen::MatrixXd const products = normal * basis, images = dense * basis;
      vector<double> const of_lsmr = suite::from_dense<double>(basis * oracle::least_squares(products, slope)), of_lsqr = suite::from_dense<double>(basis * oracle::least_squares(images, right));
      auto const after = [&](auto method) {
        method.rtol = 1e-15, method.max_iterations = k, method.damping = d;
        auto const s = try_least_squares(A, b, method);
        CHECK((s.report.iterations() == k && s.report.reason() == reason::iteration_limit));
        return s.x;
      };
      CHECK(norm(after(lsmr{}) - of_lsmr) <= 1e-10 * norm(of_lsmr));
      CHECK(norm(after(lsqr{}) - of_lsqr) <= 1e-10 * norm(of_lsqr));
      CHECK(norm(after(cgls{}) - of_lsqr) <= 1e-10 * norm(of_lsqr));
    }
  }
}

TEST_CASE("after 1, 5, 10 and 20 iterations LSMR is where SciPy's is, of four rectangular matrices") {
  // scipy.sparse.linalg.lsmr(A, b, atol=0, btol=0, conlim=0, maxiter=k) of SciPy 1.10.1 with b_i = sin(i + 1): |b - A x|, |A^T (b - A x)|
  struct after {
    double r, slope;
  };
  auto const check = [](sparse_tensor<double> const& A, std::array<after, 4> const& expected) {
    vector<double> b(A.rows());
    for (index_t i = 0; i < b.size(); ++i) b[i] = std::sin(double(i + 1));
    int const iterations[] = {1, 5, 10, 20};
    for (std::size_t n = 0; n < 4; ++n) {
      auto const x = try_least_squares(A, b, lsmr{.rtol = 1e-15, .max_iterations = iterations[n]}).x;
      vector<double> const r = b - A * x;
      CHECK(double(norm(r)) == Approx(expected[n].r).epsilon(1e-8));
      CHECK(double(norm(transpose(A) * r)) == Approx(expected[n].slope).epsilon(1e-8));
    }
  };
  auto const ash = read_matrix_market<double>(SLA_TEST_DATA "/ash219.mtx");
  check(read_matrix_market<double>(SLA_TEST_DATA "/well1850.mtx"), {after{26.436142872510356, 6.3588479038657511}, {25.250982351499921, 1.1651009786803295}, {25.039451933468225, 0.42861986040791028}, {24.947760734511764, 0.12920184456933226}});
  check(ash, {after{8.626177546483385, 4.8384005008668005}, {8.259413125585537, 0.27591879931007163}, {8.2574690231716268, 0.0092072012084856696}, {8.2574671121692784, 5.9664103320137981e-06}});
  check(eval(transpose(ash)), {after{2.5987293471856132, 5.3410492087602126}, {0.17794104040896522, 0.25916033629779878}, {0.0050650552314630316, 0.0081583923247210127}, {3.4571092360153274e-06, 5.0387752799245887e-06}});
  std::vector<index_t> row, col;
  std::vector<double> value;
  for (int i = 0; i < 90; ++i)
    for (int j = 0; j < 40; ++j)
      if ((i + 2 * j) % 5 == 0 || i == j) row.push_back(i), col.push_back(j), value.push_back(std::sin(1.0 + i * i + 2 * j * j) + (i == j ? 4 : 0));
  check(from_triplets<double>(90, 40, row, col, value), {after{5.9683513071054595, 9.6653104248543347}, {5.4181170784452082, 0.8922082761858745}, {5.4118227192675388, 0.042781831115724887}, {5.4118097723509813, 2.4224531343429125e-06}});
}

TEST_CASE("of a rank-deficient problem the shortest x is found, and dense QR names the rank") {
  auto const A = rank_deficient();
  auto const b = random<double>(60, 4);
  auto const expected = by_orthogonal_factors(A, b);
  CHECK(norm(least_squares(A, b, lsmr{.rtol = 1e-12}) - expected) <= 1e-9 * norm(expected));
  CHECK(norm(least_squares(A, b, lsqr{.rtol = 1e-12}) - expected) <= 1e-9 * norm(expected));
  CHECK(norm(least_squares(A, b, cgls{.rtol = 1e-12}) - expected) <= 1e-9 * norm(expected));
  auto const [x, report] = try_least_squares(A, b);
  CHECK(norm(x - expected) <= 1e-12 * norm(expected));
  CHECK_THAT(text(report), ContainsSubstring("dense_qr") && ContainsSubstring("rank 20 of 25 columns: the shortest x"));
}

TEST_CASE("matrices of others: ash219 and well1850, whose numbers in the report are true") {
  auto const ash = read_matrix_market<double>(SLA_TEST_DATA "/ash219.mtx");
  auto const a = random<double>(ash.rows(), 1);
  auto const expected = by_orthogonal_factors(ash, a);
  CHECK(norm(least_squares(ash, a, lsmr{.rtol = 1e-13}) - expected) <= 1e-12 * norm(expected));
  auto const [y, report] = try_least_squares(ash, a, lsqr{.rtol = 1e-10});
  auto const sigma = oracle::singular(suite::dense_of(ash)).values;
  vector<double> const r = a - ash * y;
  double const figure = norm(transpose(ash) * r) / (sigma(0) * norm(r)), condition = sigma(0) / sigma(sigma.size() - 1);
  CHECK(report.residual() >= 0.999 * figure);  // |A| is not flattered
  CHECK(report.residual() <= 1.3 * figure);
  CHECK(report.residual_norm() == Approx(norm(r)).epsilon(1e-12));
  CHECK((report.condition() <= 1.001 * condition && report.condition() >= 0.3 * condition));
  CHECK_THAT(text(report), ContainsSubstring("true |A^H r| / (|A| |r|)") && ContainsSubstring("|b|, condition number at least about"));
  auto const direct = try_least_squares(ash, a);
  CHECK_THAT(text(direct.report), ContainsSubstring("dense_qr") && ContainsSubstring("chosen for: few columns"));
  CHECK((direct.report.condition() <= 1.001 * condition && direct.report.condition() >= 0.5 * condition));

  auto const well = read_matrix_market<double>(SLA_TEST_DATA "/well1850.mtx");
  auto const b = random<double>(well.rows(), 1);
  auto const found = try_least_squares(well, b);
  CHECK_THAT(text(found.report), ContainsSubstring("lsmr: converged") && ContainsSubstring("chosen for: many columns"));
  CHECK(norm(transpose(well) * (b - well * found.x)) <= 1e-8 * 1.8 * norm(b));
  CHECK((found.report.condition() > 40 && found.report.condition() < 112));  // 111.3
  auto const damped = least_squares(well, b, damping(0.1)), twice = least_squares(well, b, lsqr{.rtol = 1e-12, .damping = 0.1});
  CHECK(norm(damped - twice) <= 1e-6 * norm(twice));
  CHECK(norm(transpose(well) * (b - well * twice) - 0.01 * twice) <= 1e-11 * norm(b));
}

} // namespace test_least_squares_methods
