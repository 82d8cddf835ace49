// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenpairs of matrices that are not Hermitian, by the Krylov-Schur method: against dense algebra on model and real matrices, with left vectors.
#include <complex>

#include <sla/adapter/eigen.hpp>
#include <sla/exec/deferred.hpp>
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigen_of_batch.hpp>
#include <sla/solve/eigen/eigs.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "suites/dense_oracle.hpp"

namespace test_eigs {

using namespace sla;
using Z = std::complex<double>;

namespace {
/// x_i becomes x_{i+1}, with a sign that varies: eigenvalues on a circle.
sparse_tensor<double> cyclic(int n) {
  std::vector<index_t> row, col;
  std::vector<double> value;
  for (int i = 0; i < n; ++i) row.push_back(i), col.push_back((i + 1) % n), value.push_back(1.0 + 0.3 * std::sin(double(i)));
  return from_triplets<double>(n, n, row, col, value);
}
template <class T>
std::vector<Z> spectrum(oracle::dense_matrix<T> const& A) {
  auto const values = oracle::eigenvalues<T>(A);
  return {values.data(), values.data() + A.rows()};
}
/// Are the values those of dense algebra that are wanted, in their order, and the pairs what they are said to be?
template <class A, class W, class Pairs>
void is_dense(A const& a, std::vector<Z> all, W const& wanted, Pairs const& pairs, double tolerance = 1e-10) {
  INFO(pairs.report);
  CHECK(pairs.report.converged());
  std::stable_sort(all.begin(), all.end(), [&](Z x, Z y) { return wanted.key(x) < wanted.key(y); });
  for (index_t j = 0; j < pairs.values.size(); ++j) {
    Z const w = pairs.values[j];
    double nearest = 1e300;
    for (Z const z : all) nearest = std::min(nearest, std::abs(z - w));
    CHECK(nearest <= tolerance * std::abs(w));
    CHECK(std::abs(wanted.key(w) - wanted.key(all[std::size_t(j)])) <= tolerance * std::abs(w));
    vector<Z> const v = column(pairs.vectors, j);
    CHECK(std::abs(double(norm(v)) - 1) <= 1e-12);
    CHECK(double(norm(a * v - w * v)) <= 1e-9 * std::abs(w));
  }
}
} // namespace

TEST_CASE("eigs finds what is wanted of real matrices in real arithmetic: complex pairs, either end, near real and complex numbers") {
  krylov_schur const method{.rtol = 1e-10};
  auto const A = eval(problems::convection_diffusion<double>({10, 9}, 0.8) + 0.4 * cyclic(90));
  auto const all = spectrum(Eigen::MatrixXd(as_eigen(A)));
  is_dense(A, all, largest_magnitude{}, eigs(A, 5, largest_magnitude{}, method));
  is_dense(A, all, largest{}, eigs(A, 3, largest{}, method));
  is_dense(A, all, smallest{}, eigs(A, 3, smallest{}, method));
  is_dense(A, all, near{2.5}, eigs(A, 5, near{2.5}, method));
  is_dense(A, all, near{Z(3.0, 0.4)}, eigs(A, 4, near{Z(3.0, 0.4)}, method));
}

TEST_CASE("eigs finds the values of a plasma's matrix by two ways, and of complex matrices") {
  auto const U = read_matrix_market<double>(data("utm300.mtx"));
  auto const outer = eigs(U, 3, largest_magnitude{}, krylov_schur{.rtol = 1e-11});
  INFO(outer.report);
  CHECK(outer.report.converged());
  for (index_t j = 0; j < 3; ++j) {  // the same value by shift and invert
    auto const again = eigs(U, 1, near{outer.values[j].real() + 1e-5}, krylov_schur{.rtol = 1e-10});
    CHECK(again.report.converged());
    CHECK(std::abs(again.values[0] - outer.values[j]) <= 1e-9);
  }
  auto C = cast<Z>(problems::convection_diffusion<double>({10, 7}, 0.5));
  for (index_t i = 0; i < C.rows(); ++i)
    C.pattern().view().for_row(i, [&](index_t s, index_t j) { C.values()[s] *= Z(1.0, i == j ? 0.01 * double(i % 5) : 0.0); });
  auto const of_C = spectrum(Eigen::MatrixXcd(as_eigen(C)));
  is_dense(C, of_C, largest_magnitude{}, eigs(C, 4, largest_magnitude{}, krylov_schur{.rtol = 1e-10}));
  is_dense(C, of_C, near{2.0}, eigs(C, 3, near{2.0}, krylov_schur{.rtol = 1e-10}));
}

TEST_CASE("eigs moves a shift that is an eigenvalue, or nearly, real or complex, and finds the pairs nearest to the one that was asked for, and their left vectors") {
  using Catch::Matchers::ContainsSubstring;
  auto A = problems::poisson<double>({89});  // -1.1, 2, -0.9: the values are 2 - 2 sqrt(0.99) cos(i pi / 90), of which 2 is the middle one
  for (index_t i = 0; i < 89; ++i) A.pattern().view().for_row(i, [&](index_t s, index_t j) { A.values()[s] *= j < i ? 1.1 : j > i ? 0.9 : 1.0; });
  std::vector<Z> all;
  for (int i = 1; i < 90; ++i) all.push_back(2 - 2 * std::sqrt(0.99) * std::cos(i * 3.14159265358979323846 / 90));
  std::string const said = "is an eigenvalue, or nearly, so that the shift was moved by -";
  for (double sigma : {2.0, 2 + 1e-9, all[0].real()}) {
    auto const pairs = eigs(A, 3, near{sigma}, krylov_schur{.rtol = 1e-10});
    is_dense(A, all, near{sigma}, pairs);
    CHECK_THAT(pairs.report.choice, ContainsSubstring(said));
  }
  auto const none = eigs(A, 2, near{2.01}, krylov_schur{.rtol = 1e-10});
  CHECK((none.report.converged() && none.report.choice.find("moved") == std::string::npos));
  // i times that, and a few values of which one above sigma is nearer than one below, which is nearer to the moved shift
  auto const turned = eval(Z(0, 1) * A);
  for (Z& z : all) z *= Z(0, 1);
  is_dense(turned, all, near{Z(0, 2)}, eigs(turned, 3, near{Z(0, 2)}, krylov_schur{.rtol = 1e-10}));
  vector<double> d(100);
  for (index_t i = 0; i < 100; ++i) d[i] = double(i + 1);
  d[0] = 0, d[1] = 1e-5, d[2] = -2e-5;
  auto const [w, V, W, report] = eigs(eval(diagonal(d) + from_triplets<double>(100, 100, {3}, {40}, {2.0})), 2, near{0.0}, krylov_schur{.rtol = 1e-8}, left_vectors);
  INFO(report);
  CHECK((report.converged() && std::abs(w[0]) <= 1e-12 && std::abs(w[1] - 1e-5) <= 1e-12));
  CHECK_THAT(report.choice, ContainsSubstring("0 " + said));
  Eigen::MatrixXcd const v = as_eigen(V), u = as_eigen(W);
  CHECK((u.adjoint() * v - Eigen::MatrixXcd::Identity(2, 2)).norm() <= 1e-7);
  // of a B, by the dense method too: B^-1 A has the values of A over 0.5
  auto const half = eval(0.5 * eye<double>(89));
  for (int k : {2, 70}) {
    auto const pairs = eigs(A, half, k, near{4.0});
    INFO(pairs.report);
    CHECK((pairs.report.converged() && std::abs(pairs.values[0] - 4.0) <= 1e-9 && std::abs(std::abs(pairs.values[1] - 4.0) - std::abs(2.0 * (all[45] - all[44]))) <= 1e-9));
    CHECK_THAT(pairs.report.choice, ContainsSubstring("4 " + said));
  }
}

TEST_CASE("left vectors are those of the adjoint, and beside the right ones of other values") {
  auto const A = eval(problems::convection_diffusion<double>({10, 9}, 0.8) + 0.4 * cyclic(90));
  Eigen::MatrixXcd const a = Eigen::MatrixXd(as_eigen(A)).cast<Z>();
  for (int k : {3, 4, 5}) {  // where k cuts a conjugate pair too
    auto const [w, V, W, report] = eigs(A, k, near{2.5}, krylov_schur{.rtol = 1e-11}, left_vectors);
    INFO(report);
    CHECK(report.converged());
    Eigen::MatrixXcd const v = as_eigen(V), u = as_eigen(W);
    for (index_t j = 0; j < k; ++j) CHECK((u.col(j).adjoint() * a - w[j] * u.col(j).adjoint()).norm() <= 1e-9 * std::abs(w[j]) * u.col(j).norm());
    CHECK((u.adjoint() * v - Eigen::MatrixXcd::Identity(k, k)).norm() <= 1e-7);
  }
  auto const B = eval(diagonal(random<double>(90, 3) + 2.0) + 0.1 * cyclic(90));
  Eigen::MatrixXd const b = Eigen::MatrixXd(as_eigen(B));
  auto const all = spectrum(oracle::solution<double>(b, a.real()));
  auto const compare = [&](auto const& wanted) {
    auto const pairs = eigs(A, B, 4, wanted, krylov_schur{.rtol = 1e-11}, left_vectors);
    INFO(pairs.report);
    CHECK(pairs.report.converged());
    auto sorted = all;
    std::stable_sort(sorted.begin(), sorted.end(), [&](Z x, Z y) { return wanted.key(x) < wanted.key(y); });
    Eigen::MatrixXcd const v = as_eigen(pairs.vectors), u = as_eigen(pairs.left);
    for (index_t j = 0; j < 4; ++j) {
      CHECK(std::abs(wanted.key(pairs.values[j]) - wanted.key(sorted[std::size_t(j)])) <= 1e-10);
      CHECK((a * v.col(j) - pairs.values[j] * (b * v.col(j))).norm() <= 1e-9);
      CHECK(std::abs(u.col(j).dot(b * v.col(j)) - 1.0) <= 1e-10);
    }
  };
  compare(near{1.0}), compare(largest_magnitude{});
}

TEST_CASE("eigs of many values of few rows is by dense algebra: all of them, at either end, near numbers, with a weight, and their left vectors") {
  auto const A = eval(problems::convection_diffusion<double>({10, 7}, 0.8) + 0.4 * cyclic(70));
  auto const all = spectrum(Eigen::MatrixXd(as_eigen(A)));
  is_dense(A, all, largest_magnitude{}, eigs(A, 70));
  is_dense(A, all, largest{}, eigs(A, 20, largest{}));
  is_dense(A, all, near{2.5}, eigs(A, 30, near{2.5}));
  auto const C = cast<Z>(A);
  is_dense(C, all, smallest{}, eigs(C, 15, smallest{}));
  auto const weight = diagonal(random<double>(70, 3) + 2.0);
  Eigen::MatrixXcd const a = Eigen::MatrixXd(as_eigen(A)).cast<Z>(), b = Eigen::MatrixXd(as_eigen(weight)).cast<Z>();
  auto const [w, V, W, report] = eigs(A, weight, 66, near{1.0}, left_vectors);
  INFO(report);
  CHECK((report.converged() && report.method == "dense"));
  Eigen::MatrixXcd const v = as_eigen(V), u = as_eigen(W);
  CHECK((u.adjoint() * b * v - Eigen::MatrixXcd::Identity(66, 66)).norm() <= 1e-8);
  for (index_t j = 0; j < 66; ++j) CHECK((u.col(j).adjoint() * a - w[j] * u.col(j).adjoint() * b).norm() <= 1e-8 * u.col(j).norm());
}

TEST_CASE("eigs says where the rounding of the inverse of a matrix that is far from normal leaves more than was asked for") {
  auto const A = problems::convection_diffusion<double>({80}, 1.3);
  auto const of_float = eigs(cast<float>(A), 4, near{1.0}, krylov_schur{.rtol = 1e-5});
  INFO(of_float.report);
  CHECK_FALSE(of_float.report.converged());
  CHECK_THAT(text(of_float.report), Catch::Matchers::ContainsSubstring("as where A is far from normal") && Catch::Matchers::ContainsSubstring("in double less"));
}

TEST_CASE("eigs of small and of defective matrices, on a queue of any lag, and what it refuses") {
  using Catch::Matchers::ContainsSubstring;
  auto const turn = from_triplets<double>(2, 2, {0, 1}, {1, 0}, {-1.0, 1.0});  // i and -i
  auto const pairs = eigs(turn, 2);
  CHECK(pairs.report.converged());
  CHECK(std::abs(pairs.values[0] - Z(0, 1)) + std::abs(pairs.values[1] - Z(0, -1)) <= 1e-15);
  auto const jordan = from_triplets<double>(3, 3, {0, 0, 1, 2}, {0, 1, 1, 2}, {2.0, 1.0, 2.0, 5.0});
  auto const defective = eigs(jordan, 3, largest{});
  CHECK(std::abs(defective.values[0] - 5.0) <= 1e-14);
  CHECK(std::abs(defective.values[2] - 2.0) <= 1e-7);
  auto const no_left = eigs(jordan, 3, largest{}, dense_schur{}, left_vectors);
  INFO(no_left.report);
  CHECK_THAT(no_left.report.choice, ContainsSubstring("left vectors are nearly orthogonal to right ones, as of a value that is defective"));

  auto const little = eigs(from_triplets<double>(4, 4, {0, 1, 2, 3}, {0, 1, 2, 3}, {1.0, 1e-13, 2e-13, 2.0}), 2, smallest{});  // whose digits are rounding beside 2
  INFO(little.report);
  CHECK((little.report.converged() && std::abs(little.values[1] - 2e-13) <= 1e-15));

  auto const A = problems::convection_diffusion<double>({10, 9}, 0.8);
  for (int lag : {0, 4}) {
    auto const queued = eigs(A, 3, near{2.5}, on([lag](frame f) { return deferred(f, lag); }));
    CHECK(norm(queued.vectors - eigs(A, 3, near{2.5}).vectors) <= 1e-10);
    auto const dense = eigs(A, 3, near{2.5}, dense_schur{}, on([lag](frame f) { return deferred(f, lag); }));
    CHECK((dense.report.method == "dense" && norm(queued.vectors - dense.vectors) <= 1e-8));
  }
  CHECK_THROWS_WITH(eigs(from_triplets<double>(2, 3, {0}, {1}, {1.0}), 1), ContainsSubstring("A is 2 x 3, and must be square; of a rectangular matrix take singular values, svds(A, k)"));
  CHECK_THROWS_WITH(eigs(A, eval(0.0 * A), 2, near{0.5}), ContainsSubstring("eigs(A, B, k, ...): B is 0, so that A v = w B v has no eigenvalues; those of A v = w v are found without it"));
  CHECK_THROWS_WITH(eigs(turn, 3), ContainsSubstring("k is 3, and A has 2 rows"));
  CHECK_THROWS_WITH(eigs(from_triplets<double>(1, 1, {0}, {0}, {std::nan("")}), 1), ContainsSubstring("eigs(A, k, ...): A(0, 0) is nan"));
  CHECK_THROWS_WITH(eigs(turn, 1, largest{}, krylov_schur{.rtol = std::nan("")}), ContainsSubstring("krylov_schur{.rtol = nan}"));
  CHECK_THROWS_WITH(eigs(A, 3, near{2.5}, dense_schur{.rtol = 2}), ContainsSubstring("dense_schur{.rtol = 2}"));
  CHECK_THROWS_WITH(eigs(A, 62, largest_magnitude{}, krylov_schur{}), ContainsSubstring("basic_krylov_schur<134> keeps more"));
  CHECK_THROWS_WITH(eigs(turn, 1, near{std::complex<double>(0, INFINITY)}), ContainsSubstring("sigma must be a finite number"));
  auto const weight = diagonal(random<double>(90, 3) + 2.0);
  auto const at_one = eigs(A, weight, 2, near{1.2}, krylov_schur{.rtol = 1e-11}, left_vectors);
  for (double scale : {1e200, 1e-200}) {
    auto const scaled = eigs(eval(scale * A), 2);
    CHECK(scaled.report.converged());
    CHECK(norm(scaled.values / scale - eigs(A, 2).values) <= 1e-8);
    auto const triples = eigs(eval(scale * A), eval(scale * weight), 2, near{1.2}, krylov_schur{.rtol = 1e-11}, left_vectors);
    INFO(triples.report);
    CHECK((triples.report.converged() && norm(triples.values - at_one.values) <= 1e-9 && norm(triples.vectors - at_one.vectors) <= 1e-7));
    CHECK(norm(scale * triples.left - at_one.left) <= 1e-7 * norm(at_one.left));
  }
  CHECK_THROWS_WITH(eigs(jordan, 1, near{2.0}, krylov_schur{.move_shift = false}), ContainsSubstring("2 is an eigenvalue, so that A - sigma I is singular; move sigma a little"));
  auto const without_last = diagonal(vector<double>{1.0, 1.0, 0.0});
  CHECK_THROWS_WITH(eigs(2.0 * without_last, without_last, 1, near{0.5}, krylov_schur{}), ContainsSubstring("A - sigma B is singular, and of 0.49") && ContainsSubstring("A v = B v = 0"));
  for (double scale : {1.0, 1e80}) {
    auto const stopped = eigs(eval(scale * problems::convection_diffusion<double>({30, 30}, 0.8)), 2, smallest{}, krylov_schur{.rtol = 1e-12, .max_restarts = 1});
    CHECK_FALSE(stopped.report.converged());
    CHECK(stopped.report.reason == reason::iteration_limit);
  }
  auto const coarse = eigs(A, 2, near{1e10});  // of so far a shift too little is left: the method is content, the residuals are not
  CHECK_FALSE(coarse.report.converged());
  CHECK(coarse.report.reason == reason::stagnated);
  for (index_t n : {1, 5, 90}) {  // A = 0: the moved shift has a rounding, and the values have none
    auto const zero = eval(0.0 * eye<double>(n));
    auto const pairs = eigs(zero, int((std::min)(n, index_t(3))), near{0.0});
    INFO(pairs.report);
    CHECK((pairs.report.converged() && norm(pairs.values) == 0.0));
    auto const of_complex = eigs(cast<std::complex<double>>(zero), 1, near{std::complex<double>(0, 0)}, krylov_schur{}, left_vectors);
    CHECK((of_complex.report.converged() && norm(of_complex.values) == 0.0));
    auto const hermitian = eigsh(zero, 1, near{0.0}, lanczos{});
    CHECK((hermitian.report.converged() && norm(hermitian.values) == 0.0));
  }
}

TEST_CASE("eigs of a batch has the triples of its items, with a report of each, and of blocks those of their scalars") {
  auto const A = problems::convection_diffusion<double>({10, 9}, 0.8);
  auto const items = stack_batch(A, eval(A + diagonal(random<double>(90, 5))));
  auto const B = diagonal(random<double>(90, 3) + 2.0);
  Z const sigma(2.5, 0.1);
  auto const triples = eigs(items, 3, near{2.5}, left_vectors);
  auto const pairs = eigs(items, B, 2, near{sigma});
  REQUIRE(triples.report.items.size() == 2);
  CHECK((triples.report.converged() && pairs.report.converged()));
  for (index_t b = 0; b < 2; ++b) {
    auto const item = batch_item(items, b);
    auto const alone = eigs(item, 3, near{2.5}, left_vectors);
    auto const of_pair = eigs(item, B, 2, near{sigma});
    for (index_t j = 0; j < 3; ++j) {
      CHECK(triples.values(b, j) == alone.values[j]);
      for (index_t i = 0; i < 90; ++i) CHECK((triples.vectors(b, i, j) == alone.vectors(i, j) && triples.left(b, i, j) == alone.left(i, j)));
    }
    for (index_t j = 0; j < 2; ++j) CHECK((pairs.values(b, j) == of_pair.values[j] && pairs.vectors(b, 17, j) == of_pair.vectors(17, j)));
  }
  auto const blocks = to_blocks<2, 2>(batch_item(items, 1));
  auto const of_blocks = eigs(blocks, 3, near{2.5});
  CHECK(norm(of_blocks.values - eigs(batch_item(items, 1), 3, near{2.5}).values) <= 1e-8);
  CHECK(of_blocks.vectors.extent(0) == 90);
  CHECK_THROWS_WITH(eigs(items, to_batch<3>(B), 1, largest{}), Catch::Matchers::Contains("eigs(A, B, k, ...): A is a batch of 2, and B of 3"));
}

} // namespace test_eigs
