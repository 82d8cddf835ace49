// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Restarted, right-preconditioned GMRES for general A (Saad and Schultz 1986; Saad, Iterative Methods for Sparse Linear
// Systems, algorithm 9.5). A preconditioner that changes from step to step wants fgmres.hpp; their cycles are arnoldi.hpp.
#pragma once

#include <sla/solve/krylov/arnoldi.hpp>

namespace sla {

/// Options of the method, and its name: `solve(A, b, gmres{.restart = 20}, ilu0{})`. At most Capacity basis vectors.
/// Cost: four passes per iteration, which read the basis twice. Memory: restart + 2 vectors.
/// Errors: a restart beyond the capacity.
template <int Capacity>
struct basic_gmres {
  int restart = Capacity < 30 ? Capacity : 30;
  relative_tolerance rtol = default_rule().rtol;
  double atol = default_rule().atol;
  int max_iterations = default_rule().max_iterations;
  observer watch = {};

  using method_tag = void;
  static constexpr char const* name = "gmres";
  static constexpr bool needs_definite = false;

  /// Improves x until `make_stop`'s test is content. Returns one progress per item.
  template <class S, class A, class M, class V, class MakeStop>
    requires Space<S, V> && LinearOperator<A, V> && LinearOperator<M, V>
  auto run(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) const {
    return detail::arnoldi_cycles<Capacity, detail::right_preconditioner::fixed>(*this, space, a, m, b, x, make_stop);
  }
};

/// `basic_gmres` of at most 32 basis vectors; it restarts after 30, if not told otherwise.
using gmres = basic_gmres<32>;

} // namespace sla
