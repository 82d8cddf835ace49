// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// No preconditioner: M * r is r. The model of every other one: options with a name and `setup(A)`, which returns what stands
// left of `*`, has `adjoint()`, and takes new values by `update(A)`.
#pragma once

#include <sla/expr/dense/node.hpp>

namespace sla {

/// What `identity{}` sets up: M * r is r.
class applied_identity {
public:
  applied_identity adjoint() const { return {}; }
  template <class A>
  void update(A const&) {}
};
template <class X>
X const& operator*(applied_identity const&, X const& x) {
  return x;
}

/// `solve(A, b, gmres{}, identity{})`: no preconditioner.
struct identity {
  using preconditioner_tag = void;
  static constexpr char const* name = "";
  template <class A>
  applied_identity setup(A const&) const {
    return {};
  }
};

} // namespace sla
