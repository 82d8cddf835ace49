// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Systems of different sizes on the device, each with its own stop: the host's answers, the same bits for every lag.
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/linear/linear_list.hpp>

#include "device.cuh"

using namespace on_device;

int main() {
  return run([] {
    std::vector<sparse_tensor<double>> systems;
    for (index_t n : {3, 1, 60, 25}) systems.push_back(problems::poisson<double>({n, n}));
    sparse_list const L(systems);
    auto const b = random<double>(L.packed().rows(), 1);
    auto const [x, host] = try_solve(L.packed(), b, cg{.rtol = 1e-10}, jacobi{}, per_system(L));
    auto const A = up(L.packed());
    auto const db = up(b);
    auto const solved = [&](int lag) {
      return try_solve(A, db, cg{.rtol = 1e-10}, jacobi{}, per_system(L, on([lag](frame f, packed_systems const& each) { return cuda::space(f, each, lag); })));
    };
    auto const [dx, device] = solved(4);
    expect(host.converged() && device.converged() && device.items.size() == systems.size(), "every system");
    expect(distance(x, down(dx)) <= 1e-7, "the host's answer");
    for (std::size_t k = 0; k < systems.size(); ++k)
      expect(std::abs(host.items[k].iterations - device.items[k].iterations) <= 1 + host.items[k].iterations / 20, "each stops by itself");
    for (int lag : {0, 32}) expect(same_bits(down(dx), down(solved(lag).x)), "the same bits for every lag");
  });
}
