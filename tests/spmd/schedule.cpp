// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules of generic functions, known before anything runs: which steps, how much they send, and how gradients go back.
#include <sla/core/op.hpp>
#include <sla/spmd.hpp>
#include <sla/spmd/schedule/outline_operators.hpp>

#include "catch.hpp"

namespace test_schedule {

using namespace sla;

namespace {

template <class T, class E>
struct dense {
  using value_type = T;
  using extents_type = E;
};
template <class T, class S>
struct sparse {
  using value_type = T;
  using shape_type = S;
};

using Rows = mesh<axis<"rows", 4>>;
using Vector = distributed<dense<double, Extents<dyn>>, Rows, Shard<0, Part<>>>;
using Operator = distributed<sparse<double, Matrix>, Rows, SparseShard<0, Part<>>>;
using Number = distributed<double, Rows, Replicate>;
using Pending = distributed<double, Rows, Partial<>>;

/// How many steps of a kind.
constexpr int reductions(auto const& s) { return s.count(step::all_reduce); }
constexpr int halos(auto const& s) { return s.count(step::halo_exchange); }

// ---- one iteration of conjugate gradients, as its author would write it

constexpr auto cg_step = [](auto const& A, auto const& x, auto const& r, auto const& p, auto const& rr) {
  auto q = eval(A * p);
  auto alpha = rr / all_reduce<"rows">(dot(p, q));
  auto x2 = eval(x + alpha * p);
  auto r2 = eval(r - alpha * q);
  auto rr2 = all_reduce<"rows">(dot(r2, r2));
  return x2 + r2 + rr2 / rr * p;
};
constexpr auto one_step = schedule<cg_step, Operator, Vector, Vector, Vector, Number>;
static_assert(one_step.size() == 3 && halos(one_step) == 1 && reductions(one_step) == 2);
static_assert(count_steps<step::all_reduce>(one_step) == 2 && count_steps<step::halo_exchange>(one_step) == 1);
static_assert(explain<Rows>(one_step) == "halo_exchange<\"rows\"> 8 n bytes\nall_reduce<\"rows\"> 8 bytes\nall_reduce<\"rows\"> 8 bytes\n");
static_assert(one_step[0].bytes == linear_bytes{0, 8} && one_step[1].bytes == linear_bytes{8, 0});
static_assert(one_step[1].after == 1 && one_step[2].after == 2);
static_assert(one_step.bytes(100) == 816 && one_step.peak(100) == 800 && one_step.peak(0) == 8);
static_assert(one_step.merged() == one_step, "the second reduction waits for the first");
static_assert(one_step.is_differentiable() && one_step.backward().size() == 3);
static_assert(one_step.backward()[0].how() == step::all_reduce && one_step.backward()[2].how() == step::halo_reduce);
static_assert(one_step.backward().backward().count(step::halo_exchange) == 1, "the adjoint of the adjoint is the step");

// ---- an expression is evaluated each time that it is used, as one of values is

constexpr auto twice = [](auto const& A, auto const& x) {
  auto y = A * x;
  return eval(y) + eval(y);
};
constexpr auto once = [](auto const& A, auto const& x) {
  auto y = eval(A * x);
  return y + y;
};
constexpr auto never = [](auto const& A, auto const& x) { (void)(A * x); };
static_assert(halos(schedule<twice, Operator, Vector>) == 2 && halos(schedule<once, Operator, Vector>) == 1);
static_assert(no_collective_in<never, Operator, Vector>);
constexpr auto turned = [](auto const& A, auto const& x) { return transpose(A) * (A * x); };
static_assert(schedule<turned, Operator, Vector>.count(step::halo_reduce) == 1 && halos(schedule<turned, Operator, Vector>) == 1);

// the halo by name is the halo that the product sends by itself
constexpr auto by_name = [](auto const& A, auto const& x) { return A * halo_exchange<"rows">(x, A); };
constexpr auto by_itself = [](auto const& A, auto const& x) { return A * x; };
static_assert(halos(schedule<by_name, Operator, Vector>) == 1 && schedule<by_name, Operator, Vector>.size() == 1);
static_assert(halos(schedule<by_itself, Operator, Vector>) == 1);
static_assert(schedule<by_name, Operator, Vector>.backward()[0].how() == step::halo_reduce);
constexpr auto dropped = [](auto const& A, auto const& x) { return dot(owned<"rows">(exp(halo_exchange<"rows">(x, A))), x); };
static_assert(schedule<dropped, Operator, Vector>.collectives() == 1 && schedule<dropped, Operator, Vector>.size() == 2);

// ---- reductions that do not wait for each other may travel together

constexpr auto two_dots = [](auto const& x, auto const& y) {
  auto xy = all_reduce<"rows">(dot(x, y));
  auto xx = all_reduce<"rows">(dot(x, x));
  return xx / xy;
};
constexpr auto apart = schedule<two_dots, Vector, Vector>;
static_assert(apart.size() == 2 && apart.merged().size() == 1 && apart.merged()[0].values == 2);
static_assert(apart.merged()[0].bytes == linear_bytes{16, 0} && apart.merged()[0].after == 0);
constexpr auto three_dots = [](auto const& x, auto const& y) {
  auto xy = all_reduce<"rows">(dot(x, y));
  auto z = eval(xy * x);
  auto xx = all_reduce<"rows">(dot(x, x));
  auto zz = all_reduce<"rows">(dot(z, z));
  return zz + xx;
};
constexpr auto chained = schedule<three_dots, Vector, Vector>.merged();
static_assert(chained.size() == 2 && chained[0].values == 2 && chained[1].values == 1, "z waits for the first of them");
constexpr auto one_norm = [](auto const& x) { return norm(x); };
static_assert(reductions(schedule<one_norm, Vector>) == 1, "a norm finishes itself");

// ---- conditions: true as often as one asks for

constexpr auto iterate = [](auto const& A, auto const& b) {
  auto r = eval(b - A * b);
  auto rr = all_reduce<"rows">(dot(r, r));
  while (rr > 1e-8) {
    r = eval(r - A * r);
    rr = all_reduce<"rows">(dot(r, r));
  }
  return norm(r);
};
constexpr auto none = schedule<iterate, Operator, Vector>;
constexpr auto two = schedule_of_loop<2, iterate, Operator, Vector>;
constexpr auto three = schedule_of_loop<3, iterate, Operator, Vector>;
static_assert(none.size() == 3 && none.answered == 1 && two.size() == 7 && two.answered == 3);
static_assert(two.iteration().size() == 2 && halos(two.iteration()) == 1 && two.iteration(0) == two.iteration(1));
static_assert(three.size() - two.size() == two.iteration().size(), "one iteration is the difference of two recordings");

// ---- two layers of a network, sharded by columns, then by rows

using Model = mesh<axis<"dp", 2>, axis<"tp", 4>>;
template <class E, class... P>
using Weight = distributed<dense<float, E>, Model, P...>;
constexpr auto gathered_input = [](auto const& x) {
  auto whole = all_gather<"tp">(x);
  return reduce_scatter<"tp", Shard<0>>(reinterpret<"tp", Partial<>>(whole, expert));
};
using Sequence = Weight<Extents<16, 32>, Shard<1>, Shard<0>>;
constexpr auto sequence = schedule<gathered_input, Sequence>;
static_assert(sequence.size() == 3 && sequence.collectives() == 2 && sequence.collectives(0) == 0 && sequence.collectives(1) == 2);
static_assert(sequence[0].bytes == linear_bytes{16 * 32 * 4, 0} && sequence[0].result == linear_bytes{64 * 32 * 4, 0});
static_assert(sequence.backward()[0].how() == step::all_gather && sequence.backward()[2].how() == step::reduce_scatter);
static_assert(sequence.backward()[2].bytes == sequence[0].result);
static_assert(sequence.needs(1) && !sequence.needs(0));

// what is free on the way there costs on the way back
constexpr auto read_by_all = [](auto const& w) { return convert<"tp", Replicate>(w); };
constexpr auto shared_weight = schedule<read_by_all, Weight<Extents<8, 8>, Invariant, Invariant>>;
static_assert(shared_weight.collectives() == 0 && shared_weight.backward().count(step::all_reduce) == 1 && shared_weight.needs(1));
constexpr auto reduced_once = [](auto const& y) { return all_reduce<"tp", Invariant>(y); };
constexpr auto free_backward = schedule<reduced_once, Weight<Extents<8, 8>, Invariant, Partial<>>>;
static_assert(free_backward.collectives() == 1 && free_backward.backward().collectives() == 0);

// a maximum has no dual
constexpr auto largest = [](auto const& y) { return all_reduce<"rows">(y); };
constexpr auto extreme = schedule<largest, distributed<double, Rows, Partial<Max>>>;
static_assert(extreme.count(step::all_reduce) == 1 && !extreme.is_differentiable() && extreme.backward().size() == 0);

// ---- branching: a truth value has the placement of what it compares

template <class X>
concept Branches = requires(outline<bool, Rows, X> const& condition) { static_cast<bool>(condition); };
template <class X, class Y>
using compared_t = decltype(std::declval<outline<double, Rows, X>>() > std::declval<outline<double, Rows, Y>>());
static_assert(has_placements<compared_t<Replicate, Replicate>, Replicate>);
static_assert(has_placements<compared_t<Replicate, Varying>, Varying>);

}  // namespace

TEST_CASE("a schedule at run time is the schedule of the compiler") {
  recorder to(2);
  outline<shape_only<double, Extents<dyn>>, Rows, Shard<0, Part<>>> b(to);
  outline<sparse_shape_only<double, Matrix>, Rows, SparseShard<0, Part<>>> A(to);
  (void)eval(iterate(A, b));
  CHECK(to.steps() == two);
}

} // namespace test_schedule
