// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every matrix of a folder: what the automatic choice picks, what that reaches, and Eigen's SparseLU and PETSc beside it.
//   real_matrices [folder of .mtx and .mtx.gz [real | complex: only those with such values]]
#include <algorithm>
#include <complex>
#include <filesystem>
#include <vector>

#include <Eigen/SparseLU>

#include <sla/adapter/eigen.hpp>
#include <sla/adapter/gzip.hpp>
#include <sla/solve.hpp>

#include "matrix_file.hpp"
#include "table.hpp"
#ifdef SLA_BENCH_PETSC
#include "petsc.hpp"
#endif

namespace {
using namespace sla;

/// Milliseconds (with the reason, if it did not converge) and true residual.
template <class T>
std::pair<std::string, std::string> of_petsc([[maybe_unused]] sparse_tensor<T> const& A, [[maybe_unused]] vector<T> const& b) {
#ifdef SLA_BENCH_PETSC
  if constexpr (std::same_as<T, PetscScalar>) {
    vector<T> x(A.cols());
    auto const peer = bench::petsc_defaults(A, b, x, 1e-10);
    if (!peer.set_up) return {"fails", ""};
    double const left = norm(b - A * x), all = norm(b);
    return {text(bench::fixed(1e3 * peer.seconds, 1), peer.converged ? "" : text(", gives up after ", peer.iterations)),
            left - left == 0 ? bench::scientific(left / all) : "not a number"};
  }
#endif
  return {};
}

template <class T>
void report_matrix(bench::table& out, std::string const& path) {
  auto const A = bench::read<T>(path);
  std::string name = std::filesystem::path(path).filename().string();
  name = name.substr(0, name.find(".mtx"));
  if (A.rows() != A.cols()) return out.row({name, text(A.rows(), " x ", A.cols()), text(A.nnz()), "", "not square", "", "", "", "", "", "", "", ""});
  vector<T> exact(A.cols());
  for (index_t i = 0; i < A.cols(); ++i) exact[i] = T(double(1 + i % 7));
  vector<T> const b = A * exact;
  std::string method, reason, iterations, residual, time, why;
  try {
    double const start = bench::now();
    auto const [x, report] = try_solve(A, b, automatic{.rtol = 1e-10});
    time = bench::fixed(1e3 * (bench::now() - start), 1);
    method = text(report.method, report.preconditioner.empty() ? "" : " + ", report.preconditioner);
    reason = to_string(report.reason()), iterations = text(report.iterations()), residual = bench::scientific(report.residual()), why = report.choice;
  } catch (error const& e) {
    reason = "refused", why = e.what();
  }
  Eigen::SparseMatrix<T> const E = as_eigen(A);
  Eigen::SparseLU<Eigen::SparseMatrix<T>> factors;
  vector<T> x(A.cols());
  double const seconds = bench::seconds([&] {
    factors.compute(E);
    if (factors.info() == Eigen::Success) as_eigen(x) = factors.solve(as_eigen(b));
  });
  std::string peer = "fails", peer_residual;
  if (factors.info() == Eigen::Success) {
    double const left = norm(b - A * x), all = norm(b);
    peer = bench::fixed(1e3 * seconds, 1), peer_residual = left - left == 0 ? bench::scientific(left / all) : "not a number";
  }
  auto const [petsc, petsc_residual] = of_petsc(A, b);
  out.row({name, text(A.rows()), text(A.nnz()), method, reason, iterations, residual, time, peer, peer_residual, petsc, petsc_residual, why});
}
}  // namespace

int main(int argc, char** argv) {
  bench::heading("Real matrices");
  std::cout << "solve(A, b) with b = A x, x_i = 1 + i mod 7, x0 = 0, relative tolerance 1e-10 in the 2-norm, true residuals; one run each, set-up and the "
               "look at the matrix included, on "
            << threads_in_use() << " threads. Eigen: SparseLU (COLAMD), analysis included, one thread. PETSc: its defaults, GMRES(30) with "
               "ILU(0) and the preconditioned residual to 1e-10, one process; where the benchmark found a PETSc with such scalars.\n\n";
  std::vector<std::string> paths;
  for (auto const& entry : std::filesystem::directory_iterator(argc > 1 ? argv[1] : SLA_BENCH_DATA))
    if (auto const path = entry.path().string(); path.ends_with(".mtx") || path.ends_with(".mtx.gz")) paths.push_back(path);
  std::sort(paths.begin(), paths.end());
  bench::table out({"matrix", "rows", "entries", "choice", "reason", "iterations", "true residual", "ms", "Eigen ms", "Eigen residual", "PETSc ms", "PETSc residual", "why"});
  std::string const kind = argc > 2 ? argv[2] : "";
  for (auto const& path : paths) {
    bool const complex = bench::has_complex_values(path);
    if (!kind.empty() && complex != (kind == "complex")) continue;
    complex ? report_matrix<std::complex<double>>(out, path) : report_matrix<double>(out, path);
  }
}
