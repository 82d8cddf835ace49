// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CG on thread ranks of one thread each, against one rank: with Jacobi, which the memory bounds, and with ILU(0); then multigrid to 1e-6, set-up apart, of so
// many unknowns; n = 0: that alone;
// and what ranks send by the engine `fake`.      ranks [n [repetitions [most ranks [unknowns]]]]
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
/// What one rank in the middle of so many, of a million rows each, sends and keeps, by the engine `fake`: nothing is computed.
void paper_table() {
  std::cout << "\nOn paper, by the engine `fake`: a rank in the middle, a million rows per rank, strips. What it sends in an iteration of CG with Jacobi and in a cycle of amg, whose set-up "
               "needs the other ranks: its layouts and messages are those that it would make.\n\n";
  bench::table out({"", "ranks", "CG: messages", "KiB", "reductions", "amg: levels", "on all ranks, on fewer, on one", "messages", "KiB", "most of any rank", "reductions", "MiB of matrix, vectors, grids", "KiB of owners"});
  for (bool square : {false, true})
    for (int ranks : {8, 512, 8192}) {
      fake world(ranks, ranks / 2);
      mesh<axis<"rows">> m(world);
      index_t const nx = square ? index_t(std::lround(std::sqrt(1e6 * ranks))) : 1000, nz = square ? nx : 1000 * ranks;
      auto const D = problems::poisson<double>(m, {nx, nz});
      auto const& halo = *D.handle()->halo;
      using slabs = detail::slab_levels<float, double>;
      auto const layouts = slabs::layouts_for({D.handle()->rows.get(), detail::grid_shape(nx, 1, nz, false), nx}, amg{}.gathered);
      index_t messages = 0, numbers = 0, most = 0, on_all = 0, on_one = 0;
      double grids = 0;
      for (int r : {0, ranks / 2}) {
        fake one(ranks, r);
        mesh<axis<"rows">> of_rank(one);
        any_communicator& c = of_rank.world();
        messages = numbers = on_all = on_one = 0, grids = 0;
        auto const count = [&](detail::range_messages const& sent, index_t size) {
          messages += index_t(sent.sends.size());
          for (auto const& piece : sent.sends) numbers += piece.range.count() * size;
        };
        count(detail::messages_around(c, layouts[0]), 1);
        for (std::size_t l = 0; l < layouts.size(); ++l) {
          auto const& here = layouts[l];
          on_all += here.active() == ranks, on_one += here.active() == 1;
          grids += 4 * double(here.held(r).count() * here.shape.slab()) * (here.shape.pairs + 2 + 8 / 4.0 + 2);
          if (l == 0) continue;
          count(detail::messages_down(c, layouts[l - 1], here), here.shape.slab()), count(detail::messages_up(c, layouts[l - 1], here), here.shape.slab());
        }
        most = (std::max)(most, messages);
      }
      double const matrix = 12.0 * double(D.local().nnz()) + 4.0 * double(D.local().rows()), vectors = 6 * 8.0 * double(D.local().rows());
      out.row({text(nx, " x ", nz), text(ranks), text(halo.receives().size()), bench::fixed(8 * double(halo.ghosts()) / 1024, 1), "2", text(layouts.size()),
               text(on_all, ", ", index_t(layouts.size()) - on_all - on_one, ", ", on_one), text(messages), bench::fixed(4 * double(numbers) / 1024, 1), text(most), "1",
               text(bench::fixed(matrix / 1048576, 0), ", ", bench::fixed(vectors / 1048576, 0), ", ", bench::fixed(grids / 1048576, 0)), bench::fixed(8 * (ranks + 1) / 1024.0, 1)});
    }
}
}  // namespace

int main(int argc, char** argv) {
  index_t const n = bench::argument(argc, argv, 1, 2048);
  int const repetitions = int(bench::argument(argc, argv, 2, 5)), most = int(bench::argument(argc, argv, 3, 2));
  index_t const unknowns = bench::argument(argc, argv, 4, 1000000);
  bench::heading("CG on thread ranks");
  if (n == 0) return multigrid_table(unknowns, repetitions, most), paper_table(), 0;
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
  paper_table();
}
