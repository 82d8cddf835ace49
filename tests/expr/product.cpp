// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse products against dense algebra: formats, scalars, batches, blocks, right-hand sides, transposes, nesting, laws.
#include <complex>
#include <type_traits>

#include <sla/exec/evaluate.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/build.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/build/sell.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/dense.hpp"

namespace test_product {

using namespace sla;

namespace {
/// A random sparse matrix with some empty rows.
template <class T>
sparse_tensor<T> random_matrix(index_t rows, index_t cols, index_t per_row, std::uint64_t seed) {
  std::vector<index_t> i, j;
  std::vector<T> v;
  auto values = random<T>(rows * per_row, seed);
  for (index_t r = 0; r < rows; ++r)
    for (index_t n = 0; n < per_row; ++n)
      if (r % 7 != 3) i.push_back(r), j.push_back((r * 13 + n * n * 5 + n) % cols), v.push_back(values[r * per_row + n]);
  return from_triplets<T>(rows, cols, i, j, v);
}

/// A * x, transpose(A) * y, conj(A) * x and adjoint(A) * y of any sparse tensor, with and without right-hand sides.
template <class T, class S, class F>
void check_products(sparse_tensor<T, S, F> const& A) {
  auto const D = oracle::dense(A);
  index_t const rows = A.rows() * S::block_rows, cols = A.cols() * S::block_cols, batch = A.batch_count();
  double const bound = 1e-5 * double(std::numeric_limits<real_t<T>>::epsilon() > 1e-10 ? 1 : 1e-8) * double(cols + rows);

  auto x = random<T, domain_extents_t<S>>(A.domain(), 5);
  auto y = random<T, range_extents_t<S>>(A.range(), 6);
  tensor<T, range_extents_t<S>> Ax = A * x;
  CHECK(oracle::distance(Ax, oracle::product(D, x.data(), batch, rows, cols, 1)) <= bound);
  tensor<T, domain_extents_t<S>> Aty = transpose(A) * y;
  CHECK(oracle::distance(Aty, oracle::product(D, y.data(), batch, rows, cols, 1, true)) <= bound);
  tensor<T, domain_extents_t<S>> Ahy = adjoint(A) * y;
  CHECK(oracle::distance(Ahy, oracle::product(D, y.data(), batch, rows, cols, 1, true, true)) <= bound);
  tensor<T, range_extents_t<S>> conjugated = conj(A) * x;
  CHECK(oracle::distance(conjugated, oracle::product(D, x.data(), batch, rows, cols, 1, false, true)) <= bound);

  auto once = [&]<index_t... E>(Extents<E...> const& e, index_t rhs) {
    return [&]<std::size_t... Axis>(std::index_sequence<Axis...>) {
      return Extents<E..., dyn>(e[int(Axis)]..., rhs);
    }(std::make_index_sequence<sizeof...(E)>{});
  };
  for (index_t rhs : {1, 3, 11}) {
    auto X = random<T, decltype(once(A.domain(), rhs))>(once(A.domain(), rhs), 7);
    tensor<T, decltype(once(A.range(), rhs))> AX = A * X;
    CHECK(oracle::distance(AX, oracle::product(D, X.data(), batch, rows, cols, rhs)) <= bound);
    auto Y = random<T, decltype(once(A.range(), rhs))>(once(A.range(), rhs), 8);
    tensor<T, decltype(once(A.domain(), rhs))> AtY = transpose(A) * Y;
    CHECK(oracle::distance(AtY, oracle::product(D, Y.data(), batch, rows, cols, rhs, true)) <= bound);
    auto R = Y;
    R = 2.0 * Y - A * X;  // a product inside of an expression, row by row
    auto const oracle_product = oracle::product(D, X.data(), batch, rows, cols, rhs);
    for (index_t n = 0; n < R.size(); ++n) CHECK(std::abs(R[n] - (T(2) * Y[n] - oracle_product[std::size_t(n)])) <= bound);
  }
}
}  // namespace

TEST_CASE("products in every format") {
  auto A = random_matrix<double>(60, 45, 6, 1);
  check_products(A);
  check_products(to<Coo<>>(A));
  check_products(to<Sell<>>(A));
  check_products(to<NarrowSell<>>(A));
  check_products(to<Sell<4, 16>>(random_matrix<double>(61, 45, 6, 1)));
  check_products(problems::convection_diffusion<double>({9, 8}, 2.0));
  check_products(to<Dia>(problems::convection_diffusion<double>({9, 8}, 2.0)));
}

TEST_CASE("products in every scalar") {
  check_products(random_matrix<float>(60, 45, 6, 1));
  check_products(to<Dia>(problems::convection_diffusion<std::complex<double>>({9, 8}, 2.0)));
  auto A = random_matrix<std::complex<float>>(60, 45, 6, 1);
  auto x = random<std::complex<float>>(A.cols(), 2);
  auto wide = to<Csr<std::int64_t>>(A);
  vector<std::complex<float>> y = adjoint(wide) * vector<std::complex<float>>(wide * x);
  auto const D = oracle::dense(A);
  auto const inner = oracle::product(D, x.data(), 1, A.rows(), A.cols(), 1);
  CHECK(oracle::distance(y, oracle::product(D, inner.data(), 1, A.rows(), A.cols(), 1, true, true)) <= 1e-3);
}

TEST_CASE("stored diagonals of every count, long enough for their inner loops") {
  for (index_t reach : {0, 1, 2, 3, 4, 6}) {
    std::vector<index_t> i, j;
    std::vector<double> v;
    index_t const n = 3000;
    for (index_t r = 0; r < n; ++r)
      for (index_t d = -reach; d <= reach; ++d)
        if (r + 37 * d >= 0 && r + 37 * d < n + 5) i.push_back(r), j.push_back(r + 37 * d), v.push_back(double((r * 7 + d * 3) % 11) - 5);
    auto A = from_triplets<double>(n, n + 5, i, j, v);
    auto D = to<Dia>(A);
    auto x = random<double>(A.cols(), 1);
    vector<double> from_rows = A * x, from_diagonals = D * x;
    CHECK(oracle::distance(from_rows, from_diagonals) <= 1e-13);
    vector<float> const rounded = D * x, expected = cast<float>(from_diagonals);  // once
    CHECK(oracle::distance(rounded, expected) == 0);
    vector<std::complex<double>> const same = D * x;
    CHECK(eval(norm(same - from_diagonals)) == 0);
  }
}

TEST_CASE("batches and blocks") {
  auto A = problems::convection_diffusion<double>({6, 5}, 3.0);
  auto batch = stack_batch(A, problems::poisson<double>({6, 5}), A);
  check_products(to<Dia>(batch));
  check_products(to<Sell<2, 8>>(batch));
  check_products(to_blocks<2, 5>(A));
  check_products(to<Sell<2, 4>>(to_blocks<2, 5>(A)));
  check_products(to_batch<2>(to_blocks<5, 2>(A)));
}

TEST_CASE("products of Sell have the bits of Csr's, whether or not columns of neighbouring rows are neighbours") {
  auto const check = [](auto const& A) {
    using T = typename std::remove_cvref_t<decltype(A)>::value_type;
    auto const x = random<T, domain_extents_t<typename std::remove_cvref_t<decltype(A)>::shape_type>>(A.domain(), 5);
    auto const same = [&](auto const& B) {
      CHECK(norm_inf(eval(A * x) - B * x) == 0);
      CHECK(norm_inf(eval(conj(A) * (x + x)) - conj(B) * (x + x)) == 0);
    };
    same(to<Sell<>>(A)), same(to<NarrowSell<>>(A)), same(to<Sell<4, 12>>(A)), same(to<Sell<1, 1>>(A));
  };
  check(problems::convection_diffusion<double>({41, 29}, 2.0));
  check(problems::convection_diffusion<std::complex<double>>({600}, 2.0));
  check(problems::convection_diffusion<float>({11, 7, 5}, 2.0));
  check(stack_batch(problems::convection_diffusion<double>({20, 30}, 3.0), problems::poisson<double>({20, 30})));
  std::vector<index_t> i, j;  // a chunk all of whose rows lie side by side but for the last one, in its last entry
  for (index_t r = 0; r < 32; ++r) i.push_back(r), j.push_back(r), i.push_back(r), j.push_back(r + 10 + (r == 15));
  auto const values = random<double>(64, 4);
  check(from_triplets<double>(32, 50, i, j, std::vector<double>(values.begin(), values.end())));
}

TEST_CASE("a row of Csr is added up from left to right, however many entries it has") {
  for (index_t shift = 0; shift < 14; ++shift) {  // rows of 0 to 13 entries, one after the other in some other order
    index_t const rows = 14, cols = 20;
    triplets<double> t(rows, cols);
    std::vector<double> sums(std::size_t(rows), 0.0);
    for (index_t i = 0; i < rows; ++i)
      for (index_t k = 0; k < (i * 5 + shift) % 14; ++k) {
        double const a = k % 3 == 0 ? 1e16 + double(2 * k) : k % 3 == 1 ? 1.0 + double(k) : -1e16;  // other orders round otherwise
        t.add(i, k + i % 5, a);
        sums[std::size_t(i)] += a;
      }
    auto const A = t.build();
    vector<double> const y = A * ones<double>(cols);
    for (index_t i = 0; i < rows; ++i) CHECK(y[i] == sums[std::size_t(i)]);
  }
}

TEST_CASE("products nest and alias") {
  auto A = problems::convection_diffusion<double>({20, 20}, 1.0);
  auto x = random<double>(A.cols(), 1);
  vector<double> inner = A * x, expected = A * inner;
  vector<double> nested = A * (A * x);
  CHECK(eval(norm(nested - expected)) == 0);
  vector<double> sum_inside = A * (x + 2 * inner), sum_outside = A * vector<double>(x + 2 * inner);
  CHECK(eval(norm(sum_inside - sum_outside)) <= 1e-12);
  vector<double> deep = x - transpose(A) * (A * x - inner);
  CHECK(eval(norm(deep - x)) == 0);
  auto y = x;
  y = A * y;
  CHECK(eval(norm(y - inner)) == 0);
  y = x;
  y = y - transpose(A) * y;
  vector<double> plain = transpose(A) * x;
  CHECK(eval(norm(y - (x - plain))) == 0);
  CHECK(eval(dot(x, A * x)) == Approx(eval(dot(x, inner))).epsilon(1e-13));
  CHECK(std::abs(dot(x, transpose(A) * x) - dot(x, inner)) <= 1e-11);
}

TEST_CASE("an expression owns a temporary operator and vector") {
  auto make = [] { return problems::poisson<double>({10, 10}) * ones<double>(100); };
  auto y = make();
  CHECK(eval(sum(y)) == 40);
  auto z = transpose(problems::poisson<double>({10, 10})) * ones<double>(100);
  CHECK(eval(sum(vector<double>(z))) == 40);
  auto w = adjoint(to<Dia>(problems::poisson<std::complex<double>>({10, 10}))) * ones<std::complex<double>>(100);
  CHECK(std::abs(eval(sum(eval(w)))) == Approx(40));
  auto const as_const = []() -> sparse_tensor<double> const { return problems::poisson<double>({10, 10}); };
  auto const x = ones<double>(100);
  auto u = as_const() * x;
  static_assert(!std::is_trivially_copyable_v<decltype(u)>);  // views alone would be
  CHECK(eval(sum(eval(u))) == 40);
  CHECK(eval(sum(eval(transpose(as_const()) * x))) == 40);
}

TEST_CASE("a float matrix under double vectors promotes") {
  auto A = problems::poisson<float>({8, 8});
  auto x = random<double>(A.cols(), 1);
  auto e = A * x;
  static_assert(std::same_as<decltype(e)::value_type, double>);
  vector<double> y = e, expected = problems::poisson<double>({8, 8}) * x;
  CHECK(eval(norm(y - expected)) <= 1e-15 * eval(norm(expected)));
}

TEST_CASE("shapes that disagree at run time are named") {
  auto A = problems::poisson<double>({4, 4});
  auto x = ones<double>(15);
  CHECK_THROWS_WITH(A * x, Catch::Matchers::ContainsSubstring("16 x 16") && Catch::Matchers::ContainsSubstring("15"));
  auto batch = to_batch(A, 3);
  CHECK_THROWS_AS(batch * (ones<double, Extents<dyn, dyn>>({2, 16})), shape_error);
}

TEST_CASE("empty operators") {
  sparse_tensor<double, Shape<Batch<2>, 3, 4, Block<>>> without_entries;
  tensor<double, Extents<2, 4>> u;
  CHECK(eval(norm(without_entries * u)) == 0);
  CHECK(eval(without_entries * u).extents() == Extents<2, 3>());
  sparse_tensor<double> none;
  vector<double> x, y = none * x;
  CHECK(y.size() == 0);
  auto wide = from_triplets<double>(3, 0, std::vector<int>{}, std::vector<int>{}, std::vector<double>{});
  vector<double> zero = wide * x;
  CHECK(zero.size() == 3);
  CHECK(eval(norm(zero)) == 0);
}

} // namespace test_product
