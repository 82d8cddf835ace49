// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Determinants and entries of inverses against dense ones by Eigen, closed forms, permuted identities and solves with real matrices;
// singular and bad input by its sentences.
#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

#include <Eigen/Core>

#include <sla/solve.hpp>
#include <sla/solve/determinant/slogdet.hpp>
#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "data.hpp"
#include "suites/dense.hpp"
#include "suites/dense_oracle.hpp"

namespace test_determinant {

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using complex_t = std::complex<double>;

namespace {
/// The dense matrix of a batch item.
template <class A>
auto dense_item(A const& a, index_t item = 0) {
  using T = std::conditional_t<is_complex<typename A::value_type>, complex_t, double>;
  using S = typename A::shape_type;
  Eigen::Index const n = a.rows() * S::block_rows;
  auto const entries = oracle::dense(a);
  Eigen::Matrix<T, -1, -1> m(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j) m(i, j) = T(entries[std::size_t((item * n + i) * n + j)]);
  return m;
}
/// Entry b of numbers per item, or the one that there is.
template <class Y>
auto of_batch(Y const& y, index_t b) {
  if constexpr (is_tensor<Y>)
    return y.data()[b];
  else
    return y;
}
/// det and slogdet, and A^-1 on the pattern, with a method.
template <class A, class... Method>
void compare(A const& a, double tolerance, Method const&... method) {
  using S = typename A::shape_type;
  auto const [sign, log_abs] = slogdet(a, method...);
  auto const d = det(a, method...);
  auto const Z = selected_inverse(a, method...);
  for (index_t b = 0; b < a.batch_count(); ++b) {
    auto const m = dense_item(a, b);
    auto const exact = oracle::determinant(m);
    CHECK(of_batch(log_abs, b) == Approx(std::log(std::abs(exact))).margin(tolerance * double(m.rows())));
    CHECK(std::abs(of_batch(sign, b) - exact / std::abs(exact)) <= tolerance * double(m.rows()));
    CHECK(std::abs(of_batch(d, b) - exact) <= tolerance * double(m.rows()) * std::abs(exact));
    auto const inverse = oracle::inverse(m);
    double most = 0;
    for (index_t i = 0; i < a.rows(); ++i)
      a.pattern().view().for_row(i, [&](index_t s, index_t j) {
        for (index_t p = 0; p < S::block_rows; ++p)
          for (index_t q = 0; q < S::block_cols; ++q)
            most = std::max(most, double(std::abs(decltype(exact)(Z.values()[b * a.batch_stride() + (s * S::block_rows + p) * S::block_cols + q]) -
                                                  inverse(i * S::block_rows + p, j * S::block_cols + q))));
      });
    CHECK(most <= tolerance * inverse.cwiseAbs().maxCoeff() * inverse.cwiseAbs().maxCoeff());
  }
}
auto unsymmetric(index_t n, int seed) { return eval(problems::random_sparse<double>(n, n, 3, std::uint64_t(seed)) + 0.3 * eye<double>(n)); }
auto turned(sparse_tensor<double> const& A) {
  auto Z = cast<complex_t>(A);
  for (index_t n = 0; n < Z.values().size(); ++n) Z.values()[n] *= std::polar(1.0, 0.7 * double(n));
  return Z;
}
} // namespace

TEST_CASE("determinants and entries of inverses are those of dense matrices") {
  for (int seed = 1; seed <= 6; ++seed) compare(unsymmetric(40, seed), 1e-10);
  auto const P = problems::poisson<double>({7, 6});
  compare(P, 1e-13);
  compare(P, 1e-13, cholesky{});
  compare(P, 1e-13, ldlt{});
  auto indefinite = problems::checkerboard({6, 6}, 10.0, 2);
  indefinite.values()[diagonal_positions(indefinite.pattern())[20]] *= -1;
  compare(indefinite, 1e-11, ldlt{});
  compare(indefinite, 1e-11);
  auto const B = problems::convection_diffusion<double>({6, 6}, {8.0, -3.0});
  compare(to<Coo<>>(B), 1e-13);
  compare(to<Dia>(B), 1e-13);
  compare(to<Sell<>>(B), 1e-13);
  compare(cast<float>(B), 1e-6);
  compare(to_blocks<2, 2>(stack_batch(B, problems::convection_diffusion<double>({6, 6}, {-1.0, 5.0}))), 1e-12);
  auto const full = to<Csr<>>(random<double, Extents<dyn, dyn>>({40, 40}, 2));  // whose factors are dense
  compare(full, 1e-10);
  sparse_tensor<double> const definite = full * transpose(full) + eye<double>(40);
  compare(definite, 1e-11, cholesky{});
  compare(definite, 1e-11, ldlt{});
  CHECK(det(transpose(B)) == Approx(det(B)));
  CHECK(det(-2.0 * B) == Approx(std::ldexp(det(B), 36)));
}

TEST_CASE("determinants and entries of inverses of complex matrices") {
  auto const Z = turned(unsymmetric(30, 3));
  compare(Z, 1e-10);
  sparse_tensor<complex_t> const H = Z * adjoint(Z);
  compare(H, 1e-9, ldlt{});
  compare(H, 1e-9, cholesky{});
  auto const full = to<Csr<>>(random<complex_t, Extents<dyn, dyn>>({40, 40}, 2));
  sparse_tensor<complex_t> const definite = full * adjoint(full) + eye<complex_t>(40);
  compare(full, 1e-10);
  compare(definite, 1e-11, ldlt{});
  CHECK(logdet(H) == Approx(2 * slogdet(Z).log_abs).margin(1e-9));
  CHECK(std::abs(slogdet(adjoint(Z)).sign - std::conj(slogdet(Z).sign)) <= 1e-12);
}

TEST_CASE("the inverse of a matrix whose pattern is not symmetric is given on its pattern") {
  auto const A = from_triplets<double>(4, 4, {0, 0, 1, 2, 2, 3, 3}, {0, 3, 1, 0, 2, 1, 3}, {2.0, 1.0, 4.0, -1.0, 5.0, 3.0, 1.0});
  compare(A, 1e-15);
  auto const T = to<Csr<>>(from_triplets<double>(3, 3, {0, 0, 1, 1, 2}, {0, 1, 1, 2, 2}, {2.0, 7.0, 3.0, 9.0, 5.0}));
  compare(T, 1e-15);
  CHECK(det(T) == 30);
  auto const zero_above = from_triplets<double>(2, 2, {0, 0, 1}, {0, 1, 1}, {2.0, 0.0, 3.0});
  compare(zero_above, 1e-15, cholesky{});
  std::vector<int> const row_ptr{0, 3, 4}, col{1, 0, 0, 1};
  std::vector<double> const value{1, 2, -3, 4};
  auto const twice = borrow_csr(2, 2, row_ptr, col, value);  // (0, 0) in two parts
  CHECK(det(twice) == -4);
  CHECK(selected_inverse(twice)(0, 0) == -1);
}

TEST_CASE("the determinant of a permutation is its sign") {
  std::vector<index_t> order(5), row(5);
  std::iota(order.begin(), order.end(), index_t(0));
  std::iota(row.begin(), row.end(), index_t(0));
  int wrong = 0;
  do {
    int sign = 1;
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t j = i + 1; j < 5; ++j) sign = order[i] > order[j] ? -sign : sign;
    auto const P = from_triplets<double>(5, 5, row, order, std::vector<double>{2.0, 3.0, 5.0, 7.0, 11.0});
    auto const [s, l] = slogdet(P);
    wrong += s != sign || std::abs(l - std::log(2310.0)) > 1e-14 || det(P) != sign * 2310.0;
  } while (std::next_permutation(order.begin(), order.end()));
  CHECK(wrong == 0);
  auto const A = problems::convection_diffusion<double>({9, 8}, {8.0, -3.0});
  std::vector<index_t> cycle(72);
  for (index_t i = 0; i < 72; ++i) cycle[std::size_t(i)] = (i * 31 + 5) % 72;  // whatever its sign: rows and then columns by it give A's
  std::vector<index_t> all(72);
  std::iota(all.begin(), all.end(), index_t(0));
  auto const P = from_triplets<double>(72, 72, all, cycle, std::vector<double>(72, 1.0));
  CHECK(slogdet(P * A).sign == slogdet(P).sign * slogdet(A).sign);
  CHECK(slogdet(P * A * transpose(P)).sign == slogdet(A).sign);
}

TEST_CASE("the determinant of a Laplacian has its closed form, and does not overflow") {
  index_t const n = 40;
  double exact = 0;
  for (index_t i = 1; i <= n; ++i)
    for (index_t j = 1; j <= n; ++j) exact += std::log(4 - 2 * std::cos(M_PI * double(i) / double(n + 1)) - 2 * std::cos(M_PI * double(j) / double(n + 1)));
  auto const A = problems::poisson<double>({n, n});
  double const size = std::log(A(0, 0) / 4) * double(n * n);
  CHECK(logdet(A) == Approx(exact + size).epsilon(1e-13));
  CHECK(logdet(cholesky(A)) == logdet(A));
  CHECK(slogdet(lu(A)).log_abs == Approx(exact + size).epsilon(1e-13));
  for (double s : {1e-200, 1e+200}) {
    auto const [sign, log_abs] = slogdet(-s * A, ldlt{});
    CHECK(sign == 1);
    CHECK(log_abs == Approx(exact + size + double(n * n) * std::log(s)).epsilon(1e-13));
    CHECK_THROWS_WITH(det(s * A), ContainsSubstring("det(A): |det(A)| is exp(") && ContainsSubstring("slogdet(A) gives its sign and its logarithm"));
  }
  auto const narrow = from_triplets<double>(3, 3, {0, 1, 2}, {0, 1, 2}, {1e300, 1e300, 1e-300});  // products of pivots are out of range, in some order
  CHECK(det(narrow) == Approx(1e300));
}

TEST_CASE("a singular matrix has the determinant 0, of sign 0 and logarithm -infinity") {
  auto const structural = read_matrix_market<double>(data("structurally_singular.mtx"));
  auto const numerical = from_triplets<double>(2, 2, {0, 0, 1, 1}, {0, 1, 0, 1}, {1.0, 2.0, 2.0, 4.0});
  for (auto const& A : {structural, numerical}) {
    auto const [sign, log_abs] = slogdet(A);
    CHECK(sign == 0);
    CHECK(log_abs == -std::numeric_limits<double>::infinity());
    CHECK(det(A) == 0);
    CHECK_THROWS_WITH(selected_inverse(A), ContainsSubstring("selected_inverse(A): A is singular"));
    CHECK_THROWS_WITH(logdet(A, lu{}), ContainsSubstring("logdet(A): A is singular"));
  }
  auto const regular = from_triplets<double>(2, 2, {0, 0, 1, 1}, {0, 1, 0, 1}, {1.0, 2.0, 3.0, 4.0});
  auto const both = stack_batch(regular, numerical);
  CHECK(det(both)[0] == Approx(-2));
  CHECK(det(both)[1] == 0);
  CHECK(slogdet(both).sign[0] == -1);
  CHECK_THROWS_WITH(selected_inverse(both), ContainsSubstring("of batch item 1 is singular"));
  sparse_tensor<double> const none;
  CHECK(det(none) == 1);
  CHECK(logdet(none) == 0);
}

TEST_CASE("entries of inverses of real matrices are those of solves") {
  auto const check_columns = [](auto const& A, auto const& Z) {
    using T = typename std::remove_cvref_t<decltype(A)>::value_type;
    lu const f(A);
    double most = 0, size = 0;
    for (index_t j = 0; j < A.cols(); j += A.cols() / 7) {
      vector<T> e(A.cols());
      e[j] = T(1);
      auto const x = f.solve(e);
      for (index_t i = 0; i < A.rows(); ++i)
        A.pattern().view().for_row(i, [&](index_t s, index_t k) {
          if (k == j) most = std::max(most, std::abs(Z.values()[s] - x[i])), size = std::max(size, std::abs(x[i]));
        });
    }
    CHECK(most <= 1e-8 * size);
  };
  for (auto const* name : {"orsirr_1.mtx", "utm300.mtx", "1138_bus.mtx"}) {
    auto const A = read_matrix_market<double>(data(name));
    check_columns(A, selected_inverse(A));
  }
  auto const S = read_matrix_market<double>(data("nos5.mtx"));
  check_columns(S, selected_inverse(cholesky(S)));
  auto const Y = read_matrix_market<complex_t>(data("young1c.mtx"));
  check_columns(Y, selected_inverse(Y));
}

TEST_CASE("what has no determinant, or no logarithm of it, is refused by one sentence") {
  auto const A = problems::poisson<double>({3, 3});
  auto const slopes = problems::convection_diffusion<double>({3, 3}, {8.0, -3.0});
  CHECK_THROWS_WITH(det(rows(A, 0, 4)), ContainsSubstring("det(A): A is 4 x 9, and must be square"));
  CHECK_THROWS_WITH(logdet(slopes), ContainsSubstring("logdet(A): A is not symmetric") && ContainsSubstring("slogdet(A)"));
  CHECK_THROWS_WITH(logdet(eval(-1.0 * A)), ContainsSubstring("logdet(A): A is not positive definite") && ContainsSubstring("slogdet(A)"));
  CHECK_THROWS_WITH(logdet(eval(-1.0 * A), lu{}), ContainsSubstring("logdet(A): det(A) is not positive, its sign is -1"));
  auto const swap = from_triplets<double>(2, 2, {0, 1}, {1, 0}, {2.0, 2.0});
  CHECK_THROWS_WITH(det(swap, ldlt{}), (ContainsSubstring("det(A): A: the pivot of row 0 is zero") || ContainsSubstring("det(A): A: the pivot of row 1 is zero")) && ContainsSubstring("take lu{}") && !ContainsSubstring("minres"));
  CHECK(det(swap) == -4);
  CHECK(logdet(slopes, lu{}) == Approx(slogdet(slopes).log_abs));
  CHECK_THROWS_WITH(selected_inverse(slopes, cholesky{}), ContainsSubstring("selected_inverse(A): A is not symmetric") && ContainsSubstring("use lu{}"));
  auto nan = A;
  nan.values()[3] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(slogdet(nan), ContainsSubstring("slogdet(A): A(1, 0) is nan"));
  CHECK_THROWS_WITH(selected_inverse(lu(slopes(0, 0) * from_triplets<double>(2, 2, {0, 0, 1}, {0, 1, 1}, {1.0, 1.0, 1.0}))), ContainsSubstring("(1, 0) is not stored"));
}

} // namespace test_determinant
