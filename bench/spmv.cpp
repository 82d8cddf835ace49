// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// y = A x on the five-point problem, in Csr, Dia and Sell, against Eigen's row-major product; and Sell against Csr where rows have
// uneven lengths.      spmv [largest [repetitions]]
#include <numeric>

#include <sla/adapter/eigen.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/product.hpp>
#include <sla/tensor/arrange/slice.hpp>
#include <sla/tensor/build/build.hpp>
#include <sla/tensor/build/sell.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "triad.hpp"

namespace {
using namespace sla;

/// The Laplacian of the graph of a P1 mesh: squares of n x n vertices, each cut along one of its diagonals by chance, so that rows
/// have four to nine entries.
sparse_tensor<double> triangles(index_t n) {
  triplets<double> t(n * n, n * n);
  auto edge = [&](index_t a, index_t b) { t.add(a, b, -1.0), t.add(b, a, -1.0), t.add(a, a, 1.0), t.add(b, b, 1.0); };
  for (index_t y = 0; y < n; ++y)
    for (index_t x = 0; x < n; ++x) {
      index_t const a = y * n + x;
      if (x + 1 < n) edge(a, a + 1);
      if (y + 1 < n) edge(a, a + n);
      if (x + 1 < n && y + 1 < n) detail::uniform_at(1, std::uint64_t(a)) > 0 ? edge(a, a + n + 1) : edge(a + 1, a + n);
    }
  return t.build();
}

/// A, and as many of it with rows and columns in another order.
std::vector<sparse_tensor<double>> in_other_orders(sparse_tensor<double> const& A, index_t count) {
  std::vector<sparse_tensor<double>> out{A};
  for (index_t k = 1; k < count; ++k) {
    std::vector<index_t> order(std::size_t(A.rows()));
    std::iota(order.begin(), order.end(), index_t(0));
    for (index_t i = A.rows() - 1; i > 0; --i) std::swap(order[std::size_t(i)], order[std::size_t(std::abs(detail::uniform_at(std::uint64_t(k), std::uint64_t(i))) * double(i))]);
    out.push_back(permuted(A, order));
  }
  return out;
}

/// `in_turn` matrices of these rows, one after the other.
void compare_sell(bench::table& out, std::string const& name, sparse_tensor<double> const& A, int threads, int repetitions, index_t in_turn = 1) {
  auto const as = in_other_orders(A, in_turn);
  std::vector<decltype(to<Sell<>>(A))> bs;
  for (auto const& a : as) bs.push_back(to<Sell<>>(a));
  auto const x = ones<double>(A.cols());
  vector<double> y(A.rows()), z(A.rows());
  int const calls = int((std::max)(index_t(4), 20'000'000 / A.nnz() / in_turn));
  auto repeated = [&](auto const& f) {
    return [&f, calls] {
      for (int k = 0; k < calls; ++k) f();
    };
  };
  auto csr = [&] {
    for (auto const& a : as) y = a * x;
  };
  auto sell = [&] {
    for (auto const& b : bs) z = b * x;
  };
  auto const [t_csr, t_sell] = bench::interleaved_on(threads, repetitions, repeated(csr), repeated(sell));
  double const scale = 1e6 / calls / double(in_turn);
  out.row({name, text(threads), text(A.rows()), text(in_turn), bench::fixed(double(A.nnz()) / double(A.rows()), 1), bench::fixed(double(bs[0].pattern().slots()) / double(A.nnz()), 2),
           bench::spread(t_csr, 1, scale), bench::spread(t_sell, 1, scale), bench::spread(t_csr / t_sell, 2), bench::scientific(norm_inf(y - z))});
}

/// Five entries in each of `rows` rows, anywhere in `cols` columns.
sparse_tensor<double> scattered(index_t rows, index_t cols) {
  triplets<double> t(rows, cols);
  for (index_t k = 0; k < 5 * rows; ++k) t.add(k / 5, index_t(std::abs(detail::uniform_at(2, std::uint64_t(k))) * double(cols - 1)), 1.0 + double(k % 7));
  return t.build();
}

template <class A>
void compare_transposed(bench::table& out, std::string const& name, A const& a, int threads, int repetitions) {
  auto const t = transposed(a);
  auto const x = ones<double>(a.cols()), u = ones<double>(a.rows());
  vector<double> y(a.rows()), v(a.cols()), w(a.cols());
  int const calls = int((std::max)(index_t(4), 5'000'000 / a.nnz()));
  auto repeated = [&](auto const& f) {
    return [&f, calls] {
      for (int k = 0; k < calls; ++k) f();
    };
  };
  auto forth = [&] { y = a * x; };
  auto back = [&] { v = transpose(a) * u; };
  auto stored = [&] { w = t * u; };
  auto apart = [&] { forth(), back(); };
  auto both = [&] { fuse(set(y, a * x), set(v, transpose(a) * u)); };
  auto const [t_forth, t_back, t_stored, t_apart, t_both] = bench::interleaved_on(threads, repetitions, repeated(forth), repeated(back), repeated(stored), repeated(apart), repeated(both));
  out.row({name, text(threads), text(a.rows(), " x ", a.cols()), bench::spread(t_forth, 1, 1e6 / calls), bench::spread(t_back, 1, 1e6 / calls), bench::spread(t_stored, 1, 1e6 / calls), bench::spread(t_both, 1, 1e6 / calls),
           bench::spread(t_back / t_forth, 2), bench::spread(t_apart / t_both, 2), bench::scientific(norm_inf(v - w) / norm_inf(w))});
}
}  // namespace

int main(int argc, char** argv) {
  index_t const largest = bench::argument(argc, argv, 1, 2048);
  int const repetitions = int(bench::argument(argc, argv, 2, 7));
  bench::heading("y = A x");
  std::cout << "2-D Poisson, n x n, five points, double; x = 1; times of one thread are processor time. Each run repeats the product for about 50 million rows. Bytes: values, "
               "columns, row pointers (Csr) or diagonals (Dia) or places and lengths (Sell), x and y once. Difference: largest |y - y of Eigen|.\n\n";
  auto const five_points = [&] {
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
        auto const S = to<Sell<>>(A);
        vector<double> y_csr(rows), y_dia(rows), y_sell(rows), y_eigen(rows);
        auto product = as_eigen(y_eigen);
        auto repeated = [&](auto const& f) {
          return [&f, calls] {
            for (int k = 0; k < calls; ++k) f();
          };
        };
        auto csr = [&] { y_csr = A * x; };
        auto dia = [&] { y_dia = D * x; };
        auto sell = [&] { y_sell = S * x; };
        auto eigen = [&] { product.noalias() = E * as_eigen(x); };
        auto const [t_triad, t_csr, t_dia, t_sell, t_eigen] = bench::interleaved_on(threads, repetitions, triad, repeated(csr), repeated(dia), repeated(sell), repeated(eigen));
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
        row("Sell", t_sell, 0, csr_bytes + 6 * size, y_sell);
        row("Eigen", t_eigen, 0, csr_bytes, y_eigen);
      }
    }
  };
  five_points();

  std::cout << "Sell<8, 256> against Csr. Triangles: P1 on squares, each cut along one of its diagonals by chance. Slots: by stored entries. The same matrix over and over, "
               "a processor learns the lengths of up to some 15000 rows by heart; so products with several matrices are taken in turn, A and what it is in other orders.\n\n";
  bench::table uneven({"", "threads", "rows", "matrices in turn", "entries per row", "slots", "us of Csr", "us of Sell", "Sell against Csr", "difference"});
  for (int threads : {1, 2}) {
    set_threads(threads);
    auto const compare = [&](std::string const& name, sparse_tensor<double> const& A) {
      compare_sell(uneven, name, A, threads, repetitions);
      if (A.rows() < 40000) compare_sell(uneven, name, A, threads, repetitions, 40000 / A.rows() + 1);
    };
    for (index_t n : {30, 100, 200, 316, 1000})
      if (n <= largest && (n > 30 || threads == 1)) compare("triangles", triangles(n));
    for (char const* name : {"1138_bus", "orsirr_1", "utm300", "nos5"})
      if (threads == 1) compare(name, read_matrix_market<double>(text(SLA_BENCH_DATA, '/', name, ".mtx")));
  }

  std::cout << "A^T u without a stored transpose, and with one, and in one fuse with A x, which walks a Csr once. Anywhere: five entries per row, in any columns.\n\n";
  bench::table back({"", "threads", "A", "us of A x", "us of A^T u", "us of stored A^T", "us of both in one fuse", "A^T u by A x", "both: faster by", "difference"});
  for (int threads : {1, 2}) {
    set_threads(threads);
    for (index_t n : {100, 500, 2000}) {
      if (n > largest) continue;
      auto const A = problems::poisson<double>({n, n});
      compare_transposed(back, "five points, Csr", A, threads, repetitions);
      compare_transposed(back, "five points, Dia", to<Dia>(A), threads, repetitions);
    }
    compare_transposed(back, "anywhere, Csr", scattered(250000, 50000), threads, repetitions);
  }
}
