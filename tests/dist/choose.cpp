// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparisons, maximum and minimum of distributed tensors, and their gradients, against one rank.
#include <array>

#include <sla/dist.hpp>
#include <sla/tensor/problems.hpp>

#include "catch.hpp"

namespace test_choose {

using namespace sla;

TEST_CASE("comparisons, maximum and minimum on ranks") {
  int const ranks = GENERATE(1, 2, 3);
  auto const A = problems::poisson<double>({4, 3});
  auto const x = random<double>({12}, 1), y = random<double>({12}, 2);
  auto const f = [](auto const& u, auto const& v) { return squared_norm(maximum(u, v) + minimum(u, v) * u + maximum(v, 0.25)); };
  auto const [value, gx, gy] = value_and_gradient(f, x, y);
  vector<double> const expected = maximum(x, 0.0) - minimum(x, y) + (x < y) * y + 3.0 * (x >= 0.25) + (x > y) - (y <= x);
  auto const errors = threads::run(ranks, [&, value = value, &gx = gx, &gy = gy](auto& world) {
    mesh<axis<"rows">> m(world);
    auto const D = distribute<SparseShard<0>>(A, m, strips{});
    auto const u = distribute(x, D.row_layout()), v = distribute(y, D.row_layout());
    auto const z = eval(maximum(u, 0.0) - minimum(u, v) + (u < v) * v + 3.0 * (u >= 0.25) + (u > v) - (v <= u));
    auto const [total, gu, gv] = value_and_gradient(f, u, v);
    return std::array<double, 4>{norm(gather(z) - expected), std::abs(total - value), norm(gather(gu) - gx), norm(gather(gv) - gy)};
  });
  for (auto const& of_rank : errors)
    for (double e : of_rank) CHECK(e <= 1e-12);
}

} // namespace test_choose
