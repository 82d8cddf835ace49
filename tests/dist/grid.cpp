// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows on one axis of the mesh, columns on another: products on 2 x 2 and 2 x 3 ranks are those of one rank, the vectors are
// expanded and folded, nothing else is sent, and gradients take the way back.
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/spmd/schedule/outline_operators.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "catch.hpp"

namespace test_grid {

using namespace sla;

namespace {
using B = Balanced;
template <int Columns>
using Grid = mesh<axis<"pr", 2>, axis<"pc", Columns>>;
template <int Columns>
using Rectangles = dsparse_tensor<sparse_tensor<double>, Grid<Columns>, SparseShard<0, B>, SparseShard<1, B>>;
template <int Columns, class... P>
using Column = dtensor<vector<double>, Grid<Columns>, P...>;

/// x comes in pieces, is expanded along the rows' axis, multiplied, and folded along the columns'.
constexpr auto expand_multiply_fold = [](auto const& A, auto const& x) {
  return reduce_scatter<"pc", Shard<0, B>>(A * all_gather<"pr">(x));
};
using Pieces = Column<3, Shard<0, B, 1>, Shard<0, B>>;
constexpr auto sent = schedule<expand_multiply_fold, Rectangles<3>, Pieces>;
static_assert(sent.collectives() == 2 && sent.count(step::all_gather, 0) == 1 && sent.count(step::reduce_scatter, 1) == 1);
static_assert(sent.backward().count(step::all_gather, 1) == 1 && sent.backward().count(step::reduce_scatter, 0) == 1);

// both directions, and what no rank can multiply
template <class... P>
using product_t = result_placements_t<op::matvec, Rectangles<3>, Column<3, P...>>;
template <class... P>
using transposed_t = result_placements_t<op::transposed_matvec, Rectangles<3>, Column<3, P...>>;
static_assert(std::same_as<product_t<Replicate, Shard<0, B>>, placements<Shard<0, B>, Partial<>>>);
static_assert(std::same_as<transposed_t<Shard<0, B>, Replicate>, placements<Partial<>, Shard<0, B>>>);
static_assert(!well_typed<op::matvec, Rectangles<3>, Column<3, Shard<0, B>, Replicate>>);
static_assert(!well_typed<op::matvec, Rectangles<3>, Column<3, Replicate, Replicate>>);
static_assert(!well_typed<op::transposed_matvec, Rectangles<3>, Column<3, Replicate, Shard<0, B>>>);

template <int Columns>
void check(sparse_tensor<double> const& A) {
  auto const x = random<double>({A.cols()}, 1), g = random<double>({A.rows()}, 2);
  vector<double> const y = A * x, z = transpose(A) * g;
  double const loss = 0.5 * squared_norm(y);
  vector<double> const to_x = transpose(A) * y;
  double values2 = 0;
  for (index_t i = 0; i < A.rows(); ++i) A.pattern().view().for_row(i, [&](index_t, index_t j) { values2 += y[i] * y[i] * x[j] * x[j]; });
  auto const apart = threads::run(2 * Columns, [&](auto& world) {
    Grid<Columns> m(world);
    auto const D = distribute<SparseShard<0, B>, SparseShard<1, B>>(A, m);
    auto const dx = distribute(x, D.col_layout());
    auto const dg = distribute(g, D.row_layout());
    static_assert(has_placements<decltype(dx), Replicate, Shard<0, B>> && has_placements<decltype(dg), Shard<0, B>, Replicate>);
    if (D.rows() != A.rows() || D.cols() != A.cols()) throw value_error("the extents of the whole");
    auto const dy = eval(D * dx);
    static_assert(has_placements<decltype(dy), Shard<0, B>, Partial<>>);
    auto const dz = eval(transpose(D) * dg);
    auto const pieces = distribute<Shard<0, B, 1>, Shard<0, B>>(x, m);
    auto const counted = [&](int axis) {
      auto const& s = m.communicator(axis).stats();
      index_t all = index_t(s.exchanges);
      for (auto n : s.calls) all += index_t(n);
      return std::array<index_t, 3>{index_t(s.count(collective::all_gather)), index_t(s.count(collective::reduce_scatter)), all};
    };
    auto const rows = counted(0), columns = counted(1);
    auto const folded = expand_multiply_fold(D, pieces);
    auto const rows2 = counted(0), columns2 = counted(1);
    bool const nothing_else = rows2[0] == rows[0] + 1 && rows2[2] == rows[2] + 1 && columns2[1] == columns[1] + 1 && columns2[2] == columns[2] + 1;
    static_assert(has_placements<decltype(folded), Shard<0, B>, Shard<0, B>>);
    auto const [value, ga, gx] = value_and_gradient(
        [](auto const& a, auto const& v) { return 0.5 * squared_norm(all_reduce<"pc", Invariant>(a * v)); }, D, dx);
    static_assert(has_placements<decltype(gx), Partial<>, Shard<0, B>>);
    double paired = 0, squared = 0;  // the gradient of a_ij is y_i x_j
    for (index_t n = 0; n < D.local().values().size(); ++n) {
      paired += ga.local().values()[n] * D.local().values()[n];
      squared += ga.local().values()[n] * ga.local().values()[n];
    }
    paired = all_reduce(m.world(), paired), squared = all_reduce(m.world(), squared);
    return std::array<double, 8>{nothing_else ? 0.0 : 1e9,        norm(gather(dy) - y),  norm(gather(dz) - z),        norm(gather(folded) - y),    norm(gather(gx) - to_x),
                                 std::abs(value - loss), std::abs(paired - 2 * loss), std::abs(squared - values2)};
  });
  for (auto const& rank : apart)
    for (double e : rank) CHECK(e <= 1e-12 * (1 + loss + values2));
}
}  // namespace

TEST_CASE("a product with rectangles is that of one rank") {
  check<2>(problems::convection_diffusion<double>({9, 7}, {5.0, -2.0}));
  check<3>(problems::convection_diffusion<double>({9, 7}, {5.0, -2.0}));
  check<3>(problems::random_sparse<double>(17, 11, 4, 3));
  check<3>(problems::random_sparse<double>(2, 2, 1, 3));
}
} // namespace test_grid
