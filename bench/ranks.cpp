// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CG on thread ranks of one thread each, against one rank: with Jacobi, which the memory bounds, and with ILU(0).      ranks [n [repetitions [most ranks]]]
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
}  // namespace

int main(int argc, char** argv) {
  index_t const n = bench::argument(argc, argv, 1, 2048);
  int const repetitions = int(bench::argument(argc, argv, 2, 5)), most = int(bench::argument(argc, argv, 3, 2));
  bench::heading("CG on thread ranks");
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
}
