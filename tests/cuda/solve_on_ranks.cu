// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distributed tensors whose parts lie on the device: products, their transposes and solves of thread ranks on one device are those of one rank on the host.
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/dist/solve/mesh_world.hpp>
#include <sla/solve/krylov/cg.hpp>

#include "device.cuh"

using namespace on_device;

int main() {
  return run([] {
    auto const A = problems::poisson<double>({40, 50});
    auto const b = random<double>(A.rows(), 1);
    vector<double> const y = A * b;
    auto const [x, report] = try_solve(A, b, cg{.rtol = 1e-10}, jacobi{});
    for (int ranks : {1, 3}) {
      auto const found = threads::run(ranks, [&](auto& world) {
        mesh<axis<"rows">> m(world);
        auto const D = distribute<SparseShard<0>>(A, m, strips{});
        auto const dD = up(D);
        auto const db = up(distribute(b, D.row_layout()));
        auto const z = eval(dD * db), t = eval(transpose(dD) * db);
        auto const s = try_solve(dD, db, cg{.rtol = 1e-10}, jacobi{});
        (void)linear_world<std::remove_const_t<decltype(dD)>>::setup(block_jacobi{.size = 2}, dD);  // is there, and throws nothing
        return std::tuple(gather(down(z)), gather(down(t)), gather(down(s.x)), s.report.iterations());
      });
      for (auto const& [of_product, of_transpose, of_solve, iterations] : found) {
        expect(distance(y, of_product) <= 1e-14 && distance(y, of_transpose) <= 1e-14, "products on ranks");
        expect(distance(x, of_solve) <= 1e-8 && std::abs(iterations - report.iterations()) <= 1, "conjugate gradients on ranks");
      }
    }
  });
}
