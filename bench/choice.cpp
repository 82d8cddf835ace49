// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The automatic choice: its time against the best of our own combinations, on model problems, or on every square matrix of a folder.
//   choice [repetitions [folder of .mtx and .mtx.gz, or "" [part of a problem's name]]]
// What Eigen and PETSc make of such a folder is in real_matrices.cpp.
#include <algorithm>
#include <complex>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>

#include <sla/adapter/gzip.hpp>
#include <sla/solve.hpp>

#include "matrix_file.hpp"
#include "suites/grid_problems.hpp"
#include "table.hpp"

namespace {
using namespace sla;

struct outcome {
  double seconds = 0, residual = 0;
  bool converged = false;
  report what;
};
/// One way to solve A x = b from nothing, which gives up after so many seconds (between iterations).
struct way {
  std::string name;
  std::function<outcome(double)> run;
};

std::string named(report const& r) { return text(r.method, r.preconditioner.empty() ? "" : " + ", r.preconditioner); }

template <class T, class... Options>
outcome solved(sparse_tensor<T> const& A, vector<T> const& b, Options const&... options) {
  outcome out;
  std::optional<solution<vector<T>>> s;
  auto const run = [&] { s.emplace(try_solve(A, b, options...)); };
  out.seconds = threads_in_use() == 1 ? bench::cpu_seconds(run) : bench::seconds(run);
  out.residual = s->report.residual(), out.converged = s->report.converged(), out.what = std::move(s->report);
  return out;
}

/// A + shift, which is indefinite where the shift is large enough.
sparse_tensor<double> shifted(sparse_tensor<double> A, double shift) {
  auto const diagonal = diagonal_positions(A.pattern());
  for (index_t i = 0; i < A.rows(); ++i) A.values()[diagonal[i]] += shift;
  return A;
}

/// Our combinations for A; factorisations where the problem is small enough for them.
template <class T>
std::vector<way> combinations(sparse_tensor<T> const& A, vector<T> const& b, bool hermitian, bool factors) {
  std::vector<way> ways;
  auto add = [&](auto method, auto preconditioner) {
    using M = decltype(method);
    using P = decltype(preconditioner);
    ways.push_back({text(M::name, " + ", P::name), [&A, &b, preconditioner](double most) {
                      M limited{};
                      limited.watch = [end = bench::now() + most](std::vector<progress> const&) { return bench::now() < end; };
                      return solved(A, b, limited, preconditioner);
                    }});
  };
  if (hermitian) add(cg{}, jacobi{}), add(cg{}, ilu0{}), add(cg{}, amg{}), add(minres{}, row_norms{});
  add(bicgstab{}, jacobi{}), add(bicgstab{}, ilu0{}), add(bicgstab{}, amg{}), add(gmres{}, jacobi{}), add(gmres{}, ilu0{}), add(gmres{}, amg{});
  add(fgmres{}, inner(bicgstab{.rtol = 0.1, .max_iterations = 20}, ilu0{}));
  if (!factors) return ways;
  ways.push_back({"lu", [&](double) { return solved(A, b, lu{}); }});
  if (hermitian) {
    ways.push_back({"cholesky", [&](double) { return solved(A, b, cholesky{}); }});
    ways.push_back({"ldlt", [&](double) { return solved(A, b, ldlt{}); }});
  }
  return ways;
}

struct comparison {
  int repetitions;
  std::string part;  ///< of the names of those that are compared
  bench::table out{{"problem", "rows", "choice", "ms", "iterations", "true residual", "best of ours", "ms of the best", "its residual", "ratio", "target"}};

  bool wants(std::string const& problem) const { return problem.find(part) != std::string::npos; }

  /// The automatic choice against the fastest combination that converges, of three runs each.
  template <class T>
  void add(std::string const& problem, sparse_tensor<T> const& A, vector<T> const& b, bool factors = true) {
    auto const ways = combinations(A, b, properties(A).hermitian, factors);
    double fastest = 1e9;
    way const* best = nullptr;
    for (way const& w : ways) try {
        for (int run = 0; run < 3; ++run) {
          outcome const o = w.run((std::min)(60.0, 0.1 + 10 * fastest));  // on a clock that others stop
          if (!o.converged || o.seconds > 2 * fastest) break;
          if (o.seconds < fastest) fastest = o.seconds, best = &w;
        }
      } catch (value_error const&) {  // this combination does not exist for this matrix
      } catch (shape_error const&) {
      }
    outcome automatic_one, best_one;
    auto const choice = [&] { automatic_one = solved(A, b); };
    if (!best) {
      choice();
      out.row({problem, text(A.rows()), named(automatic_one.what), to_string(automatic_one.what.reason()), "", bench::scientific(automatic_one.residual), "none converges", "", "", "", ""});
      return;
    }
    auto const [t_automatic, t_best] = bench::interleaved_on(threads_in_use(), repetitions, choice, [&] { best_one = best->run(60); });
    auto const ratio = t_automatic / t_best;
    out.row({problem, text(A.rows()), named(automatic_one.what), bench::spread(t_automatic, 2, 1e3), text(automatic_one.what.iterations()), bench::scientific(automatic_one.residual), best->name,
             bench::spread(t_best, 2, 1e3), bench::scientific(best_one.residual), bench::spread(ratio, 2), !automatic_one.converged ? "not converged" : ratio.median() <= 1.5 ? "<= 1.5: met" : "<= 1.5: missed"});
    if (!part.empty()) std::cerr << automatic_one.what << '\n';
  }
  /// A problem that is made when it is wanted, with b of 1.
  template <class Make>
  void model(std::string const& problem, Make const& make, bool factors = true) {
    if (!wants(problem)) return;
    auto const A = make();
    add(problem, A, ones<double>(A.rows()), factors);
  }
  /// A matrix of a file, with b = A x.
  template <class T>
  void file(std::string const& problem, std::string const& path) {
    auto const A = bench::read<T>(path);
    if (A.rows() != A.cols()) return;
    vector<T> x(A.cols());
    for (index_t i = 0; i < A.cols(); ++i) x[i] = T(double(1 + i % 7));
    add(problem, A, vector<T>(A * x), A.rows() < 30000);
  }
};

/// A full matrix of numbers in -1 .. 1, and the shift on its diagonal.
sparse_tensor<double> full(index_t n, double shift) { return shifted(to<Csr<>>(random<double, Extents<dyn, dyn>>({n, n}, 3)), shift); }
}  // namespace

int main(int argc, char** argv) {
  int const repetitions = int(bench::argument(argc, argv, 1, 5));
  std::string const folder = argc > 2 ? argv[2] : "", part = argc > 3 ? argv[3] : "";
  bench::heading("The automatic choice");
  std::cout << "Double, " << (folder.empty() ? "b = 1" : "b = A x, x_i = 1 + i mod 7") << ", x0 = 0, relative tolerance in the 2-norm; milliseconds from nothing to x, set-up and the look at the matrix included, "
            << (threads_in_use() == 1 ? std::string("of the processor on 1 thread") : text("on ", threads_in_use(), " threads"))
            << ". The best is the fastest that converges of cg with jacobi, ilu0 and amg, minres with row_norms, bicgstab and gmres with jacobi, ilu0 and amg, fgmres around "
               "bicgstab with ilu0, lu, cholesky, ldlt; of " << (folder.empty() ? "points in space" : "30 000 rows and more") << ", without the last three.\n\n";
  for (double const rtol : {1e-8, 1e-10}) with({.rtol = rtol}, [&] {
    std::cout << "Tolerance " << bench::scientific(rtol) << (rtol == 1e-8 ? ", the default" : "") << ":\n\n";
    comparison c{repetitions, part};
    if (!folder.empty()) {
      std::vector<std::string> paths;
      for (auto const& entry : std::filesystem::directory_iterator(folder))
        if (auto const path = entry.path().string(); path.ends_with(".mtx") || path.ends_with(".mtx.gz")) paths.push_back(path);
      std::sort(paths.begin(), paths.end());
      for (auto const& path : paths) {
        std::string name = std::filesystem::path(path).filename().string();
        name = name.substr(0, name.find(".mtx"));
        if (!c.wants(name)) continue;
        bench::has_complex_values(path) ? c.file<std::complex<double>>(name, path) : c.file<double>(name, path);
      }
      return;
    }
    std::string const data = SLA_BENCH_DATA;
    c.model("2-D Poisson", [] { return problems::poisson<double>({300, 300}); });
    c.model("2-D Poisson, shuffled", [] { return suite::shuffled(problems::poisson<double>({300, 300})); });
    c.model("3-D Poisson", [] { return problems::poisson<double>({40, 40, 40}); }, false);
    c.model("3-D Poisson, shuffled", [] { return suite::shuffled(problems::poisson<double>({40, 40, 40})); }, false);
    c.model("1-D Poisson", [] { return problems::poisson<double>({30000}); });
    c.model("strip of 2 points", [] { return problems::poisson<double>({2, 50000}); });
    c.model("strip of 5 points", [] { return problems::poisson<double>({5, 20000}); });
    c.model("strip of 30 points", [] { return problems::poisson<double>({30, 3000}); });
    c.model("2-D Poisson, few rows", [] { return problems::poisson<double>({50, 50}); });
    c.model("2-D Poisson, very few rows", [] { return problems::poisson<double>({15, 15}); });
    c.model("anisotropic, 1 : 0.01", [] { return problems::anisotropic<double>({300, 300}, 0.01); });
    c.model("anisotropy of 1e-3 turned by 30 degrees", [] { return suite::rotated(200, 1e-3); });
    c.model("checkerboard, jump 1e4", [] { return problems::checkerboard<double>({200, 200}, 1e4); });
    c.model("checkerboard of 16 x 16, shuffled", [] { return suite::shuffled(problems::checkerboard<double>({200, 200}, 1e4, 16)); });
    c.model("squares of 3 points of 10^u, u in 0 .. 4", [] { return suite::cells(201, 3, 4); });
    c.model("points of 10^u, u in 0 .. 4", [] { return suite::cells(200, 1, 4); });
    c.model("convection-diffusion, Peclet 0.1", [] { return problems::convection_diffusion<double>({200, 200}, 0.1); });
    c.model("convection-diffusion, Peclet 1", [] { return problems::convection_diffusion<double>({200, 200}, 1); });
    c.model("convection-diffusion, Peclet 10", [] { return problems::convection_diffusion<double>({200, 200}, 10); });
    c.model("convection-diffusion, Peclet 1000", [] { return problems::convection_diffusion<double>({200, 200}, 1000); });
    c.model("transport around the middle, diffusion 1e-3", [] { return suite::recirculating(200, 1e-3); });
    c.model("step in time, 2-D", [] { return shifted(problems::poisson<double>({200, 200}), 1); });
    c.model("Poisson - 0.3, 2-D", [] { return shifted(problems::poisson<double>({200, 200}), -0.3); });
    c.model("Poisson - 0.5, 3-D", [] { return shifted(problems::poisson<double>({30, 30, 30}), -0.5); }, false);
    c.model("full, 100 rows", [] { return full(100, 0); });
    c.model("full, 500 rows", [] { return full(500, 0); });
    c.model("full, 500 rows, shifted by 60", [] { return full(500, 60); });
    c.model("1138_bus", [&] { return read_matrix_market<double>(data + "/1138_bus.mtx"); });
    c.model("orsirr_1", [&] { return read_matrix_market<double>(data + "/orsirr_1.mtx"); });
  });
}
