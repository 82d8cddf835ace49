// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that stand beside products: assembly, transposes, Kronecker products, permutations, slices, several right-hand sides,
// incomplete Cholesky factors, and an iteration of MINRES, against Eigen's.      kernels [side of the grid [repetitions]]
#include <numeric>

#include <Eigen/IterativeLinearSolvers>
#include <unsupported/Eigen/IterativeSolvers>
#include <unsupported/Eigen/KroneckerProduct>

#include <sla/adapter/eigen.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/ic0.hpp>
#include <sla/tensor/algebra/kron.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/arrange/slice.hpp>

#include "table.hpp"

namespace {
using namespace sla;
using eigen_matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, std::int32_t>;

/// The triplets of A in no order.
struct shuffled {
  std::vector<index_t> row, col;
  std::vector<double> value;
  std::vector<Eigen::Triplet<double, std::int32_t>> of_eigen;

  explicit shuffled(sparse_tensor<double> const& A) {
    std::vector<index_t> place(std::size_t(A.nnz())), row_of(place.size());
    std::iota(place.begin(), place.end(), index_t(0));
    for (index_t i = 0; i < A.rows(); ++i)
      A.pattern().view().for_row(i, [&](index_t s, index_t) { row_of[std::size_t(s)] = i; });
    for (std::size_t n = place.size(); n > 1; --n)
      std::swap(place[n - 1], place[std::size_t((detail::uniform_at(1, n) + 1) / 2 * double(n))]);
    for (index_t s : place) {
      row.push_back(row_of[std::size_t(s)]), col.push_back(A.pattern().col[s]), value.push_back(A.values()[s]);
      of_eigen.emplace_back(std::int32_t(row.back()), std::int32_t(col.back()), value.back());
    }
  }
};

double apart(sparse_tensor<double> const& C, eigen_matrix E) {
  E.makeCompressed();
  auto const other = sorted(borrow_eigen(E));
  return same_pattern(C.pattern(), other.pattern()) ? double(norm_inf(values(C) - values(other))) : INFINITY;
}
}  // namespace

int main(int argc, char** argv) {
  index_t const side = bench::argument(argc, argv, 1, 1000), rows = side * side;
  int const repetitions = int(bench::argument(argc, argv, 2, 5));
  bench::heading("Kernels beside products");
  std::cout << "Five points on " << side << " x " << side << ", double, row-major both. Difference: largest |ours - Eigen's|; of ic0 none, Eigen scales and "
            << "shifts; of MINRES that of x after 20 iterations, by |x|.\n\n";
  bench::table out({"kernel", "threads", "ms", "ms of Eigen", "against Eigen", "difference"});
  auto const A = problems::poisson<double>({side, side}), D = problems::poisson<double>({side});
  auto const E = as_eigen(A), ED = as_eigen(D);
  shuffled const entries(A);
  std::vector<index_t> order(static_cast<std::size_t>(rows));
  for (index_t k = 0; k < rows; ++k) order[std::size_t(k)] = (k * 7919 + 13) % rows;
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, std::int32_t> P(rows);
  for (index_t k = 0; k < rows; ++k) P.indices()[order[std::size_t(k)]] = std::int32_t(k);
  auto const X = random<double, Extents<dyn, dyn>>({rows, 8}, 1);
  auto const b = random<double>(rows, 2);
  auto const EX = as_eigen(X);
  auto const Eb = as_eigen(b);

  for (int threads : {1, 2}) {
    set_threads(threads);
    Eigen::setNbThreads(threads);
    auto row = [&](char const* name, auto const& ours, auto const& peer, auto const& difference) {
      auto const [t, t_eigen] = bench::interleaved(repetitions, ours, peer);
      out.row({name, text(threads), bench::spread(t, 1, 1e3), bench::spread(t_eigen, 1, 1e3), bench::spread(t_eigen / t, 2), difference()});
    };
    sparse_tensor<double> C;
    eigen_matrix F;
    auto const same = [&] { return bench::scientific(apart(C, F)); };
    row("assembly of shuffled triplets", [&] { C = from_triplets<double>(rows, rows, entries.row, entries.col, entries.value); },
        [&] { F = eigen_matrix(rows, rows), F.setFromTriplets(entries.of_eigen.begin(), entries.of_eigen.end()); }, same);
    row("stored transpose", [&] { C = transposed(A); }, [&] { F = E.transpose(); }, same);
    row("Kronecker product", [&] { C = kron(D, D); }, [&] { F = Eigen::kroneckerProduct(ED, ED); }, same);
    row("P A P^T, in no order", [&] { C = permuted(A, order); }, [&] { F = E.twistedBy(P); }, same);
    row("half of the rows", [&] { C = sla::rows(A, rows / 4, 3 * rows / 4); }, [&] { F = E.middleRows(rows / 4, 3 * rows / 4 - rows / 4); }, same);

    matrix<double> Y({rows, 8});
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> EY(rows, 8);
    row("A X, 8 right-hand sides", [&] { Y = A * X; }, [&] { EY.noalias() = E * EX; },
        [&] { return bench::scientific(norm_inf(Y - borrow<double const, Extents<dyn, dyn>>(EY.data(), {rows, 8}))); });

    auto M = ic0{}.setup(A);
    Eigen::IncompleteCholesky<double, Eigen::Lower, Eigen::NaturalOrdering<std::int32_t>> EM(E);
    vector<double> z(rows);
    Eigen::VectorXd Ez(rows);
    auto const none = [] { return std::string(); };
    row("ic0, set-up", [&] { M = ic0{}.setup(A); }, [&] { EM.compute(E); }, none);
    row("ic0, one application", [&] { z = M * b; }, [&] { Ez = EM.solve(Eb); }, none);

    Eigen::MINRES<eigen_matrix, Eigen::Lower | Eigen::Upper, Eigen::IdentityPreconditioner> peer(E);
    peer.setTolerance(0), peer.setMaxIterations(20);
    row("MINRES, 20 iterations", [&] { z = try_solve(A, b, minres{.rtol = 0, .max_iterations = 20}).x; }, [&] { Ez = peer.solve(Eb); },
        [&] { return bench::scientific(double(norm(z - borrow<double const>(Ez.data(), rows))) / double(norm(z))); });
  }
}
