// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conjugate gradients with ic0, ssor and block_jacobi: the same on the host and on a queue, in fewer iterations than with jacobi;
// a set-up that fails keeps what was.
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/block_jacobi.hpp>
#include <sla/solve/precond/ic0.hpp>
#include <sla/solve/precond/ssor.hpp>

#include "suites/krylov.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {
/// The iterations of cg with a preconditioner that is as good everywhere.
template <class A, class B, class P>
int iterations_everywhere(A const& a, B const& b, P const& p) {
  sla::cg const method{.rtol = 1e-10};
  suite::same_everywhere(a, b, method, p, 1e-7);
  return sla::try_solve(a, b, method, p).report.iterations();
}
}  // namespace

TEST_CASE("iterations fall from jacobi to ssor to ic0") {
  auto const A = sla::problems::poisson({20, 20});
  auto const b = sla::random<double>(400, 1);
  int const jacobi = sla::try_solve(A, b, sla::cg{.rtol = 1e-10}, sla::jacobi{}).report.iterations();
  int const ssor = iterations_everywhere(A, b, sla::ssor{}), better = sla::try_solve(A, b, sla::cg{.rtol = 1e-10}, sla::ssor{.omega = 1.5}).report.iterations();
  int const ic0 = iterations_everywhere(A, b, sla::ic0{});
  CHECK(ssor < jacobi * 3 / 4);
  CHECK(better < ssor);
  CHECK(ic0 < ssor);
  int const by_rows = iterations_everywhere(A, b, sla::block_jacobi{.size = 20});
  CHECK(by_rows < jacobi);
}

TEST_CASE("a shift is reported; a set-up that fails keeps the matrix and the factors") {
  auto A = sla::problems::poisson({8, 8});
  auto const b = sla::random<double>(64, 2);
  auto s = sla::prepare(A, sla::cg{.rtol = 1e-10}, sla::ic0{});
  auto const shared = s;
  auto const x = s.solve(b), w = s.solve_transpose(b);
  CHECK(s.try_solve(b).report.preconditioner == "ic0");

  auto broken = A;
  broken.values()[sla::diagonal_positions(A.pattern())[5]] = 0.1;
  CHECK_THROWS_WITH(s.update(broken), ContainsSubstring("ic0: the pivot of row 5"));
  CHECK(s.setups() == 1);
  auto const same = s.solve(b), back = s.solve_transpose(b);
  CHECK(std::equal(x.begin(), x.end(), same.begin()));
  CHECK(std::equal(w.begin(), w.end(), back.begin()));

  for (auto& v : A.values()) v *= 2;
  s.update(A);
  CHECK(s.setups() == 2);
  CHECK(double(sla::norm(b - A * s.solve(b))) <= 1e-10 * double(sla::norm(b)));
  auto const kept = shared.solve(b);
  CHECK(std::equal(x.begin(), x.end(), kept.begin()));

  auto const report = sla::try_solve(broken, b, sla::cg{.rtol = 1e-10, .max_iterations = 5}, sla::ic0{.shift = 1.0}).report;
  CHECK_THAT(report.preconditioner, ContainsSubstring("ic0, shift "));
}
