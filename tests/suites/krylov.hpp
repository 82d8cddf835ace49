// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every method with every preconditioner keeps: the dense solution on the host and on any space, the same bits whatever
// the lag of the flag, a true residual within the tolerance.
#pragma once

#include "catch.hpp"

#include <complex>

#include <sla/exec/deferred.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "dense.hpp"

namespace suite {
using sla::dyn, sla::index_t;

/// A x = b, for each batch item and right-hand side.
template <class T, class S, class F, class E>
std::vector<T> dense_solution(sla::sparse_tensor<T, S, F> const& A, sla::tensor<T, E> const& b) {
  return oracle::solution(oracle::dense(A), std::vector<T>(b.begin(), b.end()), A.rows() * S::block_rows);
}

template <class A, class B, class X>
void is_dense_solution(A const& a, B const& b, X const& x, double accuracy = 1e-11) {
  auto const dense = dense_solution(a, b);
  CHECK(oracle::distance(std::vector(x.begin(), x.end()), dense) <= accuracy);
}

/// The same result on the host and on a queue, bit for bit, whatever the lag; the dense solution within `accuracy`.
template <class A, class B, class Method, class P>
void same_everywhere(A const& a, B const& b, Method const& method, P const& p, double accuracy) {
  auto const [x, report] = sla::try_solve(a, b, method, p);
  INFO(report);
  REQUIRE(report.converged());
  CHECK(report.residual() <= method.rtol);
  CHECK(report.iterations() > 0);
  CHECK(report.runs >= 1);
  auto const dense = dense_solution(a, b);
  double largest = 0;
  for (auto const& value : dense) largest = (std::max)(largest, double(std::abs(value)));
  CHECK(oracle::distance(std::vector(x.begin(), x.end()), dense) <= accuracy * largest);

  for (int lag : {0, 4, 32}) {
    auto const [y, queued] = sla::try_solve(a, b, method, p, sla::on([lag](sla::frame f) { return sla::deferred(f, lag); }));
    INFO("lag " << lag << ": " << queued);
    CHECK(std::equal(x.begin(), x.end(), y.begin()));
    CHECK(queued.iterations() == report.iterations());
    CHECK(queued.residual() == report.residual());
  }
}

/// Is the method for Hermitian matrices of any sign?
template <class Method>
inline constexpr bool needs_hermitian = requires { Method::needs_hermitian; };

/// A + shift, for square matrices, blocks and batches.
template <class A>
A shifted(A a, double shift) {
  constexpr index_t P = A::shape_type::block_rows;
  auto const diagonal = sla::diagonal_positions(a.pattern());
  for (index_t b = 0; b < a.batch_count(); ++b)
    for (index_t n = 0; n < a.rows() * P; ++n) a.values()[b * a.batch_stride() + (diagonal[n / P] * P + n % P) * P + n % P] += shift;
  return a;
}

/// A problem that a method can solve: symmetric positive definite where it needs that, symmetric and indefinite where it can
/// do with it (the diagonal is positive, so that Jacobi is a definite preconditioner), else convection and diffusion.
template <class Method>
auto problem(index_t n) {
  if constexpr (Method::needs_definite)
    return sla::problems::checkerboard({n, n}, 10.0, 2);
  else if constexpr (needs_hermitian<Method>)
    return shifted(sla::problems::checkerboard({n, n}, 10.0, 2), -0.5);
  else
    return sla::problems::convection_diffusion({n, n}, 3.0);
}

/// Two different items on one pattern.
template <class Method>
auto batched_problem(index_t n) {
  auto A = problem<Method>(n), C = A;
  auto const diagonal = sla::diagonal_positions(C.pattern());
  for (index_t i = 0; i < C.rows(); ++i) C.values()[diagonal[i]] *= 1.5;
  return sla::stack_batch(A, C);
}

/// Complex values: Hermitian where the method needs that.
template <class Method>
auto complex_problem(index_t n) {
  using T = std::complex<double>;
  auto A = sla::cast<T>(problem<Method>(n));
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) {
      if (i != j) A.values()[s] *= Method::needs_definite || needs_hermitian<Method> ? std::polar(1.0, 0.3 * double(j - i)) : T(1, 0.2);
    });
  return A;
}
/// A preconditioner that is applied as a whole: definite where the method needs that.
template <class Method, class A>
auto sweeps(A const& a) {
  if constexpr (needs_hermitian<Method>)
    return sla::ilu0{}.setup(shifted(a, 0.5));
  else
    return sla::ilu0{};
}

template <class Method>
void plain(Method const& method) {
  auto const A = problem<Method>(11);
  auto const b = sla::random<double>(A.rows(), 1);
  same_everywhere(A, b, method, sla::jacobi{}, 1e-7);
  same_everywhere(A, b, method, sweeps<Method>(A), 1e-7);
}
template <class Method>
void without_preconditioner(Method const& method) {
  auto const A = problem<Method>(9);
  same_everywhere(A, sla::random<double>(A.rows(), 2), method, sla::identity{}, 1e-7);
}
template <class Method>
void batches_with_right_hand_sides(Method const& method) {
  auto const A = batched_problem<Method>(8);
  auto const b = sla::random<double, sla::Extents<2, dyn, dyn>>({2, A.rows(), 3}, 3);
  same_everywhere(A, b, method, sla::jacobi{}, 1e-7);
}
template <class Method>
void blocks_with_right_hand_sides(Method const& method) {
  auto const A = sla::to_blocks<2, 2>(problem<Method>(8));
  auto const b = sla::random<double, sla::Extents<dyn, 2, dyn>>({A.rows(), 2, 2}, 4);
  same_everywhere(A, b, method, sweeps<Method>(A), 1e-7);
}
template <class Method>
void complex_numbers(Method const& method) {
  auto const A = complex_problem<Method>(7);
  same_everywhere(A, sla::random<std::complex<double>>(A.rows(), 5), method, sweeps<Method>(A), 1e-7);
}
/// Complex numbers in blocks, in a batch, with right-hand sides: A and b.
template <class Method>
auto everything_at_once() {
  auto const C = sla::to_blocks<2, 2>(complex_problem<Method>(6));
  auto A = sla::stack_batch(C, shifted(C, 0.4));
  auto b = sla::random<std::complex<double>, sla::Extents<2, dyn, 2, dyn>>({2, A.rows(), 2, 2}, 7);
  return std::pair(std::move(A), std::move(b));
}

/// Items have their own stops: each gets the bits that it gets alone.
template <class Method>
void items_are_independent(Method const& method) {
  auto const A = problem<Method>(10);
  sla::matrix<double> b({A.rows(), 2});
  auto const easy = sla::full<double>(A.rows(), 1e-3), hard = sla::random<double>(A.rows(), 6);
  for (index_t i = 0; i < A.rows(); ++i) b(i, 0) = easy[i], b(i, 1) = hard[i];
  auto const [x, report] = sla::try_solve(A, b, method, sla::jacobi{});
  REQUIRE(report.converged());
  int k = 0;
  for (auto const* one : {&easy, &hard}) {
    sla::matrix<double> column({A.rows(), 1});
    for (index_t i = 0; i < A.rows(); ++i) column(i, 0) = (*one)[i];
    auto const [y, alone] = sla::try_solve(A, column, method, sla::jacobi{});
    CHECK(alone.iterations() == report.items[std::size_t(k)].iterations);
    double worst = 0;
    for (index_t i = 0; i < A.rows(); ++i) worst = (std::max)(worst, std::abs(x(i, k) - y(i, 0)) / (std::abs(y(i, 0)) + 1e-300));
    CHECK(worst < 1e-9);
    ++k;
  }
}
}  // namespace suite
