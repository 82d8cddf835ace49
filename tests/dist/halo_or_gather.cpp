// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products by rows on thread ranks: the volume of the halo decides between its exchange and a gathered vector, on all ranks alike;
// the messages are counted, and results are those of one rank.
#include <string>
#include <vector>

#include <sla/dist/plan/auto_plan.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/plan/product_costs.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "catch.hpp"

namespace test_halo_or_gather {
namespace {

using namespace sla;
using namespace sla::plans;
using Rows = mesh<axis<"rows">>;
using Sparse = dsparse_tensor<sparse_tensor<double>, Rows, SparseShard<0, Part<>>>;
using Piece = Shard<0, Part<>>;
using Column = dtensor<sla::vector<double>, Rows, Piece>;
using Either = plan_of<op::matvec, Sparse, Column>;
static_assert(std::is_same_v<Either, HaloOrGather<Plan<Arg<0>, Arg<1>, Apply<op::matvec>, Result<>>,
                                                 Plan<Arg<0>, Arg<1, AllGather<Piece, Replicate, "rows">>, Apply<op::matvec>, Result<>>>>);

struct product_sent {
  double apart;
  std::uint64_t exchanges, gathers;
  index_t volume, ghosts;
};
/// What one planned product sends, and how far it is from that of one rank.
template <class... Requested>
std::vector<product_sent> planned_products(sparse_tensor<double> const& A, int ranks) {
  auto const x = random<double>({A.cols()}, 9);
  sla::vector<double> const right = A * x;
  return threads::run(ranks, [&](auto& world) {
    Rows m(world);
    auto const D = distribute<SparseShard<0>>(A, m, strips{});
    auto const dx = distribute(x, D.col_layout());
    auto& c = m.communicator(0);
    auto const before = c.stats();
    auto const y = eval(auto_plan<op::matvec, Requested...>(D, dx));
    auto const after = c.stats();
    static_assert(has_placements<decltype(y), Piece>);
    auto const gathers = std::size_t(collective::all_gather);
    return product_sent{double(norm(gather(y) - right)), after.exchanges - before.exchanges, after.calls[gathers] - before.calls[gathers],
                        D.handle()->halo->volume(), D.handle()->halo->ghosts()};
  });
}
/// The volume of the halo, where every rank took this way.
index_t volume_by(std::vector<product_sent> const& all, bool whole) {
  index_t volume = 0;
  for (auto const& d : all) volume += d.ghosts;
  for (auto const& d : all) {
    CHECK(d.apart <= 1e-10);
    CHECK(d.volume == volume);
    CHECK((d.exchanges == (whole ? 0u : 1u) && d.gathers == (whole ? 1u : 0u)));
  }
  return volume;
}

} // namespace

TEST_CASE("a small halo is exchanged; a vector of which nearly all is read is gathered") {
  for (int ranks : {2, 4}) {
    auto const banded = problems::poisson({400}), plane = problems::poisson({40, 40});
    CHECK(volume_by(planned_products(banded, ranks), false) == 2 * (ranks - 1));
    CHECK(volume_by(planned_products(plane, ranks), false) == 2 * 40 * (ranks - 1));
    index_t const n = 3000;
    auto const dense_ish = problems::random_sparse<double>(n, n, 60, 5);
    CHECK(volume_by(planned_products(dense_ish, ranks), true) > (ranks - 1) * n * 9 / 10);
    (void)volume_by(planned_products<Prefer<Either::by_halo>>(dense_ish, ranks), false);
    (void)volume_by(planned_products<Prefer<Either::whole>>(banded, ranks), true);
  }
}

TEST_CASE("gradients go back by the way that was taken") {
  auto const dense_ish = problems::random_sparse<double>(300, 300, 60, 5);
  for (auto const& A : {problems::poisson({300}), dense_ish}) {
    auto const x = random<double>({300}, 9);
    sla::vector<double> const y = A * x, g = transpose(A) * y;
    for (double apart : threads::run(3, [&](auto& world) {
           Rows m(world);
           auto const D = distribute<SparseShard<0>>(A, m, strips{});
           auto const [loss, to_x] = value_and_gradient([&](auto const& v) { return 0.5 * squared_norm(auto_plan<op::matvec>(D, v)); },
                                                        distribute(x, D.col_layout()));
           static_assert(has_placements<decltype(to_x), Piece>);
           return std::abs(loss - 0.5 * double(squared_norm(y))) + double(norm(gather(to_x) - g));
         }))
      CHECK(apart <= 1e-9 * (1 + double(norm(g))));
  }
}

TEST_CASE("before a matrix is sharded its partition says which product is cheapest") {
  auto const four = owner_map::equal(1000, 4);
  CHECK(product_costs(problems::poisson({1000}), four).cheapest() == product_way::halo);
  CHECK(product_costs(problems::random_sparse<double>(1000, 1000, 200, 5), four).cheapest() == product_way::whole);
  // few rows that read much: sums of ten rows are less than their vector
  auto const flat = problems::random_sparse<double>(10, 5000, 2500, 5);
  CHECK(product_costs(flat, owner_map::equal(10, 4)).cheapest() == product_way::columns);
}

TEST_CASE("both plans have words") {
  CHECK(std::string(explain_plan<op::matvec, Sparse, Column>()) ==
        "by the halo:\n"
        "operand 0 stays\n"
        "operand 1 as it is\n"
        "matvec {rows: Shard<0, Part<>>}\n"
        "where the halo is dearer:\n"
        "operand 0 stays\n"
        "operand 1 {rows: Shard<0, Part<>>}\n"
        "  AllGather<\"rows\"> to {rows: Replicate}, backward ReduceScatter<\"rows\">\n"
        "matvec {rows: Shard<0, Part<>>}\n");
}

} // namespace test_halo_or_gather
