// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The backend suite: what a `fuse` computes on a space, compared with the serial oracle. A new backend runs it unchanged.
#pragma once

#include <sla/exec/evaluate.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/dense.hpp"

namespace suites {
using namespace sla;

struct divide {
  template <class N, class D>
  SLA_HD auto operator()(N num, D den) const {
    return op::div::apply(num, den);
  }
};

/// The numbers of a scalar of a space, after everything has run.
template <class Space, class S>
auto numbers(Space& space, S const& s) {
  space.finish();
  return space.read(s);
}

/// Products, updates and reductions on one operator. `make(frame)` makes the space under test; it may be moved only.
template <class Make, class A, class X>
void compare_with_serial(Make const& make, A const& a, X const& x0, frame f, double bound) {
  host_space<true, serial> oracle_space(f);
  auto space = make(f);
  auto run = [&](auto& s) {
    auto p = x0, q = x0, r = x0;
    auto [pq, pp] = fuse(s, set(q, a * p), dot_of(p, q), squared_norm_of(p));
    auto alpha = s.map(divide{}, pq, pp);
    auto [rr, r1, sup] = fuse(s, set(r, r - alpha * q), set(p, r + 0.5 * p), set(r, a * p), squared_norm_of(r), norm_of(r), norm_inf_of(r));
    auto a0 = numbers(s, alpha);
    auto a1 = numbers(s, rr), a2 = numbers(s, r1), a3 = numbers(s, sup);
    return std::tuple{p, r, a0, a1, a2, a3};
  };
  auto const expected = run(oracle_space);
  auto const computed = run(*space);
  CHECK(oracle::distance(std::get<0>(expected), std::get<0>(computed)) <= bound);
  CHECK(oracle::distance(std::get<1>(expected), std::get<1>(computed)) <= bound * 10);
  for (std::size_t k = 0; k < std::size_t(f.items()); ++k) {
    CHECK(abs_of(std::get<2>(expected)[k] - std::get<2>(computed)[k]) <= bound * (1 + abs_of(std::get<2>(expected)[k])));
    CHECK(std::abs(std::get<3>(expected)[k] - std::get<3>(computed)[k]) <= bound * (1 + std::get<3>(expected)[k]));
    CHECK(std::abs(std::get<4>(expected)[k] - std::get<4>(computed)[k]) <= bound * (1 + std::get<4>(expected)[k]));
    CHECK(std::abs(std::get<5>(expected)[k] - std::get<5>(computed)[k]) <= bound * (1 + std::get<5>(expected)[k]));
  }
}

/// The rows of one matrix, plain and with right-hand sides: enough to see a scalar type.
template <class T, class Make>
void scalar_suite(Make const& make, double bound) {
  auto A = problems::convection_diffusion<T>({24, 60}, 1.0);
  compare_with_serial(make, A, random<T, Extents<dyn, dyn>>({A.rows(), 5}, 2), {1, A.rows(), 5, 5}, bound);
}

/// Plain, batched, blocked, with right-hand sides, in every format.
template <class Make>
void backend_suite(Make const& make, double bound) {
  using T = double;
  auto A = problems::convection_diffusion<T>({24, 60}, 1.0);
  index_t const n = A.rows();
  compare_with_serial(make, A, random<T>(n, 1), {1, n, 1, 1}, bound);
  compare_with_serial(make, to<Dia>(A), random<T>(n, 1), {1, n, 1, 1}, bound);
  compare_with_serial(make, to<Coo<>>(A), random<T>(n, 1), {1, n, 1, 1}, bound);
  compare_with_serial(make, to_batch(A, 3), random<T, Extents<dyn, dyn>>({3, n}, 3), {3, n, 1, 1}, bound);
  compare_with_serial(make, to_batch<3>(to_blocks<2, 2>(A)), random<T, Extents<3, dyn, 2, 3>>({3, n / 2, 2, 3}, 5), {3, n / 2, 6, 3}, bound);
}
}  // namespace suites
