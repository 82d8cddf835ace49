// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The communicator suite on one rank and on thread ranks.
#include <sla/dist/engine/self.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"
#include "suites/communicator.hpp"

namespace test_communicator_suite {

TEST_CASE("one rank does what every engine must do") {
  sla::self world;
  suite::communicator(*sla::erase(world));
}

TEST_CASE("thread ranks do what every engine must do") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  sla::threads::run(ranks, [](auto& world) { suite::communicator(*erase(world)); });
}

TEST_CASE("thread ranks do so when messages are late") {
  sla::threads::run(3, {.delay = std::chrono::microseconds(300)},
                    [](auto& world) { suite::communicator(*erase(world)); });
}

TEST_CASE("thread ranks fold in the order of the ranks") {
  for (std::size_t const n : suite::lengths{1, 16, 17, 1000}) {
    auto const held = [](int r, std::size_t k) {
      return 0.1 * (r + 1) + 1.0 / (1.0 + static_cast<double>(k) * (r + 2));
    };
    std::vector<double> expected(n);
    for (std::size_t k = 0; k < n; ++k) {
      expected[k] = held(0, k);
      for (int r = 1; r < 5; ++r) expected[k] += held(r, k);
    }
    auto const results = sla::threads::run(5, [&](auto& world) {
      std::vector<double> x(n);
      for (std::size_t k = 0; k < n; ++k) x[k] = held(world.rank(), k);
      all_reduce(*erase(world), std::span<double>(x));
      return x;
    });
    for (auto const& x : results) CHECK(suite::same_bits(x, expected));
  }
}
} // namespace test_communicator_suite
