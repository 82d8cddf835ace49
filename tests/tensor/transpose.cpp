// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stored transposes against dense ones.
#include "catch.hpp"
#include "oracle.hpp"

#include <complex>

#include <sla/tensor/build/block.hpp>
#include <sla/tensor/arrange/transpose.hpp>

namespace test_transpose {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

template <class F>
void transposes(random_triplets const& t) {
  auto const A = t.build<double, F>();
  auto const expected = turned(t.dense(), t.rows, t.cols);
  auto const At = transposed(A);
  CHECK(equals(At, expected));
  CHECK(has_sorted_columns(At.pattern()));
  CHECK(equals(transposed(At), t.dense()));
}

TEST_CASE("transposes in every format") {
  for (auto [rows, cols] : {std::pair{12, 12}, {9, 14}, {14, 9}, {1, 5}, {300, 200}}) {
    random_triplets const t(rows, cols, rows == 300 ? 25000 : 40, std::uint64_t(rows));
    transposes<Csr<>>(t);
    transposes<Csr<std::int32_t, std::int64_t>>(t);
    transposes<Coo<>>(t);
    if (rows < 300) transposes<Dia>(t);
  }
}

TEST_CASE("the transpose does not depend on the number of threads") {
  auto const A = random_triplets(3000, 1000, 60000, 3).build();
  set_threads(1);
  auto const one = transposed(A);
  set_threads(4);
  auto const four = transposed(A);
  set_threads(0);
  CHECK(same_pattern(one.pattern(), four.pattern()));
  CHECK(std::equal(one.values().begin(), one.values().end(), four.values().begin()));
}

TEST_CASE("blocks are transposed too, batches are kept, adjoints conjugated") {
  using C = std::complex<double>;
  Shape<Batch<2>, dyn, dyn, Block<2, 3>> shape({2}, 2, 4);
  std::vector<int> row{0, 0, 1}, col{3, 1, 0};
  std::vector<C> values;
  for (int k = 0; k < 2 * 3 * 6; ++k) values.push_back({double(k), double(k % 5)});
  auto check = [&](auto const& A) {
    auto const D = to_dense(A);
    auto const T = to_dense(transposed(A)), H = to_dense(adjointed(A));
    static_assert(std::same_as<typename decltype(transposed(A))::shape_type, Shape<Batch<2>, dyn, dyn, Block<3, 2>>>);
    for (int b = 0; b < 2; ++b)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 12; ++j) {
          CHECK(T(b, j, i) == D(b, i, j));
          CHECK(H(b, j, i) == std::conj(D(b, i, j)));
        }
  };
  check(from_triplets<C>(shape, row, col, values));
  check(from_triplets<C, Coo<>>(shape, row, col, values));
  check(from_triplets<C, Dia>(shape, row, col, values));
}

TEST_CASE("a plan moves new values without sorting again") {
  random_triplets const t(20, 30, 100, 9);
  auto A = t.build();
  transpose_plan<Csr<>> const plan(A.pattern());
  auto At = plan.transpose(A);
  CHECK(At.shared_pattern() == plan.shared_pattern());
  CHECK(plan.source().size() == A.nnz());
  for (double& v : A.values()) v = 2 * v;
  plan.update(At, A);
  auto expected = turned(t.dense(), 20, 30);
  for (double& v : expected) v *= 2;
  CHECK(equals(At, expected));

  auto const C = cast<std::complex<float>>(A);
  auto H = plan.adjoint(C);
  plan.update_adjoint(H, C);
  CHECK(equals(H, expected));

  auto const other = random_triplets(20, 30, 90, 1).build();
  CHECK_THROWS_AS(plan.transpose(other), shape_error);
  auto foreign = transposed(A);
  CHECK_THROWS_AS(plan.update(foreign, A), shape_error);
}

TEST_CASE("a plan takes the pattern it was made of, and no other of that size") {
  auto const A = from_triplets<double>(3, 3, {0, 1, 2}, {0, 1, 2}, {1.0, 2.0, 3.0}), B = from_triplets<double>(3, 3, {0, 1, 2}, {2, 0, 1}, {4.0, 5.0, 6.0});
  transpose_plan const plan(A);
  CHECK_THROWS_WITH(plan.transpose(B), ContainsSubstring("another pattern") && ContainsSubstring("make a plan of that one"));
  auto At = plan.transpose(A), foreign = transposed(A);
  CHECK_THROWS_WITH(plan.update(At, B), ContainsSubstring("another pattern"));
  CHECK_THROWS_WITH(plan.update(foreign, A), ContainsSubstring("At must come from this plan"));
  CHECK(equals(plan.transpose(from_triplets<double>(3, 3, {0, 1, 2}, {0, 1, 2}, {7.0, 8.0, 9.0})), std::vector<double>{7, 0, 0, 0, 8, 0, 0, 0, 9}));
  CHECK_THROWS_AS(transpose_plan(to<Coo<>>(A)).transpose(to<Coo<>>(B)), shape_error);
  CHECK_THROWS_AS(transpose_plan(to<Dia>(A)).transpose(from_triplets<double, Dia>(3, 3, {0, 1}, {1, 2}, {1.0, 1.0})), shape_error);

  auto pattern = A.pattern();
  transpose_plan<Csr<>> const of_copy(pattern);
  pattern = {};
  CHECK(equals(of_copy.transpose(A), std::vector<double>{1, 0, 0, 0, 2, 0, 0, 0, 3}));

  auto const two = to_batch(A, 2), three = to_batch(A, 3);
  auto of_two = plan.transpose(two);
  CHECK_THROWS_WITH(plan.update(of_two, three), ContainsSubstring("A has 3 batch items, At 2"));
}

TEST_CASE("a plan transposes values in their own place") {
  random_triplets const t(12, 12, 60, 4);
  std::vector<index_t> row = t.row, col = t.col;
  row.insert(row.end(), t.col.begin(), t.col.end()), col.insert(col.end(), t.row.begin(), t.row.end());
  std::vector<double> value = t.value;
  for (double v : t.value) value.push_back(100 + v);
  auto const A = from_triplets<double>(12, 12, row, col, value);  // a symmetric pattern, values that are not
  transpose_plan const plan(A);
  auto T = plan.transpose(A);
  auto const expected = to_dense(A);
  plan.update(T, T);
  CHECK(equals(T, std::vector<double>(expected.begin(), expected.end())));
}

TEST_CASE("transposes of empty matrices") {
  auto const A = from_triplets<double>(0, 3, std::vector<int>{}, std::vector<int>{}, std::vector<double>{});
  CHECK(transposed(A).rows() == 3);
  CHECK(transposed(sparse_tensor<double>{}).nnz() == 0);
}

} // namespace test_transpose
