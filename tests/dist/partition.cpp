// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Partitions: owner maps, coordinates, quality and picture; and what ranks make of any owner map, against one rank.
#include <iostream>
#include <limits>
#include <set>
#include <sstream>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/assembly/problems_on_ranks.hpp>
#include <sla/dist/engine/fake.hpp>
#include <sla/dist/partition/picture.hpp>
#include <sla/dist/partition/rcb.hpp>
#include <sla/dist/matrix/matrix_product.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_partition {

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using Rows = mesh<axis<"rows">>;

TEST_CASE("an owner map is ranges or a table") {
  owner_map const table({2, 0, 1, 0, 2}, 4);
  CHECK((table.parts() == 4 && table.rows() == 5 && !table.contiguous()));
  CHECK(table.members(0) == std::vector<index_t>{1, 3});
  CHECK(table.members(3).empty());
  CHECK(table.order() == std::vector<index_t>{1, 3, 2, 0, 4});
  CHECK(table.table() == std::vector<int>{2, 0, 1, 0, 2});
  CHECK((table[0] == 2 && table.owns(1, 2) && table.before(3, 2) && !table.before(4, 0)));
  owner_map const sorted({0, 0, 2}, 3), ranges(std::vector<index_t>{0, 2, 2, 3});
  CHECK((sorted.contiguous() && sorted == ranges && sorted.fingerprint() == ranges.fingerprint()));
  CHECK(ranges.table() == std::vector<int>{0, 0, 2});
  CHECK(ranges.order() == std::vector<index_t>{0, 1, 2});
  CHECK(ranges[2] == 2);
  CHECK(table.fingerprint() != owner_map({2, 0, 1, 2, 0}, 4).fingerprint());
}

TEST_CASE("wrong owners are refused by name") {
  auto const A = problems::poisson<double>({2, 2});
  CHECK_THROWS_WITH(owner_map({0, 1, 4, 1}, 4), "row 2 is given to part 4; the parts are 0 to 3");
  CHECK_THROWS_WITH(owner_map({0, -1}, 4), ContainsSubstring("row 1 is given to part -1"));
  CHECK_THROWS_AS(owner_map({}, 0), value_error);
  CHECK_THROWS_AS(owner_map(std::vector<index_t>{0, 3, 2}), shape_error);
  CHECK_THROWS_WITH(partition(A, 2, owner_map({0, 1, 1}, 2)), ContainsSubstring("has 3 rows, the matrix 4: row 3 has no owner"));
  CHECK_THROWS_WITH(partition(A, 2, owner_map({0, 1, 1, 1, 0}, 2)), ContainsSubstring("give one owner per row"));
  CHECK_THROWS_WITH(partition(A, 3, owner_map({0, 1, 1, 1}, 2)), ContainsSubstring("has 2 parts, and 3 are wanted"));
  CHECK_THROWS_AS(partition(A, 0, strips{}), value_error);
  CHECK_THROWS_AS(partition_quality(A, owner_map({0, 1, 1}, 2)), shape_error);
  auto const heard = suite::words_of(3, [&](auto& world) { distribute<SparseShard<0>>(A, Rows(world), owner_map({0, 1}, 3)); });
  for (auto const& words : heard) CHECK_THAT(words, ContainsSubstring("row 2 has no owner"));
}

TEST_CASE("coordinates are bisected into boxes of equal work") {
  auto const A = problems::poisson<double>({8, 8});
  auto const xy = suite::grid_coordinates({8, 8});
  rcb const unit{.coordinates = xy, .weights = ones<double>(64)};
  auto const four = partition(A, 4, unit);
  for (index_t i = 0; i < 64; ++i) CHECK(four[i] == (i % 8 < 4 ? 0 : 2) + (i / 8 < 4 ? 0 : 1));
  for (int parts : {1, 2, 3, 5, 7, 12, 64, 100}) {
    auto const owners = partition(A, parts, unit);
    CHECK(owners == partition(A, parts, unit));
    index_t least = 64, most = 0;
    for (int r = 0; r < parts; ++r) least = (std::min)(least, owners.count(r)), most = (std::max)(most, owners.count(r));
    CHECK((owners.parts() == parts && owners.rows() == 64));
    CHECK(most - least <= (parts > 7 ? 3 : 2));
    if (parts <= 64) CHECK(least > 0);
  }
  // Points in any order, on a line in space: the parts are its pieces, cut by weight.
  index_t const n = 100;
  matrix<double> line({n, 3});
  auto weights = ones<double>(n);
  for (index_t i = 0; i < n; ++i) {
    auto const t = double(i * 37 % n);
    line(i, 0) = 1, line(i, 1) = -t, line(i, 2) = t / 2;
    weights[i] = t < 50 ? 3 : 1;  // 200 in all
  }
  auto const pieces = partition(problems::poisson<double>({n}), 4, rcb{.coordinates = line, .weights = weights});
  double load[4] = {};
  for (index_t i = 0; i < n; ++i) {
    load[pieces[i]] += weights[i];
    auto const t = -line(i, 1);
    CHECK(pieces[i] == (t >= 50 ? 0 : t >= 33 ? 1 : t >= 17 ? 2 : 3));
  }
  for (double w : load) CHECK(std::abs(w - 50) <= 3);
  // All in one place.
  auto const same = partition(A, 3, rcb{.coordinates = matrix<double>({64, 2}), .weights = ones<double>(64)});
  CHECK(same.contiguous());
  CHECK((same.count(0) == 21 && same.count(1) == 21 && same.count(2) == 22));
}

TEST_CASE("wrong coordinates and weights are refused by name") {
  auto const A = problems::poisson<double>({2, 2});
  matrix<double> xy({4, 2});
  CHECK_THROWS_WITH(partition(A, 2, rcb{matrix<double>({3, 2})}), ContainsSubstring("the coordinates are 3 x 2 for 4 rows"));
  CHECK_THROWS_AS(partition(A, 2, rcb{}), shape_error);
  xy(2, 1) = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(partition(A, 2, rcb{xy}), ContainsSubstring("coordinate 1 of row 2 is nan"));
  CHECK_THROWS_AS(draw_partition(std::cout, xy, owner_map({0, 0, 1, 1}, 2)), value_error);
  xy(2, 1) = 0;
  CHECK_THROWS_WITH(partition(A, 2, rcb{xy, ones<double>(3)}), ContainsSubstring("3 weights for 4 rows"));
  CHECK_THROWS_WITH(partition(A, 2, rcb{xy, {1.0, -1.0, 1.0, 1.0}}), ContainsSubstring("weight of row 1 is -1"));
  CHECK_THROWS_AS(draw_partition(std::cout, xy, owner_map({0, 0, 1}, 2)), shape_error);
  CHECK_THROWS_AS(draw_partition(std::cout, xy, owner_map({0, 0, 1, 1}, 2), {.up = 2}), shape_error);
  CHECK_THROWS_AS(draw_partition("/dev/full", xy, owner_map({0, 0, 1, 1}, 2)), io_error);
}

TEST_CASE("quality is counted as its definition says") {
  index_t const rows = 40, cols = GENERATE(40, 23);
  auto const A = suite::scattered<double>(rows, cols, 120);
  auto const owners = suite::scattered_owners(rows, 5);
  auto const column_owner = rows == cols ? owners.table() : std::vector<int>();
  auto const owner_of = [&](index_t j) { return column_owner.empty() ? Balanced::owner(j, cols, 5) : column_owner[std::size_t(j)]; };
  std::set<std::pair<int, index_t>> reads;
  std::set<std::pair<int, int>> messages;
  std::set<std::pair<index_t, index_t>> edges;
  std::set<index_t> boundary;
  std::vector<index_t> entries(5, 0);
  for (index_t i = 0; i < rows; ++i)
    A.pattern().view().for_row(i, [&](index_t, index_t j) {
      ++entries[std::size_t(owners[i])];
      if (owner_of(j) == owners[i]) return;
      reads.insert({owners[i], j});
      messages.insert({owner_of(j), owners[i]});
      edges.insert({(std::min)(i, j), (std::max)(i, j)});
      boundary.insert(i);
    });
  auto const quality = partition_quality(A, owners);
  CHECK(quality.halo() == index_t(reads.size()));
  CHECK(quality.messages() == index_t(messages.size()));
  CHECK(quality.edge_cut.has_value() == (rows == cols));
  if (rows == cols) CHECK(*quality.edge_cut == index_t(edges.size()));
  CHECK(quality.total(&partition_report::part::interior) == rows - index_t(boundary.size()));
  CHECK(quality.entry_balance() == Approx(double(*std::max_element(entries.begin(), entries.end())) * 5 / double(A.nnz())));
  // The same as of the ranks that hold it.
  auto const held = threads::run(5, [&](auto& world) {
    Rows m(world);
    std::ostringstream out;
    out << report_partition(distribute<SparseShard<0>>(A, m, owners));
    return out.str();
  });
  auto mine = quality;
  mine.edge_cut = {};
  std::ostringstream out;
  out << mine;
  CHECK(held[3] == out.str());
  CHECK_THAT(out.str(), ContainsSubstring("part 4: ") && ContainsSubstring("5 parts: halo volume "));
}

TEST_CASE("a report says what to call where strips of a grid leave no interior rows") {
  auto const report = [](int ranks, index_t side) {
    fake world(ranks, ranks / 2);
    std::ostringstream out;
    out << report_partition(problems::poisson<double>(Rows(world), {side, side, side}));
    return out.str();
  };
  CHECK_THAT(report(10000, 215), ContainsSubstring("only 0 of 994 rows read nothing") && ContainsSubstring("repartition(D, rcb{xyz})") && ContainsSubstring("ptscotch_kway{}"));
  CHECK(report(2, 20).find("only") == std::string::npos);  // planes enough
  auto const A = problems::poisson<double>({40, 40, 40});
  CHECK_FALSE(partition_quality(A, partition(A, 64, strips{})).advice().empty());
  sla::matrix<double> xyz(Extents<dyn, dyn>(64000, 3));
  for (index_t i = 0; i < 64000; ++i) xyz(i, 0) = double(i % 40), xyz(i, 1) = double(i / 40 % 40), xyz(i, 2) = double(i / 1600);
  CHECK(partition_quality(A, partition(A, 64, rcb{xyz})).advice().empty());
}

TEST_CASE("products, gathers and sums by any owners are those of one rank") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  index_t const rows = 60, cols = GENERATE(60, 41);
  auto const A = suite::scattered<double>(rows, cols, 250);
  auto const x = random<double>({cols}, 1), u = random<double>({rows}, 2);
  sla::vector<double> const y = A * x, v = transpose(A) * u;
  double const error = suite::largest_error(ranks, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, suite::scattered_owners(A.rows(), world.size()));
    auto dx = distribute(x, D.col_layout());
    auto du = distribute(u, D.row_layout());
    auto const pending = convert<"rows", Partial<>>(du, expert);
    auto const back = reduce_scatter<"rows", Shard<0, Part<>>>(pending);
    return std::array<double, 5>{norm(gather(D * dx) - y), norm(gather(transpose(D) * du) - v), norm(gather(du) - u),
                                 norm(gather(pending) - u), norm(gather(back) - u)};
  });
  CHECK(error <= 1e-13 * (1 + norm(y) + norm(v)));
}

TEST_CASE("what two threads of a rank set up and pack is what one does") {
  auto const A = problems::poisson<double>({280, 240});
  auto const owners = owner_map::equal(A.rows(), 2);
  auto const x = random<double>({A.rows()}, 3);
  auto const X = random<double, Extents<dyn, dyn>>({400, 300}, 4);
  sla::vector<double> const y = A * x;
  auto const found = [&](int threads) {
    return threads::run(2, {.threads_per_rank = threads}, [&](auto& world) {
      Rows const m(world);
      auto const D = distribute<SparseShard<0>>(A, m, owners);
      if (norm(gather(D * distribute(x, D.row_layout())) - y) > 1e-12 * norm(y)) throw value_error("another product");
      auto const turned = all_to_all<"rows", Shard<1>>(distribute<Shard<0>>(X, m));
      auto const again = repartition<"rows", Shard<1, Strided<2, Balanced>>>(turned);
      if (squared_norm(gather(again) - X) > 0) throw value_error("other elements");
      return std::vector<index_t>(D.local().pattern().col.begin(), D.local().pattern().col.end());
    });
  };
  CHECK(found(2) == found(1));
}

TEST_CASE("vectors of another table are refused") {
  auto const A = problems::poisson<double>({5, 4});
  auto const heard = suite::words_of(2, [&](auto& world) {
    Rows m(world);
    auto D = distribute<SparseShard<0>>(A, m, suite::scattered_owners(20, 2));
    auto const other = distribute<SparseShard<0>>(A, m, rcb{suite::grid_coordinates({5, 4})});
    eval(D * distribute(random<double>({20}, 1), other.row_layout()));
  });
  for (auto const& words : heard) CHECK_THAT(words, ContainsSubstring("x was sharded by another partition"));
}

TEST_CASE("a picture has a colour for each part") {
  std::ostringstream out;
  auto const owners = owner_map({0, 0, 1, 1, 0, 1}, 3);
  draw_partition(out, suite::grid_coordinates({3, 2}), owners, {.width = 216});
  auto const svg = out.str();
  CHECK_THAT(svg, ContainsSubstring("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"216\" height=\"116\""));
  CHECK_THAT(svg, ContainsSubstring("6 rows in 3 parts") && ContainsSubstring("part 1: 3 rows") && !ContainsSubstring("part 2"));
  CHECK_THAT(svg, ContainsSubstring("M8 108h0") && ContainsSubstring("M208 8h0"));
  std::set<std::string> colours;
  for (int r = 0; r < 64; ++r) colours.insert(detail::part_colour(r));
  CHECK(colours.size() == 64);
  std::ostringstream line;
  draw_partition(line, matrix<double>({2, 1}), owner_map({0, 1}, 2));
  CHECK_THAT(line.str(), ContainsSubstring("height=\"16\""));
}
} // namespace test_partition
