// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Direct methods by name on ranks, whose rows the first one gathers: solutions, adjoints, new values, gradients and errors against one rank.
#include <array>
#include <complex>
#include <string>
#include <vector>

#include <sla/dist.hpp>
#include <sla/solve.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"

namespace test_direct {

using namespace sla;
using Rows = mesh<axis<"rows">>;

namespace {
/// f(D, distributed by the layout of its rows) on so many ranks, in strips and without order: what every rank has.
template <class A, class F>
void on_ranks(A const& a, F const& f) {
  for (int ranks : {1, 2, 3, 4, 8})
    for (bool scattered : {false, true})
      for (auto const& rank : threads::run(ranks, [&](auto& world) {
             Rows m(world);
             return f(m, suite::owners_for(a, ranks, scattered));
           })) {
        INFO(ranks << (scattered ? " scattered" : " strips"));
        for (double e : rank) CHECK(e <= 1e-10);
      }
}
/// All that a prepared direct method does, against one rank.
template <class A, class B, class Method>
void check(A const& a, B const& b, Method const& method) {
  auto const one = prepare(a, method);
  B const x = one.solve(b), back = one.solve_adjoint(b), after = solve(3.0 * a, b, method);
  on_ranks(a, [&](auto& m, auto const& owners) {
    auto const D = distribute<SparseShard<0>>(a, m, owners);
    auto const db = distribute(b, D.row_layout());
    auto s = prepare(D, method);
    auto const [y, report] = try_solve(D, db, method);
    double const named = report.method == Method{}.method().name && report.preconditioner.starts_with("factors") && report.converged() && report.bytes > 0 ? 0 : 1;
    double const prepared = norm(gather(s.solve(db)) - x), adjoint = norm(gather(s.solve_adjoint(db)) - back);
    s.update(distribute<SparseShard<0>>(3.0 * a, m, owners));
    return std::array<double, 5>{norm(gather(y) - x), prepared, adjoint, norm(gather(s.solve(db)) - after), named};
  });
}
} // namespace

TEST_CASE("direct methods by name on ranks are those of one rank") {
  auto const A = problems::convection_diffusion<double>({7, 6}, 1.0);
  auto const K = problems::poisson<double>({7, 6});
  check(A, random<double>({42}, 5), lu{});
  check(K, random<double, Extents<dyn, dyn>>({42, 3}, 5), cholesky{});
  check(to_blocks<2, 2>(K), random<double, Extents<dyn, 2>>({21, 2}, 5), ldlt{});
  using C = std::complex<double>;
  check(with_values(cast<C>(A), random<C>(A.nnz(), 4)), random<C>({42}, 5), lu{});
}

TEST_CASE("gradients of direct solves on ranks are those of one rank") {
  auto const A = problems::convection_diffusion<double>({7, 6}, 1.0);
  auto const b = random<double>({42}, 5), probe = random<double>({42}, 6);
  auto const f = [](auto const& a, auto const& v) { return squared_norm(solve(a, v, lu{})); };
  auto const [value, gA, gb] = value_and_gradient(f, A, b);
  on_ranks(A, [&, value = value, &gA = gA, &gb = gb](auto& m, auto const& owners) {
    auto const D = distribute<SparseShard<0>>(A, m, owners);
    auto const [total, dD, db] = value_and_gradient(f, D, distribute(b, D.row_layout()));
    return std::array<double, 3>{std::abs(total / value - 1), norm(gather(dD) - gA) / norm(gA), double(norm(gather(db) - gb) / norm(gb))};
  });
}

TEST_CASE("direct methods on ranks fail as on one rank, on every rank, with global numbers") {
  triplets<double> t(12, 12);  // constants are the null space of the path of the last rows
  for (index_t i = 0; i < 12; ++i) t.add(i, i, i < 6 ? 2.0 : i == 6 || i == 11 ? 1.0 : 2.0);
  for (index_t i = 7; i < 12; ++i) t.add(i, i - 1, -1.0), t.add(i - 1, i, -1.0);
  auto const L = t.build();
  auto unsymmetric = problems::poisson<double>({4, 3});
  unsymmetric.values()[unsymmetric.nnz() - 2] = 5.0;
  auto const b = random<double>({12}, 5);
  auto const words = [&](auto const& a, auto const& v, auto const& method) {
    try {
      auto const r = try_solve(a, v, method).report;
      return std::string(to_string(r.reason())) + ": " + r.choice;
    } catch (value_error const& e) {
      return std::string(e.what());
    }
  };
  auto const same = [&](auto const& a, auto const& method) {
    std::string const one = words(a, b, method);
    for (int ranks : {1, 2, 3, 4, 8})
      for (auto const& here : threads::run(ranks, [&](auto& world) {
             Rows m(world);
             auto const D = distribute<SparseShard<0>>(a, m, suite::owners_for(a, ranks, ranks == 4));
             return words(D, distribute(b, D.row_layout()), method);
           })) {
        INFO(ranks << " ranks: " << here << "; one: " << one);
        CHECK(here.find(one) != std::string::npos);
      }
    return one;
  };
  CHECK(same(L, lu{}).starts_with("matrix is singular"));
  CHECK(same(L, ldlt{}).starts_with("zero pivot"));
  auto empty = problems::poisson<double>({4, 3});
  empty.pattern().view().for_row(7, [&](index_t s, index_t) { empty.values()[s] = 0; });
  CHECK(same(empty, lu{}).find("serves row 7") != std::string::npos);
  CHECK(same(unsymmetric, cholesky{}).find("entry (1") != std::string::npos);
}

} // namespace test_direct
