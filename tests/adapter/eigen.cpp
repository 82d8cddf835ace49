// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigen's matrices and ours: shared memory where nothing is copied, equal numbers where it is.
#include "catch.hpp"
#include "tensor/oracle.hpp"

#include <complex>

#include <sla/adapter/eigen.hpp>
#include <sla/exec/evaluate.hpp>

using namespace sla;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("our matrices are Eigen's, not copied") {
  random_triplets const t(12, 9, 40, 1);
  auto const A = t.build();
  auto const E = as_eigen(A);
  CHECK(E.valuePtr() == A.values().data());
  CHECK(E.innerIndexPtr() == A.pattern().col.data());
  Eigen::MatrixXd const dense = E;
  auto const ours = to_dense(A);
  for (index_t i = 0; i < 12; ++i)
    for (index_t j = 0; j < 9; ++j) CHECK(dense(i, j) == ours(i, j));

  auto const x = random<double>(9, 3);
  vector<double> y(12);
  as_eigen(y) = E * as_eigen(x);
  for (index_t i = 0; i < 12; ++i) {
    double sum = 0;
    for (index_t j = 0; j < 9; ++j) sum += ours(i, j) * x[j];
    CHECK(y[i] == Approx(sum));
  }
  matrix<double> X({9, 2});
  as_eigen(X).col(1).setConstant(3);
  CHECK(X(4, 1) == 3);
  CHECK(as_eigen(std::as_const(X)).col(1).sum() == 27);
}

TEST_CASE("Eigen's matrices are ours, not copied") {
  Eigen::SparseMatrix<std::complex<double>, Eigen::RowMajor, std::int64_t> E(3, 4);
  E.insert(0, 3) = {1, 2};
  E.insert(2, 0) = 5;
  CHECK_THROWS_WITH(borrow_eigen(E), ContainsSubstring("makeCompressed()"));
  E.makeCompressed();
  auto A = borrow_eigen(E);
  static_assert(std::same_as<decltype(A), sparse_tensor<std::complex<double>, Matrix, Csr<std::int64_t>>>);
  CHECK(std::as_const(A).values().data() == E.valuePtr());
  CHECK(to_dense(A)(0, 3) == std::complex<double>(1, 2));
  A.values()[1] = 7;
  CHECK(E.coeff(2, 0) == 7.0);

  auto const& fixed = E;
  auto B = borrow_eigen(fixed);
  CHECK_THROWS_AS(B.values().data(), value_error);
  auto map = as_eigen(A);
  auto const again = borrow_eigen(map);
  CHECK(again.values().data() == E.valuePtr());
}

TEST_CASE("column-major matrices are borrowed as their transpose") {
  random_triplets const t(7, 11, 30, 2);
  auto const A = t.build();
  Eigen::SparseMatrix<double> E = as_eigen(A);
  auto At = borrow_eigen_transpose(E);
  static_assert(std::same_as<decltype(At), sparse_tensor<double>>);
  CHECK(std::as_const(At).values().data() == E.valuePtr());
  CHECK(equals(At, turned(t.dense(), 7, 11)));
  auto const x = random<double>(11, 1);
  vector<double> const y = transpose(At) * x;
  CHECK((as_eigen(y) - E * as_eigen(x)).norm() <= 1e-13);
  At.values()[0] = 42;
  CHECK(E.valuePtr()[0] == 42);
  auto const& fixed = E;
  auto B = borrow_eigen_transpose(fixed);
  CHECK_THROWS_AS(B.values().data(), value_error);
  Eigen::SparseMatrix<double> loose(3, 4);
  loose.insert(0, 3) = 1;
  CHECK_THROWS_WITH(borrow_eigen_transpose(loose), ContainsSubstring("borrow_eigen_transpose: the matrix is not compressed: call makeCompressed()"));
}

TEST_CASE("copies of either order, compressed or not") {
  random_triplets const t(7, 11, 30, 2);
  auto const A = t.build<float>();
  Eigen::SparseMatrix<float> const by_columns = as_eigen(A);
  CHECK(equals(from_eigen(by_columns), t.dense()));
  CHECK(has_sorted_columns(from_eigen(by_columns).pattern()));
  Eigen::SparseMatrix<float, Eigen::RowMajor> loose = as_eigen(A);
  loose.coeffRef(6, 10) += 1;
  auto expected = t.dense();
  expected.back() += 1;
  CHECK(equals(from_eigen(loose), expected));
  CHECK(equals(from_eigen(by_columns.transpose()), turned(t.dense(), 7, 11)));

  Eigen::MatrixXd M(2, 3);
  M << 1, 2, 3, 4, 5, 6;
  auto const ours = from_eigen(M);
  CHECK(std::vector<double>(ours.begin(), ours.end()) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(from_eigen(Eigen::VectorXf::LinSpaced(3, 0, 2))[2] == 2);
}
