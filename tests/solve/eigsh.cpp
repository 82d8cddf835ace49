// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenpairs of Hermitian matrices: against closed forms and dense algebra, with what the report says of them.
#include <complex>
#include <numbers>

#include <Eigen/Core>

#include <sla/adapter/eigen.hpp>
#include <sla/exec/deferred.hpp>
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigsh.hpp>
#include <sla/solve/eigen/eigen_of_batch.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/dense_oracle.hpp"

namespace test_eigsh {

using namespace sla;

namespace {
/// The eigenvalues of the Laplacian of nx x ny points, in ascending order.
std::vector<double> laplacian(index_t nx, index_t ny) {
  std::vector<double> all;
  auto const one = [](index_t i, index_t n) { return 2 - 2 * std::cos(double(i) * std::numbers::pi / double(n + 1)); };
  for (index_t i = 1; i <= nx; ++i)
    for (index_t j = 1; j <= ny; ++j) all.push_back(one(i, nx) + one(j, ny));
  std::sort(all.begin(), all.end());
  return all;
}
/// Do the pairs say of themselves what is true: residuals, orthogonality, B-length 1?
template <class A, class Pairs>
void check_pairs(A const& a, Pairs const& pairs, double tolerance) {
  auto const& [w, V, report] = pairs;
  INFO(report);
  CHECK(report.converged());
  REQUIRE(index_t(report.residuals.size()) == w.size());
  for (index_t j = 0; j < w.size(); ++j) {
    auto const v = eval(column(V, j));
    double const r = double(norm(a * v - w[j] * v));
    CHECK(r <= tolerance * std::abs(double(w[j])) + 1e-12);
    CHECK(std::abs(double(norm(v)) - 1) <= tolerance);
    CHECK(report.residuals[std::size_t(j)] * std::abs(double(w[j])) == Approx(r).margin(1e-6 * tolerance));
  }
  CHECK(report.orthogonality <= tolerance);
}
template <class Values>
void check_values(Values const& found, std::vector<double> const& expected, double tolerance) {
  for (index_t j = 0; j < found.size(); ++j) CHECK(std::abs(double(found[j]) - expected[std::size_t(j)]) <= tolerance * std::abs(expected[std::size_t(j)]));
}
/// A Hermitian matrix whose eigenvalues are those of A: D A D^H with phases D.
auto with_phases(sparse_tensor<double> const& A) {
  auto C = cast<std::complex<double>>(A);
  index_t at = 0;
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) { C.values()[s] *= std::polar(1.0, 0.7 * double(i) - 0.7 * double(j)), ++at; });
  return C;
}
} // namespace

TEST_CASE("lobpcg finds the smallest and the largest values of the Laplacian, double ones too, in every scalar and on a queue") {
  auto const A = problems::poisson<double>({17, 17});
  auto const exact = laplacian(17, 17);
  auto const pairs = eigsh(A, 5, smallest{}, lobpcg{.rtol = 1e-9}, amg{});
  check_pairs(A, pairs, 1e-9);
  check_values(pairs.values, exact, 1e-13);
  CHECK_FALSE(pairs.report.cuts_cluster == false);  // the 5th and the 6th are one double value
  CHECK(pairs.report.sees_multiplicity >= 2);
  CHECK_THAT(text(pairs.report), Catch::Matchers::StartsWith("lobpcg + amg") && Catch::Matchers::ContainsSubstring("5 smallest converged in"));

  auto const large = eigsh(A, 3, largest{}, lobpcg{});
  std::vector<double> const descending(exact.rbegin(), exact.rend());
  check_pairs(A, large, 1e-8);
  check_values(large.values, descending, 1e-13);
  CHECK_FALSE(large.report.cuts_cluster);

  auto const C = with_phases(A);
  auto const complex_pairs = eigsh(C, 3, smallest{}, lobpcg{}, jacobi{});
  check_pairs(C, complex_pairs, 1e-8);
  check_values(complex_pairs.values, exact, 1e-12);

  auto const F = cast<float>(A);
  auto const float_pairs = eigsh(F, 3, smallest{}, lobpcg{.rtol = 1e-4}, amg{});
  CHECK(float_pairs.report.converged());
  check_values(float_pairs.values, exact, 1e-5);

  for (int lag : {0, 4}) {
    auto const queued = eigsh(A, 5, smallest{}, lobpcg{.rtol = 1e-9}, amg{}, on([&](frame f) { return deferred(f, lag); }));
    CHECK(norm(queued.values - pairs.values) <= 1e-14);
    CHECK(norm(queued.vectors - pairs.vectors) <= 1e-10);
  }
}

TEST_CASE("generalised problems have the pairs of dense algebra, and vectors that are orthonormal in B") {
  auto const A = problems::poisson<double>({11, 9});
  auto const B = eval(0.1 * A + diagonal(random<double>(A.rows(), 3) + 2.0));
  auto const dense = eigsh(A, B, 4, smallest{}, dense_eigen{});
  Eigen::MatrixXd const a = Eigen::MatrixXd(as_eigen(A)), b = Eigen::MatrixXd(as_eigen(B));
  auto const exact = oracle::of_hermitian(a, b);
  for (auto const& pairs : {dense, eigsh(A, B, 4, smallest{}, lobpcg{}, amg{})}) {
    INFO(pairs.report);
    CHECK(pairs.report.converged());
    auto const V = as_eigen(pairs.vectors);
    for (index_t j = 0; j < 4; ++j) {
      CHECK(std::abs(pairs.values[j] / exact.values[j] - 1) <= 1e-12);
      CHECK((a * V.col(j) - pairs.values[j] * (b * V.col(j))).norm() <= 1e-8 * pairs.values[j] * (b * V.col(j)).norm());
    }
    CHECK((V.transpose() * b * V - Eigen::MatrixXd::Identity(4, 4)).norm() <= 1e-12);
    CHECK(norm(pairs.vectors - dense.vectors) <= 1e-6);  // the gauge makes them the same
  }
}

TEST_CASE("small, diagonal, singular and multiple matrices have the pairs that they have") {
  auto const one = from_triplets<double>(1, 1, {0}, {0}, {-3.0});
  for (auto const& pairs : {eigsh(one, 1, smallest{}), eigsh(one, 1, largest{}, lobpcg{})}) {
    CHECK(pairs.values[0] == -3);
    CHECK(std::abs(pairs.vectors(0, 0)) == Approx(1));
    CHECK(pairs.report.converged());
  }
  sla::vector<double> d(40);
  for (index_t i = 0; i < 40; ++i) d[i] = double((7 * i) % 40) - 5;
  auto const D = diagonal(d);
  auto const few = eigsh(D, 4, smallest{}, lobpcg{});
  check_pairs(D, few, 1e-8);
  check_values(few.values, {-5, -4, -3, -2}, 1e-12);
  auto const all = eigsh(D, 20, largest{}, lobpcg{});
  check_pairs(D, all, 1e-8);
  check_values(all.values, {34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15}, 1e-12);

  auto const E = eye<double>(30);  // one value, thirty times
  auto const equal = eigsh(E, 3, smallest{}, lobpcg{});
  check_pairs(E, equal, 1e-10);
  check_values(equal.values, {1, 1, 1}, 1e-13);
  CHECK(equal.report.cuts_cluster);
  CHECK(eigsh(from_triplets<double>(12, 12, {}, {}, {}), 2, smallest{}, lobpcg{}).report.converged());  // zeros

  auto const K = kron(eye<double>(4), problems::poisson<double>({40}));  // each value four times
  auto const fours = eigsh(K, 8, smallest{}, lobpcg{}, amg{});
  check_pairs(K, fours, 1e-8);
  for (index_t j = 0; j < 8; ++j) CHECK(fours.values[j] == Approx(laplacian(40, 1)[std::size_t(j / 4)] - 2).epsilon(1e-10));

  auto N = problems::poisson<double>({30});  // Neumann's conditions: the constants have the value 0
  N.values()[find_slot(N.pattern().view(), 0, 0)] = 1, N.values()[find_slot(N.pattern().view(), 29, 29)] = 1;
  auto const null = eigsh(N, 2, smallest{}, lobpcg{}, jacobi{});
  INFO(null.report);
  CHECK(null.report.converged());
  CHECK(std::abs(null.values[0]) <= 1e-12);
  CHECK(null.report.residual() <= null.report.rtol);  // that of the value 0 is beside |A|

  auto const R = problems::random_sparse<double>(85, 43, 1, 30);  // more values 0 than the block has vectors
  auto const zeros = eigsh(eval(R * transpose(R)), 6, smallest{}, lobpcg{});
  INFO(zeros.report);
  CHECK(zeros.report.converged());
  CHECK((std::abs(zeros.values[0]) <= 1e-14 && std::abs(zeros.values[5]) <= 1e-14));
}

TEST_CASE("beside pairs that were found lobpcg finds the next ones, ordinary and generalised") {
  auto const A = problems::poisson<double>({12, 11});
  auto const B = eval(0.1 * A + diagonal(random<double>(A.rows(), 3) + 2.0));
  auto const first = eigsh(A, 3, smallest{}, lobpcg{.rtol = 1e-10}, amg{});
  auto const next = eigsh(A, 3, smallest{}, lobpcg{}.orthogonal_to(first.vectors), amg{});
  check_pairs(A, next, 1e-8);
  auto const exact = laplacian(12, 11);
  check_values(next.values, {exact.begin() + 3, exact.end()}, 1e-12);
  CHECK((as_eigen(first.vectors).transpose() * as_eigen(next.vectors)).norm() <= 1e-9);
  auto const all = eigsh(A, B, 6, smallest{}, dense_eigen{});
  auto const general = eigsh(A, B, 3, smallest{}, lobpcg{.rtol = 1e-10}, amg{});
  auto const beside = eigsh(A, B, 3, smallest{}, lobpcg{}.orthogonal_to(general.vectors), amg{});
  for (index_t j = 0; j < 3; ++j) CHECK(beside.values[j] == Approx(all.values[j + 3]).epsilon(1e-11));
  CHECK_THROWS_WITH(eigsh(A, 130, smallest{}, lobpcg{}.orthogonal_to(first.vectors)), Catch::Matchers::EndsWith("and for k up to 129"));
}

TEST_CASE("the method of eigsh is picked by what A is, and named") {
  auto const few = eigsh(problems::poisson<double>({9, 9}), 3, largest{});
  CHECK(few.report.method == "dense");
  CHECK(few.report.converged());
  auto const A = problems::poisson<double>({18, 17});
  auto const pairs = eigsh(A, 3, smallest{});
  CHECK_THAT(text(pairs.report), Catch::Matchers::StartsWith("lobpcg + amg"));
  check_values(pairs.values, laplacian(18, 17), 1e-12);
  auto const B = eval(A * A);  // definite, and no M-matrix
  auto const squared = eigsh(B, 2, smallest{});
  CHECK_THAT(text(squared.report), Catch::Matchers::StartsWith("lobpcg + cholesky"));
  CHECK(squared.values[1] == Approx(std::pow(laplacian(18, 17)[1], 2)).epsilon(1e-10));
  auto const many = eigsh(A, 30, smallest{});  // more than a block of lobpcg holds
  INFO(many.report);
  CHECK(many.report.converged());
  check_values(many.values, laplacian(18, 17), 1e-10);
  auto const beside = kron(eye<double>(10), problems::poisson<double>({30}));  // beside rows of zeros, which no multigrid takes
  auto const empty = eigsh(kron(from_triplets<double>(2, 2, {0}, {0}, {1.0}), beside), 3, smallest{});
  CHECK(empty.report.converged());
  for (index_t j = 0; j < 3; ++j) CHECK(std::abs(empty.values[j]) <= 1e-14);
  linear_operator<double> const op(A.rows(), A.cols(), [&](std::span<double const> x, std::span<double> y) {
    sla::vector<double> const ax = A * borrow(x.data(), A.cols());
    std::copy(ax.begin(), ax.end(), y.begin());
  }, self_adjoint);
  auto const own = eigsh(op, 2, smallest{}, lobpcg{}, amg{}.setup(A));
  CHECK(own.report.converged());
  check_values(own.values, laplacian(18, 17), 1e-12);
}

TEST_CASE("matrices whose norms have no digits in double have their pairs, by powers of two") {
  using Catch::Matchers::ContainsSubstring;
  auto const A = problems::poisson<double>({18, 17});
  for (double scale : {1e-138, 1e135}) {
    auto const pairs = eigsh(eval(scale * A), 2, smallest{});
    INFO(pairs.report);
    CHECK(pairs.report.converged());
    for (index_t j = 0; j < 2; ++j) CHECK(pairs.values[j] / scale == Approx(laplacian(18, 17)[std::size_t(j)]).epsilon(1e-10));
  }
  auto const is = [&](auto const& pairs, auto const& expected, double factor, double of_vectors) {
    INFO(pairs.report);
    CHECK(pairs.report.converged());
    for (index_t j = 0; j < 2; ++j) CHECK(pairs.values[j] / factor == Approx(expected.values[j]).epsilon(1e-10));
    CHECK(norm(pairs.vectors / of_vectors - expected.vectors) <= 1e-6 * norm(expected.vectors));
  };
  auto const weight = diagonal(random<double>(A.rows(), 3) + 2.0);
  auto const low = eigsh(A, 2, smallest{}, lobpcg{.rtol = 1e-10}, jacobi{}), high = eigsh(A, 2, largest{}), next = eigsh(A, 2, near{1.01}), general = eigsh(A, weight, 2, largest{}, lanczos{});
  for (double scale : {std::ldexp(1.0, 700), std::ldexp(1.0, -700), 1e160, 1e-200, 3e-300}) {
    auto const scaled = eval(scale * A);
    is(eigsh(scaled, 2, smallest{}, lobpcg{.rtol = 1e-10}, jacobi{}), low, scale, 1);
    is(eigsh(scaled, 2, largest{}), high, scale, 1);
    is(eigsh(scaled, 2, near{1.01 * scale}), next, scale, 1);
    auto const by_b = eigsh(A, eval(scale * weight), 2, largest{}, lanczos{});
    is(by_b, general, 1 / scale, 1 / std::sqrt(scale));
    vector<double> const v = column(by_b.vectors, 0);
    CHECK(dot(v, scale * (weight * v)) == Approx(1).epsilon(1e-12));
    linear_operator<double> const M(A.rows(), A.rows(), [&](std::span<double const> x, std::span<double> y) {
      vector<double> const in(x), image = scaled * in;
      std::copy(image.begin(), image.end(), y.begin());
    });
    is(eigsh(M, 2, largest{}, lanczos{}), high, scale, 1);
    CHECK_THROWS_WITH(eigsh(scaled, 2, smallest{}, lobpcg{}, jacobi{}.setup(A)), ContainsSubstring(scale > 1 ? "A is too large" : "A is too small"));
  }
  // one of a size that is left as it is, though |A|^4 has none, has the residuals that it has at size 1
  auto const stopped = eigsh(A, 3, smallest{}, lobpcg{.max_iterations = 1}), large = eigsh(eval(std::ldexp(1.0, 266) * A), 3, smallest{}, lobpcg{.max_iterations = 1});
  CHECK((stopped.report.reason == reason::iteration_limit && large.report.reason == reason::iteration_limit));
  for (std::size_t j = 0; j < 3; ++j) CHECK(large.report.residuals[j] == Approx(stopped.report.residuals[j]).epsilon(1e-6));
  CHECK_FALSE(eigsh(eval(1e14f * cast<float>(A)), 3, largest{}, lobpcg{.max_iterations = 1}).report.converged());
  CHECK_THROWS_WITH(eigsh(eval(1e200 * A), eval(1e-200 * eye<double>(A.rows())), 1, largest{}, lanczos{}), ContainsSubstring("a value is above the range of its type"));
  CHECK_THROWS_WITH(eigsh(eval(1e-200 * A), 1, near{1.0}), ContainsSubstring("decimal orders above the values of A"));
  CHECK(eigsh(eval(1e-20f * cast<float>(A)), 1, largest{}, lobpcg{.rtol = 1e-4}).values[0] / 1e-20f == Approx(laplacian(18, 17).back()).epsilon(1e-5));
}

TEST_CASE("a batch has the pairs of its items, with a report of each, and blocks have those of their scalars") {
  auto const A = problems::poisson<double>({16, 15});
  auto const items = stack_batch(A, eval(A + diagonal(random<double>(A.rows(), 3) + 1.0)), eval(2.0 * A));
  auto const weights = to_batch<3>(eval(0.1 * A + 2.0 * eye<double>(A.rows())));
  auto const ordinary = eigsh(items, 3, smallest{}, lobpcg{.rtol = 1e-9}, amg{});
  auto const general = eigsh(items, weights, 2, largest{}, lanczos{.rtol = 1e-9});
  auto const beside_one = eigsh(items, batch_item(weights, 0), 2, largest{}, lanczos{.rtol = 1e-9});
  REQUIRE(ordinary.report.items.size() == 3);
  CHECK(ordinary.report.converged());
  CHECK(ordinary.report.residuals.size() == 9);
  CHECK_THAT(text(ordinary.report), Catch::Matchers::ContainsSubstring("9 smallest converged") && Catch::Matchers::ContainsSubstring("a batch of 3"));
  for (index_t b = 0; b < 3; ++b) {
    auto const item = batch_item(items, b);
    auto const alone = eigsh(item, 3, smallest{}, dense_eigen{});
    auto const weighted = eigsh(item, batch_item(weights, b), 2, largest{}, dense_eigen{});
    CHECK(ordinary.report.items[std::size_t(b)].residuals.size() == 3);
    for (index_t j = 0; j < 3; ++j) {
      CHECK(ordinary.values(b, j) == Approx(alone.values[j]).epsilon(1e-12));
      for (index_t i = 0; i < A.rows(); i += 37) CHECK(ordinary.vectors(b, i, j) == Approx(alone.vectors(i, j)).margin(1e-7));
    }
    for (index_t j = 0; j < 2; ++j) {
      CHECK(general.values(b, j) == Approx(weighted.values[j]).epsilon(1e-12));
      CHECK(beside_one.values(b, j) == general.values(b, j));
    }
  }
  auto const blocks = to_blocks<2, 2>(batch_item(items, 1));
  auto const of_blocks = eigsh(blocks, 3, smallest{}, lobpcg{.rtol = 1e-9}, amg{});
  for (index_t j = 0; j < 3; ++j) CHECK(of_blocks.values[j] == Approx(ordinary.values(1, j)).epsilon(1e-12));
  CHECK(of_blocks.vectors.extent(0) == A.rows());
  CHECK(eigsh(to_batch<2>(blocks), 3, smallest{}, lobpcg{.rtol = 1e-9}, amg{}).values(1, 2) == of_blocks.values[2]);

  auto const few = eigsh(items, 2, smallest{}, lobpcg{.max_iterations = 4}, jacobi{});
  CHECK_FALSE(few.report.converged());
  CHECK(few.report.reason == reason::iteration_limit);
  auto nan = items;
  nan.values()[nan.batch_stride() + 1] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(eigsh(nan, 1, smallest{}), Catch::Matchers::ContainsSubstring("is nan") && Catch::Matchers::ContainsSubstring("(batch item 1)"));
  CHECK_THROWS_WITH(eigsh(items, to_batch<2>(A), 1, smallest{}), Catch::Matchers::ContainsSubstring("A is a batch of 3, and B of 2"));
}

TEST_CASE("lobpcg finds as many pairs as are asked for, also where the preconditioner makes vectors to begin with dependent") {
  vector<double> d(6);
  for (index_t i = 0; i < 6; ++i) d[i] = std::pow(10.0, 3 * double(i) - 9);
  auto const found = eigsh(diagonal(d), 4, smallest{}, lobpcg{}, jacobi{});
  INFO(found.report);
  REQUIRE(found.values.size() == 4);
  CHECK(found.report.orthogonality <= 1e-12);
  for (index_t j = 0; j < 4; ++j) CHECK(std::abs(found.values[j] - d[j]) <= 1e-8);
}

TEST_CASE("the residual of a value 0 is beside the norm of A, also where A has low rank") {
  auto const path = from_triplets<double>(3, 3, {0, 0, 1, 1, 1, 2, 2}, {0, 1, 0, 1, 2, 1, 2}, {0.3, -0.3, -0.3, 1.0, -0.7, -0.7, 0.7});
  auto const found = eigsh(path, 1, smallest{});
  CHECK(found.report.converged());
  CHECK(found.report.residual() <= 1e-15);
  auto const x = random<double>(60, 3);  // x x^T
  std::vector<index_t> rows, cols;
  std::vector<double> values;
  for (index_t i = 0; i < 60; ++i)
    for (index_t j = 0; j < 60; ++j) rows.push_back(i), cols.push_back(j), values.push_back(x[i] * x[j]);
  auto const none = eigsh(from_triplets<double>(60, 60, rows, cols, values), 3, smallest{}, dense_eigen{});
  CHECK(none.report.converged());
  CHECK(none.report.residual() <= 1e-14);
}

TEST_CASE("no report says converged where a residual is infinite beside a rounding that is not") {
  eigen_report report;
  report.reason = reason::converged, report.residuals = {std::numeric_limits<double>::infinity()}, report.rounding = {0};
  CHECK_FALSE(report.converged());
  report.let_residuals_decide();
  CHECK(report.reason == reason::stagnated);
}

TEST_CASE("what is no eigenproblem of eigsh is refused with its numbers, and what did not converge says so") {
  using Catch::Matchers::ContainsSubstring;
  auto const A = problems::poisson<double>({6, 5});
  CHECK_THROWS_WITH(eigsh(A, 31, smallest{}), ContainsSubstring("k is 31, and A has 30 rows"));
  CHECK_THROWS_WITH(eigsh(A, 0, smallest{}), ContainsSubstring("k is 0"));
  CHECK_THROWS_WITH(eigsh(from_triplets<double>(0, 0, {}, {}, {}), 1, smallest{}), ContainsSubstring("k is 1, and A has 0 rows; it has no pairs"));
  CHECK_THROWS_WITH(eigsh(from_triplets<double>(2, 3, {0}, {1}, {1.0}), 1, smallest{}), ContainsSubstring("A is 2 x 3, and must be square") && ContainsSubstring("svds"));
  CHECK_THROWS_WITH(eigsh(problems::convection_diffusion<double>({6, 5}, 3.0), 1, smallest{}), ContainsSubstring("eigsh(A, k, ...): A is not symmetric: entry (0, 1)") && ContainsSubstring("eigs(A, k, ...)"));
  auto nan = A;
  nan.values()[3] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(eigsh(nan, 1, smallest{}), ContainsSubstring("eigsh(A, k, ...): A(1, 0) is nan; every entry must be a finite number"));
  CHECK_THROWS_WITH(eigsh(A, nan, 1, smallest{}), ContainsSubstring("eigsh(A, B, k, ...), B in the place of A: A(1, 0) is nan"));
  CHECK_THROWS_WITH(eigsh(A, 3, smallest{}, lobpcg{.rtol = -1}), ContainsSubstring("lobpcg{.rtol = -1}"));
  CHECK_THROWS_WITH(eigsh(A, 2, smallest{}, lobpcg{.block = 1}), ContainsSubstring("the block has from k to 24 vectors, and 0") && !ContainsSubstring("room for more"));
  CHECK_THROWS_WITH(eigsh(A, 2, smallest{}, lobpcg{.block = 30}), ContainsSubstring("basic_lobpcg<30> has room for more"));
  for (auto const& Y : {matrix<double>({29, 2}), matrix<double>({30, 0})}) CHECK_THROWS_WITH(eigsh(A, 2, smallest{}, lobpcg{}.orthogonal_to(Y)), ContainsSubstring("orthogonal_to(Y)): Y has ") && ContainsSubstring("and A 30 rows"));
  CHECK_THROWS_WITH(eigsh(A, 3, smallest{}, lobpcg{.max_iterations = -1}), ContainsSubstring("lobpcg{.max_iterations = -1}"));
  CHECK_THROWS_WITH(eigsh(A, 3, largest{}, lanczos{.max_restarts = -1}), ContainsSubstring("lanczos{.max_restarts = -1}"));
  CHECK_THROWS_WITH(eigsh(A, 3, largest{}, lanczos{.basis = -1}), ContainsSubstring("lanczos{.basis = -1}: so many vectors are kept"));
  CHECK_THROWS_WITH(eigsh(A, 3, smallest{}, dense_eigen{.rtol = 2}), ContainsSubstring("dense_eigen{.rtol = 2}"));
  CHECK_THROWS_WITH(eigsh(A, 3, near{std::nan("")}), ContainsSubstring("near{nan}: sigma must be a finite number"));
  auto const indefinite = eval(A - diagonal(full<double>(30, 3.0)));
  CHECK_THROWS_WITH(eigsh(A, eval(0.0 * A), 1, near{0.5}, lanczos{}), ContainsSubstring("eigsh(A, B, k, ...): B is 0, so that A v = w B v has no eigenvalues"));
  CHECK_THROWS_WITH(eigsh(A, indefinite, 2, smallest{}), ContainsSubstring("B is not positive definite"));
  CHECK_THROWS_WITH(eigsh(A, indefinite, 2, smallest{}, lobpcg{}), ContainsSubstring("B is not positive definite"));
  auto d = ones<double>(30);
  d[7] = -1e-3;  // lobpcg's vectors for the smallest values do not see it
  CHECK_THROWS_WITH(eigsh(A, diagonal(d), 2, smallest{}, lobpcg{}), ContainsSubstring("B is not positive definite: B(7, 7) is -0.001"));
  // a positive diagonal, and one negative value in 30: no vector of these methods shows it
  auto const B = eval(eye<double>(30) + from_triplets<double>(30, 30, {14, 15}, {15, 14}, {1.001, 1.001}));
  CHECK_THROWS_WITH(eigsh(A, B, 1, largest{}, lobpcg{}), ContainsSubstring("B is not positive definite: it has no Cholesky factors"));
  CHECK_THROWS_WITH(eigsh(A, B, 1, near{0.1}), ContainsSubstring("B is not positive definite"));
  linear_operator<double> const own(30, 30, [&](std::span<double const> x, std::span<double> y) {
    sla::vector<double> const bx = B * sla::vector<double>(x);
    std::copy(bx.begin(), bx.end(), y.begin());
  }, self_adjoint);
  CHECK_THROWS_WITH(eigsh(A, own, 1, largest{}, lobpcg{}), ContainsSubstring("B is not positive definite: a vector p has (p, B p) = -"));
  // above 4000 rows, and no step of conjugate gradients meets it
  auto d2 = full<double>(4200, 1.0);
  for (index_t i = 0; i < 4200; ++i) d2[i] = 1e-5 * double(i + 1);
  auto const P = problems::poisson<double>({4200});
  auto const many = eval(diagonal(d2) + from_triplets<double>(4200, 4200, {0, 1}, {1, 0}, {2e-5, 2e-5}));
  CHECK_THROWS_WITH(eigsh(P, many, 1, near{0.1}), ContainsSubstring("B is not positive definite: it has no Cholesky factors"));
  // and dear factors too, and rows of very different sizes, in which the negative value is small: it shows once they are scaled
  std::vector<index_t> row, col;
  std::vector<double> value;
  auto const add = [&](index_t i, index_t j, double size) {
    double const scaled = size * std::pow(10, -4 * double(i + j) / 4200);
    row.push_back(i), col.push_back(j), value.push_back(scaled);
    if (i != j) row.push_back(j), col.push_back(i), value.push_back(scaled);
  };
  for (index_t i = 0; i < 4200; ++i) {
    add(i, i, 1.0);
    for (int k = 0; k < 3; ++k)
      if (auto const j = index_t(2100 * (1 + detail::random_at<double>(5, 3 * i + k))); i != j) add(i, j, 0.1);
  }
  auto const scattered = [&] { return from_triplets<double>(4200, 4200, row, col, value); };
  auto const definite = scattered();
  add(4100, 4150, 1.5);
  CHECK(detail::cost_of_factors(definite, 2e8).operations > 2e8);
  CHECK_THROWS_WITH(eigsh(P, scattered(), 1, near{0.1}), ContainsSubstring("B is not positive definite: a vector p has (p, B p) = -"));
  CHECK(detail::has_negative_values<double>(many));
  CHECK_FALSE(detail::has_negative_values<double>(P));
  // of an operator nothing is proved, which the report says
  linear_operator<double> const weight(4200, 4200, [&](std::span<double const> x, std::span<double> y) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = d2[index_t(i)] * x[i];
  }, self_adjoint);
  CHECK_THAT(eigsh(P, weight, 1, largest{}, lobpcg{.max_iterations = 1}).report.choice, ContainsSubstring("does not prove that B is positive definite"));
  CHECK_THROWS_WITH(eigsh(A, eye<double>(31), 2, smallest{}), ContainsSubstring("A is 30 x 30, and B 31 x 31"));
  CHECK_THROWS_WITH(eigsh(A, 3, smallest{}, lobpcg{.block = 2}), ContainsSubstring("lobpcg{.block = 2}"));
  CHECK_THROWS_WITH(eigsh(problems::poisson<double>({30}), 25, smallest{}, lobpcg{}), ContainsSubstring("basic_lobpcg<31>"));
  linear_operator<double> const unsymmetric(5, 5, [](std::span<double const> x, std::span<double> y) {
    for (std::size_t i = 0; i < 5; ++i) y[i] = x[i] + (i > 0 ? x[i - 1] : 0);
  });
  CHECK_THROWS_WITH(eigsh(unsymmetric, 1, smallest{}, lobpcg{}), ContainsSubstring("A is not Hermitian"));
  double made = std::nan("");
  linear_operator<double> const same(5, 5, [&](std::span<double const>, std::span<double> y) { std::fill(y.begin(), y.end(), made); }, self_adjoint);
  CHECK_THROWS_WITH(eigsh(same, 1, smallest{}, lobpcg{}), ContainsSubstring("eigsh(A, k, ...): NaN or infinity is in the product of A and a random x"));
  for (double const of_preconditioner : {made, 0.0, 1e200}) {
    made = of_preconditioner;
    CHECK_THROWS_WITH(eigsh(eye<double>(5), 1, smallest{}, lobpcg{}, same), ContainsSubstring("the preconditioner makes zeros, NaN, or numbers whose squares are out of range"));
  }
  auto const stopped = eigsh(problems::poisson<double>({30, 30}), 3, smallest{}, lobpcg{.max_iterations = 4});
  CHECK_FALSE(stopped.report.converged());
  CHECK(stopped.report.reason == reason::iteration_limit);
  CHECK_THAT(text(stopped.report), ContainsSubstring("of 3 smallest converged after 4 iterations (iteration limit)"));
  CHECK(stopped.report.residual() > 1e-8);
}

} // namespace test_eigsh
