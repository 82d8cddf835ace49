// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver and a method on the device's space with simulated blocks: the host's answer, the same bits for every lag.
#pragma once

#include <sla/exec/evaluate.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/fgmres.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "simulated.hpp"

template <class A, class V, class Method>
void same_answer(A const& a, V const& b, Method const& method) {
  using namespace sla;
  auto const [x, wanted] = try_solve(a, b, method, jacobi{});
  REQUIRE(wanted.converged());
  std::vector<V> found;
  for (int lag : {0, 4, 32}) {
    auto const [y, report] = try_solve(a, b, method, jacobi{}, on([lag](frame f) { return simulated_space(f, lag); }));
    INFO("lag " << lag << ": " << report);
    CHECK(report.converged());
    CHECK(report.items.size() == wanted.items.size());
    CHECK(std::abs(report.iterations() - wanted.iterations()) <= 2);
    CHECK(eval(norm(y - x)) <= 1e-7 * eval(norm(x)));
    found.push_back(y);
  }
  CHECK(std::equal(found[0].begin(), found[0].end(), found[1].begin()));
  CHECK(std::equal(found[0].begin(), found[0].end(), found[2].begin()));
}
