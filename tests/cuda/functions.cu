// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of the user as matrix and preconditioner on the device: they are launched on the stream of the solve, in its order.
#include "same_answer.cuh"

using namespace on_device;

namespace {
__global__ void second_difference(double const* x, double* y, index_t n) {
  index_t const i = index_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i + 1 < n ? x[i + 1] : 0);
}
__global__ void halve(double const* x, double* y, index_t n) {
  index_t const i = index_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0.5 * x[i];
}
template <class Kernel>
linear_operator<double, device_memory> function_of(index_t n, Kernel* kernel) {
  return {n, n, [=](std::span<double const> x, std::span<double> y) { kernel<<<unsigned((n + 255) / 256), 256, 0, cuda::current_stream()>>>(x.data(), y.data(), n); },
          self_adjoint};
}
template <class Method>
void same_as_host(Method const& method, char const* what) {
  index_t const n = 200;
  auto const A = problems::poisson<double>({n});
  auto const b = random<double>(n, 1);
  auto const db = up(b);
  auto const x = solve(A, b, method, jacobi{});
  auto const op = function_of(n, second_difference), M = function_of(n, halve);
  auto const [dx, report] = try_solve(op, db, method, M);
  expect(report.converged(), what);
  expect(distance(x, down(dx)) <= 1e-6, what);
  expect(distance(x, down(solve(up(A), db, method, M))) <= 1e-6, "a kernel as the preconditioner of a matrix");
  auto const late = solve(op, db, method, M, on([](frame f) { return cuda::space(f, 32); }));
  expect(same_bits(down(dx), down(late)), "the same bits for every lag");
  vector<double, device_memory> const r = db - op * dx;
  expect(norm(down(r)) <= 1e-9 * norm(b), "in expressions");
}
}  // namespace

int main() {
  return run([] {
    same_as_host(cg{.rtol = 1e-10, .max_iterations = 1000}, "cg");
    same_as_host(bicgstab{.rtol = 1e-10, .max_iterations = 3000}, "bicgstab");
  });
}
