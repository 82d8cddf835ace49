// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls whose plan the sizes of the run choose, on thread ranks: results are those of one rank on both sides of where plans change,
// by the steps of the cheapest one; a preferred plan is taken at all sizes.
#include <sla/dist/plan/auto_plan.hpp>
#include <sla/dist/grad/custom.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/spmd/rule/table/einsum.hpp>

#include "catch.hpp"

namespace test_plan_set_on_ranks {

using namespace sla;
using namespace sla::plans;
template <int N>
using Workers = mesh<axis<"workers", N>>;
using Square = mesh<axis<"far", 2>, axis<"near", 2>>;
using Matrix = tensor<double, Extents<dyn, dyn>>;

struct times {
  static Matrix apply(auto const& a, auto const& b) {
    Matrix c({a.extent(0), b.extent(1)});
    for (index_t i = 0; i < a.extent(0); ++i)
      for (index_t k = 0; k < a.extent(1); ++k)
        for (index_t j = 0; j < b.extent(1); ++j) c[i * b.extent(1) + j] += a[i * a.extent(1) + k] * b[k * b.extent(1) + j];
    return c;
  }
};

} // namespace test_plan_set_on_ranks

namespace sla {
template <>
inline constexpr auto rule_of<test_plan_set_on_ranks::times> = strategies::einsum("mk,kn->mn");
template <int N>
inline constexpr topology topology_of<test_plan_set_on_ranks::Workers<N>> = two_level(0, {10, 1000});
template <>
inline constexpr topology topology_of<test_plan_set_on_ranks::Square> = two_level(1, {10, 10000}, {100, 1000});
} // namespace sla

namespace test_plan_set_on_ranks {
namespace {

using R = Replicate;
using S0 = Shard<0>;
using S1 = Shard<1>;
using P = Partial<>;

Matrix some(index_t rows, index_t columns, int seed) { return random<double, Extents<dyn, dyn>>({rows, columns}, std::uint64_t(seed)); }

/// What one call did: how far its result is from that of one rank, and how many calls of which collective it made.
struct done {
  double apart = 0;
  std::uint64_t gathers = 0, turns = 0, scatters = 0;
};
template <class Mesh, class F>
done calls_of(Mesh const& m, int a, Matrix const& right, F const& f) {
  auto& c = m.communicator(a);
  auto const before = c.stats();
  auto const y = f();
  auto const count = [&](collective what) { return c.stats().calls[std::size_t(what)] - before.calls[std::size_t(what)]; };
  done out{0, count(collective::all_gather), count(collective::all_to_all), count(collective::reduce_scatter)};
  out.apart = norm(gather(y) - right);
  return out;
}

/// An (m, k) matrix times a (k, n) one, both sharded by rows, to rows.
template <int N, class... Requested>
done product_by_rows(index_t m, index_t k, index_t n) {
  Matrix const a = some(m, k, 1), b = some(k, n, 2), right = times::apply(a, b);
  done worst;
  for (done const& d : threads::run(N, [&](auto& world) {
         Workers<N> workers(world);
         auto const x = distribute<S0>(a, workers), y = distribute<S0>(b, workers);
         return calls_of(workers, 0, right, [&] {
           auto z = auto_plan<times, Requested...>(x, y);
           static_assert(has_placements<decltype(z), S0>);
           return z;
         });
       })) {
    worst.apart = std::max(worst.apart, d.apart);
    worst.gathers = std::max(worst.gathers, d.gathers);
    worst.turns = std::max(worst.turns, d.turns);
    worst.scatters = std::max(worst.scatters, d.scatters);
  }
  return worst;
}

template <int N>
void products_at_both_ends() {
  auto const little = product_by_rows<N, To<S0>>(8, 4, 4); // the second factor is gathered
  CHECK(little.apart <= 1e-12);
  CHECK((little.gathers == 1 && little.turns == 0 && little.scatters == 0));
  auto const wide = product_by_rows<N, To<S0>>(4, 64, 128); // the first one is transposed, and terms are added
  CHECK(wide.apart <= 1e-10);
  CHECK((wide.gathers == 0 && wide.turns == 1 && wide.scatters == 1));
  auto const indivisible = product_by_rows<N, To<S0>>(8, 8 * N, 4096 + 1);
  CHECK(indivisible.apart <= 1e-9);

  using Gathered = Plan<Arg<0>, Arg<1, AllGather<S0, R, "workers">>, Apply<times>, Result<>>;
  auto const pinned = product_by_rows<N, Prefer<Gathered>>(4, 64, 128);
  CHECK(pinned.apart <= 1e-10);
  CHECK((pinned.gathers == 1 && pinned.turns == 0 && pinned.scatters == 0));
}

} // namespace

TEST_CASE("the sizes of the run choose the plan, and a preferred one is taken at all sizes") {
  products_at_both_ends<2>();
  products_at_both_ends<4>();
}

TEST_CASE("on two axes, with extents that do and do not divide") {
  using Plans = plan_of<times, To<R, R>, dtensor<Matrix, Square, S0, S0>, dtensor<Matrix, Square, R, R>>;
  CHECK(Plans::size >= 2);
  for (auto const& [m, k, n] : {std::array<index_t, 3>{4, 4, 4}, {64, 64, 8}, {4, 3, 5}, {128, 5, 3}}) {
    Matrix const a = some(m, k, 3), b = some(k, n, 4), right = times::apply(a, b);
    for (done const& d : threads::run(4, [&](auto& world) {
           Square square(world);
           auto const x = distribute<S0, S0>(a, square);
           auto const y = distribute<R, R>(b, square);
           return calls_of(square, 0, right, [&] { return auto_plan<times, To<R, R>>(x, y); });
         }))
      CHECK(d.apart <= 1e-11);
  }
}

TEST_CASE("gradients go back through the plan that was taken") {
  using Square4 = dtensor<Matrix, Square, S0, S0>;
  CHECK(plan_of<op::mul, To<R, R>, Square4, Square4>::size >= 2);
  for (index_t n : {index_t(4), index_t(400), index_t(6)}) { // 6 columns do not divide
    Matrix const a = some(n == 6 ? 4 : n, n, 5), b = some(n == 6 ? 4 : n, n, 6);
    for (double apart : threads::run(4, [&](auto& world) {
           Square square(world);
           auto const y = distribute<S0, S0>(b, square);
           auto const [loss, g] = value_and_gradient(
               [&](auto const& v) {
                 auto const product = auto_plan<op::mul, To<R, R>>(v, y);
                 return 0.25 * sum(convert<"far", P>(convert<"near", P>(product, expert), expert));
               },
               distribute<S0, S0>(a, square));
           return double(norm(gather(g) - 0.25 * b));
         }))
      CHECK(apart <= 1e-10 * double(n));
  }
}

} // namespace test_plan_set_on_ranks
