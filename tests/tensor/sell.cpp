// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The format SELL-C-sigma: conversions there and back, transposes, entries by place, patterns compared, and printing.
#include <sstream>

#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/product.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "oracle.hpp"

namespace test_sell {

using namespace sla;

namespace {
/// Rows of lengths 0 to 8 in no order.
sparse_tensor<double> uneven(index_t rows, index_t cols) {
  std::vector<index_t> i, j;
  std::vector<double> v;
  for (index_t r = 0; r < rows; ++r)
    for (index_t n = 0; n < (r * 7 + 3) % 9; ++n) i.push_back(r), j.push_back((r * 5 + n * 11) % cols), v.push_back(double(r + 1) + 0.125 * double(n));
  return from_triplets<double>(rows, cols, i, j, v);
}

template <class S>
void check_format(index_t rows, index_t cols) {
  auto const A = uneven(rows, cols);
  auto const B = to<S>(A);
  CHECK(B.nnz() == A.nnz());
  auto const back = to<Csr<>>(B);
  CHECK(same_pattern(back.pattern(), A.pattern()));
  CHECK(std::equal(back.values().begin(), back.values().end(), A.values().begin()));
  for (index_t i = 0; i < rows; i += 3)
    for (index_t j = 0; j < cols; ++j) {
      CHECK(B(i, j) == A(i, j));
      CHECK((find_slot(B.pattern().view(), i, j) >= 0) == (find_slot(A.pattern().view(), i, j) >= 0));
    }
  index_t entries = 0;
  for (index_t i = 0; i < rows; ++i) {
    CHECK(B.pattern().view().entries_before(i) == entries);
    B.pattern().view().for_row(i, [&](index_t, index_t) { ++entries; });
  }
  CHECK(entries == A.nnz());
  auto const turned = to<Csr<>>(transposed(B)), expected = transposed(A);
  CHECK(same_pattern(turned.pattern(), expected.pattern()));
  CHECK(std::equal(turned.values().begin(), turned.values().end(), expected.values().begin()));
  CHECK(same_pattern(B.pattern(), to<S>(A).pattern()));
  CHECK(same_pattern(B.pattern(), B.pattern().view().borrowed(host_memory{}, B.pattern().slots())));
  auto const coo = to<Coo<>>(B);
  CHECK(to<S>(coo).nnz() == A.nnz());
  CHECK(same_pattern(to<S>(coo).pattern(), B.pattern()));
}
}  // namespace

TEST_CASE("Sell there and back, whatever the chunks and windows") {
  check_format<Sell<>>(300, 40);
  check_format<Sell<4, 8>>(61, 45);
  check_format<Sell<1, 1>>(17, 9);
  check_format<Sell<16, 64, std::int32_t, std::int64_t>>(64, 30);
  check_format<NarrowSell<>>(300, 40);
  check_format<NarrowSell<4, 8>>(61, 45);
  check_format<Sell<2, 6, std::int32_t, std::int64_t, std::uint8_t>>(61, 45);
}

TEST_CASE("Sell sorts rows within windows, so that little is filled up") {
  auto const A = uneven(1000, 50);
  auto const sorted_rows = to<Sell<8, 256>>(A);
  auto const as_they_come = to<Sell<8, 8>>(A);
  CHECK(sorted_rows.pattern().slots() < A.nnz() * 11 / 10);
  CHECK(as_they_come.pattern().slots() > A.nnz() * 15 / 10);
}

TEST_CASE("Sell knows the chunks whose rows have their entries side by side") {
  auto const check = []<class S>(S) {
    auto const B = to<S>(problems::poisson<double>({64}));  // by length: rows 1 to 62, then 0 and 63, which share a chunk with 57 to 62
    auto const run = [run = B.pattern().view().run](index_t chunk, index_t entry) { return run[chunk * 3 + entry]; };
    CHECK(B.pattern().run.size() == 24);
    for (index_t c = 0; c < 7; ++c)
      for (index_t n = 0; n < 3; ++n) CHECK(run(c, n) == 8 * c + n);
    for (index_t n = 0; n < 3; ++n) CHECK(run(7, n) == (std::numeric_limits<typename S::col_type>::max)());
  };
  check(Sell<8, 64>{});
  check(NarrowSell<8, 64>{});
  check(Sell<8, 64, std::uint8_t, std::int32_t>{});
}

TEST_CASE("Sell keeps nothing of chunks side by side where few are so, and multiplies alike") {
  auto const A = uneven(300, 40), B = problems::poisson<double>({40, 30});
  CHECK(to<Sell<>>(A).pattern().run.size() == 0);
  CHECK(to<Sell<>>(A).pattern().view().run == nullptr);
  CHECK(to<Sell<>>(B).pattern().run.size() == to<Sell<>>(B).pattern().slots() / 8);
  auto const x = random<double>(40, 1), y = random<double>(B.cols(), 2);
  CHECK(norm_inf(to<Sell<>>(A) * x - A * x) <= 1e-12 * norm_inf(A * x));
  CHECK(norm_inf(to<Sell<>>(B) * y - B * y) <= 1e-12 * norm_inf(B * y));
}

TEST_CASE("Sell without rows, entries or columns") {
  sparse_tensor<double, Matrix, Sell<>> const none;
  CHECK(none.nnz() == 0);
  auto const empty = to<Sell<>>(from_triplets<double>(5, 0, {}, {}, std::vector<double>{}));
  CHECK(empty.nnz() == 0);
  CHECK(to<Csr<>>(empty).rows() == 5);
}

TEST_CASE("Sell of other entries is another pattern, and prints as Csr does") {
  auto const A = uneven(40, 20);
  auto B = A;
  B = from_triplets<double>(40, 20, {0, 1}, {1, 2}, {1.0, 2.0});
  CHECK(!same_pattern(to<Sell<>>(A).pattern(), to<Sell<>>(B).pattern()));
  std::ostringstream a, b;
  a << B;
  b << to<Sell<>>(B);
  CHECK(!a.str().empty());
  CHECK(b.str().substr(b.str().find('\n')) == a.str().substr(a.str().find('\n')));
}

TEST_CASE("an index type too narrow for Sell is refused by name") {
  CHECK_THROWS_WITH((to<Sell<8, 256, std::int8_t>>(uneven(10, 300))), Catch::Matchers::Contains("std::int64_t"));
}

TEST_CASE("Sell counts columns from the first one of a chunk, in two bytes, where a chunk is not too wide") {
  index_t const n = 200000;  // wider than two bytes can count, but no chunk is
  std::vector<index_t> i, j;
  std::vector<double> v;
  for (index_t r = 0; r < n; ++r)
    for (index_t d : {-30000, -1, 0, 1, 30000})
      if (r + d >= 0 && r + d < n) i.push_back(r), j.push_back(r + d), v.push_back(double(r % 17) + 0.5 * double(d > 0));
  auto const A = from_triplets<double>(n, n, i, j, v);
  auto const B = to<NarrowSell<>>(A);
  auto const back = to<Csr<>>(B);
  CHECK(same_pattern(back.pattern(), A.pattern()));
  CHECK(std::equal(back.values().begin(), back.values().end(), A.values().begin()));
  CHECK(B.bytes() + 3 * std::size_t(B.pattern().slots()) / 2 < to<Sell<>>(A).bytes());  // chunks have a first column besides
  CHECK(same_pattern(to<NarrowSell<>>(B).pattern(), B.pattern()));
  auto const wide = [](index_t last) { return from_triplets<double>(16, 70000, {3, 4}, {100, last}, {1.0, 2.0}); };
  CHECK(to<NarrowSell<>>(wide(65635))(4, 65635) == 2.0);
  CHECK_THROWS_WITH((to<NarrowSell<>>(wide(65636))), Catch::Matchers::Contains("65536 does not fit into std::uint16_t; use the format Sell<Chunk, Window>"));
}

} // namespace test_sell
