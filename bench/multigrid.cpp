// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid from nothing, set-up and solve, against CG with Jacobi and, where its headers are found, AMGCL.      multigrid [repetitions [percent]]
// Every matrix is assembled, every residual recomputed here. `percent` scales the points along an axis, for a look at a busy machine.
#include <cmath>

#include <sla/solve.hpp>

#include "suites/grid_problems.hpp"
#include "table.hpp"

#if __has_include(<amgcl/amg.hpp>)
#define AMGCL_NO_BOOST
#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/bicgstab.hpp>
#include <amgcl/solver/cg.hpp>
#define SLA_BENCH_AMGCL
#endif

namespace {
using namespace sla;
using suite::rotated, suite::shuffled;

/// What one way took, in all runs, and what it left in the last one.
struct way {
  std::string name;
  bench::samples setup, solve, total;
  int iterations = 0;
  double residual = 0;
  double bytes = 0;  ///< of tensors at the peak, with A, b and x, per unknown; 0: not counted
};

template <class Method, class P>
void ours(way& w, bool counts, sparse_tensor<double> const& A, vector<double> const& b, Method const& method, P const& p) {
  memory_peak_reset();
  double const start = bench::now();
  auto const s = try_solve(A, b, method, p);
  double const seconds = bench::now() - start;
  w.name = text(Method::name, " + ", s.report.preconditioner), w.bytes = double(memory_in_use().peak) / double(A.rows());
  w.iterations = s.report.iterations(), w.residual = norm(b - A * s.x) / norm(b);
  if (counts) w.setup.add(s.report.seconds_setup), w.solve.add(seconds - s.report.seconds_setup), w.total.add(seconds);
}

#ifdef SLA_BENCH_AMGCL
template <template <class, class> class Solver>
void of_amgcl(way& w, bool counts, sparse_tensor<double> const& A, vector<double> const& b, double rtol) {
  using Backend = amgcl::backend::builtin<double, int, int>;
  using Both = amgcl::make_solver<amgcl::amg<Backend, amgcl::coarsening::smoothed_aggregation, amgcl::relaxation::spai0>, Solver<Backend, amgcl::solver::detail::default_inner_product>>;
  auto const range = [](auto const& values) { return amgcl::make_iterator_range(values.data(), values.data() + values.size()); };
  std::vector<double> x(std::size_t(A.rows()), 0.0), f(b.begin(), b.end());
  double const start = bench::now();
  typename Both::params options;
  options.solver.tol = rtol;
  Both const both(std::tuple(int(A.rows()), range(A.pattern().row_ptr), range(A.pattern().col), range(A.values())), options);
  double const between = bench::now();
  auto const [iterations, error] = both(f, x);
  double const end = bench::now();
  vector<double> y(b.size());
  std::copy(x.begin(), x.end(), y.begin());
  w.name = "AMGCL", w.iterations = int(iterations), w.residual = norm(b - A * y) / norm(b);
  if (counts) w.setup.add(between - start), w.solve.add(end - between), w.total.add(end - start);
}
#endif

void compare(bench::table& out, std::string const& problem, sparse_tensor<double> const& A, bool symmetric, double rtol, int repetitions) {
  auto const b = random<double>(A.rows(), 1);
  std::vector<way> ways(3);
  for (int k = -1; k < repetitions; ++k)
    if (bool const counts = k >= 0; symmetric) {
      ours(ways[0], counts, A, b, cg{.rtol = rtol}, amg{});
      ours(ways[1], counts, A, b, cg{.rtol = rtol}, jacobi{});
#ifdef SLA_BENCH_AMGCL
      of_amgcl<amgcl::solver::cg>(ways[2], counts, A, b, rtol);
#endif
    } else {
      ours(ways[0], counts, A, b, bicgstab{.rtol = rtol}, amg{.cycle = amg_cycle::W, .sweeps = 2});
      ours(ways[1], counts, A, b, bicgstab{.rtol = rtol}, jacobi{});
#ifdef SLA_BENCH_AMGCL
      of_amgcl<amgcl::solver::bicgstab>(ways[2], counts, A, b, rtol);
#endif
    }
  for (way const& w : ways)
    if (w.total.size() > 0)
      out.row({problem, text(A.rows()), bench::scientific(rtol), w.name, bench::spread(w.setup, 3), bench::spread(w.solve, 3), bench::spread(w.total, 3),
               bench::spread(w.total / ways[0].total, 2), text(w.iterations), bench::scientific(w.residual),
               w.bytes > 0 ? text(index_t(w.bytes)) : ""});
}
}  // namespace

int main(int argc, char** argv) {
  int const repetitions = int(bench::argument(argc, argv, 1, 5));
  double const percent = double(bench::argument(argc, argv, 2, 100));
  auto const points = [&](double n) { return index_t(n * percent / 100); };
  bench::heading("Multigrid");
  std::cout << threads_in_use() << " threads, b random with a fixed seed, x0 = 0. Shuffled: the rows of each window of 4096. Seconds; the ratio is that of a total to multigrid's.\n\n";
  bench::table out({"problem", "unknowns", "rtol", "", "set-up", "solve", "total", "ratio", "iterations", "true residual", "bytes per unknown"});
  for (double rtol : {1e-6, 1e-10}) {
    compare(out, "Poisson, 5 points", problems::poisson<double>({points(1000), points(1000)}), true, rtol, repetitions);
    compare(out, "Poisson, 7 points", problems::poisson<double>({points(100), points(100), points(100)}), true, rtol, repetitions);
    compare(out, "Poisson, 5 points, shuffled", shuffled(problems::poisson<double>({points(1000), points(1000)})), true, rtol, repetitions);
    compare(out, "Poisson, 7 points, shuffled", shuffled(problems::poisson<double>({points(100), points(100), points(100)})), true, rtol, repetitions);
    compare(out, "checkerboard of 1 and 1e4", problems::checkerboard({points(1000), points(1000)}, 1e4, 16), true, rtol, repetitions);
    compare(out, "anisotropy 1e-3", problems::anisotropic({points(1000), points(1000)}, 1e-3), true, rtol, repetitions);
    compare(out, "anisotropy 1e-3, turned by 30 degrees", rotated(points(1000), 1e-3), true, rtol, repetitions);
    compare(out, "transport, cell Peclet number 3", problems::convection_diffusion({points(1000), points(1000)}, 3.0), false, rtol, repetitions);
  }
}
