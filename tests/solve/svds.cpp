// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Singular values and condition numbers: against dense algebra and closed forms, on model and real matrices, rectangular ones too.
#include <array>
#include <complex>
#include <numbers>

#include <sla/adapter/eigen.hpp>
#include <sla/exec/deferred.hpp>
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigen_of_batch.hpp>
#include <sla/solve/eigen/svds.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "suites/dense_oracle.hpp"

namespace test_svds {

using namespace sla;

namespace {
using oracle::dense_matrix;
template <class T>
auto decompose(sparse_tensor<T> const& A) {
  return oracle::singular<T>(dense_matrix<T>(as_eigen(A)));
}
/// Values of dense algebra to 1e-10, subspaces to 1e-8.
template <class T, class Triplets>
void is_dense(sparse_tensor<T> const& A, oracle::singular_triplets<T> const& exact, Triplets const& triplets, bool smallest_first = false) {
  auto const& [U, s, V] = triplets;
  INFO(triplets.report);
  CHECK(triplets.report.converged());
  CHECK(triplets.report.orthogonality <= 1e-12);
  index_t const k = s.size();
  dense_matrix<T> const u = as_eigen(U), v = as_eigen(V);
  dense_matrix<T> exact_u(A.rows(), k), exact_v(A.cols(), k);
  for (index_t j = 0; j < k; ++j) {
    index_t const at = smallest_first ? exact.values.size() - 1 - j : j;
    CHECK(std::abs(s[j] / exact.values[at] - 1) <= 1e-10);
    exact_u.col(j) = exact.left.col(at), exact_v.col(j) = exact.right.col(at);
    auto const r = eval(A * column(V, j) - s[j] * column(U, j));
    CHECK(double(norm(r)) <= 1e-9 * s[j]);
  }
  CHECK((u - exact_u * (exact_u.adjoint() * u)).norm() <= 1e-8);
  CHECK((v - exact_v * (exact_v.adjoint() * v)).norm() <= 1e-8);
}
/// diagonal(d) with its rows moved by one.
sparse_tensor<double> with_cycled_rows(sla::vector<double> const& d) {
  std::vector<index_t> rows, cols;
  for (index_t i = 0; i < d.size(); ++i) rows.push_back((i + 1) % d.size()), cols.push_back(i);
  return from_triplets<double>(d.size(), d.size(), rows, cols, std::vector<double>(d.begin(), d.end()));
}
} // namespace

TEST_CASE("singular triplets of real matrices, tall, wide and square, are those of dense algebra") {
  golub_kahan const method{.rtol = 1e-10};
  auto const ash = read_matrix_market<double>(data("ash219.mtx"));
  auto const of_ash = decompose(ash);
  is_dense(ash, of_ash, svds(ash, 5, largest{}, method));
  is_dense(ash, of_ash, svds(ash, 4, smallest{}, method), true);
  auto const wide = eval(transpose(ash));
  auto const of_wide = decompose(wide);
  is_dense(wide, of_wide, svds(wide, 5, largest{}, method));
  is_dense(wide, of_wide, svds(wide, 3, smallest{}, method), true);
  auto const C = problems::convection_diffusion<double>({12, 12}, 3.0);
  auto const of_C = decompose(C);
  is_dense(C, of_C, svds(C, 4, largest{}, method));
  is_dense(C, of_C, svds(C, 4, smallest{}, method), true);
}

TEST_CASE("singular triplets of complex, small, diagonal and deficient matrices") {
  auto Z = cast<std::complex<double>>(problems::convection_diffusion<double>({11, 9}, 2.0));
  for (index_t i = 0; i < Z.rows(); ++i)
    Z.pattern().view().for_row(i, [&](index_t s, index_t j) { Z.values()[s] *= std::polar(1.0, 0.3 * double(i * j % 7)); });
  auto const of_Z = decompose(Z);
  is_dense(Z, of_Z, svds(Z, 4, largest{}, golub_kahan{.rtol = 1e-10}));
  is_dense(Z, of_Z, svds(Z, 3, smallest{}, golub_kahan{.rtol = 1e-10}), true);

  auto const tiny = from_triplets<double>(3, 2, {0, 1, 2}, {0, 1, 1}, {3.0, 4.0, 3.0});  // columns of length 3 and 5
  auto const [U, s, V] = svds(tiny, 2);
  CHECK(s[0] == Approx(5));
  CHECK(s[1] == Approx(3));
  CHECK(std::abs(U(1, 0)) == Approx(0.8));

  sla::vector<double> d(200);
  for (index_t i = 0; i < 200; ++i) d[i] = i % 50 == 3 ? -7.0 : 1 / double(i + 1);  // 7, four times
  auto const multiple = svds(diagonal(d), 5);
  INFO(multiple.report);
  CHECK(multiple.report.converged());
  for (index_t j = 0; j < 4; ++j) CHECK(multiple.values[j] == Approx(7));
  CHECK(multiple.values[4] == Approx(1));

  auto const R = problems::random_sparse<double>(150, 45, 3, 3);
  auto const zeros = svds(eval(R * transpose(R)), 2, smallest{}, golub_kahan{.max_restarts = 2});
  for (index_t j = 0; j < 2; ++j) CHECK((zeros.values[j] >= 0 && zeros.values[j] < 1e-10));

  auto const deficient = from_triplets<double>(5, 4, {0, 1, 2, 3, 4}, {0, 1, 1, 2, 2}, {1.0, 2.0, 2.0, 3.0, 3.0});  // column 3 is empty
  auto const all = svds(deficient, 4);
  CHECK(all.values[3] <= 1e-15);
  CHECK(all.report.orthogonality <= 1e-14);
  CHECK(all.values[0] == Approx(3 * std::sqrt(2.0)));
}

TEST_CASE("values of any multiplicity have all their singular vectors, largest and smallest, by products and by factors") {
  for (auto [n, multiplicity, k] : {std::array{195, 3, 4}, {170, 5, 5}, {149, 5, 3}, {113, 5, 8}, {112, 4, 4}}) {
    auto d = ones<double>(n);
    for (index_t j = 0; j < n; ++j) d[j * 37 % n] += double(j / multiplicity);
    auto const A = diagonal(d);
    auto const largest_of = svds(A, k), smallest_of = svds(A, k, smallest{});
    INFO(largest_of.report << '\n' << smallest_of.report);
    CHECK((largest_of.report.converged() && smallest_of.report.converged()));
    for (int j = 0; j < k; ++j) CHECK(largest_of.values[j] == Approx(1 + (n - 1 - j) / multiplicity));
    for (int j = 0; j < k; ++j) CHECK(smallest_of.values[j] == Approx(1 + j / multiplicity));
  }
}

TEST_CASE("smallest singular values that factors do not settle are by dense algebra, and what a basis takes for nothing is rounding") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    auto scale = [&](index_t n, std::uint64_t s) { return diagonal(sla::vector<double>(exp(7.0 * random<double>(n, s)))); };
    sparse_tensor<double> const A = scale(110, seed) * problems::random_sparse<double>(110, 70, 2, seed) * scale(70, seed + 50);
    auto const exact = decompose(A);
    auto const found = svds(A, 4, smallest{});
    INFO(found.report);
    CHECK(found.report.converged());
    for (index_t j = 0; j < 4; ++j) CHECK(std::abs(found.values[j] - exact.values[69 - j]) <= 1e-13 * exact.values[0]);
    CHECK((exact.values[69] > 1e-12 * exact.values[0] || condition_number(A) > 1e12));
  }
  for (double least : {1e-12, 1e-10}) {  // a pivot that is 0, and values that it hides
    auto d = ones<double>(100);
    d[31] = 0, d[57] = least;
    auto const A = with_cycled_rows(d);
    auto const found = svds(A, 2, smallest{});
    INFO(found.report);
    CHECK((found.values[0] == 0 && found.values[1] == Approx(least).margin(0)));
    CHECK(condition_number(A) == std::numeric_limits<double>::infinity());
  }
  for (int rows = 4; rows <= 12; ++rows)
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      auto const A = problems::random_sparse<double>(rows, rows + 1, 1, seed);
      auto const found = svds(A, rows, smallest{});
      INFO(found.report);
      CHECK(found.report.converged());
    }
}

TEST_CASE("many singular triplets of few columns are by dense algebra") {
  auto const ash = read_matrix_market<double>(data("ash219.mtx"));
  auto const of_ash = decompose(ash);
  auto const many = svds(ash, 70);
  CHECK(many.report.method == "dense");
  is_dense(ash, of_ash, many);
  is_dense(ash, of_ash, svds(ash, 85, smallest{}), true);
  auto const wide = eval(transpose(ash));
  is_dense(wide, decompose(wide), svds(wide, 30));
  CHECK_THROWS_WITH(svds(ash, 70, largest{}, golub_kahan{}), Catch::Matchers::ContainsSubstring("basic_golub_kahan<"));
}

TEST_CASE("singular triplets are the same on a queue of any lag, and of an operator with its adjoint") {
  auto const A = read_matrix_market<double>(data("ash219.mtx"));
  auto const expected = svds(A, 3), last = svds(A, 3, smallest{}, golub_kahan{});
  for (int lag : {0, 4}) {
    auto const queued = svds(A, 3, largest{}, on([lag](frame f) { return deferred(f, lag); }));
    CHECK(norm(queued.values - expected.values) <= 1e-13);
    CHECK(norm(queued.left - expected.left) + norm(queued.right - expected.right) <= 1e-9);
    auto const least = svds(A, 3, smallest{}, golub_kahan{}, on([lag](frame f) { return deferred(f, lag); }));
    CHECK(norm(least.values - last.values) <= 1e-13);
    CHECK(norm(least.left - last.left) + norm(least.right - last.right) <= 1e-9);
  }
  auto const At = eval(transpose(A));
  linear_operator<double> const M(
      A.rows(), A.cols(), [&](std::span<double const> x, std::span<double> y) { Eigen::Map<Eigen::VectorXd>(y.data(), A.rows()) = as_eigen(A) * Eigen::Map<Eigen::VectorXd const>(x.data(), A.cols()); },
      [&](std::span<double const> x, std::span<double> y) { Eigen::Map<Eigen::VectorXd>(y.data(), A.cols()) = as_eigen(At) * Eigen::Map<Eigen::VectorXd const>(x.data(), A.rows()); });
  CHECK(norm(svds(M, 3).values - expected.values) <= 1e-13);
  auto const fill_nan = [](std::span<double const>, std::span<double> y) { std::fill(y.begin(), y.end(), std::nan("")); };
  CHECK_THROWS_WITH(svds(linear_operator<double>(A.rows(), A.cols(), fill_nan, fill_nan), 3), Catch::Matchers::ContainsSubstring("svds(A, k): NaN or infinity is in the product of A and a random x"));
}

TEST_CASE("the smallest singular values of a graph's Laplacian with dear factors are its eigenvalues, by multigrid") {
  // a cube of 12 dimensions, whose edges along axis i weigh 1 + i / 8: an eigenvalue is twice the sum of the weights of a set of axes
  index_t const axes = 12, n = index_t(1) << axes;
  std::vector<index_t> row, col;
  std::vector<double> value;
  auto const weight = [](index_t i) { return 1 + 0.125 * double(i); };
  for (index_t a = 0; a < n; ++a)
    for (index_t i = 0; i < axes; ++i) {
      row.push_back(a), col.push_back(a), value.push_back(weight(i));
      row.push_back(a), col.push_back(a ^ (index_t(1) << i)), value.push_back(-weight(i));
    }
  auto const A = from_triplets<double>(n, n, row, col, value);
  auto const found = svds(A, 4, smallest{}, golub_kahan{.rtol = 1e-9});
  auto const& [U, s, V] = found;
  auto const& report = found.report;
  INFO(report);
  CHECK(report.converged());
  CHECK(report.method == "lobpcg");
  CHECK(report.residual() <= 1e-9);
  CHECK(report.orthogonality <= 1e-12);
  CHECK(s[0] == 0);
  for (index_t j = 1; j < 4; ++j) CHECK(std::abs(s[j] - 2 * weight(j - 1)) <= 1e-10);
  for (index_t j = 0; j < 4; ++j) CHECK(norm(A * column(V, j) - s[j] * column(U, j)) <= 1e-8);
}

TEST_CASE("condition numbers have their closed forms, and those of dense algebra") {
  auto const end = [](int k, int n) { return 4 * std::pow(std::sin(k * std::numbers::pi / (2 * (n + 1))), 2); };
  auto const A = problems::poisson<double>({30, 30});
  CHECK(std::abs(condition_number(A) / (end(30, 30) / end(1, 30)) - 1) <= 1e-7);
  auto const indefinite = eval(A - 3.9 * eye<double>(900));
  double least = 1e9, most = 0;
  for (int i = 1; i <= 30; ++i)
    for (int j = 1; j <= 30; ++j) {
      double const value = std::abs(end(i, 30) + end(j, 30) - 3.9);
      least = std::min(least, value), most = std::max(most, value);
    }
  CHECK(std::abs(condition_number(indefinite) / (most / least) - 1) <= 1e-7);
  auto const ash = read_matrix_market<double>(data("ash219.mtx"));
  auto const values = decompose(ash).values;
  CHECK(std::abs(condition_number(ash) / (values[0] / values[values.size() - 1]) - 1) <= 1e-9);
  CHECK(condition_number(from_triplets<double>(2, 2, {0, 0}, {0, 1}, {1.0, 2.0})) > 1e15);
  auto const R = problems::random_sparse<double>(300, 90, 3, 3);
  CHECK(std::isinf(condition_number(eval(R * transpose(R)))));  // of rank 90
  CHECK(condition_number(diagonal(0.0 * ones<double>(80))) > 1e15);
}

TEST_CASE("svds of a batch has the triplets of its items, with a report of each, and of blocks those of their scalars") {
  auto const A = read_matrix_market<double>(data("ash219.mtx"));
  auto const items = stack_batch(A, eval(3.0 * A));
  for (auto const& scaled : {items, eval(-0.5 * items)}) {
    auto const [U, s, V] = svds(scaled, 3);
    auto const least = svds(scaled, 2, smallest{}, golub_kahan{.rtol = 1e-10});
    REQUIRE(least.report.items.size() == 2);
    CHECK((least.report.converged() && least.report.residuals.size() == 4));
    for (index_t b = 0; b < 2; ++b) {
      auto const item = batch_item(scaled, b);
      auto const alone = svds(item, 3);
      auto const of_least = svds(item, 2, smallest{}, golub_kahan{.rtol = 1e-10});
      for (index_t j = 0; j < 3; ++j) {
        CHECK(s(b, j) == alone.values[j]);
        for (index_t i = 0; i < A.rows(); ++i) CHECK(U(b, i, j) == alone.left(i, j));
        for (index_t i = 0; i < A.cols(); ++i) CHECK(V(b, i, j) == alone.right(i, j));
      }
      for (index_t j = 0; j < 2; ++j) CHECK(least.values(b, j) == of_least.values[j]);
    }
  }
  auto const C = problems::convection_diffusion<double>({12, 10}, 3.0);
  auto const blocks = to_blocks<2, 2>(C);
  auto const of_blocks = svds(blocks, 3);
  CHECK(norm(of_blocks.values - svds(C, 3).values) <= 1e-10);
  CHECK(of_blocks.left.extent(0) == C.rows());
  CHECK(svds(to_batch<2>(blocks), 3).right(1, 7, 2) == of_blocks.right(7, 2));
  auto const condition = condition_number(stack_batch(C, eval(C + 3.0 * eye<double>(C.rows()))));
  CHECK((condition[0] == condition_number(C) && condition[1] < 0.5 * condition[0]));
  CHECK(condition_number(blocks) == Approx(condition[0]).epsilon(1e-8));
  auto nan = items;
  nan.values()[nan.batch_stride() + 1] = std::nan("");
  CHECK_THROWS_WITH(condition_number(nan), Catch::Matchers::EndsWith("(batch item 1)"));
  CHECK_THROWS_WITH(svds(nan, 1), Catch::Matchers::StartsWith("svds(A, k): A(") && Catch::Matchers::EndsWith("(batch item 1)"));
}

TEST_CASE("svds says what it is given amiss") {
  using Catch::Matchers::ContainsSubstring;
  auto const A = from_triplets<double>(3, 2, {0, 1, 2}, {0, 1, 1}, {3.0, 4.0, 3.0});
  CHECK_THROWS_WITH(svds(A, 3), ContainsSubstring("svds(A, k): k is 3, and A is 3 x 2; ask for 1 to 2 triplets"));
  CHECK_THROWS_WITH(svds(A, 0), ContainsSubstring("k is 0"));
  CHECK_THROWS_WITH(svds(from_triplets<double>(2, 2, {0, 1}, {0, 1}, {1.0, std::nan("")}), 1), ContainsSubstring("svds(A, k): A(1, 1) is nan"));
  CHECK_THROWS_WITH(svds(A, 1, largest{}, golub_kahan{.rtol = -1}), ContainsSubstring("golub_kahan{.rtol = -1}"));
  auto const C = problems::convection_diffusion<double>({12, 12}, 3.0);
  auto const most = svds(C, 2), least = svds(C, 2, smallest{});
  double const condition = condition_number(C);
  for (double scale : {1e200, 1e-200}) {
    auto const scaled = eval(scale * C);
    CHECK(norm(svds(scaled, 2).values / scale - most.values) <= 1e-10);
    CHECK(norm(svds(scaled, 2, smallest{}).left - least.left) <= 1e-7);
    CHECK(condition_number(scaled) == Approx(condition).epsilon(1e-8));
  }
}

TEST_CASE("smallest singular values of matrices without full rank: 0 exactly, with null vectors to rounding, and the next ones beside them") {
  auto const look = [](auto const& A, index_t null, int k) {
    auto const exact = decompose(A);
    auto const found = svds(A, k, smallest{}, golub_kahan{.rtol = 1e-10});
    INFO(found.report);
    CHECK(found.report.converged());
    CHECK(found.report.residual() <= 1e-10);
    CHECK(found.report.orthogonality <= 1e-12);
    CHECK((null <= k || found.report.cuts_cluster));
    for (index_t j = 0; j < k; ++j) {
      double const of_dense = exact.values[exact.values.size() - 1 - j];
      if (j < null)
        CHECK((found.values[j] == 0 && of_dense <= 1e-12));
      else
        CHECK(std::abs(found.values[j] / of_dense - 1) <= 1e-10);
      CHECK(norm(A * column(found.right, j) - found.values[j] * column(found.left, j)) <= 1e-12);
      CHECK(norm(transpose(A) * column(found.left, j) - found.values[j] * column(found.right, j)) <= 1e-12);
    }
    CHECK(std::isinf(condition_number(A)));
  };
  auto const P = problems::poisson<double>({12, 9});
  auto const sums = eval(P * ones<double>(P.rows()));
  auto const laplacian = eval(P - diagonal(sums));  // constants are its null vectors
  look(laplacian, 1, 4);
  auto const C = problems::convection_diffusion<double>({11, 9}, 2.0);
  look(eval(C - diagonal(eval(C * ones<double>(C.rows())))), 1, 4);
  auto d = ones<double>(100);
  for (index_t i = 0; i < 100; ++i) d[i] = i % 40 == 7 ? 0 : 1 + double(i);
  look(diagonal(d), 3, 5);
  std::vector<index_t> row, col;
  for (index_t i = 0; i < 69; ++i) row.push_back(i), col.push_back(i + 1);
  auto const shift = from_triplets<double>(70, 70, row, col, std::vector<double>(69, 2.0));
  look(shift, 1, 2);  // nilpotent: no multiple of the identity shows its null vectors
  auto const R = problems::random_sparse<double>(120, 40, 3, 3);
  look(eval(R * transpose(R)), 80, 2);
  auto c = ones<double>(70);
  c[5] = c[33] = 0, c[12] = 1e-4;
  look(eval(problems::random_sparse<double>(150, 70, 4, 3) * diagonal(c)), 2, 4);
  look(eval(diagonal(c) * problems::random_sparse<double>(70, 150, 4, 3)), 2, 3);
}

TEST_CASE("singular values come in order, also where rounding tells those apart that are equal and small beside the largest") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto const x = random<double>(9, seed), y = random<double>(9, seed + 100);
    double const xx = squared_norm(x), yy = squared_norm(y), c = 1e-10;
    std::vector<index_t> rows, cols;
    std::vector<double> values;
    auto const reflected = [](auto const& v, double vv, index_t i, index_t j) { return (i == j ? 1 : 0) - 2 * v[i] * v[j] / vv; };
    for (index_t i = 0; i < 9; ++i)
      for (index_t j = 0; j < 9; ++j) {
        double sum = (1 - c) * reflected(x, xx, i, 0) * reflected(y, yy, 0, j);
        for (index_t l = 0; l < 9; ++l) sum += c * reflected(x, xx, i, l) * reflected(y, yy, l, j);
        rows.push_back(i), cols.push_back(j), values.push_back(sum);
      }
    auto const A = from_triplets<double>(9, 9, rows, cols, values);  // singular values 1 and eight times c
    auto const large = svds(A, 9), small = svds(A, 9, smallest{});
    CHECK((large.report.converged() && small.report.converged()));
    for (index_t j = 1; j < 9; ++j) CHECK((large.values[j] <= large.values[j - 1] && small.values[j] >= small.values[j - 1]));
    CHECK(large.values[0] == Approx(1));
    CHECK(small.values[0] == Approx(c).epsilon(1e-5));
  }
}

TEST_CASE("the zeros of a matrix of low rank are known beside its norm, which a product with one random vector does not show") {
  auto const p = random<double>(9, 1), x = random<double>(12, 2), z = random<double>(9, 3);
  auto const y = eval(z - (dot(p, z) / squared_norm(p)) * p);  // the first product is with p
  std::vector<index_t> rows, cols;
  std::vector<double> values;
  for (index_t i = 0; i < 12; ++i)
    for (index_t j = 0; j < 9; ++j) rows.push_back(i), cols.push_back(j), values.push_back(x[i] * y[j]);
  auto const found = svds(from_triplets<double>(12, 9, rows, cols, values), 3, smallest{});
  INFO(found.report);
  CHECK(found.report.converged());
  for (index_t j = 0; j < 3; ++j) CHECK(found.values[j] == 0);
}

TEST_CASE("smallest singular values are by products where factors take longer, and by factors where these are cheap") {
  auto const R = problems::random_sparse<double>(2300, 2300, 8, 5);
  auto const A = eval(R + 20.0 * eye<double>(2300));
  auto const dear = svds(A, 2, smallest{}, golub_kahan{.rtol = 1e-9});
  INFO(dear.report);
  CHECK(dear.report.converged());
  CHECK(dear.report.preconditioner.empty());
  CHECK(dear.report.choice.starts_with("factors take longer than products"));
  CHECK(detail::restarts_before_factors(problems::convection_diffusion<double>({40, 40}, 2.0), false, 30) == 0);
}

} // namespace test_svds
