// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Jacobi and ILU(0) against dense algebra: as operators, with their adjoints, in batches, blocks and several right-hand sides.
#include "catch.hpp"

#include <cmath>
#include <complex>
#include <ctime>

#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/product.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor/algebra/kron.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "suites/chain.hpp"
#include "suites/dense.hpp"

using suite::chain;
using sla::dyn, sla::index_t;
using complex_t = std::complex<double>;

namespace {
template <class A, class B>
double difference(A const& a, B const& b) {
  return sla::norm_inf(a - b);
}
/// <M x, y> = <x, M^H y>.
template <class M, class V>
void adjoint_fits(M const& m, V const& x, V const& y) {
  auto const h = m.adjoint();
  V const mx = m * x, hy = h * y;
  auto const left = sla::eval(sla::dot(mx, y)), right = sla::eval(sla::dot(x, hy));
  CHECK(std::abs(left - right) <= 1e-12 * std::abs(left));
}
}  // namespace

TEST_CASE("ilu0 is the exact inverse where the factors have no fill") {
  auto const A = chain<double>(30);
  auto const x = sla::random<double>(30, 1);
  sla::vector<double> const b = A * x;
  auto const M = sla::ilu0{}.setup(A);
  CHECK(difference(sla::vector<double>(M * b), x) < 1e-12);
  sla::vector<double> const bt = sla::adjoint(A) * x;
  CHECK(difference(sla::vector<double>(M.adjoint() * bt), x) < 1e-12);

  auto const Z = chain<complex_t>(20);
  auto const z = sla::random<complex_t, sla::Extents<dyn, dyn>>({20, 3}, 2);
  sla::matrix<complex_t> const c = Z * z, ct = sla::adjoint(Z) * z;
  auto const N = sla::ilu0{}.setup(Z);
  CHECK(difference(sla::matrix<complex_t>(N * c), z) < 1e-12);
  CHECK(difference(sla::matrix<complex_t>(N.adjoint() * ct), z) < 1e-12);
}

TEST_CASE("ilu0 of blocks and batches, its formats and its update") {
  auto const A = sla::to_blocks<2, 2>(chain<double>(24));  // block tridiagonal: no fill
  auto C = sla::stack_batch(A, A);
  for (index_t n = C.batch_stride(); n < C.values().size(); ++n) C.values()[n] *= 3;
  auto const x = sla::random<double, sla::Extents<2, dyn, 2, dyn>>({2, 12, 2, 3}, 3);
  using V = std::remove_const_t<decltype(x)>;
  V const b = C * x;
  auto M = sla::ilu0{}.setup(C);
  CHECK(difference(V(M * b), x) < 1e-12);
  adjoint_fits(M, x, sla::random<double, sla::Extents<2, dyn, 2, dyn>>({2, 12, 2, 3}, 4));
  auto twice = C;
  for (auto& value : twice.values()) value *= 2;
  M.update(twice);
  CHECK(difference(V(2.0 * (M * b)), x) < 1e-12);

  auto const D = sla::to<sla::Dia>(chain<double>(30));
  auto const y = sla::random<double>(30, 5);
  CHECK(difference(sla::vector<double>(sla::ilu0{}.setup(D) * sla::vector<double>(D * y)), y) < 1e-12);
}

TEST_CASE("ilu0 with fill dropped agrees with A on its pattern") {
  auto const A = sla::problems::poisson({6, 6});
  auto const M = sla::ilu0{}.setup(A);
  // A e_j = L U e_j on the pattern: (L U)^-1 applied to the columns gives the dense inverse of L U
  index_t const n = A.rows();
  sla::matrix<double> unit({n, n});
  for (index_t i = 0; i < n; ++i) unit(i, i) = 1;
  sla::matrix<double> const inverse = M * unit;
  sla::matrix<double> product = inverse;  // A M - 1 is small, not zero
  product = A * inverse;
  CHECK(difference(product, unit) < 0.5);
  CHECK(difference(product, unit) > 1e-3);
  adjoint_fits(M, sla::random<double>(n, 6), sla::random<double>(n, 7));
}

TEST_CASE("ilu0 of a matrix with a row for all unknowns is the algorithm on dense arrays, and takes no work of their square") {
  auto const hub = [](index_t n) {  // row and column 0, and two chains
    sla::triplets<double> t(n, n);
    auto const value = [](index_t i, index_t j) { return std::cos(double(3 * i + 7 * j)); };
    for (index_t i = 0; i < n; ++i) t.add(i, i, i == 0 ? double(n) : 6.0);
    for (index_t i = 1; i < n; ++i) t.add(i, 0, value(i, 0)), t.add(0, i, value(0, i));
    for (index_t i = 2; i < n; ++i) t.add(i, i - 1, value(i, i - 1)), t.add(i - 1, i, value(i - 1, i));
    return t.build();
  };
  index_t const n = 150;
  auto const A = hub(n);
  auto const stored = [&](index_t i, index_t j) { return sla::find_slot(A.pattern().view(), i, j) >= 0; };
  sla::matrix<double> LU({n, n});
  for (index_t i = 0; i < n; ++i) A.pattern().view().for_row(i, [&](index_t s, index_t j) { LU(i, j) = A.values()[s]; });
  for (index_t i = 0; i < n; ++i)
    for (index_t k = 0; k < i; ++k) {
      if (!stored(i, k)) continue;
      LU(i, k) /= LU(k, k);
      for (index_t j = k + 1; j < n; ++j)
        if (stored(i, j)) LU(i, j) -= LU(i, k) * LU(k, j);
    }
  auto const x = sla::random<double>(n, 3);
  sla::vector<double> expected = x;
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < i; ++j) expected[i] -= LU(i, j) * expected[j];
  for (index_t i = n; i-- > 0; expected[i] /= LU(i, i))
    for (index_t j = i + 1; j < n; ++j) expected[i] -= LU(i, j) * expected[j];
  CHECK(difference(sla::vector<double>(sla::ilu0{}.setup(A) * x), expected) <= 1e-13 * sla::norm_inf(expected));

  // Blocks, complex numbers, a batch, and new values: each acts as the scalar one on what it is made of.
  sla::vector<double> const plain = sla::ilu0{}.setup(A) * x;
  double const close = 1e-13 * sla::norm_inf(plain);
  auto const blocks = sla::to_blocks<2, 2>(sla::kron(A, sla::eye<double>(2)));
  sla::tensor<double, sla::Extents<dyn, 2>> pairs({n, 2});
  for (index_t k = 0; k < n; ++k) pairs(k, 0) = x[k], pairs(k, 1) = -2 * x[k];
  sla::tensor<double, sla::Extents<dyn, 2>> const of_pairs = sla::ilu0{}.setup(blocks) * pairs;
  for (index_t k = 0; k < n; ++k) CHECK((std::abs(of_pairs(k, 0) - plain[k]) <= close && std::abs(of_pairs(k, 1) + 2 * plain[k]) <= 2 * close));
  sla::vector<complex_t> const turned = sla::ilu0{}.setup(sla::cast<complex_t>(A)) * sla::vector<complex_t>(complex_t(0, 1) * x);
  for (index_t k = 0; k < n; ++k) CHECK(std::abs(turned[k] - complex_t(0, plain[k])) <= close);
  auto M = sla::ilu0{}.setup(A);
  M.update(2.0 * A);
  CHECK(difference(sla::vector<double>(2.0 * (M * x)), plain) <= close);
  auto const stacked = sla::ilu0{}.setup(sla::stack_batch(A, sla::sparse_tensor<double>(2.0 * A)));
  sla::tensor<double, sla::Extents<2, dyn>> both({2, n});
  for (index_t k = 0; k < n; ++k) both(0, k) = x[k], both(1, k) = 2 * x[k];
  sla::tensor<double, sla::Extents<2, dyn>> const of_both = stacked * both;
  for (index_t k = 0; k < n; ++k) CHECK((std::abs(of_both(0, k) - plain[k]) <= close && std::abs(of_both(1, k) - plain[k]) <= close));

  // The square of these rows takes half a minute and more.
  auto const large = hub(200000);
  auto const began = std::clock();
  auto const factors = sla::ilu0{}.setup(large);
  CHECK(double(std::clock() - began) / CLOCKS_PER_SEC < 10);
}

TEST_CASE("jacobi is the inverse diagonal, pointwise, in plain expressions too") {
  auto const A = sla::problems::checkerboard({5, 5}, 10.0, 2);
  auto const d = sla::diagonal_of(A);
  auto const M = sla::jacobi{}.setup(A);
  auto const r = sla::random<double>(25, 8);
  sla::vector<double> const z = M * r, mixed = 2.0 * (M * r) - A * r;
  for (index_t i = 0; i < 25; ++i) CHECK(z[i] == Approx(r[i] / d[i]));
  CHECK(difference(mixed, sla::vector<double>(2.0 * z - A * r)) == 0);
  CHECK(sla::passes(sla::set(const_cast<sla::vector<double>&>(z), M * r), sla::dot_of(r, z)) == 1);
}

TEST_CASE("jacobi of blocks and batches is spread over right-hand sides") {
  auto C = sla::to_blocks<2, 2>(sla::to_batch<3>(sla::problems::poisson({4, 4})));
  for (index_t n = 0; n < C.values().size(); ++n) C.values()[n] *= 1.0 + 0.01 * double(n % 7);
  auto const d = sla::diagonal_of(C);
  auto const M = sla::jacobi{}.setup(C);
  auto const r = sla::random<double, sla::Extents<3, dyn, 2, dyn>>({3, 8, 2, 4}, 9);
  std::remove_const_t<decltype(r)> const z = M * r, with_product = C * r + M * r, product = C * r;
  bool equal = true;
  for (index_t n = 0; n < r.size(); ++n) equal = equal && z[n] == r[n] * (1 / d[n / 4]);
  CHECK(equal);
  CHECK(difference(with_product, product + z) == 0);
  std::remove_const_t<decltype(d)> const one = M * d;
  CHECK(difference(one, sla::full<double, std::remove_cvref_t<decltype(d.extents())>>(d.extents(), 1.0)) < 1e-15);
  auto const Z = chain<complex_t>(9);
  adjoint_fits(sla::jacobi{}.setup(Z), sla::random<complex_t>(9, 1), sla::random<complex_t>(9, 2));
}
