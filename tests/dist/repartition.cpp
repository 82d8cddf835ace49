// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Partitioners that run on all ranks find the parts that one rank finds, and repartition moves matrices and vectors to them.
#include <limits>
#include <sstream>

#include <sla/dist/assembly/factories.hpp>
#include <sla/dist/assembly/problems_on_ranks.hpp>
#include <sla/dist/engine/fake.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/matrix/reshard_rows.hpp>
#include <sla/dist/partition/hilbert.hpp>

#include "catch.hpp"
#include "suites/communicator.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_repartition {
using namespace sla;
using Catch::Matchers::ContainsSubstring;
using suite::require;
using Rows = mesh<axis<"rows">>;

/// The rows of `whole` that a rank owns.
template <class T>
matrix<T> own_part(matrix<T> const& whole, row_partition const& rows) {
  matrix<T> out({rows.count(), whole.extent(1)});
  for (index_t n = 0; n < rows.count(); ++n)
    for (index_t k = 0; k < whole.extent(1); ++k) out(n, k) = whole(rows.global(n), k);
  return out;
}
template <class X>
bool equal(X const& a, X const& b) {
  return std::ranges::equal(a, b);
}
template <class X>
bool close(X const& a, X const& b) {
  return std::ranges::equal(a, b, [](double x, double y) { return std::abs(x - y) <= 1e-12 * (1 + std::abs(y)); });
}
/// Points without order, on which many coordinates are equal.
matrix<double> points(index_t n, index_t axes) {
  auto const x = random<double>({n * axes}, 5);
  matrix<double> out({n, axes});
  for (index_t k = 0; k < n * axes; ++k) out[k] = k % axes == 1 ? std::floor(4 * x[k]) : x[k];
  return out;
}
/// A partitioner of one's own: part 0 for all rows but the first ones, which are given.
struct listed {
  std::vector<int> first;
  std::size_t count;
  std::vector<int> partition_on_ranks(rows_of_rank const&) const {
    auto out = first;
    out.resize(count, 0);
    return out;
  }
};
/// The owners that a layout says, as every rank is told.
template <class D>
std::vector<index_t> all_rows(D const& d) {
  return d.handle()->rows->order(d.mesh().communicator(0));
}

TEST_CASE("boxes and pieces of a curve are those of one rank, whoever has the rows") {
  for (int const ranks : {1, 2, 3, 4, 8})
    for (index_t const n : {0, 1, 7, 90}) CHECK_NOTHROW(threads::run(ranks, [&](auto& world) {
      Rows const m(world);
      auto& c = m.communicator(0);
      auto const A = suite::scattered<double>(n, n, 3 * n);
      auto const xyz = points(n, 3);
      for (bool const scattered : {false, true}) {
        auto const D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, scattered));
        auto const mine = own_part(xyz, *D.handle()->rows);
        require(all_rows(repartition(D, rcb{mine})) == partition(A, ranks, rcb{xyz}).order(), c, "rcb");
        require(all_rows(repartition(D, hilbert{mine})) == partition(A, ranks, hilbert{xyz}).order(), c, "hilbert");
        if (!scattered) {  // the numbers of ranges are those of the whole
          auto const all = graph_of<index_t>(A.pattern().view(), "test"), own = detail::graph_on_ranks(D);
          auto const& rows = *D.handle()->rows;
          bool same = own.vertices() == rows.count();
          for (index_t k = 0; same && k < rows.count(); ++k)
            same = std::equal(own.target.begin() + own.begin[k], own.target.begin() + own.begin[k + 1], all.target.begin() + all.begin[rows.global(k)],
                              all.target.begin() + all.begin[rows.global(k) + 1]);
          require(same, c, "the graph");
        }
        // Weights of which a few are nearly all: still a row for each part.
        auto weights = ones<double>(n);
        if (n > 1) weights[n / 2] = 1000;
        vector<double> own(Extents<dyn>(mine.extent(0)));
        for (index_t k = 0; k < own.size(); ++k) own[k] = weights[D.handle()->rows->global(k)];
        require(all_rows(repartition(D, rcb{mine, own})) == partition(A, ranks, rcb{xyz, weights}).order(), c, "rcb by weights");
      }
    }));
}

TEST_CASE("Hilbert's curve goes from each cell to one beside it") {
  for (index_t const axes : {1, 2, 3}) {
    index_t const side = axes == 1 ? 64 : axes == 2 ? 8 : 4;
    matrix<double> at({64, axes});
    for (index_t i = 0; i < 64; ++i)
      for (index_t a = 0, rest = i; a < axes; ++a, rest /= side) at(i, a) = double(rest % side);
    auto const order = hilbert{.coordinates = at}.partition(problems::poisson<double>({64}).pattern().view(), 64).order();
    for (std::size_t k = 1; k < order.size(); ++k) {
      double step = 0;
      for (index_t a = 0; a < axes; ++a) step += std::abs(at(order[k], a) - at(order[k - 1], a));
      CHECK(step == 1);
    }
    auto const quarters = partition(problems::poisson<double>({64}), 5, hilbert{.coordinates = at, .weights = ones<double>(64)});
    for (int p = 0; p < 5; ++p) CHECK(std::abs(double(quarters.count(p)) - 12.8) <= 1);
  }
}

TEST_CASE("a matrix and its vectors move to other owners, and so do gradients") {
  auto const A = problems::convection_diffusion<double>({9, 7}, {4.0, -2.0});
  auto const xy = suite::grid_coordinates({9, 7});
  auto const u = random<double>({63}, 2);
  auto const W = points(63, 2);
  for (int const ranks : {1, 2, 3, 4, 8}) CHECK_NOTHROW(threads::run(ranks, [&](auto& world) {
    Rows const m(world);
    auto& c = m.communicator(0);
    auto const D = distribute<SparseShard<0>>(A, m, equal_rows{});
    auto const mine = own_part(xy, *D.handle()->rows);
    auto const E = repartition(D, hilbert{mine});
    static_assert(std::same_as<decltype(E), decltype(D)>);
    require(std::ranges::equal(to_dense(gather(E)), to_dense(A)), c, "the same matrix");
    auto const b = repartition(distribute(u, D.row_layout()), E.row_layout());
    require(equal(b.local(), distribute(u, E.row_layout()).local()), c, "a vector");
    require(equal(repartition(distribute(W, D.row_layout()), E.row_layout()).local(), distribute(W, E.row_layout()).local()), c, "right-hand sides");
    require(std::ranges::equal(to_dense(gather(repartition(E, D.row_layout()))), to_dense(A)) && equal(repartition(b, D.row_layout()).local(), distribute(u, D.row_layout()).local()), c, "and back");

    // A program that moves to other owners and one that does not have one gradient.
    auto const dx = distribute(u, D.row_layout());
    auto const boxes = repartition(D, rcb{mine}).row_layout();
    auto const [value, gA, gx] = value_and_gradient([&](auto const& K, auto const& x) {
      auto const L = repartition(K, rcb{mine});
      return squared_norm(L * repartition(x, boxes));
    }, D, dx);
    auto const [value_here, hA, hx] = value_and_gradient([&](auto const& K, auto const& x) { return squared_norm(K * x); }, D, dx);
    require(std::abs(value - value_here) <= 1e-12 * value_here, c, "the value");
    require(norm(eval(gx - hx)).value() <= 1e-12 * norm(hx).value() && close(gA.local().values(), hA.local().values()), c, "gradients");
  }));
}

TEST_CASE("wrong coordinates and partitioners are refused on all ranks, by the row in the whole") {
  auto const heard = [](auto const& f) {
    return suite::words_of(3, [&](auto& world) {
      Rows const m(world);
      auto const D = problems::poisson<double>(m, {6, 5});
      f(D, own_part(suite::grid_coordinates({6, 5}), *D.handle()->rows));
    });
  };
  auto const say = [](std::vector<std::string> const& all, char const* words) {
    for (auto const& one : all) CHECK_THAT(one, ContainsSubstring(words));
  };
  say(heard([](auto const& D, auto) { repartition(D, rcb{suite::grid_coordinates({6, 5})}); }), "rcb: the coordinates are 30 x 2 for 10 rows that rank 0 owns; give one row");
  say(heard([](auto const& D, auto xy) {
        if (D.mesh().world().rank() == 2) xy(3, 1) = std::numeric_limits<double>::quiet_NaN();
        repartition(D, hilbert{xy});
      }), "hilbert: coordinate 1 of row 23 is nan");
  say(heard([](auto const& D, auto xy) { repartition(D, rcb{D.mesh().world().rank() == 1 ? matrix<double>({10, 3}) : xy}); }), "rank 0 gives coordinates on 2 axes, and another rank on 3");
  say(heard([](auto const& D, auto xy) { repartition(D, rcb{xy, ones<double>(4)}); }), "4 weights for 10 rows that rank 0 owns");
  say(heard([](auto const& D, auto) { repartition(D, listed{{0, 0, 3}, 10}); }), "rank 0 gives row 2 of 30 to part 3; the rows are 0 to 29, the parts 0 to 2");
  say(heard([](auto const& D, auto) { repartition(D, listed{{}, 9}); }), "f gives 9 parts for 10 rows");
  say(heard([](auto const& D, auto) { repartition(distribute(ones<double>(30), D.row_layout()), problems::poisson<double>(D.mesh(), {4, 2}).row_layout()); }), "8 indices, and the dimension has 30");
  fake alone(4, 1);
  auto const D = problems::poisson<double>(Rows(alone), {6, 5});
  CHECK_THROWS_WITH(repartition(D, rcb{matrix<double>({D.local().rows(), 2})}), ContainsSubstring("a rank of the engine fake has the rows of no others"));
}
} // namespace test_repartition
