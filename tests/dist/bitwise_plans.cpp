// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans on a mesh that asks for equal bits, carried out on thread ranks: what was pending is the same on every rank, to the last bit.
#include <cstring>
#include <vector>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/plan/redistribute.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"

namespace test_bitwise_plans {
namespace {

using namespace sla;
using R = Replicate;
using P = Partial<>;
using S0 = Shard<0>;
using Four = mesh<axis<"equal_dp", 2>, axis<"equal_tp", 2>>;
using Eight = mesh<axis<"equal_pp", 2>, axis<"equal_dp", 2>, axis<"equal_tp", 2>>;

constexpr topology equal_bits = [] {
  auto t = two_level(1);
  t.bitwise_replicated = true;
  return t;
}();

} // namespace
} // namespace test_bitwise_plans

namespace sla {
template <>
inline constexpr topology topology_of<test_bitwise_plans::Four> = test_bitwise_plans::equal_bits;
template <>
inline constexpr topology topology_of<test_bitwise_plans::Eight> = test_bitwise_plans::equal_bits;
} // namespace sla

namespace test_bitwise_plans {
namespace {

struct held_by_rank {
  matrix<float> sum, part;
};

/// What each rank has of a sum that is pending on all axes, and its own part of it.
template <class Mesh, class... Q>
std::vector<held_by_rank> summed(int ranks, index_t rows, index_t columns) {
  return threads::run(ranks, [=](auto& world) {
    Mesh m(world);
    auto const part = random<float, Extents<dyn, dyn>>({rows, columns}, 100 + unsigned(world.rank()));
    auto sums = distributed<matrix<float>, Mesh, std::conditional_t<true, P, Q>...>::zeros(m, {rows, columns});
    sums.local() = part;
    return held_by_rank{redistribute<Q...>(sums).local(), part};
  });
}

/// Are they equal to the last bit, and near the sum?
bool agree(std::vector<held_by_rank> const& all) {
  bool right = true;
  for (index_t n = 0; n < all[0].sum.size(); ++n) {
    double sum = 0;
    for (auto const& one : all) sum += one.part.data()[n];
    right = right && std::abs(all[0].sum.data()[n] - sum) <= 1e-5;
  }
  for (auto const& one : all)
    right = right && std::memcmp(one.sum.data(), all[0].sum.data(), std::size_t(one.sum.size()) * sizeof(float)) == 0;
  return right;
}

} // namespace

TEST_CASE("completed sums have equal bits on all ranks") {
  for (index_t rows : {1, 7, 8, 300}) // sharded and gathered where they divide, else reduced at once
    for (index_t columns : {5, 12}) {
      CHECK(agree(summed<Four, R, R>(4, rows, columns)));
      CHECK(agree(summed<Eight, R, R, R>(8, rows, columns)));
    }
}

} // namespace test_bitwise_plans
