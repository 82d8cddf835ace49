// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of vectors against Eigen: V^H W, V C and V <- V C, in turn with Eigen's, whose matrices are of rows of constant size, of rows, and
// of columns: the fastest of these counts. In place, Eigen makes a temporary.     blocks [rows [repetitions [threads]]]
#include <Eigen/Core>

#include <sla/exec/evaluate.hpp>

#include "table.hpp"

namespace {
using namespace sla;

template <int K>
void compare(bench::table& out, index_t n, int threads, int repetitions) {
  using Block = tensor<double, Extents<dyn, K>>;
  Block const V = random<double, Extents<dyn, K>>({n, K}, 1), W = random<double, Extents<dyn, K>>({n, K}, 2);
  Block Z = V, Z1 = V;
  small_matrix<double, K> C, G;
  for (int e = 0; e < K * K; ++e) C[e] = 1.0 / (1 + e % 7);
  for (int e = 0; e < K; ++e) C(e, e) = 0.5;
  Eigen::Matrix<double, K, K> const c = Eigen::Map<Eigen::Matrix<double, K, K, Eigen::RowMajor> const>(&C[0]);
  Eigen::Matrix<double, K, K> g;
  Eigen::MatrixXd const c_dynamic = c;
  Eigen::MatrixXd g_dynamic(K, K);
  using Fixed = Eigen::Matrix<double, Eigen::Dynamic, K, Eigen::RowMajor>;
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Fixed const> const v(V.data(), n, K), w(W.data(), n, K);
  Eigen::Map<Rows const> const v_rows(V.data(), n, K), w_rows(W.data(), n, K);
  Eigen::MatrixXd const v_columns = v, w_columns = w;
  Eigen::MatrixXd z_columns = v;
  Eigen::Map<Fixed> z(Z1.data(), n, K);
  Eigen::Map<Rows> z_rows(Z1.data(), n, K);

  auto row = [&](char const* what, auto const& times, double difference) {
    auto const& [t, fixed, rows, columns] = times;
    bench::samples ratio;
    for (std::size_t r = 0; r < t.size(); ++r) ratio.add(t[r] / (std::min)({fixed[r], rows[r], columns[r]}));
    out.row({what, text(K), text(threads), bench::spread(t, 2, 1e3), bench::spread(fixed, 2, 1e3), bench::spread(rows, 2, 1e3), bench::spread(columns, 2, 1e3),
             bench::spread(ratio, 2), text("<= 1.00", ratio.median() <= 1 ? ": met" : ": missed"), bench::scientific(difference)});
  };
  auto const products = bench::interleaved(
      repetitions, [&] { G = std::get<0>(fuse(gram_of(V, W))); }, [&] { g.noalias() = v.transpose() * w; },
      [&] { g_dynamic.noalias() = v_rows.transpose() * w_rows; }, [&] { g_dynamic.noalias() = v_columns.transpose() * w_columns; });
  row("V^H W", products, (Eigen::Map<Eigen::Matrix<double, K, K, Eigen::RowMajor>>(&G[0]) - g).norm() / g.norm());
  auto const combinations = bench::interleaved(
      repetitions, [&] { fuse(set(Z, combine(V, C))); }, [&] { z.noalias() = v * c; }, [&] { z_rows.noalias() = v_rows * c_dynamic; },
      [&] { z_columns.noalias() = v_columns * c_dynamic; });
  row("V C", combinations, norm(Z - Z1) / norm(Z));
  Z = V, z = v, z_columns = v;
  auto const in_place = bench::interleaved(
      repetitions, [&] { fuse(set(Z, combine(Z, C))); }, [&] { z = (z * c).eval(); }, [&] { z_rows = z_rows * c_dynamic; },
      [&] { z_columns = z_columns * c_dynamic; });
  row("V <- V C", in_place, 0);
}
}  // namespace

int main(int argc, char** argv) {
  index_t const n = bench::argument(argc, argv, 1, 1'000'000);
  int const repetitions = int(bench::argument(argc, argv, 2, 9)), most_threads = int(bench::argument(argc, argv, 3, 2));
  bench::heading("Blocks of vectors");
  std::cout << n << " rows, double. Times in ms. Ratio: to the fastest of Eigen's in each turn. Difference: relative, of the results.\n\n";
  bench::table out({"", "columns", "threads", "sla", "Eigen, rows of K", "Eigen, rows", "Eigen, columns", "ratio", "target", "difference"});
  for (int threads = 1; threads <= most_threads; ++threads) {
    set_threads(threads);
    Eigen::setNbThreads(threads);
    compare<8>(out, n, threads, repetitions);
    compare<16>(out, n, threads, repetitions);
  }
}
