// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Specifications by dimension and by axis, what they become, how they are read back, what is refused, and what may be assumed.
#include <concepts>

#include <sla/spmd/placement/named.hpp>
#include <sla/tensor/storage/dense.hpp>

#include "catch.hpp"

namespace test_partition_spec {

using namespace sla;

namespace {

using Grid = mesh<axis<"dp", 2>, axis<"tp", 4>, axis<"one", 1>>;
template <int Rank, class... What>
using On = placements_on_t<Grid, Rank, What...>;
template <class... P>
using X = distributed<matrix<double>, Grid, P...>;
using R = Replicate;

// what users write is a list of types without padding
static_assert(std::same_as<spec<unsharded, "tp">, partition_spec<sharded_on<>, sharded_on<"tp">>> && std::same_as<spec<>, partition_spec<>> &&
              std::same_as<spec<nested<"tp", "dp">, unsharded>, partition_spec<sharded_on<"tp", "dp">, sharded_on<>>> &&
              std::same_as<spec<nested<"tp">>, spec<"tp">>);

// a specification names the sharded axes; others are said beside it
static_assert(std::same_as<On<2, spec<unsharded, "tp">, Replicate>, placements<R, Shard<1>, R>> &&
              std::same_as<On<2, spec<"dp", "tp">, named<along<"one", Partial<>>>>, placements<Shard<0>, Shard<1>, Partial<>>> &&
              std::same_as<On<2, spec<unsharded, unsharded>, Invariant>, placements<Invariant, Invariant, Invariant>> &&
              std::same_as<On<0, spec<>, R>, placements<R, R, R>>);
// the order of two axes on one dimension; axes of size 1 count
static_assert(std::same_as<On<2, spec<nested<"dp", "tp">, "one">>, placements<Shard<0>, Shard<0>, Shard<1>>> &&
              std::same_as<On<2, spec<nested<"tp", "dp">, "one">>, placements<Shard<0, Even, 1>, Shard<0>, Shard<1>>> &&
              std::same_as<On<1, spec<nested<"one", "tp", "dp">>>, placements<Shard<0, Even, 2>, Shard<0, Even, 1>, Shard<0>>> &&
              std::same_as<On<1, spec<nested<"tp", "dp", "one">>>, placements<Shard<0, Even, 1>, Shard<0>, Shard<0, Even, 1>>>);
// a family for its shards; a Varying that turns out to be one
static_assert(std::same_as<On<2, spec<unsharded, "tp">, R, Balanced>, placements<R, Shard<1, Balanced>, R>> &&
              std::same_as<On<2, spec<unsharded, "tp">, named<along<"tp", Varying>>::or_else<R>>, placements<R, Shard<1>, R>>);
// by axis, by default, by position
static_assert(std::same_as<On<2, named<along<"one", R>, along<"tp", Shard<1, Ceil>>, along<"dp", Varying>>>, placements<Varying, Shard<1, Ceil>, R>> &&
              std::same_as<On<2, named<along<"tp", Shard<0>>>::or_else<R>>, placements<R, Shard<0>, R>> &&
              std::same_as<On<2, Partial<>>, placements<Partial<>, Partial<>, Partial<>>> &&
              std::same_as<On<2, placements<Shard<0>, Shard<0>, R>>, placements<Shard<0>, Shard<0>, R>>);
// levels say the order of shards that are named one by one, and the least that do are kept
static_assert(std::same_as<On<2, named<along<"dp", Shard<0, Even, 5>>, along<"tp", Shard<0, Even, 3>>>::or_else<R>>,
                           placements<Shard<0, Even, 1>, Shard<0>, R>> &&
              std::same_as<On<2, named<along<"dp", Shard<0, Even, 3>>, along<"tp", Shard<0, Even, 5>>>::or_else<R>>,
                           placements<Shard<0>, Shard<0>, R>>);

template <int Rank, class... What>
constexpr spec_fault fault = detail::requested_placements<Grid, Rank, What...>::value.fault;
using enum spec_fault;
static_assert(fault<2, spec<"tp">, R> == length && fault<0, spec<unsharded>, R> == length && fault<2, spec<unsharded, "tp", unsharded>, R> == length);
static_assert(fault<2, spec<unsharded, nested<>>, R> == empty_list && fault<2, spec<"tp", "tp">, R> == repeated &&
              fault<2, spec<nested<"tp", "tp">, unsharded>, R> == repeated && fault<2, spec<"xp", unsharded>, R> == unknown_axis);
static_assert(fault<2, named<along<"xp", R>>::or_else<R>> == unknown_axis && fault<2, named<along<"tp", R>, along<"tp", R>>::or_else<R>> == repeated);
static_assert(fault<2, spec<unsharded, "tp">, named<along<"dp", Shard<0>>>::or_else<R>> == two_forms &&
              fault<2, spec<unsharded, "tp">, named<along<"tp", Shard<1>>>::or_else<R>> == two_forms &&
              fault<2, spec<unsharded, "tp">, Shard<0>> == two_forms);
static_assert(fault<2, spec<unsharded, "tp">, named<along<"tp", R>>::or_else<R>> == not_sharded &&
              fault<2, spec<unsharded, "tp">, named<along<"tp", Partial<>>>::or_else<R>> == not_sharded);
static_assert(fault<2, spec<unsharded, "tp">> == unstated && fault<2, named<along<"tp", R>>> == unstated && fault<2, spec<unsharded, "tp">, Varying> == unstated);
static_assert(fault<2, named<along<"dp", Shard<0>>, along<"tp", Shard<0>>>::or_else<R>> == no_order && fault<2, Shard<0>> == no_order);
static_assert(fault<2, named<along<"dp", Shard<2>>>::or_else<R>> == no_dimension && fault<2, named<along<"dp", Shard<-1>>>::or_else<R>> == no_dimension &&
              fault<0, named<along<"dp", Shard<0>>>::or_else<R>> == no_dimension);
static_assert(specifies<Grid, 2, spec<unsharded, "tp">, R> && !specifies<Grid, 2, spec<unsharded, "tp">>);

// and back
static_assert(std::same_as<spec_of_t<X<R, Shard<1>, R>>, spec<unsharded, "tp">> && std::same_as<spec_of_t<X<Partial<>, R, Varying>>, spec<unsharded, unsharded>> &&
              std::same_as<spec_of_t<X<Shard<0, Even, 1>, Shard<0>, Shard<1>> const&>, spec<nested<"tp", "dp">, "one">> &&
              std::same_as<spec_of_t<distributed<double, Grid, R, R, R>>, spec<>>);

// what may be assumed
template <class From, class To>
constexpr code assumed = [] {
  using keys = typename detail::joined_keys<From, To>::type;
  auto const typed = []<class... P>(placements<P...>) {
    tensor_placement t{static_cast<std::int8_t>(sizeof...(P)), 2};
    int a = 0;
    ((t.on[a++] = detail::to_value<P, keys>()), ...);
    return t;
  };
  return check_assume(typed(From{}), typed(To{})).what;
}();
template <class... P>
using L = placements<P...>;
using V = Varying;
static_assert(assumed<L<Untyped, Untyped>, L<R, Shard<0>>> == code::ok && assumed<L<Untyped, V>, L<Partial<Max>, Shard<1>>> == code::ok);
static_assert(assumed<L<V, V>, L<Shard<0>, Shard<1>>> == code::ok && assumed<L<V, Shard<1>>, L<Shard<0>, Shard<1>>> == code::ok);
static_assert(assumed<L<V, V>, L<Shard<0>, Shard<0>>> == code::ok && assumed<L<V, R>, L<Partial<>, R>> == code::ok);
static_assert(assumed<L<R, Shard<0>>, L<R, Shard<0>>> == code::ok && assumed<L<V, V>, L<V, V>> == code::ok);
static_assert(assumed<L<Shard<0>, Shard<0>>, L<Shard<0>, Shard<0>>> == code::ok);
static_assert(assumed<L<Partial<>, R>, L<V, R>> == code::local_conversion && assumed<L<R, R>, L<V, R>> == code::local_conversion &&
              assumed<L<R, R>, L<Invariant, R>> == code::local_conversion && assumed<L<V, R>, L<R, R>> == code::unprovable_replicate);
static_assert(assumed<L<Shard<0>, R>, L<V, R>> == code::reinterpreted_shard && assumed<L<Shard<0>, R>, L<Partial<>, R>> == code::reinterpreted_shard &&
              assumed<L<Shard<0>, R>, L<Shard<1>, R>> == code::reinterpreted_shard &&
              assumed<L<Shard<0>, R>, L<Shard<0, Ceil>, R>> == code::reinterpreted_shard);
static_assert(assumed<L<V, Shard<0>>, L<Shard<0>, Shard<0>>> == code::no_such_dimension && // a dimension keeps its axes
              assumed<L<Shard<0>, Shard<0>>, L<Shard<0, Even, 1>, Shard<0>>> == code::no_such_dimension &&
              assumed<L<Shard<0>, Shard<0>>, L<Shard<0>, V>> == code::reinterpreted_shard);

} // namespace

TEST_CASE("every partition of two dimensions over three axes is read back as it was stated") {
  int stated = 0;
  for (int where = 0; where < 27; ++where) { // axis a: whole, or dimension 0 or 1
    for (int first = 0; first < 3; ++first)
      for (int second = 0; second < 3; ++second) {
        if (second == first) continue;
        int const order[] = {first, second, 3 - first - second};
        spec_value s;
        s.given = true;
        s.rank = 2;
        int dim[3] = {where % 3, where / 3 % 3, where / 9};
        for (int const a : order)
          if (dim[a] > 0) s.dim[dim[a] - 1].axis[s.dim[dim[a] - 1].count++] = static_cast<std::int8_t>(a);
        tensor_placement const nothing{3, 2};
        placement_value const shard{placement_kind::shard, monoid::none, 0, 1}, rest{placement_kind::partial, monoid::sum};
        auto const made = specify(nothing, s, shard, rest);
        REQUIRE(made.ok());
        ++stated;
        for (int d = 0; d < 2; ++d) CHECK(order_of(made.type, d) == s.dim[d]);
        for (int a = 0; a < 3; ++a) {
          CHECK((made.type.on[a].kind == placement_kind::shard) == (dim[a] > 0));
          CHECK(made.type.on[a].dim == (dim[a] > 0 ? dim[a] - 1 : -1));
        }
        CHECK(canonical(made.type) == made.type);
        auto lifted = made.type; // other levels of the same order mean the same
        for (int a = 0; a < 3; ++a)
          if (dim[a] > 0) lifted.on[a].level = static_cast<std::int8_t>(lifted.on[a].level * 7 + 3);
        CHECK(canonical(lifted) == made.type);
      }
  }
  CHECK(stated == 162);
}

} // namespace test_partition_spec
