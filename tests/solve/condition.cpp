// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Estimates of condition numbers against those of dense inverses by Eigen: real, complex, float, blocks, items of a batch, singular ones.
#include "catch.hpp"

#include <cmath>
#include <complex>

#include <Eigen/Core>

#include <sla/solve/linear/condition.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "data.hpp"
#include "suites/dense.hpp"
#include "suites/dense_oracle.hpp"

namespace test_condition {

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using complex_t = std::complex<double>;

namespace {
template <class A>
double condition(A const& a) {
  using T = std::conditional_t<is_complex<typename A::value_type>, complex_t, double>;
  auto const entries = oracle::dense(a);
  auto const n = Eigen::Index(std::sqrt(double(entries.size())) + 0.5);
  Eigen::Matrix<T, -1, -1> const m = Eigen::Map<Eigen::Matrix<typename A::value_type, -1, -1, Eigen::RowMajor> const>(entries.data(), n, n).template cast<T>();
  auto const norm1 = [](auto const& x) { return double(x.cwiseAbs().colwise().sum().maxCoeff()); };
  return norm1(m) * norm1(oracle::inverse(m));
}
void check(double estimate, double exact) {
  CHECK(estimate <= (1 + 1e-15 * exact + 1e-10) * exact);
  CHECK(estimate * 3 >= exact);
}
sparse_tensor<double> hilbert(int n) {
  triplets<double> t(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) t.add(i, j, 1.0 / (i + j + 1));
  return t.build();
}
sparse_tensor<double> diagonal(std::vector<double> const& d) {
  triplets<double> t(index_t(d.size()), index_t(d.size()));
  for (index_t i = 0; i < index_t(d.size()); ++i) t.add(i, i, d[std::size_t(i)]);
  return t.build();
}
} // namespace

TEST_CASE("the estimate of a condition number is at most the number, and not less than a third") {
  for (auto const& A : {problems::poisson<double>({10, 9}), problems::convection_diffusion<double>({9, 9}, {8.0, -3.0}), hilbert(8),
                        problems::checkerboard({8, 8}, 1e6, 2), transposed(problems::convection_diffusion<double>({60}, 5.0))}) {
    double const exact = condition(A);
    CAPTURE(exact);
    check(condition_estimate(A), exact);
    check(condition_estimate(A, lu(A)), exact);
  }
  for (int seed = 1; seed <= 20; ++seed) {
    auto A = problems::poisson<double>({5, 4});
    auto const noise = random<double>(A.nnz(), std::uint64_t(seed));
    for (index_t s = 0; s < A.nnz(); ++s) A.values()[s] = noise[s] * std::exp(3 * noise[A.nnz() - 1 - s]);
    check(condition_estimate(A), condition(A));
  }
  auto const A = problems::poisson<double>({10, 9});
  CHECK(condition_estimate(A, cholesky(A)) == Approx(condition_estimate(A)));
  CHECK(condition_estimate(A, ldlt(A)) == Approx(condition_estimate(A)));
  CHECK(condition_estimate(A, prepare(A, gmres{.rtol = 1e-12}, ilu0{})) == Approx(condition_estimate(A)));
  CHECK(condition_estimate(A, prepare(A)) == Approx(condition_estimate(A)));
  CHECK(condition_estimate(diagonal({4.0, 1e-3, 2.0})) == Approx(4000));
  CHECK(condition_estimate(diagonal({-3.0})) == Approx(1));
  CHECK(condition_estimate(sparse_tensor<double>{}) == 0);
  check(condition_estimate(cast<float>(A)), condition(A));
}

TEST_CASE("the estimate of a condition number of complex matrices, and of items of a batch") {
  auto const complex = [](std::uint64_t seed) {
    auto Z = cast<complex_t>(problems::convection_diffusion<double>({8, 6}, {3.0, 1.0}));
    auto const noise = random<double>(Z.nnz(), seed);
    for (index_t s = 0; s < Z.nnz(); ++s) Z.values()[s] *= std::polar(1 + 0.5 * noise[s], 3 * noise[s]);
    return Z;
  };
  for (std::uint64_t seed = 1; seed <= 10; ++seed) check(condition_estimate(complex(seed)), condition(complex(seed)));

  auto const C = stack_batch(to_blocks<2, 2>(complex(1)), to_blocks<2, 2>(complex(2)));
  tensor<double, Extents<2>> const both = condition_estimate(C);
  for (index_t k = 0; k < 2; ++k) {
    check(both[k], condition(complex(std::uint64_t(k + 1))));
    CHECK(both[k] == Approx(condition_estimate(complex(std::uint64_t(k + 1)))).epsilon(1e-10));
  }
}

TEST_CASE("the condition number of a singular matrix is infinite, of an item of a batch too") {
  double const infinity = std::numeric_limits<double>::infinity();
  CHECK(condition_estimate(diagonal({1.0, 0.0, 2.0})) == infinity);
  CHECK(condition_estimate(read_matrix_market<double>(data("structurally_singular.mtx"))) == infinity);
  CHECK(condition_estimate(read_matrix_market<double>(data("numerically_singular.mtx"))) > 1e14);
  auto const both = condition_estimate(stack_batch(diagonal({1.0, 8.0}), diagonal({0.0, 2.0})));
  CHECK((both[0] == Approx(8) && both[1] == infinity));
  CHECK(condition_estimate(diagonal({1e200, 1e-200})) == infinity);
  auto const A = problems::poisson<double>({3, 3});
  CHECK_THROWS_WITH(condition_estimate(problems::poisson<double>({4, 4}), lu(A)),
                    ContainsSubstring("A is 16 x 16, batch 1, and the solver is of a matrix 9 x 9, batch 1; give that matrix"));
  CHECK_THROWS_AS(condition_estimate(rows(A, 0, 3)), shape_error);
  auto bad = A;
  bad.values()[0] = std::nan("");
  CHECK_THROWS_WITH(condition_estimate(bad), ContainsSubstring("A(0, 0) is nan"));
  CHECK_THROWS_AS(condition_estimate(A, prepare(A, gmres{.rtol = 1e-12, .max_iterations = 1})), solve_error);
}

} // namespace test_condition
