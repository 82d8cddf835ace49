// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An operation of a user on thread ranks: every rule of a product of dense matrices, its tangents, and its refusals.
#include <sla/dist/grad/custom.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/spmd/rule/table/einsum.hpp>

#include "catch.hpp"

using namespace sla;

namespace {
struct mm {
  template <class A, class B>
  using extents = Extents<A::static_extent(0), B::static_extent(1)>;

  static tensor<double, Extents<dyn, dyn>> apply(auto const& a, auto const& b) {
    tensor<double, Extents<dyn, dyn>> c({a.extent(0), b.extent(1)});
    for (index_t i = 0; i < a.extent(0); ++i)
      for (index_t k = 0; k < a.extent(1); ++k)
        for (index_t j = 0; j < b.extent(1); ++j) c[i * b.extent(1) + j] += a[i * a.extent(1) + k] * b[k * b.extent(1) + j];
    return c;
  }
  static auto turned(auto const& a) {
    tensor<double, Extents<dyn, dyn>> t({a.extent(1), a.extent(0)});
    for (index_t i = 0; i < a.extent(0); ++i)
      for (index_t j = 0; j < a.extent(1); ++j) t[j * a.extent(0) + i] = a[i * a.extent(1) + j];
    return t;
  }
  static auto pullback(operand_number<0>, auto const&, auto const& b, auto const& g) { return apply(g, turned(b)); }
  static auto pullback(operand_number<1>, auto const& a, auto const&, auto const& g) { return apply(turned(a), g); }
};
}  // namespace
template <>
inline constexpr auto sla::rule_of<mm> = strategies::einsum("mk,kn->mn");

namespace {
struct squares {
  template <class A>
  using extents = A;
  static tensor<double, Extents<dyn>> apply(auto const& x) { return x * x; }
  static tensor<double, Extents<dyn>> pullback(operand_number<0>, auto const& x, auto const& g) { return 2.0 * x * g; }
};
}  // namespace
template <>
inline constexpr sla::op_rule sla::rule_of<squares>{};  // entry by entry, linear in nothing

namespace {
using Mesh = mesh<axis<"tp">>;
template <class P>
using X = dtensor<tensor<double, Extents<dyn, dyn>>, Mesh, P>;
template <class P, class Q>
using product_t = placement_on_t<decltype(custom<mm>(std::declval<X<P>>(), std::declval<X<Q>>())), 0>;
static_assert(std::same_as<product_t<Shard<0>, Replicate>, Shard<0>> && std::same_as<product_t<Replicate, Shard<1>>, Shard<1>>);
static_assert(std::same_as<product_t<Shard<1>, Shard<0>>, Partial<>> && std::same_as<product_t<Partial<>, Replicate>, Partial<>>);
static_assert(!well_typed<mm, X<Shard<1>>, X<Replicate>> && !well_typed<mm, X<Partial<>>, X<Partial<>>>);
static_assert(!well_typed<mm, X<Invariant>, X<Replicate>>);
}  // namespace

TEST_CASE("parts of a user's product are those of the whole product, and so are tangents and gradients") {
  using M = tensor<double, Extents<dyn, dyn>>;
  auto const some = [](index_t rows, index_t columns, int seed) { return random<double, Extents<dyn, dyn>>({rows, columns}, std::uint64_t(seed)); };
  M const a = some(5, 7, 1), b = some(7, 4, 2), d = some(5, 7, 3), c = mm::apply(a, b), dc = mm::apply(d, b);
  auto const apart = [](M const& x, M const& y) { return double(norm(x - y)); };
  for (int ranks : {1, 2, 3})
    for (double e : threads::run(ranks, [&](auto& world) {
           Mesh m(world);
           auto const rows = custom<mm>(distribute<Shard<0, Balanced>>(a, m), distribute<Replicate>(b, m));
           auto const columns = custom<mm>(distribute<Replicate>(a, m), distribute<Shard<1, Balanced>>(b, m));
           auto const terms = custom<mm>(distribute<Shard<1, Balanced>>(a, m), distribute<Shard<0, Balanced>>(b, m));
           auto const sharded = distribute<Shard<0, Balanced>>(b, m);
           auto const [y, dy] = jvp([&](auto const& x) { return custom<mm>(x, sharded); }, std::tuple(distribute<Shard<1, Balanced>>(a, m)),
                                    std::tuple(distribute<Shard<1, Balanced>>(d, m)));
           auto const [loss, ga, gb] = value_and_gradient([&](auto const& x, auto const& w) { return 0.5 * squared_norm(custom<mm>(x, w)); },
                                                          distribute<Shard<0, Balanced>>(a, m), distribute<Replicate>(b, m));
           static_assert(has_placements<decltype(gb), Partial<>>);
           return apart(gather(ga), mm::apply(c, mm::turned(b))) + apart(gather(gb), mm::apply(mm::turned(a), c)) +
                  std::abs(loss - 0.5 * double(squared_norm(c))) + apart(gather(rows), c) + apart(gather(columns), c) + apart(gather(terms), c) + apart(gather(y), c) + apart(gather(dy), dc);
         }))
      CHECK(e <= 1e-12);
}

TEST_CASE("an operation that is not linear has gradients") {
  tensor<double, Extents<dyn>> const x = random<double, Extents<dyn>>({11}, 1), expected = 4.0 * x * x * x;
  for (double e : threads::run(3, [&](auto& world) {
         Mesh m(world);
         auto const [loss, g] = value_and_gradient([](auto const& v) { return squared_norm(custom<squares>(v)); }, distribute<Shard<0, Balanced>>(x, m));
         return double(norm(gather(g) - expected)) + std::abs(loss - squared_norm(x * x));
       }))
    CHECK(e <= 1e-13);
}

TEST_CASE("operands whose common index has two extents are refused on all ranks, the even parts of which may fit") {
  using M = tensor<double, Extents<dyn, dyn>>;
  for (auto const& words : threads::run(2, [&](auto& world) {
         Mesh m(world);
         // 7 and 8 indices: rank 0 has 4 of either, rank 1 has 3 and 4
         auto const a = distribute<Shard<1, Balanced>>(M(Extents<dyn, dyn>(3, 7)), m);
         auto const b = distribute<Shard<0, Balanced>>(M(Extents<dyn, dyn>(8, 2)), m);
         try {
           (void)custom<mm>(a, b);
         } catch (shape_error const& e) {
           return std::string(e.what());
         }
         return std::string("accepted");
       }))
    CHECK_THAT(words, Catch::Matchers::ContainsSubstring("along tp operand 0 shards 7 indices and operand 1 8"));
}

TEST_CASE("a network on 27 ranks, data, tokens and the hidden layer sharded, has the gradients of one rank") {
  using Cube = mesh<axis<"dp", 3>, axis<"sp", 3>, axis<"tp", 3>>;
  using M = tensor<double, Extents<dyn, dyn>>;
  auto const some = [](index_t rows, index_t columns, int seed) { return random<double, Extents<dyn, dyn>>({rows, columns}, std::uint64_t(seed)); };
  M const x = some(18, 5, 1), w1 = some(5, 9, 2), w2 = some(9, 5, 3);
  // one rank, by hand: loss = |y|^2 / 2
  M const h = eval(tanh(mm::apply(x, w1))), y = mm::apply(h, w2), gh = eval(mm::apply(y, mm::turned(w2)) * (1.0 - h * h));
  M const gx = mm::apply(gh, mm::turned(w1)), g1 = mm::apply(mm::turned(x), gh), g2 = mm::apply(mm::turned(h), y);
  auto const apart = [](M const& a, M const& b) { return double(norm(a - b)); };
  for (double e : threads::run(27, [&](auto& world) {
         Cube m(world);
         auto const [loss, to_x, to_w1, to_w2] = value_and_gradient(
             [](auto const& tokens, auto const& first, auto const& second) {
               auto hidden = tanh(custom<mm>(convert<"tp", Replicate>(all_gather<"sp">(tokens)), first));
               auto terms = custom<mm>(hidden, second);  // pending on sp and on tp
               return 0.5 * squared_norm(reduce_scatter<"sp", Shard<0>>(all_reduce<"tp", Invariant>(terms)));
             },
             distribute<Shard<0>, Shard<0>, Invariant>(x, m), distribute<Replicate, Shard<1>, Shard<1>>(w1, m),
             distribute<Replicate, Shard<0>, Shard<0>>(w2, m));
         static_assert(has_placements<decltype(to_w1), Partial<>, Shard<1>, Shard<1>>, "each share of the data adds its part");
         return apart(gather(to_x), gx) + apart(gather(to_w1), g1) + apart(gather(to_w2), g2) + std::abs(loss - 0.5 * double(squared_norm(y)));
       }))
    CHECK(e <= 1e-11 * (1 + double(norm(g1))));
}
