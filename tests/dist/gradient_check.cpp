// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// check_gradient of distributed arguments: right gradients pass on any number of ranks with one outcome, wrong ones do not. Solves on ranks, by
// <g, d> = J d and Taylor remainders of rate 2.0 +- 0.05.
#include <sstream>

#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/dual_on_ranks.hpp"
#include "suites/partition.hpp"

using namespace sla;
using gradient::untraced;

namespace gradient_check_on_ranks {
namespace {
using Rows = mesh<axis<"rows">>;
gradient_check_options const quiet{.step = 0.01, .out = nullptr};
}  // namespace

TEST_CASE("a solve by rows, with a replicated weight") {
  auto const A = problems::poisson<double>({6, 5});
  auto const b = random<double>(30, 1), w = random<double>(8, 2);
  for (int ranks : {1, 2, 4}) {
    auto const seen = threads::run(ranks, [&](auto& world) {
      Rows m(world);
      auto const D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, ranks == 4));
      auto const rhs = distribute(b, D.row_layout());
      auto const f = [&](auto const& a, auto const& c) { return squared_norm(solve(a, c, cg{.rtol = 1e-13}, jacobi{})); };  // a stays symmetric
      auto const solved = check_gradient(f, std::tie(D, rhs), quiet);
      auto const copies = check_gradient([](auto const& c) { return squared_norm(exp(convert<"rows", Shard<0>>(c))); }, std::tuple(distribute<Replicate>(w, m)), quiet);
      std::ostringstream out;
      auto const wrong = check_gradient([](auto const& c) { return dot(untraced(c), exp(c)); }, std::tie(rhs), {.out = &out});
      return std::array<double, 7>{double(solved.outcome == gradient_outcome::right), double(copies.outcome == gradient_outcome::right),
                                   double(wrong.outcome == gradient_outcome::wrong), double(out.str().empty()), solved.slope, copies.derivative, wrong.difference};
    });
    for (std::size_t r = 0; r < seen.size(); ++r) {
      CHECK((seen[r][0] == 1 && seen[r][1] == 1 && seen[r][2] == 1));
      CHECK((seen[r][3] == 0) == (r == 0));  // rank 0 prints
      for (std::size_t k = 4; k < 7; ++k) CHECK(seen[r][k] == seen[0][k]);
    }
  }
}

TEST_CASE("solves on ranks, iterative and by factors") {
  auto const A = problems::poisson<double>({6, 5}), C = problems::convection_diffusion<double>({6, 5}, {6.0, -3.0});
  auto const b = random<double>(30, 1);
  auto const cubes = [](auto const& x) { return sum(x * x * x); };
  gradient::check_dual_on_ranks([&](auto const& a, auto const& c) { return cubes(solve(a, c, cg{.rtol = 1e-13}, jacobi{})); }, std::tie(A, b), {.accuracy = 1e-10});
  gradient::check_dual_on_ranks([&](auto const& a, auto const& c) { return cubes(solve(a, c, bicgstab{.rtol = 1e-13}, ilu0{})); }, std::tie(C, b), {.accuracy = 1e-9});
  gradient::check_dual_on_ranks([&](auto const& a, auto const& c) { return cubes(solve(a, c, lu{})); }, std::tie(C, b), {.accuracy = 1e-11});
}

TEST_CASE("complex columns, whose values are those of no other rank") {
  using complex_t = std::complex<double>;
  auto const A = cast<complex_t>(problems::poisson<double>({6, 5}));
  auto const x = random<complex_t>(30, 1);
  for (bool right : threads::run(3, [&](auto& world) {
         Rows m(world);
         auto const C = distribute<SparseShard<1>>(A, m);
         auto const f = [](auto const& a, auto const& v) { return squared_norm(reduce_scatter<"rows", Shard<0, Part<>>>(a * v)); };
         return check_gradient(f, std::tuple(C, distribute(x, C.col_layout())), quiet).outcome == gradient_outcome::right;
       }))
    CHECK(right);
}
}  // namespace gradient_check_on_ranks
