// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of what each rank has, between distributed values: typed bodies, trusted ones, tuples, meshes with local axes.
#include <tuple>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/view/local_map.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"

namespace test_local_map {

using namespace sla;

namespace {
using Grid = mesh<axis<"dp", 2>, axis<"tp", 2>>;
using Global = mesh<mesh_policy<local_axes<>>, axis<"dp", 2>, axis<"tp", 2>>;
using R = Replicate;
} // namespace

TEST_CASE("a body of typed operations is checked, a trusted one is believed") {
  auto const X = random<double, Extents<dyn, dyn>>({8, 6}, 3);
  sla::vector<double> const w = {1, 2, 3, 4, 5, 6};
  auto const wrong = threads::run(4, [&](auto& world) {
    Grid m(world);
    auto const x = distribute<Shard<0>, Shard<1>>(X, m);
    int bad = 0;
    // what each rank has, doubled: shards again
    auto const twice = local_map<inputs<placements<Shard<0>, Shard<1>>>, outputs<lies<spec<"dp", "tp">>>>([](auto const& part) {
      static_assert(has_placements<decltype(part), Varying, Varying>);
      return 2.0 * part;
    });
    auto const y = twice(x);
    static_assert(has_placements<decltype(y), Shard<0>, Shard<1>>);
    bad += double(norm(gather(y) - 2.0 * X)) != 0;
    // a number per rank: contributions to a sum over both axes
    auto const total = local_map<inputs<infer>, outputs<Partial<>>>([](auto const& part) { return eval(sum(part)); });
    static_assert(has_placements<decltype(total(x)), Partial<>, Partial<>>);
    bad += std::abs(all_reduce<"dp">(all_reduce<"tp">(total(x))).value() - double(sum(X))) > 1e-12;
    // a body of plain tensors; a plain argument; two results, one of them nested
    auto const opaque = local_map<inputs<lies<spec<"dp", unsharded>, R>, nontensor>, outputs<named<along<"dp", Shard<0>>>::or_else<R>, outputs<R, nontensor>>>(
        trust([](matrix<double> const& part, double scale) {
          sla::vector<double> rows(Extents<dyn>(part.extent(0)));
          for (index_t i = 0; i < part.extent(0); ++i)
            for (index_t j = 0; j < part.extent(1); ++j) rows[i] += scale * part(i, j);
          return std::tuple{rows, std::tuple{scale, 7}};
        }));
    auto const by_rows = distribute<Shard<0>, R>(X, m);
    auto const [rows, more] = opaque(by_rows, 0.5);
    static_assert(has_placements<decltype(rows), Shard<0>, R> && has_placements<decltype(std::get<0>(more)), R, R>);
    auto const all = gather(rows);
    for (index_t i = 0; i < 8; ++i) {
      double expected = 0;
      for (index_t j = 0; j < 6; ++j) expected += 0.5 * X(i, j);
      bad += std::abs(all[i] - expected) > 1e-14;
    }
    bad += std::get<0>(more).value() != 0.5 || std::get<1>(more) != 7;
    // uneven parts are measured
    auto const uneven = local_map<inputs<R>, outputs<named<along<"dp", R>, along<"tp", Shard<0, Balanced>>>>>(trust([&](sla::vector<double> const& v) {
      sla::vector<double> part(Extents<dyn>(m.coordinate<"tp">() == 0 ? 2 : 1));
      for (double& e : part) e = v[0];
      return part;
    }));
    bad += gather(uneven(distribute<R, R>(w, m))).size() != 3;
    // a tuple of arguments
    auto const both = local_map<inputs<inputs<R, R>>, outputs<R>>([](auto const& pair) { return eval(dot(std::get<0>(pair), std::get<1>(pair))); });
    auto const v = distribute<R, R>(w, m);
    bad += both(std::tuple{v, v}).value() != 91.0;
    return bad;
  });
  CHECK(wrong == 0);
}

TEST_CASE("on global axes the body has Varying values that its surroundings have not") {
  auto const x = random<double>({12}, 5);
  auto const wrong = threads::run(4, [&](auto& world) {
    Global m(world);
    auto const shards = distribute<Shard<0>, Replicate>(x, m);
    auto const first = local_map<inputs<infer>, outputs<placements<Partial<>, Replicate>>>([](auto const& part) {
      static_assert(has_placements<decltype(part), Varying, Replicate>);
      static_assert(mesh_of_t<decltype(part)>::local_axis_count == -1); // its own programs
      return eval(sum(part));
    });
    auto const s = first(shards);
    static_assert(std::same_as<mesh_of_t<decltype(s)>, Global>);
    return std::abs(all_reduce<"dp">(s).value() - double(sum(x))) < 1e-13 ? 0 : 1;
  });
  CHECK(wrong == 0);
}
} // namespace test_local_map
