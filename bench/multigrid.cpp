// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid from nothing, set-up and solve, against CG with Jacobi, Eigen's CG with incomplete Cholesky factors, and those of CHOLMOD, PETSc's GAMG, hypre's
// BoomerAMG and AMGCL (of transport with ILU(0), else SPAI-0) that are found.      multigrid [repetitions [most unknowns [least]]]
// Every matrix is assembled, every residual recomputed here.
#include <cmath>
#include <functional>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/Sparse>

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
#include <amgcl/relaxation/ilu0.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/bicgstab.hpp>
#include <amgcl/solver/cg.hpp>
#define SLA_BENCH_AMGCL
#endif
#ifdef SLA_BENCH_CHOLMOD
#include <sla/adapter/suitesparse.hpp>
#endif
#ifdef SLA_BENCH_PETSC
#include "petsc.hpp"
#endif

namespace {
using namespace sla;
using suite::rotated, suite::shuffled;

/// Of the processor where there is one thread, else by the clock.
double ticks() {
  if (threads_in_use() > 1) return bench::now();
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

struct system_of {
  sparse_tensor<double> const& A;
  vector<double> const& b;
  bool symmetric;
  double rtol;
};
/// One run from nothing.
struct outcome {
  double setup = 0, total = 0;
  int iterations = 0;
  vector<double> x;
  double bytes = 0;  ///< of tensors at the peak, with A, b and x, per unknown; 0: not counted
};

template <class Method, class P>
outcome ours(system_of const& s, Method const& method, P const& p) {
  memory_peak_reset();
  double const start = ticks();
  auto const m = p.setup(s.A);
  double const between = ticks();
  auto [x, report] = try_solve(s.A, s.b, method, m);
  double const end = ticks();
  return {between - start, end - start, report.iterations(), std::move(x), double(memory_in_use().peak) / double(s.A.rows())};
}

outcome of_eigen(system_of const& s) {
  using Matrix = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;  // symmetric: of rows is of columns
  int const n = int(s.A.rows());
  Eigen::Map<Matrix const> const A(n, n, int(s.A.nnz()), s.A.pattern().row_ptr.data(), s.A.pattern().col.data(), s.A.values().data());
  Eigen::Map<Eigen::VectorXd const> const b(s.b.data(), n);
  double const start = ticks();
  Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Eigen::IncompleteCholesky<double, Eigen::Lower, Eigen::NaturalOrdering<int>>> solver(A);
  solver.setTolerance(s.rtol), solver.setMaxIterations(5000);
  double const between = ticks();
  vector<double> x(s.b.size());
  Eigen::Map<Eigen::VectorXd>(x.data(), n) = solver.solve(b);
  return {between - start, ticks() - start, int(solver.iterations()), std::move(x)};
}

#ifdef SLA_BENCH_CHOLMOD
outcome of_cholmod(system_of const& s) {
  double const start = ticks();
  auto const solver = prepare(s.A, cholmod{});
  double const between = ticks();
  auto [x, report] = solver.try_solve(s.b);
  return {between - start, ticks() - start, report.iterations(), std::move(x)};
}
#endif

#ifdef SLA_BENCH_PETSC
outcome of_petsc(system_of const& s, PCType what) {
  vector<double> x(s.b.size());
  auto const o = bench::petsc_multigrid(s.A, s.b, x, s.rtol, s.symmetric, what, ticks);
  return {o.setup, o.seconds, o.iterations, std::move(x)};
}
#endif

#ifdef SLA_BENCH_AMGCL
template <template <class, class> class Solver, template <class> class Smoother = amgcl::relaxation::spai0>
outcome of_amgcl(system_of const& s) {
  using Backend = amgcl::backend::builtin<double, int, int>;
  using Both = amgcl::make_solver<amgcl::amg<Backend, amgcl::coarsening::smoothed_aggregation, Smoother>, Solver<Backend, amgcl::solver::detail::default_inner_product>>;
  auto const range = [](auto const& values) { return amgcl::make_iterator_range(values.data(), values.data() + values.size()); };
  std::vector<double> x(std::size_t(s.A.rows()), 0.0), f(s.b.begin(), s.b.end());
  double const start = ticks();
  typename Both::params options;
  options.solver.tol = s.rtol, options.solver.maxiter = 200;
  Both const both(std::tuple(int(s.A.rows()), range(s.A.pattern().row_ptr), range(s.A.pattern().col), range(s.A.values())), options);
  double const between = ticks();
  auto const [iterations, error] = both(f, x);
  double const end = ticks();
  vector<double> y(s.b.size());
  std::copy(x.begin(), x.end(), y.begin());
  return {between - start, end - start, int(iterations), std::move(y)};
}
#endif

/// The columns of peers, in the order of their ways.
std::vector<std::string> const peers{"AMGCL", "hypre", "GAMG", "CHOLMOD", "our cg + jacobi", "Eigen, cg + IC"};

/// factors: of a plane, or of few points.
void compare(bench::table& out, std::string const& problem, sparse_tensor<double> const& A, bool symmetric, bool factors, double rtol, int repetitions) {
  auto const b = random<double>(A.rows(), 1);
  system_of const s{A, b, symmetric, rtol};
  std::vector<std::function<outcome()>> ways(1 + peers.size());  // ours and theirs; empty: not tried
  if (symmetric)
    ways[0] = [&] { return ours(s, cg{.rtol = rtol}, amg{}); };
  else
    ways[0] = [&] { return ours(s, bicgstab{.rtol = rtol}, amg{}); };
#ifdef SLA_BENCH_AMGCL
  if (symmetric)
    ways[1] = [&] { return of_amgcl<amgcl::solver::cg>(s); };
  else
    ways[1] = [&] { return of_amgcl<amgcl::solver::bicgstab, amgcl::relaxation::ilu0>(s); };
#endif
#ifdef SLA_BENCH_PETSC
  ways[2] = [&] { return of_petsc(s, PCHYPRE); };
  ways[3] = [&] { return of_petsc(s, PCGAMG); };
#endif
#ifdef SLA_BENCH_CHOLMOD
  if (symmetric && factors) ways[4] = [&] { return of_cholmod(s); };
#endif
  if (symmetric && A.rows() <= 200000) {
    ways[5] = [&] { return ours(s, cg{.rtol = rtol}, jacobi{}); };
    ways[6] = [&] { return of_eigen(s); };
  }
  bench::samples setup;
  std::vector<bench::samples> total(ways.size());
  std::vector<outcome> last(ways.size());
  for (int k = A.rows() > 200000 ? 0 : -1; k < repetitions; ++k)
    for (std::size_t w = 0; w < ways.size(); ++w) {
      if (ways[w]) last[w] = ways[w]();
      if (k >= 0 && ways[w]) total[w].add(last[w].total);
      if (k >= 0 && w == 0) setup.add(last[0].setup);
    }
  auto const residual = [&](outcome const& o) { return double(norm(b - A * o.x)) / double(norm(b)); };
  std::vector<std::string> row{problem, text(A.rows()), bench::scientific(rtol), text(last[0].iterations), bench::scientific(residual(last[0])), bench::spread(setup, 1, 1e3), bench::spread(total[0], 1, 1e3), text(index_t(last[0].bytes))};
  std::size_t best = 0;
  std::vector<std::string> ratios;
  for (std::size_t w = 1; w < ways.size(); ++w) {
    if (!ways[w]) {
      ratios.push_back("");
      continue;
    }
    bool const solves = residual(last[w]) <= 1.5 * rtol;
    ratios.push_back(text(bench::fixed((total[0] / total[w]).median(), 2), solves ? " (" : " (not in ", last[w].iterations, ")"));
    if (solves && w != 5 && (best == 0 || total[w].median() < total[best].median())) best = w;
  }
  row.push_back(best > 0 ? bench::spread(total[0] / total[best], 2) : "");
  row.insert(row.end(), ratios.begin(), ratios.end());
  out.row(row);
}
}  // namespace

int main(int argc, char** argv) {
  int const repetitions = int(bench::argument(argc, argv, 1, 5));
  double const most = double(bench::argument(argc, argv, 2, 1000000)), least = double(bench::argument(argc, argv, 3, 0));
  bench::heading("Multigrid and its peers");
  std::cout << threads_in_use() << " threads, b random with a fixed seed, x0 = 0. Shuffled: the rows of each window of 4096. Seconds" << (threads_in_use() == 1 ? " of the processor" : "")
            << "; the total is with the set-up.\nOf a peer: the median of our total to its total, and its iterations (\"not in\": its true residual is above 1.5 rtol). The best is the fastest of the others that "
               "solves it.\n\n";
  for (double unknowns : {1e4, 1e5, 1e6, 4e6}) {
    if (unknowns > most || unknowns < least) continue;
    std::vector<std::string> columns{"problem", "unknowns", "rtol", "iterations", "true residual", "set-up, ms", "total, ms", "bytes per unknown", "of the best"};
    columns.insert(columns.end(), peers.begin(), peers.end());
    bench::table out(columns);
    index_t const side = index_t(std::lround(std::sqrt(unknowns))), edge = index_t(std::lround(std::cbrt(unknowns)));
    bool const few = unknowns <= 2e4,  // their factors fill up in space
         factors = unknowns <= 2e5;
    int const runs = unknowns > 2e5 ? (std::min)(repetitions, 3) : repetitions;
    auto const both = [&](std::string const& problem, auto const& make, bool symmetric, bool factorised) {
      auto const A = make();  // all that it was made of is gone: bytes are counted
      for (double rtol : {1e-6, 1e-10})
        if (rtol == 1e-6 || unknowns <= 2e5) compare(out, problem, A, symmetric, factorised, rtol, runs);
    };
    both("Poisson, 5 points", [&] { return problems::poisson<double>({side, side}); }, true, factors);
    both("Poisson, 7 points", [&] { return problems::poisson<double>({edge, edge, edge}); }, true, few);
    both("Poisson, 5 points, shuffled", [&] { return shuffled(problems::poisson<double>({side, side})); }, true, factors);
    both("Poisson, 7 points, shuffled", [&] { return shuffled(problems::poisson<double>({edge, edge, edge})); }, true, few);
    both("checkerboard of 1 and 1e4", [&] { return problems::checkerboard({side, side}, 1e4, 16); }, true, factors);
    both("anisotropy 1e-3, turned by 30 degrees", [&] { return rotated(side, 1e-3); }, true, factors);
    both("transport, cell Peclet number 3", [&] { return problems::convection_diffusion({side, side}, 3.0); }, false, false);
    both("transport around the middle, diffusion 1e-3", [&] { return suite::recirculating(side, 1e-3); }, false, false);
  }
}
