// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plain evaluation on the device: expressions, aliasing, reductions to numbers, and `fuse` without a space.
#include "device.cuh"

using namespace on_device;

namespace {
template <class T>
void plain_evaluation(double bound) {
  auto const A = problems::poisson<T>({70, 80});
  auto const x = random<T>(A.cols(), 1), y = random<T>(A.cols(), 2);
  auto const dA = up(A);
  auto dx = up(x), dy = up(y);
  vector<T> const z = 2.0 * (A * x) - y / 3.0 + A * (A * y);
  vector<T, device_memory> dz = 2.0 * (dA * dx) - dy / 3.0 + dA * (dA * dy);
  expect(distance(z, down(dz)) <= bound, "an expression");
  dz = dA * dz;  // aliasing
  vector<T> const Az = A * z;
  expect(distance(Az, down(dz)) <= bound, "x = A * x");
  vector<T> const AHx = adjoint(A) * x + transpose(A) * z;
  dz = adjoint(dA) * dx + transpose(dA) * up(z);  // by the list of the rows of the transpose
  expect(distance(AHx, down(dz)) <= bound, "products with the adjoint and the transpose");
  auto const host_dot = eval(dot(x, z));
  auto const device_dot = eval(dot(dx, up(z)));
  expect(std::abs(host_dot - device_dot) <= bound * double(norm(x)) * double(norm(z)), "dot");
  expect(std::abs(double(norm(z)) - double(norm(up(z)))) <= bound * double(norm(z)), "norm");
  expect(std::abs(eval(norm1(x)) - eval(norm1(dx))) <= bound * eval(norm1(x)), "norm1");
  expect(std::abs(eval(norm_inf(x)) - eval(norm_inf(dx))) <= 1e-6, "norm_inf");
  auto [s, t] = fuse(set(dy, dx + dx), sum_of(dy), squared_norm_of(dy));
  expect(std::abs(s - eval(sum(2.0 * x))) <= bound * eval(norm1(x)) && std::abs(t - 4 * eval(squared_norm(x))) <= 4 * bound * t, "fuse without a space");
  vector<T, device_memory> const none;
  expect(eval(squared_norm(none)) == 0 && eval(norm_inf(none)) == 0, "reductions without elements");
  vector<T> const e = exp(x) * sqrt(abs(x));
  expect(distance(e, down(vector<T, device_memory>(exp(dx) * sqrt(abs(dx))))) <= bound, "functions");
}
}  // namespace

int main() {
  return run([] {
    plain_evaluation<double>(1e-12);
    plain_evaluation<std::complex<float>>(1e-4);
  });
}
