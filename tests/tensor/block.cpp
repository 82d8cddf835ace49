// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks and batches: the same dense matrix in other clothes.
#include "catch.hpp"
#include "oracle.hpp"

#include <sla/tensor/build/block.hpp>

namespace test_block {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("to_blocks and unblocked keep the matrix") {
  random_triplets const t(12, 18, 60, 2);
  auto const expected = t.dense();
  auto check = [&](auto const& A) {
    CHECK(equals(to_blocks<3, 3>(A), expected));
    CHECK(equals(to_blocks<2, 6>(A), expected));
    CHECK(equals(to_blocks<1, 1>(A), expected));
    CHECK(equals(unblocked(to_blocks<4, 3>(A)), expected));
    CHECK(equals(unblocked(A), expected));
  };
  check(t.build());
  check(t.build<double, Csr<std::int64_t>>());
  check(t.build<double, Coo<>>());
  check(t.build<double, Dia>());
  auto const B = to_blocks<3, 2>(t.build());
  static_assert(std::same_as<decltype(to_blocks<3, 2>(t.build()))::shape_type, Shape<Batch<>, dyn, dyn, Block<3, 2>>>);
  CHECK(has_sorted_columns(B.pattern()));
  CHECK(B.rows() == 4);
  CHECK(B.cols() == 9);
  CHECK(B.domain() == Extents<dyn, 2>(9, 2));
  random_triplets const large(40000, 200, 60000, 3);
  CHECK(equals(unblocked(to_blocks<4, 4>(large.build())), large.dense()));
}

TEST_CASE("to_blocks names what does not divide") {
  auto const A = random_triplets(12, 10, 20, 2).build();
  CHECK_THROWS_AS((to_blocks<3, 3>(A)), shape_error);
  CHECK_THROWS_WITH((to_blocks<3, 3>(A)), ContainsSubstring("10 is not a multiple of 3"));
  CHECK_THROWS_WITH((to_blocks<5, 2>(A)), ContainsSubstring("12 is not a multiple of 5"));
}

TEST_CASE("batches share a pattern and have values of their own") {
  auto const A = random_triplets(6, 6, 20, 3).build();
  auto B = to_batch<3>(A);
  static_assert(std::same_as<decltype(B)::shape_type, Shape<Batch<3>, dyn, dyn, Block<>>>);
  CHECK(B.shared_pattern() == A.shared_pattern());
  for (index_t k = 0; k < B.values().size(); ++k) B.values()[k] *= double(1 + k / A.nnz());
  for (index_t k = 0; k < 3; ++k) {
    auto const item = batch_item(B, k);
    static_assert(std::same_as<decltype(batch_item(B, k)), sparse_tensor<double>>);
    for (index_t s = 0; s < A.nnz(); ++s) CHECK(item.values()[s] == A.values()[s] * double(k + 1));
  }
  auto const D = to_batch(B, 2);
  static_assert(std::same_as<std::remove_cvref_t<decltype(D)>::shape_type, Shape<Batch<dyn, 3>, dyn, dyn, Block<>>>);
  CHECK(D.batch_count() == 6);
  CHECK(batch_item(D, 4).values()[0] == A.values()[0] * 2);
  CHECK_THROWS_AS(batch_item(D, 6), index_error);
  CHECK_THROWS_AS(batch_item(D, -1), index_error);
  CHECK_THROWS_AS(to_batch(A, 0), shape_error);
  CHECK_THROWS_WITH(to_batch(A, index_t(1) << 62), ContainsSubstring("more elements than std::int64_t counts"));
  CHECK(to_batch(sparse_tensor<double>(Matrix(0, 0), std::make_shared<csr_pattern<std::int32_t, std::int32_t, host_memory> const>(A.pattern().none(0, 0))), index_t(1) << 62).batch_count() == index_t(1) << 62);
}

TEST_CASE("stack_batch wants one pattern") {
  random_triplets const t(6, 6, 20, 3);
  auto const A = t.build();
  auto const same = t.build(); // equal, but another object
  auto const B = stack_batch(A, same, A);
  static_assert(std::same_as<std::remove_cvref_t<decltype(B)>::shape_type, Shape<Batch<3>, dyn, dyn, Block<>>>);
  CHECK(equals(batch_item(B, 1), t.dense()));
  CHECK(stack_batch(to_blocks<2, 2>(A), to_blocks<2, 2>(A)).batch_count() == 2);
  auto const other = random_triplets(6, 6, 19, 8).build();
  CHECK_THROWS_WITH(stack_batch(A, other), ContainsSubstring("item 1") && ContainsSubstring("store the union"));
  CHECK(same_pattern(t.build<double, Coo<>>().pattern(), to<Coo<>>(A).pattern()));
  CHECK(same_pattern(t.build<double, Dia>().pattern(), to<Dia>(A).pattern()));
  CHECK_FALSE(same_pattern(A.pattern(), other.pattern()));
}

} // namespace test_block
