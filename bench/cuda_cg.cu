// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Jacobi-CG and products on a GPU: time per iteration for Csr and Dia and several lags of the flag, as a fraction of the
// device's own triad; and solves to a tolerance beside the host's.      cuda_cg [points along an axis [iterations [repetitions]]]
#include <sla/solve/krylov/cg.hpp>

#include <sla/adapter/cuda.cuh>
#include <sla/tensor.hpp>

#include "table.hpp"

namespace {
using namespace sla;

/// Seconds of f on the device, once without counting, then `repetitions` times.
template <class F>
bench::samples device_seconds(int repetitions, F const& f) {
  cudaEvent_t start{}, stop{};
  cuda::check(cudaEventCreate(&start), "cudaEventCreate");
  cuda::check(cudaEventCreate(&stop), "cudaEventCreate");
  bench::samples out;
  for (int k = -1; k < repetitions; ++k) {
    float milliseconds = 0;
    cuda::check(cudaEventRecord(start, cuda::current_stream()), "cudaEventRecord");
    f();
    cuda::check(cudaEventRecord(stop, cuda::current_stream()), "cudaEventRecord");
    cuda::check(cudaEventSynchronize(stop), "cudaEventSynchronize");
    cuda::check(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    if (k >= 0) out.add(1e-3 * milliseconds);
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return out;
}

/// Bytes per second of a = b + s c, counted as three accesses.
bench::samples triad(int repetitions) {
  index_t const n = index_t(1) << 27;
  vector<double, device_memory> a(Extents<dyn>{n}), b(Extents<dyn>{n}), c(Extents<dyn>{n});
  return device_seconds(repetitions, [&] { fuse(set(a, b + 3.0 * c)); }).map([&](double s) { return 24.0 * double(n) / s; });
}

template <class A, class M, class V>
double bytes_per_iteration(A const& a, M const& m, V const& b) {
  V x = b, r = b, z = b, p = b, q = b;
  double const alpha = 1, beta = 1;
  return double(bytes_moved(set(q, a * p), dot(p, q)) + bytes_moved(set(r, r - alpha * q), set(z, m * r), dot(r, z), squared_norm(r)) +
                bytes_moved(set(x, x + alpha * p), set(p, z + beta * p)));
}

template <class A>
void rows(bench::table& out, char const* format, A const& a, int iterations, int repetitions, bench::samples const& peak) {
  auto const dA = to<device_memory>(a);
  auto const db = to<device_memory>(ones<double>(a.rows()));
  auto cells = [&](std::string const& what, std::string const& lag, bench::samples const& t, double bytes, std::string const& taken, std::string const& residual) {
    auto const speed = t.map([&](double s) { return bytes / s; });
    out.row({format, what, lag, bench::spread(t, 4, 1e3), bench::fixed(1e-9 * speed.median(), 0), bench::spread(speed / peak, 2), taken, residual});
  };
  auto y = db;
  cells("A * x", "", device_seconds(repetitions, [&] { fuse(set(y, dA * db)); }), double(bytes_moved(set(y, dA * db))), "", "");
  auto const prepared = prepare(dA, cg{.rtol = 0, .max_iterations = iterations}, jacobi{});
  double const bytes = bytes_per_iteration(dA, prepared.preconditioner(), db);
  for (int lag : {0, 1, 4, 16}) {
    report r;
    auto const t = device_seconds(repetitions, [&] { r = prepared.try_solve(db, on([&](frame f) { return cuda::space(f, lag); })).report; });
    cells("cg + jacobi", text(lag), t.map([&](double s) { return s / iterations; }), bytes, text(r.iterations()), bench::scientific(r.residual()));
  }
}

void solves(index_t n) {
  auto const A = problems::poisson<double>({n, n});
  vector<double> const b = A * ones<double>(n * n);
  auto const dA = to<device_memory>(A);
  auto const db = to<device_memory>(b);
  bench::table out({"", "seconds", "iterations", "true residual", "bytes"});
  auto row = [&](char const* where, report const& r) {
    out.row({where, bench::fixed(r.seconds_solve, 3), text(r.iterations()), bench::scientific(r.residual()), text(r.bytes)});
  };
  row("host", try_solve(A, b, cg{.rtol = 1e-8}, jacobi{}).report);
  (void)try_solve(dA, db, cg{.rtol = 1e-8}, jacobi{});
  row("device", try_solve(dA, db, cg{.rtol = 1e-8}, jacobi{}).report);
}
}  // namespace

int main(int argc, char** argv) {
  if (!cuda::available()) {
    std::cout << "no CUDA device can be used\n";
    return 77;
  }
  index_t const n = bench::argument(argc, argv, 1, 4096);
  int const iterations = int(bench::argument(argc, argv, 2, 200)), repetitions = int(bench::argument(argc, argv, 3, 5));
  cudaDeviceProp device{};
  cuda::check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  bench::heading(text("Jacobi-CG on ", device.name));
  auto const peak = triad(repetitions);
  std::cout << "2-D Poisson, " << n << " x " << n << ", five points, double; b = 1, x0 = 0; tolerance 0, so that each solve makes " << iterations
            << " iterations (with the true residual at its end). Triad of the device: " << bench::spread(peak, 0, 1e-9) << " GB/s.\n\n";
  {
    bench::table out({"format", "", "lag", "ms", "GB/s", "of triad", "iterations", "true residual"});
    rows(out, "Csr", problems::poisson<double>({n, n}), iterations, repetitions, peak);
    rows(out, "Dia", problems::poisson<double, Dia>({n, n}), iterations, repetitions, peak);
  }
  std::cout << "Solves of 1000 x 1000 points to 1e-8, b = A 1:\n\n";
  solves(1000);
}
