// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conjugate gradients on MPI ranks of one thread each: the host without MPI, one rank, all ranks, and PETSc and hypre on as many, in turn. With Jacobi what
// so many iterations more take, which leaves out how a solve begins and ends; with multigrid a solve to 1e-6, set-up apart. Then assemblies, of so many entries.
//                mpirun -n 2 ranks_mpi [unknowns of the plane [of space [repetitions [iterations [entries]]]]]
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <thread>

#include <sla/adapter/mpi.hpp>
#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#ifdef SLA_BENCH_PETSC
#include "petsc_ranks.hpp"
#endif
#include "table.hpp"

namespace {
using namespace sla;
using Rows = mesh<axis<"rows">>;

struct outcome {
  double setup = 0, iteration = 0, wall = 0;  ///< of an iteration: seconds of the processor, and of the clock
  int iterations = 0;
  std::string sent;
};
constexpr int first_iterations = 10;
/// CG that is stopped after so many iterations, which is no failure, whose reason it would look for in A. Peers are told the limit, one more.
cg stopped_after(int iterations) {
  return {.rtol = 1e-30, .max_iterations = iterations + 1, .watch = [=](std::vector<progress> const& seen) { return seen[0].iterations < iterations; }};
}
/// A run of `iterations` beside one of the first ones; with iterations = 0, a solve to 1e-6.
outcome per_iteration(int iterations, auto const& solved) {
  outcome out = solved(iterations > 0 ? stopped_after(first_iterations + iterations) : cg{.rtol = 1e-6});
  if (iterations > 0) {
    outcome const first = solved(stopped_after(first_iterations));
    out.iteration -= first.iteration, out.wall -= first.wall, out.iterations -= first.iterations;
  }
  out.iteration /= (std::max)(1, out.iterations), out.wall /= (std::max)(1, out.iterations);
  return out;
}
/// Of this rank: prepared(method), and its second solve.
template <class Prepared, class B>
outcome timed(Prepared const& prepared, B const& b, int iterations) {
  return per_iteration(iterations, [&](cg const& method) {
    outcome out;
    double const start = bench::now();
    auto const s = prepared(method);
    out.setup = bench::now() - start;
    s.try_solve(b);
    sla::report r;
    out.wall = bench::seconds([&] { out.iteration = bench::cpu_seconds([&] { r = s.try_solve(b).report; }); });
    out.iterations = r.iterations();
    out.sent = text(bench::fixed(r.sent.reductions, 1), " reductions, ", bench::fixed(r.sent.halos, 1), " halos, ", bench::fixed(r.sent.bytes / 1024, 1), " KiB");
    return out;
  });
}
template <std::size_t N, class P>
outcome on_host(std::array<index_t, N> const& extents, int iterations, P const& p) {
  auto const A = [&] {
    if constexpr (N == 2)
      return problems::poisson<double>({extents[0], extents[1]});
    else
      return problems::poisson<double>({extents[0], extents[1], extents[2]});
  }();
  vector<double> const b = A * random<double>({A.cols()}, 1);
  return timed([&](cg const& method) { return prepare(A, method, p); }, b, iterations);
}
template <std::size_t N, class P>
outcome on_ranks(mpi::world& world, std::array<index_t, N> const& extents, int iterations, P const& p) {
  Rows m(world);
  auto const D = [&] {
    if constexpr (N == 2)
      return problems::poisson<double>(m, {extents[0], extents[1]});
    else
      return problems::poisson<double>(m, {extents[0], extents[1], extents[2]});
  }();
  auto const x = generate(D.col_layout(), [](index_t i) { return std::sin(double(i) * double(i)); });
  auto const b = eval(D * x);
  auto out = timed([&](cg const& method) { return prepare(D, method, p); }, b, iterations);
  double slowest[] = {out.setup, out.wall, out.iteration};
  all_reduce(m.world(), std::span<double>(slowest), monoid::maximum);
  out.setup = slowest[0], out.wall = slowest[1], out.iteration = slowest[2];
  return out;
}
/// f() on the first rank, while the others sleep.
template <class F>
outcome alone(F const& f) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  outcome const out = rank == 0 ? f() : outcome();
  MPI_Request over;
  MPI_Ibarrier(MPI_COMM_WORLD, &over);
  for (int done = 0; !done; MPI_Test(&over, &done, MPI_STATUS_IGNORE)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return out;
}

template <std::size_t N, class P>
void compare(std::optional<bench::table>& out, mpi::world& all, mpi::world& self, std::string const& name, std::array<index_t, N> const& extents, int iterations, P const& p, int repetitions,
             [[maybe_unused]] std::vector<std::string> const& peers) {
  std::vector<std::string> names{"host", "one rank of MPI", text(all.size(), " ranks")};
  names.insert(names.end(), peers.begin(), peers.end());
  std::vector<bench::samples> setup(names.size()), iteration(names.size()), wall(names.size());
  std::vector<outcome> last(names.size());
  for (int k = 0; k < repetitions; ++k)
    for (std::size_t n = 0; n < names.size(); ++n) {
      outcome& now = last[n];
      if (n == 0) now = alone([&] { return on_host(extents, iterations, p); });
      if (n == 1) now = alone([&] { return on_ranks(self, extents, iterations, p); });
      if (n == 2) now = on_ranks(all, extents, iterations, p);
#ifdef SLA_BENCH_PETSC
      if (n > 2) {
        now = per_iteration(iterations, [&](cg const& method) {
          auto const peer = bench::petsc_on_ranks(extents[0], N == 2 ? 1 : extents[1], extents[N - 1], names[n], method.rtol, method.max_iterations);
          return outcome{peer.setup, peer.solve, peer.wall, peer.iterations, ""};
        });
      }
#endif
      setup[n].add(now.setup), iteration[n].add(now.iteration), wall[n].add(now.wall);
    }
  if (all.rank() > 0) return;
  for (std::size_t n = 0; n < names.size(); ++n)
    out->row({name, names[n], text(last[n].iterations), bench::spread(iteration[n], 2, 1e3), bench::spread(iteration[2] / iteration[n], 2), bench::spread(wall[n], 2, 1e3), bench::spread(setup[n], 3), last[n].sent});
}

/// Rows of five entries, given by the ranks that own them, by these but for one in a hundred, or by any rank in any order.
void assemblies(mpi::world& all, index_t entries, int repetitions) {
  std::optional<bench::table> out;
  if (all.rank() == 0) {
    bench::heading("Assembly on MPI ranks");
    std::cout << entries << " triplets, of indices of 8 bytes and double, in " << entries / 5 << " rows, on " << all.size() << " ranks of one thread; the slowest rank.\n\n";
    out.emplace(std::vector<std::string>{"rows of the triplets", "s of the processor: assemble", "other values by a plan", "s of the clock: assemble", "other values by a plan"});
  }
  Rows m(all);
  index_t const n = entries / 5, mine = entries / all.size(), first = n * all.rank() / all.size(), rows = n * (all.rank() + 1) / all.size() - first;
  for (std::string const& name : {std::string("the giver's"), std::string("of others one in a hundred"), std::string("anybody's, in any order")}) {
    std::mt19937_64 draw(std::uint64_t(all.rank() + 1));
    std::vector<index_t> i(static_cast<std::size_t>(mine)), j(i.size());
    for (index_t k = 0; k < mine; ++k) {
      bool const anybody = name[0] == 'a', others = name[0] == 'o' && draw() % 100 == 0;
      index_t const row = anybody || others ? index_t(draw() % std::uint64_t(n)) : first + k / 5 % rows;
      i[std::size_t(k)] = row;
      j[std::size_t(k)] = anybody ? index_t(draw() % std::uint64_t(n)) : (std::min)(row + k % 5, n - 1);
    }
    std::vector<double> const v(i.size(), 1.0);
    auto const plan = plan_assembly<SparseShard<0>>(m, n, n, i, j);
    auto D = plan(v);
    bench::samples times[4];
    for (int k = 0; k <= repetitions; ++k) {
      double took[4];
      m.world().barrier();
      took[2] = bench::seconds([&] { took[0] = bench::cpu_seconds([&] { assemble<SparseShard<0>>(m, n, n, i, j, v); }); });
      m.world().barrier();
      took[3] = bench::seconds([&] { took[1] = bench::cpu_seconds([&] { plan.update(D, v); }); });
      all_reduce(m.world(), std::span<double>(took), monoid::maximum);
      for (int a = 0; a < 4 && k > 0; ++a) times[a].add(took[a]);
    }
    if (out) out->row({name, bench::spread(times[0], 3), bench::spread(times[1], 3), bench::spread(times[2], 3), bench::spread(times[3], 3)});
  }
}
}  // namespace

int main(int argc, char** argv) {
  mpi::environment environment(argc, argv);
  index_t const plane = bench::argument(argc, argv, 1, 4000000), space = bench::argument(argc, argv, 2, 1000000);
  int const repetitions = int(bench::argument(argc, argv, 3, 5)), iterations = int(bench::argument(argc, argv, 4, 20));
  set_threads(1);
  auto all = environment.world();
  mpi::world self(MPI_COMM_SELF);
  index_t const side = index_t(std::lround(std::sqrt(double(plane)))), edge = index_t(std::lround(std::cbrt(double(space))));
  if (all.rank() == 0) {
    bench::heading("CG on MPI ranks");
    std::cout << "The slowest rank, one thread each; the host and one rank run while the other ranks sleep. Set-up apart, by the clock; b = A x. A rank that waits in MPI works.\n\n";
  }
  std::vector<std::string> krylov, multigrid;
#ifdef SLA_BENCH_PETSC
  krylov = {"PETSc, cg + jacobi"}, multigrid = {"PETSc, cg + gamg", "hypre, cg + boomeramg"};
#endif
  std::optional<bench::table> out;
  if (all.rank() == 0) out.emplace(std::vector<std::string>{"", "", "iterations", "ms of the processor per iteration", "all ranks / it", "ms of the clock", "set-up, s", "each rank sends per iteration"});
  auto const both = [&](std::string const& name, auto const& extents) {
    compare(out, all, self, text(name, ", jacobi"), extents, iterations, jacobi{}, repetitions, krylov);
    compare(out, all, self, text(name, ", amg"), extents, 0, amg{}, repetitions, multigrid);
  };
  both(text(side, " x ", side), std::array{side, side});
  both(text(edge, "^3"), std::array{edge, edge, edge});
  out.reset();
  assemblies(all, bench::argument(argc, argv, 5, 7000000), repetitions);
}
