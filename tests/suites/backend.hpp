// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The backend suite: what a `fuse` computes on a space, compared with the serial oracle. A new backend runs it unchanged.
#pragma once

#include <sla/exec/evaluate.hpp>
#include <sla/tensor/arrange/transpose.hpp>
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

/// Vectors of two sizes in one space, by A of m x n and A^H, whose `layout` of items has whatever rows: statements by statements what
/// plain evaluation gives, and the numbers of scalars sent down and up again.
template <class Make, class A, class AH, class V>
void check_sizes(Make const& make, A const& a, AH const& ah, V const& v0, frame items, double bound) {
  auto space = make(items);
  auto& s = *space;
  V const v1 = 0.5 * v0;
  auto const u1 = eval(a * v1);
  V const w1 = ah * u1;
  auto v = v0, w = s.template like<typename V::value_type>(v0);
  auto u = s.template like<typename V::value_type>(u1);
  auto const [vv, uu, vw, ww] = fuse(s, set(v, 0.5 * v), set(u, a * v), set(w, ah * u), squared_norm_of(v), squared_norm_of(u), dot_of(v, w), squared_norm_of(v - ah * (a * v)));
  auto const ratio = s.map(divide{}, uu, vv);
  fuse(s, set(u, ratio * u), set(v, v - ratio * w));
  auto const norms = numbers(s, vv), ratios = numbers(s, ratio), same = numbers(s, vw), others = numbers(s, uu), distances = numbers(s, ww);
  auto const up = s.scalar(ratios);
  fuse(s, set(u, u / up), set(v, v + up * w));
  auto const [after] = fuse(s, squared_norm_of(v));
  auto const last = numbers(s, after);
  CHECK(norms.size() == std::size_t(s.items()));
  CHECK(s.items() == items.items());
  double sum = 0, down = 0, all = 0;
  for (std::size_t k = 0; k < norms.size(); ++k) {
    CHECK(std::abs(same[k] - others[k]) <= bound * (1 + others[k]));  // (v, A^H A v) = (A v, A v)
    CHECK(std::abs(ratios[k] * norms[k] - others[k]) <= bound * (1 + others[k]));
    CHECK(std::abs(last[k] - norms[k]) <= bound * (1 + ratios[k]) * (1 + norms[k]));
    sum += others[k], down += norms[k], all += distances[k];
  }
  CHECK(sum == Approx(squared_norm(u1)));
  CHECK(down == Approx(squared_norm(v1)));
  CHECK(all == Approx(squared_norm(v1 - w1)));
  CHECK(oracle::distance(u, u1) <= bound);
  CHECK(oracle::distance(v, v1) <= bound * 10);
  CHECK(oracle::distance(w, w1) <= bound * 10);
  CHECK_THROWS_AS(s.scalar(std::vector<double>(norms.size() + 1)), shape_error);
}
/// Vectors of 712 and of 1850, plain, in a batch, and with right-hand sides; the space hears of the sizes, or of items only.
template <class Make>
void sizes_suite(Make const& make, double bound) {
  index_t const m = 1850, n = 712;
  std::vector<index_t> row, col;
  std::vector<double> value;
  for (index_t i = 0; i < m; ++i)
    for (index_t k = 0; k < 4; ++k) row.push_back(i), col.push_back((i * 5 + k * k * 97) % n), value.push_back(double((i * 7 + k) % 11) / 11 - 0.4);
  auto const A = from_triplets<double>(m, n, row, col, value);
  auto const AH = adjointed(A);
  auto const v = random<double>(n, 1);
  for (index_t rows : {index_t(0), m, n}) check_sizes(make, A, AH, v, {1, rows, 1, 1}, bound);
  for (index_t rows : {index_t(0), m}) check_sizes(make, A, AH, random<double, Extents<dyn, dyn>>({n, 3}, 2), {1, rows, 3, 3}, bound);
  check_sizes(make, to_batch(A, 3), to_batch(AH, 3), random<double, Extents<dyn, dyn>>({3, n}, 3), {3, 0, 1, 1}, bound);
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
