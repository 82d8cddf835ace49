// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schwarz over the ranks with the coarse levels of multigrid across them. That of one rank, and what both are: solve/precond/composed/two_level_schwarz.hpp.
#pragma once

#include <utility>

#include <sla/dist/multigrid/amg_on_ranks.hpp>
#include <sla/dist/solve/schwarz_on_ranks.hpp>
#include <sla/solve/precond/composed/two_level_schwarz.hpp>

namespace sla {

template <class M, class D, class Options, DistributedExpr X>
auto operator*(applied_two_level<rank_schwarz<M, D>, rank_amg<Options, D>> const& m, X&& x) {
  return detail::distributed_like(std::forward<X>(x), [&](auto&& node) { return detail::sum_of_sweeps(m.local.times(node), m.coarse.times(node)); });
}

} // namespace sla
