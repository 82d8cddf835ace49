// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules of own operations: whole operands only, tables, functions of the operands, compositions and references. All of
// them decide calls on types.
#include <sla/core/op.hpp>
#include <sla/spmd.hpp>
#include <sla/spmd/rule/out_partial.hpp>
#include <sla/spmd/rule/tables.hpp>

#include "catch.hpp"

namespace test_custom_rules {

using namespace sla;

namespace {

struct blackbox;    // knows nothing of ranks
struct table_op;    // a strategy
struct regrouped;   // a strategy with equal pieces
struct by_shape;    // a strategy chosen by the operands
struct linear;      // x w^T, both linear
struct difference;  // x - y, linear in both at once
struct unclaimed;   // the same without a claim
struct whole_width; // a norm along a dimension that every rank has
struct gathering;   // gathers its operand first
struct forgetful;   // does not look at its second argument
struct careful;     // ignores it
struct fused;       // typed by a reference
struct two_results;
struct insisting; // demands a placement

using M = mesh<axis<"dp", 2>, axis<"tp", 2>>;
struct plain { // a local tensor of a number of dimensions, for types only
  struct extents_type {
    static constexpr int rank = 2;
  };
  using value_type = double;
};
template <class... P>
using X = distributed<plain, M, P...>;

} // namespace
} // namespace test_custom_rules

template <>
inline constexpr auto sla::rule_of<test_custom_rules::blackbox> = sla::local_only{};
template <>
inline constexpr auto sla::rule_of<test_custom_rules::table_op> = sla::strategies::einsum("mk,kn->mn");
template <>
inline constexpr auto sla::rule_of<test_custom_rules::regrouped> = sla::strategies::reshape(sla::dims(6, 4), sla::dims(4, 6));
template <>
inline constexpr auto sla::rule_of<test_custom_rules::by_shape> = sla::rules::by_operands([](std::span<sla::operand const> o) {
  return sla::strategies::move_along(sla::dims::unknown(o[0].type.rank), sla::strategies::over(o[0].type.rank - 1));
});
template <>
inline constexpr auto sla::rule_of<test_custom_rules::linear> = sla::rules::compose([](auto x, auto w) {
  return sla::rules::einsum<"mk,nk->mn">(x, w, sla::rules::linear_in<0, 1>);
});
template <>
inline constexpr auto sla::rule_of<test_custom_rules::difference> = sla::rules::compose([](auto x, auto y) {
  return sla::rules::einsum<"mk,mk->mk">(x, y, sla::rules::jointly_linear_in<0, 1>);
});
template <>
inline constexpr auto sla::rule_of<test_custom_rules::unclaimed> = sla::rules::compose([](auto x, auto w) {
  return sla::rules::einsum<"mk,nk->mn">(x, w);
});
template <>
inline constexpr auto sla::rule_of<test_custom_rules::whole_width> = sla::rules::compose([](auto x) {
  return sla::rules::einsum<"m_->m">(x);
});
template <>
inline constexpr auto sla::rule_of<test_custom_rules::gathering> = sla::rules::compose([](auto x, auto w) {
  auto const all = sla::rules::all_gather<"tp">(x);
  return sla::rules::reduce_scatter<"dp", sla::Shard<1>>(sla::rules::einsum<"mk,kn->mn">(all, w));
});
template <>
inline constexpr auto sla::rule_of<test_custom_rules::forgetful> = sla::rules::compose([](auto x, auto) {
  return sla::rules::einsum<"mk->mk">(x);
});
template <>
inline constexpr auto sla::rule_of<test_custom_rules::careful> = sla::rules::compose([](auto x, auto g) {
  sla::rules::ignore(g);
  return sla::rules::einsum<"mk->mk">(x, sla::rules::linear_in<0>);
});
template <>
inline constexpr auto sla::rule_of<test_custom_rules::fused> = sla::rules::same_as([](auto const& x, auto const& y) {
  return 2.0 * x + exp(y);
});
template <>
inline constexpr auto sla::rule_of<test_custom_rules::two_results> = sla::rules::compose([](auto x) {
  return sla::rules::results(sum(x), sla::rules::einsum<"mk->km">(x));
});
template <>
inline constexpr auto sla::rule_of<test_custom_rules::insisting> = sla::rules::compose([](auto x) {
  sla::rules::expect<"dp", sla::Replicate>(x);
  return exp(x);
});

namespace test_custom_rules {

namespace {

using R = Replicate;
using I = Invariant;
using V = Varying;
using P = Partial<>;

template <class Op, class... T>
constexpr code why = outcome_of<Op, T...>.why.what;
template <class Op, class... T>
constexpr int blamed = outcome_of<Op, T...>.why.operand;
template <class List, class Op, class... T>
constexpr bool gives = well_typed<Op, T...>&& std::is_same_v<result_placements_t<Op, T...>, List>;

static_assert(gives<placements<V, R>, blackbox, X<V, R>, X<R, R>>);
static_assert(why<blackbox, X<P, R>> == code::nonlinear_in_partial);
static_assert(why<blackbox, X<Shard<0>, R>> == code::layouts_differ);
static_assert(why<blackbox, X<I, R>, X<R, R>> == code::invariant_with_replicate);

static_assert(gives<placements<Shard<0>, P>, table_op, X<Shard<0>, Shard<1>>, X<R, Shard<0>>>);
static_assert(why<table_op, X<R, R>> == code::no_rule); // of two operands
static_assert(gives<placements<Shard<0>, R>, regrouped, X<Shard<0>, R>>);
static_assert(why<regrouped, X<Shard<0>, Shard<0>>> == code::layouts_differ); // four ranks do not divide six indices
static_assert(why<regrouped, X<Shard<0, Balanced>, R>> == code::layouts_differ);
static_assert(gives<placements<Shard<0, Part<"a">>, R>, by_shape, X<Shard<0, Part<"a">>, R>>);
static_assert(why<by_shape, X<Shard<1>, R>> == code::layouts_differ);

static_assert(gives<placements<P, Shard<1>>, linear, X<Shard<1>, R>, X<Shard<1>, Shard<0>>>);
static_assert(gives<placements<P, R>, linear, X<P, R>, X<R, R>>);
static_assert(why<linear, X<P, R>, X<P, R>> == code::partial_times_partial);
static_assert(gives<placements<P, Shard<1>>, difference, X<P, Shard<1>>, X<P, Shard<1>>>);
static_assert(why<difference, X<P, R>, X<R, R>> == code::partial_plus_replicate);
static_assert(why<unclaimed, X<P, R>, X<R, R>> == code::nonlinear_in_partial);
static_assert(gives<placements<P, R>, unclaimed, X<Shard<1>, R>, X<Shard<1>, R>>); // the label claims that parts add up
static_assert(why<whole_width, X<Shard<1>, R>> == code::layouts_differ);
static_assert(gives<placements<Shard<0>, V>, whole_width, X<Shard<0>, V>>);

static_assert(gives<placements<Shard<1>, Shard<1>>, gathering, X<Shard<1>, Shard<0>>, X<Shard<0>, Shard<1>>> == false);
static_assert(gives<placements<Shard<1>, R>, gathering, X<Shard<1>, Shard<0>>, X<Shard<0>, R>>);
static_assert(why<gathering, X<R, P>, X<R, R>> == code::wrong_collective && blamed<gathering, X<R, P>, X<R, R>> == 0);
static_assert(why<gathering, X<R, Shard<0>>, X<R, R>> == code::reduction_of_replicate); // nothing is pending on dp

static_assert(why<forgetful, X<R, R>, X<R, R>> == code::no_rule && blamed<forgetful, X<R, R>, X<R, R>> == 1);
static_assert(gives<placements<P, Shard<0>>, careful, X<P, Shard<0>>, X<V, V>>);
static_assert(why<careful, X<R, R>> == code::no_rule); // of two operands

static_assert(gives<placements<Shard<1>, I>, fused, X<Shard<1>, I>, X<Shard<1>, I>>);
static_assert(why<fused, X<P, R>, X<P, R>> == code::nonlinear_in_partial && blamed<fused, X<P, R>, X<P, R>> == 1);
static_assert(why<fused, X<P, R>, X<R, R>> == code::partial_plus_replicate && blamed<fused, X<P, R>, X<R, R>> == 0);
static_assert(gives<placements<P, R>, two_results, X<Shard<0>, R>>);
static_assert(outcome_of<two_results, X<Shard<0>, R>>.more[0].on[0].dim == 1);
static_assert(std::is_same_v<result_placements_t<two_results, X<Shard<0>, R>>, placements<P, R>>);
static_assert(std::is_same_v<nth_result_placements_t<1, two_results, X<Shard<0>, R>>, placements<Shard<1>, R>>);
static_assert(why<insisting, X<Shard<0>, R>> == code::layouts_differ && well_typed<insisting, X<R, Shard<0>>>);

} // namespace

namespace {

// a mesh that wants every pending sum stated
using Strict = mesh<mesh_policy<explicit_partial>, axis<"dp", 2>, axis<"tp", 2>>;
template <class... Q>
using Y = distributed<plain, Strict, Q...>;
template <class Op>
using on_tp = out_partial<Op, "tp">;

static_assert(why<table_op, Y<R, Shard<1>>, Y<R, Shard<0>>> == code::unstated_partial);
static_assert(gives<placements<R, P>, on_tp<table_op>, Y<R, Shard<1>>, Y<R, Shard<0>>>);
static_assert(gives<placements<Shard<0>, P>, on_tp<linear>, Y<Shard<0>, Shard<1>>, Y<R, Shard<1>>>);
static_assert(gives<placements<R, P>, on_tp<table_op>, Y<R, V>, Y<R, R>>);              // the terms of the ranks
static_assert(why<on_tp<table_op>, Y<R, Shard<0>>, Y<R, R>> == code::unstated_partial); // nothing is summed over
static_assert(why<on_tp<table_op>, Y<Shard<1>, Shard<0>>, Y<Shard<0>, R>> == code::unstated_partial);
static_assert(gives<placements<P, P>, out_partial<on_tp<table_op>, "dp">, Y<P, Shard<1>>, Y<R, Shard<0>>>);
static_assert(why<out_partial<table_op, "pp">, Y<R, R>, Y<R, R>> == code::different_meshes);
static_assert(gives<placements<R, P>, on_tp<table_op>, X<R, Shard<1>>, X<R, Shard<0>>>); // may be said anywhere
static_assert(!rule_of<on_tp<struct unknown>>.known);

struct twice_ruled; // rows make rows by one rule, whole tensors by another

} // namespace
} // namespace test_custom_rules

template <>
inline constexpr sla::strategy sla::rule_of<test_custom_rules::twice_ruled> = [] {
  sla::strategy s = sla::strategies::einsum("ij->ij");
  sla::rule other = s.rules[0];
  other.out[0] = {sla::slot_kind::replicate};
  return s.add(other);
}();

namespace test_custom_rules {

static_assert(why<twice_ruled, X<Shard<0>, R>> == code::ambiguous_rule);
static_assert(why<twice_ruled, X<R, R>> == code::ambiguous_rule); // whatever the operands: the rules are wrong

TEST_CASE("a reference composes on numbers too") {
  auto const reference = [](auto const& x, auto const& y) { return 2.0 * x + exp(y); };
  using std::exp;
  CHECK(reference(1.0, 0.0) == 3.0);
}

} // namespace test_custom_rules
