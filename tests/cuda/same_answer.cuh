// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A method on the device has the host's answer, with the same bits for every lag.
#pragma once

#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/krylov/minres.hpp>

#include "device.cuh"

namespace on_device {
template <class A, class B, class Method>
void same_answer(A const& a, B const& b, Method const& method, double bound, char const* what) {
  auto const [x, host] = try_solve(a, b, method, jacobi{});
  auto const da = up(a);
  auto const db = up(b);
  auto const [dx, device] = try_solve(da, db, method, jacobi{});
  expect(host.converged() && device.converged(), what);
  expect(distance(x, down(dx)) <= bound, what);
  expect(std::abs(host.iterations() - device.iterations()) <= 1 + host.iterations() / 20, what);
  for (int lag : {0, 1, 32}) {
    auto const late = solve(da, db, method, jacobi{}, on([&](frame f) { return cuda::space(f, lag); }));
    expect(same_bits(down(dx), down(late)), "the same bits for every lag");
  }
}
}  // namespace on_device
