// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between formats, index widths and scalars; diagonals; searching rows.
#include "catch.hpp"
#include "oracle.hpp"

#include <complex>

#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/build/sell.hpp>
#include <sla/tensor/algebra/diagonal.hpp>
#include <sla/tensor/problems/problems.hpp>

namespace test_convert {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

template <class F>
void converts_from(random_triplets const& t) {
  auto const A = t.build<double, F>();
  auto const expected = t.dense();
  CHECK(equals(to<Csr<>>(A), expected));
  CHECK(equals(to<Csr<std::int32_t, std::int64_t>>(A), expected));
  CHECK(equals(to<Coo<>>(to_dense(A)), expected));
  CHECK(equals(to<Csr<std::int64_t>>(A), expected));
  CHECK(equals(to<Coo<>>(A), expected));
  CHECK(equals(to<Coo<std::int64_t>>(A), expected));
  CHECK(equals(to<Dia>(A, dia_limit{100}), expected));
  CHECK(equals(to<Dia>(to_batch<2>(A), dia_limit{100}), std::vector<double>([&] {
                 auto twice = expected;
                 twice.insert(twice.end(), expected.begin(), expected.end());
                 return twice;
               }())));
  CHECK(equals(to<host_memory>(A), expected));
}

TEST_CASE("every format converts to every other") {
  for (auto [rows, cols] : {std::pair{12, 12}, {9, 14}, {14, 9}}) {
    random_triplets const t(rows, cols, 40, std::uint64_t(rows));
    converts_from<Csr<>>(t);
    converts_from<Csr<std::int16_t, std::int64_t>>(t);
    converts_from<Coo<>>(t);
    converts_from<Dia>(t);
  }
}

TEST_CASE("diagonals are found in the memory of the entries, whatever the extents") {
  index_t const cols = 1'000'000'000'000'000;
  std::vector<index_t> const row{0, 0, 1, 2, 2, 3, 4, 4}, col{0, 700, 701, 2, cols - 1, 703, 4, 704};
  std::vector<double> const value{1, 2, 3, 4, 5, 6, 7, 8};
  auto const A = from_triplets<double, Csr<std::int64_t>>(5, cols, row, col, value);
  memory_peak_reset();
  auto const before = memory_in_use().peak;
  auto const D = to<Dia>(A);
  CHECK(memory_in_use().peak < before + 10'000);
  CHECK(D.pattern().offset.size() == 3);
  CHECK(D.nnz() == 5 + 5 + 3);
  for (std::size_t k = 0; k < row.size(); ++k) CHECK(D.values()[find_slot(D.pattern().view(), row[k], col[k])] == value[k]);
  CHECK_THROWS_WITH(to<Dia>(from_triplets<double, Csr<std::int64_t>>(5000, cols, {0, 1, 2}, {5, 6, 7}, {1.0, 2.0, 3.0})),
                    ContainsSubstring("1 diagonals x 5000 rows for 3 entries"));
}

TEST_CASE("the index type of Coo counts entries in conversions as in assembly") {
  std::vector<index_t> row, col;
  for (index_t k = 0; k < 40000; ++k) row.push_back(k / 200), col.push_back(k % 200);
  std::vector<double> const value(row.size(), 1.0);
  auto const A = from_triplets<double>(200, 200, row, col, value);
  CHECK_THROWS_WITH(to<Coo<std::int16_t>>(A), ContainsSubstring("the number of entries, 40000 does not fit into std::int16_t"));
  CHECK_THROWS_WITH((from_triplets<double, Coo<std::int16_t>>(200, 200, row, col, value)), ContainsSubstring("the number of entries, 40000 does not fit into std::int16_t"));
}

TEST_CASE("a conversion in place shares the pattern") {
  auto const A = random_triplets(10, 10, 30, 1).build();
  CHECK(to<Csr<>>(A).shared_pattern() == A.shared_pattern());
  CHECK(cast<float>(A).shared_pattern() == A.shared_pattern());
}

TEST_CASE("large conversions run in parallel and agree") {
  auto A = problems::poisson<double>({200, 200});
  for (index_t s = 0; s < A.nnz(); ++s) A.values()[s] = double(s + 1);
  auto const back = to<Csr<>>(to<Dia>(A));
  auto const view = back.pattern().view();
  bool agree = true;
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) {
      index_t const at = find_slot(view, i, j);
      agree = agree && at >= 0 && back.values()[at] == A.values()[s];
    });
  CHECK(agree);
}

TEST_CASE("Dia is refused where it would be mostly zeros") {
  std::vector<int> at;
  for (int k = 0; k < 300; ++k) at.push_back(k);
  std::vector<int> other(at.rbegin(), at.rend());
  auto A = from_triplets<double>(300, 300, at, other, std::vector<double>(300, 1.0));
  CHECK_THROWS_AS(to<Dia>(A), shape_error);
  CHECK_THROWS_WITH(to<Dia>(A), ContainsSubstring("300 diagonals x 300 rows for 300 entries") &&
                                    ContainsSubstring("dia_limit{300}"));
  CHECK(to<Dia>(A, dia_limit{300}).pattern().offset.size() == 300);
}

TEST_CASE("narrow index types are refused by name") {
  auto A = from_triplets<double>(40000, 2, {39999}, {1}, {1.0});
  CHECK_THROWS_WITH(to<Coo<std::int16_t>>(A),
                    ContainsSubstring("the number of rows, 40000") && ContainsSubstring("Coo<std::int64_t>"));
}

TEST_CASE("casts round values and keep the pattern") {
  auto const A = from_triplets<double>(1, 2, {0, 0}, {0, 1}, {0.1, 2.0});
  auto const f = cast<float>(A);
  CHECK(f.values()[0] == 0.1f);
  CHECK(cast<double>(f).values()[0] == double(0.1f));
  CHECK(cast<std::complex<double>>(A).values()[1] == std::complex<double>(2.0));
  CHECK(cast<std::complex<float>>(cast<std::complex<double>>(A)).values()[1] == std::complex<float>(2.0));
  vector<double> const x{0.1, 0.2};
  CHECK(cast<float>(x)[1] == 0.2f);
  CHECK(to<host_memory>(x)[1] == 0.2);
}

TEST_CASE("diagonals and their places") {
  random_triplets const t(9, 9, 30, 4);
  auto const dense = t.dense();
  auto const A = t.build();
  auto const d = diagonal_of(A);
  auto const at = diagonal_positions(A.pattern());
  for (index_t i = 0; i < 9; ++i) {
    CHECK(d[i] == dense[std::size_t(i * 9 + i)]);
    CHECK(at[i] == find_slot(A.pattern().view(), i, i));
    CHECK((at[i] < 0 ? 0.0 : A.values()[at[i]]) == d[i]);
  }
  auto const tall = random_triplets(12, 7, 40, 5);
  CHECK(diagonal_of(tall.build<double, Dia>()).size() == 12);
  CHECK(diagonal_of(tall.build<double, Coo<>>())[6] == tall.dense()[6 * 7 + 6]);

  auto const blocked = to_batch<2>(to_blocks<3, 3>(A));
  auto const db = diagonal_of(blocked);
  static_assert(std::same_as<std::remove_cvref_t<decltype(db)>::extents_type, Extents<2, dyn, 3>>);
  for (index_t b = 0; b < 2; ++b)
    for (index_t i = 0; i < 9; ++i) CHECK(db(b, i / 3, i % 3) == d[i]);
}

TEST_CASE("entries are found in every format") {
  random_triplets const t(15, 11, 60, 6);
  auto const dense = t.dense();
  auto found = [&](auto const& A) {
    bool all = true;
    for (index_t i = 0; i < 15; ++i)
      for (index_t j = 0; j < 11; ++j) {
        index_t const s = find_slot(A.pattern().view(), i, j);
        all = all && (s < 0 ? 0.0 : A.values()[s]) == dense[std::size_t(i * 11 + j)];
      }
    return all;
  };
  CHECK(found(t.build()));
  CHECK(found(t.build<double, Coo<>>()));
  CHECK(found(t.build<double, Dia>()));
}

TEST_CASE("A(i, j) is to_dense(A)(i, j)") {
  random_triplets const t(15, 12, 60, 6);
  auto agrees = [](auto const& A) {
    auto const dense = to_dense(A);
    bool all = true;
    for (index_t i = 0; i < dense.extent(0); ++i)
      for (index_t j = 0; j < dense.extent(1); ++j) all = all && A(i, j) == dense(i, j);
    return all;
  };
  auto const A = t.build();
  CHECK(agrees(A));
  CHECK(agrees(to<Coo<>>(A)));
  CHECK(agrees(to<Dia>(A)));
  CHECK(agrees(to_blocks<3, 4>(A)));
  // repeated entries, columns in any order
  std::vector<int> const row_ptr{0, 3, 4}, col{1, 0, 1, 2};
  std::vector<double> const values{1.0, 2.0, 4.0, 8.0};
  auto const borrowed = borrow_csr(2, 3, row_ptr, col, values);
  CHECK(borrowed(0, 1) == 5);
  CHECK(agrees(borrowed));

  auto batch = to_batch(to_batch<2>(to_blocks<3, 2>(A)), 3);
  for (index_t n = 0; n < batch.values().size(); ++n) batch.values()[n] += double(n);
  auto const dense = to_dense(batch);
  bool all = true;
  for (index_t n = 0; n < dense.size(); ++n) all = all && batch(n / 360, n / 180 % 2, n / 12 % 15, n % 12) == dense[n];
  CHECK(all);

  CHECK_THROWS_WITH(A(15, 0), ContainsSubstring("row 15 of a 15 x 12 matrix") && ContainsSubstring("(indices count from 0)"));
  CHECK_THROWS_WITH(A(0, -1), ContainsSubstring("column -1 of a 15 x 12 matrix"));
  CHECK_THROWS_AS(batch(3, 0, 0, 0), index_error);
}

TEST_CASE("each entry is visited, row by row, and gives the matrix back") {
  random_triplets const t(15, 12, 60, 6);
  auto const expected = t.dense();
  auto const check = [&](auto const& A, index_t visits) {
    std::vector<index_t> i, j;
    std::vector<double> v;
    for_each_entry(A, [&](index_t row, index_t column, double value) { i.push_back(row), j.push_back(column), v.push_back(value); });
    CHECK(std::is_sorted(i.begin(), i.end()));
    CHECK(index_t(v.size()) == visits);
    CHECK(equals(from_triplets<double>(A.rows(), A.cols(), i, j, v), expected));
  };
  auto const A = t.build();
  check(A, A.nnz());
  check(to<Coo<>>(A), A.nnz());
  check(to<Sell<>>(A), A.nnz());
  auto const D = to<Dia>(A, dia_limit{100});
  index_t inside = 0;
  for (index_t d : D.pattern().offset) inside += (std::min)(index_t(15), 12 - d) - (std::max)(index_t(0), -d);
  check(D, inside);
  std::vector<int> const row_ptr{0, 3, 4}, col{1, 0, 1, 2};
  std::vector<double> const values{1.0, 2.0, 4.0, 8.0};
  index_t count = 0;
  for_each_entry(borrow_csr(2, 3, row_ptr, col, values), [&](index_t, index_t, double) { ++count; });
  CHECK(count == 4);
}

TEST_CASE("diagonal matrices of vectors, and the identity") {
  auto const v = random<double>(7, 3);
  auto const D = diagonal(v);
  static_assert(std::same_as<decltype(diagonal(v)), sparse_tensor<double>>);
  std::vector<double> expected(49);
  for (index_t i = 0; i < 7; ++i) expected[std::size_t(8 * i)] = v[i];
  CHECK(equals(D, expected));
  CHECK(equals(diagonal<Dia>(v), expected));
  CHECK(equals(diagonal<Coo<>>(v), expected));
  CHECK(diagonal(zeros<double>(4)).nnz() == 4);
  for (index_t i = 0; i < 7; ++i) expected[std::size_t(8 * i)] = 1;
  CHECK(equals(eye<float>(7), expected));
  CHECK(eye<double>(0).rows() == 0);
  static_assert(std::same_as<decltype(eye(3)), decltype(eye<double>(3))>);
  CHECK(std::ranges::equal(linspace(0.0, 1.0, 5), linspace<double>(0.0, 1.0, 5)));

  auto const w = random<std::complex<double>, Extents<2, dyn, 3>>({2, 4, 3}, 5);
  auto const batch = diagonal(w);
  static_assert(std::same_as<decltype(diagonal(w)), sparse_tensor<std::complex<double>, Shape<Batch<2, dyn>, 3, 3, Block<>>>>);
  CHECK(batch.nnz() == 3);
  auto const back = diagonal_of(batch);
  static_assert(std::same_as<std::remove_cvref_t<decltype(back)>::extents_type, Extents<2, dyn, 3>>);
  CHECK(std::equal(back.begin(), back.end(), w.begin(), w.end()));

  CHECK_THROWS_AS(eye<double>(-1), shape_error);
  CHECK_THROWS_WITH((eye<double, Csr<std::int8_t>>(200)), ContainsSubstring("the number of columns, 200"));
}

TEST_CASE("to_dense has static extents where they are known") {
  Shape<Batch<>, 2, 3, Block<2, 1>> shape(2, 3);
  auto A = from_triplets<double>(shape, {1}, {2}, {5.0, 6.0});
  static_assert(std::same_as<decltype(to_dense(A))::extents_type, Extents<4, 3>>);
  CHECK(to_dense(A)(3, 2) == 6);
}

} // namespace test_convert
