// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Jacobi-CG on thread ranks of one thread each, against one rank.      ranks [n [repetitions [most ranks]]]
#include <sla/dist.hpp>
#include <sla/tensor/problems.hpp>

#include "triad.hpp"

namespace {
using namespace sla;
constexpr int iterations = 20;
constexpr double bytes_per_unknown = 160;  // Csr, Jacobi, per iteration

/// Seconds per iteration, the slowest rank's.
double per_iteration(int ranks, sparse_tensor<double> const& A, vector<double> const& b, std::string& what) {
  auto const times = threads::run(ranks, [&](auto& world) {
    mesh<axis<"rows">> m(world);
    auto D = distribute<SparseShard<0>>(A, m, strips{});  // each rank allocates and first touches its rows
    auto db = distribute(b, D.row_layout());
    auto const s = prepare(D, cg{.rtol = 1e-30, .max_iterations = iterations}, jacobi{});
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
  bench::heading("Jacobi-CG on thread ranks");
  std::cout << "2-D Poisson, " << n << " x " << n << ", five points, Csr, double; b = A * random; " << iterations
            << " iterations after a first call, the true residual included. One thread per rank, rows in strips. The "
               "triad on as many threads, in the same turns, shows what the memory lets two ranks gain; bytes as bench/cg counts them.\n\n";
  auto const A = problems::poisson<double>({n, n});
  vector<double> const b = A * random<double>({A.cols()}, 1);
  bench::table out({"ranks", "ms per iteration", "against one rank", "target", "triad against one thread", "of triad", "each rank sends per iteration"});
  bench::triad const triad;
  std::vector<bench::samples> seconds(std::size_t(most) + 1), triads(std::size_t(most) + 1);
  std::vector<std::string> sent(std::size_t(most) + 1);
  for (int k = 0; k < repetitions; ++k)
    for (int ranks = 1; ranks <= most; ranks *= 2) {
      seconds[std::size_t(ranks)].add(per_iteration(ranks, A, b, sent[std::size_t(ranks)]));
      set_threads(ranks);
      triads[std::size_t(ranks)].add(bench::seconds(triad));
    }
  for (int ranks = 1; ranks <= most; ranks *= 2) {
    auto const& t = seconds[std::size_t(ranks)];
    auto const faster = seconds[1] / t;
    double const swept = bytes_per_unknown * double(A.rows()) / triad.bytes();  // by one iteration, in triads
    auto const share = (triads[std::size_t(ranks)] / t).map([&](double of) { return swept * of; });
    out.row({text(ranks), bench::spread(t, 2, 1e3), bench::spread(faster, 2), ranks == 2 ? bench::target(faster, 1.8) : "",
             bench::spread(triads[1] / triads[std::size_t(ranks)], 2), bench::spread(share, 2), sent[std::size_t(ranks)]});
  }
}
