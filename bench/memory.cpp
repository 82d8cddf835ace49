// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The most bytes per unknown that tensors hold during a CG solve of the five-point problem; A, b and x included.
//                                                                                 memory [points along an axis]
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "table.hpp"

namespace {
using namespace sla;

template <class F>
void measure(bench::table& out, index_t n, char const* format) {
  auto const before = memory_in_use().now;
  auto const A = problems::poisson<double, F>({n, n});
  auto const b = ones<double>(n * n);
  double const operands = double(memory_in_use().now - before);
  memory_peak_reset();
  auto const [x, report] = try_solve(A, b, cg{.rtol = 1e-6}, jacobi{});
  double const unknowns = double(n * n), peak = double(memory_in_use().peak - before) / unknowns;
  out.row({text(n * n), format, bench::fixed(operands / unknowns, 1), bench::fixed(peak, 1), peak <= 124 ? "<= 124: met" : "<= 124: missed",
           text(report.iterations()), bench::scientific(report.residual())});
}
}  // namespace

int main(int argc, char** argv) {
  bench::heading("Memory of a CG solve");
  std::cout << "2-D Poisson, five points, double; b = 1, relative tolerance 1e-6 in the 2-norm, Jacobi.\n\n";
  bench::table out({"unknowns", "", "A and b, bytes per unknown", "peak, bytes per unknown", "target", "iterations", "true residual"});
  index_t const n = bench::argument(argc, argv, 1, 1024);
  measure<Csr<>>(out, n, "Csr");
  measure<Dia>(out, n, "Dia");
}
