// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ic0, ssor and block_jacobi against dense algebra, column by column: complex numbers, blocks in batches, adjoints, formats,
// new values, bad input. The columns are right-hand sides.
#include "catch.hpp"

#include <complex>

#include <sla/exec/evaluate.hpp>
#include <sla/solve/precond/block_jacobi.hpp>
#include <sla/solve/precond/ic0.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/iluk.hpp>
#include <sla/solve/precond/ilut.hpp>
#include <sla/solve/precond/ssor.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "suites/dense.hpp"

using Catch::Matchers::ContainsSubstring;
using sla::dyn, sla::index_t;
using complex_t = std::complex<double>;

namespace {
/// Hermitian positive definite, with complex couplings.
sla::sparse_tensor<complex_t> hermitian() {
  auto A = sla::cast<complex_t>(sla::problems::checkerboard({5, 4}, 10.0, 2));
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) { A.values()[s] *= std::polar(1.0, 0.3 * double(j - i)); });
  return A;
}
/// Two items of 2 x 2 blocks.
auto blocks() {
  auto const A = sla::to_blocks<2, 2>(sla::problems::checkerboard({6, 4}, 5.0, 2));
  auto B = A;
  auto const d = sla::diagonal_positions(A.pattern());
  for (index_t i = 0; i < A.rows(); ++i) B.values()[d[i] * 4] *= 1.5;
  return sla::stack_batch(A, B);
}

/// The dense matrices of M, [batch][n][n], by the columns of unit matrices of extents E.
template <class T, class E, class M>
std::vector<T> columns(M const& m, E extents) {
  index_t const n = extents[E::rank - 1];
  sla::tensor<T, E> one(extents);
  auto const units = oracle::units<T>(extents.total() / (n * n), n);
  std::copy(units.begin(), units.end(), one.begin());
  sla::tensor<T, E> const all = m * one;
  return {all.begin(), all.end()};
}
template <class T>
std::vector<T> inverse(std::vector<T> const& a, index_t n) {
  return oracle::solution(a, oracle::units<T>(index_t(a.size()) / (n * n), n), n);
}
template <class T>
std::vector<T> adjoint(std::vector<T> const& a, index_t n) {
  std::vector<T> t(a.size());
  for (index_t k = 0; k < index_t(a.size()); ++k) {
    index_t const item = k / (n * n), i = k / n % n, j = k % n;
    t[std::size_t(k)] = sla::user_t<T>(sla::conj_of(sla::to_kernel(a[std::size_t((item * n + j) * n + i)])));
  }
  return t;
}
/// The entries of dense matrices at (i, j) with keep(i, j), the others 0.
template <class T, class Keep>
std::vector<T> part(std::vector<T> a, index_t n, Keep const& keep) {
  for (index_t k = 0; k < index_t(a.size()); ++k)
    if (!keep(k / n % n, k % n)) a[std::size_t(k)] = T{};
  return a;
}
template <class T>
std::vector<T> scaled_sum(T f, std::vector<T> a, std::vector<T> const& b) {
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = f * a[k] + b[k];
  return a;
}

/// (D / w + L) (w / (2 - w)) D^-1 (D / w + U), D of P x P blocks.
template <class T>
std::vector<T> ssor_matrix(std::vector<T> const& a, index_t n, index_t P, double omega) {
  index_t const batch = index_t(a.size()) / (n * n);
  auto const D = part(a, n, [&](index_t i, index_t j) { return i / P == j / P; });
  auto const down = scaled_sum(T(1 / omega), D, part(a, n, [&](index_t i, index_t j) { return i / P > j / P; }));
  auto const up = scaled_sum(T(1 / omega), D, part(a, n, [&](index_t i, index_t j) { return i / P < j / P; }));
  auto const inner = oracle::solution(D, up, n);
  auto const all = oracle::product(down, inner.data(), batch, n, n, n);
  return scaled_sum(T(omega / (2 - omega)), all, std::vector<T>(all.size()));
}

/// Every preconditioner of A, whose scalar rows are n, in blocks of P, against its matrix. The extents are those of n right-hand
/// sides, and of one.
template <class A, class E>
void check_all(A const& a, E extents, E one, index_t P) {
  using T = typename A::value_type;
  index_t const n = extents[E::rank - 1];
  auto const dense = oracle::dense(a);
  auto const x = sla::random<T, E>(one, 4);
  auto const is_matrix = [&](auto const& m, std::vector<T> const& of) {
    CHECK(oracle::distance(columns<T>(m, extents), of) < 1e-12);
    sla::tensor<T, E> const mx = m * x;
    CHECK(oracle::distance(std::vector<T>(mx.begin(), mx.end()), oracle::product(of, x.data(), a.batch_count(), n, n, 1)) < 1e-12);
  };
  auto const adjoint_fits = [&](auto const& m, auto const& of) { is_matrix(m, of), is_matrix(m.adjoint(), adjoint(of, n)); };

  auto const ic0 = sla::ic0{}.setup(a);
  auto const of_ic0 = columns<T>(ic0, extents), LL = inverse(of_ic0, n);
  auto const stored = [&](index_t i, index_t j) { return sla::find_slot(a.pattern().view(), i / P, j / P) >= 0; };
  CHECK(oracle::distance(part(LL, n, stored), dense) < 1e-11);
  CHECK(oracle::distance(LL, dense) > 1e-3);
  adjoint_fits(ic0, of_ic0);
  adjoint_fits(sla::ilu0{}.setup(a), of_ic0);  // the same product

  auto const ssor = sla::ssor{.omega = 1.3}.setup(a);
  auto const of_ssor = columns<T>(ssor, extents);
  CHECK(oracle::distance(inverse(of_ssor, n), ssor_matrix(dense, n, P, 1.3)) < 1e-11);
  adjoint_fits(ssor, of_ssor);

  for (index_t size : {1, 2, 4}) {
    auto const jacobi = sla::block_jacobi{.size = size}.setup(a);
    auto const of_jacobi = columns<T>(jacobi, extents);
    auto const diagonal = part(dense, n, [&](index_t i, index_t j) { return i / (P * size) == j / (P * size); });
    CHECK(oracle::distance(of_jacobi, inverse(diagonal, n)) < 1e-12);
    adjoint_fits(jacobi, of_jacobi);
  }
}
}  // namespace

TEST_CASE("complex Hermitian matrices: each preconditioner is its dense matrix, and its adjoint the adjoint") {
  check_all(hermitian(), sla::Extents<dyn, dyn>(20, 20), sla::Extents<dyn, dyn>(20, 1), 1);
}
TEST_CASE("batches of blocks: each preconditioner is its dense matrix") {
  check_all(blocks(), sla::Extents<2, dyn, 2, dyn>(2, 12, 2, 24), sla::Extents<2, dyn, 2, dyn>(2, 12, 2, 1), 2);
}

namespace {
/// The same matrix with the columns of each row in falling order.
struct falling {
  sla::buffer<std::int32_t> col;
  sla::buffer<double> values;
  sla::sparse_tensor<double> A;
  explicit falling(sla::sparse_tensor<double> const& from) : col(from.nnz()), values(from.nnz()) {
    for (index_t i = 0; i < from.rows(); ++i) {
      index_t last = from.pattern().row_ptr[i + 1];
      from.pattern().view().for_row(i, [&](index_t s, index_t j) { col[--last] = std::int32_t(j), values[last] = from.values()[s]; });
    }
    A = sla::borrow_csr(from.rows(), from.cols(), from.pattern().row_ptr, col, values);
  }
};
}  // namespace

TEMPLATE_TEST_CASE("any format gives the same, and so do new values", "", sla::ic0, sla::iluk, sla::ilut, sla::ssor, sla::block_jacobi) {
  auto const A = sla::problems::checkerboard({6, 6}, 10.0, 3);
  auto const r = sla::random<double>(36, 1);
  auto M = TestType{}.setup(A);
  sla::vector<double> const z = M * r;
  auto same = [&](auto const& other) {
    auto N = TestType{}.setup(other);
    CHECK(double(sla::norm_inf(N * r - z)) == 0);
    N.update(other);
    CHECK(double(sla::norm_inf(N * r - z)) == 0);
  };
  same(sla::to<sla::Coo<>>(A));
  same(sla::to<sla::Dia>(A));
  same(falling(A).A);

  auto twice = A;
  for (auto& v : twice.values()) v *= 2;
  auto const old = M;
  M.update(twice);
  CHECK(double(sla::norm_inf(2.0 * (M * r) - z)) < 1e-15);
  CHECK(double(sla::norm_inf(old * r - z)) == 0);
  M.update(sla::problems::poisson({6, 6}));
  M.update(sla::problems::poisson({4, 4}));
  sla::vector<double> const few = M * sla::ones<double>(16);
  CHECK(few.size() == 16);

  auto zero = A;
  for (auto& v : zero.values()) v = 0;
  auto const before = sla::vector<double>(M * sla::ones<double>(16));
  CHECK_THROWS_AS(M.update(zero), sla::value_error);
  CHECK(double(sla::norm_inf(M * sla::ones<double>(16) - before)) == 0);  // a failure leaves what was
}

TEST_CASE("a broken incomplete Cholesky factorisation is named, or shifted") {
  // Kershaw (1978): positive definite, and the fourth pivot is negative
  auto const A = sla::from_triplets<double>(4, 4, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}, {0, 1, 3, 0, 1, 2, 1, 2, 3, 0, 2, 3},
                                            {3.0, -2.0, 2.0, -2.0, 3.0, -2.0, -2.0, 3.0, -2.0, 2.0, -2.0, 3.0});
  CHECK_THROWS_WITH(sla::ic0{}.setup(A), ContainsSubstring("ic0: the pivot of row 3 is not positive") && ContainsSubstring(".shift"));
  auto const M = sla::ic0{.shift = 0.01}.setup(A);
  CHECK(M.remark() == ", shift 0.16");
  CHECK(sla::ic0{.shift = 0.01}.setup(sla::problems::poisson({3, 3})).remark() == "");
  // the factors are those of the shifted matrix
  auto shifted = A;
  for (index_t d : sla::diagonal_positions(A.pattern())) shifted.values()[d] *= 1.16;
  auto const r = sla::random<double>(4, 1);
  CHECK(double(sla::norm_inf(M * r - sla::ic0{}.setup(shifted) * r)) < 1e-15);

  auto both = sla::stack_batch(sla::problems::poisson({4, 4}), sla::problems::poisson({4, 4}));
  both.values()[both.batch_stride()] = -1;
  CHECK_THROWS_WITH(sla::ic0{}.setup(both), ContainsSubstring("row 0 of batch item 1"));
  CHECK_THROWS_WITH(sla::ic0{.shift = 1}.setup(both), ContainsSubstring("even with a shift") && ContainsSubstring("not positive definite"));
}

TEST_CASE("bad input is named") {
  auto const A = sla::problems::poisson({4, 4});
  CHECK_THROWS_WITH(sla::ic0{.shift = -1}.setup(A), ContainsSubstring("ic0{.shift = -1}"));
  for (double omega : {0.0, 2.0, -1.0}) CHECK_THROWS_WITH(sla::ssor{.omega = omega}.setup(A), ContainsSubstring("less than 2"));
  CHECK_THROWS_WITH(sla::block_jacobi{.size = 3}.setup(A), ContainsSubstring("block_jacobi{.size = 3}") && ContainsSubstring("16 rows"));
  CHECK_THROWS_AS(sla::block_jacobi{.size = 0}.setup(A), sla::shape_error);

  auto broken = A;
  broken.values()[1] = 7;
  CHECK_THROWS_WITH(sla::ic0{}.setup(broken), ContainsSubstring("ic0: A is not symmetric: entry (0, 1) is 7, and entry (1, 0) is -1"));
  auto turned = hermitian();
  turned.values()[1] *= complex_t(0, 1);
  CHECK_THROWS_WITH(sla::ic0{}.setup(turned), ContainsSubstring("not Hermitian: entry (0, 1)"));
  auto K = blocks();
  K.values()[K.batch_stride() + 1] = 7;
  CHECK_THROWS_WITH(sla::ic0{}.setup(K), ContainsSubstring("entry (0, 1) is 7") && ContainsSubstring("batch item 1"));

  auto zero = A;
  zero.values()[sla::diagonal_positions(A.pattern())[6]] = 0;
  CHECK_THROWS_WITH(sla::ssor{}.setup(zero), ContainsSubstring("ssor: the diagonal entry of row 6 is zero"));
  CHECK_THROWS_WITH(sla::block_jacobi{}.setup(zero), ContainsSubstring("block_jacobi: the diagonal block of row 6 is singular"));
  CHECK_THROWS_WITH(sla::ic0{}.setup(zero), ContainsSubstring("row 6"));

  auto const bare = sla::from_triplets<double>(4, 4, {0, 1, 2, 3, 2}, {0, 1, 3, 3, 0}, {1.0, 1.0, 1.0, 1.0, 1.0});
  CHECK_THROWS_WITH(sla::ic0{}.setup(bare), ContainsSubstring("ic0: row 2 has no diagonal entry"));
  CHECK_THROWS_WITH(sla::ssor{}.setup(bare), ContainsSubstring("ssor: row 2 has no diagonal entry"));
  CHECK_THROWS_WITH(sla::block_jacobi{.size = 2}.setup(sla::from_triplets<double>(4, 4, {0, 1, 2, 3}, {0, 1, 3, 3}, {1.0, 1.0, 1.0, 1.0})),
                    ContainsSubstring("2 rows from row 2"));
  auto const tall = sla::from_triplets<double>(3, 2, {0, 1}, {0, 1}, {1.0, 1.0});
  CHECK_THROWS_WITH(sla::ssor{}.setup(tall), ContainsSubstring("3 x 2, and must be square"));
  CHECK_THROWS_WITH(sla::block_jacobi{}.setup(tall), ContainsSubstring("must be square"));
  CHECK_THROWS_AS(sla::ssor{}.setup(A) * sla::ones<double>(15), sla::shape_error);
}
