// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Local and global axes of a mesh, and its other promises: what may live there, what operations accept, which axes go together.
#include <concepts>

#include <sla/spmd/rule/modes.hpp>
#include <sla/spmd/rule/well_typed.hpp>
#include <sla/spmd/step/named_steps.hpp>
#include <sla/tensor/storage/dense.hpp>

#include "catch.hpp"

namespace test_modes {

using namespace sla;

namespace {

using Open = mesh<axis<"dp", 2>, axis<"cp", 2>, axis<"tp", 4>>;
using Mixed = mesh<mesh_policy<local_axes<"dp">>, axis<"dp", 2>, axis<"cp", 2>, axis<"tp", 4>>;
using Local = mesh<mesh_policy<local_axes<"dp", "cp", "tp">>, axis<"dp", 2>, axis<"cp", 2>, axis<"tp", 4>>;
using Global = mesh<mesh_policy<local_axes<>>, axis<"dp", 2>, axis<"cp", 2>, axis<"tp", 4>>;
using R = Replicate;
using V = Varying;
using P = Partial<>;
using S = Shard<0>;
template <class Mesh, class... At>
using X = distributed<vector<double>, Mesh, At...>;

static_assert(mode_of<Open>(0) == axis_mode::open && mode_of<Mixed>(0) == axis_mode::local && mode_of<Mixed>(1) == axis_mode::global &&
              mode_of<Local>(2) == axis_mode::local && mode_of<Global>(0) == axis_mode::global);

template <class Mesh, class... At>
constexpr int refused_on = [] { // the axis, or -1
  using keys = typename detail::key_list<At...>::type;
  auto const why = check_modes<Mesh>(detail::distributed_operand<keys, vector<double>, At...>().type);
  return why.what == code::ok ? -1 : int(why.axis);
}();
static_assert(refused_on<Open, V, S, V> == -1 && refused_on<Mixed, V, S, P> == -1 && refused_on<Mixed, V, R, Invariant> == -1);
static_assert(refused_on<Mixed, V, V, R> == 1 && refused_on<Mixed, S, R, R> == 0 && refused_on<Mixed, R, R, V> == 2);
static_assert(refused_on<Local, V, V, V> == -1 && refused_on<Local, V, S, V> == 1 && refused_on<Global, S, R, P> == -1 &&
              refused_on<Global, V, R, R> == 0);

// each axis by its own rules: Varying with Replicate on a local axis, shards beside it on a global one
static_assert(std::same_as<result_placements_t<op::mul, X<Mixed, V, S, R>, X<Mixed, R, S, R>>, placements<V, S, R>>);
static_assert(std::same_as<result_placements_t<op::dot, X<Mixed, V, S, R>, X<Mixed, R, S, R>>, placements<V, P, R>>);
static_assert(!well_typed<op::mul, X<Mixed, V, S, R>, X<Mixed, R, R, R>>); // no communication chosen in silence
static_assert(outcome_of<op::exp, X<Mixed, R, V, R>>.why == diagnostic{code::varying_with_shard, 1, 0});
static_assert(well_typed<op::exp, X<Open, R, V, R>> && well_typed<op::exp, X<Local, V, V, V>>);

// a promise belongs to its mesh: a mesh of the same axes without it is another one
static_assert(outcome_of<op::add, X<Mixed, R, R, R>, X<Open, R, R, R>>.why.what == code::different_meshes);

// a flattened axis lies in one mode
template <class Mesh, fixed_string... Axes>
constexpr bool in_one_mode = one_mode<Mesh>(flat<Axes...>::template axes<Mesh>);
static_assert(in_one_mode<Mixed, "cp", "tp"> && !in_one_mode<Mixed, "dp", "cp"> && in_one_mode<Open, "dp", "tp"> && in_one_mode<Local, "dp", "tp"> &&
              in_one_mode<Mixed, "dp">);

// pending sums that are to be asked for, operands that have no placement
using Requested = mesh<mesh_policy<explicit_partial>, axis<"tp", 4>>;
static_assert(outcome_of<op::dot, X<Requested, S>, X<Requested, S>>.why.what == code::unstated_partial && well_typed<op::mul, X<Requested, P>, X<Requested, R>>);
using Loose = mesh<mesh_policy<permissive>, axis<"tp", 4>>;
static_assert(std::same_as<result_placements_t<op::add, X<Loose, Untyped>, X<Loose, R>>, placements<Untyped>>);
static_assert(outcome_of<op::exp, X<mesh<axis<"tp", 4>>, Untyped>>.why.what == code::no_placement);

} // namespace

TEST_CASE("the decision about a call is told the promises of its mesh") {
  CHECK(call_context_of<Open>().global_axes == 0);
  CHECK(call_context_of<Mixed>().global_axes == 0b110);
  CHECK(call_context_of<Global>().global_axes == 0b111);
  CHECK(call_context_of<Requested>().explicit_partial == 1);
  CHECK(call_context_of<Loose>().permissive);
  CHECK(!call_context_of<Mixed>().permissive);
}

} // namespace test_modes
