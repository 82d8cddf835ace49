// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of sparse tensors and tensors of parts, against the same on dense elements; each bad input with its sentence.
#include <sla/tensor/arrange/cat.hpp>
#include <sla/tensor/arrange/slice.hpp>

#include "catch.hpp"
#include "tensor/oracle.hpp"

namespace test_select {

using namespace sla;
using Catch::Matchers::ContainsSubstring;

namespace {
/// Is part(k, l) = whole(row(k), col(l)), in p x q blocks, for each item?
template <class P, class A, class Row, class Col>
bool is_part(P const& part, A const& whole, Row const& row, Col const& col, index_t first_item = 0) {
  constexpr index_t p = A::shape_type::block_rows, q = A::shape_type::block_cols;
  auto const d = to_dense(part), full = to_dense(whole);
  index_t const m = part.rows() * p, n = part.cols() * q, M = whole.rows() * p, N = whole.cols() * q;
  for (index_t b = 0; b < part.batch_count(); ++b)
    for (index_t i = 0; i < m; ++i)
      for (index_t j = 0; j < n; ++j)
        if (d[(b * m + i) * n + j] != full[((b + first_item) * M + row(i / p) * p + i % p) * N + col(j / q) * q + j % q]) return false;
  return true;
}
auto const same = [](index_t i) { return i; };
auto from(index_t first) {
  return [first](index_t i) { return i + first; };
}
auto of(std::vector<index_t> const& list) {
  return [&list](index_t i) { return list[std::size_t(i)]; };
}
/// A batch of two, in 2 x 3 blocks, with values of their own.
auto blocks_of_two_items() {
  auto A = to_batch(to_blocks<2, 3>(random_triplets(12, 12, 60, 5).build()), 2);
  for (index_t n = 0; n < A.values().size(); ++n) A.values()[n] += double(n);
  return A;
}
}  // namespace

TEST_CASE("ranges of rows and columns") {
  auto const A = random_triplets(9, 7, 40, 1).build();
  CHECK(is_part(rows(A, 2, 5), A, from(2), same));
  CHECK(is_part(cols(A, 1, 6), A, same, from(1)));
  CHECK(rows(A, 3, 3).rows() == 0);
  CHECK(is_part(cols(rows(A, 2, 9), 0, 7), A, from(2), same));
  auto const Z = blocks_of_two_items();
  CHECK(is_part(rows(Z, 1, 4), Z, from(1), same));
  CHECK(is_part(cols(Z, 2, 4), Z, same, from(2)));
  auto const large = random_triplets(5000, 4000, 60000, 2).build();  // on several threads
  auto const halves = cat_rows(rows(large, 0, 2500), rows(large, 2500, 5000));
  CHECK(same_pattern(halves.pattern(), large.pattern()));
  CHECK(std::equal(halves.values().begin(), halves.values().end(), large.values().begin()));
}

TEST_CASE("one row and one column") {
  auto const A = random_triplets(9, 7, 40, 1).build();
  CHECK(is_part(row(A, 8), A, from(8), same));
  CHECK(is_part(col(A, 0), A, same, from(0)));
  CHECK(is_part(row(blocks_of_two_items(), 2), blocks_of_two_items(), from(2), same));
  CHECK_THROWS_WITH(row(A, 9), ContainsSubstring("row(A, 9): A has 9 of them") && ContainsSubstring("(indices count from 0)"));
  CHECK_THROWS_AS(col(A, -1), index_error);
}

TEST_CASE("listed rows and columns, in any order, some twice") {
  auto const A = random_triplets(9, 7, 40, 1).build();
  std::vector<index_t> const r{8, 0, 3, 3}, c{6, 1, 1, 4, 0};
  CHECK(is_part(select_rows(A, r), A, of(r), same));
  CHECK(is_part(select_cols(A, c), A, same, of(c)));
  CHECK(is_part(select(A, r, c), A, of(r), of(c)));
  CHECK(has_sorted_columns(select(A, r, c).pattern()));
  std::vector<index_t> const pair{5, 2};
  CHECK(is_part(select_rows(A, {5, 2}), A, of(pair), same));
  auto const Z = blocks_of_two_items();
  std::vector<index_t> const zr{5, 1}, zc{3, 0, 2};
  CHECK(is_part(select(Z, zr, zc), Z, of(zr), of(zc)));
  CHECK(is_part(select(to<Dia>(A), r, c), A, of(r), of(c)));
}

TEST_CASE("permutations") {
  auto const A = random_triplets(5, 5, 12, 3).build();
  std::vector<index_t> const p{3, 0, 4, 1, 2}, q{1, 2, 0, 4, 3};
  CHECK(is_part(permuted(A, p, q), A, of(p), of(q)));
  CHECK(is_part(permuted(A, p), A, of(p), of(p)));
  CHECK(is_part(permuted_rows(A, p), A, of(p), same));
  CHECK(is_part(permuted_cols(A, q), A, same, of(q)));
  std::vector<index_t> back(5);
  for (index_t k = 0; k < 5; ++k) back[std::size_t(p[std::size_t(k)])] = k;
  CHECK(same_pattern(permuted(permuted(A, p), back).pattern(), A.pattern()));
  CHECK_THROWS_WITH(permuted(A, {0, 1, 3, 1, 4}), ContainsSubstring("has 1 twice, at places 1 and 3"));
  CHECK_THROWS_WITH(permuted(A, {0, 1, 4, 3}), ContainsSubstring("misses 2"));
}

TEST_CASE("items of a batch") {
  auto const Z = blocks_of_two_items();
  auto const last = batch_items(Z, 1, 2);
  CHECK(last.batch_count() == 1);
  CHECK(last.shared_pattern() == Z.shared_pattern());
  CHECK(is_part(last, Z, same, same, 1));
  CHECK(batch_items(Z, 0, 2).values()[7] == Z.values()[7]);
  CHECK_THROWS_WITH(batch_items(Z, 1, 3), ContainsSubstring("A has 2 of them"));
}

TEST_CASE("slices put together are the whole") {
  auto const A = random_triplets(9, 8, 40, 1).build();
  auto const R = cat_rows(split_rows(A, {{0, 2}, {2, 2}, {2, 9}}));
  CHECK(same_pattern(R.pattern(), A.pattern()));
  CHECK(is_part(R, A, same, same));
  auto const C = cat_cols(cols(A, 0, 3), cols(A, 3, 4), cols(A, 4, 8));
  CHECK(same_pattern(C.pattern(), A.pattern()));
  CHECK(is_part(C, A, same, same));
  auto const Z = blocks_of_two_items();
  CHECK(is_part(cat_cols(cols(Z, 0, 1), cols(Z, 1, 4)), Z, same, same));

  auto const B = random_triplets(3, 4, 6, 2).build();
  auto const D = block_diagonal(A, B, A);
  CHECK(D.rows() == 21);
  CHECK(D.cols() == 20);
  CHECK(D.nnz() == 2 * A.nnz() + B.nnz());
  CHECK(is_part(cols(rows(D, 9, 12), 8, 12), B, same, same));
  CHECK(is_part(cols(rows(D, 12, 21), 12, 20), A, same, same));

  auto const E = random_triplets(9, 8, 30, 7).build();
  auto const both = cat_batch(A, E);
  CHECK(is_part(batch_item(both, 0), A, same, same));
  CHECK(is_part(batch_item(both, 1), E, same, same));
}

TEST_CASE("bad selections say what is wrong") {
  auto const A = random_triplets(9, 7, 40, 1).build();
  CHECK_THROWS_WITH(rows(A, 2, 10), ContainsSubstring("rows(A, 2, 10): A has 9 of them"));
  CHECK_THROWS_WITH(cols(A, 5, 3), ContainsSubstring("first <= last"));
  CHECK_THROWS_WITH(select_rows(A, {0, 9}), ContainsSubstring("index 1 is 9") && ContainsSubstring("count from 0"));
  CHECK_THROWS_WITH(select_cols(A, {-1}), ContainsSubstring("index 0 is -1"));
  CHECK_THROWS_WITH(split_rows(A, {{0, 4}, {3, 9}}), ContainsSubstring("slice 1, rows 3 .. 9, overlaps slice 0, rows 0 .. 4"));
  CHECK_THROWS_WITH(split_rows(A, {{4, 9}, {0, 4}}), ContainsSubstring("stands after"));
  CHECK_THROWS_WITH(cat_rows(A, cols(A, 0, 3)), ContainsSubstring("tensor 1 is 9 x 3"));
  CHECK_THROWS_WITH(cat_cols(A, rows(A, 0, 3)), ContainsSubstring("equal rows"));
}

} // namespace test_select
