// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A halo that was exchanged by name: products read it and send nothing, elementwise operations keep it, gradients come back.
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/assembly/factories.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/step/halo_steps.hpp>
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "catch.hpp"

namespace test_named_halo {

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

namespace {
/// Row i has one entry, in column (i + by) mod n.
auto shifted(index_t n, index_t by) {
  std::vector<index_t> row, col;
  for (index_t i = 0; i < n; ++i) row.push_back(i), col.push_back((i + by) % n);
  return from_triplets<double>(Matrix(n, n), row, col, std::vector<double>(std::size_t(n), 1.0));
}
template <class F>
bool is_refused(F const& f) {
  try {
    (void)f();
    return false;
  } catch (shape_error const&) {
    return true;
  }
}
} // namespace

TEST_CASE("the halo of another matrix is refused where its ghosts are others, as many though they are") {
  auto const A = shifted(4, 1), B = shifted(4, 3);
  auto const x = random<double>({4}, 1);
  vector<double> const y = A * x;
  for (bool const right : threads::run(2, [&](auto& world) {
         Rows m(world);
         auto const D = distribute<SparseShard<0>>(A, m, strips{});
         auto const E = distribute<SparseShard<0>>(B, m, D.row_layout());
         auto const again = distribute<SparseShard<0>>(A, m, D.row_layout());
         auto const dx = distribute(x, D.col_layout());
         auto const of_d = halo_exchange<"rows">(dx, D), of_e = halo_exchange<"rows">(dx, E);
         bool refused = is_refused([&] { return eval(D * of_e); }) && is_refused([&] { return eval(of_d + of_e); }) &&
                        is_refused([&] { return scale_cols(D, of_e); });
         return refused && double(norm(gather(again * of_d) - y)) < 1e-14 && double(norm(gather(again * of_d + D * of_d) - 2.0 * y)) < 1e-14;
       }))
    CHECK(right);
}

TEST_CASE("a halo that is wrong on one rank is refused by all") {
  auto const by_columns = [](std::vector<index_t> const& col) {
    return from_triplets<double>(Matrix(6, 6), {0, 1, 2, 3, 4, 5}, col, std::vector<double>(6, 1.0));
  };
  auto const A = by_columns({0, 2, 2, 4, 4, 0}), B = by_columns({0, 2, 2, 4, 4, 1}); // rank 2 of 3 reads 0, and 1
  auto const x = random<double>({6}, 1);
  for (bool const right : threads::run(3, [&](auto& world) {
         Rows m(world);
         auto const D = distribute<SparseShard<0>>(A, m, strips{});
         auto const E = distribute<SparseShard<0>>(B, m, D.row_layout());
         auto const dx = distribute(x, D.col_layout());
         auto const of_d = halo_exchange<"rows">(dx, D), of_e = halo_exchange<"rows">(dx, E);
         return is_refused([&] { return eval(D * of_e); }) && is_refused([&] { return eval(of_d + of_e); }) && !is_refused([&] { return eval(E * of_e); });
       }))
    CHECK(right);
}

TEST_CASE("one number in the shape of contributions to a halo is in its copies") {
  auto const A = shifted(4, 1);
  for (double const apart : threads::run(2, [&](auto& world) {
         Rows m(world);
         auto const D = distribute<SparseShard<0>>(A, m, strips{});
         auto const halo = halo_exchange<"rows">(distribute(random<double>({4}, 1), D.col_layout()), D);
         auto const ones = ones_like(convert<"rows", GhostP<0>>(owned<"rows">(halo)));
         return double(norm(gather(owned<"rows">(ones)) - sla::ones<double>({4})));
       }))
    CHECK(apart == 0);
}

TEST_CASE("partitions are compared where they shard, also by statements") {
  auto const A = shifted(8, 1);
  auto const x = random<double>({8}, 1);
  for (bool const right : threads::run(2, [&](auto& world) {
         Rows m(world);
         auto const D = distribute<SparseShard<0>>(A, m, strips{}), E = distribute<SparseShard<0>>(A, m, owner_map({0, 3, 8}));
         auto of_d = distribute(x, D.row_layout());
         auto const of_e = distribute(x, E.row_layout());
         bool const refused = is_refused([&] { return eval(of_d + of_e); }) && is_refused([&] { return set(of_d, 2.0 * of_e), 0; });
         auto const even = repartition<"rows", Shard<0>>(of_d) + repartition<"rows", Shard<0>>(of_e);
         return refused && double(norm(gather(eval(even)) - 2.0 * x)) < 1e-14;
       }))
    CHECK(right);
}

TEST_CASE("what is not sharded as the columns has no place in their halo") {
  for (auto const& A : {problems::random_sparse<double>(24, 6, 2, 1), problems::random_sparse<double>(6, 24, 2, 1)})
    for (bool const refused : threads::run(2, [&](auto& world) {
           Rows m(world);
           auto const D = distribute<SparseShard<0>>(A, m, strips{});
           auto const dy = eval(D * distribute(random<double>({A.cols()}, 1), D.col_layout()));
           auto const pending = convert<"rows", Partial<>>(all_gather<"rows">(dy));
           return is_refused([&] { return convert<"rows", GhostP<0>>(dy); }) && is_refused([&] { return halo_exchange<"rows">(dy, D); }) &&
                  is_refused([&] { return reduce_scatter<"rows", GhostP<0>>(pending); });
         }))
      CHECK(refused);
}

TEST_CASE("meshes of one type and of different ranks are told apart") {
  for (bool const refused : threads::run(4, [&](auto& world) {
         auto halves = world.split(world.rank() % 2, world.rank());
         Rows all(world), half(halves);
         auto const x = distribute<Shard<0>>(random<double>({8}, 1), all), y = distribute<Shard<0>>(random<double>({4}, 1), half);
         return is_refused([&] { return eval(x + y); });
       }))
    CHECK(refused);
}
} // namespace test_named_halo
