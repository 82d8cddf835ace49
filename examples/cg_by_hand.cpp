// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conjugate gradients on a mesh, written by hand: every collective is in the text, every placement in a type, and what one
// iteration sends is asserted before anything runs. Compared with solve().
#include <iostream>

#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/value/scalars.hpp>
#include <sla/dist/solve/mesh_world.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/spmd/schedule/outline_operators.hpp>
#include <sla/tensor/problems/problems.hpp>

using namespace sla;
using Mesh = mesh<axis<"rows">>;
using Operator = dsparse_tensor<sparse_tensor<double>, Mesh, SparseShard<0>>;
using Column = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;
using Uniform = distributed<double, Mesh, Replicate>;

/// One iteration: improves x, and updates the residual r, the direction p and (r, r).
constexpr auto iterate = [](auto const& A, auto& x, auto& r, auto& p, auto& rr) {
  auto q = eval(A * p);                                       // Shard: a halo exchange, then the rows of this rank
  auto alpha = eval(rr / all_reduce<"rows">(dot(p, q)));      // the dot of shards is Partial; reduced, every rank has it
  x = x + alpha * p;                                          // Shard = Shard + Replicate * Shard: nothing is sent
  r = r - alpha * q;
  auto next = all_reduce<"rows">(dot(r, r));
  p = r + (next / rr) * p;
  rr = next;
};
/// The solution of A x = b to |r| <= rtol |b|.
constexpr auto solve_by_hand = [](auto const& A, auto const& b, auto const& rtol) {
  auto x = eval(0.0 * b), r = eval(b), p = eval(b);
  auto rr = all_reduce<"rows">(dot(r, r));
  auto const limit = eval(rtol * rtol * rr);
  while (rr > limit) iterate(A, x, r, p, rr);  // a condition only because every rank has both numbers
  return x;
};

// What an iteration sends, from the types alone: a halo and two numbers. Gradients would send as much.
constexpr auto sent = schedule_of_loop<2, solve_by_hand, Operator, Column, Uniform>.iteration();
static_assert(count_steps<step::halo_exchange>(sent) == 1 && count_steps<step::all_reduce>(sent) == 2 && sent.collectives() == 3);
static_assert(count_steps<step::halo_reduce>(sent.backward()) == 1 && count_steps<step::all_reduce>(sent.backward()) == 2);
static_assert(sent.merged() == sent, "the second number waits for the first");

int main() {
  auto const A = problems::poisson<double>({40, 30});
  auto const b = random<double>({A.rows()}, 1);
  constexpr double rtol = 1e-10;

  auto const good = threads::run(4, [&](auto& world) {
    Mesh m(world);
    auto const D = distribute<SparseShard<0>>(A, m, strips{});
    auto const db = distribute(b, D.row_layout());

    auto const x = solve_by_hand(D, db, Uniform(rtol, db.handle()));
    auto const [y, report] = try_solve(D, db, cg{.rtol = rtol});
    double const residual = norm(b - A * gather(x)) / norm(b), apart = norm(x - y).value() / norm(y).value();
    if (world.rank() == 0) {
      std::cout << explain<Mesh>(sent).view() << "by hand: true residual " << residual << "\nsolve:   " << report << '\n';
      std::cout << "|x - y| / |y| = " << apart << '\n';
    }
    return residual <= 10 * rtol && apart <= 1e-8;
  });
  for (bool one : good)
    if (!one) return 1;
  return 0;
}
