// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thousand random programs of collectives on thread ranks: every bit is that of the specification on lists, folded in
// the order of the ranks, with late messages too.
#include <cstdint>

#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"
#include "suites/communicator.hpp"

namespace test_random_programs {
namespace {

using namespace sla;
using numbers = std::vector<double>;
using list = suite::list<double>;

constexpr std::size_t length = 12; // a multiple of all numbers of ranks

struct random_numbers {
  std::uint64_t state;
  int below(int n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<int>((state >> 20) % static_cast<std::uint64_t>(n));
  }
};
struct call {
  int what = 0, root = 0;
  monoid how = monoid::sum;
};
std::vector<call> program(int number, int ranks) {
  random_numbers draw{0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(number + 1)};
  constexpr monoid folds[] = {monoid::sum, monoid::maximum, monoid::minimum, monoid::average};
  std::vector<call> calls;
  for (int n = 1 + draw.below(6); n > 0; --n) calls.push_back({draw.below(5), draw.below(ranks), folds[draw.below(4)]});
  return calls;
}
numbers first(int number, int rank) {
  random_numbers draw{0xd1342543de82ef95ULL * static_cast<std::uint64_t>(number * 8 + rank + 1)};
  numbers x(length);
  for (double& v : x) v = (draw.below(2001) - 1000) / 7.0; // sums of these round
  return x;
}
/// Between two calls every rank works on its own numbers.
void work(numbers& x, int rank) {
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = x[k] / 3 + 0.1 * rank + static_cast<double>(k) / 11;
}

/// The same on the list of what all ranks hold.
void take(list& xs, call const& c) {
  auto const ranks = xs.size(), piece = length / ranks;
  auto const before = xs;
  auto const total = suite::folded(xs, c.how);
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::size_t k = 0; k < length; ++k) {
      auto const from = k / piece, at = k % piece;
      switch (c.what) {
      case 0:
        xs[r][k] = total[k];
        break;
      case 1:
        xs[r][k] = before[suite::at(c.root)][k];
        break;
      case 2: // the first piece of each rank, everywhere
        xs[r][k] = before[from][at];
        break;
      case 3: // the total, sharded; the rest of x stays
        if (k < piece) xs[r][k] = total[r * piece + k];
        break;
      default:
        xs[r][k] = before[from][r * piece + at];
      }
    }
}
void take(any_communicator& world, numbers& x, call const& c) {
  auto const ranks = suite::at(world.size()), piece = length / ranks;
  suite::lengths const equal(ranks, piece);
  auto const all = std::span<double const>(x);
  numbers y(length);
  switch (c.what) {
  case 0:
    all_reduce(world, std::span<double>(x), c.how);
    return;
  case 1:
    broadcast(world, std::span<double>(x), c.root);
    return;
  case 2:
    all_gather(world, all.first(piece), std::span<double>(y), equal);
    break;
  case 3:
    y = x;
    reduce_scatter(world, all, std::span<double>(y).first(piece), equal, c.how);
    break;
  default:
    all_to_all(world, all, equal, std::span<double>(y), equal);
  }
  x = y;
}

void compare(int first_program, int last, int ranks, threads::options how) {
  auto const results = threads::run(ranks, how, [&](auto& world) {
    auto const c = erase(world);
    list ends;
    for (int number = first_program; number < last; ++number) {
      auto x = first(number, c->rank());
      for (auto const& step : program(number, ranks)) take(*c, x, step), work(x, c->rank());
      ends.push_back(x);
    }
    return ends;
  });
  int wrong = 0;
  for (int number = first_program; number < last; ++number) {
    list xs;
    for (int r = 0; r < ranks; ++r) xs.push_back(first(number, r));
    for (auto const& step : program(number, ranks)) {
      take(xs, step);
      for (int r = 0; r < ranks; ++r) work(xs[suite::at(r)], r);
    }
    for (int r = 0; r < ranks; ++r)
      wrong += !suite::same_bits(results[suite::at(r)][suite::at(number - first_program)], xs[suite::at(r)]);
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("a thousand random programs have the bits of the specification") {
  compare(0, 400, 2, {});
  compare(400, 800, 3, {});
  compare(800, 1000, 4, {});
  compare(400, 420, 3, {.delay = std::chrono::microseconds(200)});
}

} // namespace test_random_programs
