// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tests of distributed matrices share: random rectangular matrices, and errors of all thread ranks at once.
#pragma once

#include <string>
#include <vector>

#include <sla/dist/engine/threads.hpp>
#include <sla/tensor/build/build.hpp>
#include <sla/tensor/problems/problems.hpp>

namespace suite {

/// Triplets at random places, with repetitions and empty rows; `seed` tells them apart.
template <class T>
struct random_triplets {
  std::vector<sla::index_t> row, col;
  std::vector<T> value;

  random_triplets(sla::index_t rows, sla::index_t cols, sla::index_t count, unsigned seed, sla::index_t each = 1) {
    auto const where = sla::random<double>({2 * count}, seed);
    sla::vector<T> const numbers = sla::random<T>({count * each}, seed + 1);
    auto const place = [](double at, sla::index_t extent) { return sla::index_t((at + 1) / 2 * double(extent)); };
    for (sla::index_t n = 0; n < count; ++n) {
      row.push_back(place(where[2 * n], rows));
      col.push_back(place(where[2 * n + 1], cols));
    }
    value.assign(numbers.begin(), numbers.end());
  }
};
template <class T>
sla::sparse_tensor<T> scattered(sla::index_t rows, sla::index_t cols, sla::index_t count) {
  random_triplets<T> const t(rows, cols, count, 11);
  return sla::from_triplets<T>(rows, cols, t.row, t.col, t.value);
}

/// f(world) on every rank gives errors: the largest of all.
template <class F>
double largest_error(int ranks, F const& f) {
  double largest = 0;
  for (auto const& rank : sla::threads::run(ranks, f))
    for (double e : rank) largest = e > largest || e != e ? e : largest;
  return largest;
}

/// The words of the sla::error that f(world) throws on each rank; "" where it throws none.
template <class F>
std::vector<std::string> words_of(int ranks, F const& f) {
  return sla::threads::run(ranks, [&](auto& world) {
    try {
      f(world);
    } catch (sla::error const& e) {
      return std::string(e.what());
    }
    return std::string();
  });
}

} // namespace suite
