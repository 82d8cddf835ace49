// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A user's CSR arrays, not copied, checked once.
#include "catch.hpp"
#include "oracle.hpp"

#include <complex>
#include <cstdint>
#include <vector>

#include <sla/tensor/build/borrow.hpp>

namespace test_borrow {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("borrowed arrays are shared, not copied") {
  std::vector<int> row_ptr{0, 2, 2, 4}, col{2, 0, 1, 2};
  std::vector<double> values{1, 2, 3, 4};
  std::size_t const before = memory_in_use().now;
  auto A = borrow_csr(3, 3, row_ptr, col, values);
  CHECK(memory_in_use().now == before);
  CHECK(A.values().data() == values.data());
  CHECK(A.pattern().col.data() == col.data());
  CHECK(equals(A, std::vector<double>{2, 0, 1, 0, 0, 0, 0, 3, 4}));
  values[0] = 10;
  A.values()[1] = 20;
  CHECK(values[1] == 20);
  CHECK(equals(A, std::vector<double>{20, 0, 10, 0, 0, 0, 0, 3, 4}));

  auto copy = A; // owns its values
  values[0] = 0;
  CHECK(copy.values()[0] == 10);

  auto B = borrow_csr(3, 3, 4, row_ptr.data(), col.data(), values.data());
  CHECK(B.values().data() == values.data());
}

TEST_CASE("const values are read, not written") {
  std::vector<std::int64_t> const row_ptr{0, 1};
  std::vector<std::int32_t> const col{0};
  std::vector<std::complex<float>> const values{{1, 2}};
  auto A = borrow_csr(1, 1, row_ptr, col, values);
  static_assert(std::same_as<decltype(A), sparse_tensor<std::complex<float>, Matrix, Csr<std::int32_t, std::int64_t>>>);
  CHECK(std::as_const(A).values()[0] == values[0]);
  CHECK_THROWS_AS(A.values().data(), value_error);
}

TEST_CASE("blocks and batches are borrowed too") {
  Shape<Batch<dyn>, dyn, dyn, Block<2, 2>> shape({2}, 1, 2);
  std::vector<int> row_ptr{0, 1}, col{1};
  std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8};
  auto A = borrow_csr(shape, row_ptr, col, values);
  CHECK(equals(A, std::vector<double>{0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0, 7, 8}));
  values.pop_back();
  CHECK_THROWS_WITH(borrow_csr(shape, row_ptr, col, values), ContainsSubstring("7 values"));
}

TEST_CASE("sorted rows, repeated entries summed") {
  std::vector<int> row_ptr{0, 4, 5}, col{2, 0, 2, 1, 0};
  std::vector<double> values{1, 2, 3, 4, 5};
  auto A = borrow_csr(2, 3, row_ptr, col, values);
  CHECK_FALSE(has_sorted_columns(A.pattern()));
  auto S = sorted(A);
  CHECK(has_sorted_columns(S.pattern()));
  CHECK(S.nnz() == 4);
  CHECK(equals(S, std::vector<double>{2, 4, 4, 5, 0, 0}));
  CHECK(equals(A, std::vector<double>{2, 4, 4, 5, 0, 0}));
  CHECK_THROWS_WITH(to<Dia>(A), ContainsSubstring("two entries at row 0, column 2") && ContainsSubstring("sorted(A)"));
}

TEST_CASE("wrong arrays are refused with their place") {
  auto borrowed = [](std::vector<int> row_ptr, std::vector<int> col) {
    std::vector<double> values(col.size());
    borrow_csr(3, 4, row_ptr, col, values);
  };
  CHECK_NOTHROW(borrowed({0, 1, 1, 2}, {3, 0}));
  CHECK_THROWS_WITH(borrowed({0, 1, 2}, {3, 0}), ContainsSubstring("row_ptr of 3 numbers for 3 rows"));
  CHECK_THROWS_WITH(borrowed({1, 1, 1, 2}, {3, 0}), ContainsSubstring("row_ptr[0] is 1"));
  CHECK_THROWS_WITH(borrowed({0, 2, 1, 2}, {3, 0}), ContainsSubstring("row_ptr[2] is 1, less than row_ptr[1] = 2"));
  CHECK_THROWS_WITH(borrowed({0, 1, 1, 3}, {3, 0}), ContainsSubstring("row_ptr[3] is 3, but there are 2 columns"));
  CHECK_THROWS_WITH(borrowed({0, 1, 1, 2}, {3, 4}), ContainsSubstring("entry 1 (row 2): column 4 of a 3 x 4 matrix"));
  CHECK_THROWS_AS(borrowed({0, 1, 1, 2}, {-1, 0}), index_error);
  std::vector<std::uint8_t> const bytes{0, 1, 1, 2}, columns{3, 65};  // numbers, not letters
  std::vector<double> const values(2);
  CHECK_THROWS_WITH(borrow_csr(3, 4, bytes, columns, values), ContainsSubstring("entry 1 (row 2): column 65 of a 3 x 4 matrix"));
  int const* null = nullptr;
  CHECK_THROWS_AS(borrow_csr(0, 0, 0, null, null, static_cast<double*>(nullptr)), value_error);
}

} // namespace test_borrow
