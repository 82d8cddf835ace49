// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reshapes of distributed tensors against the reshape of the whole, for every placement that passes, and what is refused.
#include <sla/dist/view/assume.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/view/reshape.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"

namespace test_reshape {

using namespace sla;

namespace {
using Two = mesh<axis<"tp", 2>>;
using Grid = mesh<axis<"dp", 2>, axis<"tp", 2>>;
using Open = mesh<axis<"tp">>;
using Rows = Extents<dyn, dyn>;
using R = Replicate;

template <class P>
using X2 = dtensor<tensor<double, Extents<dyn, dyn>>, Two, P>;
template <class P>
using X3 = dtensor<tensor<double, Extents<dyn, dyn, dyn>>, Two, P>;
template <fixed_string Pattern, class X, class... Arg>
constexpr reshape_fault fault = detail::reshaped_type<Pattern, X, Arg...>::value.fault;
template <fixed_string Pattern, class Expected, class X, class... Arg>
constexpr bool gives = std::same_as<placements_of_t<typename detail::reshaped_type<Pattern, X, Arg...>::type>, placements<Expected>> &&
                       fault<Pattern, X, Arg...> == reshape_fault::none;
using enum reshape_fault;

// whole dimensions pass, with every placement beside them
static_assert(gives<"a b -> a b", Shard<1>, X2<Shard<1>>> && gives<"a b -> a 1 b", Shard<2>, X2<Shard<1>>> && gives<"a b -> 1 a b", Shard<1, Balanced>, X2<Shard<0, Balanced>>>);
static_assert(gives<"a 1 b -> a b", Shard<1, Ceil>, X3<Shard<2, Ceil>>> && fault<"a 1 b -> a b", X3<Shard<1>>> == dropped);
static_assert(gives<"a b c -> (a b c)", Partial<Max>, X3<Partial<Max>>> && gives<"a b c -> (a b c)", Invariant, X3<Invariant>> && gives<"a b -> (a b)", Varying, X2<Varying>>);
// a merge keeps what is outermost
static_assert(gives<"a b c -> (a b) c", Shard<0>, X3<Shard<0>>> && gives<"a b c -> a (b c)", Shard<1>, X3<Shard<1>>> && gives<"a b c -> (a b) c", Shard<1, Ceil>, X3<Shard<2, Ceil>>>);
static_assert(fault<"a b c -> (a b) c", X3<Shard<1>>> == inner && fault<"a b c -> (a b c)", X3<Shard<2>>> == inner);
static_assert(fault<"a b c -> (a b) c", X3<Shard<0, Balanced>>> == uneven && fault<"(a b) c -> a b c", X2<Shard<0, Ceil>>, named_extent<"a", 4>> == uneven);
// unless strided shards are asked for
static_assert(gives<"a b c -> (a b) c", Shard<0, Strided<3>>, X3<Shard<1>>, named_extent<"a", 3>, to_strided_t> &&
              fault<"a b c -> (a b) c", X3<Shard<1>>, named_extent<"a">, to_strided_t> == inner);
// a cut shards the outermost factor, where the ranks divide it
static_assert(gives<"(a b) c -> a b c", Shard<0>, X2<Shard<0>>, named_extent<"a", 4>> && fault<"(a b) c -> a b c", X2<Shard<0>>, named_extent<"a", 3>> == indivisible);
static_assert(gives<"a (b c) -> a b c", Shard<1>, X2<Shard<1>>, named_extent<"b", 2>> && gives<"a (b c) -> a b c", Shard<0>, X2<Shard<0>>>);
static_assert(fault<"(a b) c -> a b c", X2<Shard<0>>, named_extent<"a">> == unknown && fault<"(a b) c -> a b c", X2<Shard<0>>> == unknown);
static_assert(gives<"(a b) c -> a b c", Shard<0>, X2<Shard<0>>, named_extent<"a">, assume_divisible_t>);
static_assert(fault<"(a b) c -> a b c", dtensor<tensor<double, Rows>, Open, Shard<0>>, named_extent<"a", 4>> == unknown);
static_assert(gives<"(a b) c -> a (b c)", Shard<0>, X2<Shard<0>>, named_extent<"a", 2>> && gives<"a (b c) -> (a b) c", Shard<0>, X2<Shard<0>>> &&
              fault<"a (b c) -> (a b) c", X2<Shard<1>>, named_extent<"b", 2>> == inner);
// patterns
static_assert(fault<"a b c -> a b c", X2<R>> == pattern && fault<"a b -> b a", X2<R>> == pattern && fault<"a a -> a a", X2<R>> == pattern &&
              fault<"a b", X2<R>> == pattern && fault<"a (b -> a b", X2<R>> == pattern && fault<"a b -> a", X2<R>> == pattern &&
              fault<"a b -> a-b", X2<R>> == pattern);
static_assert(!read_pattern("((a) b) -> a b").valid && read_pattern("(a b)()c->1 a(b c)").valid && read_pattern("(a b)()c->1 a(b c)").to.rank == 3);
} // namespace

TEST_CASE("the reshape of the parts is the part of the reshape") {
  auto const X = random<double, Rows>({12, 10}, 3);
  auto const T = random<double, Extents<dyn, dyn, dyn>>({3, 8, 2}, 4);
  auto const same = [](auto const& a, auto const& b) { return a.size() == b.size() && std::equal(a.data(), a.data() + a.size(), b.data()); };
  auto const wrong = threads::run(4, [&](auto& world) {
    Grid m(world);
    Open open(world);
    int bad = 0;
    auto const cut = reshape<"(a b) c -> a b c">(distribute<Shard<0>, Shard<1>>(X, m), named_extent<"a", 4>());
    static_assert(has_placements<decltype(cut), Shard<0>, Shard<2>>);
    auto const whole = gather(cut);
    bad += whole.extents() != Extents<dyn, dyn, dyn>(4, 3, 10) || !same(whole, X);
    auto const back = reshape<"a b c -> (a b) c">(cut);
    bad += back.local().extents() != Rows(6, 5) || double(norm(gather(back) - X)) != 0;
    auto const nested = reshape<"(a b) c -> a b c">(distribute<Shard<0>, Shard<0>>(X, m), named_extent<"a", 4>());
    static_assert(has_placements<decltype(nested), Shard<0>, Shard<0>>);
    bad += nested.local().extents() != Extents<dyn, dyn, dyn>(1, 3, 10) || !same(gather(nested), X);
    bad += !same(gather(reshape<"a (b c) -> a b c">(2.0 * distribute<Shard<0, Balanced>>(X, open), named_extent<"c">(5))), tensor<double, Rows>(2.0 * X));
    bad += !same(gather(reshape<"(a b) c -> a (b c)">(distribute<Shard<0>>(X, open), named_extent<"b">(3), assume_divisible)), X);
    bad += !same(gather(reshape<"(a b) c -> 1 a b 1 c">(distribute<R, Shard<1, Ceil>>(X, m), named_extent<"a">(2))), X);
    auto const mixed = reshape<"a b c -> (a b) c">(distribute<R, Shard<1>>(T, m), named_extent<"a", 3>(), to_strided);
    static_assert(has_placements<decltype(mixed), R, Shard<0, Strided<3>>>);
    bad += !same(gather(mixed), T);
    auto const kept = reshape<"(a b) c d -> (a b) (c d)">(distribute<Shard<0, Ceil>>(T, open), named_extent<"a">(1)); // an uneven group that stays
    static_assert(has_placements<decltype(kept), Shard<0, Ceil>>);
    bad += !same(gather(kept), T);
    bad += !same(gather(reshape<"(a b) c -> (a b c)">(distribute<Shard<0>>(X, open), named_extent<"a">(3))), X);
    auto const p = reshape<"a b c -> (a b c)">(assume<named<along<"dp", Partial<>>, along<"tp", R>>>(untyped(m, T)));
    static_assert(has_placements<decltype(p), Partial<>, R>);
    bad += !same(p.local(), T);
    auto const refuses = [&](auto const& f) {
      try {
        f();
        return 0;
      } catch (shape_error const&) {
        return 1;
      }
    };
    bad += 3 - refuses([&] { (void)reshape<"(a b) c -> a b c">(distribute<Shard<0>>(X, open), named_extent<"a">(6), assume_divisible); }) -
           refuses([&] { (void)reshape<"(a b) c -> a b c">(distribute<R>(X, open), named_extent<"a">(5)); }) -
           refuses([&] { (void)reshape<"(a b) c -> a b c">(distribute<R>(X, open)); });
    return bad;
  });
  CHECK(wrong == 0);
}
} // namespace test_reshape
