// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The automatic choice on ranks of complex matrices, blocks and batches whose rows are spread, against one rank's.
#include <complex>
#include <string>
#include <utility>

#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"

namespace test_automatic_kinds {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
/// solve(D, b) on ranks against one rank: the solution, the kind that the matrix is said to be, and, where `alike`, the method.
template <class A, class B>
void as_on_one_rank(A const& a, B const& b, bool alike) {
  auto const [x, report] = try_solve(a, b);
  auto const kind = [](std::string const& why) { return why.substr(0, why.find(',')); };
  CHECK(report.converged());
  for (int ranks : {1, 2, 3, 4, 8})
    for (bool scattered : {false, true})
      for (auto const& [y, here] : threads::run(ranks, [&](auto& world) {
             Rows m(world);
             auto const D = distribute<SparseShard<0>>(a, m, suite::owners_for(a, ranks, scattered));
             auto s = try_solve(D, distribute(b, D.row_layout()));
             return std::pair(gather(s.x), s.report);
           })) {
        INFO(ranks << (scattered ? " scattered: " : " strips: ") << here.method << " + " << here.preconditioner << ", " << here.choice << "; one: " << report.method << ", " << report.choice);
        CHECK(here.converged());
        CHECK(double(norm(y - x)) <= 1e-5 * double(norm(x)));
        CHECK(kind(here.choice) == kind(report.choice));
        if (alike) CHECK((here.method == report.method && here.choice == report.choice));
      }
}
}  // namespace

TEST_CASE("complex matrices, blocks and batches with rows across ranks are solved as on one rank") {
  using C = std::complex<double>;
  auto const K = problems::poisson<double>({12, 8});
  auto const T = problems::convection_diffusion<double>({12, 8}, 1.0);
  auto hermitian = cast<C>(K);
  for (index_t i = 0; i < K.rows(); ++i)
    K.pattern().view().for_row(i, [&](index_t s, index_t j) { hermitian.values()[s] += C(0, i < j ? 0.25 : i > j ? -0.25 : 0); });
  auto const c = random<C>({96}, 5);
  as_on_one_rank(hermitian, c, true);
  as_on_one_rank(with_values(hermitian, C(0.8, 0.6) * values(cast<C>(K))), c, true);  // complex symmetric
  as_on_one_rank(with_values(cast<C>(T), C(0.8, 0.6) * values(cast<C>(T))), c, true);
  auto const b = random<double, Extents<dyn, 2>>({48, 2}, 5);
  as_on_one_rank(to_blocks<2, 2>(K), b, false);
  as_on_one_rank(to_blocks<2, 2>(T), b, true);
  for (auto const& A : {K, T}) {
    auto batch = to_batch<2>(A);
    for (index_t n = 0; n < A.nnz(); ++n) batch.values()[A.nnz() + n] *= 3.0;
    as_on_one_rank(batch, random<double, Extents<2, dyn>>({2, 96}, 5), false);
  }
}

}  // namespace test_automatic_kinds
