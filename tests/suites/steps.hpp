// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives and conversions against their specification on lists of ranks: each rank knows what all ranks hold and
// compares. Adjoints: <A* g, x> = <g, A x> on whole numbers, with the pairing that belongs to each placement. Threads
// and MPI alike.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/step/steps_gradient.hpp>
#include <sla/dist/step/halo_steps.hpp>

#include "suites/communicator.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace suite {

using namespace sla;
template <class E = Extents<dyn, dyn>>
using numbers = tensor<double, E>;

/// Whole numbers from -9 to 9 without order, of one seed.
template <class E>
numbers<E> whole_numbers(E extents, int seed) {
  numbers<E> x(extents);
  for (index_t n = 0; n < x.size(); ++n)
    x[n] = double((n * 7919 + seed * 104729 + n * n * 31 + 13 * seed * n) % 19) - 9;
  return x;
}
template <class Local, class Mesh, class... P>
auto placed_as(Local local, Mesh const& m) {
  auto layout = std::make_shared<shared_layout<Mesh>>();
  layout->mesh = m;
  return distributed<Local, Mesh, P...>(std::move(local), std::move(layout));
}
template <class P, class Local, class Mesh>
auto as(Local local, Mesh const& m) {
  return placed_as<Local, Mesh, P>(std::move(local), m);
}
template <class X, class Y>
bool equal(X const& x, Y const& y) {
  if constexpr (X::rank != Y::rank) {
    return false;
  } else {
    for (int d = 0; d < X::rank; ++d)
      if (x.extent(d) != y.extent(d)) return false;
    return std::equal(x.begin(), x.end(), y.begin());
  }
}

/// <g, x> by what is said of the ranks: of copies one rank speaks, of parts each for its own, of a pending sum the
/// other factor is the same on all. `x` has placement P, g its dual.
template <class P, class X, class G>
double pairing(any_communicator& c, X const& x, G const& g) {
  auto const a = detail::elements_of(x);
  auto const b = detail::elements_of(g);
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += a[n] * b[n];
  sum = a.size() == b.size() ? sum : std::numeric_limits<double>::quiet_NaN();
  if constexpr (std::same_as<P, Invariant>)
    return sum;
  else
    return all_reduce(c, sum);
}
/// Ranks that should hold the same do.
template <class P, class X>
bool is_placed_so(any_communicator& c, X const& x) {
  if constexpr (std::same_as<P, Replicate> || std::same_as<P, Invariant>) {
    auto const mine = detail::elements_of(x);
    std::vector<double> first(mine.begin(), mine.end());
    broadcast(c, std::span<double>(first), 0);
    return all_reduce(c, std::int64_t(std::equal(mine.begin(), mine.end(), first.begin())), monoid::minimum) == 1;
  } else {
    return true;
  }
}
/// A cotangent of y that its placement allows.
template <class Y>
auto some_cotangent(Y const& y, int rank) {
  using P = placement_on_t<Y, 0>;
  constexpr auto kind = P::kind;
  auto g = y.local();
  if constexpr (kind == placement_kind::ghost_partial) // its dual holds consistent copies
    return cotangent_t<Y>(
        detail::picked_rows<P::dim>(
            whole_numbers(detail::with_extent<Extents<dyn, dyn>>(g.extents(), P::dim, y.handle()->rows->extent()), 79),
            *y.handle()->halo, *y.handle()->rows),
        y.handle());
  int const seed = kind == placement_kind::partial || kind == placement_kind::invariant ? 77 : 78 + rank;
  auto const all = detail::elements_of(g);
  auto const noise = whole_numbers(Extents<dyn>(index_t(all.size())), seed);
  std::copy(noise.begin(), noise.end(), all.begin());
  return cotangent_t<Y>(std::move(g), y.handle());
}

/// step(x) is linear, and its pullback the adjoint; tangents go the way of values.
template <class X, class Step>
void check_adjoint(any_communicator& c, X const& x, Step const& step, std::string const& what) {
  tape t;
  auto& input = t.input(x);
  auto const y = step(traced<X>(t, input));
  using Y = plain_t<decltype(y)>;
  using From = placement_on_t<X, 0>;
  using To = placement_on_t<Y, 0>;
  auto const plain = step(x);
  static_assert(std::same_as<placements_of_t<std::remove_cvref_t<decltype(plain)>>, placements_of_t<Y>>);
  auto const g = some_cotangent(y.value(), c.rank());
  y.variable().add(g);
  t.sweep();
  auto const back = input.take_cotangent();
  static_assert(has_placements<std::remove_const_t<decltype(back)>, dual_t<From>>);
  require(pairing<To>(c, plain.local(), g.local()) == pairing<From>(c, x.local(), back.local()), c,
          "the adjoint of " + what);
  require(is_placed_so<dual_t<From>>(c, back.local()), c, "the placement of the gradient of " + what);
  require(is_placed_so<To>(c, plain.local()), c, "the placement of the result of " + what);
}

// ---- values that differ between ranks

/// Element (.., r, ..) along D of the stack is x_r.
template <int D, class X, class Of>
bool is_stack(X const& stack, int ranks, Of const& of) {
  auto const [outer, inner] = detail::around(stack.extents(), D);
  if (stack.extent(D) != ranks) return false;
  for (int r = 0; r < ranks; ++r) {
    auto const one = of(r);
    for (index_t o = 0; o < outer; ++o)
      for (index_t n = 0; n < inner; ++n)
        if (stack[(o * ranks + r) * inner + n] != one[o * inner + n]) return false;
  }
  return true;
}
template <class Mesh>
void varying(Mesh const& m) {
  auto& c = m.communicator(0);
  int const N = c.size(), me = c.rank();
  auto const of = [](int r) { return whole_numbers(Extents<dyn, dyn>(2, 3), r + 1); };
  auto const v = as<Varying>(of(me), m);
  require(is_stack<0>(all_gather<"tp">(v).local(), N, of), c, "all_gather of a Varying");
  require(is_stack<1>(all_gather<"tp", Invariant, 1>(v).local(), N, of), c, "all_gather along 1");
  require(is_stack<2>(all_gather<"tp", Varying, Replicate, 2>(v).local(), N, of), c, "all_gather along 2");
  auto const number = all_gather<"tp">(as<Varying>(double(me * me), m));
  for (int r = 0; r < N; ++r) require(number.local()[r] == r * r, c, "all_gather of a number");

  auto const total = all_reduce<"tp", Varying, Replicate>(v);
  auto const once = all_reduce<"tp", Varying, Invariant>(v);
  for (index_t n = 0; n < 6; ++n) {
    double sum = 0;
    for (int r = 0; r < N; ++r) sum += of(r)[n];
    require(total.local()[n] == sum && once.local()[n] == sum, c, "all_reduce of a stated Varying");
  }
  auto const stack = [N](int r) { return whole_numbers(Extents<dyn, dyn>(N, 3), 5 * r); };
  auto const w = as<Varying>(stack(me), m);
  auto const part = reduce_scatter<"tp", Varying, Varying>(w);
  auto const rows = reduce_scatter<"tp", Varying, Shard<0>>(w);
  auto const swapped = all_to_all<"tp", Varying>(w);
  for (index_t n = 0; n < 3; ++n) {
    double sum = 0;
    for (int r = 0; r < N; ++r) {
      sum += stack(r)(me, n);
      require(swapped.local()(r, n) == stack(r)(me, n), c, "all_to_all of a Varying");
    }
    require(part.local()[n] == sum && rows.local()(0, n) == sum, c, "reduce_scatter of a stated Varying");
  }
  auto const copies = stack(3);
  auto const one = convert<"tp", Varying>(as<Replicate>(copies, m)),
             other = convert<"tp", Varying>(as<Invariant>(copies, m));
  for (index_t n = 0; n < 3; ++n)
    require(one.local()[n] == copies(me, n) && other.local()[n] == copies(me, n), c,
            "convert to Varying takes a stack apart");
  auto const zeros = convert<"tp", Partial<>, 1>(v, expert);
  require(is_stack<1>(zeros.local(), N, [&](int r) { return r == me ? of(me) : numbers<>(Extents<dyn, dyn>(2, 3)); }),
          c, "a Varying in zeros");
  require(equal(reinterpret<"tp", Varying>(as<Invariant>(copies, m)).local(), copies), c,
          "reinterpret keeps what ranks hold");

  check_adjoint(
      c, v, [](auto const& x) { return all_gather<"tp">(x); }, "all_gather V to R");
  check_adjoint(
      c, v, [](auto const& x) { return all_gather<"tp", Invariant, 2>(x); }, "all_gather V to I along 2");
  check_adjoint(
      c, v, [](auto const& x) { return all_gather<"tp", Replicate, 1>(x); }, "all_gather V to R along 1");
  check_adjoint(
      c, as<Varying>(double(me + 2), m), [](auto const& x) { return all_gather<"tp">(x); }, "all_gather of numbers");
  check_adjoint(
      c, w, [](auto const& x) { return all_reduce<"tp", Varying, Replicate>(x); }, "all_reduce V to R");
  check_adjoint(
      c, w, [](auto const& x) { return reduce_scatter<"tp", Varying, Varying>(x); }, "reduce_scatter V to V");
  check_adjoint(
      c, w, [](auto const& x) { return all_to_all<"tp", Varying>(x); }, "all_to_all V");
  check_adjoint(
      c, as<Replicate>(copies, m), [](auto const& x) { return convert<"tp", Varying>(x); }, "convert R to V");
  check_adjoint(
      c, as<Invariant>(copies, m), [](auto const& x) { return convert<"tp", Varying>(x); }, "convert I to V");
  check_adjoint(
      c, v, [](auto const& x) { return convert<"tp", Partial<>, 1>(x, expert); }, "convert V to P");
  check_adjoint(
      c, as<Replicate>(copies, m), [](auto const& x) { return reinterpret<"tp", Varying>(x, expert); },
      "reinterpret R to V");
  check_adjoint(
      c, as<Replicate>(copies, m), [](auto const& x) { return reinterpret<"tp", Partial<>>(x, expert); },
      "reinterpret R to P");
  check_adjoint(
      c, v, [](auto const& x) { return reinterpret<"tp", Partial<>>(x); }, "reinterpret V to P");
  check_adjoint(
      c, as<Invariant>(copies, m), [](auto const& x) { return reinterpret<"tp", Partial<>>(x); }, "reinterpret I to P");
  check_adjoint(
      c, as<Invariant>(copies, m), [](auto const& x) { return reinterpret<"tp", Varying>(x); }, "reinterpret I to V");
}

// ---- copies and sums

template <class Mesh>
void copies(Mesh const& m) {
  auto& c = m.communicator(0);
  int const me = c.rank();
  auto const x = whole_numbers(Extents<dyn, dyn>(4, 3), 2);
  auto const r = as<Replicate>(x, m);
  auto const i = as<Invariant>(x, m);
  auto const p = as<Partial<>>(whole_numbers(Extents<dyn, dyn>(4, 3), me), m);
  require(equal(convert<"tp", Invariant>(r, expert).local(), x) && equal(convert<"tp", Replicate>(i).local(), x), c,
          "copies are copies");
  auto const zeros = convert<"tp", Partial<>>(i, expert);
  require(equal(zeros.local(), me == 0 ? x : numbers<>(Extents<dyn, dyn>(4, 3))), c, "rank 0 keeps an Invariant");
  check_adjoint(
      c, r, [](auto const& v) { return convert<"tp", Invariant>(v, expert); }, "convert R to I");
  check_adjoint(
      c, i, [](auto const& v) { return convert<"tp", Replicate>(v); }, "convert I to R");
  check_adjoint(
      c, r, [](auto const& v) { return convert<"tp", Partial<>>(v); }, "convert R to P");
  check_adjoint(
      c, i, [](auto const& v) { return convert<"tp", Partial<>>(v, expert); }, "convert I to P");
  check_adjoint(
      c, p, [](auto const& v) { return all_reduce<"tp">(v); }, "all_reduce P to R");
  check_adjoint(
      c, p, [](auto const& v) { return all_reduce<"tp", Invariant>(v); }, "all_reduce P to I");
  check_adjoint(
      c, i, [](auto const& v) { return reinterpret<"tp", Replicate>(v, expert); }, "reinterpret I to R");
}

// ---- parts of one tensor

template <class From, class To, class Mesh, class E>
void between(Mesh const& m, numbers<E> const& whole, std::string const& what) {
  auto& c = m.communicator(0);
  auto const x = distribute<From>(whole, m);
  constexpr bool turn = From::dim != To::dim;
  auto const step = [](auto const& v) {
    if constexpr (turn)
      return all_to_all<"tp", From, To>(v);
    else
      return repartition<"tp", From, To>(v);
  };
  auto const y = step(x);
  require(equal(y.local(), distribute<To>(whole, m).local()), c, what);
  require(equal(gather(y), whole), c, what + ", gathered");
  check_adjoint(c, x, step, what);
}
/// With gradients, which are of one text for all families, where `Adjoints`.
template <class P, bool Adjoints, class Mesh, class E>
void whole_and_parts(Mesh const& m, numbers<E> const& whole, std::string const& what) {
  auto& c = m.communicator(0);
  auto const x = distribute<P>(whole, m);
  auto const sum = as<Partial<>>(whole_numbers(whole.extents(), c.rank()), m);
  auto all = whole_numbers(whole.extents(), 0);
  for (int r = 1; r < c.size(); ++r) {
    auto const one = whole_numbers(whole.extents(), r);
    for (index_t n = 0; n < all.size(); ++n) all[n] += one[n];
  }
  require(equal(all_gather<"tp", P, Replicate>(x).local(), whole), c, "all_gather, " + what);
  require(equal(reduce_scatter<"tp", P>(sum).local(), distribute<P>(all, m).local()), c, "reduce_scatter, " + what);
  require(equal(convert<"tp", P>(as<Replicate>(whole, m)).local(), x.local()), c, "convert, " + what);
  if constexpr (Adjoints) {
    check_adjoint(
        c, x, [](auto const& v) { return all_gather<"tp">(v); }, "all_gather to R, " + what);
    check_adjoint(
        c, x, [](auto const& v) { return all_gather<"tp", Invariant>(v); }, "all_gather to I, " + what);
    check_adjoint(
        c, sum, [](auto const& v) { return reduce_scatter<"tp", P>(v); }, "reduce_scatter, " + what);
    check_adjoint(
        c, x, [](auto const& v) { return convert<"tp", Partial<>>(v, expert); }, "convert to P, " + what);
    check_adjoint(
        c, as<Replicate>(whole, m), [](auto const& v) { return convert<"tp", P>(v); }, "convert from R, " + what);
    check_adjoint(
        c, as<Invariant>(whole, m), [](auto const& v) { return convert<"tp", P>(v); }, "convert from I, " + what);
  }
}
/// 48 indices are an even number for 1, 2, 3, 4 and 8 ranks, and for two pieces of each.
template <class Mesh>
void parts(Mesh const& m) {
  auto const flat = whole_numbers(Extents<dyn, dyn>(48, 5), 1);
  auto const tall = whole_numbers(Extents<dyn, dyn, dyn>(3, 24, 24), 2);
  whole_and_parts<Shard<0>, false>(m, flat, "rows");
  whole_and_parts<Shard<1, Balanced>, false>(m, flat, "columns, balanced");
  whole_and_parts<Shard<0, Strided<2>>, true>(m, flat, "strided rows");
  whole_and_parts<Shard<2, Ceil>, true>(m, whole_numbers(Extents<dyn, dyn, dyn>(2, 3, 5), 7),
                                        "last of three, some ranks empty");
  between<Shard<1>, Shard<2>>(m, tall, "1 to 2");
  between<Shard<0, Ceil>, Shard<1, Balanced>>(m, flat, "uneven 0 to 1");
  between<Shard<1, Balanced>, Shard<0, Strided<2>>>(m, flat, "balanced 1 to strided 0");
  between<Shard<0>, Shard<0, Strided<2>>>(m, flat, "even to strided");
  between<Shard<1, Ceil>, Shard<1, Balanced>>(m, whole_numbers(Extents<dyn, dyn>(3, 5), 4), "ceil to balanced");
  between<Shard<2, Balanced>, Shard<1, Ceil>>(m, tall, "balanced 2 to ceil 1");
}

// ---- halos

/// Own rows, then those of others that this rank's rows of D read.
template <class Mesh, class Sparse>
void halos(Mesh const& m, Sparse const& A) {
  auto& c = m.communicator(0);
  auto const D = distribute<SparseShard<0>>(A, m, scattered_owners(A.rows(), c.size()));
  auto const whole = whole_numbers(Extents<dyn, dyn>(A.cols(), 2), 3);
  auto const x = distribute(whole, D.col_layout());
  auto const exchange = [&D](auto const& v) { return halo_exchange<"tp", "A">(v, D); };
  auto const y = exchange(x);
  static_assert(has_placements<std::remove_const_t<decltype(y)>, Ghost<0, Part<>, "A">>);
  auto const& plan = *D.handle()->halo;
  auto const& columns = *y.handle()->rows;
  for (index_t n = 0; n < plan.own() + plan.ghosts(); ++n)
    for (index_t w = 0; w < 2; ++w)
      require(y.local()(n, w) == whole(plan.global(columns, n), w), c, "own rows and ghosts");
  require(equal(owned<"tp">(y).local(), x.local()), c, "owned");
  require(equal(all_gather<"tp">(y).local(), whole), c, "all_gather of a Ghost");
  auto const copies = as<Replicate>(whole, m);
  auto const restricted = restrict_to<"tp", "A">(copies, D);
  require(equal(restricted.local(), y.local()), c, "restrict_to");

  using GP = distributed<numbers<>, Mesh, GhostP<0, Part<>, "A">>;
  GP const parts(whole_numbers(y.local().extents(), c.rank()), y.handle());
  auto const folded = halo_reduce<"tp">(parts);
  require(equal(gather(folded), all_reduce<"tp">(embed<"tp">(parts)).local()), c,
          "halo_reduce is the sum of what is embedded");
  auto const back = convert<"tp", GhostP<0, Part<>, "A">>(owned<"tp">(y));
  require(equal(halo_reduce<"tp">(back).local(), x.local()), c, "a shard among zeros");

  check_adjoint(c, x, exchange, "halo_exchange");
  check_adjoint(
      c, parts, [](auto const& v) { return halo_reduce<"tp">(v); }, "halo_reduce");
  check_adjoint(
      c, y, [](auto const& v) { return owned<"tp">(v); }, "owned");
  check_adjoint(
      c, y, [](auto const& v) { return all_gather<"tp">(v); }, "all_gather of a Ghost");
  check_adjoint(
      c, parts, [](auto const& v) { return embed<"tp">(v); }, "embed");
  check_adjoint(
      c, copies, [&D](auto const& v) { return restrict_to<"tp", "A">(v, D); }, "restrict_to");
  check_adjoint(
      c, owned<"tp">(y), [](auto const& v) { return convert<"tp", GhostP<0, Part<>, "A">>(v); },
      "into the zeros of a halo");

  // partitions found at run time
  auto const strips_of = distribute<SparseShard<0>>(A, m);
  auto const again = [&](auto const& v) {
    return repartition<"tp", Shard<0, Part<"strips">>>(v, strips_of.col_layout());
  };
  auto const z = again(x);
  require(equal(z.local(), distribute(whole, strips_of.col_layout()).local()), c, "repartition");
  check_adjoint(c, x, again, "repartition");
  check_adjoint(
      c, copies, [&](auto const& v) { return convert<"tp", Shard<0, Part<>>>(v, D.col_layout()); },
      "convert by a layout");
  auto const turned = all_to_all<"tp", Shard<1, Ceil>>(x);
  require(equal(turned.local(), distribute<Shard<1, Ceil>>(whole, m).local()), c, "a partition to columns");
  check_adjoint(
      c, x, [](auto const& v) { return all_to_all<"tp", Shard<1, Ceil>>(v); }, "a partition to columns");
}

} // namespace suite
