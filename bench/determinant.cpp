// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What determinants, their gradients and the entries of an inverse cost, in factorisations of the same matrix.
//   determinant [points along an axis of a square [repetitions]]
#include <cmath>

#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>

#include <sla/adapter/eigen.hpp>
#include <sla/determinant.hpp>

#include "table.hpp"

namespace {
using namespace sla;
using ByColumns = Eigen::SparseMatrix<double>;

template <class Solver, class Logarithm, class Factors>
void compare(bench::table& out, std::string const& name, sparse_tensor<double> const& A, int repetitions, Logarithm const& logarithm, Factors const& factors) {
  ByColumns const columns = as_eigen(A);
  bench::samples value, gradient, inverse, factored, by_eigen;
  double most = 0;
  for (int k = -1; k < repetitions; ++k) {
    auto one = [&](bench::samples& into, auto const& f) {
      double const t = bench::cpu_seconds(f);
      if (k >= 0) into.add(t);
    };
    auto const F = factors(A);
    one(factored, [&] { factors(A); });
    one(value, [&] { logarithm(A); });
    one(gradient, [&] {
      auto const g = std::get<1>(value_and_gradient(logarithm, A));
      most = std::max(most, std::abs(sum(multiply_elements(g, A)) / double(A.rows()) - 1));  // tr(A^-1 A)
    });
    one(inverse, [&] { selected_inverse(F); });
    one(by_eigen, [&] { Solver s(columns); });
  }
  auto const ratio = gradient / factored;
  out.row({name, bench::spread(factored, 0, 1e3), bench::spread(by_eigen, 0, 1e3), bench::spread(value, 0, 1e3), bench::spread(inverse, 0, 1e3), bench::spread(gradient, 0, 1e3), bench::spread(ratio, 2),
           text("<= 3", ratio.median() <= 3 ? ": met" : ": missed"), bench::scientific(most)});
}
}  // namespace

int main(int argc, char** argv) {
  index_t const n = bench::argument(argc, argv, 1, 128);
  int const repetitions = int(bench::argument(argc, argv, 2, 7));
  auto const cube = index_t(std::lround(std::cbrt(double(n * n))));
  bench::heading("Determinants");
  std::cout << "Value and gradient of logdet(A), or of slogdet(A).log_abs, beside the factorisation that lu(A) or cholesky(A) is, order and all, and Eigen's of the same kind; the inverse is "
               "selected_inverse of factors that are there. Time of the processor in the calling thread, of "
            << threads_in_use() << " in use.\n\n";
  auto const by_cholesky = [](auto const& a) { return logdet(a); };
  auto const by_lu = [](auto const& a) { return slogdet(a).log_abs; };
  auto const make_cholesky = [](auto const& a) { return cholesky(a); };
  auto const make_lu = [](auto const& a) { return lu(a); };
  using LLT = Eigen::SimplicialLLT<ByColumns>;
  using LU = Eigen::SparseLU<ByColumns>;
  {
    bench::table out({"problem", "factors, ms", "Eigen's, ms", "value, ms", "inverse, ms", "value and gradient, ms", "in factorisations", "target", "tr(A^-1 A) / n - 1"});
    compare<LLT>(out, text("logdet, 2-D Poisson, ", n, " x ", n), problems::poisson<double>({n, n}), repetitions, by_cholesky, make_cholesky);
    compare<LLT>(out, text("logdet, 3-D Poisson, ", cube, "^3"), problems::poisson<double>({cube, cube, cube}), repetitions, by_cholesky, make_cholesky);
    compare<LU>(out, text("slogdet, 2-D convection, ", n, " x ", n), problems::convection_diffusion<double>({n, n}, {8.0, -3.0}), repetitions, by_lu, make_lu);
  }
  std::cout << "\nThe same logarithm of the 2-D problem by stochastic_lanczos{.probes = 32}: ";
  auto const A = problems::poisson<double>({n, n});
  bench::samples estimated;
  for (int k = 0; k < repetitions; ++k) estimated.add(bench::cpu_seconds([&] { (void)logdet(A, stochastic_lanczos{.probes = 32, .seed = 1}); }));
  std::cout << logdet(A, stochastic_lanczos{.probes = 32, .seed = 1}) << ", exactly " << logdet(A) << ", in " << bench::spread(estimated, 0, 1e3) << " ms.\n";
}
