// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of complex systems in blocks with several right-hand sides, by a method that keeps many vectors: an item per system and
// right-hand side.
#include <sla/exec/deferred.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/linear/linear_list.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

using namespace sla;
using complex_t = std::complex<double>;

TEST_CASE("complex blocks and several right-hand sides") {
  std::vector<sparse_tensor<complex_t, Shape<Batch<>, dyn, dyn, Block<2, 2>>>> A;
  using Columns = tensor<complex_t, Extents<dyn, 2, dyn>>;
  std::vector<Columns> b;
  for (index_t n : {20, 1, 33}) {
    A.push_back(cast<complex_t>(to_blocks<2, 2>(problems::poisson<double>({n, 8}))));
    for (index_t s = 0; s < A.back().nnz(); ++s) A.back().values()[4 * s] += complex_t(0, 0.3);
    b.push_back(random<complex_t, Extents<dyn, 2, dyn>>({A.back().rows(), 2, 3}, 5 + b.size()));
  }
  sparse_list const L(A);
  auto const run = [&](auto const&... where) { return try_solve(L, b, gmres{.rtol = 1e-10}, ilu0{}, where...); };
  auto const [x, report] = run();
  REQUIRE(report.items.size() == 9);
  CHECK(report.converged());
  auto const product = L * x;
  for (std::size_t k = 0; k < A.size(); ++k) {
    auto const one = try_solve(A[k], b[k], gmres{.rtol = 1e-10}, ilu0{});
    for (std::size_t c = 0; c < 3; ++c) CHECK(report.items[3 * k + c].iterations == one.report.items[c].iterations);
    CHECK(double(norm(x[k] - one.x)) < 1e-9 * double(norm(x[k])));
    CHECK(double(norm(product[k] - b[k])) < 1e-9 * double(norm(b[k])));
  }
  for (int lag : {0, 4, 32}) {
    INFO("lag " << lag);
    auto const queued = run(on([lag](frame f, auto const& each) { return basic_deferred(f, lag, each); }));
    for (std::size_t k = 0; k < A.size(); ++k) CHECK(std::equal(x[k].begin(), x[k].end(), queued.x[k].begin()));
    for (std::size_t n = 0; n < 9; ++n) CHECK(queued.report.items[n].iterations == report.items[n].iterations);
  }
}
