// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an iteration of LSMR takes beside its two products, A v and A^H u, on one thread, of a matrix in a cache and of one in
// memory, and of the latter with its stored adjoint.      least_squares [repetitions]
#include <sla/expr/sparse/with_adjoint.hpp>
#include <sla/least_squares.hpp>

#include "table.hpp"

namespace {
using namespace sla;

/// Rows of five random entries.
sparse_tensor<double> tall(index_t rows, index_t cols) {
  std::vector<index_t> i, j;
  std::vector<double> v;
  std::uint64_t state = 1;
  for (index_t r = 0; r < rows; ++r)
    for (int k = 0; k < 5; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      i.push_back(r), j.push_back(index_t((state >> 33) % std::uint64_t(cols))), v.push_back(double(state >> 40) / double(1 << 24) - 0.5);
    }
  return from_triplets<double>(rows, cols, i, j, v);
}

/// A row of the table: an iteration, from the times of many and of few, beside the two products, in turn.
template <class A>
void measure(bench::table& out, std::string const& name, A const& a, int repetitions, int iterations) {
  auto const b = random<double>(a.rows(), 1);
  auto u = b;
  auto v = random<double>(a.cols(), 2);
  int const few = 5;
  auto const solve = [&](int count) {
    auto const s = try_least_squares(a, b, lsmr{.rtol = 0, .max_iterations = count});
    if (s.report.iterations() != count) throw value_error("least_squares: it took other iterations than it was asked for");
  };
  auto const products = [&] {
    for (int k = 0; k < iterations; ++k) {
      fuse(set(u, a * v));
      fuse(set(v, adjoint(a) * u));
      v = (1 / norm(v)) * v;  // or numbers would leave the range of double
    }
  };
  auto const scaling = [&] {
    for (int k = 0; k < iterations; ++k) v = (1 / norm(v)) * v;
  };
  solve(few), products();
  bench::samples ours, theirs;
  for (int k = 0; k < repetitions; ++k) {
    double const short_one = bench::cpu_seconds([&] { solve(few); }), long_one = bench::cpu_seconds([&] { solve(few + iterations); });
    ours.add((long_one - short_one) / iterations);
    theirs.add((bench::cpu_seconds(products) - bench::cpu_seconds(scaling)) / iterations);
  }
  bench::samples const ratio = ours / theirs;
  out.row({name, bench::spread(ours, 3, 1e3) + " ms", bench::spread(theirs, 3, 1e3) + " ms", bench::spread(ratio, 2), text("<= 1.5", ratio.median() <= 1.5 ? ": met" : ": missed")});
}
} // namespace

int main(int argc, char** argv) {
  int const repetitions = int(bench::argument(argc, argv, 1, 15));
  set_threads(1);
  bench::heading("Least squares");
  std::cout << "An iteration of lsmr{}, double, one thread, seconds of processor, beside A v and A^H u.\n\n";
  bench::table out({"", "an iteration", "two products", "ratio", "target"});
  measure(out, "well1850", read_matrix_market<double>(SLA_BENCH_DATA "/well1850.mtx"), repetitions, 200);
  auto const A = tall(1000000, 400000);
  measure(out, "1000000 x 400000, five entries in a row", A, repetitions, 10);
  measure(out, "the same, with_adjoint(A)", with_adjoint(A), repetitions, 10);
}
