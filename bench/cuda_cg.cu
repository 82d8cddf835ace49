// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Jacobi-CG and products on a GPU: time per iteration for Csr and Dia, several lags of the flag, right-hand sides and batches,
// as a fraction of the device's own triad; and whole solves of several sizes.
// cuda_cg [points along an axis [iterations [repetitions [points along an axis of a whole solve]...]]]
#include <sla/solve/krylov/cg.hpp>

#include <sla/adapter/cuda.cuh>
#include <sla/tensor.hpp>

#include "cuda_time.cuh"

namespace {
using namespace sla;

__global__ void empty_kernel() {}
/// Microseconds to launch it, of many launches in turn.
double launch_microseconds() {
  constexpr int launches = 20000;
  auto const t = bench::device_seconds(1, [] {
    for (int k = 0; k < launches; ++k) empty_kernel<<<1, 1, 0, cuda::current_stream()>>>();
  });
  return 1e6 * t.median() / launches;
}

/// Bytes per second of a = b + s c, counted as three accesses.
bench::samples triad(int repetitions) {
  index_t const n = index_t(1) << 27;
  vector<double, device_memory> a(Extents<dyn>{n}), b(Extents<dyn>{n}), c(Extents<dyn>{n});
  return bench::device_seconds(repetitions, [&] { fuse(set(a, b + 3.0 * c)); }).map([&](double s) { return 24.0 * double(n) / s; });
}

template <class A, class M, class V>
double bytes_per_iteration(A const& a, M const& m, V const& b) {
  V x = b, r = b, z = b, p = b, q = b;
  double const alpha = 1, beta = 1;
  return double(bytes_moved(set(q, a * p), dot_of(p, q)) + bytes_moved(set(r, r - alpha * q), set(z, m * r), dot_of(r, z), squared_norm_of(r)) +
                bytes_moved(set(x, x + alpha * p), set(p, z + beta * p)));
}

/// The rows of one table, with what all of them are measured by.
struct measurements {
  bench::table& out;
  int iterations, repetitions;
  bench::samples const& peak;

  void row(std::string const& what, std::string const& call, std::string const& lag, bench::samples const& t, double bytes,
           std::string const& taken = "", std::string const& residual = "") const {
    auto const speed = t.map([&](double s) { return bytes / s; });
    out.row({what, call, lag, bench::spread(t, 4, 1e3), bench::fixed(1e-9 * speed.median(), 0), bench::spread(speed / peak, 2), taken, residual});
  }
  template <class A, class V>
  void product(std::string const& what, A const& a, V const& x) const {
    auto y = x;
    row(what, "A * x", "", bench::device_seconds(repetitions, [&] { fuse(set(y, a * x)); }), double(bytes_moved(set(y, a * x))));
  }
  template <class A, class V>
  void solve(std::string const& what, A const& a, V const& b, std::initializer_list<int> lags) const {
    auto const prepared = prepare(a, cg{.rtol = 0, .max_iterations = iterations}, jacobi{});
    double const bytes = bytes_per_iteration(a, prepared.preconditioner(), b);
    for (int lag : lags) {
      report r;
      auto const t = bench::device_seconds(repetitions, [&] { r = prepared.try_solve(b, on([&](frame f) { return cuda::space(f, lag); })).report; });
      row(what, "cg + jacobi", text(lag), t.map([&](double s) { return s / iterations; }), bytes, text(r.iterations()), bench::scientific(r.residual()));
    }
  }
};

/// One system of n x n points: one right-hand side, and several.
template <class A>
void one_system(measurements const& measure, std::string const& format, A const& a) {
  auto const dA = to<device_memory>(a);
  auto const b = to<device_memory>(ones<double>(a.rows()));
  measure.product(format, dA, b);
  measure.solve(format, dA, b, {0, 1, 4, 16});
  for (index_t rhs : {4, 16}) {
    std::string const what = text(format, ", ", rhs, " right-hand sides");
    auto const B = to<device_memory>(ones<double, Extents<dyn, dyn>>({a.rows(), rhs}));
    measure.product(what, dA, B);
    if (rhs == 4) measure.solve(what, dA, B, {4});
  }
}

/// The unknowns of n x n points in systems of `points` x `points` on one pattern.
void batches(measurements const& measure, index_t n, index_t points) {
  index_t const items = (std::max)(index_t(1), n * n / (points * points));
  auto const A = to<device_memory>(to_batch(problems::poisson<double>({points, points}), items));
  auto const b = to<device_memory>(ones<double, Extents<dyn, dyn>>({items, points * points}));
  std::string const what = text("Csr, ", items, " systems of ", points, " x ", points);
  measure.product(what, A, b);
  measure.solve(what, A, b, {4});
}

/// Seconds of the whole call on the device with b = A 1 to 1e-6, beside the host's where the size allows: set-up, iterations, and the
/// report with its true residual.
template <class A>
void whole_solve(bench::table& out, std::string const& format, A const& a, int repetitions) {
  index_t const n = a.rows();
  auto const method = cg{.rtol = 1e-6, .max_iterations = 100000};
  auto const dA = to<device_memory>(a);
  vector<double, device_memory> const b = dA * to<device_memory>(ones<double>(n));
  report r;
  auto const t = bench::device_seconds(repetitions, [&] { r = try_solve(dA, b, method, jacobi{}).report; });
  double const stored = double(a.bytes()) + 2 * 8.0 * double(n) + double(r.bytes);
  out.row({format, text(n), bench::spread(t, 2, 1e3), text(r.iterations()), bench::scientific(r.residual()), bench::fixed(stored / double(n), 0)});
}

/// Points along an axis of the square grids that are solved: the larger ones once.
void solves(std::vector<index_t> const& sizes, int repetitions) {
  bench::table out({"format", "unknowns", "ms", "iterations", "true residual", "bytes per unknown"});
  for (index_t n : sizes) {
    int const times = n > 6000 ? 1 : repetitions;
    whole_solve(out, "Csr", problems::poisson<double>({n, n}), times);
    whole_solve(out, "Dia", problems::poisson<double, Dia>({n, n}), times);
  }
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
            << " iterations (with the true residual at its end). Triad of the device: " << bench::spread(peak, 0, 1e-9)
            << " GB/s. To launch an empty kernel takes " << bench::fixed(launch_microseconds(), 1) << " us.\n\n";
  {
    bench::table out({"format", "", "lag", "ms", "GB/s", "of triad", "iterations", "true residual"});
    measurements const measure{out, iterations, repetitions, peak};
    one_system(measure, "Csr", problems::poisson<double>({n, n}));
    one_system(measure, "Dia", problems::poisson<double, Dia>({n, n}));
    for (index_t points : {n / 4, index_t(64), index_t(16)}) batches(measure, n, points);
  }
  std::cout << "Whole calls of solve(A, b, cg{.rtol = 1e-6}, jacobi{}) on the device, b = A 1, x0 = 0; the bytes are the matrix, b, x and the solver's vectors:\n\n";
  std::vector<index_t> sizes{100, 316, 1000, 1414, 4000};
  if (argc > 4) sizes.clear();
  for (int k = 4; k < argc; ++k) sizes.push_back(bench::argument(argc, argv, k, 1000));
  solves(sizes, repetitions);
}
