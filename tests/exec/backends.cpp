// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host's spaces against the serial oracle: threads, and the queue that stands for a device.
#include <complex>
#include <memory>

#include <sla/exec/deferred.hpp>

#include "suites/backend.hpp"

namespace test_backends {

using namespace sla;

namespace {
auto on_threads(int threads) {
  return [threads](frame f) { return std::make_unique<host_space<true>>(f, openmp{threads}); };
}
auto queued(int lag) {
  return [lag](frame f) { return std::make_unique<deferred>(f, lag); };
}
}  // namespace

TEST_CASE("threads and the queue agree with serial") {
  for (int threads : {1, 3}) suites::backend_suite(on_threads(threads), 1e-12);
  for (int lag : {0, 4, 32}) suites::backend_suite(queued(lag), 1e-12);
}

TEST_CASE("vectors of several sizes share a space") {
  suites::sizes_suite([](frame f) { return std::make_unique<host_space<true, serial>>(f); }, 1e-12);
  for (int threads : {1, 3}) suites::sizes_suite(on_threads(threads), 1e-12);
  for (int lag : {0, 4, 32}) suites::sizes_suite(queued(lag), 1e-12);
  host_space<false> one;
  auto x = ones<double>(10), y = ones<double>(30);
  auto [xx, yy] = fuse(one, set(x, 2 * x), sum_of(x), sum_of(y));
  CHECK(one.scalar(std::vector{xx}) + yy == 50);
  CHECK_THROWS_AS(one.scalar(std::vector<double>()), shape_error);
  using Z = std::complex<double>;
  deferred queue(frame{1, 0, 2, 2}, 1);
  matrix<Z> z({10, 2}), expected({10, 2});
  for (index_t k = 0; k < 10; ++k) expected(k, 0) = Z(0, 3), expected(k, 1) = Z(2, -1);
  z = 0 * z + 1;
  auto const i = one.scalar(std::vector{Z(0, 1)});
  auto const several = queue.scalar(std::vector{Z(0, 3), Z(2, -1)});
  fuse(queue, set(z, several * z));
  queue.finish();
  CHECK(norm_inf(z - expected) == 0);
  fuse(one, set(z, i * z));
  CHECK(norm_inf(z - Z(0, 1) * expected) == 0);
}

TEST_CASE("in every scalar") {
  for (int threads : {1, 3}) {
    suites::scalar_suite<float>(on_threads(threads), 1e-4);
    suites::scalar_suite<double>(on_threads(threads), 1e-12);
    suites::scalar_suite<std::complex<double>>(on_threads(threads), 1e-12);
  }
  suites::scalar_suite<std::complex<float>>(queued(4), 1e-4);
}

TEST_CASE("a space of one item has plain numbers, and refuses more items") {
  host_space<false> space({1, 100, 1, 1});
  auto x = ones<double>(100);
  auto [s] = fuse(space, squared_norm_of(x));
  static_assert(std::same_as<decltype(s), double>);
  CHECK(s == 100);
  CHECK_THROWS_AS(host_space<false>({2, 100, 1, 1}), shape_error);
}

TEST_CASE("peek answers for earlier calls on the queue, and only then") {
  deferred space({1, 10, 1, 1}, 2);
  auto x = ones<double>(10);
  std::vector<std::size_t> known;
  std::vector<double> seen;
  for (int call = 0; call < 5; ++call) {
    auto [s] = fuse(space, set(x, 2 * x), sum_of(x));
    auto const numbers = space.peek(s);
    known.push_back(numbers.size());
    if (!numbers.empty()) seen.push_back(numbers[0]);
  }
  CHECK(known == std::vector<std::size_t>{0, 0, 1, 1, 1});
  CHECK(seen == std::vector<double>{20, 40, 80});
  CHECK(space.synchronizations() == 0);
  space.finish();
  CHECK(space.synchronizations() == 1);
  CHECK(x[0] == 32);
}

TEST_CASE("inner products and combinations of a basis") {
  index_t const n = 3000;
  std::vector<vector<double>> V;
  for (unsigned j = 0; j < 5; ++j) V.push_back(random<double>(n, j));
  auto w = random<double>(n, 9);
  auto [h] = fuse(dots<8>(V, 3, w));
  for (int j = 0; j < 3; ++j) CHECK(h[j] == Approx(eval(dot(V[std::size_t(j)], w))).epsilon(1e-13));
  CHECK(h[3] == 0);
  vector<double> combined = w - combine(V, 3, h);
  vector<double> expected = w - h[0] * V[0] - h[1] * V[1] - h[2] * V[2];
  CHECK(eval(norm(combined - expected)) <= 1e-12);

  std::vector<matrix<double>> W(2, random<double, Extents<dyn, dyn>>({500, 3}, 4));
  auto X = random<double, Extents<dyn, dyn>>({500, 3}, 5);
  for (int lag : {0, 4}) {
    deferred space({1, 500, 3, 3}, lag);
    auto Y = X;
    auto [c] = fuse(space, dots<4>(W, 2, X));
    fuse(space, set(Y, X - combine(W, 2, c)));
    space.finish();
    for (index_t k = 0; k < 3; ++k) {
      double inner = 0;
      for (index_t i = 0; i < 500; ++i) inner += W[0](i, k) * X(i, k);
      for (index_t i = 0; i < 500; ++i) CHECK(std::abs(Y(i, k) - (X(i, k) - 2 * inner * W[0](i, k))) <= 1e-12 * 500);
    }
  }
}

} // namespace test_backends
