// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Multigrid from nothing, set-up and solve, against CG with Jacobi, Eigen's CG with incomplete Cholesky factors, and those of CHOLMOD, PETSc's GAMG, hypre's
// BoomerAMG and AMGCL (of transport with ILU(0), else SPAI-0) that are found.      multigrid [repetitions [most unknowns [least [the end of problems' names [peer...]]]]]
// Every matrix is assembled, every residual recomputed here.
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <functional>
#include <type_traits>

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
#include <amgcl/make_block_solver.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/ilu0.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/bicgstab.hpp>
#include <amgcl/solver/cg.hpp>
#include <amgcl/value_type/static_matrix.hpp>
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
  int unknowns;  ///< of a point, whose rows stand one after the other
};
/// One run from nothing.
struct outcome {
  double setup = 0, total = 0;
  int iterations = 0;
  vector<double> x;
  double bytes = 0;  ///< of tensors at the peak, with A, b and x, per unknown; 0: not counted
};

template <class Matrix, class Vector, class Method, class P>
outcome ours(Matrix const& A, Vector const& b, Method const& method, P const& p) {
  double const unknowns = double(b.size());
  double const others = double(memory_in_use().now) - double(A.bytes()) - double(b.values().bytes());  // solutions of other ways
  memory_peak_reset();
  double const start = ticks();
  auto const m = p.setup(A);
  double const between = ticks();
  auto [x, report] = try_solve(A, b, method, m);
  double const end = ticks();
  vector<double> flat(b.size());
  std::copy(x.begin(), x.end(), flat.begin());
  return {between - start, end - start, report.iterations(), std::move(flat), (double(memory_in_use().peak) - others) / unknowns};
}
/// The seconds of a set-up, of a first `update` of it, and of a second.
template <class Matrix, class P>
std::array<double, 3> set_up_and_updates(Matrix const& A, Matrix const& twice, P const& p) {
  double const start = ticks();
  auto m = p.setup(A);
  double const first = ticks();
  m.update(twice);
  double const second = ticks();
  m.update(A);
  return {first - start, second - first, ticks() - second};
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
  auto const o = bench::petsc_multigrid(s.A, s.b, x, s.rtol, s.symmetric, what, ticks, s.unknowns);
  return {o.setup, o.seconds, o.iterations, std::move(x)};
}
#endif

#ifdef SLA_BENCH_AMGCL
/// Value: a number, or a block of them, which AMGCL cuts out of the same rows.
template <template <class, class> class Solver, template <class> class Smoother = amgcl::relaxation::spai0, class Value = double>
outcome of_amgcl(system_of const& s) {
  using Backend = amgcl::backend::builtin<Value, int, int>;
  using Preconditioner = amgcl::amg<Backend, amgcl::coarsening::smoothed_aggregation, Smoother>;
  using Method = Solver<Backend, amgcl::solver::detail::default_inner_product>;
  using Both = std::conditional_t<std::same_as<Value, double>, amgcl::make_solver<Preconditioner, Method>, amgcl::make_block_solver<Preconditioner, Method>>;
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

/// What is compared: problems by the end of their names, and peers; none: all.
struct wanted {
  std::string problem;
  std::vector<std::string> peers;

  bool peer(std::string const& name) const {
    return peers.empty() || std::find(peers.begin(), peers.end(), name) != peers.end();
  }
};

/// A by our multigrid and by peers, which take the same matrix in rows. factors: of a plane, or of few points.
template <class Matrix, class Vector, class P>
void compare(bench::table& out, wanted const& what, std::string const& problem, Matrix const& A, sparse_tensor<double> const& rows, Vector const& right, P const& p, bool symmetric, bool factors, double rtol, int repetitions) {
  index_t const n = rows.rows();
  vector<double> b(n);
  std::copy(right.begin(), right.end(), b.begin());
  system_of const s{rows, b, symmetric, rtol, int(Matrix::shape_type::block_rows)};
  std::vector<std::function<outcome()>> ways(1 + peers.size());  // ours and theirs; empty: not tried
  if (symmetric)
    ways[0] = [&] { return ours(A, right, cg{.rtol = rtol}, p); };
  else
    ways[0] = [&] { return ours(A, right, bicgstab{.rtol = rtol}, p); };
#ifdef SLA_BENCH_AMGCL
  if (s.unknowns == 3)
    ways[1] = [&] { return of_amgcl<amgcl::solver::cg, amgcl::relaxation::spai0, amgcl::static_matrix<double, 3, 3>>(s); };
  else if (symmetric)
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
  if (symmetric && n <= 200000) {
    ways[5] = [&] { return ours(A, right, cg{.rtol = rtol}, jacobi{}); };
    ways[6] = [&] { return of_eigen(s); };
  }
  for (std::size_t w = 1; w < ways.size(); ++w)
    if (!what.peer(peers[w - 1])) ways[w] = nullptr;
  bench::samples setup;
  std::vector<bench::samples> total(ways.size());
  std::vector<outcome> last(ways.size());
  for (int k = n > 200000 ? 0 : -1; k < repetitions; ++k)
    for (std::size_t w = 0; w < ways.size(); ++w) {
      if (ways[w]) last[w] = ways[w]();
      if (k >= 0 && ways[w]) total[w].add(last[w].total);
      if (k >= 0 && w == 0) setup.add(last[0].setup);
    }
  auto const residual = [&](outcome const& o) { return double(norm(b - rows * o.x)) / double(norm(b)); };
  std::vector<std::string> row{problem, text(n), bench::scientific(rtol), text(last[0].iterations), bench::scientific(residual(last[0])), bench::spread(setup, 1, 1e3), bench::spread(total[0], 1, 1e3), text(index_t(last[0].bytes))};
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

/// A row of what `update` takes, to new values on the same pattern.
template <class Matrix, class P>
void updates(bench::table& out, std::string const& problem, Matrix const& A, P const& p, int repetitions) {
  Matrix const twice = 2.0 * A;
  bench::samples setup, first, later;
  for (int k = A.rows() > 200000 ? 0 : -1; k < repetitions; ++k) {
    auto const t = set_up_and_updates(A, twice, p);
    if (k >= 0) setup.add(t[0]), first.add(t[1]), later.add(t[2]);
  }
  out.row({problem, text(A.rows() * Matrix::shape_type::block_rows), bench::spread(setup, 1, 1e3), bench::spread(first, 1, 1e3), bench::spread(later, 1, 1e3), bench::spread(first / setup, 2), bench::spread(later / setup, 2)});
}
}  // namespace

int main(int argc, char** argv) {
  int const repetitions = int(bench::argument(argc, argv, 1, 5));
  double const most = double(bench::argument(argc, argv, 2, 1000000)), least = double(bench::argument(argc, argv, 3, 0));
  bench::heading("Multigrid and its peers");
  std::cout << threads_in_use() << " threads, b random with a fixed seed, x0 = 0. Shuffled: the rows of each window of 4096. Seconds" << (threads_in_use() == 1 ? " of the processor" : "")
            << "; the total is with the set-up.\nOf a peer: the median of our total to its total, and its iterations (\"not in\": its true residual is above 1.5 rtol). The best is the fastest of the others that "
               "solves it.\n\n";
  wanted what{argc > 4 ? argv[4] : "", {}};
  for (int k = 5; k < argc; ++k) what.peers.push_back(argv[k]);
  bool const updating = what.peers == std::vector<std::string>{"update"};
  for (double unknowns : {1e4, 1e5, 3e5, 1e6, 4e6, 8e6, 16e6}) {
    if (unknowns > most || unknowns < least) continue;
    std::vector<std::string> columns{"problem", "unknowns", "rtol", "iterations", "true residual", "set-up, ms", "total, ms", "bytes per unknown", "of the best"};
    columns.insert(columns.end(), peers.begin(), peers.end());
    if (updating) columns = {"problem", "unknowns", "set-up, ms", "first `update`, ms", "later, ms", "first, of the set-up", "later, of the set-up"};
    bench::table out(columns);
    index_t const side = index_t(std::lround(std::sqrt(unknowns))), edge = index_t(std::lround(std::cbrt(unknowns)));
    bool const few = unknowns <= 2e4,  // their factors fill up in space
         factors = unknowns <= 2e5;
    int const runs = unknowns > 2e5 ? (std::min)(repetitions, 3) : repetitions;
    auto const wanted_here = [&](std::string const& problem) { return problem.ends_with(what.problem); };
    auto const both_by = [&](std::string const& problem, auto const& make, auto const& p, bool symmetric, bool factorised) {
      if (!wanted_here(problem)) return;
      auto const A = make();  // all that it was made of is gone: bytes are counted
      if (updating) return updates(out, problem, A, p, runs);
      for (double rtol : {1e-6, 1e-10})
        if (rtol == 1e-6 || unknowns <= 2e5) compare(out, what, problem, A, A, random<double>(A.rows(), 1), p, symmetric, factorised, rtol, runs);
    };
    auto const both = [&](std::string const& problem, auto const& make, bool symmetric, bool factorised) { both_by(problem, make, amg{}, symmetric, factorised); };
    bool const plane = unknowns != 3e5 && unknowns != 8e6, space = plane ? unknowns < 4e6 : unknowns == 8e6, all = plane && space;
    if (plane) both("Poisson, 5 points", [&] { return problems::poisson<double>({side, side}); }, true, factors);
    if (space) both("Poisson, 7 points", [&] { return problems::poisson<double>({edge, edge, edge}); }, true, few);
    if (plane) both("Poisson, 5 points, shuffled", [&] { return shuffled(problems::poisson<double>({side, side})); }, true, factors);
    if (space) both("Poisson, 7 points, shuffled", [&] { return shuffled(problems::poisson<double>({edge, edge, edge})); }, true, few);
    if (unknowns == 3e5 && !what.problem.empty() && wanted_here("elasticity, blocks of 3 x 3")) {  // where it is named: peers take minutes
      auto const K = problems::elasticity({46, 46, 46});
      if (updating)
        updates(out, "elasticity, blocks of 3 x 3", K, amg{}, runs);
      else
        compare(out, what, "elasticity, blocks of 3 x 3", K, sparse_tensor<double>(unblocked(K)), random<double, Extents<dyn, 3>>({K.rows(), 3}, 1), amg{}, true, false, 1e-6, runs);
    }
    if (!all) continue;
    both("checkerboard of 1 and 1e4", [&] { return problems::checkerboard({side, side}, 1e4, 16); }, true, factors);
    both("checkerboard of 1 and 1e4, shuffled", [&] { return shuffled(problems::checkerboard({side, side}, 1e4, 16)); }, true, factors);
    both("checkerboard of squares of 3 points, 1 and 1e4", [&] { return problems::checkerboard({side, side}, 1e4, side / 3); }, true, factors);
    both("squares of 3 points of 10^u, u in 0 .. 4", [&] { return suite::cells(side, 3, 4); }, true, factors);
    both("points of 10^u, u in 0 .. 4", [&] { return suite::cells(side, 1, 4); }, true, factors);
    both("checkerboard of 1 and 1e8", [&] { return problems::checkerboard({side, side}, 1e8, 16); }, true, factors);
    both("anisotropy 1e-3, turned by 30 degrees", [&] { return rotated(side, 1e-3); }, true, factors);
    both("transport, cell Peclet number 3", [&] { return problems::convection_diffusion({side, side}, 3.0); }, false, false);
    both("transport around the middle, diffusion 1e-3", [&] { return suite::recirculating(side, 1e-3); }, false, false);
    if (!updating) continue;
    both_by("Poisson, 7 points, smoothed", [&] { return problems::poisson<double>({edge, edge, edge}); }, amg{.coarsening = amg_coarsening::smoothed}, true, few);
    both_by("points of 10^u, classical", [&] { return suite::cells(side, 1, 4); }, amg{.coarsening = amg_coarsening::classical}, true, factors);
  }
}
