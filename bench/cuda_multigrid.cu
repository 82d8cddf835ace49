// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid on a GPU: set-up, which is on the host, and the solve, whose cycles are on the device, beside CG with Jacobi there and
// multigrid on the host.      cuda_multigrid [repetitions [percent]]
// `percent` scales the points along an axis, for a first look.
#include <cmath>

#include <sla/solve/krylov/cg.hpp>

#include <sla/adapter/cuda.cuh>
#include <sla/tensor.hpp>

#include "cuda_time.cuh"

namespace {
using namespace sla;

/// b = A 1, x0 = 0. The residual is recomputed here, on the host.
struct problem {
  std::string name;
  sparse_tensor<double> A;
  sparse_tensor<double, Matrix, Csr<>, device_memory> dA = to<device_memory>(A);
  vector<double> b = A * ones<double>(A.rows());
  vector<double, device_memory> db = to<device_memory>(b);
};

template <class P>
void on_device(bench::table& out, problem const& of, std::string const& what, P const& p, double rtol, int repetitions) {
  cg const method{.rtol = rtol, .max_iterations = 100000};
  bench::samples setup;
  double before = 0;
  auto const prepared_now = [&] {
    before = bench::now();
    auto made = prepare(of.dA, method, p);
    cuda::synchronize();
    setup.add(bench::now() - before);
    return made;
  };
  (void)prepared_now();
  auto s = prepared_now();
  before = bench::now();
  s.update(of.dA);
  cuda::synchronize();
  double const update = bench::now() - before;
  std::optional<solution<vector<double, device_memory>>> last;
  auto const solve = bench::device_seconds(repetitions, [&] { last.emplace(s.try_solve(of.db)); });
  double const residual = norm(of.b - of.A * to<host_memory>(last->x)) / norm(of.b);
  out.row({of.name, text(of.A.rows()), bench::scientific(rtol), what, bench::spread(setup, 3), bench::fixed(update, 3), bench::spread(solve, 2, 1e3), text(last->report.iterations()),
           bench::scientific(residual)});
}
template <class P>
void on_host(bench::table& out, problem const& of, std::string const& what, P const& p, double rtol, int repetitions) {
  bench::samples setup, solve;
  double before = bench::now();
  auto const s = prepare(of.A, cg{.rtol = rtol}, p);
  setup.add(bench::now() - before);
  std::optional<solution<vector<double>>> last;
  for (int k = 0; k < repetitions; ++k) {
    before = bench::now();
    last.emplace(s.try_solve(of.b));
    solve.add(bench::now() - before);
  }
  double const residual = norm(of.b - of.A * last->x) / norm(of.b);
  out.row({of.name, text(of.A.rows()), bench::scientific(rtol), what, bench::spread(setup, 3), "", bench::spread(solve, 2, 1e3), text(last->report.iterations()), bench::scientific(residual)});
}
}  // namespace

int main(int argc, char** argv) {
  if (!cuda::available()) {
    std::cout << "no CUDA device can be used\n";
    return 77;
  }
  int const repetitions = int(bench::argument(argc, argv, 1, 5));
  double const percent = double(bench::argument(argc, argv, 2, 100));
  auto const points = [&](double n) { return index_t(n * percent / 100); };
  cudaDeviceProp device{};
  cuda::check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  bench::heading(text("Multigrid on ", device.name));
  std::cout << "solve(A, b, cg{}, amg{}), b = A 1, x0 = 0; set-up (of two runs) and the update with new values (of one) in seconds, on " << threads_in_use()
            << " threads of the host; solves in milliseconds. The levels of amg{} are grids; smoothed are those of a matrix that is no grid.\n\n";
  bench::table out({"problem", "unknowns", "rtol", "", "set-up, s", "update, s", "solve, ms", "iterations", "true residual"});
  auto const all = [&](problem const& of) {
    for (double rtol : {1e-6, 1e-10}) on_device(out, of, "amg{}", amg{}, rtol, repetitions);
    on_device(out, of, "amg{}, smoothed", amg{.coarsening = amg_coarsening::smoothed}, 1e-6, repetitions);
    on_device(out, of, "amg_in<float>{}, smoothed", amg_in<float>{.coarsening = amg_coarsening::smoothed}, 1e-6, repetitions);
    on_device(out, of, "jacobi{}", jacobi{}, 1e-6, 1);
    on_host(out, of, "amg{} on the host", amg{}, 1e-6, 2);
  };
  for (double n : {1000.0, 2000.0, 4000.0}) all({"2-D Poisson", problems::poisson<double>({points(n), points(n)})});
  for (double n : {100.0, 200.0}) all({"3-D Poisson", problems::poisson<double>({points(n), points(n), points(n)})});
}
