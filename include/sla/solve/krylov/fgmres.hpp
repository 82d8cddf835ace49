// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flexible GMRES: restarted, for general A and a right preconditioner that may change from step to step, such as an inner
// iteration (Saad 1993; Saad, Iterative Methods for Sparse Linear Systems, algorithm 9.6). The cycles are arnoldi.hpp.
#pragma once

#include <sla/solve/krylov/arnoldi.hpp>

namespace sla {

/// Options of the method, and its name: `solve(A, b, fgmres{}, inner(gmres{.max_iterations = 5}, jacobi{}))`. At most
/// Capacity basis vectors.
/// Cost: four passes per iteration, which read the basis twice. Memory: 2 restart + 1 vectors.
/// Errors: a restart beyond the capacity.
template <int Capacity>
struct basic_fgmres {
  int restart = Capacity < 30 ? Capacity : 30;
  relative_tolerance rtol = default_rule().rtol;
  double atol = default_rule().atol;
  int max_iterations = default_rule().max_iterations;
  observer watch = {};

  using method_tag = void;
  using flexible_tag = void;
  static constexpr char const* name = "fgmres";
  static constexpr bool needs_definite = false;

  /// Improves x until `make_stop`'s test is content. Returns one progress per item.
  template <class S, class A, class M, class V, class MakeStop>
    requires Space<S, V> && LinearOperator<A, V> && LinearOperator<M, V>
  auto run(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) const {
    return detail::arnoldi_cycles<Capacity, detail::right_preconditioner::varying>(*this, space, a, m, b, x, make_stop);
  }
};

/// `basic_fgmres` of at most 32 basis vectors.
using fgmres = basic_fgmres<32>;

} // namespace sla
