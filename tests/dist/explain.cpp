// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables and pictures of who holds what: against the parts that distribute gives, and as text.
#include <sstream>

#include <sla/dist/view/assume.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/value/explain_placement.hpp>
#include <sla/dist/engine/fake.hpp>
#include <sla/dist/view/reinterpret_mesh.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "catch.hpp"

namespace test_explain {

using namespace sla;
using Grid = mesh<axis<"dp", 2>, axis<"tp", 2>>;

TEST_CASE("the shares are the parts that the ranks have") {
  auto const X = random<double, Extents<dyn, dyn>>({12, 7}, 3);
  auto const A = problems::convection_diffusion<double>({7, 6}, {3.0, 1.0});
  auto const wrong = threads::run(4, [&](auto& world) {
    Grid m(world);
    mesh<axis<"all">> line(world);
    auto const differs = [&](auto const& x) {
      auto const all = shares(x);
      auto const& mine = all[std::size_t(world.rank())];
      if (mine.rank != world.rank() || all.size() != 4) return 1;
      auto const& local = x.local();
      if (index_t(mine.indices[0].size()) != local.extent(0) || index_t(mine.indices[1].size()) != local.extent(1)) return 1;
      for (index_t i = 0; i < local.extent(0); ++i)
        for (index_t j = 0; j < local.extent(1); ++j)
          if (local(i, j) != X(mine.indices[0][std::size_t(i)], mine.indices[1][std::size_t(j)])) return 1;
      return 0;
    };
    int bad = differs(distribute<Shard<0>, Shard<1, Ceil>>(X, m));
    bad += differs(distribute<Shard<0>, Shard<0>>(X, m));
    bad += differs(distribute<Shard<0, Even, 1>, Shard<0>>(X, m)); // tp outermost
    bad += differs(distribute<Shard<1, Balanced>, Replicate>(X, m));
    bad += differs(distribute<Shard<0, Strided<3>>, Invariant>(X, m));
    bad += differs(distribute<Shard<0, Table<5, 0, 4, 3>>>(X, line));
    mesh<axis<"tp", 2, 1>, axis<"dp", 2, 2>> turned(world);
    auto const t = reinterpret_mesh(distribute<Shard<0>, Shard<1, Ceil>>(X, m), turned);
    for (auto const& s : shares(t)) bad += s.rank == world.rank() && index_t(s.indices[1].size()) != t.local().extent(1);
    auto const D = distribute<SparseShard<0>>(A, line);
    auto const parts = shares(D);
    bad += index_t(parts[std::size_t(world.rank())].indices[0].size()) != D.local().rows();
    auto const wide = problems::random_sparse<double>(9, 23, 4, 1);
    auto const rows = distribute<SparseShard<0>>(wide, line);
    auto const columns = distribute<SparseShard<1>>(wide, line);
    auto const entries = distribute<Hyper<>>(A, line, strips{});
    for (auto const& share : shares(rows)) bad += share.indices[1].size() != 23;
    for (auto const& share : shares(columns)) bad += share.indices[0].size() != 9;
    bad += index_t(shares(rows)[std::size_t(world.rank())].indices[0].size()) != rows.local().rows();
    bad += index_t(shares(columns)[std::size_t(world.rank())].indices[1].size()) != columns.local().cols();
    bad += explain(rows, 0).find("9 x 23 on") != 0 || explain(columns, 0).find("9 x 23 on") != 0;
    bad += explain(entries, 0).find("42 x 42 on") != 0;
    return bad;
  });
  CHECK(wrong == 0);
}

TEST_CASE("a table says in words who holds what") {
  fake world(4, 1);
  Grid m(world);
  auto const x = dtensor<matrix<double>, Grid, Shard<0>, Partial<>>::zeros(m, {6, 5});
  CHECK(explain(x) == "6 x 5 on dp=2 Shard<0>, tp=2 Partial<Sum>\n"
                      "rank  dp  tp  dimension 0  dimension 1  holds\n"
                      "0     0   0   0-2          0-4          a term over tp\n"
                      "1     0   1   0-2          0-4          a term over tp\n"
                      "2     1   0   3-5          0-4          a term over tp\n"
                      "3     1   1   3-5          0-4          a term over tp\n");
  auto const y = dtensor<sla::vector<double>, Grid, Shard<0, Strided<2>>, Replicate>::zeros(m, {8});
  CHECK(explain(y, 3) == "8 on dp=2 Shard<0, Strided<2>>, tp=2 Replicate\n"
                         "rank  dp  tp  dimension 0\n"
                         "0     0   0   0-1,4-5\n"
                         "1     0   1   0-1,4-5\n"
                         "2     1   0   2-3,6-7\n"
                         "and 1 ranks more\n");
  auto const n = untyped(m, 1.0);
  CHECK(explain(n, 1) == "a number on dp=2 Untyped, tp=2 Untyped\n"
                         "rank  dp  tp  holds\n"
                         "0     0   0   not known along dp, not known along tp\n"
                         "and 3 ranks more\n");
  auto const small = dtensor<sla::vector<double>, Grid, Shard<0, Ceil>, Varying>::zeros(m, {1});
  CHECK(explain(small).find("3     1   1   nothing      its own along tp") != std::string::npos);
}

TEST_CASE("a picture has a rectangle for each part, with its ranks") {
  fake world(4, 0);
  Grid m(world);
  auto const count = [](std::string const& text, std::string const& what) {
    int n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  std::ostringstream cut, copied, strided;
  draw_placement(cut, dtensor<matrix<double>, Grid, Shard<0>, Shard<1>>::zeros(m, {8, 4}));
  CHECK(count(cut.str(), "<rect x=") == 4);
  CHECK(count(cut.str(), "dasharray") == 0);
  CHECK(cut.str().find("</svg>") != std::string::npos);
  draw_placement(copied, dtensor<matrix<double>, Grid, Partial<>, Shard<1>>::zeros(m, {8, 4}));
  CHECK(count(copied.str(), "<rect x=") == 2);
  CHECK(count(copied.str(), "dasharray") == 2);
  CHECK(copied.str().find(">0 2</text>") != std::string::npos);
  CHECK(copied.str().find(">1 3</text>") != std::string::npos);
  draw_placement(strided, dtensor<sla::vector<double>, Grid, Shard<0, Strided<2>>, Replicate>::zeros(m, {8}));
  CHECK(count(strided.str(), "<rect x=") == 4);
}

TEST_CASE("a rank prints where it is, the placements and its part, and waits for nobody") {
  auto const words = threads::run(2, [](auto& world) {
    mesh<axis<"rows">> m(world);
    auto const D = distribute<SparseShard<0>>(problems::poisson<double>({4}), m, strips{});
    auto const x = distribute(sla::vector<double>{1.5, 2.5, 3.5, 4.5}, D.row_layout());
    auto const number = dot(x, x);
    std::ostringstream out;
    if (world.rank() == 1) out << x << "\n" << D << number;
    return out.str();
  });
  CHECK(words[0].empty());
  CHECK(words[1].starts_with("tensor 4 on ranks, {rows: Shard<0, Part<>>}; here rows 1 of 2:\n"));
  CHECK(words[1].find("sparse tensor 4 x 4 on ranks, {rows: SparseShard<0>}; here rows 1 of 2:\n2 x 3, 5 entries") != std::string::npos);
  CHECK(words[1].find("number on ranks, {rows: Partial<Sum>}; here rows 1 of 2:\n32.5") != std::string::npos);
}
} // namespace test_explain
