// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Typed scalars and factories on thread ranks: what they hold, what a branch may ask, what is made of them, and what is refused.
#include <sla/dist/value/compare.hpp>
#include <sla/dist/assembly/factories.hpp>
#include <sla/dist/value/in_place.hpp>
#include <sla/dist/engine/threads.hpp>

#include "catch.hpp"

namespace test_scalars {

using namespace sla;
using Ranks = mesh<axis<"dp", 1>, axis<"tp">>;

namespace {

using R = Replicate;
using I = Invariant;
using V = Varying;
using P = Partial<>;
template <class At>
using Number = distributed<double, Ranks, R, At>;
template <class At>
using Count = distributed<index_t, Ranks, R, At>;
template <class At>
using Vector = distributed<sla::vector<double>, Ranks, R, At>;
template <class At>
using Truth = distributed<bool, Ranks, R, At>;

template <class Op, class Expected, class... Ts>
constexpr bool gives = [] {
  if constexpr (well_typed<Op, Ts...>)
    return std::same_as<result_placements_t<Op, Ts...>, placements<R, Expected>>;
  else
    return false;
}();
template <class Op, class... Ts>
constexpr code refused = outcome_of<Op, Ts...>.why.what;

// a typed scalar takes part like a tensor
static_assert(gives<op::mul, V, Number<R>, Vector<V>> && gives<op::mul, P, Vector<P>, Number<R>> && gives<op::div, P, Vector<P>, Number<R>>);
static_assert(gives<op::add, P, Vector<P>, Number<P>> && refused<op::add, Vector<R>, Number<P>> == code::partial_plus_replicate);
static_assert(refused<op::mul, Vector<P>, Number<P>> == code::partial_times_partial && refused<op::mul, Vector<P>, Number<V>> == code::partial_with_varying);
static_assert(refused<op::div, Number<R>, Number<P>> == code::nonlinear_argument && refused<op::add, Number<I>, Vector<V>> == code::invariant_with_varying);
static_assert(refused<op::mul, Number<P>, Number<P>> == code::partial_times_partial && refused<op::pow, Number<P>, Number<R>> == code::nonlinear_in_partial);
// what has no gradient counts as Replicate or Invariant, whichever the others need: integers, `uniform`, `constant`
static_assert(gives<op::mul, P, Vector<P>, Count<I>> && gives<op::mul, I, Vector<I>, Count<R>> && gives<op::mul, V, Vector<V>, Count<I>>);
static_assert(refused<op::mul, Vector<P>, Number<I>> == code::invariant_with_replicate && gives<op::mul, P, Vector<P>, constant<Number<I>>>);
static_assert(gives<op::add, I, Number<I>, constant<Number<R>>> && gives<op::add, I, Number<I>, uniform_number<double>>);
static_assert(refused<op::fill, Number<P>> == code::nonlinear_in_partial && gives<op::fill, I, Number<I>> && gives<op::fill, V, Number<V>>);
// sizes of 1 count like any other; another axis is no matter
static_assert(std::same_as<result_placements_t<op::mul, distributed<double, Ranks, V, R>, Vector<P>>, placements<V, P>>);

// a branch asks for what every rank has
template <class X>
concept Branches = requires(X const& x) { x ? 1 : 0; };
static_assert(Branches<Truth<R>> && Branches<Truth<I>> && !Branches<Number<R>> && !Branches<Vector<R>>);
static_assert(!std::is_convertible_v<Truth<R>, bool>); // by an explicit question only

} // namespace

TEST_CASE("the rank is a typed scalar, and what is made of it varies") {
  int const ranks = GENERATE(1, 2, 3, 4, 8);
  auto const wrong = threads::run(ranks, [&](auto& world) {
    Ranks m(world);
    auto const r = rank_along<"tp">(m);
    static_assert(has_placements<decltype(r), R, V> && has_placements<decltype(rank_along<"dp">(m)), V, R>);
    int bad = r.local() != world.rank();
    auto const x = assume<Replicate>(untyped(m, 0.5));
    auto const y = eval(r * x);
    static_assert(has_placements<decltype(y), R, V>);
    bad += y.local() != 0.5 * world.rank();
    auto const first = r < uniform(index_t(1)); // on rank 0 only
    static_assert(std::same_as<std::remove_cvref_t<decltype(first)>, Truth<V>>);
    bad += !any_of<"tp">(first);
    bad += bool(all_of<"tp">(first)) != (ranks == 1);
    bad += bool(any_of<"tp">(r > 0)) != (ranks > 1);
    static_assert(std::same_as<decltype(any_of<"tp", Invariant>(first)), Truth<I>>);
    // comparisons agree with those of numbers, whichever side the literal is on
    for (double a : {-1.0, 0.25, 0.5}) {
      auto const s = assume<Replicate>(untyped(m, a));
      bad += bool(s < 0.25) != (a < 0.25);
      bad += bool(s <= 0.25) != (a <= 0.25);
      bad += bool(s > 0.25) != (a > 0.25);
      bad += bool(s >= 0.25) != (a >= 0.25);
      bad += bool(s == 0.25) != (a == 0.25);
      bad += bool(s != 0.25) != (a != 0.25);
      bad += bool(0.25 < s) != (0.25 < a);
      bad += bool(x < s) != (0.5 < a);
      bad += bool(s * s + 1.0 > x * uniform(2.0)) != (a * a + 1 > 1.0);
    }
    // a loop on what all ranks share: Newton's method for the root of the number of ranks
    auto const n = all_reduce<"tp">(assume<"tp", Partial<>>(eval(0.0 * y + 1.0)));
    static_assert(has_placements<decltype(n), R, R>);
    auto root = n;
    while (root * root > n * uniform(1.0 + 1e-14)) root = eval((root + n / root) / 2.0);
    bad += std::abs(root.value() - std::sqrt(double(ranks))) > 1e-12;
    return bad;
  });
  CHECK(wrong == 0);
}

TEST_CASE("factories say what they know") {
  int const ranks = GENERATE(1, 2, 3, 4);
  auto const wrong = threads::run(ranks, [&](auto& world) {
    Ranks m(world);
    auto const z = zeros<double>(m, {4});
    auto const f = full<double, Extents<dyn, dyn>>(m, {2, 3}, 2.5);
    auto const e = eye<double>(m, 3);
    auto const a = arange<double>(m, 5);
    static_assert(has_placements<decltype(z), R, R> && has_placements<decltype(f), R, R> && has_placements<decltype(a), R, R>);
    int bad = z.local().size() != 4 || z.local()[3] != 0 || f.local()(1, 2) != 2.5 || a.local()[4] != 4;
    bad += e.local()(1, 1) != 1 || e.local()(1, 0) != 0 || ones<double>(m, {2}).local()[1] != 1;
    auto const l = linspace<double>(m, -1.0, 2.0, 7);
    bad += l.local()[0] != -1 || l.local()[6] != 2 || l.local()[2] != 0 || !has_placements<decltype(l), R, R>;
    bad += full<double>(m, {2}, uniform(1.0 + world.size())).local()[0] != 1.0 + world.size();
    // an argument that varies makes what varies
    auto const mine = arange<double>(rank_along<"tp">(m) * uniform(index_t(10)), 3);
    static_assert(has_placements<decltype(mine), R, V>);
    bad += mine.local()[2] != 10.0 * world.rank() + 2;
    auto const filled = full<double>({2}, assume<Replicate>(untyped(m, 3.0)));
    static_assert(has_placements<decltype(filled), R, R>);
    bad += filled.local()[1] != 3.0;
    // what is drawn has no placement until one is stated; a chain of operations needs one
    auto const drawn = random<double>(m, {4}, 7 + std::uint64_t(world.rank()));
    static_assert(has_placements<decltype(drawn), Untyped, Untyped> && has_placements<decltype(random_like(f, 1)), Untyped, Untyped>);
    static_assert(refused<op::add, decltype(drawn), decltype(z)> == code::no_placement && refused<op::exp, decltype(drawn)> == code::no_placement);
    static_assert(!legal_step<step::all_reduce, std::remove_cvref_t<decltype(drawn)>, "tp", R>);
    auto const pieces = assume<named<along<"dp", R>, along<"tp", Shard<0>>>>(drawn);
    static_assert(has_placements<decltype(pieces), R, Shard<0>>);
    auto const whole = gather(pieces);
    bad += whole.size() != 4 * ranks;
    for (int r = 0; r < ranks; ++r) bad += whole[4 * r + 1] != random<double>({4}, 7 + std::uint64_t(r))[1];
    auto const like = zeros_like(pieces);
    static_assert(has_placements<decltype(like), R, Shard<0>> && has_placements<decltype(ones_like(mine)), R, R>);
    bad += gather(ones_like(pieces)).size() != 4 * ranks;
    // by dimension
    auto const d = distribute_as<spec<unsharded, "tp">, Replicate, Balanced>(f.local(), m);
    static_assert(std::same_as<std::remove_cvref_t<decltype(d)>, distributed_as<matrix<double>, Ranks, spec<unsharded, "tp">, Replicate, Balanced>>);
    bad += double(norm(gather(d) - f.local())) != 0;
    return bad;
  });
  CHECK(wrong == 0);
}

TEST_CASE("a permissive mesh uses what has no placement, and says nothing of the result") {
  using Loose = mesh<mesh_policy<permissive>, axis<"tp", 2>>;
  using X = distributed<sla::vector<double>, Loose, Replicate>;
  using U = distributed<sla::vector<double>, Loose, Untyped>;
  static_assert(std::same_as<result_placements_t<op::add, X, U>, placements<Untyped>> && well_typed<op::exp, U>);
  auto const wrong = threads::run(2, [](auto& world) {
    Loose m(world);
    auto const y = eval(zeros<double>(m, {3}) + random<double>(m, {3}, 5));
    static_assert(has_placements<decltype(y), Untyped>);
    auto const known = assume_replicated<"tp">(y);
    return has_placements<decltype(known), R> && known.local()[1] == random<double>({3}, 5)[1] ? 0 : 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("assumptions are measured where they can be") {
  auto const wrong = threads::run(3, [](auto& world) {
    Ranks m(world);
    int bad = 0;
    auto const uneven = untyped(m, random<double, Extents<dyn, dyn>>({world.rank() < 1 ? 3 : 2, 2}, 4)); // 3 + 2 + 2 rows
    auto const rows = assume<named<along<"dp", R>, along<"tp", Shard<0, Balanced>>>>(uneven);
    bad += gather(rows).extent(0) != 7;
    try {
      (void)assume<named<along<"dp", R>, along<"tp", Shard<0, Ceil>>>>(uneven); // Ceil shards 3 + 3 + 1
      ++bad;
    } catch (shape_error const&) {
    }
    try {
      (void)assume<named<along<"dp", R>, along<"tp", Shard<0>>>>(uneven); // Even would be as many on each rank
      ++bad;
    } catch (shape_error const&) {
    }
    bad += assume_replicated<"tp">(untyped(m, 1.0)).local() != 1.0;
    try {
      (void)assume_replicated<"tp">(rank_along<"tp">(m));
      ++bad;
    } catch (value_error const& e) {
      bad += std::string(e.what()).find("rank 1 holds another value") == std::string::npos;
    }
    // a value that is given up
    auto x = zeros<double>(m, {2});
    auto y = retype<named<along<"tp", Replicate>>, named<along<"tp", Varying>>>(std::move(x));
    static_assert(has_placements<decltype(y), R, V>);
    auto z = retype<named<along<"tp", Varying>>, named<along<"tp", Partial<>>>>(std::move(y));
    static_assert(has_placements<decltype(z), R, P>);
    return bad;
  });
  CHECK(wrong == 0);
}

TEST_CASE("integers have no gradient: copies of either kind are added in place") {
  auto const wrong = threads::run(2, [](auto& world) {
    Ranks m(world);
    auto const layout = rank_along<"tp">(m).handle();
    distributed<index_t, Ranks, Invariant, Replicate> i(3, layout);
    distributed<index_t, Ranks, Replicate, Replicate> const r(4, layout);
    i += r;
    i *= r;
    return i.value() == 28 ? 0 : 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("a change in place keeps the placement") {
  auto const wrong = threads::run(2, [](auto& world) {
    Ranks m(world);
    auto r = ones<double>(m, {3});
    auto v = eval(r * rank_along<"tp">(m)); // 0 or 1
    auto p = assume<"tp", Partial<>>(v);
    r += r;           // 2
    v += r;           // V += R
    v -= v * v;       // -2, or -6
    p += p;           // 0 or 2
    p *= 2.0;         // 0 or 4
    p *= r;           // 0 or 8
    r /= 4.0;
    auto n = assume<Replicate>(untyped(m, 1.5));
    n *= n;
    n += 1.0;
    int const me = world.rank();
    return r.local()[0] == 0.5 && v.local()[2] == (me ? -6 : -2) && p.local()[1] == 8 * me && n.local() == 3.25 ? 0 : 1;
  });
  CHECK(wrong == 0);
}
} // namespace test_scalars
