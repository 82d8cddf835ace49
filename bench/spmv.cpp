// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// y = A x on the five-point problem, in Csr and in Dia, against Eigen's row-major product.      spmv [largest [repetitions]]
#include <sla/adapter/eigen.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/product.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "triad.hpp"

int main(int argc, char** argv) {
  using namespace sla;
  index_t const largest = bench::argument(argc, argv, 1, 2048);
  int const repetitions = int(bench::argument(argc, argv, 2, 7));
  bench::heading("y = A x");
  std::cout << "2-D Poisson, n x n, five points, double; x = 1. Each run repeats the product for about 50 million rows. Bytes: values, "
               "columns, row pointers (Csr) or diagonals (Dia), x and y once. Difference: largest |y - y of Eigen|.\n\n";
  bench::table out({"threads", "rows", "", "us", "against Eigen", "target", "GB/s", "of triad", "difference"});
  bench::triad const triad;
  for (int threads : {1, 2}) {
    set_threads(threads);
    Eigen::setNbThreads(threads);
    for (index_t n : {100, 316, 1000, 2048}) {
      if (n > largest) continue;
      index_t const rows = n * n;
      int const calls = int((std::max)(index_t(4), 50'000'000 / rows));
      auto const A = problems::poisson<double>({n, n});
      auto const D = problems::poisson<double, Dia>({n, n});
      auto const E = as_eigen(A);
      auto const x = ones<double>(rows);
      vector<double> y_csr(rows), y_dia(rows), y_eigen(rows);
      auto product = as_eigen(y_eigen);
      auto repeated = [&](auto const& f) {
        return [&f, calls] {
          for (int k = 0; k < calls; ++k) f();
        };
      };
      auto csr = [&] { y_csr = A * x; };
      auto dia = [&] { y_dia = D * x; };
      auto eigen = [&] { product.noalias() = E * as_eigen(x); };
      auto const [t_triad, t_csr, t_dia, t_eigen] = bench::interleaved(repetitions, triad, repeated(csr), repeated(dia), repeated(eigen));
      auto row = [&](std::string const& name, bench::samples const& t, double wanted, double bytes, vector<double> const& y) {
        auto const faster = t_eigen / t;
        auto const speed = t.map([&](double s) { return bytes * calls / s; });
        auto const peak = t_triad.map([&](double s) { return triad.bytes() / s; });
        out.row({text(threads), text(rows), name, bench::spread(t, 1, 1e6 / calls), bench::spread(faster, 2), wanted > 0 ? bench::target(faster, wanted) : "",
                 bench::fixed(1e-9 * speed.median(), 1), bench::spread(speed / peak, 2), bench::scientific(norm_inf(y - y_eigen))});
      };
      double const size = double(rows), csr_bytes = 12 * double(A.nnz()) + 4 * size + 16 * size;
      row("Csr", t_csr, 1.0, csr_bytes, y_csr);
      row("Dia", t_dia, n == 2048 ? 1.5 : 0, 56 * size, y_dia);
      row("Eigen", t_eigen, 0, csr_bytes, y_eigen);
    }
  }
}
