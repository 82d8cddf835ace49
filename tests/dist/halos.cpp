// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Halos by name and partitions found at run time on thread ranks, against the whole, and their adjoints.
#include <array>
#include <atomic>

#include <sla/dist/engine/threads.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/steps.hpp"

namespace test_halos {

using namespace sla;
using Ranks = mesh<axis<"tp">>;

TEST_CASE("halos of square and rectangular matrices are exchanged, folded and embedded, and gradients come back") {
  auto const A = problems::poisson<double>({6, 5});
  auto const R = suite::scattered<double>(30, 21, 80);
  CHECK_NOTHROW(threads::run(GENERATE(1, 2, 3, 4, 8), [&](auto& world) {
    Ranks const m(world);
    suite::halos(m, A);
    suite::halos(m, R);
  }));
}

/// Threads as ranks, whose messages are moved on by calls as MPI moves them: it takes four.
struct moved_by_calls : threads::world {
  static thread_local int calls;          // of advance, by this rank
  static inline std::atomic<int> others;  // by helpers of ranks' loops
  struct exchange final : message_exchange {
    std::unique_ptr<message_exchange> of;
    int left = 4;
    void const* owner = &calls;
    explicit exchange(std::unique_ptr<message_exchange> e) : of(std::move(e)) {}
    void wait() override { of->wait(); }
    bool done() override { return of->done(); }
    bool advance() override {
      owner == &calls ? void(++calls) : void(++others);
      return --left <= 0;
    }
  };
  explicit moved_by_calls(threads::world const& w) : threads::world(w) {}
  moved_by_calls split(int color, int key) { return moved_by_calls(threads::world::split(color, key)); }
  std::unique_ptr<message_exchange> start(std::span<outgoing_message const> sends, std::span<incoming_message const> receives) {
    return std::make_unique<exchange>(threads::world::start(sends, receives));
  }
};
thread_local int moved_by_calls::calls = 0;

TEST_CASE("interior rows move the messages of their halo on, until these have arrived, by the rank's own thread") {
  auto const A = problems::poisson<double>({120, 1000});
  auto const x = random<double>({A.cols()}, 1);
  vector<double> const y = A * x;
  int const per_rank = GENERATE(1, 2);
  auto const advanced = threads::run(2, {.threads_per_rank = per_rank}, [&](auto& world) {
    moved_by_calls late(world);
    mesh<axis<"tp">> const m(late);
    auto const D = distribute<SparseShard<0>>(A, m, strips{});
    auto const dx = distribute(x, D.row_layout());
    moved_by_calls::calls = 0;
    auto const dy = eval(D * dx);
    return std::array{moved_by_calls::calls, int(norm(gather(dy) - y) <= 1e-14 * norm(y))};
  });
  CHECK(advanced == std::vector(2, std::array{4, 1}));
  CHECK(moved_by_calls::others == 0);
}
} // namespace test_halos
