// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CG on thread ranks of one thread each, against one rank: with Jacobi, which the memory bounds, and with ILU(0); then multigrid to 1e-6, set-up apart, of so
// many unknowns; n = 0: that alone.      ranks [n [repetitions [most ranks [unknowns]]]]
#include <cmath>

#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "triad.hpp"

namespace {
using namespace sla;
constexpr int iterations = 20;
constexpr double bytes_per_unknown = 160;  // Csr, Jacobi, per iteration

/// Seconds per iteration, the slowest rank's.
template <class Preconditioner>
double per_iteration(Preconditioner const& preconditioner, int ranks, sparse_tensor<double> const& A, vector<double> const& b, std::string& what) {
  auto const times = threads::run(ranks, [&](auto& world) {
    mesh<axis<"rows">> m(world);
    auto D = distribute<SparseShard<0>>(A, m, strips{});  // each rank allocates and first touches its rows
    auto db = distribute(b, D.row_layout());
    auto const s = prepare(D, cg{.rtol = 1e-30, .max_iterations = iterations}, preconditioner);
    s.try_solve(db);
    world.barrier();
    sla::report r;
    double const t = bench::seconds([&] { r = s.try_solve(db).report; });
    return std::pair{t / iterations, text(bench::fixed(r.sent.reductions, 1), " reductions, ", bench::fixed(r.sent.halos, 1), " halos, ",
                                          bench::fixed(r.sent.bytes / 1024, 1), " KiB")};
  });
  double slowest = 0;
  for (auto const& [t, words] : times) {
    slowest = (std::max)(slowest, t);
    what = words;
  }
  return slowest;
}

/// `cg{.rtol = 1e-6}, amg{}`: iterations, and the slowest rank's seconds, set-up apart.
struct multigrid_run {
  int iterations = 0;
  double setup = 0, solve = 0;
  std::string levels;
};
multigrid_run multigrid_on(int ranks, sparse_tensor<double> const& A, vector<double> const& b) {
  multigrid_run out;
  for (auto const& one : threads::run(ranks, [&](auto& world) {
         mesh<axis<"rows">> m(world);
         auto const D = distribute<SparseShard<0>>(A, m, strips{});
         auto const db = distribute(b, D.row_layout());
         world.barrier();
         auto const report = prepare(D, cg{.rtol = 1e-6}, amg{}).try_solve(db).report;
         return multigrid_run{report.iterations(), report.seconds_setup, report.seconds_solve, report.preconditioner};
       })) {
    out = {one.iterations, (std::max)(out.setup, one.setup), (std::max)(out.solve, one.solve), one.levels};
  }
  return out;
}
void multigrid_table(index_t unknowns, int repetitions, int most) {
  index_t const side = index_t(std::lround(std::sqrt(double(unknowns)))), edge = index_t(std::lround(std::cbrt(double(unknowns))));
  std::pair<std::string, sparse_tensor<double>> const problems[] = {{text("Poisson, ", side, " x ", side), problems::poisson<double>({side, side})},
                                                                    {text("Poisson, ", edge, "^3"), problems::poisson<double>({edge, edge, edge})},
                                                                    {text("checkerboard of 16 x 16, 1 and 1e4, ", side, " x ", side), problems::checkerboard<double>({side, side}, 1e4, 16)}};
  std::cout << "\nMultigrid across ranks: cg{.rtol = 1e-6}, amg{}; b random. The levels of one rank are those of one rank's amg.\n\n";
  bench::table out({"", "ranks", "iterations", "set-up, s", "solve, s", "set-up against one rank", "solve against one rank", "levels"});
  for (auto const& [name, A] : problems) {
    vector<double> const b = random<double>({A.rows()}, 1);
    std::vector<bench::samples> setup(std::size_t(most) + 1), solve(setup.size());
    std::vector<multigrid_run> last(setup.size());
    for (int k = 0; k < repetitions; ++k)
      for (int ranks = 1; ranks <= most; ranks *= 2) {
        auto const r = std::size_t(ranks);
        last[r] = multigrid_on(ranks, A, b);
        setup[r].add(last[r].setup), solve[r].add(last[r].solve);
      }
    for (int ranks = 1; ranks <= most; ranks *= 2) {
      auto const r = std::size_t(ranks);
      out.row({name, text(ranks), text(last[r].iterations), bench::spread(setup[r], 2), bench::spread(solve[r], 2), bench::spread(setup[1] / setup[r], 2), bench::spread(solve[1] / solve[r], 2),
               last[r].levels});
    }
  }
}
}  // namespace

int main(int argc, char** argv) {
  index_t const n = bench::argument(argc, argv, 1, 2048);
  int const repetitions = int(bench::argument(argc, argv, 2, 5)), most = int(bench::argument(argc, argv, 3, 2));
  index_t const unknowns = bench::argument(argc, argv, 4, 1000000);
  bench::heading("CG on thread ranks");
  if (n == 0) return multigrid_table(unknowns, repetitions, most), 0;
  std::cout << "2-D Poisson, " << n << " x " << n << ", five points, Csr, double; b = A * random; " << iterations
            << " iterations after a first call, the true residual included. One thread per rank, rows in strips. The "
               "triad on as many threads, in the same turns, shows what the memory lets two ranks gain; bytes as bench/cg counts them.\n\n";
  auto const A = problems::poisson<double>({n, n});
  vector<double> const b = A * random<double>({A.cols()}, 1);
  bench::table out({"", "ranks", "ms per iteration", "against one rank", "target", "triad against one thread", "of triad", "each rank sends per iteration"});
  bench::triad const triad;
  struct row {
    bench::samples jacobi, ilu0, triad;
    std::string jacobi_sent, ilu0_sent;
  };
  std::vector<row> rows(std::size_t(most) + 1);
  for (int k = 0; k < repetitions; ++k)
    for (int ranks = 1; ranks <= most; ranks *= 2) {
      auto& r = rows[std::size_t(ranks)];
      r.jacobi.add(per_iteration(jacobi{}, ranks, A, b, r.jacobi_sent));
      r.ilu0.add(per_iteration(ilu0{}, ranks, A, b, r.ilu0_sent));
      set_threads(ranks);
      r.triad.add(bench::seconds(triad));
    }
  double const swept = bytes_per_unknown * double(A.rows()) / triad.bytes();  // by one iteration with Jacobi, in triads
  for (int ranks = 1; ranks <= most; ranks *= 2) {
    auto const& r = rows[std::size_t(ranks)];
    auto line = [&](char const* name, bench::samples const& one, bench::samples const& t, std::string const& share, std::string const& sent) {
      out.row({name, text(ranks), bench::spread(t, 2, 1e3), bench::spread(one / t, 2), ranks == 2 ? bench::target(one / t, 1.8) : "",
               bench::spread(rows[1].triad / r.triad, 2), share, sent});
    };
    line("jacobi", rows[1].jacobi, r.jacobi, bench::spread((r.triad / r.jacobi).map([&](double of) { return swept * of; }), 2), r.jacobi_sent);
    line("ilu0 of each rank's block", rows[1].ilu0, r.ilu0, "", r.ilu0_sent);
  }
  multigrid_table(unknowns, (std::min)(repetitions, 3), 4);
}
