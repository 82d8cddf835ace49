// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bratu's problem on 128 x 128 points: Newton's method, what its parts take, the gradient, and an obstacle problem; against Newton's method
// written by hand with the factors of Eigen.      nonlinear [repetitions]
#include <Eigen/SparseCholesky>

#include <sla/adapter/eigen.hpp>
#include <sla/nonlinear.hpp>

#include "table.hpp"

int main(int argc, char** argv) {
  using namespace sla;
  int const repetitions = int(bench::argument(argc, argv, 1, 15));
  bench::heading("Nonlinear systems");
  auto const A = problems::poisson<double>({128, 128});
  auto const n = A.rows();
  double const h2 = 1.0 / (129.0 * 129.0);
  auto const bratu = [&](auto const& u, auto const& lambda) { return A * u - (h2 * lambda) * exp(u); };
  auto const start = zeros<double>(n);
  auto const report = nonlinear_solve(bratu, start, newton{.rtol = 1e-10}, 5.0).report;
  auto const obstacle = try_solve_bounded([&](auto const& u) { return A * u - 5.0 * h2; }, start, upper{0.2}, semismooth_newton{.rtol = 1e-9}).report;
  std::cout << "Bratu's problem, lambda = 5, " << n << " unknowns, u0 = 0, |F(u)| <= 1e-10 |F(u0)|, all set-up included: " << report.iterations() << " iterations, true residual "
            << bench::scientific(report.residual()) << ", " << report.derivatives << " derivatives of F in one direction, " << report.linear_iterations << " linear iterations by " << report.linear
            << ". By hand: " << "the same iterations, J = A - diag, its factors by Eigen's SimplicialLDLT, analysed once. The obstacle problem holds " << obstacle.bound_upper << " unknowns and takes "
            << obstacle.iterations() << " iterations.\n\n";

  double sink = 0;
  auto const u = nonlinear_solve(bratu, start, newton{}, 5.0).x;
  jacobian_plan const plan(bratu, u, 5.0);
  auto J = plan(bratu, u, 5.0);
  auto const by_hand = [&] {
    Eigen::SparseMatrix<double> const K = as_eigen(A);
    Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factors;
    factors.analyzePattern(K);
    Eigen::VectorXd v = Eigen::VectorXd::Zero(n), r = K * v - (h2 * 5.0) * v.array().exp().matrix();
    double const first = r.norm();
    while (r.norm() > 1e-10 * first) {
      Eigen::SparseMatrix<double> M = K;
      M.diagonal() -= (h2 * 5.0) * v.array().exp().matrix();
      factors.factorize(M);
      v -= factors.solve(r);
      r = K * v - (h2 * 5.0) * v.array().exp().matrix();
    }
    sink += v[0];
  };
  auto const [solved, pattern, values, gradient, bounded, theirs] = bench::interleaved(
      repetitions, [&] { sink += nonlinear_solve(bratu, start, newton{.rtol = 1e-10}, 5.0).x[0]; }, [&] { sink += jacobian_plan(bratu, u, 5.0).colors(); },
      [&] { plan.update(J, bratu, u, 5.0); },
      [&] {
        sink += std::get<1>(value_and_gradient([&](auto const& lambda) { return 1.0 * sum(nonlinear_solve(bratu, start, newton{.rtol = 1e-10}, lambda).x); }, 5.0));
      },
      [&] { sink += try_solve_bounded([&](auto const& v) { return A * v - 5.0 * h2; }, start, upper{0.2}, semismooth_newton{.rtol = 1e-9}).x[0]; }, by_hand);
  bench::table out({"", "ms", "target", "of Newton by hand"});
  out.row({"newton{}", bench::spread(solved, 2, 1e3), text("<= 200 ms", solved.median() <= 0.2 ? ": met" : ": missed"), bench::spread(solved / theirs, 2)});
  out.row({"its pattern and colours, once", bench::spread(pattern, 2, 1e3), "", ""});
  out.row({"a Jacobian", bench::spread(values, 2, 1e3), "", ""});
  out.row({"solution and gradient", bench::spread(gradient, 2, 1e3), "", bench::spread(gradient / theirs, 2)});
  out.row({"semismooth_newton{}", bench::spread(bounded, 2, 1e3), "", ""});
  out.row({"by hand with Eigen", bench::spread(theirs, 2, 1e3), "", ""});
  return sink == 0.5 ? 1 : 0;
}
