// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Assembly from the triplets of all ranks, bit by bit that of one rank, and the memory that it takes of each.
#include <complex>
#include <cstdlib>
#include <new>

#include <sla/dist/assembly/assemble.hpp>
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/partition/rcb.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

using namespace sla;
using Line = mesh<axis<"line">>;

namespace {
// What this thread has taken from the heap and not given back, and the most of it: a rank is a thread.
thread_local std::ptrdiff_t heap_now = 0, heap_peak = 0;
struct alignas(std::max_align_t) heap_header {
  std::size_t bytes;
};
void* take(std::size_t bytes) noexcept {
  void* const p = std::malloc(bytes + sizeof(heap_header));
  if (!p) return nullptr;
  heap_now += std::ptrdiff_t(bytes);
  heap_peak = heap_now > heap_peak ? heap_now : heap_peak;
  return new (p) heap_header{bytes} + 1;
}
void* take_or_throw(std::size_t bytes) {
  if (void* const p = take(bytes)) return p;
  throw std::bad_alloc();
}
void give(void* p) noexcept {
  if (!p) return;
  auto* const header = static_cast<heap_header*>(p) - 1;
  heap_now -= std::ptrdiff_t(header->bytes);
  std::free(header);
}
} // namespace

// All of them, and weak: a sanitizer that brings its own keeps them, and then tensors alone are counted.
[[gnu::weak]] void* operator new(std::size_t bytes) { return take_or_throw(bytes); }
[[gnu::weak]] void* operator new[](std::size_t bytes) { return take_or_throw(bytes); }
[[gnu::weak]] void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept { return take(bytes); }
[[gnu::weak]] void* operator new[](std::size_t bytes, std::nothrow_t const&) noexcept { return take(bytes); }
[[gnu::weak]] void operator delete(void* p) noexcept { give(p); }
[[gnu::weak]] void operator delete[](void* p) noexcept { give(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t) noexcept { give(p); }
[[gnu::weak]] void operator delete[](void* p, std::size_t) noexcept { give(p); }
[[gnu::weak]] void operator delete(void* p, std::nothrow_t const&) noexcept { give(p); }
[[gnu::weak]] void operator delete[](void* p, std::nothrow_t const&) noexcept { give(p); }

namespace {
/// Pattern and values are the same, to the last bit.
template <class A>
bool same(A const& a, A const& b) {
  return a.shape() == b.shape() && same_pattern(a.pattern(), b.pattern()) &&
         std::equal(a.values().begin(), a.values().end(), b.values().begin(), b.values().end());
}

/// Rank r's triplets have the seed r; from_triplets sees all of them in rank order.
template <class T, class S>
bool assembles(int ranks, S const& shape, index_t count) {
  constexpr index_t block = S::block_rows * S::block_cols;
  index_t const batch = shape.batch_count();
  auto const of_rank = [&](int r) {
    return suite::random_triplets<T>(shape.rows(), shape.cols(), r == 1 ? 0 : count, unsigned(10 * r + 1), batch * block);
  };
  std::vector<index_t> row, col;
  for (int r = 0; r < ranks; ++r) {
    auto const t = of_rank(r);
    row.insert(row.end(), t.row.begin(), t.row.end());
    col.insert(col.end(), t.col.begin(), t.col.end());
  }
  std::vector<T> value;
  for (index_t b = 0; b < batch; ++b)
    for (int r = 0; r < ranks; ++r) {
      auto const t = of_rank(r);
      auto const each = std::ptrdiff_t(t.row.size()) * block;
      value.insert(value.end(), t.value.begin() + b * each, t.value.begin() + (b + 1) * each);
    }
  auto const expected = from_triplets<T>(shape, row, col, value);
  auto const bad = threads::run(ranks, [&](auto& world) {
    Line m(world);
    auto const t = of_rank(world.rank());
    auto const D = assemble<SparseShard<0>>(m, shape, t.row, t.col, t.value);
    static_assert(has_placements<decltype(D), SparseShard<0>>);
    auto const E = assemble<SparseShard<0>>(m, shape, t.row, t.col, t.value, suite::scattered_owners(shape.rows(), ranks));
    return int(!same(gather(D), expected) || !same(gather(E), expected)); // run gives the largest
  });
  return bad == 0;
}
} // namespace

TEST_CASE("triplets of all ranks give the bits of one rank") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  CHECK(assembles<double>(ranks, Matrix(40, 40), 150));
  CHECK(assembles<double>(ranks, Matrix(7, 60), 40));
  CHECK(assembles<double>(ranks, Matrix(3, 2), 5));
}

TEST_CASE("batches of complex blocks are assembled") {
  CHECK(assembles<std::complex<double>>(3, Shape<Batch<2>, dyn, dyn, Block<2, 2>>({}, 20, 20), 60));
}

TEST_CASE("rows lie as a layout says, and what lies alike multiplies") {
  auto const A = problems::convection_diffusion<double>({8, 7}, {2.0, 1.0});
  auto const x = random<double>({56}, 1);
  vector<double> const y = A * x;
  double const error = suite::largest_error(3, [&](auto& world) {
    Line m(world);
    auto D = distribute<SparseShard<0>>(A, m, suite::scattered_owners(56, world.size()));
    std::vector<index_t> i, j; // each rank gives a third of the entries, of any rows
    std::vector<double> v;
    for (index_t row = 0; row < 56; ++row)
      A.pattern().view().for_row(row, [&](index_t s, index_t col) {
        if (s % world.size() != world.rank()) return;
        i.push_back(row), j.push_back(col), v.push_back(A.values()[s]);
      });
    auto E = assemble<SparseShard<0>>(m, 56, 56, i, j, v, D.row_layout());
    auto F = assemble<SparseShard<0>>(m, 56, 56, i, j, v, rcb{suite::grid_coordinates({8, 7})}); // the entries are not counted yet
    auto dx = distribute(x, D.row_layout());
    return std::array<double, 3>{norm(gather(E * dx) - y), norm((E * dx).evaluated() - (D * dx).evaluated()),
                                 norm(gather(F * distribute(x, F.col_layout())) - y)};
  });
  CHECK(error < 1e-12);
}

TEST_CASE("a vector in the numbering of another matrix is refused, and a layout makes them alike") {
  auto const A = problems::poisson<double>({8, 8});
  auto const B = problems::poisson<double>({64});
  auto const x = random<double>({64}, 1);
  vector<double> const y = B * x;
  auto const words = suite::words_of(3, [&](auto& world) { // equal strips of both, in other orders
    Line m(world);
    auto D = distribute<SparseShard<0>>(A, m, equal_rows{});
    auto E = distribute<SparseShard<0>>(B, m, equal_rows{});
    auto const dx = distribute(x, D.row_layout());
    auto F = distribute<SparseShard<0>>(B, m, D.row_layout());
    if (norm((gather(F * dx) - y)) > 1e-12) throw value_error("wrong product");
    eval(E * dx);
  });
  for (auto const& w : words) CHECK(w.find("x was sharded by another partition than A's columns") != std::string::npos);
}

TEST_CASE("no rank holds the whole matrix") {
  index_t const n = 20000;
  auto const peak = [&](int ranks) {
    auto const peaks = threads::run(ranks, [&](auto& world) {
      Line m(world);
      std::vector<index_t> i, j; // rank r has the columns that are r in the rotation: most rows are others'
      std::vector<double> v;
      for (index_t k = world.rank(); k < n; k += world.size())
        for (index_t d : {-1, 0, 1})
          if (k + d >= 0 && k + d < n) i.push_back(k + d), j.push_back(k), v.push_back(double(d));
      auto const before = heap_now;
      heap_peak = heap_now;
      auto const D = assemble<SparseShard<0>>(m, n, n, i, j, v);
      return std::size_t(heap_peak - before) + D.local().bytes();
    });
    return double(*std::max_element(peaks.begin(), peaks.end()));
  };
  memory_peak_reset();
  auto const tensors_before = double(memory_in_use().now);
  double const two = peak(2), eight = peak(8);
  double const triplets = 3.0 * double(n) * 24;
  CHECK(eight < 0.3 * two);
  CHECK(eight < 0.75 * triplets);
  CHECK(double(memory_in_use().peak) - tensors_before < 2 * triplets); // tensors of all ranks together
}

TEST_CASE("bad triplets are refused on every rank, by rank, triplet and value") {
  std::vector<index_t> const i{0, 1, 2}, j{0, 1, 2}, bad{0, 7, 1}, few{0, 1};
  std::vector<double> const v{1, 2, 3};
  auto const heard = [&](auto const& f) {
    auto const words = suite::words_of(3, [&](auto& world) {
      Line m(world);
      f(m, world.rank());
    });
    std::string all;
    for (auto const& w : words) all += (w.empty() ? "nothing" : w) + "\n";
    return all;
  };
  auto const on_rank_1 = heard([&](auto& m, int r) { assemble<SparseShard<0>>(m, 4, 4, r == 1 ? bad : i, j, v); });
  CHECK(on_rank_1.find("nothing") == std::string::npos);
  CHECK(on_rank_1.find("assemble on rank 1: triplet 1: row 7 of a 4 x 4 matrix") != std::string::npos);
  CHECK(heard([&](auto& m, int r) { assemble<SparseShard<0>>(m, 4, 4, i, r == 2 ? few : j, v); })
            .find("assemble on rank 2: triplets of 3 row indices, 2 column indices") != std::string::npos);
  CHECK(heard([&](auto& m, int r) { assemble<SparseShard<0>>(m, 4 + r, 4, i, j, v); }).find("rank 1 has 1, 5, 4") !=
        std::string::npos);
  CHECK(heard([&](auto& m, int) {
          auto D = distribute<SparseShard<0>>(problems::poisson<double>({6}), m);
          assemble<SparseShard<0>>(m, 4, 4, i, j, v, D.row_layout());
        }).find("the layout shards 6 rows, and the matrix has 4") != std::string::npos);
  CHECK(heard([&](auto& m, int r) {
          std::vector<double> const w{1, r == 0 ? std::nan("") : 2.0, 3};
          assemble<SparseShard<0>>(m, 4, 4, i, j, w, equal_rows{}, {.refuse_nonfinite = true});
        }).find("assemble on rank 0: triplet 1: the value at row 1, column 1 is nan") != std::string::npos);
}
