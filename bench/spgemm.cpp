// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// C = A A on the five-point problem and on a matrix with random columns, against Eigen's product of row-major matrices; and
// the sum A + A^T of the latter.      spgemm [side of the grid [random rows [repetitions]]]
#include <sla/adapter/eigen.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "table.hpp"

namespace {
using namespace sla;
using eigen_matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, std::int32_t>;

sparse_tensor<double> random_columns(index_t n, index_t per_row) {
  std::vector<index_t> row, col;
  std::vector<double> value;
  for (index_t k = 0; k < n * per_row; ++k) {
    row.push_back(k / per_row);
    col.push_back(index_t((detail::uniform_at(1, std::uint64_t(k)) + 1) / 2 * double(n)));
    value.push_back(detail::uniform_at(2, std::uint64_t(k)));
  }
  return from_triplets<double>(n, n, row, col, value);
}

/// The largest difference of two matrices with sorted rows, infinite where their patterns differ.
double difference(sparse_tensor<double> const& C, eigen_matrix const& E) {
  auto const other = borrow_eigen(E);
  if (!same_pattern(C.pattern(), other.pattern())) return INFINITY;
  return norm_inf(values(C) - values(other));
}

template <class Ours, class Again, class Peer>
void measure(bench::table& out, std::string const& name, int threads, int repetitions, Ours const& ours, Again const& again, Peer const& peer) {
  memory_peak_reset();
  auto const before = memory_in_use().now;
  auto C = ours();
  double const peak = double(memory_in_use().peak - before) / double(C.bytes());
  eigen_matrix E;
  auto const [t_ours, t_again, t_eigen] = bench::interleaved(repetitions, [&] { C = ours(); }, again, [&] { E = peer(); });
  auto row = [&](char const* what, bench::samples const& t, double wanted, std::string const& memory) {
    auto const faster = t_eigen / t;
    out.row({name, text(threads), what, text(C.nnz()), bench::spread(t, 1, 1e3), bench::spread(faster, 2), wanted > 0 ? bench::target(faster, wanted) : "", memory,
             bench::scientific(difference(C, E))});
  };
  row("all", t_ours, threads == 2 && name != "sum" ? 1.5 : 0, bench::fixed(peak, 2));
  row("values", t_again, 0, "");
  row("Eigen", t_eigen, 0, "");
}
}  // namespace

int main(int argc, char** argv) {
  index_t const side = bench::argument(argc, argv, 1, 1000), rows = bench::argument(argc, argv, 2, 400'000);
  int const repetitions = int(bench::argument(argc, argv, 3, 5));
  bench::heading("C = A B, sparse");
  std::cout << "Poisson: five points on " << side << " x " << side << ", A A. Random: " << rows
            << " rows of eight entries in columns drawn at random, R R, and R + R^T. All: the pattern and the values; values: on the pattern of a "
               "plan, or on one shared pattern. Memory: the peak of tensors beside the operands, by the bytes of C. Difference: largest |C - C of Eigen|.\n\n";
  bench::table out({"problem", "threads", "", "entries of C", "ms", "against Eigen", "target", "memory", "difference"});
  auto const A = problems::poisson<double>({side, side});
  auto const R = random_columns(rows, 8), Rt = transposed(R);
  auto const EA = as_eigen(A), ER = as_eigen(R), ERt = as_eigen(Rt);
  for (int threads : {1, 2}) {
    set_threads(threads);
    auto product = [&](auto const& M, auto const& E, std::string const& name) {
      multiply_plan const kept(M, M);
      auto shared = kept(M, M);
      measure(out, name, threads, repetitions, [&] { return M * M; }, [&] { kept.update(shared, M, M); },
              [&] { return eigen_matrix(E * E); });
    };
    product(A, EA, "Poisson");
    product(R, ER, "random");
    auto S = R + Rt;
    auto const more = 2.0 * S;
    measure(out, "sum", threads, repetitions, [&] { return R + Rt; }, [&] { S = S + more; }, [&] { return eigen_matrix(ER + ERt); });
  }
}
