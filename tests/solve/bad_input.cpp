// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad input: one clear error that names the value, the place and the remedy.
#include "catch.hpp"

#include <limits>
#include <vector>

#include <sla/solve/linear/choose.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/fgmres.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/composed/inner.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor/problems/problems.hpp>

using Catch::Matchers::ContainsSubstring;
using sla::dyn;

namespace {
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
sla::sparse_tensor<double> const A = sla::problems::poisson({4, 4});

/// A without its entry (row, row).
sla::sparse_tensor<double> without_diagonal(sla::index_t row) {
  std::vector<int> rows, cols;
  std::vector<double> values;
  for (int i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](sla::index_t s, sla::index_t j) {
      if (i == row && j == row) return;
      rows.push_back(i), cols.push_back(int(j)), values.push_back(A.values()[s]);
    });
  return sla::from_triplets<double>(A.rows(), A.cols(), rows, cols, values);
}
}  // namespace

TEST_CASE("NaN and infinity are named with their place, in A and in b") {
  auto B = A;
  B.values()[A.nnz() - 1] = not_a_number;
  CHECK_THROWS_WITH(sla::solve(B, sla::ones<double>(16), sla::cg{}), ContainsSubstring("A(15, 15) is nan"));
  auto b = sla::ones<double>(16);
  b[5] = infinity;
  CHECK_THROWS_WITH(sla::solve(A, b, sla::cg{}), ContainsSubstring("b(5) is inf"));
  CHECK_THROWS_AS(sla::try_solve(A, b, sla::cg{}), sla::value_error);
  CHECK_THROWS_WITH(sla::try_solve(A, sla::ones<double>(16), sla::cg{}, sla::initial_guess(b)), ContainsSubstring("x0(5) is inf"));
  CHECK_THROWS_WITH(sla::prepare(B, sla::cg{}), ContainsSubstring("A(15, 15) is nan"));
  sla::matrix<double> many({16, 3});
  many(7, 2) = not_a_number;
  CHECK_THROWS_WITH(sla::solve(A, many, sla::cg{}), ContainsSubstring("b(7, 2) is nan"));

  auto C = sla::to_batch<2>(A);
  C.values()[C.batch_stride()] = not_a_number;
  CHECK_THROWS_WITH(sla::prepare(C, sla::cg{}), ContainsSubstring("A(0, 0), of batch item 1 is nan"));
  auto K = sla::to_blocks<2, 2>(A);
  K.values()[6] = not_a_number;
  CHECK_THROWS_WITH(sla::prepare(K, sla::cg{}), ContainsSubstring("in block entry 2"));
}

TEST_CASE("tolerances and limits that make no sense are refused, by every method before it is set up") {
  auto const b = sla::ones<double>(16);
  CHECK_THROWS_WITH(sla::solve(A, b, sla::cg{.rtol = -1}), ContainsSubstring("cg{.rtol = -1}"));
  CHECK_THROWS_WITH(sla::solve(A, b, sla::cg{1}), "cg{.rtol = 1}: a relative tolerance is at least 0 and less than 1, as in cg{.rtol = 1e-8}; the number of "
                                                  "iterations is .max_iterations");
  CHECK_THROWS_WITH(sla::try_solve(A, b, sla::cg{.atol = not_a_number}), ContainsSubstring("cg{.atol = nan}: a tolerance of |b - A x| is a number from 0 on"));
  CHECK_THROWS_WITH(sla::try_solve(A, b, sla::bicgstab{.atol = infinity}), ContainsSubstring("bicgstab{.atol = inf}"));
  CHECK_THROWS_WITH(sla::try_solve(A, b, sla::minres{.max_iterations = -3}), ContainsSubstring("minres{.max_iterations = -3}: a limit is a number from 0 on"));
  CHECK_THROWS_WITH(sla::try_solve(A, b, sla::gmres{.restart = 0}), ContainsSubstring("gmres{.restart = 0}: from 1 to 32"));
  CHECK_THROWS_WITH(sla::try_solve(A, b, sla::automatic{.rtol = 2}), ContainsSubstring("automatic{.rtol = 2}"));
  CHECK_THROWS_WITH(sla::with({.max_iterations = -1}, [&] { return sla::solve(A, b); }), ContainsSubstring("{.max_iterations = -1}"));
  CHECK_THROWS_WITH(sla::solve(A, b, sla::lu<>{{.rtol = not_a_number}}), ContainsSubstring("lu{.rtol = nan}"));
  CHECK_THROWS_WITH(sla::prepare(without_diagonal(9), sla::cg{.rtol = 2}, sla::ilu0{}), ContainsSubstring("cg{.rtol = 2}"));
  CHECK_THROWS_WITH(sla::solve(A, b, sla::fgmres{}, sla::inner(sla::gmres{.rtol = 1})), ContainsSubstring("gmres{.rtol = 1}"));
  auto const [x, report] = sla::try_solve(A, b, sla::cg{.rtol = 0, .max_iterations = 0});  // these make sense: how large is |b|?
  CHECK((report.reason() == sla::reason::iteration_limit && report.residual() == 1));
}

TEST_CASE("a right-hand side whose squared norm leaves the range of double is named, never converged") {
  for (double size : {1e-160, 1e-170, 1e160}) {
    auto const [x, report] = sla::try_solve(A, size * sla::ones<double>(16), sla::cg{});
    CHECK(report.reason() == sla::reason::badly_scaled);
    CHECK_THAT(sla::text(report), ContainsSubstring("scale b"));
  }
  for (double size : {1e-130, 1e130}) {
    sla::vector<double> const b = size * sla::ones<double>(16);
    auto const [x, report] = sla::try_solve(A, b, sla::cg{});
    CHECK(report.converged());
    CHECK(sla::eval(sla::norm_inf(b - A * x)) <= 1e-7 * size);
  }
  CHECK(sla::try_solve(A, sla::zeros<double>(16), sla::cg{}).report.converged());  // b = 0 is not badly scaled
}

TEST_CASE("shapes that do not fit are named") {
  CHECK_THROWS_WITH(sla::solve(A, sla::ones<double>(15), sla::cg{}),
                    ContainsSubstring("A is 16 x 16, b is 15") && ContainsSubstring("should be 16"));
  auto const tall = sla::from_triplets<double>(3, 2, std::vector{0, 1, 2}, std::vector{0, 1, 1}, std::vector{1.0, 1.0, 1.0});
  CHECK_THROWS_WITH(sla::solve(tall, sla::ones<double>(3), sla::cg{}),
                    ContainsSubstring("A is 3 x 2") && ContainsSubstring("must be square"));
  CHECK_THROWS_AS(sla::prepare(tall, sla::cg{}), sla::shape_error);
  auto s = sla::prepare(A, sla::cg{});
  CHECK_THROWS_WITH(s.update(sla::problems::poisson({2, 8})), ContainsSubstring("another shape or pattern"));
}

TEST_CASE("a zero or missing diagonal is named by jacobi and ilu0") {
  auto const b = sla::ones<double>(16);
  auto zero = A;
  zero.values()[sla::diagonal_positions(A.pattern())[6]] = 0;
  CHECK_THROWS_WITH(sla::solve(zero, b, sla::cg{}, sla::jacobi{}), ContainsSubstring("jacobi: the diagonal entry of row 6") && ContainsSubstring("ilu0"));
  CHECK_THROWS_WITH(sla::solve(without_diagonal(9), b, sla::cg{}, sla::jacobi{}), ContainsSubstring("row 9"));
  CHECK_THROWS_WITH(sla::solve(without_diagonal(9), b, sla::cg{}, sla::ilu0{}), ContainsSubstring("ilu0: row 9 has no diagonal entry"));
  zero = A;
  zero.values()[0] = 0;
  CHECK_THROWS_WITH(sla::solve(zero, b, sla::cg{}, sla::ilu0{}), ContainsSubstring("ilu0: zero pivot in row 0"));

  auto C = sla::to_batch<2>(A);
  C.values()[C.batch_stride() + sla::diagonal_positions(A.pattern())[3]] = 0;
  CHECK_THROWS_WITH(sla::prepare(C, sla::cg{}, sla::jacobi{}), ContainsSubstring("row 3, of batch item 1"));
}
