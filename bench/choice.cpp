// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The automatic choice: its time against the best of our own combinations on ten problems.      choice [repetitions]
// Every matrix of a folder is in real_matrices.cpp.
#include <exception>
#include <functional>

#include <sla/solve.hpp>

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
  double const start = bench::now();
  auto s = try_solve(A, b, options...);
  out.seconds = bench::now() - start;
  out.residual = s.report.residual(), out.converged = s.report.converged(), out.what = std::move(s.report);
  return out;
}

/// A + shift, which is indefinite where the shift is large enough.
sparse_tensor<double> shifted(sparse_tensor<double> A, double shift) {
  auto const diagonal = diagonal_positions(A.pattern());
  for (index_t i = 0; i < A.rows(); ++i) A.values()[diagonal[i]] += shift;
  return A;
}

/// Our combinations for A; factorisations where the problem is small enough for them.
std::vector<way> combinations(sparse_tensor<double> const& A, vector<double> const& b, bool symmetric, bool factors) {
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
  if (symmetric) add(cg{}, jacobi{}), add(cg{}, ilu0{}), add(cg{}, amg{}), add(minres{}, row_norms{});
  add(bicgstab{}, jacobi{}), add(bicgstab{}, ilu0{}), add(bicgstab{}, amg{}), add(gmres{}, jacobi{}), add(gmres{}, ilu0{});
  add(fgmres{}, inner(bicgstab{.rtol = 0.1, .max_iterations = 20}, ilu0{}));
  if (!factors) return ways;
  ways.push_back({"lu", [&](double) { return solved(A, b, lu{}); }});
  if (symmetric) {
    ways.push_back({"cholesky", [&](double) { return solved(A, b, cholesky{}); }});
    ways.push_back({"ldlt", [&](double) { return solved(A, b, ldlt{}); }});
  }
  return ways;
}

/// The automatic choice against the fastest combination that converges.
void compare(bench::table& out, std::string const& problem, sparse_tensor<double> const& A, bool symmetric, bool factors, int repetitions) {
  auto const b = ones<double>(A.rows());
  auto const ways = combinations(A, b, symmetric, factors);
  double fastest = 1e9;
  way const* best = nullptr;
  for (way const& w : ways) try {
      outcome const o = w.run((std::min)(60.0, 2 * fastest));
      if (o.converged && o.seconds < fastest) fastest = o.seconds, best = &w;
    } catch (value_error const&) {  // this combination does not exist for this matrix
    }
  if (!best) {
    out.row({problem, text(A.rows()), "none converged", "", "", "", "", "", ""});
    return;
  }
  outcome automatic_one, best_one;
  auto const [t_automatic, t_best] =
      bench::interleaved_on(threads_in_use(), repetitions, [&] { automatic_one = solved(A, b); }, [&] { best_one = best->run(60); });
  auto const ratio = t_automatic / t_best;
  out.row({problem, text(A.rows()), named(automatic_one.what), bench::spread(t_automatic, 1, 1e3), text(automatic_one.what.iterations()),
           bench::scientific(automatic_one.residual), best->name, bench::spread(t_best, 1, 1e3), bench::spread(ratio, 2),
           ratio.median() <= 1.5 ? "<= 1.5: met" : "<= 1.5: missed"});
}
}  // namespace

int main(int argc, char** argv) {
  int const repetitions = int(bench::argument(argc, argv, 1, 5));
  std::string const data = SLA_BENCH_DATA;
  bench::heading("The automatic choice");
  std::cout << "Ten problems, double, b = 1, x0 = 0, relative tolerance 1e-8 in the 2-norm; milliseconds from nothing to x, set-up and the look "
               "at the matrix included, "
            << (threads_in_use() == 1 ? std::string("of the processor on 1 thread") : text("on ", threads_in_use(), " threads")) << ". The best is the fastest that converges of cg with jacobi, ilu0 and amg, bicgstab with jacobi, ilu0 and amg, gmres with jacobi and ilu0, minres with row_norms, fgmres around "
               "bicgstab with ilu0, lu, cholesky, ldlt.\n\n";
  {
    bench::table out({"problem", "rows", "choice", "ms", "iterations", "true residual", "best of ours", "ms of the best", "ratio", "target"});
    compare(out, "2-D Poisson", problems::poisson<double>({300, 300}), true, true, repetitions);
    compare(out, "3-D Poisson", problems::poisson<double>({40, 40, 40}), true, false, repetitions);
    compare(out, "anisotropic, 1 : 0.01", problems::anisotropic<double>({300, 300}, 0.01), true, true, repetitions);
    compare(out, "checkerboard, jump 1e4", problems::checkerboard<double>({200, 200}, 1e4), true, true, repetitions);
    compare(out, "convection-diffusion, Peclet 0.1", problems::convection_diffusion<double>({200, 200}, 0.1), false, true, repetitions);
    compare(out, "convection-diffusion, Peclet 10", problems::convection_diffusion<double>({200, 200}, 10), false, true, repetitions);
    compare(out, "Poisson - 0.3, 2-D", shifted(problems::poisson<double>({200, 200}), -0.3), true, true, repetitions);
    compare(out, "Poisson - 0.5, 3-D", shifted(problems::poisson<double>({30, 30, 30}), -0.5), true, false, repetitions);
    compare(out, "1138_bus", read_matrix_market<double>(data + "/1138_bus.mtx"), true, true, repetitions);
    compare(out, "orsirr_1", read_matrix_market<double>(data + "/orsirr_1.mtx"), false, true, repetitions);
  }
}
