// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every multigrid keeps: a true residual within the tolerance, a contraction in the norm of A, the same bits on any number of threads.
#pragma once

#include "catch.hpp"

#include <algorithm>
#include <cstdint>

#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "suites/messages.hpp"

namespace suite {

/// The iterations that a random b takes to the tolerance of the method; `how` is in the name of the preconditioner.
template <class A, class Method, class P = sla::amg>
int iterations(A const& a, Method const& method, P const& options = {}, char const* how = "") {
  constexpr sla::index_t D = A::shape_type::block_rows;
  auto const b = [&] {
    if constexpr (D > 1)
      return sla::random<typename A::value_type, sla::Extents<sla::dyn, D>>({a.rows(), D}, 1);
    else
      return sla::random<typename A::value_type>(a.rows(), 1);
  }();
  auto const [x, report] = sla::try_solve(a, b, method, options);
  INFO(report);
  CHECK(report.converged());
  CHECK(tells(report.preconditioner, how));
  CHECK(sla::norm(b - a * x) <= 1.01 * method.rtol * sla::norm(b));
  return report.iterations();
}

/// 0 < <A x, M A x> <= <A x, x>: I - M A contracts every error.
template <class Precond>
void contracts(Precond const& M, sla::sparse_tensor<double> const& A) {
  for (int seed : {1, 2, 3}) {
    auto const x = sla::random<double>(A.rows(), std::uint64_t(seed));
    sla::vector<double> const Ax = A * x, MAx = M * Ax;
    double const energy = sla::dot(x, Ax), left = sla::dot(Ax, MAx);
    CHECK(left > 0);
    CHECK(left <= energy * (1 + 1e-12));
  }
}

/// Set up and applied by one thread, by two and by three.
inline void same_bits_on_threads(sla::sparse_tensor<double> const& A) {
  auto const b = sla::random<double>(A.rows(), 1);
  auto const apply = [&](int threads) {
    sla::set_threads(threads);
    sla::vector<double> z = sla::amg{}.setup(A) * b;
    sla::set_threads(0);
    return z;
  };
  auto const one = apply(1);
  for (int threads : {2, 3}) {
    auto const z = apply(threads);
    CHECK(std::equal(one.begin(), one.end(), z.begin()));
  }
}

} // namespace suite
