// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Systems with known unknowns against a dense solve of the equations that are left; symmetry, the pattern, and each bad input.
#include <complex>
#include <limits>
#include <span>

#include <Eigen/Core>

#include <sla/adapter/eigen.hpp>
#include <sla/expr/sparse/norms.hpp>
#include <sla/solve/direct/direct.hpp>
#include <sla/solve/direct/eliminate.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/structure/properties.hpp>

#include "catch.hpp"
#include "suites/dense_oracle.hpp"

namespace test_eliminate {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

namespace {
/// x with the values at the fixed places, and elsewhere the solution of the rows that are left.
template <class A>
Eigen::VectorXd reduced_solution(A const& a, vector<double> const& b, std::vector<int> const& fixed, std::vector<double> const& values) {
  auto const n = a.rows();
  Eigen::VectorXd x = Eigen::VectorXd::Zero(n);
  std::vector<int> rest;
  for (int i = 0; i < n; ++i) {
    auto const at = std::find(fixed.begin(), fixed.end(), i);
    if (at == fixed.end())
      rest.push_back(i);
    else
      x[i] = values[std::size_t(at - fixed.begin())];
  }
  auto const dense = to_dense(a);
  Eigen::MatrixXd m(rest.size(), rest.size());
  Eigen::VectorXd r(rest.size());
  for (std::size_t k = 0; k < rest.size(); ++k) {
    r[Eigen::Index(k)] = b[rest[k]];
    for (int j = 0; j < n; ++j) r[Eigen::Index(k)] -= dense(rest[k], j) * x[j];
    for (std::size_t l = 0; l < rest.size(); ++l) m(Eigen::Index(k), Eigen::Index(l)) = dense(rest[k], rest[l]);
  }
  Eigen::VectorXd const y = oracle::solution<double>(m, r);
  for (std::size_t k = 0; k < rest.size(); ++k) x[rest[k]] = y[Eigen::Index(k)];
  return x;
}
} // namespace

TEST_CASE("known unknowns are eliminated") {
  auto const check = [](auto const& A, vector<double> const& values, auto const& given) {
    std::vector<int> const fixed{29, 0, 7, 12};
    auto const b = random<double>(30, 1);
    auto const [K, f] = eliminate(A, b, fixed, given);
    CHECK(K.shared_pattern() == A.shared_pattern());
    vector<double> const x = lu(K).solve(f);
    auto const expected = reduced_solution(A, b, fixed, {values.begin(), values.end()});
    for (index_t i = 0; i < 30; ++i) CHECK(x[i] == Approx(expected[i]).margin(1e-12));
    for (index_t k = 0; k < 4; ++k) CHECK((f[fixed[std::size_t(k)]] == values[k] && K(fixed[std::size_t(k)], fixed[std::size_t(k)]) == 1));
    return properties(K);
  };
  vector<double> const values{1.5, -2.0, 0.0, 3.0};
  CHECK(check(problems::poisson<double>({6, 5}), values, values).symmetric);
  CHECK_FALSE(check(problems::convection_diffusion<double>({6, 5}, {0.5, 0.2}), values, values).symmetric);
  check(problems::poisson<double>({6, 5}), full<double>(4, 2.5), 2.5);
  check(problems::poisson<double>({6, 5}), zeros<double>(4), 0);
}

TEST_CASE("rows in braces, and values in a container, are those of vectors") {
  auto const A = problems::poisson<double>({3, 3});
  auto const b = random<double>(9, 2);
  auto const expected = eliminate(A, b, std::vector{4, 1}, vector<double>{2.0, -3.0});
  std::vector<double> const values{2.0, -3.0};
  auto const same = [&](auto const& system) { CHECK((norm(system.first - expected.first) == 0 && norm(system.second - expected.second) == 0)); };
  same(eliminate(A, b, {4, 1}, values));
  same(eliminate(A, b, std::vector{4, 1}, std::span(values)));
  same(eliminate(A, b, {4, 1}, std::vector<int>{2, -3}));
  CHECK_THROWS_AS(eliminate(A, b, {4, 1, 0}, values), shape_error);
}

TEST_CASE("a diagonal entry that is not stored is added; no row may be fixed as well") {
  auto const A = from_triplets<double>(2, 2, {0, 1}, {1, 0}, {2.0, 3.0});
  auto const [K, f] = eliminate(A, vector<double>{4.0, 5.0}, std::vector{0}, 7.0);
  CHECK((K(0, 0) == 1 && K(0, 1) == 0 && K(1, 0) == 0 && K(1, 1) == 0));
  CHECK((f[0] == 7 && f[1] == 5.0 - 21.0));
  auto const [L, g] = eliminate(A, vector<double>{4.0, 5.0}, std::vector<int>{}, 7.0);
  CHECK((norm(L - A) == 0 && g[0] == 4));
}

TEST_CASE("what b says of a fixed row is not read, and numbers keep their precision") {
  auto const check = [](auto zero) {
    using T = decltype(zero);
    auto const A = cast<T>(problems::poisson<double>({3, 2}));
    vector<T> b = ones<T>(6);
    auto const [K, f] = eliminate(A, b, std::vector{4, 1}, T(2));
    static_assert(std::same_as<typename std::remove_cvref_t<decltype(K)>::value_type, T>);
    static_assert(std::same_as<typename std::remove_cvref_t<decltype(f)>::value_type, T>);
    b[1] = std::numeric_limits<real_t<T>>::quiet_NaN(), b[4] = std::numeric_limits<real_t<T>>::infinity();
    auto const [L, g] = eliminate(A, b, std::vector{4, 1}, T(2));
    CHECK(double(norm(g - f)) == 0);
    CHECK(double(norm(L - K)) == 0);
    CHECK(g[4] == T(2));
  };
  check(0.0f);
  check(0.0);
  check(std::complex<float>());
  check(std::complex<double>());
}

TEST_CASE("bad input") {
  auto const A = problems::poisson<double>({3, 3});
  auto const b = ones<double>(9);
  CHECK_THROWS_WITH(eliminate(A, b, std::vector{1, 9}, 0.0), ContainsSubstring("index 1 is 9"));
  CHECK_THROWS_WITH(eliminate(A, b, std::vector{4, 1, 4}, 0.0), ContainsSubstring("row 4 is fixed twice, at places 0 and 2"));
  CHECK_THROWS_WITH(eliminate(A, b, std::vector{4, 1}, ones<double>(3)),
                    "eliminate(A, b, fixed, values): values has 3 elements for 2 fixed rows; give one for each, or one number for all");
  CHECK_THROWS_WITH(eliminate(A, ones<double>(8), std::vector{4, 1}, 0.0),
                    "eliminate(A, b, fixed, values): b has 8 elements for 9 rows of A; give one for each");
  CHECK_THROWS_AS(eliminate(A, 2.0 * ones<double>(8), std::vector{4, 1}, 0.0), shape_error);
  CHECK_THROWS_AS(eliminate(rows(A, 0, 5), b, std::vector{1}, 0.0), shape_error);
}

} // namespace test_eliminate
