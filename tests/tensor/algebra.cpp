// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums, products, Kronecker products and scaling of sparse tensors against dense ones, and products against Eigen's. Values are
// small integers, so that results are exact.
#include "catch.hpp"
#include "oracle.hpp"

#include <complex>
#include <numeric>

#include <sla/adapter/eigen.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/norms.hpp>
#include <sla/tensor/algebra/kron.hpp>
#include <sla/tensor/arrange/slice.hpp>

namespace test_algebra {

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using complex_t = std::complex<double>;

namespace {
/// Row-major (batch x rows x cols) elements of A, of one type for all tests.
struct dense {
  index_t batch, rows, cols;
  std::vector<complex_t> at;

  dense(index_t b, index_t m, index_t n) : batch(b), rows(m), cols(n), at(std::size_t(b * m * n)) {}
  template <class A>
  explicit dense(A const& a) : dense(a.batch_count(), a.rows() * A::shape_type::block_rows, a.cols() * A::shape_type::block_cols) {
    auto const elements = to_dense(a);
    for (index_t n = 0; n < elements.size(); ++n) at[std::size_t(n)] = complex_t(elements[n]);
  }
  /// One item serves all, if there is but one.
  complex_t& operator()(index_t b, index_t i, index_t j) { return at[std::size_t(((batch == 1 ? 0 : b) * rows + i) * cols + j)]; }
  bool operator==(dense const&) const = default;
};
template <class A, class B>
dense sum_of(complex_t alpha, A const& a, complex_t beta, B const& b) {
  dense x(a), y(b), z((std::max)(x.batch, y.batch), x.rows, x.cols);
  for (index_t k = 0; k < z.batch; ++k)
    for (index_t i = 0; i < z.rows; ++i)
      for (index_t j = 0; j < z.cols; ++j) z(k, i, j) = alpha * x(k, i, j) + beta * y(k, i, j);
  return z;
}
template <class A, class B>
dense product_of(A const& a, B const& b) {
  dense x(a), y(b), z((std::max)(x.batch, y.batch), x.rows, y.cols);
  for (index_t k = 0; k < z.batch; ++k)
    for (index_t i = 0; i < z.rows; ++i)
      for (index_t n = 0; n < x.cols; ++n)
        for (index_t j = 0; j < z.cols; ++j) z(k, i, j) += x(k, i, n) * y(k, n, j);
  return z;
}
template <class A, class B>
dense kron_of(A const& a, B const& b) {
  dense x(a), y(b), z((std::max)(x.batch, y.batch), x.rows * y.rows, x.cols * y.cols);
  for (index_t k = 0; k < z.batch; ++k)
    for (index_t i = 0; i < z.rows; ++i)
      for (index_t j = 0; j < z.cols; ++j) z(k, i, j) = x(k, i / y.rows, j / y.cols) * y(k, i % y.rows, j % y.cols);
  return z;
}

sparse_tensor<double> example(index_t rows, index_t cols, index_t entries, std::uint64_t seed) { return random_triplets(rows, cols, entries, seed).build(); }

/// A batch of two complex tensors with 2 x 3 blocks.
auto blocks_in_batch() {
  auto A = cast<complex_t>(to_batch<2>(to_blocks<2, 3>(example(8, 9, 20, 5))));
  for (index_t n = 0; n < A.values().size(); ++n) A.values()[n] *= complex_t(double(n % 3), double(n % 5));
  return A;
}
/// The entries of a 3 x 4 matrix, some of them twice, rows in no order.
struct unsorted_csr {
  std::vector<int> row_ptr{0, 4, 4, 7}, col{3, 0, 3, 1, 2, 2, 0};
  std::vector<double> value{1, 2, 3, 4, 5, 6, 7};
  auto view() const { return borrow_csr(3, 4, row_ptr, col, value); }
};
}  // namespace

TEST_CASE("sums on the union of two patterns") {
  for (auto [rows, cols, entries] : {std::array<index_t, 3>{7, 9, 25}, {1, 5, 3}, {9, 7, 0}, {300, 200, 9000}}) {
    auto const A = example(rows, cols, entries, 1), B = example(rows, cols, entries / 2, 2);
    auto const C = A + B;
    CHECK(dense(C) == sum_of(1, A, 1, B));
    CHECK(has_sorted_columns(C.pattern()));
    CHECK(dense(A - B) == sum_of(1, A, -1, B));
    CHECK(dense(add(2, A, -0.5f, B)) == sum_of(2, A, -0.5, B));
    CHECK(dense(A + transpose(example(cols, rows, entries, 3))) == sum_of(1, A, 1, transposed(example(cols, rows, entries, 3))));
  }
  static_assert(std::same_as<decltype(add(1, cast<float>(example(1, 1, 1, 1)), 2, example(1, 1, 1, 1))), sparse_tensor<double>>);
}

TEST_CASE("sums of batches without items have the union of the patterns") {
  using S = Shape<Batch<dyn>, dyn, dyn, Block<>>;
  auto none = [](auto const& A) { return sparse_tensor<double, S>(S({0}, A.rows(), A.cols()), A.shared_pattern()); };
  auto const A = example(30, 20, 60, 1), B = example(30, 20, 90, 2);
  auto of_none = none(A);
  CHECK(same_pattern((none(A) + none(B)).pattern(), (A + B).pattern()));
  CHECK(same_pattern((none(A) - B).pattern(), (A + B).pattern()));
  CHECK(same_pattern(add(2, to<Coo<>>(A), 3, none(B)).pattern(), (A + B).pattern()));
  CHECK(same_pattern((to<Dia>(none(A)) + to<Dia>(none(B))).pattern(), to<Dia>(A + B).pattern()));
  CHECK((of_none += none(B)).batch_count() == 0);
  CHECK(same_pattern(of_none.pattern(), (A + B).pattern()));
}

TEST_CASE("a sum shares the pattern of the operand that has all entries") {
  auto const A = example(40, 40, 300, 1);
  auto const I = from_triplets<double>(40, 40, std::vector{0, 3}, std::vector{A.pattern().col[0], A.pattern().col[A.pattern().row_ptr[3]]}, std::vector{1.0, 2.0});
  CHECK((A + I).shared_pattern() == A.shared_pattern());
  CHECK((I - A).shared_pattern() == A.shared_pattern());
  CHECK((A - 2.0 * A).shared_pattern() == A.shared_pattern());
  CHECK(dense(A - 2.0 * A) == sum_of(-1, A, 0, A));
  CHECK((A + example(40, 40, 300, 1)).shared_pattern() == A.shared_pattern());
}

TEST_CASE("sums of other formats, scalars, blocks and batches") {
  auto const A = example(9, 9, 20, 1), B = example(9, 9, 20, 2);
  auto const D = to<Dia>(A) + to<Dia>(B);
  static_assert(std::same_as<decltype(D)::format_type, Dia>);
  CHECK(dense(D) == sum_of(1, A, 1, B));
  auto const wide = to<Csr<std::int32_t, std::int64_t>>(A) + to<Coo<>>(B);
  static_assert(std::same_as<decltype(wide)::format_type, Csr<std::int32_t, std::int64_t>>);
  CHECK(dense(wide) == sum_of(1, A, 1, B));

  auto const Z = blocks_in_batch();
  auto const W = cast<complex_t>(to_blocks<2, 3>(example(8, 9, 30, 6)));
  auto const sum = add(complex_t(0, 1), Z, 2.0, W);
  static_assert(std::same_as<decltype(sum)::shape_type, Shape<Batch<2>, dyn, dyn, Block<2, 3>>>);
  CHECK(dense(sum) == sum_of(complex_t(0, 1), Z, 2, W));

  unsorted_csr const u;
  CHECK(dense(u.view() + u.view()) == sum_of(2, u.view(), 0, u.view()));
  CHECK(dense(u.view() + example(3, 4, 6, 1)) == sum_of(1, u.view(), 1, example(3, 4, 6, 1)));
}

TEST_CASE("products against dense and Eigen's") {
  for (auto [m, k, n, entries] : {std::array<index_t, 4>{6, 8, 5, 15}, {1, 4, 1, 3}, {5, 9, 7, 0}, {200, 150, 250, 2500}}) {
    auto const A = example(m, k, entries, 1), B = example(k, n, entries, 2);
    auto const C = A * B;
    CHECK(has_sorted_columns(C.pattern()));
    CHECK(dense(C) == product_of(A, B));
    Eigen::SparseMatrix<double, Eigen::RowMajor> const E = as_eigen(A) * as_eigen(B);
    CHECK(C.nnz() == E.nonZeros());
  }
  auto const A = example(30, 20, 80, 3);
  CHECK(dense(transpose(A) * A) == product_of(transposed(A), A));
  CHECK(dense(adjoint(A) * (A * transpose(A))) == product_of(transposed(A), A * transposed(A)));
}

TEST_CASE("products of rows wider than the flags, and of rows in no order") {
  index_t const far = 3 * detail::narrow_span;
  auto const A = example(20, 50, 60, 4);
  auto const x = random<double>(far, 1);
  for (index_t entries : {120, 3000}) {
    std::vector<index_t> row, col;
    std::vector<double> value;
    for (index_t k = 0; k < entries; ++k) {
      row.push_back(k % 50);
      col.push_back(k * 791911 % far);
      value.push_back(double(k % 11 - 5));
    }
    auto const B = from_triplets<double>(50, far, row, col, value);
    auto const C = A * B;
    CHECK(has_sorted_columns(C.pattern()));
    CHECK(double(norm(C * x - A * eval(B * x))) < 1e-10 * double(norm(x)));
    Eigen::SparseMatrix<double, Eigen::RowMajor> const E = as_eigen(A) * as_eigen(B);
    CHECK(C.nnz() == E.nonZeros());
  }

  unsorted_csr const u;
  CHECK(dense(example(5, 3, 8, 1) * u.view()) == product_of(example(5, 3, 8, 1), u.view()));
  CHECK(dense(u.view() * example(4, 3, 8, 1)) == product_of(u.view(), example(4, 3, 8, 1)));
}

TEST_CASE("products of other formats, scalars, blocks and batches") {
  auto const A = example(9, 9, 20, 1), B = example(9, 9, 20, 2);
  auto const D = to<Coo<>>(A) * to<Coo<>>(B);
  static_assert(std::same_as<decltype(D)::format_type, Coo<>>);
  CHECK(dense(D) == product_of(A, B));
  CHECK(dense(to<Dia>(A) * cast<float>(B)) == product_of(A, B));

  auto const Z = blocks_in_batch();
  auto const P = to_blocks<3, 2>(example(9, 6, 20, 6));
  auto const product = Z * P;
  static_assert(std::same_as<decltype(product), sparse_tensor<complex_t, Shape<Batch<2>, dyn, dyn, Block<2, 2>>> const>);
  CHECK(dense(product) == product_of(Z, P));
  auto const W = transposed(Z);
  CHECK(dense(Z * W) == product_of(Z, W));
  CHECK(dense(transposed(P) * W) == product_of(transposed(P), W));
}

TEST_CASE("functions of entries that are stored twice are those of their sums") {
  unsorted_csr u;
  u.value = {1, 2, -3, 4, 5, -6, 7};  // 5 and -6 in one place, and 1 and -3
  auto const A = u.view(), once = sorted(A);
  auto check = [&](auto const& f) { CHECK(dense(f(A)) == dense(f(once))); };
  check([](auto const& a) { return abs(a); });
  check([](auto const& a) { return abs2(a); });
  check([](auto const& a) { return tanh(a); });
  check([](auto const& a) { return sin(a); });
  check([](auto const& a) { return real(a); });
  CHECK(norm1(abs(A)) == norm1(A));
  CHECK(same_pattern(real(A).pattern(), A.pattern()));
  u.col = {3, 0, 2, 1, 2, 1, 0};  // no place twice: the pattern stays, unsorted as it is
  auto const B = u.view();
  CHECK(same_pattern(abs(B).pattern(), B.pattern()));
  CHECK(dense(abs(B)) == dense(abs(sorted(B))));
}

TEST_CASE("a plan multiplies new values on the old patterns") {
  auto A = example(60, 50, 400, 1), B = example(50, 70, 400, 2);
  multiply_plan const plan(A, B);
  auto C = plan(A, B);
  CHECK(C.shared_pattern() == plan.shared_pattern());
  for (double& v : A.values()) v += 1;
  plan.update(C, A, B);
  CHECK(dense(C) == product_of(A, B));
  CHECK(dense(plan(A, cast<complex_t>(B))) == product_of(A, B));
  CHECK(dense(plan(A, example(50, 70, 400, 2))) == product_of(A, B));  // an equal pattern of its own

  CHECK_THROWS_WITH(plan(A, example(50, 70, 390, 3)), ContainsSubstring("make a plan of those"));
  auto foreign = A * B;
  CHECK_THROWS_WITH(plan.update(foreign, A, B), ContainsSubstring("C must come from this plan"));
}

TEST_CASE("results of more values than can be counted are refused") {
  using S = Shape<Batch<dyn>, dyn, dyn, Block<>>;
  S const shape({index_t(1) << 62}, 30, 30);
  auto const A = example(30, 30, 200, 1);
  sparse_tensor<double, S> const none(shape, example(30, 30, 0, 1).shared_pattern());
  CHECK_THROWS_AS(none + A, shape_error);
}

TEST_CASE("a plan multiplies values into the place of a factor") {
  auto const P = example(30, 30, 200, 3);
  std::vector<int> k(30);
  std::iota(k.begin(), k.end(), 0);
  auto const I = from_triplets<double>(30, 30, k, k, std::vector<double>(30, 2.0));
  multiply_plan const left(I, P), right(P, I);
  auto C = left(I, P), D = right(P, I);
  left.update(C, I, C);
  CHECK(dense(C) == sum_of(4, P, 0, P));
  right.update(D, D, I);
  CHECK(dense(D) == sum_of(4, P, 0, P));
}

TEST_CASE("sums and products do not depend on the number of threads") {
  auto const A = example(3000, 2000, 30000, 1), B = example(2000, 3000, 30000, 2), Bt = transposed(B);
  auto all = [&](int threads) {
    set_threads(threads);
    auto C = A * B;
    auto D = A + Bt;
    auto K = kron(example(40, 30, 200, 1), example(50, 40, 300, 2));
    set_threads(0);
    return std::tuple(std::move(C), std::move(D), std::move(K));
  };
  auto const [C1, D1, K1] = all(1);
  auto const [C4, D4, K4] = all(4);
  auto same = [](auto const& X, auto const& Y) {
    return same_pattern(X.pattern(), Y.pattern()) && std::equal(X.values().begin(), X.values().end(), Y.values().begin());
  };
  CHECK(same(C1, C4));
  CHECK(same(D1, D4));
  CHECK(same(K1, K4));
}

TEST_CASE("Kronecker products") {
  auto const A = example(4, 3, 7, 1), B = example(5, 6, 12, 2);
  auto const K = kron(A, B);
  CHECK(has_sorted_columns(K.pattern()));
  CHECK(dense(K) == kron_of(A, B));
  CHECK(dense(kron(to<Coo<>>(A), to<Coo<>>(B))) == kron_of(A, B));
  unsorted_csr const u;
  CHECK(dense(kron(u.view(), transpose(A))) == kron_of(u.view(), transposed(A)));
  auto const Z = blocks_in_batch();
  auto const blocked = kron(cast<float>(A), Z);
  static_assert(std::same_as<decltype(blocked), sparse_tensor<complex_t, Shape<Batch<2>, dyn, dyn, Block<2, 3>>> const>);
  CHECK(dense(blocked) == kron_of(A, Z));
}

TEST_CASE("rows and columns are scaled on the pattern") {
  auto const A = example(6, 5, 15, 1);
  vector<double> const r{1, 2, 3, 4, 5, 6}, c{2, -1, 0, 3, 4};
  auto diagonal = [](vector<double> const& d) {
    std::vector<index_t> at;
    for (index_t i = 0; i < d.size(); ++i) at.push_back(i);
    return from_triplets<double>(d.size(), d.size(), at, at, d.values());
  };
  CHECK(dense(scale_rows(A, r)) == product_of(diagonal(r), A));
  CHECK(dense(scale_cols(A, c)) == product_of(A, diagonal(c)));
  CHECK(scale_rows(A, 2 * r - r).shared_pattern() == A.shared_pattern());
  CHECK(dense(scale_cols(transpose(to<Dia>(A)), r)) == product_of(transposed(A), diagonal(r)));

  auto const Z = blocks_in_batch();
  auto const dr = random<double, Extents<2, dyn, 2>>(Z.range(), 1);
  auto const dc = random<double, Extents<2, dyn, 3>>(Z.domain(), 2);
  auto expected = dense(Z);
  for (index_t b = 0; b < 2; ++b)
    for (index_t i = 0; i < 8; ++i)
      for (index_t j = 0; j < 9; ++j) expected(b, i, j) = expected(b, i, j) * dr(b, i / 2, i % 2) * dc(b, j / 3, j % 3);
  CHECK(dense(scale_cols(scale_rows(Z, dr), dc)) == expected);
}

TEST_CASE("what does not fit is named") {
  auto const A = example(3, 4, 6, 1), B = example(5, 4, 6, 1);
  CHECK_THROWS_WITH(A + B, ContainsSubstring("A is 3 x 4, B is 5 x 4"));
  CHECK_THROWS_WITH(A * B, ContainsSubstring("the columns of A must be as many as the rows of B"));
  auto const two = to_batch(A, 2), three = to_batch(A, 3);
  CHECK_THROWS_WITH(two + three, ContainsSubstring("the batch axes of A are 2, those of B 3"));
  CHECK_THROWS_WITH(scale_rows(A, ones<double>(4)), ContainsSubstring("d is 4; it should be 3"));
  CHECK_THROWS_WITH(scale_cols(A, ones<double>(3)), ContainsSubstring("d is 3; it should be 4"));

  using Tiny = Csr<std::int8_t>;
  std::vector<int> const zero(20);
  std::vector<int> count(20);
  for (int i = 0; i < 20; ++i) count[std::size_t(i)] = i;
  std::vector<double> const one(20, 1.0);
  auto const column = from_triplets<double, Tiny>(20, 1, count, zero, one), row = from_triplets<double, Tiny>(1, 20, zero, count, one);
  CHECK_THROWS_WITH(column * row, ContainsSubstring("the number of entries of A * B, 400 does not fit into std::int8_t; use the format Csr<std::int32_t, std::int64_t>"));
  CHECK_THROWS_WITH(kron(column, row), ContainsSubstring("the number of entries of kron(A, B), 400 does not fit into std::int8_t"));
  CHECK((to<Csr<std::int8_t, std::int64_t>>(column) * row).nnz() == 400);
}

TEST_CASE("numbers scale views as they scale owners") {
  auto const A = example(8, 9, 30, 1);
  CHECK(dense(2.0 * transpose(A)) == dense(2.0 * transposed(A)));
  CHECK(dense(transpose(A) * 2.0 - transpose(A) / 0.5) == dense(0.0 * transposed(A)));
  CHECK(dense(0.5 * transpose(A) * A) == dense(0.5 * (transposed(A) * A)));
  auto const Z = blocks_in_batch();
  CHECK(dense(-adjoint(Z)) == dense(-adjointed(Z)));
  CHECK(dense(complex_t(0, 1) * conj(Z)) == dense(eval(conj(complex_t(0, -1) * Z))));
}

TEST_CASE("functions that are zero at zero apply to the stored values") {
  auto const Z = blocks_in_batch();
  auto of_dense = [&](auto const& A, auto const& f) {
    auto d = dense(Z);
    std::vector<double> expected, have;
    for (auto const& z : to_dense(Z)) expected.push_back(f(z));
    for (auto const& v : to_dense(A)) have.push_back(v);
    return expected == have;
  };
  CHECK(of_dense(real(Z), [](complex_t z) { return z.real(); }));
  CHECK(of_dense(imag(Z), [](complex_t z) { return z.imag(); }));
  CHECK(of_dense(abs2(Z), [](complex_t z) { return std::norm(z); }));
  CHECK(real(Z).shared_pattern() == Z.shared_pattern());
  CHECK(dense(imag(adjoint(Z))) == dense(-transposed(imag(Z))));
  auto const A = example(8, 9, 30, 1);
  CHECK(dense(sqrt(abs(A) * 4.0)) == dense(2.0 * sqrt(abs(A))));
  CHECK(dense(tanh(A) + sin(A)) == dense(with_values(A, tanh(values(A)) + sin(values(A)))));
}

TEST_CASE("sparse tensors are changed in place") {
  auto A = example(8, 9, 30, 1);
  auto const B = example(8, 9, 20, 2), C = example(9, 8, 20, 3), before = A;
  A *= 2.0;
  A += B;
  A -= transpose(C);
  A /= 4;
  CHECK(dense(A) == dense((2.0 * before + B - transposed(C)) / 4));
}

TEST_CASE("norms add what stands at one place") {
  std::vector<int> const row_ptr{0, 3, 4}, col{1, 0, 0, 1};
  std::vector<double> const value{1, 2, -3, 4};
  auto const A = borrow_csr(2, 2, row_ptr, col, value);
  CHECK(norm(A) == Approx(std::sqrt(18.0)));
  CHECK(norm1(A) == 5);
  CHECK(dot(A.values(), A.values()) == double(dot(values(A), values(A))));
  CHECK(sum(A.values()) == sum(A));
  CHECK(norm(A.values()) == norm(values(A)));
  CHECK(norm_inf(A) == 4);
}

TEST_CASE("views are stored by eval") {
  auto const Z = blocks_in_batch();
  CHECK(dense(eval(adjoint(Z))) == dense(adjointed(Z)));
  CHECK(dense(eval(transpose(adjoint(Z)))) == dense(adjointed(transposed(Z))));
  CHECK(dense(eval(transpose(to<Dia>(example(5, 7, 12, 1))))) == dense(transposed(example(5, 7, 12, 1))));
  CHECK(eval(transpose(to<Dia>(example(5, 7, 12, 1)))).nnz() == to<Dia>(example(5, 7, 12, 1)).nnz());
}

TEST_CASE("triangles and traces, against dense ones") {
  auto const check = [](auto const& A, index_t k) {
    auto const whole = to_dense(A);
    auto const lower = tril(A, k), upper = triu(A, k);
    CHECK((has_sorted_columns(lower.pattern()) && has_sorted_columns(upper.pattern())));
    auto const l = to_dense(lower), u = to_dense(upper);
    using S = typename decltype(lower)::shape_type;
    index_t const rows = A.rows() * S::block_rows, cols = A.cols() * S::block_cols;
    bool agree = l.size() == whole.size() && u.size() == whole.size();
    for (index_t n = 0; n < whole.size() && agree; ++n) {
      index_t const i = n / cols % rows / S::block_rows, j = n % cols / S::block_cols;
      agree = l[n] == (j - i <= k ? whole[n] : 0.0) && u[n] == (j - i >= k ? whole[n] : 0.0);
    }
    CHECK(agree);
  };
  auto const A = random_triplets(40, 30, 300, 1).build();
  for (index_t k : {-50, -39, -3, -1, 0, 1, 4, 29, 50}) check(A, k), check(to<Dia>(A, dia_limit{100}), k), check(to<Coo<>>(A), k);
  check(to_batch<2>(to_blocks<2, 3>(random_triplets(12, 12, 60, 5).build())), 1);
  CHECK(dense(tril(A)) == dense(tril(A, 0)));
  CHECK(dense(tril(A, -1) + triu(A)) == dense(A));
  CHECK(tril(A, 29).shared_pattern() == A.shared_pattern());
  CHECK((tril(A, -40).nnz() == 0 && triu(A, 30).nnz() == 0));

  auto const trace_of = [](auto const& M) {
    double sum = 0;
    for (index_t i = 0; i < (std::min)(M.rows(), M.cols()); ++i) sum += M(i, i);
    return sum;
  };
  CHECK(trace(A) == Approx(trace_of(A)).epsilon(1e-14));
  CHECK(trace(transpose(to<Dia>(A, dia_limit{100}))) == Approx(trace_of(A)).epsilon(1e-14));
  auto const batch = stack_batch(A, 3.0 * A);
  auto const traces = trace(batch);
  CHECK((traces.size() == 2 && traces[1] == Approx(3 * traces[0]).epsilon(1e-14) && traces[0] == trace(A)));
  auto const blocks = to_blocks<5, 3>(A);
  CHECK(trace(unblocked(blocks)) == Approx(trace_of(A)).epsilon(1e-14));
  // entries that a user's arrays repeat are summed
  std::vector<int> const row_ptr{0, 3}, col{1, 0, 1};
  std::vector<double> const values{1.0, 2.0, 4.0};
  auto const twice = borrow_csr(1, 2, row_ptr, col, values);
  CHECK((triu(twice, 1).nnz() == 1 && triu(twice, 1)(0, 1) == 5 && trace(twice) == 2));
}

TEST_CASE("products of entries, and masks, against dense ones") {
  auto const check = [](auto const& A, auto const& B) {
    auto const C = multiply_elements(A, B);
    dense const a(A), b(B);
    dense expected = a;
    for (std::size_t n = 0; n < expected.at.size(); ++n) expected.at[n] *= b.at[n];
    CHECK(dense(C) == expected);
    CHECK(has_sorted_columns(C.pattern()));
    auto const M = masked(A, B);
    CHECK(same_pattern(M.pattern(), C.pattern()));
    for (index_t i = 0; i < M.rows(); ++i)
      M.pattern().view().for_row(i, [&](index_t, index_t j) {
        REQUIRE(find_slot(to<Coo<>>(A).pattern().view(), i, j) >= 0);
        REQUIRE(find_slot(to<Coo<>>(B).pattern().view(), i, j) >= 0);
      });
  };
  auto const A = random_triplets(40, 30, 300, 1).build(), B = random_triplets(40, 30, 300, 2).build();
  check(A, B);
  check(A, to<Dia>(B, dia_limit{20}));
  check(to<Coo<>>(A), B);
  CHECK(masked(A, A).shared_pattern() == A.shared_pattern());
  CHECK(multiply_elements(A, with_values(A, values(A) > 3)).shared_pattern() == A.shared_pattern());
  CHECK(dense(multiply_elements(transpose(A), transpose(B))) == dense(transposed(multiply_elements(A, B))));
  CHECK(dense(masked(transposed(A), transpose(B))) == dense(transposed(masked(A, B))));
  auto const Z = cast<complex_t>(to_batch<2>(to_blocks<2, 3>(random_triplets(12, 12, 60, 5).build())));
  check(complex_t(1, 2) * Z, to_batch<2>(to_blocks<2, 3>(random_triplets(12, 12, 60, 6).build())));
  // a user's arrays that repeat entries
  std::vector<int> const row_ptr{0, 3}, col{1, 0, 1};
  std::vector<double> const values{1.0, 2.0, 4.0};
  auto const twice = borrow_csr(1, 2, row_ptr, col, values);
  CHECK(multiply_elements(twice, twice)(0, 1) == 25);
  CHECK_THROWS_WITH(multiply_elements(A, rows(B, 0, 7)), ContainsSubstring("multiply_elements(A, B): A is") && ContainsSubstring("they need equal extents"));
  CHECK_THROWS_AS(multiply_elements(to_batch(A, 2), to_batch(A, 3)), shape_error);
}

} // namespace test_algebra
