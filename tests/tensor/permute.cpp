// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Axes in any order: each tensor has at (batch, row, column, block) what the user's array has at the permuted place.
#include <sla/tensor/arrange/permute.hpp>

#include <algorithm>

#include "catch.hpp"
#include "tensor/oracle.hpp"

namespace test_permute {

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using Batched = Shape<Batch<2>, dyn, dyn, Block<>>;
using Blocks = Shape<Batch<4>, dyn, dyn, Block<2, 3>>;

namespace {
/// What stands at (b, i, j, p, q), if anything does.
double value_at(index_t b, index_t i, index_t j, index_t p, index_t q) { return double((((b * 10 + i) * 10 + j) * 10 + p) * 10 + q + 1); }

std::vector<index_t> const row{2, 0, 1, 0}, col{1, 3, 0, 0};
}  // namespace

TEST_CASE("a batch that stands last") {
  tensor<double, Extents<dyn, 2>> v({4, 2});
  for (index_t k = 0; k < 4; ++k) v(k, 0) = double(k + 1), v(k, 1) = 10 * double(k + 1);
  auto const A = permute(Batched({2}, 3, 4), {2, 0, 1}, row, col, v);
  CHECK(equals(A, std::vector<double>{4, 0, 0, 2, 3, 0, 0, 0, 0, 1, 0, 0, 40, 0, 0, 20, 30, 0, 0, 0, 0, 10, 0, 0}));
  CHECK_THROWS_WITH(permute(Batched({2}, 3, 4), {2, 0, 2}, row, col, v), ContainsSubstring("has 2 twice, at places 0 and 2"));
  CHECK_THROWS_WITH(permute(Batched({2}, 3, 4), {0, 1, 2}, row, col, v), ContainsSubstring("axis 0 of the values is 4 long, and should be 2"));
  CHECK_THROWS_WITH(permute(Batched({2}, 3, 4), {2, 0, 1}, col, row, v), ContainsSubstring("row 3 of a 3 x 4 matrix"));
}

TEST_CASE("every order of batch, rows, columns and a block") {
  axis_order<Blocks> order{0, 1, 2, 3, 4};
  index_t const extents[] = {4, 3, 4, 2, 3};
  do {
    index_t const first = (std::min)(order[1], order[2]), second = (std::max)(order[1], order[2]);
    index_t length[4], canonical_axis[5];
    for (int a = 0; a < 5; ++a) canonical_axis[order[std::size_t(a)]] = a;
    for (int user = 0, v = 0; user < 5; ++user)
      if (user != second) length[v++] = user == first ? index_t(row.size()) : extents[canonical_axis[user]];
    tensor<double, Extents<dyn, dyn, dyn, dyn>> v({length[0], length[1], length[2], length[3]});
    std::vector<std::vector<index_t>> coordinates(5);
    std::vector<double> listed;
    for (index_t n = 0; n < v.size(); ++n) {
      index_t rest = n, place[5] = {};
      for (int axis = 4; axis-- > 0; rest /= length[axis]) place[axis + (axis >= second)] = rest % length[axis];
      index_t const k = place[first];
      place[order[1]] = row[std::size_t(k)], place[order[2]] = col[std::size_t(k)];
      auto at = [&](int a) { return place[order[std::size_t(a)]]; };
      v[n] = value_at(at(0), at(1), at(2), at(3), at(4));
      for (std::size_t user = 0; user < 5; ++user) coordinates[user].push_back(place[user]);
      listed.push_back(v[n]);
    }
    auto const A = permute(Blocks({4}, 3, 4), order, row, col, v);
    auto const B = permute(Blocks({4}, 3, 4), order, coordinates, listed);
    REQUIRE(A.nnz() == 4);
    REQUIRE(same_pattern(A.pattern(), B.pattern()));
    REQUIRE(std::equal(A.values().begin(), A.values().end(), B.values().begin()));
    bool right = true;
    for (index_t b = 0; b < 4; ++b)
      for (index_t i = 0; i < 3; ++i)
        A.pattern().view().for_row(i, [&](index_t s, index_t j) {
          for (index_t e = 0; e < 6; ++e) right = right && A.values()[b * A.batch_stride() + s * 6 + e] == value_at(b, i, j, e / 3, e % 3);
        });
    REQUIRE(right);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("coordinates along every axis: items with patterns of their own") {
  // (M, N, batch): an entry that only one item has is a zero in the other.
  std::vector<std::vector<index_t>> const at{{0, 1, 1, 0}, {0, 2, 0, 0}, {0, 0, 1, 0}};
  auto const A = permute(Batched({2}, 2, 3), {2, 0, 1}, at, std::vector<double>{1, 2, 3, 4});
  CHECK(A.nnz() == 3);
  CHECK(equals(A, std::vector<double>{5, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0}));
  CHECK_THROWS_WITH(permute(Batched({2}, 2, 2), {2, 0, 1}, at, std::vector<double>{1, 2, 3, 4}), ContainsSubstring("coordinate 1 along axis 1 is 2"));
  CHECK_THROWS_WITH(permute(Batched({2}, 2, 3), {2, 0, 1}, at, std::vector<double>{1, 2}), ContainsSubstring("4 coordinates along axis 2 for 2 values"));
}

} // namespace test_permute
