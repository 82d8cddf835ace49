// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stored transposes against dense ones.
#include "catch.hpp"
#include "oracle.hpp"

#include <complex>

#include <sla/tensor/block.hpp>
#include <sla/tensor/transpose.hpp>

namespace test_transpose {

using namespace sla;

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

TEST_CASE("transposes of empty matrices") {
  auto const A = from_triplets<double>(0, 3, std::vector<int>{}, std::vector<int>{}, std::vector<double>{});
  CHECK(transposed(A).rows() == 3);
  CHECK(transposed(sparse_tensor<double>{}).nnz() == 0);
}

} // namespace test_transpose
