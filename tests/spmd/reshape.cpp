// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reshapes of placements against what every rank holds, element by element: what is accepted is right, what is refused has no placement.
#include <map>
#include <string>
#include <vector>

#include <sla/spmd/placement/family.hpp>
#include <sla/spmd/step/reshape_pattern.hpp>

#include "catch.hpp"

namespace test_reshape {

using namespace sla;

namespace {

constexpr std::int16_t even = 1;
placement_value shard(int d) { return {placement_kind::shard, monoid::none, static_cast<std::int8_t>(d), even}; }

/// The elements that the ranks of 2 x 2 hold, each in its local order; empty where the pieces are not equal.
std::vector<std::vector<std::int64_t>> held(tensor_placement const& t, std::vector<std::int64_t> const& extents, fixed_array<std::int64_t, max_mesh_axes> const& pieces) {
  std::vector<std::vector<std::int64_t>> out;
  for (int rank = 0; rank < 4; ++rank) {
    std::int64_t const coordinate[] = {rank / 2, rank % 2};
    std::vector<std::vector<std::int64_t>> indices;
    for (int d = 0; d < t.rank; ++d) {
      std::vector<std::int64_t> mine;
      for (std::int64_t i = 0; i < extents[static_cast<std::size_t>(d)]; ++i) mine.push_back(i);
      auto const order = order_of(t, d);
      for (int n = 0; n < order.count; ++n) {
        int const a = order.axis[n];
        auto const whole = static_cast<std::int64_t>(mine.size()), cut = pieces[a] > 0 ? pieces[a] : 1;
        if (whole % (2 * cut) != 0) return {};
        std::vector<std::int64_t> part;
        auto const chunk = whole / cut / 2;
        for (std::int64_t p = 0; p < cut; ++p)
          for (std::int64_t j = 0; j < chunk; ++j) part.push_back(mine[static_cast<std::size_t>(p * 2 * chunk + coordinate[a] * chunk + j)]);
        mine = part;
      }
      indices.push_back(mine);
    }
    std::vector<std::int64_t> flat = {0};
    for (int d = 0; d < t.rank; ++d) {
      std::vector<std::int64_t> next;
      for (auto const f : flat)
        for (auto const i : indices[static_cast<std::size_t>(d)]) next.push_back(f * extents[static_cast<std::size_t>(d)] + i);
      flat = next;
    }
    out.push_back(flat);
  }
  return out;
}

/// Every typing of Even shards and whole dimensions on two axes.
template <class F>
void each_typing(int rank, F const& f) {
  for (int c = 0; c < (rank + 1) * (rank + 1); ++c) {
    tensor_placement t{2, static_cast<std::int8_t>(rank)};
    int const where[] = {c % (rank + 1), c / (rank + 1)};
    for (int a = 0; a < 2; ++a) t.on[a] = where[a] < rank ? shard(where[a]) : placement_value{placement_kind::replicate};
    f(t);
    if (where[0] == where[1] && where[0] < rank) {
      t.on[0].level = 1;
      f(t);
    }
  }
}

std::vector<std::int64_t> extents_of(factored_dims const& dims, fixed_array<std::int64_t, max_factors> const& factor) {
  std::vector<std::int64_t> out;
  for (int d = 0; d < dims.rank; ++d) {
    std::int64_t e = 1;
    for (int f = dims.first[d]; f < dims.first[d] + dims.count[d]; ++f) e *= factor[f];
    out.push_back(e);
  }
  return out;
}

} // namespace

TEST_CASE("a reshape of shards holds what the ranks hold, and none is refused that some placement describes") {
  char const* patterns[] = {"(a b) c -> a b c", "a b c -> (a b) c", "a b c -> a (b c)", "(a b) c -> a (b c)", "a (b c) -> (a b) c",
                            "a b c -> (a b c)", "(a b c) -> a b c", "a b c -> a 1 b c", "a (b c) -> a b c",   "(a b) c -> (a b) c"};
  int accepted = 0, refused = 0, wrong = 0, missing = 0, beyond = 0, as_strided = 0;
  for (auto const* text : patterns) {
    auto const pattern = read_pattern(text);
    REQUIRE(pattern.valid);
    for (int sizes = 0; sizes < 64; ++sizes) {
      reshape_facts known;
      known.factor[0] = 2 + sizes % 4, known.factor[1] = 2 + sizes / 4 % 4, known.factor[2] = 2 + sizes / 16;
      known.axis[0] = known.axis[1] = 2;
      known.even_families = 1U << even;
      auto const before = extents_of(pattern.from, known.factor), after = extents_of(pattern.to, known.factor);
      std::map<std::vector<std::vector<std::int64_t>>, tensor_placement> there;
      each_typing(pattern.to.rank, [&](tensor_placement const& t) {
        if (auto const h = held(t, after, {}); !h.empty()) there.emplace(h, t);
      });
      each_typing(pattern.from.rank, [&](tensor_placement const& t) {
        auto const h = held(t, before, {});
        if (h.empty()) return; // no Even shards of these extents
        auto const made = reshape_placement(t, pattern, known);
        if (made.ok()) {
          ++accepted;
          wrong += held(made.type, after, {}) != h;
        } else {
          ++refused;
          // Two axes may go to two factors of one dimension, or come from them; this is not offered.
          bool const two_axes = t.on[0].kind == t.on[1].kind;
          (two_axes ? beyond : missing) += static_cast<int>(there.count(h));
        }
        auto asked = known;
        asked.strided = true;
        if (auto const s = reshape_placement(t, pattern, asked); s.ok() && !made.ok()) {
          ++as_strided;
          wrong += held(s.type, after, s.pieces) != h;
        }
      });
    }
  }
  CHECK(wrong == 0);
  CHECK(missing == 0);
  CHECK(accepted > 2500);
  CHECK(refused > 500);
  CHECK(as_strided > 200);
  CHECK(beyond < refused / 4);
}

TEST_CASE("what has no dimension passes every reshape") {
  auto const pattern = read_pattern("(a b) c -> a (b c)");
  for (auto kind : {placement_kind::replicate, placement_kind::invariant, placement_kind::varying}) {
    tensor_placement t{1, 2};
    t.on[0] = {kind};
    CHECK(reshape_placement(t, pattern, {}).type == t);
  }
  for (auto fold : {monoid::sum, monoid::average, monoid::maximum, monoid::minimum, monoid::product}) {
    tensor_placement t{1, 2};
    t.on[0] = {placement_kind::partial, fold};
    CHECK(reshape_placement(t, pattern, {}).ok());
  }
}

} // namespace test_reshape
