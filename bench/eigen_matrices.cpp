// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenvalues and singular values of every matrix of a folder, and of the Laplacian of a box, whose values are known, with their true residuals, and dense algebra
// (Eigen) beside them for few rows.
//   eigen_matrices [folder of .mtx and .mtx.gz [the most rows for dense algebra [folder for the pairs, for bench/peers/scipy_eigen.py]]]
#include <algorithm>
#include <complex>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <optional>
#include <vector>

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

#include <sla/adapter/eigen.hpp>
#include <sla/adapter/gzip.hpp>
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigs.hpp>
#include <sla/solve/eigen/svds.hpp>

#include "matrix_file.hpp"
#include "table.hpp"

namespace {
using namespace sla;

/// All values by dense algebra, and how long that took.
template <class W>
struct spectrum {
  std::vector<W> values;
  double seconds = 0;
};
template <class W, class Solve>
std::optional<spectrum<W>> dense(bool wanted, Solve const& solve) {
  if (!wanted) return std::nullopt;
  spectrum<W> out;
  out.seconds = bench::seconds([&] {
    auto const values = solve();
    out.values.assign(values.data(), values.data() + values.size());
  });
  return out;
}

/// Where the pairs are written to, if anywhere.
std::string pairs_folder;
/// The pairs of a call for others to read: a line of words, then values and blocks of vectors, row by row, as complex numbers.
template <class Pairs>
void write_pairs(std::string const& path, std::string const& call, double seconds, double sigma, Pairs const& pairs) {
  std::ofstream out(path, std::ios::binary);
  constexpr bool triplets = requires { pairs.left; };
  auto const& first = [&]() -> auto const& {
    if constexpr (triplets)
      return pairs.left;
    else
      return pairs.vectors;
  }();
  index_t cols = first.extent(0);
  if constexpr (triplets) cols = pairs.right.extent(0);
  out << call << ' ' << first.extent(0) << ' ' << cols << ' ' << pairs.values.size() << ' ' << seconds << ' ' << std::setprecision(17) << sigma << '\n';
  auto const put = [&](auto const& numbers) {
    for (auto const& x : numbers) {
      std::complex<double> const z(x);
      out.write(reinterpret_cast<char const*>(&z), sizeof z);
    }
  };
  put(pairs.values), put(first);
  if constexpr (triplets) put(pairs.right);
}

/// A row of the table: what was asked, what came, and how far that is from dense algebra, over the largest value and over its own.
template <class W, class Ask, class Wanted>
void report_call(bench::table& out, std::string const& name, std::string const& size, std::string const& what, std::optional<spectrum<W>> const& oracle, Wanted const& wanted, Ask const& ask) {
  std::string method = "", reason, residual, time, apart, peer;
  double seconds = 0;
  try {
    decltype(ask()) pairs = [&] {
      std::optional<decltype(ask())> got;
      seconds = bench::seconds([&] { got.emplace(ask()); });
      time = bench::fixed(1e3 * seconds, 1);
      return std::move(*got);
    }();
    auto const& report = pairs.report;
    method = text(report.method, report.preconditioner.empty() ? "" : " + ", report.preconditioner);
    reason = report.converged() ? "converged" : to_string(report.reason);
    std::size_t done = 0;
    for (std::size_t j = 0; j < report.residuals.size(); ++j) done += report.is_converged(j);
    if (done < report.residuals.size()) reason += text(", ", done, " of ", report.residuals.size());
    residual = bench::scientific(report.residual());
    if (!pairs_folder.empty()) {
      double sigma = 0;
      if constexpr (requires { wanted.sigma; }) sigma = wanted.sigma;
      std::string const call = text(what.substr(0, what.find(',')), '_', wanted.name);
      write_pairs(text(pairs_folder, '/', name, '@', call), call, seconds, sigma, pairs);
    }
    if (oracle) {
      auto all = oracle->values;
      std::stable_sort(all.begin(), all.end(), [&](W const& x, W const& y) { return wanted.key(x) < wanted.key(y); });
      double worst = 0, size_of_all = 0;
      for (W const& w : all) size_of_all = (std::max)(size_of_all, double(std::abs(w)));
      double own = 0;
      for (index_t j = 0; j < pairs.values.size(); ++j) {
        double nearest = 1e300;
        for (W const& w : all) nearest = (std::min)(nearest, double(std::abs(w - W(pairs.values[j]))));
        nearest = (std::max)(nearest, std::abs(wanted.key(W(pairs.values[j])) - wanted.key(all[std::size_t(j)])));
        worst = (std::max)(worst, nearest), own = (std::max)(own, nearest / double(std::abs(all[std::size_t(j)])));
      }
      apart = text(bench::scientific(worst / size_of_all), " / ", bench::scientific(own));
      peer = bench::fixed(1e3 * oracle->seconds, 1);
    }
  } catch (error const& e) {
    reason = text("refused: ", e.what());
  }
  out.row({name, size, what, method, reason, residual, apart, time, peer});
}

constexpr double rtol = 1e-12;
template <class T>
void report_matrix(bench::table& out, std::string const& name, sparse_tensor<T> const& A, long most) {
  if (A.rows() < 10) return;
  std::cerr << name << '\n';
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  bool const few = (std::min)(A.rows(), A.cols()) <= most && (std::max)(A.rows(), A.cols()) <= 2 * most;
  Matrix const full = few ? Matrix(as_eigen(A)) : Matrix(0, 0);
  std::string const size = A.rows() == A.cols() ? text(A.rows()) : text(A.rows(), " x ", A.cols());
  if (A.rows() == A.cols()) {
    double mean = 0;
    for (index_t i = 0; i < A.rows(); ++i) mean += std::real(A(i, i)) / double(A.rows());
    near const inside{mean == 0 ? 1e-3 : 0.37 * mean};
    if (linear_world<sparse_tensor<T>>::is_self_adjoint(A)) {
      auto const oracle = dense<double>(few, [&] { return Eigen::SelfAdjointEigenSolver<Matrix>(full, Eigen::EigenvaluesOnly).eigenvalues().eval(); });
      report_call(out, name, size, "eigsh, 6 largest", oracle, largest{}, [&] { return eigsh(A, 6, largest{}, lanczos{.rtol = rtol}); });
      report_call(out, name, size, text("eigsh, 6 near ", inside.sigma), oracle, inside, [&] { return eigsh(A, 6, inside, lanczos{.rtol = rtol}); });
    } else {
      using Z = std::complex<double>;
      auto const oracle = dense<Z>(few, [&] {
        if constexpr (is_complex<T>)
          return Eigen::ComplexEigenSolver<Matrix>(full, false).eigenvalues().eval();
        else
          return Eigen::EigenSolver<Matrix>(full, false).eigenvalues().eval();
      });
      report_call(out, name, size, "eigs, 6 of largest magnitude", oracle, largest_magnitude{}, [&] { return eigs(A, 6, largest_magnitude{}, krylov_schur{.rtol = rtol}); });
      report_call(out, name, size, text("eigs, 6 near ", inside.sigma), oracle, inside, [&] { return eigs(A, 6, inside, krylov_schur{.rtol = rtol}); });
    }
  }
  auto const oracle = dense<double>(few, [&] { return Eigen::BDCSVD<Matrix>(full).singularValues().eval(); });
  report_call(out, name, size, "svds, 4 largest", oracle, largest{}, [&] { return svds(A, 4, largest{}, golub_kahan{.rtol = rtol}); });
  report_call(out, name, size, "svds, 4 smallest", oracle, smallest{}, [&] { return svds(A, 4, smallest{}, golub_kahan{.rtol = rtol}); });
}
}  // namespace

int main(int argc, char** argv) {
  bench::heading("Eigenvalues and singular values of real matrices");
  long const most = bench::argument(argc, argv, 2, 1900);
  std::cout << "Relative tolerance " << rtol << " of true residuals, |A v - w v| / |w v|, and |A v - s u| + |A^H u - s v| over s; one run each, factors included, on " << threads_in_use()
            << " threads. `apart` is how far the values are from those of Eigen's dense solvers (values only, one thread), over the largest of all, and each over itself; for at most "
            << most << " rows.\n\n";
  std::vector<std::string> paths;
  if (argc > 3) pairs_folder = argv[3], std::filesystem::create_directories(pairs_folder);
  for (auto const& entry : std::filesystem::directory_iterator(argc > 1 ? argv[1] : SLA_BENCH_DATA))
    if (auto const path = entry.path().string(); path.ends_with(".mtx") || path.ends_with(".mtx.gz")) paths.push_back(path);
  std::sort(paths.begin(), paths.end());
  bench::table out({"matrix", "rows", "call", "method", "reason", "largest residual", "apart", "ms", "dense ms"});
  for (auto const& path : paths) {
    std::string name = std::filesystem::path(path).filename().string();
    name = name.substr(0, name.find(".mtx"));
    bench::has_complex_values(path) ? report_matrix(out, name, bench::read<std::complex<double>>(path), most) : report_matrix(out, name, bench::read<double>(path), most);
  }
  report_matrix(out, "box_22_21_19", problems::poisson<double>({22, 21, 19}), most);
}
