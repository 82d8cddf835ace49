// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preconditioners on the device beside the host's, in a batch whose items stop by themselves.
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/solve/precond/block_jacobi.hpp>
#include <sla/solve/precond/composed/chebyshev.hpp>

#include "device.cuh"

using namespace on_device;

namespace {
/// Items of 2 x 2 blocks, the later the easier.
auto batch_of_blocks(index_t batch) {
  auto A = to_batch(to_blocks<2, 2>(problems::poisson<double>({30, 40})), batch);
  auto const diagonal = diagonal_positions(A.pattern());
  for (index_t item = 0; item < batch; ++item)
    for (index_t i = 0; i < A.rows(); ++i)
      for (index_t c : {0, 3}) A.values()[item * A.batch_stride() + diagonal[i] * 4 + c] += double(item * item);
  return A;
}

void block_jacobi_in_a_batch() {
  auto const A = batch_of_blocks(4);
  auto const b = random<double, Extents<dyn, dyn, dyn>>({4, 600, 2}, 1);
  auto const dA = up(A);
  auto const [x, host] = try_solve(A, b, cg{.rtol = 1e-10}, block_jacobi{.size = 2});
  auto const [dx, device] = try_solve(dA, up(b), cg{.rtol = 1e-10}, block_jacobi{.size = 2});
  expect(device.converged() && distance(x, down(dx)) <= 1e-8, "cg with block_jacobi in a batch");
  for (std::size_t n = 0; n < 4; ++n) expect(std::abs(host.items[n].iterations - device.items[n].iterations) <= 1, "each item has its own stop");
  expect(device.items[3].iterations < device.items[0].iterations, "an easy item stops before a hard one");

  auto const M = block_jacobi{.size = 2}.setup(A);
  auto dM = block_jacobi{.size = 2}.setup(dA);
  auto const same = [&](auto const& on_host, auto const& there) {
    auto const back = cuda::moved<host_memory>(there.inverses());
    return std::equal(back.begin(), back.end(), on_host.inverses().begin(), on_host.inverses().end());
  };
  expect(same(M, dM) && same(M.adjoint(), dM.adjoint()), "the blocks' inverses are the host's");
  dM.update(up(2.0 * A));
  expect(same(block_jacobi{.size = 2}.setup(2.0 * A), dM), "and those of new values");
  expect(refuses<shape_error>("size = 7", [&] { (void)block_jacobi{.size = 7}.setup(dA); }), "a size that does not divide the rows");
}

void chebyshev_polynomials() {
  auto const A = batch_of_blocks(2);
  auto const b = random<double, Extents<dyn, dyn, dyn>>({2, 600, 2}, 2);
  auto const [x, host] = try_solve(A, b, cg{.rtol = 1e-10}, chebyshev{});
  auto const [dx, device] = try_solve(up(A), up(b), cg{.rtol = 1e-10}, chebyshev{});
  expect(device.converged() && distance(x, down(dx)) <= 1e-8, "cg with chebyshev");
  expect(std::abs(host.iterations() - device.iterations()) <= 1, "in as many iterations");
}

double residual(sparse_tensor<double> const& A, vector<double> const& b, vector<double, device_memory> const& x) { return norm(b - A * down(x)) / norm(b); }
/// Levels of the host, the cycle of the device: in about as many iterations as there (tests/cuda/method_cg.cpp), with the same bits for every lag.
template <class Options>
void multigrid(Options const& options, sparse_tensor<double> const& A, int most) {
  auto const b = random<double>(A.rows(), 3);
  auto const s = prepare(up(A), cg{.rtol = 1e-10}, options);
  auto const [x, report] = s.try_solve(up(b));
  expect(report.converged() && report.iterations() <= most && residual(A, b, x) <= 2e-10, "cg with multigrid");
  auto const late = s.try_solve(up(b), on([&](frame f) { return cuda::space(f, 16); }));
  expect(same_bits(down(x), down(late.x)), "the same bits for every lag");
}
void multigrid_of_transport() {
  auto const C = problems::convection_diffusion<double>({60, 50}, 0.5);
  auto const b = random<double>(C.rows(), 4);
  auto const dC = up(C);
  auto s = prepare(dC, bicgstab{.rtol = 1e-10}, amg{});
  expect(residual(C, b, s.solve(up(b))) <= 2e-10, "bicgstab with multigrid");
  expect(residual(transposed(C), b, s.solve_transpose(up(b))) <= 2e-10, "and its adjoint");
  s.update(up(2.0 * C));
  expect(residual(2.0 * C, b, s.solve(up(b))) <= 2e-10, "and new values");
  expect(refuses<value_error>("on a device", [&] { (void)amg{.smoother = jacobi{}}.setup(dC); }), "preconditioners smooth on the host alone");
}
}  // namespace

int main() {
  return run([] {
    block_jacobi_in_a_batch();
    chebyshev_polynomials();
    auto const P = problems::poisson<double>({70, 90});
    multigrid(amg{}, P, 14);  // grids
    multigrid(amg{}, problems::checkerboard<double>({20, 22, 21}, 10), 16);
    multigrid(amg{.coarsening = amg_coarsening::smoothed}, P, 18);
    multigrid(amg{.cycle = amg_cycle::amli, .coarsening = amg_coarsening::plain}, P, 25);
    multigrid(amg_in<float>{.coarsening = amg_coarsening::smoothed}, P, 18);
    multigrid_of_transport();
  });
}
