// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What cholmod{} and umfpack{} cost besides CHOLMOD and UMFPACK themselves, and Eigen's factors beside them.
//   direct [points along an axis of a square [repetitions]]
#include <cmath>
#include <cstdint>

#include <sla/adapter/suitesparse.hpp>

#include "table.hpp"

namespace {
using namespace sla;
using Wide = sparse_tensor<double, Matrix, Csr<std::int64_t>>;

void check(bool good) {
  if (!good) std::cerr << "a library failed\n", std::exit(1);
}

/// CHOLMOD as its manual says: one triangle, its defaults, no residual.
struct bare_cholmod {
  cholmod_common common;
  cholmod_sparse A{};
  cholmod_factor* L = nullptr;
  explicit bare_cholmod(Wide& of) {
    cholmod_l_start(&common);
    A.nrow = A.ncol = std::size_t(of.rows()), A.nzmax = std::size_t(of.nnz());
    A.p = const_cast<std::int64_t*>(of.pattern().row_ptr.data()), A.i = const_cast<std::int64_t*>(of.pattern().col.data()), A.x = of.values().data();
    A.stype = 1, A.itype = CHOLMOD_LONG, A.xtype = CHOLMOD_REAL, A.dtype = CHOLMOD_DOUBLE, A.sorted = A.packed = true;
  }
  void analyze() {
    cholmod_l_free_factor(&L, &common);
    L = cholmod_l_analyze(&A, &common);
  }
  void run(vector<double> const& b, vector<double>& x) {
    check(cholmod_l_factorize(&A, L, &common) && common.status == CHOLMOD_OK);
    cholmod_dense right{};
    right.nrow = right.nzmax = right.d = A.nrow, right.ncol = 1, right.x = const_cast<double*>(b.data()), right.xtype = CHOLMOD_REAL;
    cholmod_dense* y = cholmod_l_solve(CHOLMOD_A, L, &right, &common);
    check(y);
    std::copy_n(static_cast<double*>(y->x), x.size(), x.begin());
    cholmod_l_free_dense(&y, &common);
  }
  ~bare_cholmod() { cholmod_l_free_factor(&L, &common), cholmod_l_finish(&common); }
};

/// UMFPACK likewise, on the columns that are A's rows; its own refinement is on, as by default.
struct bare_umfpack {
  Wide& A;
  void* symbolic = nullptr;
  explicit bare_umfpack(Wide& of) : A(of) {}
  std::int64_t const* p() const { return A.pattern().row_ptr.data(); }
  std::int64_t const* i() const { return A.pattern().col.data(); }
  void analyze() {
    umfpack_dl_free_symbolic(&symbolic);
    check(umfpack_dl_symbolic(A.rows(), A.cols(), p(), i(), A.values().data(), &symbolic, nullptr, nullptr) == UMFPACK_OK);
  }
  void run(vector<double> const& b, vector<double>& x) {
    void* numeric = nullptr;
    check(umfpack_dl_numeric(p(), i(), A.values().data(), symbolic, &numeric, nullptr, nullptr) == UMFPACK_OK);
    check(umfpack_dl_solve(UMFPACK_At, p(), i(), A.values().data(), x.data(), b.data(), numeric, nullptr, nullptr) == UMFPACK_OK);
    umfpack_dl_free_numeric(&numeric);
  }
  ~bare_umfpack() { umfpack_dl_free_symbolic(&symbolic); }
};

template <class Bare, class Method, class Eigens>
void compare(bench::table& out, std::string const& name, sparse_tensor<double> const& A, int repetitions, Method const& method, Eigens const& eigens) {
  auto wide = to<Csr<std::int64_t>>(A);
  Bare bare(wide);
  vector<double> const b = A * ones<double>(A.cols());
  vector<double> x(A.cols()), y(A.cols());
  auto s = prepare(A, method);
  bench::samples ours, theirs, updated, refactored, by_eigen;
  for (int k = -1; k < repetitions; ++k) {
    auto one = [&](bench::samples& into, auto const& f) {
      double const t = bench::cpu_seconds(f);
      if (k >= 0) into.add(t);
    };
    one(ours, [&] { x = solve(A, b, method); });
    one(theirs, [&] { bare.analyze(), bare.run(b, y); });
    check(double(norm(x - y)) <= 1e-8 * double(norm(y)));
    one(updated, [&] { s.update(A), x = s.solve(b); });
    one(refactored, [&] { bare.run(b, y); });
    one(by_eigen, [&] { x = solve(A, b, eigens); });
  }
  auto row = [&](std::string const& what, bench::samples const& a, bench::samples const& c) {
    auto const ratio = a / c;
    out.row({name, what, bench::spread(a, 0, 1e3), bench::spread(c, 0, 1e3), bench::spread(ratio, 3), text("<= 1.05", ratio.median() <= 1.05 ? ": met" : ": missed"),
             what == "new values" ? "" : bench::spread(by_eigen, 0, 1e3)});
  };
  row("all", ours, theirs);
  row("new values", updated, refactored);
}
}  // namespace

int main(int argc, char** argv) {
  index_t const n = bench::argument(argc, argv, 1, 300);
  int const repetitions = int(bench::argument(argc, argv, 2, 7));
  auto const cube = index_t(std::lround(std::pow(double(n * n), 1.0 / 3) * 0.7));
  bench::heading("Direct solvers of SuiteSparse");
  std::cout << "all: solve(A, b, method{}) beside analysis, factors and solution by the library alone; new values: update(A) and solve(b) beside factors and solution. "
               "Ours look at A, compute the true residual, and refine where that is wanted. Time of the processor in the calling thread, of "
            << threads_in_use() << " in use; the BLAS is the system's.\n\n";
  bench::table out({"problem", "what", "ms", "ms of the library alone", "ratio", "target", "ms by Eigen"});
  auto const square = problems::poisson<double>({n, n});
  compare<bare_cholmod>(out, text("cholmod, 2-D Poisson, ", n, " x ", n), square, repetitions, cholmod{}, cholesky{});
  if (n > 500) return 0;  // factors in space, and UMFPACK's, fill up
  compare<bare_cholmod>(out, text("cholmod, 3-D Poisson, ", cube, "^3"), problems::poisson<double>({cube, cube, cube}), repetitions, cholmod{}, cholesky{});
  compare<bare_umfpack>(out, text("umfpack, 2-D convection, ", n, " x ", n), problems::convection_diffusion<double>({n, n}, {3.0, 1.0}), repetitions, umfpack{}, lu{});
}
