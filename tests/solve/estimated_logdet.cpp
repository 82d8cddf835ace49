// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The stochastic logarithm of a determinant: within its error of the exact one, on the host and on a queue, for formats, batches, blocks,
// complex matrices and operators; its quadrature against dense eigenvalues; bad input by its sentences.
#include "catch.hpp"

#include <cmath>
#include <complex>
#include <span>
#include <sstream>

#include <Eigen/Core>

#include <sla/solve.hpp>
#include <sla/solve/determinant/stochastic_lanczos.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "data.hpp"
#include "suites/dense.hpp"
#include "suites/dense_oracle.hpp"

namespace test_estimated_logdet {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

namespace {
/// z^H log(A) z for the probe k, by dense eigenvalues.
template <class A>
double dense_form(A const& a, stochastic_lanczos const& options, index_t k) {
  using T = typename A::value_type;
  auto const entries = oracle::dense(a);
  Eigen::Index const n = a.rows() * A::shape_type::block_rows;
  Eigen::Matrix<T, -1, -1> const m = Eigen::Map<Eigen::Matrix<T, -1, -1, Eigen::RowMajor> const>(entries.data(), n, n);
  auto const s = oracle::of_hermitian<T>(m);
  auto const z = detail::sign_probes(a, options.seed, k, 1);
  Eigen::Matrix<T, -1, 1> const c = s.vectors.adjoint() * Eigen::Map<Eigen::Matrix<T, -1, 1> const>(z.data(), n);
  return c.cwiseAbs2().dot(s.values.array().log().matrix());
}
} // namespace

TEST_CASE("the quadrature gives the quadratic forms of the logarithm, and the mean and error are theirs") {
  auto const check = [](auto const& A, double tolerance) {
    stochastic_lanczos const options{.probes = 20, .seed = 5};
    auto const guess = logdet(A, options);
    double mean = 0, squares = 0;
    std::vector<double> forms;
    for (index_t k = 0; k < 20; ++k) forms.push_back(dense_form(A, options, k)), mean += forms.back() / 20;
    for (double f : forms) squares += (f - mean) * (f - mean);
    CHECK(std::abs(guess.value - mean) <= 2 * guess.quadrature + tolerance * std::abs(mean));
    CHECK(guess.quadrature <= 0.06 * guess.error + tolerance * std::abs(mean));
    CHECK(guess.error == Approx(std::sqrt(squares / 19 / 20)).epsilon(0.01));
    CHECK(std::abs(guess.value - logdet(A)) <= 4 * guess.error);
  };
  auto const A = problems::poisson<double>({9, 8});
  check(A, 1e-12);
  check(to<Dia>(problems::checkerboard({8, 8}, 100.0, 2)), 1e-12);
  check(to_blocks<2, 2>(A), 1e-12);
  auto Z = cast<std::complex<double>>(A);
  for (index_t i = 0; i < Z.rows(); ++i)
    Z.pattern().view().for_row(i, [&](index_t s, index_t j) { Z.values()[s] *= std::polar(1.0, 0.2 * double(i - j) * double(i + j)); });
  sparse_tensor<std::complex<double>> const H = 0.5 * Z + 0.5 * eval(adjoint(Z));
  check(H, 1e-12);
  auto const S = read_matrix_market<double>(data("nos5.mtx"));
  auto const guess = logdet(S, stochastic_lanczos{.probes = 16, .seed = 1});
  CHECK(std::abs(guess.value - logdet(S)) <= 4 * guess.error);
}

TEST_CASE("few steps tell what they miss, and more steps approach from above") {
  auto const A = problems::checkerboard({20, 20}, 1e3, 2);
  auto const full = logdet(A, stochastic_lanczos{.probes = 8, .seed = 2, .steps = 400});
  double before = 1e300;
  for (int steps : {12, 24, 48}) {
    auto const few = logdet(A, stochastic_lanczos{.probes = 8, .seed = 2, .steps = steps});
    CHECK(few.value < before);
    CHECK(few.value > full.value);
    CHECK(few.value - full.value <= 4 * few.error);
    before = few.value;
  }
  auto const one = logdet(A, stochastic_lanczos{.probes = 1});
  CHECK(one.error == std::numeric_limits<double>::infinity());
  auto const D = from_triplets<double>(3, 3, {0, 1, 2}, {0, 1, 2}, {2.0, 3.0, 5.0});  // without noise
  auto const exact = logdet(D, stochastic_lanczos{.probes = 4});
  CHECK(exact.value == Approx(std::log(30.0)).epsilon(1e-14));
  CHECK(exact.error <= 1e-14);
  std::ostringstream out;
  out << logdet(D, stochastic_lanczos{.probes = 4});
  CHECK_THAT(out.str(), ContainsSubstring("3.4012 +- ") && ContainsSubstring("(4 probes, "));
}

TEST_CASE("estimates on a queue, of items of a batch, of float and of operators are those of the host") {
  auto const A = problems::poisson<double>({9, 8}), B = problems::checkerboard({9, 8}, 10.0, 3);
  stochastic_lanczos const options{.probes = 20, .seed = 3};
  auto const guess = logdet(A, options);
  for (int lag : {0, 4}) {
    auto const queued = logdet(A, options, on([&](frame f) { return deferred(f, lag); }));
    CHECK(queued.value == guess.value);
    CHECK(queued.error == guess.error);
  }
  CHECK(logdet(cast<float>(A), options).value == Approx(guess.value).epsilon(1e-5));
  auto const both = logdet(stack_batch(A, B), options);
  CHECK(both.value[0] == Approx(guess.value).epsilon(1e-3));
  CHECK(std::abs(both.value[1] - logdet(B)) <= 4 * both.error[1]);
  linear_operator<double> const M(72, 72, [&](std::span<double const> x, std::span<double> y) {
    vector<double> const in(x);
    vector<double> const product = A * in;
    std::copy(product.begin(), product.end(), y.begin());
  });
  CHECK(logdet(M, options).value == Approx(guess.value).epsilon(1e-10));
}

TEST_CASE("estimates of logarithms of matrices whose squares are out of range, of items of different sizes too") {
  auto const A = problems::poisson<double>({9, 8}), B = problems::checkerboard({9, 8}, 10.0, 3);
  stochastic_lanczos const options{.probes = 20, .seed = 3};
  auto const guess = logdet(A, options);
  for (double scale : {1e200, 1e-200, 1e300}) {
    auto const scaled = logdet(eval(scale * A), options);
    CHECK(scaled.value == Approx(guess.value + 72 * std::log(scale)).epsilon(1e-12));
    CHECK(scaled.error == Approx(guess.error).epsilon(1e-6));
    linear_operator<double> const M(72, 72, [&](std::span<double const> x, std::span<double> y) {
      vector<double> const in(x), product = scale * (A * in);
      std::copy(product.begin(), product.end(), y.begin());
    });
    CHECK(logdet(M, options).value == Approx(scaled.value).epsilon(1e-12));
  }
  CHECK(logdet(eval(1e30f * cast<float>(A)), options).value == Approx(guess.value + 72 * std::log(1e30)).epsilon(1e-6));
  auto const both = logdet(stack_batch(eval(1e-200 * A), eval(1e150 * B)), options);
  CHECK(both.value[0] == Approx(guess.value - 72 * std::log(1e200)).epsilon(1e-6));
  CHECK(std::abs(both.value[1] - logdet(eval(1e150 * B))) <= 4 * both.error[1]);
}

TEST_CASE("what has no stochastic logarithm is refused by one sentence") {
  auto const A = problems::poisson<double>({6, 6});
  CHECK_THROWS_WITH(logdet(eval(A - 2.0 * eye<double>(36)), stochastic_lanczos{}), ContainsSubstring("A is not positive definite") && ContainsSubstring("slogdet(A)"));
  CHECK_THROWS_WITH(logdet(problems::convection_diffusion<double>({6, 6}, 5.0), stochastic_lanczos{}), ContainsSubstring("A is not Hermitian") && ContainsSubstring("slogdet(A)"));
  CHECK_THROWS_WITH(logdet(rows(A, 0, 4), stochastic_lanczos{}), ContainsSubstring("A is 4 x 36, and must be square"));
  CHECK_THROWS_WITH(logdet(A, stochastic_lanczos{.probes = 0}), ContainsSubstring("0 probes and 200 steps; both are at least 1"));
  CHECK_THROWS_WITH(logdet(A, stochastic_lanczos{.rtol = -1}), ContainsSubstring(".rtol = -1, of the solves of the gradient, is from 0 to 1"));
  linear_operator<double> const broken(36, 36, [](std::span<double const>, std::span<double> y) { std::ranges::fill(y, std::nan("")); }, self_adjoint);
  CHECK_THROWS_WITH(logdet(broken, stochastic_lanczos{}), ContainsSubstring("a product with A has elements that are NaN or infinite"));
  auto nan = A;
  nan.values()[0] = std::nan("");
  CHECK_THROWS_WITH(logdet(nan, stochastic_lanczos{}), ContainsSubstring("logdet(A, stochastic_lanczos{}): A(0, 0) is nan"));
}

} // namespace test_estimated_logdet
