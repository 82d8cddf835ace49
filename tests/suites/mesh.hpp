// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps on a mesh of several axes: along one of them, along several as one, plans, and halos, each rank against what it knows of
// the whole. Threads and MPI alike; steps on one axis are in suites/steps.hpp.
#pragma once

#include <sla/dist/step/flat_steps.hpp>
#include <sla/dist/step/pending_gradient.hpp>
#include <sla/dist/matrix/matrix_product.hpp>
#include <sla/dist/plan/redistribute.hpp>

#include "suites/steps.hpp"

namespace suite {

template <class... P, class Mesh>
auto put(Mesh const& m, suite::numbers<> local) {
  return suite::placed_as<suite::numbers<>, Mesh, P...>(std::move(local), m);
}
/// <g, A x> = <A* g, x> where both placements hold parts on every axis, or both pending sums.
template <class X, class Step>
double adjoint_error(X const& x, Step const& step) {
  tape t;
  auto& input = t.input(x);
  auto const y = step(traced<X>(t, input));
  auto const out = y.value().local();
  auto g = out;
  auto& c = x.mesh().world();
  constexpr bool copies = std::same_as<placement_on_t<plain_t<decltype(y)>, 0>, Partial<>>;
  auto const noise = whole_numbers(Extents<dyn>(g.size()), copies ? 5 : c.rank());
  std::copy(noise.begin(), noise.end(), g.begin());
  y.variable().add(cotangent_t<plain_t<decltype(y)>>(g, y.value().handle()));
  t.sweep();
  auto const back = input.take_cotangent();
  return suite::pairing<Varying>(c, out, g) - suite::pairing<Varying>(c, x.local(), back.local());
}
template <class Mesh>
void flat_collectives(Mesh const& m) {
  using Both = flat<"dp", "tp">;
  auto& c = m.world();
  auto const whole = whole_numbers(Extents<dyn, dyn>(24, 24), 3);
  auto const p = put<Partial<>, Partial<>>(m, whole_numbers(Extents<dyn, dyn>(24, 24), c.rank()));
  auto const nested = all_reduce<"dp">(all_reduce<"tp">(p));
  require(equal(all_reduce<Both>(p).local(), nested.local()), c, "all_reduce");
  require(equal(all_reduce<flat<"tp", "dp">, Invariant>(p).local(), nested.local()), c, "all_reduce to Invariant");
  auto const s = distribute<Shard<0>, Shard<0>>(whole, m);
  require(equal(all_gather<Both>(s).local(), whole), c, "all_gather");
  auto const scattered = reduce_scatter<Both, Shard<0>>(p);
  static_assert(has_placements<std::remove_const_t<decltype(scattered)>, Shard<0>, Shard<0>>);
  require(equal(scattered.local(), reduce_scatter<"tp", Shard<0>>(reduce_scatter<"dp", Shard<0>>(p)).local()), c,
          "reduce_scatter");
  require(equal(gather(scattered), nested.local()), c, "reduce_scatter, gathered");
  auto const turned = all_to_all<Both, Shard<1>>(s);
  require(equal(turned.local(), distribute<Shard<1>, Shard<1>>(whole, m).local()), c, "all_to_all");
  require(equal(gather(turned), whole), c, "all_to_all, gathered");
  auto const cut = convert<Both, Shard<1>>(put<Replicate, Replicate>(m, whole));
  require(equal(cut.local(), turned.local()), c, "convert");
  auto const stack = all_gather<Both>(put<Varying, Varying>(m, whole_numbers(Extents<dyn, dyn>(2, 3), c.rank())));
  require(suite::is_stack<0>(stack.local(), c.size(), [](int r) { return whole_numbers(Extents<dyn, dyn>(2, 3), r); }),
          c, "stack");

  // tp outside of dp: another order than the mesh's
  auto const other = reduce_scatter<flat<"tp", "dp">, Shard<0>>(p);
  static_assert(has_placements<std::remove_const_t<decltype(other)>, Shard<0, Even, 1>, Shard<0>>);
  auto const swapped = permute_shards<"tp", "dp">(scattered);
  static_assert(std::same_as<decltype(swapped), decltype(other)>);
  require(equal(swapped.local(), other.local()), c, "permute_shards");
  require(equal(gather(swapped), nested.local()) && equal(all_gather<flat<"tp", "dp">>(other).local(), nested.local()),
          c, "another order");
  require(equal(swapped.local(), distribute<Shard<0, Even, 1>, Shard<0>>(nested.local(), m).local()), c,
          "distribute by another order");
  require(equal(permute_shards<"dp", "tp">(swapped).local(), scattered.local()), c, "permute_shards back");

  require(adjoint_error(s, [](auto const& x) { return all_gather<Both>(x); }) == 0, c, "the adjoint of all_gather");
  require(adjoint_error(p, [](auto const& x) { return reduce_scatter<flat<"tp", "dp">, Shard<1>>(x); }) == 0, c,
          "the adjoint of reduce_scatter");
  require(adjoint_error(s, [](auto const& x) { return all_to_all<Both, Shard<1>>(x); }) == 0, c,
          "the adjoint of all_to_all");
  require(adjoint_error(s, [](auto const& x) { return permute_shards<"tp", "dp">(x); }) == 0, c,
          "the adjoint of permute_shards");
}

/// Half of the mesh takes a step on flattened axes, while the other half does not.
template <class Cube>
void one_half_alone(Cube const& m) {
  auto const whole = whole_numbers(Extents<dyn, dyn>(8, 3), 3);
  auto const s = distribute<Replicate, Shard<0>, Shard<0>>(whole, m);
  auto const p = put<Replicate, Partial<>, Partial<>>(m, whole);
  int const ranks = m.size(1) * m.size(2);
  bool right = true;
  if (m.coordinate(0) == 1) {
    right = equal(all_gather<flat<"dp", "tp">>(s).local(), whole);
    right = right && all_reduce<flat<"tp", "dp">>(p).local()[3] == ranks * whole[3];
  }
  require(right, m.world(), "one half of the mesh alone");
  require(all_reduce<flat<"tp", "dp">>(p).local()[0] == ranks * whole[0], m.world(), "and all of it");
}

/// Along one axis, while ranks differ along the other.
template <class Mesh>
void one_axis_of_two(Mesh const& m) {
  auto& c = m.world();
  int const i = m.coordinate(0), j = m.coordinate(1);
  Extents<dyn, dyn> const shape(12, 24);
  auto const sum_of = [&](int count, auto const& of) {
    auto sum = of(0);
    for (int n = 1; n < count; ++n) {
      auto const next = of(n);
      for (index_t k = 0; k < sum.size(); ++k) sum[k] += next[k];
    }
    return sum;
  };
  auto const of = [&](int a, int b) { return whole_numbers(shape, 7 * a + b); };
  auto const down = sum_of(m.size(0), [&](int n) { return of(n, j); }), across = sum_of(m.size(1), [&](int n) { return of(i, n); });
  auto const p = put<Partial<>, Varying>(m, of(i, j));
  auto const q = put<Varying, Partial<>>(m, of(i, j));
  require(equal(all_reduce<"dp">(p).local(), down), c, "all_reduce along dp");
  require(equal(all_reduce<"tp">(q).local(), across), c, "all_reduce along tp");
  require(equal(all_reduce<"tp">(q, async).wait().local(), across), c, "all_reduce along tp, without waiting");
  auto const stack = all_gather<"dp", Varying, Replicate>(put<Varying, Varying>(m, of(i, j)));
  require(is_stack<0>(stack.local(), m.size(0), [&](int n) { return of(n, j); }), c, "all_gather of a Varying along dp");
  auto const columns = reduce_scatter<"tp", Shard<1>>(q);
  auto const part = convert<"tp", Shard<1>>(put<Varying, Replicate>(m, across));
  require(equal(columns.local(), part.local()), c, "reduce_scatter along tp");

  auto const whole = whole_numbers(Extents<dyn, dyn, dyn>(24, 6, 12), 3);
  auto const x = distribute<Shard<0>, Shard<1>>(whole, m);
  auto const turned = [](auto const& v) { return all_to_all<"dp", Shard<2>>(v); };
  auto const resharded = [](auto const& v) { return repartition<"tp", Shard<1, Balanced>>(v); };
  auto const joined = [](auto const& v) { return all_to_all<"tp", Shard<0>>(v); };
  require(equal(all_gather<"tp">(x).local(), distribute<Shard<0>, Replicate>(whole, m).local()), c, "all_gather along tp");
  require(equal(all_gather<"dp">(x).local(), distribute<Replicate, Shard<1>>(whole, m).local()), c, "all_gather along dp");
  require(equal(turned(x).local(), distribute<Shard<2>, Shard<1>>(whole, m).local()), c, "all_to_all along dp");
  require(equal(resharded(x).local(), distribute<Shard<0>, Shard<1, Balanced>>(whole, m).local()), c, "repartition along tp");
  require(equal(joined(x).local(), distribute<Shard<0>, Shard<0>>(whole, m).local()), c, "one dimension by both axes");
  require(adjoint_error(x, turned) == 0, c, "the adjoint of all_to_all along dp");
  require(adjoint_error(x, resharded) == 0, c, "the adjoint of repartition along tp");
  require(adjoint_error(x, joined) == 0, c, "the adjoint of all_to_all along tp");
  require(adjoint_error(x, [](auto const& v) { return all_to_all<"dp", Shard<2>>(v, async).wait(); }) == 0, c, "the same without waiting");
}

template <class Mesh>
void plans_on_a_mesh(Mesh const& m) {
  auto& c = m.world();
  auto const whole = whole_numbers(Extents<dyn, dyn>(24, 24), 5);
  auto const check = [&]<class... P>(placements<P...>, auto const& x, std::string const& what) {
    static_assert(has_placements<std::remove_cvref_t<decltype(x)>, P...>);
    require(equal(x.local(), distribute<P...>(whole, m).local()) && equal(gather(x), whole), c, "redistribute to " + what);
  };
  auto const rows = distribute<Shard<0>, Shard<0>>(whole, m);
  auto const columns = redistribute<Replicate, Shard<1>>(rows);
  check(placements<Replicate, Shard<1>>{}, columns, "columns");
  auto const tiles = redistribute<Shard<1>, Shard<0>>(columns);
  check(placements<Shard<1>, Shard<0>>{}, tiles, "tiles");
  require(adjoint_error(rows, [](auto const& v) { return redistribute<Shard<1>, Shard<0>>(v); }) == 0, c, "the adjoint of a plan");
}

template <class Mesh, class Sparse>
void halos_along_dp(Mesh const& m, Sparse const& A) {
  auto& c = m.world();
  auto const D = distribute<SparseShard<0>, Replicate>(A, m, scattered_owners(A.rows(), m.size(0)));
  auto const whole = whole_numbers(Extents<dyn, dyn>(A.cols(), 2), 3);
  auto const x = distribute(whole, D.col_layout());
  auto const y = halo_exchange<"dp", "A">(x, D);
  auto const& plan = *D.handle()->halo;
  auto const& columns = *y.handle()->rows;
  for (index_t n = 0; n < plan.own() + plan.ghosts(); ++n)
    for (index_t w = 0; w < 2; ++w) require(y.local()(n, w) == whole(plan.global(columns, n), w), c, "own rows and ghosts");
  require(equal(halo_exchange<"dp", "A">(x, D, async).wait().local(), y.local()), c, "halo_exchange without waiting");
  tensor<double, Extents<dyn, dyn>> const product = A * whole, turned = transpose(A) * product;
  auto const z = eval(D * x);
  auto const close = [](auto const& a, auto const& b) { return double(norm(a - b)) <= 1e-12 * (1 + double(norm(b))); };
  require(close(gather(z), product) && close(gather(eval(D * y)), product), c, "A * x");
  require(close(gather(eval(transpose(D) * z)), turned), c, "transpose(A) * x");
}

/// All of it on ranks that are arranged as dp x tp.
template <class Mesh>
void mesh_room(Mesh const& m) {
  one_axis_of_two(m);
  flat_collectives(m);
  plans_on_a_mesh(m);
  halos_along_dp(m, problems::poisson<double>({6, 5}));
  halos_along_dp(m, scattered<double>(30, 21, 80));
}

} // namespace suite
