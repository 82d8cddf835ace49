// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What small problems pay beside their arithmetic: vectors of 64 numbers, Jacobi-CG on 64 unknowns, and a thousand such systems in
// one call or one by one, on one thread, against Eigen.      small [repetitions]
#include <Eigen/IterativeLinearSolvers>

#include <sla/adapter/eigen.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "table.hpp"

namespace {
using namespace sla;

/// What an optimiser may not look into.
void touch(void* p) { asm volatile("" : : "g"(p) : "memory"); }

/// The seconds of processor of two things in turn: what other programs take of a machine would be most of so short a time.
template <class Ours, class Theirs>
std::array<bench::samples, 2> in_turn(int repetitions, Ours const& ours, Theirs const& theirs) {
  std::array<bench::samples, 2> out;
  ours(), theirs();
  for (int k = 0; k < repetitions; ++k) {
    out[0].add(bench::cpu_seconds(ours));
    out[1].add(bench::cpu_seconds(theirs));
  }
  return out;
}
template <class F>
auto times(int count, F const& f) {
  return [=, &f] {
    for (int k = 0; k < count; ++k) f();
  };
}
} // namespace

int main(int argc, char** argv) {
  int const repetitions = int(bench::argument(argc, argv, 1, 15));
  constexpr index_t n = 64, systems = 1000;
  constexpr int often = 5000, iterations = 20;
  set_threads(1);
  Eigen::setNbThreads(1);

  bench::heading("Small problems");
  auto const A = problems::poisson<double>({8, 8});
  auto const b = random<double>(n, 1);
  auto x = ones<double>(n), y = x;
  auto const matrix = as_eigen(A);
  Eigen::ConjugateGradient<Eigen::SparseMatrix<double, Eigen::RowMajor, std::int32_t>, Eigen::Lower | Eigen::Upper> eigen;
  eigen.setTolerance(1e-10);
  eigen.compute(matrix);
  Eigen::VectorXd const u = as_eigen(b), v = u;
  Eigen::VectorXd w = u;

  // Each system has a diagonal of its own.
  std::vector<index_t> row, col;
  std::vector<double> one, all;
  for (index_t i = 0; i < n; ++i)
    A.pattern().view().for_row(i, [&](index_t slot, index_t j) { row.push_back(i), col.push_back(j), one.push_back(A.values()[slot]); });
  for (index_t k = 0; k < systems; ++k)
    for (std::size_t e = 0; e < one.size(); ++e) all.push_back(one[e] + (row[e] == col[e] ? 1e-3 * double(k) : 0));
  using Batched = Shape<Batch<dyn>, dyn, dyn, Block<>>;
  auto const batch = prepare(from_triplets<double>(Batched({systems}, n, n), row, col, all), cg{.rtol = 1e-30, .max_iterations = iterations}, jacobi{});
  auto const B = random<double, Extents<dyn, dyn>>({systems, n}, 2);
  auto const single = prepare(A, cg{.rtol = 1e-10}, jacobi{});

  std::cout << "Five points on a grid of 8 x 8, double, one thread, seconds of processor. CG solves to 1e-10, and the batch makes " << iterations
            << " iterations; their times are those of a solve, its report and its recomputed residual, for each iteration of a system.\n\n";
  bench::table out({"", "time", "target", "Eigen", "of Eigen"});
  auto const row_of = [&](char const* name, bench::samples const& ours, bench::samples const& theirs, double scale, char const* unit, double most) {
    bench::samples const scaled = ours.map([&](double t) { return t * scale; });
    out.row({name, text(bench::spread(scaled, 2), unit), most > 0 ? text("<= ", most, unit, scaled.median() <= most ? ": met" : ": missed") : "", bench::spread(theirs, 2, scale), bench::spread(ours / theirs, 2)});
  };
  double sum = 0;
  {
    auto const [ours, theirs] = in_turn(
        repetitions, times(often, [&] { sum += dot(b, x), touch(&sum); }), times(often, [&] { sum += u.dot(v), touch(&sum); }));
    row_of("dot(x, y)", ours, theirs, 1e9 / often, " ns", 40);
  }
  {
    auto const [ours, theirs] = in_turn(
        repetitions, times(often, [&] { y = 0.5 * x + 0.5 * y, touch(y.data()); }), times(often, [&] { w = 0.5 * v + 0.5 * w, touch(w.data()); }));
    row_of("y = 0.5 * x + 0.5 * y", ours, theirs, 1e9 / often, " ns", 0);
  }
  {
    auto const [ours, theirs] = in_turn(
        repetitions, times(often, [&] { y = A * x, touch(y.data()); }), times(often, [&] { w.noalias() = matrix * v, touch(w.data()); }));
    row_of("y = A * x", ours, theirs, 1e9 / often, " ns", 0);
  }
  auto const solve_single = [&] { sum += single.try_solve(b).x[0], touch(&sum); };
  auto const solve_eigen = [&] { w = eigen.solve(u), touch(w.data()); };
  auto const [alone, theirs] = in_turn(repetitions, times(200, solve_single), times(200, solve_eigen));
  double const ours_taken = single.try_solve(b).report.iterations(), theirs_taken = double(eigen.iterations());
  auto const of_eigen = theirs.map([&](double t) { return t / (200 * theirs_taken); });
  row_of("Jacobi-CG, an iteration", alone.map([&](double t) { return t / (200 * ours_taken); }), of_eigen, 1e6, " us", 0.6);
  auto const [together, again] = in_turn(repetitions, [&] { sum += batch.try_solve(B).x[0], touch(&sum); }, times(200, solve_eigen));
  row_of("the same of 1000 systems in one call", together.map([&](double t) { return t / (double(systems) * iterations); }),
         again.map([&](double t) { return t / (200 * theirs_taken); }), 1e6, " us", 0);
}
