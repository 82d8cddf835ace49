// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pending sums on request, on a mesh that wants them stated: products by columns, transposed products by rows, reductions, and
// their gradients, whose backward products nobody has to state. Against one rank.
#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace requested_partial {
namespace {

using namespace sla;
using Strict = mesh<mesh_policy<explicit_partial>, axis<"rows">>;
using on_rows = out_partial<op::matvec, "rows">;

template <class A, class X>
concept multiplies = well_typed<op::matvec, A, X>;
template <class... P>
using D = dsparse_tensor<sparse_tensor<double>, Strict, P...>;
template <class... P>
using V = dtensor<sla::vector<double>, Strict, P...>;
static_assert(!multiplies<D<SparseShard<1>>, V<Shard<0, Part<>>>>);
static_assert(well_typed<on_rows, D<SparseShard<1>>, V<Shard<0, Part<>>>>);
static_assert(!well_typed<on_rows, D<SparseShard<0>>, V<Shard<0, Part<>>>>); // its rows are complete: E18
static_assert(!well_typed<op::dot, V<Shard<0>>, V<Shard<0>>>);

TEST_CASE("products and reductions that are asked for pending sums give those of one rank, and their gradients") {
  int const ranks = GENERATE(1, 2, 3, 4);
  auto const A = problems::convection_diffusion<double>({4, 3}, {3.0, 1.0});
  auto const x = random<double>({12}, 1), b = random<double>({12}, 2);
  sla::vector<double> const y = A * x;
  auto const [value, gA, gx] = value_and_gradient([&](auto const& a, auto const& v) { return dot(a * v, b) + squared_norm(v) + sum(v); }, A, x);
  sla::vector<double> const gAb = gA * b, back = transpose(A) * b;
  auto const errors = threads::run(ranks, [&, value = value, &gx = gx](auto& world) {
    Strict m(world);
    auto const C = distribute<SparseShard<1>>(A, m);
    auto const R = distribute<SparseShard<0>>(A, m);
    auto const v = distribute(x, C.col_layout());
    auto const db = distribute(b, C.col_layout());
    auto const pending = eval(perform(on_rows{}, C, v));
    static_assert(has_placements<std::remove_const_t<decltype(pending)>, Partial<>>);
    auto const inner = eval(perform(out_partial<op::dot, "rows">{}, v, db));
    static_assert(has_placements<std::remove_const_t<decltype(inner)>, Partial<>>);

    auto const [total, dC, dv] = value_and_gradient(
        [&](auto const& a, auto const& u) {
          return perform(out_partial<op::dot, "rows">{}, reduce_scatter<"rows", Shard<0, Part<>>>(perform(on_rows{}, a, u)), db) +
                 perform(out_partial<op::squared_norm, "rows">{}, u) + perform(out_partial<op::sum, "rows">{}, u);
        },
        C, v);
    // rows that meet a whole vector: the backward product is pending, and is not to be stated
    auto const [by_rows, dR, dw] = value_and_gradient(
        [&](auto const& a, auto const& u) { return perform(out_partial<op::dot, "rows">{}, a * u, distribute(b, R.row_layout())); }, R,
        distribute<Replicate>(x, m));
    static_assert(has_placements<std::remove_const_t<decltype(dw)>, Partial<>>);
    return std::array<double, 7>{norm(all_reduce<"rows">(pending).local() - y),
                                 std::abs(all_reduce<"rows">(inner).value() - double(dot(x, b))),
                                 std::abs(total - value),
                                 norm(all_reduce<"rows">(perform(on_rows{}, dC, db)).local() - gAb),
                                 norm(gather(dv) - gx),
                                 norm(all_reduce<"rows">(dw).local() - back),
                                 std::abs(by_rows - double(dot(y, b)))};
  });
  for (auto const& rank : errors)
    for (double e : rank) CHECK(e <= 1e-12 * (1 + std::abs(value)));
}

} // namespace
} // namespace requested_partial
