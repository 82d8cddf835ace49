// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dense inverse of the coarsest level of multigrid, against what Eigen has for it: its sparse factors, which direct solvers compile in any
// case, and its dense ones.      dense_inverse [repetitions]
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" // of GCC 12 in its own headers of AVX-512
#endif
#include <limits>

#include <Eigen/Dense>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>

#include <sla/solve/precond/amg/coarsest.hpp>

#include "table.hpp"

namespace {
using Dense = Eigen::MatrixXd;
using Sparse = Eigen::SparseMatrix<double>;

/// The Laplacian of a complete graph with random weights; all rows sum to `shift`, so that it is singular where that is 0, as with Neumann conditions.
Dense laplacian(Eigen::Index n, double shift) {
  std::srand(1);
  Dense A = -(Dense::Random(n, n).array() + 2.0).matrix();
  A = (A + A.transpose()).eval();
  A.diagonal().setZero();
  A.diagonal() = -A.rowwise().sum();
  A.diagonal().array() += shift;
  return A;
}
Dense ours(Dense const& A) {
  std::vector<double> a(A.data(), A.data() + A.size());
  sla::detail::invert_regular_part(a, sla::index_t(A.rows()));
  return Eigen::Map<Dense>(a.data(), A.rows(), A.cols());
}
template <class Solver, class Matrix>
Dense solved(Matrix const& A) {
  Solver const factors(A);
  if constexpr (requires { factors.info(); })
    if (factors.info() != Eigen::Success) return Dense::Constant(A.rows(), A.cols(), std::numeric_limits<double>::quiet_NaN());
  return factors.solve(Dense::Identity(A.rows(), A.cols()));
}
Dense sparse_cholesky(Dense const& A) { return solved<Eigen::SimplicialLDLT<Sparse>>(Sparse(A.sparseView())); }
Dense sparse_lu(Dense const& A) { return solved<Eigen::SparseLU<Sparse>>(Sparse(A.sparseView())); }
Dense cholesky(Dense const& A) { return solved<Eigen::LDLT<Dense>>(A); }
Dense partial_pivots(Dense const& A) { return solved<Eigen::PartialPivLU<Dense>>(A); }
Dense full_pivots(Dense const& A) { return solved<Eigen::FullPivLU<Dense>>(A); }
Dense orthogonal(Dense const& A) { return Eigen::CompleteOrthogonalDecomposition<Dense>(A).pseudoInverse(); }
} // namespace

int main(int argc, char** argv) {
  int const repetitions = int(bench::argument(argc, argv, 1, 5));
  bench::heading("Dense inverses of the coarsest level");
  std::cout << "G for the Laplacian A of a complete graph with random weights, regular (its rows sum to 1) and singular (to 0), double, one thread, processor time. As part of a preconditioner for CG, G is wanted\n"
               "with A G A = A, of a singular A too, and Hermitian.\n\n";
  bench::table out({"rows", "", "ms", "against ours", "regular: |A G A - A| / |A|", "singular: |A G A - A| / |A|", "singular: |G - G^H| / |G|"});
  for (Eigen::Index const n : {20, 200, 800}) {
    Dense const A = laplacian(n, 1), singular = laplacian(n, 0);
    std::pair<char const*, Dense (*)(Dense const&)> const ways[] = {{"ours", ours}, {"SimplicialLDLT", sparse_cholesky}, {"SparseLU", sparse_lu}, {"LDLT", cholesky},
                                                                    {"PartialPivLU", partial_pivots}, {"FullPivLU", full_pivots}, {"CompleteOrthogonalDecomposition", orthogonal}};
    bench::samples taken[std::size(ways)];
    int const calls = n < 100 ? 100 : 1;
    for (int k = 0; k < repetitions; ++k)
      for (std::size_t w = 0; w < std::size(ways); ++w)
        taken[w].add(bench::cpu_seconds([&] {
          for (int c = 0; c < calls; ++c) (void)ways[w].second(A);
        }));
    auto const error = [](Dense const& a, Dense const& g) { return (a * g * a - a).norm() / a.norm(); };
    for (std::size_t w = 0; w < std::size(ways); ++w) {
      Dense const G = ways[w].second(A), H = ways[w].second(singular);
      out.row({sla::text(n), ways[w].first, bench::spread(taken[w], 3, 1e3 / calls), bench::spread(taken[w] / taken[0], 2), bench::scientific(error(A, G)), bench::scientific(error(singular, H)),
               bench::scientific((H - H.transpose()).norm() / H.norm())});
    }
  }
}
