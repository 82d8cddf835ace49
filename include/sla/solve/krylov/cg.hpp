// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conjugate gradients, preconditioned, for Hermitian positive definite A and M (Hestenes and Stiefel 1952; Saad, Iterative
// Methods for Sparse Linear Systems, algorithm 9.1). One text for host, device and ranks.
#pragma once

#include <sla/solve/seam/stop.hpp>

namespace sla {

/// Options of the method, and its name: `solve(A, b, cg{.rtol = 1e-10}, jacobi{})`.
/// Cost: three passes per iteration; five points in CSR with Jacobi move 160 bytes per unknown. Memory: 4 vectors.
struct cg {
  relative_tolerance rtol = default_rule().rtol;
  double atol = default_rule().atol;
  int max_iterations = default_rule().max_iterations;
  observer watch = {};

  using method_tag = void;
  static constexpr char const* name = "cg";
  static constexpr bool needs_definite = true;

  /// Improves x until `make_stop`'s test is content. Returns one progress per item.
  template <class S, class A, class M, class V, class MakeStop>
    requires Space<S, V> && LinearOperator<A, V> && LinearOperator<M, V>
  static constexpr auto run(S& space, A const& a, M const& m, V const& b, V& x, MakeStop make_stop) {
    using T = typename V::value_type;
    auto r = space.template like<T>(b), z = space.template like<T>(b);
    auto p = space.template like<T>(b), q = space.template like<T>(b);

    auto [rz, rr, bb] = fuse(space, set(r, b - a * x), set(z, m * r), set(p, z), dot_of(r, z), squared_norm_of(r), squared_norm_of(b));
    auto stop = make_stop(space, bb);
    while (stop.go_on(rr)) {
      auto [pq] = fuse(space, set(q, a * p), dot_of(p, q));
      auto alpha = stop.ratio(rz, pq, reason::indefinite_matrix);
      auto [rz2, rr2] = fuse(space, set(r, r - alpha * q), set(z, m * r), dot_of(r, z), squared_norm_of(r));
      auto beta = stop.ratio(rz2, rz, reason::indefinite_preconditioner);
      fuse(space, set(x, x + alpha * p), set(p, z + beta * p));  // x here: p is read once
      rz = rz2, rr = rr2;
    }
    return stop.outcome();
  }
};

} // namespace sla
