// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Systems of a few thousand rows are solved without a team of threads, whatever their number; larger ones start it.
#include <filesystem>

#include <sla/solve.hpp>
#include <sla/solve/precond/ic0.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"

namespace test_small_work {

using namespace sla;

namespace {
/// The threads of this process, of which a team that was started stays a part; 0 where the system does not tell.
long threads_alive() {
  std::error_code none;
  long count = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/task", none); it != std::filesystem::directory_iterator(); ++it) ++count;
  return count;
}
} // namespace

TEST_CASE("a system of a few thousand rows starts no threads") {
  set_threads(4);
  long const before = threads_alive();
  auto const A = problems::poisson<double>({80, 50});
  vector<double> const b = A * ones<double>({4000});
  vector<double> copy = b;
  copy = 2.0 * b + copy;
  CHECK(double(dot(copy, b)) > 0);
  auto const factors = cholesky(A);
  CHECK(double(norm(b - A * factors.solve(b))) <= 1e-10 * double(norm(b)));
  CHECK(double(norm(b - A * factors.solve_transpose(b))) <= 1e-10 * double(norm(b)));
  CHECK(double(norm(b - A * solve(A, b, cg{.rtol = 1e-9}, ic0{}))) <= 1e-8 * double(norm(b)));
  CHECK(double(norm(b - A * solve(A, b, bicgstab{.rtol = 1e-9}, ilu0{}))) <= 1e-8 * double(norm(b)));
  CHECK(threads_alive() == before);

  // The other side of the bounds: light elements, and the entries of a product.
  vector<double> const large = ones<double>({200000});
  CHECK(double(sum(large)) == 200000);
#ifdef _OPENMP
  if (before > 0) CHECK(threads_alive() > before);
#endif
  set_threads(0);
}

TEST_CASE("the work of a pass is that of its statements and products") {
  frame const rows{1, 10000, 1, 1};
  auto const parts = [&](int statements, double entries) {
    block_walk walk(rows, {0, 10000}, 4);
    for (int k = 0; k < statements; ++k) walk.add_statement();
    if (entries > 0) walk.balance({&entries, rows.rows, [](void const* per_row, index_t row) { return *static_cast<double const*>(per_row) * double(row); }});
    return walk.threads();
  };
  CHECK(parts(1, 0) == 1);
  CHECK(parts(6, 0) == 1);
  CHECK(parts(7, 0) == 4);
  CHECK(parts(1, 5) == 1);
  CHECK(parts(1, 6) == 4);
}
} // namespace test_small_work
