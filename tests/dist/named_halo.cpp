// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A halo that was exchanged by name: products read it and send nothing, elementwise operations keep it, gradients come back.
#include <sla/dist/distribute.hpp>
#include <sla/dist/grad.hpp>
#include <sla/dist/halos.hpp>
#include <sla/dist/product.hpp>
#include <sla/dist/threads.hpp>
#include <sla/tensor/random_problems.hpp>

#include "catch.hpp"

using namespace sla;
using Rows = mesh<axis<"rows">>;

TEST_CASE("one exchange by name serves several products") {
  for (auto const& A : {problems::random_sparse<double>(20, 20, 4, 1), problems::random_sparse<double>(17, 23, 4, 1)}) {
    auto const x = random<double>({A.cols()}, 1);
    vector<double> const y = A * x, z = A * exp(x);
    vector<double> const g = transpose(A) * y + exp(x) * (transpose(A) * z);
    double const loss = 0.5 * double(squared_norm(y)) + 0.5 * double(squared_norm(z));
    for (int ranks : {1, 2, 3})
      for (auto const& [apart, exchanges] : threads::run(ranks, [&](auto& world) {
             Rows m(world);
             auto const D = distribute<SparseShard<0>>(A, m, strips{});
             auto const dx = distribute(x, D.col_layout());
             auto const before = m.communicator(0).stats().exchanges;
             auto const whole = halo_exchange<"rows", "A">(dx, D);
             auto const dy = eval(D * whole);
             auto const dz = eval(D * exp(whole));
             auto const sent = m.communicator(0).stats().exchanges - before;
             static_assert(has_placements<decltype(dy), Shard<0, Part<>>>);
             auto const [value, to_x] = value_and_gradient(
                 [&](auto const& v) {
                   auto const h = halo_exchange<"rows", "A">(v, D);
                   return 0.5 * squared_norm(D * h) + 0.5 * squared_norm(D * exp(h));
                 },
                 dx);
             static_assert(has_placements<decltype(to_x), Shard<0, Part<>>>);
             return std::pair{double(norm(gather(dy) - y)) + double(norm(gather(dz) - z)) + double(norm(gather(to_x) - g)) + std::abs(value - loss),
                              sent};
           })) {
        CHECK(apart <= 1e-12 * (1 + double(norm(g))));
        CHECK(exchanges == 1);
      }
  }
}
