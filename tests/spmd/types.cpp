// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules on types: what users write, and that types and values say the same.
#include <complex>
#include <concepts>
#include <type_traits>
#include <vector>

#include <sla/core/op.hpp>
#include <sla/spmd.hpp>
#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

#include "catch.hpp"
#include "placed.hpp"

namespace test_types {

using namespace sla;

namespace {

using Grid = mesh<axis<"dp", 2>, axis<"tp", 4>>;
template <class... P>
using X = distributed<vector<double>, Grid, P...>;
template <class... P>
using A = distributed<sparse_tensor<double>, Grid, P...>;
template <class... P>
using Number = distributed<double, Grid, P...>;

template <class Op, class Expected, class... Ts>
inline constexpr bool gives = well_typed<Op, Ts...>&& std::same_as<result_placements_t<Op, Ts...>, Expected>;

// a sum of products is not a product of sums; a replicate would be counted four times
static_assert(!well_typed<op::mul, X<Replicate, Partial<>>, X<Replicate, Partial<>>>);
static_assert(!well_typed<op::add, X<Replicate, Partial<>>, X<Replicate, Replicate>>);
static_assert(well_typed<op::add, X<Replicate, Partial<>> const&, X<Replicate, Partial<>>&&>);
static_assert(gives<op::mul, placements<Shard<0>, Partial<>>, X<Shard<0>, Partial<>>, X<Shard<0>, Replicate>>);

// families and their tags are part of a placement
static_assert(gives<op::add, placements<Shard<0, Part<"a">>, Replicate>, X<Shard<0, Part<"a">>, Replicate>,
                    X<Shard<0, Part<"a">>, Replicate>>);
static_assert(!well_typed<op::add, X<Shard<0, Part<"a">>, Replicate>, X<Shard<0, Part<"b">>, Replicate>>);
static_assert(!well_typed<op::add, X<Shard<0, Balanced>, Replicate>, X<Shard<0>, Replicate>>);
static_assert(gives<op::neg, placements<Shard<0, Table<1, 2>>, Partial<>>, X<Shard<0, Table<1, 2>>, Partial<>>>);
static_assert(
    gives<op::exp, placements<Ghost<0, Part<"a">, "halo">, Replicate>, X<Ghost<0, Part<"a">, "halo">, Replicate>>);

// a family of this test; no rule knows it
struct Cyclic {
  static constexpr bool even = false, contiguous = false, stated = true;
};
static_assert(
    gives<op::dot, placements<Partial<>, Replicate>, X<Shard<0, Cyclic>, Replicate>, X<Shard<0, Cyclic>, Replicate>>);
static_assert(gives<op::matvec, placements<Shard<0, Cyclic>, Replicate>, A<SparseShard<0, Cyclic>, Replicate>,
                    X<Shard<0, Cyclic>, Replicate>>);

// numbers
static_assert(gives<op::mul, placements<Shard<0>, Partial<>>, literal<double>, X<Shard<0>, Partial<>>>);
static_assert(!well_typed<op::add, X<Shard<0>, Partial<>>, literal<double>>);
static_assert(gives<op::mul, placements<Invariant, Partial<>>, uniform_number<double>, X<Invariant, Partial<>>>);
static_assert(!well_typed<op::add, uniform_number<double>, X<Replicate, Partial<>>>);
static_assert(!well_typed<op::mul, double, X<Replicate, Replicate>>);
static_assert(!well_typed<op::mul, std::complex<double>, X<Replicate, Replicate>>);
static_assert(gives<op::mul, placements<Shard<0>, Replicate>, Number<Replicate, Replicate>, X<Shard<0>, Replicate>>);
static_assert(!well_typed<op::mul, Number<Partial<>, Replicate>, X<Shard<0>, Replicate>>);
static_assert(
    gives<op::mul, placements<Shard<0>, Varying>, distributed<int, Grid, Invariant, Replicate>, X<Shard<0>, Varying>>);

// what is not distributed is no business of these rules, except beside what is
static_assert(well_typed<op::add, vector<double>, vector<double>>);
static_assert(outcome_of<op::add, X<Replicate, Replicate>, vector<double>>.why.what == code::no_placement);
using Elsewhere = distributed<vector<double>, mesh<axis<"dp", 2>>, Replicate>;
static_assert(outcome_of<op::add, X<Replicate, Replicate>, Elsewhere>.why.what == code::different_meshes);
static_assert(std::is_void_v<common_mesh_t<double, vector<double>>> &&
              std::same_as<common_mesh_t<double, X<Replicate, Replicate>>, Grid>);

// products and solves
static_assert(gives<op::matvec, placements<Shard<0, Part<>>, Replicate>, A<SparseShard<0>, Replicate>,
                    X<Shard<0, Part<>>, Replicate>>);
static_assert(implied_v<op::matvec, 0, A<SparseShard<0>, Replicate>, X<Shard<0, Part<>>, Replicate>> ==
              communication::halo);
static_assert(gives<op::matvec, placements<Shard<0, Part<>>, Partial<>>, A<SparseShard<0>, SparseShard<1, Part<"c">>>,
                    X<Replicate, Shard<0, Part<"c">>>>);
static_assert(gives<op::solve, placements<Shard<0, Part<>>, Replicate>, A<SparseShard<0>, Replicate>,
                    X<Shard<0, Part<>>, Replicate>>);
using Batched = sparse_tensor<double, Shape<Batch<4>, dyn, dyn, Block<3, 3>>>;
static_assert(local_dims<Batched>::rank == 5 && local_dims<Batched>::batch == 1);
static_assert(local_dims<vector<double>>::rank == 1 && local_dims<vector<double>>::batch == -1 &&
              local_dims<double>::rank == 0);
static_assert(gives<op::matvec, placements<Shard<0>, Replicate>, distributed<Batched, Grid, Shard<0>, Replicate>,
                    distributed<tensor<double, Extents<4, dyn, 3>>, Grid, Shard<0>, Replicate>>);

// results as types, and types taken apart
using Z = result_t<float, op::dot, X<Shard<0>, Replicate>, X<Shard<0>, Replicate>>;
static_assert(std::same_as<Z, distributed<float, Grid, Partial<>, Replicate>>);
static_assert(has_placements<Z const&, Partial<>, Replicate> && !has_placements<Z, Replicate, Partial<>> &&
              !has_placements<vector<double>>);
static_assert(std::same_as<result_placements_t<op::add, X<Shard<0>, Replicate>, X<Replicate, Replicate>>,
                           placements<Shard<0>, Replicate>>); // refused: well formed all the same
static_assert(std::same_as<placement_along_t<Z, "tp">, Replicate> && std::same_as<placement_on_t<Z, 0>, Partial<>>);
static_assert(std::same_as<with_placement_t<Z, "dp", Invariant>, distributed<float, Grid, Invariant, Replicate>>);
static_assert(std::same_as<mesh_of_t<Z&>, Grid> && std::same_as<local_of_t<Z>, float>);
static_assert(has_placements<cotangent_t<X<Replicate, Partial<>>>, Partial<>, Replicate> &&
              has_placements<cotangent_t<X<Invariant, Shard<0>>>, Invariant, Shard<0>> &&
              has_placements<cotangent_t<X<Varying, Ghost<0>>>, Varying, GhostP<0>> &&
              has_placements<cotangent_t<A<SparseShard<0>, Replicate>>, SparseShard<0>, Partial<>> &&
              std::same_as<cotangent_t<double>, double>);
static_assert(std::is_empty_v<Replicate> && std::is_empty_v<Shard<3, Part<"x">>> && std::is_empty_v<Even>);

// transitions
static_assert(legal_step<step::all_reduce, X<Shard<0>, Partial<>>, "tp", Replicate>);
static_assert(!legal_step<step::all_reduce, X<Shard<0>, Partial<>>, "dp", Replicate>);
static_assert(!legal_step<step::all_gather, X<Shard<0>, Shard<0>>, "dp", Replicate> &&
              legal_step<step::all_gather, X<Shard<0>, Shard<0>>, "tp", Replicate>);
static_assert(!legal_step<step::reduce_scatter, X<Partial<>, Replicate>, "dp", Shard<1>>);
static_assert(!legal_step<step::convert, X<Replicate, Replicate>, "dp", Invariant> &&
              legal_step<step::convert, X<Replicate, Replicate>, "dp", Invariant, true>);
static_assert(legal_step<step::halo_exchange, X<Shard<0, Part<>>, Replicate>, "dp", Ghost<0>>);
static_assert(route_v<Partial<>, Shard<0>> == step::reduce_scatter &&
              route_v<Shard<0>, Invariant> == step::all_gather && route_v<Replicate, Shard<0>> == step::convert);

// what stands for a distributed value, and an operation of one's own
struct stand_in {};
struct softplus {};

template <class... P>
constexpr bool round_trip() {
  using keys = typename detail::key_list<P...>::type;
  return (std::same_as<placement_at<detail::to_value<P, keys>(), keys>, P> && ...);
}
static_assert(round_trip<Replicate, Invariant, Varying, Partial<Sum>, Partial<Avg>, Partial<Max>, Partial<Min>,
                         Partial<Prod>, Shard<0>, Shard<7, Table<1, 2>>, SparseShard<1, Part<"p">>,
                         Ghost<1, Part<"p">, "q">, GhostP<1, Part<"p">, "r">>());

} // namespace
} // namespace test_types

template <>
struct sla::operand_traits<test_types::stand_in> : sla::operand_traits<test_types::X<sla::Shard<0>, sla::Replicate>> {};
template <>
inline constexpr sla::op_rule sla::rule_of<test_types::softplus>{};

namespace test_types {

static_assert(gives<softplus, placements<Shard<0>, Replicate>, X<Shard<0>, Replicate>> &&
              !well_typed<softplus, X<Shard<0>, Partial<>>>);
static_assert(outcome_of<struct unknown, X<Shard<0>, Replicate>>.why.what == code::no_rule);
static_assert(Distributed<stand_in> && well_typed<op::add, stand_in, X<Shard<0>, Replicate>>);

TEST_CASE("values of numbers") {
  literal<double> two = 2;
  CHECK(two.value() == 2.0);
  CHECK(uniform(0.5).value() == 0.5);
}

TEST_CASE("the duals on values and on types agree") {
  using keys = detail::key_list<Replicate, Invariant, Varying, Partial<>, Shard<0>, Ghost<0>, GhostP<0>>::type;
  CHECK(dual(detail::to_value<Replicate, keys>()) == detail::to_value<dual_t<Replicate>, keys>());
  CHECK(dual(detail::to_value<Invariant, keys>()) == detail::to_value<dual_t<Invariant>, keys>());
  CHECK(dual(detail::to_value<Varying, keys>()) == detail::to_value<dual_t<Varying>, keys>());
  CHECK(dual(detail::to_value<Partial<>, keys>()) == detail::to_value<dual_t<Partial<>>, keys>());
  CHECK(dual(detail::to_value<Shard<0>, keys>()) == detail::to_value<dual_t<Shard<0>>, keys>());
  CHECK(dual(detail::to_value<Ghost<0>, keys>()) == detail::to_value<dual_t<Ghost<0>>, keys>());
  CHECK(dual(detail::to_value<GhostP<0>, keys>()) == detail::to_value<dual_t<GhostP<0>>, keys>());
  CHECK(dual(detail::to_value<Partial<Max>, keys>()) == placement_value{});
}

} // namespace test_types
