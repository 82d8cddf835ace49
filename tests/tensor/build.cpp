// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Assembly from triplets against a dense sum.
#include "catch.hpp"
#include "oracle.hpp"

#include <array>
#include <complex>
#include <limits>

namespace test_build {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("triplets become the matrix of their sums, in every format") {
  for (std::uint64_t seed : {1, 2, 3}) {
    random_triplets const t(23, 17, 150, seed);
    CHECK(equals(t.build(), t.dense()));
    CHECK(equals(t.build<float>(), t.dense()));
    CHECK(equals(t.build<std::complex<double>, Csr<std::int32_t, std::int64_t>>(), t.dense()));
    CHECK(equals(t.build<double, Coo<std::int64_t>>(), t.dense()));
    CHECK(equals(t.build<double, Dia>(), t.dense()));
    CHECK(has_sorted_columns(t.build().pattern()));
    CHECK(has_sorted_columns(t.build<double, Coo<>>().pattern()));
  }
}

TEST_CASE("braces, arrays and other integers are triplets too") {
  auto A = from_triplets<double>(2, 2, {0, 1, 1, 0}, {0, 0, 1, 0}, {4.0, -1.0, 4.0, 0.5});
  CHECK(A.nnz() == 3);
  CHECK(equals(A, std::vector<double>{4.5, 0, -1, 4}));
  auto B = from_triplets<float>(2, 3, std::array<unsigned char, 2>{1, 0}, std::vector<std::uint64_t>{2, 0},
                                std::array<int, 2>{7, 8});
  CHECK(equals(B, std::vector<double>{8, 0, 0, 0, 0, 7}));
}

TEST_CASE("assembly does not depend on the number of threads, bit for bit") {
  random_triplets t(2000, 1500, 60000, 5);
  for (double& v : t.value) v = v / 7 + 1e-3;
  set_threads(1);
  auto const one = t.build();
  for (int threads : {2, 3, 7}) {
    set_threads(threads);
    auto const many = t.build();
    CHECK(std::equal(one.values().begin(), one.values().end(), many.values().begin(), many.values().end()));
    CHECK(std::equal(one.pattern().col.begin(), one.pattern().col.end(), many.pattern().col.begin(),
                     many.pattern().col.end()));
  }
  set_threads(0);
  auto const dense = t.dense();
  for (index_t i = 0; i < t.rows; i += 97)
    one.pattern().view().for_row(
        i, [&](index_t s, index_t j) { CHECK(one.values()[s] == dense[std::size_t(i * t.cols + j)]); });
}

TEST_CASE("blocks and batches") {
  Shape<Batch<2>, dyn, dyn, Block<2, 3>> shape({2}, 2, 2);
  std::vector<int> row{1, 0, 1}, col{0, 1, 0};
  std::vector<double> values;
  for (int k = 0; k < 2 * 3 * 6; ++k) values.push_back(k);
  auto A = from_triplets<double>(shape, row, col, values);
  REQUIRE(A.nnz() == 2);
  std::vector<double> expected(2 * 4 * 6);
  for (int b = 0; b < 2; ++b)
    for (int k = 0; k < 3; ++k)
      for (int p = 0; p < 2; ++p)
        for (int q = 0; q < 3; ++q)
          expected[std::size_t((b * 4 + row[std::size_t(k)] * 2 + p) * 6 + col[std::size_t(k)] * 3 + q)] +=
              values[std::size_t(((b * 3 + k) * 2 + p) * 3 + q)];
  CHECK(equals(A, expected));
  auto D = from_triplets<double, Dia>(shape, row, col, values);
  CHECK(equals(D, expected));
  CHECK_THROWS_WITH((from_triplets<double>(shape, row, col, std::vector<double>(35))),
                    ContainsSubstring("batch x block = 12"));
}

TEST_CASE("a builder collects entries and element matrices") {
  triplets<double> t(3, 3);
  t.reserve(8);
  t.add(0, 0, 1.0);
  for (int e = 0; e < 2; ++e) t.add_block(std::array{e, e + 1}, std::array{e, e + 1}, {1.0, -1.0, -1.0, 1.0});
  CHECK(t.size() == 9);
  CHECK(equals(t.build(), std::vector<double>{2, -1, 0, -1, 2, -1, 0, -1, 1}));
  CHECK(equals(t.build<Coo<>>(), std::vector<double>{2, -1, 0, -1, 2, -1, 0, -1, 1}));
  CHECK_THROWS_AS(t.add_block({0}, {0, 1}, {1.0}), shape_error);
  t.add_block({2}, {0, 2}, {5.0, 6.0});
  CHECK(equals(t.build(), std::vector<double>{2, -1, 0, -1, 2, -1, 5, -1, 7}));
}

TEST_CASE("empty matrices and empty rows") {
  std::vector<int> none;
  std::vector<double> values;
  auto A = from_triplets<double>(0, 0, none, none, values);
  CHECK(A.nnz() == 0);
  CHECK(to_dense(A).size() == 0);
  auto B = from_triplets<double, Dia>(3, 0, none, none, values);
  CHECK(B.rows() == 3);
  auto C = from_triplets<double, Coo<>>(4, 4, {3}, {0}, {1.0});
  CHECK(C.nnz() == 1);
}

TEST_CASE("wrong triplets are refused with their place") {
  auto build = [](std::vector<int> row, std::vector<int> col, std::vector<double> v) {
    from_triplets<double>(3, 2, row, col, v);
  };
  CHECK_THROWS_AS(build({0, 3}, {0, 0}, {1, 1}), index_error);
  CHECK_THROWS_WITH(build({0, 3}, {0, 0}, {1, 1}),
                    ContainsSubstring("triplet 1: row 3 of a 3 x 2 matrix") && ContainsSubstring("count from 0"));
  CHECK_THROWS_WITH(build({0, 1, 2}, {0, -1, 7}, {1, 1, 1}),
                    ContainsSubstring("triplet 1: column -1 of a 3 x 2 matrix"));
  CHECK_THROWS_AS(build({0, 1}, {0}, {1, 1}), shape_error);
  CHECK_THROWS_WITH(build({0, 1}, {0, 1}, {1}), ContainsSubstring("2 row indices, 2 column indices and 1 values"));
  CHECK_THROWS_AS((from_triplets<double>(-1, 2, {0}, {0}, {1.0})), shape_error);
  CHECK_THROWS_WITH((from_triplets<double>(3, 3, std::vector<std::uint64_t>{~0ull}, std::vector<int>{0}, {1.0})),
                    ContainsSubstring("row -1"));
}

TEST_CASE("extents and batches beyond what can be counted are refused") {
  constexpr index_t huge = (std::numeric_limits<index_t>::max)();
  using F = Csr<std::int64_t>;
  CHECK_THROWS_WITH((from_triplets<double, F>(huge, 1, {0}, {0}, {1.0})), ContainsSubstring("a matrix of 9223372036854775807 x 1: rows and columns are at most 2^62 - 1"));
  CHECK_THROWS_AS((from_triplets<double, Dia>(1, huge, {0}, {0}, {1.0})), shape_error);
  CHECK_THROWS_AS((Shape<Batch<>, dyn, dyn, Block<3, 3>>(huge / 4, 1)), shape_error);
  using S = Shape<Batch<dyn>, dyn, dyn, Block<>>;
  S const shape({index_t(1) << 62}, 2, 2);
  std::vector<int> const row{0, 0, 1, 1}, col{0, 1, 0, 1};
  CHECK_THROWS_WITH(from_triplets<double>(shape, row, col, std::vector<double>{}), ContainsSubstring("more elements than std::int64_t counts"));
  auto const A = from_triplets<double>(2, 2, row, col, std::vector<double>(4, 1.0));
  CHECK_THROWS_AS((sparse_tensor<double, S>(shape, A.shared_pattern())), shape_error);
  CHECK_THROWS_AS((sparse_tensor<double, S>(shape, A.shared_pattern(), buffer<double>(0))), shape_error);
}

TEST_CASE("NaN and infinity are refused on request") {
  double const nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CHECK_NOTHROW(from_triplets<double>(2, 2, {0, 1}, {0, 1}, {1.0, nan}));
  assembly const strict{.refuse_nonfinite = true};
  CHECK_NOTHROW(from_triplets<double>(2, 2, {0, 1}, {0, 1}, {1.0, 2.0}, strict));
  CHECK_THROWS_AS(from_triplets<double>(2, 2, {0, 1}, {0, 1}, {1.0, nan}, strict), value_error);
  CHECK_THROWS_WITH(from_triplets<double>(2, 2, {0, 1}, {0, 1}, {1.0, inf}, strict),
                    ContainsSubstring("triplet 1: the value at row 1, column 1 is inf"));
  CHECK_THROWS_WITH(
      from_triplets<std::complex<float>>(2, 2, {0, 1}, {0, 1}, {1.0f, std::complex<float>(0, float(inf))}, strict),
      ContainsSubstring("row 1, column 1"));
}

TEST_CASE("more entries than the index type counts: the message names the type to use") {
  index_t const n = 40000;
  std::vector<index_t> diagonal(std::size_t(n), 0);
  std::vector<double> values(std::size_t(n), 1.0);
  for (index_t k = 0; k < n; ++k) diagonal[std::size_t(k)] = k % 200;
  std::vector<index_t> row(std::size_t(n), 0);
  for (index_t k = 0; k < n; ++k) row[std::size_t(k)] = k / 200;
  CHECK_THROWS_WITH((from_triplets<double, Csr<std::int16_t>>(200, 200, row, diagonal, values)),
                    ContainsSubstring("the number of entries, 40000 does not fit into std::int16_t; use the format "
                                      "Csr<std::int32_t, std::int64_t>"));
  CHECK((from_triplets<double, Csr<std::int16_t, std::int32_t>>(200, 200, row, diagonal, values).nnz() == n));
  CHECK_THROWS_WITH((from_triplets<double, Csr<std::int16_t>>(1, 40000, {0}, {39999}, {1.0})),
                    ContainsSubstring("the number of columns, 40000") && ContainsSubstring("Csr<std::int64_t>"));
  CHECK_THROWS_WITH(
      detail::narrowed<std::int32_t>(5'000'000'000, "the number of entries,", "Csr<std::int32_t, std::int64_t>"),
      ContainsSubstring("5000000000 does not fit into std::int32_t"));
}

} // namespace test_build
