// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Axes as lists of atoms: equality, subgroups, orthogonality, flattening and coordinates, against sets of ranks; names.
#include <random>
#include <set>
#include <vector>

#include <sla/spmd/mesh/axis_layout.hpp>
#include <sla/spmd/mesh/axis_names.hpp>

#include "catch.hpp"

namespace test_axis_layout {

using namespace sla;

namespace {

constexpr axis_layout dp(2, 8), cp(2, 4), tp(4, 1), one(1, 7);

// equal ranks are equal layouts, in whatever order and pieces they are given
static_assert(flatten(axis_layout(2, 2), axis_layout(2, 1)).layout == axis_layout(4, 1));
static_assert(flatten(dp, cp).layout == axis_layout(4, 4) && flatten(cp, dp).layout == axis_layout(4, 4));
static_assert(flatten(dp).layout == dp && flatten(dp, cp, tp).layout == axis_layout(16, 1));
static_assert(flatten(dp, tp).layout.count == 2 && !(flatten(dp, tp).layout == axis_layout(8, 2)));
static_assert(flatten(tp, cp, dp).layout == flatten(dp, flatten(cp, tp).layout).layout);
static_assert(one == axis_layout(1, 1) && one == axis_layout{} && one.size() == rank_count{1});
static_assert(!(dp == cp));

// subgroups: equal, proper, strided, disjoint
static_assert(subgroup(dp, dp) && subgroup(axis_layout(2, 1), tp) && subgroup(axis_layout(2, 2), tp));
static_assert(subgroup(axis_layout(2, 3), tp) && !subgroup(axis_layout(2, 4), tp) && !subgroup(tp, axis_layout(2, 1)));
static_assert(subgroup(one, dp) && subgroup(one, one) && !subgroup(dp, one) && !subgroup(dp, tp));
static_assert(subgroup(dp, flatten(dp, cp, tp).layout) && subgroup(flatten(dp, tp).layout, axis_layout(16, 1)));

// orthogonality
static_assert(orthogonal(dp, cp, tp) && orthogonal(dp) && orthogonal(one, dp) && orthogonal(one, one));
static_assert(!orthogonal(dp, dp) && !orthogonal(axis_layout(4, 2), tp));
static_assert(orthogonal(axis_layout(2, 5), axis_layout(2, 6)) && orthogonal(axis_layout(2, 5), axis_layout(2, 7)) &&
              orthogonal(axis_layout(2, 6), axis_layout(2, 7)) &&
              !orthogonal(axis_layout(2, 5), axis_layout(2, 6), axis_layout(2, 7)));
constexpr axis_layout five_to_seven[] = {{2, 7}, {2, 5}, {2, 6}};
static_assert(overlap(five_to_seven) == axis_overlap{0b110, 0}); // all three are to blame
constexpr axis_layout two_of_three[] = {dp, axis_layout(4, 2), tp};
static_assert(overlap(two_of_three) == axis_overlap{0b100, 1});
static_assert(flatten(axis_layout(4, 2), tp).why && !flatten(dp, dp).ok());

// large worlds cost no more than small ones
constexpr std::int64_t million = 1 << 20;
static_assert(flatten(axis_layout(million, million), axis_layout(million, 1)).layout == axis_layout(million * million, 1));
static_assert(subgroup(axis_layout(million, 4), axis_layout(4 * million, 1)) &&
              !subgroup(axis_layout(million, 5), axis_layout(4 * million, 1)));
static_assert(coordinate_on(axis_layout(million, 3), 3 * 777777 + 2) == 777777);

// sizes known at run time are symbols
constexpr rank_count n0 = rank_count::symbol(0), n1 = rank_count::symbol(1);
constexpr axis_layout outer(n0, n1* rank_count{2}), middle(n1, rank_count{2}), inner(2, 1);
static_assert(flatten(outer, middle).layout == axis_layout(n0 * n1, rank_count{2}));
static_assert(flatten(outer, middle, inner).layout == axis_layout(n0 * n1 * rank_count{2}, rank_count{1}));
static_assert(flatten(outer, inner).layout.count == 2 && orthogonal(inner, outer, middle));
static_assert(!orthogonal(outer, outer) && !orthogonal(middle, axis_layout(4, 1)));
static_assert(subgroup(middle, flatten(outer, middle).layout) && subgroup(outer, outer) && !subgroup(outer, middle));
static_assert(middle.count == 1); // whether the size is 1 is not known: it stays

// names
constexpr named_axis scope[] = {{"dp", dp}, {"cp", cp}, {"tp", tp}};
constexpr auto shown(named_axis const& a) { return axis_label(a, scope); }
static_assert(shown({"dp", dp}).view() == "dp" && shown({"mine", flatten(dp, cp).layout}).view() == "mine");
static_assert(shown({"dp", axis_layout(2, 4)}).view() == "dp[2:4]"); // dp means other ranks here
static_assert(shown({"", flatten(dp, cp).layout}).view() == "{dp,cp}");
static_assert(shown({"", flatten(tp, dp).layout}).view() == "{dp,tp}");
static_assert(shown({"", flatten(tp, dp, cp).layout}).view() == "{dp,cp,tp}");
static_assert(shown({"", axis_layout{}}).view() == "{}" && shown({"", axis_layout(3, 16)}).view() == "[3:16]");
constexpr named_axis twice[] = {{"dp", dp}, {"dp", cp}, {"tp", tp}};
static_assert(axis_label({"", flatten(dp, cp).layout}, twice).view() == "{dp[2:8],dp[2:4]}");
static_assert(axis_label({"dp", axis_layout(n0, n1 * rank_count{2})}, twice).view() == "dp[n0:2*n1]");

std::set<std::int64_t> ranks(axis_layout const& a) {
  std::set<std::int64_t> out;
  for (std::int64_t c = 0; c < a.size().number; ++c) out.insert(rank_on(a, c));
  return out;
}
/// The ranks that axes reach together, each as often as it is reached.
std::multiset<std::int64_t> reached(std::vector<axis_layout> const& axes) {
  std::multiset<std::int64_t> out = {0};
  for (auto const& a : axes) {
    std::multiset<std::int64_t> next;
    for (auto const r : out)
      for (auto const s : ranks(a)) next.insert(r + s);
    out = next;
  }
  return out;
}

} // namespace

TEST_CASE("axes reach the ranks that their atoms add up to") {
  std::mt19937 gen(7);
  auto const below = [&](int n) { return static_cast<std::int64_t>(gen() % static_cast<unsigned>(n)); };
  auto const draw = [&](bool nested) {
    std::vector<axis_layout> axes;
    std::int64_t stride = 1 + below(2);
    for (int n = 0; n < 4; ++n) {
      std::int64_t const size = 1 + below(4);
      axes.emplace_back(size, nested ? stride : 1 + below(13));
      stride *= size * (1 + below(2));
    }
    return axes;
  };
  int yes = 0, no = 0, inside = 0, outside = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    auto const axes = draw(trial % 2 == 0);
    auto const all = reached(axes);
    auto const flat = flatten(std::span<axis_layout const>(axes));
    if (trial % 2 == 0) CHECK(flat.ok());
    if (!flat.ok()) {
      ++no;
      CHECK((flat.why.first >> flat.why.second & 1u) == 0);
      CHECK(flat.why.first != 0);
      continue;
    }
    ++yes;
    std::set<std::int64_t> const distinct(all.begin(), all.end());
    REQUIRE(distinct.size() == all.size());
    CHECK(ranks(flat.layout) == distinct);
    for (int n = 1; n < flat.layout.count; ++n) CHECK(flat.layout.atom[n - 1].stride.number > flat.layout.atom[n].stride.number);
    std::int64_t c = 0;
    bool const ascending = [&] {
      for (auto const r : distinct)
        if (rank_on(flat.layout, c++) != r) return false;
      return true;
    }();
    CHECK(ascending);
    for (std::int64_t r = 0; r <= *distinct.rbegin() + 3; ++r) CHECK(contains(flat.layout, r) == (distinct.count(r) == 1));
    auto const others = draw(true);
    for (auto const& b : {flatten(others[0], others[1]).layout, flatten(others[2], others[0]).layout, axes[0]}) {
      auto const part = ranks(b);
      bool const expected = std::includes(distinct.begin(), distinct.end(), part.begin(), part.end());
      CHECK(subgroup(b, flat.layout) == expected);
      ++(expected ? inside : outside);
    }
    if (flat.layout.count == 1)
      for (auto const r : distinct) CHECK(rank_on(flat.layout, coordinate_on(flat.layout, r)) == r);
  }
  CHECK(yes > 1500);
  CHECK(no > 500);
  CHECK(inside > 500);
  CHECK(outside > 500);
}

TEST_CASE("coordinates of the axes of a mesh are those of a row-major array") {
  for (std::int64_t r = 0; r < 16; ++r) {
    CHECK(coordinate_on(dp, r) == r / 8);
    CHECK(coordinate_on(cp, r) == r / 4 % 2);
    CHECK(coordinate_on(tp, r) == r % 4);
    CHECK(coordinate_on(flatten(dp, cp).layout, r) == r / 4);
    CHECK(coordinate_on(flatten(dp, tp).layout, r) == r / 8 * 4 + r % 4);
  }
}

} // namespace test_axis_layout
