// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Jacobi-CG on the five-point problem, time per iteration: one text over Csr and over Dia, against Eigen's
// ConjugateGradient, and as a fraction of the triad.      cg [points along an axis [iterations [repetitions [threads]]]]
#include <Eigen/IterativeLinearSolvers>

#include <sla/adapter/eigen.hpp>
#include <sla/exec/plan.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "triad.hpp"

namespace {
using namespace sla;

/// Bytes per unknown that the three passes of an iteration load and store.
template <class A, class M>
double bytes_per_unknown(A const& a, M const& m, vector<double> const& b) {
  vector<double> x = b, r = b, z = b, p = b, q = b;
  double const alpha = 1, beta = 1;
  index_t const bytes = bytes_moved(set(q, a * p), dot_of(p, q)) +
                        bytes_moved(set(r, r - alpha * q), set(z, m * r), dot_of(r, z), squared_norm_of(r)) +
                        bytes_moved(set(x, x + alpha * p), set(p, z + beta * p));
  return double(bytes) / double(b.size());
}

template <class A>
double relative_residual(A const& a, vector<double> const& b, vector<double> const& x) {
  return norm(b - a * x) / norm(b);
}
}  // namespace

int main(int argc, char** argv) {
  index_t const n = bench::argument(argc, argv, 1, 2048);
  int const iterations = int(bench::argument(argc, argv, 2, 30)), repetitions = int(bench::argument(argc, argv, 3, 5)), most_threads = int(bench::argument(argc, argv, 4, 2));

  bench::heading("Jacobi-CG, time per iteration");
  auto const A = problems::poisson<double>({n, n});
  auto const D = problems::poisson<double, Dia>({n, n});
  auto const b = ones<double>(n * n);
  cg const method{.rtol = 0, .watch = [=](std::vector<progress> const& seen) { return seen[0].iterations < iterations; }};  // one that fails looks for the reason in A
  auto const csr = prepare(A, method, jacobi{});
  auto const dia = prepare(D, method, jacobi{});
  auto const matrix = as_eigen(A);
  Eigen::ConjugateGradient<Eigen::SparseMatrix<double, Eigen::RowMajor, std::int32_t>, Eigen::Lower | Eigen::Upper> eigen;
  eigen.setMaxIterations(iterations).setTolerance(0);
  eigen.compute(matrix);

  double const csr_bytes = bytes_per_unknown(A, csr.preconditioner(), b), dia_bytes = bytes_per_unknown(D, dia.preconditioner(), b);
  std::cout << "2-D Poisson, " << n << " x " << n << ", five points, double; b = 1, x0 = 0; each solve is stopped after "
            << iterations << " iterations, and tells its true residual, recomputed in twice the precision; residuals are true 2-norms relative to b; times of one thread are processor time. Counted bytes per unknown and iteration: Csr "
            << csr_bytes << ", Dia " << dia_bytes << ". The matrix in Csr has " << bench::fixed(64e-6 * double(n * n), 0) << " MB.\n\n";

  bench::table out({"threads", "", "ms per iteration", "against Eigen", "target", "GB/s", "of triad", "iterations", "true residual"});
  bench::triad const triad;
  for (int threads = 1; threads <= most_threads; ++threads) {
    set_threads(threads);
    Eigen::setNbThreads(threads);
    vector<double> x_csr, x_dia, x_eigen(n * n);
    report r_csr, r_dia;
    auto const [t_triad, t_csr, t_dia, t_eigen] = bench::interleaved_on(
        threads, repetitions, triad,
        [&] {
          auto s = csr.try_solve(b);
          x_csr = std::move(s.x), r_csr = std::move(s.report);
        },
        [&] {
          auto s = dia.try_solve(b);
          x_dia = std::move(s.x), r_dia = std::move(s.report);
        },
        [&] { as_eigen(x_eigen) = eigen.solve(as_eigen(b)); });
    auto row = [&](std::string const& name, bench::samples const& t, double wanted, double bytes, long taken, double residual) {
      auto const faster = t_eigen / t;
      auto const speed = t.map([&](double s) { return bytes * double(n * n) * iterations / s; });
      auto const peak = t_triad.map([&](double s) { return triad.bytes() / s; });
      bool const ours = wanted > 0;
      out.row({text(threads), name, bench::spread(t, 2, 1e3 / iterations), ours ? bench::spread(faster, 2) : "1", ours ? bench::target(faster, wanted) : "",
               ours ? bench::fixed(1e-9 * speed.median(), 1) : "", ours ? bench::spread(speed / peak, 2) : "", text(taken), bench::scientific(residual)});
    };
    row("Csr", t_csr, threads == 1 ? 1.25 : 1.7, csr_bytes, r_csr.iterations(), r_csr.residual());
    row("Dia", t_dia, threads == 1 ? 1.7 : 2.5, dia_bytes, r_dia.iterations(), r_dia.residual());
    row("Eigen", t_eigen, 0, 0, long(eigen.iterations()), relative_residual(A, b, x_eigen));
    auto const peak = t_triad.map([&](double s) { return 1e-9 * triad.bytes() / s; });
    out.row({text(threads), "triad", "", "", "", bench::spread(peak, 1), "1", "", ""});
  }
}
