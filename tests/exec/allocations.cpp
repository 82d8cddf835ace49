// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fuse that was run before allocates nothing: neither plans nor blocks nor partial results, on one thread or two.
#include <cstdlib>
#include <new>

#include <sla/exec/list_space.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace {
thread_local long allocations = 0;
void* counted(std::size_t bytes) {
  ++allocations;
  if (void* const p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
} // namespace

// Weak: a sanitizer that brings its own keeps them, and then nothing is counted.
[[gnu::weak]] void* operator new(std::size_t bytes) { return counted(bytes); }
[[gnu::weak]] void* operator new[](std::size_t bytes) { return counted(bytes); }
[[gnu::weak]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::weak]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace {
using namespace sla;

/// The allocations of the second to fifth call.
template <class F>
long later_allocations(F const& f) {
  f();
  long const before = allocations;
  for (int call = 0; call < 4; ++call) f();
  return allocations - before;
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
