// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main job on a real matrix: read it, look at it, solve, differentiate through the solve, and do it again on four ranks. At the end a larger
// problem, which the ranks generate by pieces, on one and on two.
//   main_job [matrix.mtx ...]
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <sla/sla.hpp>

namespace {
using namespace sla;

/// In place of a preconditioner, for methods that take none.
struct none {};

constexpr int ranks = 4;
bool const terminal = isatty(STDOUT_FILENO) != 0;

void headline(std::string const& words) {
  std::cout << (terminal ? "\n\033[1m" : "\n") << words << (terminal ? "\033[0m\n" : "\n");
}
/// A text of several lines, indented.
template <class Text>
void paragraph(Text const& lines) {
  std::istringstream in(text(lines));
  for (std::string one; std::getline(in, one);) std::cout << "  " << one << '\n';
}
template <class... Parts>
void line(char const* label, Parts const&... parts) {
  std::cout << "  " << std::left << std::setw(12) << label;
  (std::cout << ... << parts) << '\n';
}

/// The inner product as gradients pair it: Re sum conj(x) y.
template <class X, class Y>
double pairing(X const& x, Y const& y) {
  return real_of(to_kernel(dot(x, y)));
}

/// d_i and d_j for each stored entry a_ij. Scaling by (1 + h d_i)(1 + h d_j) keeps a definite matrix definite.
template <class T>
std::pair<vector<double>, vector<double>> row_and_column(sparse_tensor<T> const& A, vector<double> const& d) {
  vector<double> row(A.nnz()), col(A.nnz());
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t slot, index_t j) { row[slot] = d[i], col[slot] = d[j]; });
  return {row, col};
}

/// Differentiates |x - target|^2 / 2 with A x = b through the solve, and compares with central differences.
template <class T, class Method, class P>
bool differentiate(sparse_tensor<T> const& A, vector<T> const& b, Method const& method, P const& precond) {
  auto const target = random<T>(A.rows(), 2);
  auto misfit = [&](auto const& a, auto const& c) {
    auto x = [&] {
      if constexpr (std::same_as<P, none>)
        return solve(a, c, method);
      else
        return solve(a, c, method, precond);
    }();
    return 0.5 * squared_norm(x - target);
  };
  auto const [value, gA, gb] = value_and_gradient(misfit, A, b);
  line("misfit", value, " = |x - target|^2 / 2; one more solve gave its gradient to ", A.nnz(), " matrix values and ", b.size(),
       " elements of b");

  auto const vb = random<T>(b.size(), 3);
  auto const [row, col] = row_and_column(A, random<double>(A.rows(), 4));
  vector<T> const vA = values(A) * (row + col);
  auto compare = [&](char const* label, double analytic, auto const& along) {
    // every step trades truncation against the tolerance of the solves: the best of three
    double best = 1, difference = 0;
    for (double h : {1e-3, 1e-4, 1e-5}) {
      double const central = (along(h) - along(-h)) / (2 * h), off = std::abs(central - analytic) / std::abs(analytic);
      if (off < best) best = off, difference = central;
    }
    line(label, "gradient ", analytic, ", central difference ", difference, ", relative difference ", best);
    return best <= 1e-2;
  };
  double const size_b = norm(b) / norm(vb);
  bool const right_b = compare("along b", pairing(gb, vb) * size_b, [&](double h) {
    vector<T> moved = b + (h * size_b) * vb;
    return double(misfit(A, moved));
  });
  bool const right_A = compare("along A", pairing(values(gA), vA), [&, &row = row, &col = col](double h) {
    vector<T> moved = values(A) * (1 + h * row) * (1 + h * col);
    return double(misfit(with_values(A, moved), b));
  });
  return right_b && right_A;
}

/// The same solve on four ranks: threads of this process, each with its rows.
template <class T, class Method, class P>
bool distribute_and_solve(sparse_tensor<T> const& A, vector<T> const& b, vector<T> const& x, Method const& method, P const& precond) {
  bool agrees = false;
  observer const watch = default_rule().watch;
  threads::run(ranks, [&](auto& world) {
    mesh<axis<"rows">> m(world);
    auto D = distribute<SparseShard<0>>(A, m, strips{});
    auto db = distribute(b, D.row_layout());
    auto mine = method;
    if (world.rank() == 0) mine.watch = watch;  // one rank shows progress
    auto [dx, report] = try_solve(D, db, mine, precond);
    auto const y = gather(dx);
    auto const parts = report_partition(D);
    if (world.rank() != 0) return;
    paragraph(parts);
    line("solve", report);
    double const apart = norm(y - x) / norm(x);
    line("agreement", "|x on ", ranks, " ranks - x on one| / |x| = ", apart);
    agrees = report.converged() && apart <= 1e-5;
  });
  return agrees;
}

template <class T, class Method, class P>
bool with_method(sparse_tensor<T> const& A, vector<T> const& b, Method method, P const& precond) {
  headline("The same by name, as four ranks will do it");
  auto const [x, report] = try_solve(A, b, method, precond);
  line("solve", report);
  if (!report.converged()) {
    line("", "this method does not reach its tolerance here: the gradient goes through the factors, and ranks are left out");
    headline("Gradient through the solve");
    return differentiate(A, b, lu{}, none{});
  }
  headline("Gradient through the solve");
  bool const right = differentiate(A, b, method, precond);
  headline("Four ranks");
  return distribute_and_solve(A, b, x, method, precond) && right;
}

template <class T>
bool run(std::string const& path) {
  auto const A = read_matrix_market<T>(path);
  auto const facts = properties(A);
  headline(path);
  paragraph(facts);
  if (!facts.square) {
    line("", "the main job needs a square matrix");
    return true;
  }
  headline("Solve A x = b with the automatic choice, b = A 1");
  vector<T> const b = A * ones<T>(A.cols());
  auto const [x, report] = try_solve(A, b);
  line("solve", report);
  if (!report.converged()) return true;  // the report names why
  line("error", "|x - 1| / |1| = ", norm(x - ones<T>(A.cols())) / norm(x));

  if (facts.hermitian && facts.positive_diagonal) return with_method(A, b, cg{.rtol = 1e-9}, jacobi{});
  return with_method(A, b, gmres{.rtol = 1e-9}, ilu0{});
}

/// Poisson's equation on a cube, whose rows each rank makes where they are owned; the seconds of a solve, and its iterations.
auto solve_generated(int of_ranks, index_t side) {
  struct result {
    double seconds;
    int iterations;
    bool converged;
  };
  return threads::run(of_ranks, [&](auto& world) {
    mesh<axis<"rows">> m(world);
    auto const D = problems::poisson<double>(m, {side, side, side});
    auto const f = generate(D.row_layout(), [](index_t i) { return 1.0 / double(i + 1); });
    m.communicator(0).barrier();
    auto const begin = std::chrono::steady_clock::now();
    auto const solved = try_solve(D, f, cg{.rtol = 1e-8, .watch = {}}, jacobi{});
    std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin;
    return result{time.count(), solved.report.iterations(), solved.report.converged()};
  })[0];
}
bool generated(index_t side) {
  headline(text("A generated problem: ", side * side * side, " unknowns, made by pieces; no rank has the whole"));
  auto const one = solve_generated(1, side), two = solve_generated(2, side);
  line("one rank", one.iterations, " iterations in ", one.seconds, " s");
  line("two ranks", two.iterations, " iterations in ", two.seconds, " s, ", one.seconds / two.seconds, " times as fast, a thread each");
  return one.converged && two.converged && std::abs(one.iterations - two.iterations) <= 2;
}

/// Is the file one of complex numbers? Its banner says so.
bool run_file(std::string const& path) {
  try {
    return run<double>(path);
  } catch (io_error const& e) {
    if (std::string(e.what()).find("std::complex<double>") == std::string::npos) throw;
    return run<std::complex<double>>(path);
  }
}
}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files(argv + 1, argv + argc);
  if (files.empty()) files = {SLA_EXAMPLE_DATA "/1138_bus.mtx"};
  stop_rule rule;
  if (terminal) rule.watch = progress_line(std::cout);  // of every solve that is slow enough
  bool good = true;
  for (auto const& file : files) try {
      good = with(rule, [&] { return run_file(file); }) && good;
    } catch (error const& e) {
      std::cerr << e.what() << '\n';
      good = false;
    }
  good = generated(80) && good;
  return good ? 0 : 1;
}
