// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that redistribute their operands by a plan: the results are those of one rank, in the placements of the plan; gradients
// come back in the duals of what was given.
#include <sla/dist/plan/auto_plan.hpp>
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_auto_plan {

using namespace sla;
using namespace sla::plans;
using Ranks = mesh<axis<"dp", 2>, axis<"tp", 2>>;
using R = Replicate;
using S0 = Shard<0>;
using S1 = Shard<1>;
using P = Partial<>;

TEST_CASE("illegal operands become legal by the plan, legal ones are left alone") {
  auto const wrong = threads::run(4, [](auto& world) {
    Ranks m(world);
    auto const x = random<double, Extents<dyn, dyn>>({8, 4}, 1), y = random<double, Extents<dyn, dyn>>({8, 4}, 2);
    auto const a = distribute<S0, S0>(x, m);
    auto const b = distribute<R, S1>(y, m);
    auto const pending = convert<"tp", P>(distribute<R, R>(y, m));
    auto const sum = auto_plan<op::add>(a, b);
    static_assert(has_placements<decltype(sum), S0, S0>);
    double e = norm(gather(sum) - (x + y));
    e += norm(gather(auto_plan<op::mul>(a, pending)) - x * y);
    auto const wanted = auto_plan<op::sub, To<R, S1>>(a, pending);
    static_assert(has_placements<decltype(wanted), R, S1>);
    e += norm(gather(wanted) - (x - y));
    e += norm(gather(auto_plan<op::mul>(uniform(3.0), b)) - 3.0 * y);
    e += norm(gather(auto_plan<op::exp>(pending)) - exp(y));
    e += norm(gather(auto_plan<op::tanh>(pending)) - tanh(y));
    e += norm(gather(auto_plan<op::abs>(pending)) - abs(y));
    using Golden = Plan<Arg<0>, Arg<1, Convert<R, S0, "dp">, AllToAll<S1, S0, "tp">>, Apply<op::add>, Result<>>;
    e += norm(gather(auto_plan<op::add, Expect<Golden>>(a, b)) - (x + y));
    auto const product = auto_plan<op::dot, To<R, R>>(a, b);
    e += std::abs(product.value() - dot(x, y));
    return e;
  });
  for (double e : wrong) CHECK(e <= 1e-12);
}

TEST_CASE("a sparse operand stays, its vector comes") {
  auto const wrong = threads::run(4, [](auto& world) {
    Ranks m(world);
    auto const A = problems::poisson({6, 4});
    auto const x = random<double>({24}, 3);
    auto const rows = distribute<R, SparseShard<0>>(A, m);
    auto const y = auto_plan<op::matvec>(rows, distribute<R, S0>(x, m));  // equal pieces are not the matrix's partition
    sla::vector<double> const right = A * x;
    return double(norm(gather(y) - right));
  });
  for (double e : wrong) CHECK(e <= 1e-12);
}

TEST_CASE("a product by rows with its vector in their shard sends its halo, and so does its gradient") {
  using Rows = mesh<axis<"rows">>;
  auto const A = problems::poisson({300});
  auto const x = random<double>({300}, 9);
  sla::vector<double> const y = A * x, g = transpose(A) * y;
  for (double apart : threads::run(3, [&](auto& world) {
         Rows m(world);
         auto const D = distribute<SparseShard<0>>(A, m);
         auto const [loss, to_x] =
             value_and_gradient([&](auto const& v) { return 0.5 * squared_norm(auto_plan<op::matvec>(D, v)); }, distribute(x, D.col_layout()));
         static_assert(has_placements<decltype(to_x), Shard<0, Part<>>>);
         return std::abs(loss - 0.5 * double(squared_norm(y))) + double(norm(gather(to_x) - g));
       }))
    CHECK(apart <= 1e-9 * (1 + double(norm(g))));
}

TEST_CASE("gradients go back through the steps") {
  auto const wrong = threads::run(4, [](auto& world) {
    Ranks m(world);
    auto const x = random<double, Extents<dyn, dyn>>({8, 4}, 6), w = random<double, Extents<dyn, dyn>>({8, 4}, 7);
    auto const weights = distribute<R, S1>(w, m);
    auto const loss_of = [](auto const& reduced) { return all_reduce<"dp", Invariant>(all_reduce<"tp", Invariant>(reduced)); };
    auto const [moved, g] = value_and_gradient(
        [&](auto const& v) { return loss_of(dot(redistribute<S1, S0>(v), distribute<S1, S0>(w, m))); }, distribute<S0, S0>(x, m));
    auto const [planned, h] = value_and_gradient([&](auto const& v) { return loss_of(sum(auto_plan<op::mul>(v, weights))); }, distribute<S0, S0>(x, m));
    static_assert(has_placements<decltype(h), S0, S0>);
    return std::abs(moved - dot(x, w)) + std::abs(planned - dot(x, w)) + norm(gather(g) - w) + norm(gather(h) - w);
  });
  for (double e : wrong) CHECK(e <= 1e-12);
}
} // namespace test_auto_plan
