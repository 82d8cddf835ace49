// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fuse that was run before allocates nothing: neither plans nor blocks nor partial results nor vectors in between, on one thread or two, in
// order or queued, and on ranks.
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/assembly/nonzeros.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/solve/mesh_space.hpp>
#include <sla/exec/deferred.hpp>
#include <sla/exec/list_space.hpp>
#include <sla/tensor/build/sell.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "catch.hpp"

namespace {
thread_local long allocations = 0;
std::atomic<long> of_all_threads{0};
void* counted(std::size_t bytes) {
  ++allocations, ++of_all_threads;
  if (void* const p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
} // namespace

// Weak: a sanitizer that brings its own keeps them, and then nothing is counted.
[[gnu::weak]] void* operator new(std::size_t bytes) { return counted(bytes); }
[[gnu::weak]] void* operator new[](std::size_t bytes) { return counted(bytes); }
[[gnu::weak]] void* operator new(std::size_t bytes, std::align_val_t at) {
  ++allocations, ++of_all_threads;
  if (void* const p = std::aligned_alloc(std::size_t(at), (bytes + std::size_t(at)) / std::size_t(at) * std::size_t(at))) return p;
  throw std::bad_alloc();
}
[[gnu::weak]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::weak]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace {
using namespace sla;

/// The allocations of the calls after the first ones, and 1 more if tensors held more memory meanwhile.
template <class F>
long later_allocations(F const& f, int first = 1, bool alone = true) {
  for (int call = 0; call < first; ++call) f();
  if (alone) memory_peak_reset();
  auto const held = memory_in_use().now;
  long const before = allocations;
  for (int call = 0; call < 4; ++call) f();
  return allocations - before + (alone && memory_in_use().peak > held);
}

/// The statements of an iteration of CG, with these scalars of the space.
template <class Space, class A, class V>
void iterate(Space& space, A const& a, V& p, V& q, V& r, V& z) {
  auto [pq] = fuse(space, set(q, a * p), dot_of(p, q));
  auto const alpha = space.map([](double s) { return 1 / s; }, pq);
  auto [rz, rr] = fuse(space, set(r, r - alpha * q), set(z, 0.5 * r), dot_of(r, z), squared_norm_of(r));
  auto const beta = space.map([](double s, double t) { return s / (s + t); }, rz, rr);
  fuse(space, set(z, z + alpha * p), set(p, z + beta * p));
  (void)space.peek(rr);
}
} // namespace

TEST_CASE("a fuse that was run before allocates nothing") {
  long const before = allocations;
  ::operator delete(::operator new(1));
  for (int threads : {1, 2}) {
    set_threads(threads);
    for (index_t n : {8, 60, 400}) {
      auto const A = problems::poisson<double>({n, n});
      auto x = random<double>(A.rows(), 1), y = ones<double>(A.rows()), z = y, r = y;
      double sum = 0;
      CHECK(later_allocations([&] { sum += dot(x, y); }) == 0);
      CHECK(later_allocations([&] { fuse(set(y, 2.0 * x + y), set(z, y), sum_of(z)); }) == 0);
      CHECK(later_allocations([&] { y = x - 0.1 * (A * x); }) == 0);
      host_space<false> space({1, A.rows(), 1, 1});
      CHECK(later_allocations([&] { iterate(space, A, x, y, r, z); }) == 0);
      CHECK(sum != 0);
    }
    // One number per item: a batch, right-hand sides, and a list of systems, of which one is cut into blocks.
    using Batched = Shape<Batch<dyn>, dyn, dyn, Block<>>;
    auto const B = from_triplets<double>(Batched({50}, 2, 2), std::vector{0, 1}, std::vector{0, 1}, std::vector<double>(100, 3.0));
    auto x = ones<double, Extents<dyn, dyn>>({50, 2}), y = x, z = x, r = x;
    host_space<true> batch({50, 2, 1, 1});
    CHECK(later_allocations([&] { iterate(batch, B, x, y, r, z); }) == 0);
    auto const A = problems::poisson<double>({50, 50});
    auto xs = ones<double, Extents<dyn, dyn>>({2500, 3}), ys = xs, zs = xs, rs = xs;
    host_space<true> many({1, 2500, 3, 3});
    CHECK(later_allocations([&] { iterate(many, A, xs, ys, rs, zs); }) == 0);
    auto const windows = to<Sell<8, 96>>(A);  // whose rows are not cut: blocks are shorter, so that their products stay on the stack
    CHECK(later_allocations([&] { ys = 2.0 * (windows * xs) - ys; }) == 0);
    for (std::vector<index_t> const& cuts : {std::vector<index_t>{0, 700, 1400, 2500}, {0, 2000, 2500}}) {
      auto u = ones<double>(2500), v = u, w = u, t = u;
      packed_systems const systems(std::make_shared<std::vector<index_t> const>(cuts));
      host_space<true, packed_systems> listed({1, 2500, 1, 1}, systems);
      CHECK(later_allocations([&] { iterate(listed, A, u, v, w, t); }) == 0);
    }
  }
  set_threads(0);
  if (allocations == before) WARN("the sanitizer's own operator new is not counted");
}

TEST_CASE("vectors in between are those of the fuse before") {
  for (index_t n : {8, 60, 400}) {
    auto const A = problems::poisson<double>({n, n});
    auto x = random<double>(A.rows(), 1), y = x, z = x, r = x;
    CHECK(later_allocations([&] { y = x - A * (A * (0.5 * x)); }, 1, false) == 0);  // it holds vectors for a while, in the same blocks
    vector<double> const expected = x - A * (A * (0.5 * x));
    auto const check = [&](auto& space) {
      auto const twice = [&] { return std::get<0>(fuse(space, set(y, x - A * (A * (0.5 * x))), set(z, transpose(A) * (A * y)), dot_of(y, A * (A * y)))); };
      CHECK(later_allocations([&] { twice(), space.finish(); }) == 0);
      CHECK(norm_inf(y - expected) == 0);
      CHECK(norm_inf(z - transpose(A) * (A * y)) == 0);
      auto const s = twice();
      space.finish();
      CHECK(space.read(s)[0] == Approx(dot(y, A * (A * y))));
    };
    host_space<false> now({1, A.rows(), 1, 1});
    check(now);
    deferred later({1, A.rows(), 1, 1}, 0);
    check(later);
  }
}

TEST_CASE("a transposed product keeps what its threads have for the columns of others, and what a thread keeps it can free") {
  set_threads(2);
  for (index_t n : {3000, 60000}) {  // few entries off the diagonal, which are listed, and so many that there are sums of all columns
    auto const A = problems::poisson<double>({n}), B = problems::random_sparse<double>(n, n, 4, 1);
    auto x = random<double>(n, 1), y = x, z = x;
    auto const both = [&] { y = transpose(A) * x, z = transpose(B) * x; };
    both();
    long const before = of_all_threads;
    both(), both();
    CHECK(of_all_threads == before);
    CHECK(norm_inf(z - transposed(B) * x) <= 1e-12);
  }
  set_threads(0);
  void* const kept = detail::kept_blocks::take(1 << 20);
  detail::kept_blocks::give(kept, 1 << 20);
  void* const again = detail::kept_blocks::take(1 << 20);
  CHECK(again == kept);
  detail::kept_blocks::give(again, 1 << 20);
  release_kept_memory();
  long const before = allocations;
  detail::kept_blocks::give(detail::kept_blocks::take(1 << 20), 1 << 20);
  if (before != 0) CHECK(allocations == before + 1);  // else those of a sanitizer
}

TEST_CASE("a queue allocates nothing for what it did before") {
  auto const A = problems::poisson<double>({60, 60});
  auto x = random<double>(A.rows(), 1), y = ones<double>(A.rows()), z = y, r = y;
  for (int lag : {0, 4, 32}) {
    deferred space({1, A.rows(), 1, 1}, lag);
    // What is released goes behind the work that reads it, so that as much again is on its way.
    CHECK(later_allocations([&] { iterate(space, A, x, y, r, z); }, 2 * lag + 3) == 0);
    // Statements that own operands are kept until they have run.
    CHECK(later_allocations([&] { fuse(space, set(r, space.map([](double s) { return 2 * s; }, 1.0) * y)), (void)space.peek(std::get<0>(fuse(space, sum_of(r)))); }, 2 * lag + 3) == 0);
    space.finish();
    CHECK(norm_inf(r - 2.0 * y) == 0);
  }
}

namespace {
/// More messages under way at once than a rank can be ahead of the other by: the engine keeps the memory of each for the next. How far a rank
/// gets ahead by itself differs from run to run.
template <class Communicator>
void fill_mailboxes(Communicator& c, std::size_t bytes = 4096) {
  constexpr int ahead = 4;
  int const other = 1 - c.rank();
  std::vector<std::byte> out(bytes), in(bytes);
  std::vector<std::unique_ptr<message_exchange>> under_way;
  for (int n = 0; n < ahead; ++n) {
    std::array<outgoing_message, 1> const send{{{other, out}}};
    std::array<incoming_message, 1> const receive{{{other, in}}};
    under_way.push_back(c.start(send, receive));
  }
  c.barrier();
  for (auto& exchange : under_way) exchange->wait();
  c.barrier();
}
} // namespace

TEST_CASE("a rank allocates nothing for what it did before") {
  auto const counts = threads::run(2, [](auto& world) {
    mesh<axis<"rows">> const m(world);
    auto const A = problems::poisson<double>({40, 40});
    auto const D = distribute<SparseShard<0>>(A, m, strips{});
    auto x = distribute(random<double>(A.rows(), 1), D.row_layout()), y = x, z = x, r = x;
    frame const f{1, x.local().size(), 1, 1};
    mesh_space<mesh<axis<"rows">>, false, true> space(f, m);
    mesh_space<mesh<axis<"rows">>, true, true> many(f, m);
    fill_mailboxes(m.communicator(0));
    std::array<long, 3> count{};
    for (int n = 0; n < 8; ++n) {
      count[0] += later_allocations([&] { iterate(space, D, x, y, r, z); }, 2, false);
      count[1] += later_allocations([&] { fuse(space, set(y, x - D * (D * (0.5 * x)))); }, 2, false);
      count[2] += later_allocations([&] { iterate(many, D, x, y, r, z); }, 2, false);
    }
    return count;
  });
  for (auto const& count : counts) CHECK(count == std::array<long, 3>{});
}

TEST_CASE("a rank keeps the room of long halos, and the rows that several of them leave alone") {
  auto const counts = threads::run(2, [](auto& world) {
    mesh<axis<"rows">> const m(world);
    constexpr index_t n = 80000;  // two matrices with halos of their own, one of nearly all columns
    auto const D = distribute<SparseShard<0>>(problems::poisson<double>({n}), m, strips{});
    auto const E = distribute<SparseShard<0>>(problems::random_sparse<double>(n, n, 4, 1), m, strips{});
    auto x = distribute(random<double>(n, 1), D.row_layout()), y = x, z = x;
    mesh_space<mesh<axis<"rows">>, false, true> space({1, x.local().size(), 1, 1}, m);
    fill_mailboxes(m.communicator(0), n / 2 * sizeof(double));
    long count = 0;
    for (int k = 0; k < 3; ++k) count += later_allocations([&] { fuse(space, set(y, D * x), set(z, E * x)); }, 2, false);
    return count;
  });
  for (long const count : counts) CHECK(count == 0);
}
