// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lanczos's method with thick restarts, plain and with shift and invert: against dense algebra on model and real matrices.
#include <complex>
#include <numbers>

#include <Eigen/Core>

#include <sla/adapter/eigen.hpp>
#include <sla/exec/deferred.hpp>
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigsh.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "suites/dense_oracle.hpp"

namespace test_lanczos {

using namespace sla;

namespace {
using oracle::dense_matrix;
template <class T>
auto spectrum_of(sparse_tensor<T> const& A) {
  return oracle::of_hermitian<T>(dense_matrix<T>(as_eigen(A)));
}
/// All pairs of dense algebra in the order of what is wanted, compared with those found: values to 1e-10, the space of all vectors to 1e-8.
template <class T, class W, class Pairs>
void is_dense(oracle::hermitian_pairs<T> const& all, W const& wanted, Pairs const& pairs, bool whole_clusters = true) {
  INFO(pairs.report);
  CHECK(pairs.report.converged());
  CHECK(pairs.report.orthogonality <= 1e-12);
  std::vector<int> order(std::size_t(all.values.size()));
  for (int j = 0; j < int(order.size()); ++j) order[std::size_t(j)] = j;
  std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return wanted.key(all.values[i]) < wanted.key(all.values[j]); });
  index_t const k = pairs.values.size();
  dense_matrix<T> exact(index_t(order.size()), k);
  for (index_t j = 0; j < k; ++j) {
    int const at = order[std::size_t(j)];
    CHECK(std::abs(pairs.values[j] - all.values[at]) <= 1e-10 * std::abs(all.values[at]));
    exact.col(j) = all.vectors.col(at);
  }
  dense_matrix<T> const V = as_eigen(pairs.vectors);
  if (whole_clusters) CHECK((V - exact * (exact.adjoint() * V)).norm() <= 1e-8);
}
} // namespace

TEST_CASE("lanczos finds either end of a spectrum, and what is near a number, with all vectors of double values") {
  auto const A = problems::poisson<double>({15, 15});  // i, j and j, i: most values are double
  lanczos const method{.rtol = 1e-11};
  auto const exact = spectrum_of(A);
  is_dense(exact, largest{}, eigsh(A, 6, largest{}, method));
  is_dense(exact, smallest{}, eigsh(A, 6, smallest{}, method));
  is_dense(exact, near{1.3}, eigsh(A, 5, near{1.3}, method), false);
  auto const indefinite = eval(A - 3.0 * eye<double>(A.rows()));
  auto const shifted = spectrum_of(indefinite);
  is_dense(shifted, largest_magnitude{}, eigsh(indefinite, 4, largest_magnitude{}, method));
  auto const pairs = eigsh(indefinite, 7, near{0.02});  // the automatic choice
  is_dense(shifted, near{0.02}, pairs, false);
  CHECK_THAT(text(pairs.report), Catch::Matchers::StartsWith("lanczos + "));
}

TEST_CASE("lanczos sees that a value is cut off from its equals, and finds values of any multiplicity") {
  auto const A = problems::poisson<double>({15, 15});
  auto const cut = eigsh(A, 2, largest{}, lanczos{.rtol = 1e-9});
  CHECK(cut.report.cuts_cluster);
  CHECK_FALSE(eigsh(A, 3, largest{}, lanczos{.rtol = 1e-9}).report.cuts_cluster);
  sla::vector<double> d(300);
  for (index_t i = 0; i < 300; ++i) d[i] = i % 75 == 7 ? 5.0 : 1.0 / double(i + 1);  // 5, four times
  auto const D = diagonal(d);
  auto const multiple = eigsh(D, 5, largest{}, lanczos{});
  INFO(multiple.report);
  CHECK(multiple.report.converged());
  for (int j = 0; j < 4; ++j) CHECK(multiple.values[j] == Approx(5));
  CHECK(multiple.values[4] == Approx(1));
  for (index_t i = 0; i < 300; ++i) d[i] = i % 75 == 7 ? 1.0 : 6.0 + double(i * (i % 7 + 1)) / 7;  // each run beside what is known finds one more
  auto const low = eigsh(diagonal(d), 4, smallest{}, lanczos{});
  INFO(low.report);
  CHECK(low.report.converged());
  for (int j = 0; j < 4; ++j) CHECK(low.values[j] == Approx(1));
  auto const I = eye<double>(100);
  auto const ones_only = eigsh(I, 20, smallest{}, lanczos{});
  CHECK(ones_only.report.converged());
  for (int j = 0; j < 20; ++j) CHECK(ones_only.values[j] == Approx(1));
  auto const few = eigsh(problems::poisson<double>({4}), 4, smallest{}, lanczos{});  // as many as there are
  CHECK(few.report.converged());
  CHECK(few.values[3] == Approx(2 + 2 * std::cos(std::acos(-1.0) / 5)));
}

TEST_CASE("lanczos: real matrices, complex ones, and generalised problems have the pairs of dense algebra") {
  auto const ash = read_matrix_market<double>(data("ash219.mtx"));
  auto const G = eval(transpose(ash) * ash);
  auto const of_G = spectrum_of(G);
  is_dense(of_G, smallest{}, eigsh(G, 6, near{0.0}, lanczos{.rtol = 1e-11}));
  is_dense(of_G, largest{}, eigsh(G, 6, largest{}, lanczos{.rtol = 1e-11}));
  auto C = cast<std::complex<double>>(problems::poisson<double>({11, 9}));
  for (index_t i = 0; i < C.rows(); ++i)
    C.pattern().view().for_row(i, [&](index_t s, index_t j) { C.values()[s] *= std::polar(1.0, 0.7 * double(i - j)); });
  auto const of_C = spectrum_of(C);
  is_dense(of_C, largest{}, eigsh(C, 4, largest{}, lanczos{.rtol = 1e-11}));
  is_dense(of_C, near{3.3}, eigsh(C, 4, near{3.3}, lanczos{.rtol = 1e-11}), false);

  auto const A = problems::poisson<double>({13, 9});
  auto const B = eval(0.1 * A + diagonal(random<double>(A.rows(), 3) + 2.0));
  Eigen::MatrixXd const a = Eigen::MatrixXd(as_eigen(A)), b = Eigen::MatrixXd(as_eigen(B));
  auto const exact = oracle::of_hermitian(a, b);
  auto const compare = [&](auto const& wanted) {
    auto const pairs = eigsh(A, B, 4, wanted, lanczos{.rtol = 1e-10});
    INFO(pairs.report);
    CHECK(pairs.report.converged());
    CHECK(pairs.report.orthogonality <= 1e-12);
    std::vector<double> all(exact.values.data(), exact.values.data() + a.rows());
    std::sort(all.begin(), all.end(), [&](double x, double y) { return wanted.key(x) < wanted.key(y); });
    for (index_t j = 0; j < 4; ++j) CHECK(std::abs(pairs.values[j] / all[std::size_t(j)] - 1) <= 1e-10);
  };
  compare(near{1.0}), compare(largest{}), compare(smallest{});
}

TEST_CASE("lanczos gives the same pairs on a queue of any lag") {
  auto const A = problems::poisson<double>({12, 11});
  for (int lag : {0, 4}) {
    auto const queue = on([lag](frame f) { return deferred(f, lag); });
    CHECK(norm(eigsh(A, 4, largest{}, lanczos{}, queue).vectors - eigsh(A, 4, largest{}, lanczos{}).vectors) <= 1e-12);
    CHECK(norm(eigsh(A, 4, near{2.0}, lanczos{}, queue).vectors - eigsh(A, 4, near{2.0}, lanczos{}).vectors) <= 1e-12);
  }
}

TEST_CASE("lanczos solves with what is given by its products only, near sigma and where there is a B, also on a queue") {
  auto const A = problems::poisson<double>({12, 11});
  auto const B = eval(0.1 * A + diagonal(random<double>(A.rows(), 3) + 2.0));
  auto const own = [](sparse_tensor<double> const& a) {
    return linear_operator<double>(a.rows(), a.cols(), [a](std::span<double const> x, std::span<double> y) {
      sla::vector<double> const ax = a * sla::vector<double>(x);
      std::copy(ax.begin(), ax.end(), y.begin());
    }, self_adjoint);
  };
  auto const inside = eigsh(A, 4, near{2.1}, lanczos{.rtol = 1e-10}), weighted = eigsh(A, B, 2, largest{}, lanczos{.rtol = 1e-10});
  auto const by_products = eigsh(own(A), 4, near{2.1}, lanczos{.rtol = 1e-10}, on([](frame f) { return deferred(f, 4); }));
  auto const by_b = eigsh(A, own(B), 2, largest{}, lanczos{.rtol = 1e-10});
  INFO(by_products.report);
  CHECK(by_products.report.converged());
  CHECK(by_products.report.preconditioner == "minres");
  CHECK(norm(by_products.values - inside.values) <= 1e-11);
  CHECK(norm(by_products.vectors - inside.vectors) <= 1e-6);
  CHECK(by_b.report.converged());
  CHECK(norm(by_b.values - weighted.values) <= 1e-11);
  // shifts that are values: 0 of a graph, whose residual has to be rounding; of a diagonal matrix a value above sigma is nearer than one below
  auto const graph = eval(A - diagonal(A * ones<double>(A.rows())));
  vector<double> d(400);
  for (index_t i = 0; i < 400; ++i) d[i] = double(i + 1);
  d[0] = 0, d[1] = 1e-4, d[2] = -2e-4;
  for (auto const& a : {graph, diagonal(d)}) {
    auto const host = eigsh(a, 2, near{0.0}, lanczos{}), here = eigsh(own(a), 2, near{0.0}, lanczos{}, on([](frame f) { return deferred(f, 4); }));
    INFO(here.report << '\n' << host.report);
    CHECK((here.report.converged() && norm(here.values - host.values) <= 1e-12 && norm(here.vectors - host.vectors) <= 1e-6));
    CHECK(here.report.choice == host.report.choice);
    CHECK_THAT(here.report.choice, Catch::Matchers::ContainsSubstring("0 is an eigenvalue, or nearly, so that the shift was moved by -"));
  }
  CHECK_THROWS_WITH(eigsh(own(problems::poisson<double>({3})), 1, near{2.0}, lanczos{.move_shift = false}), Catch::Matchers::ContainsSubstring("near{2}): A - sigma I, which is not stored whole on one rank, is solved with by minres"));
}

TEST_CASE("a shift that is an eigenvalue, or nearly, is moved, and the pairs are those nearest to the one that was asked for") {
  index_t const n = 401;
  auto const value = [](double i, double m) { return 2 - 2 * std::cos(i * std::numbers::pi / m); };
  auto path = problems::poisson<double>({n});  // the Laplacian of a path: values 2 - 2 cos(i pi / n), i from 0 on
  path.values()[find_slot(path.pattern().view(), 0, 0)] = 1, path.values()[find_slot(path.pattern().view(), n - 1, n - 1)] = 1;
  auto const paths = kron(eye<double>(3), path);  // each of them three times
  auto const check = [](auto const& pairs, std::vector<double> const& expected, double tolerance) {
    INFO(pairs.report);
    CHECK(pairs.report.converged());
    CHECK_THAT(pairs.report.choice, Catch::Matchers::ContainsSubstring("is an eigenvalue, or nearly, so that the shift was moved by -"));
    for (std::size_t j = 0; j < expected.size(); ++j) CHECK(std::abs(double(pairs.values[index_t(j)]) - expected[j]) <= tolerance);
  };
  for (double sigma : {0.0, 1e-17, 1e-12, -1e-9}) {
    auto const pairs = eigsh(path, 3, near{sigma}, lanczos{});
    check(pairs, {0, value(1, n), value(2, n)}, 1e-10);
    for (index_t i = 0; i < n; ++i) REQUIRE(std::abs(std::abs(pairs.vectors(i, 0)) - 1 / std::sqrt(double(n))) <= 1e-10);
  }
  check(eigsh(paths, 6, near{0.0}), {0, 0, 0, value(1, n), value(1, n), value(1, n)}, 1e-10);
  check(eigsh(paths, 0.5 * eye<double>(3 * n), 4, near{0.0}, lanczos{}), {0, 0, 0, 2 * value(1, n)}, 1e-10);
  check(eigsh(cast<std::complex<double>>(path), 2, near{0.0}, lanczos{}), {0, value(1, n)}, 1e-10);
  check(eigsh(cast<float>(path), 2, near{0.0}, lanczos{.rtol = 1e-2}), {0, value(1, n)}, 1e-5);
  // 2 is the middle one of the odd number of values of the one-dimensional Laplacian; and 4 of a square, as often as that has rows
  auto const around = eigsh(problems::poisson<double>({n}), 3, near{2.0});
  check(around, {2}, 1e-10);
  for (index_t j : {1, 2}) CHECK(std::abs(around.values[j] - 2) == Approx(2 - value((n - 1) / 2, n + 1)).epsilon(1e-9));
  check(eigsh(problems::poisson<double>({21, 21}), 21, near{4.0}), std::vector<double>(21, 4.0), 1e-10);
  // a value a little above sigma is nearer to it than one below, though the moved shift is nearer to that one
  vector<double> d(400);
  for (index_t i = 0; i < 400; ++i) d[i] = double(i + 1);
  d[0] = 0, d[1] = 1e-5, d[2] = -2e-5;
  check(eigsh(diagonal(d), 3, near{0.0}), {0, 1e-5, -2e-5}, 1e-10);
  check(eigsh(diagonal(d), 2, near{0.0}, lanczos{}), {0, 1e-5}, 1e-10);
  auto const none = eigsh(path, 3, near{-1e-2});
  CHECK((none.report.converged() && none.report.choice.find("moved") == std::string::npos));
}

TEST_CASE("lanczos says what it cannot do, and what it did not reach") {
  auto const A = problems::poisson<double>({3});
  CHECK_THROWS_WITH(eigsh(A, 1, near{2.0}, lanczos{.move_shift = false}), Catch::Matchers::ContainsSubstring("near{2}): 2 is an eigenvalue, so that A - sigma I is singular; move sigma a little"));
  CHECK_THROWS_WITH(eigsh(problems::poisson<double>({20, 20}), 70, largest{}, lanczos{}), Catch::Matchers::ContainsSubstring("70 are wanted, and a basis of 64 vectors has room for 61; basic_lanczos<150>"));
  auto const stopped = eigsh(problems::poisson<double>({40, 40}), 3, smallest{}, lanczos{.rtol = 1e-12, .max_restarts = 2});
  CHECK_FALSE(stopped.report.converged());
  CHECK(stopped.report.reason == reason::iteration_limit);
}

} // namespace test_lanczos
