// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preconditioners that need the whole vector at once, as nodes: sweeps over rows, triangular solves of factorisations.
#pragma once

#include <algorithm>
#include <utility>

#include <sla/exec/hoist.hpp>
#include <sla/tensor/storage/parallel.hpp>

namespace sla {

namespace detail {
/// f(b) for each batch item. Items are split among threads, but a single one, or all where they have few entries together.
template <class F>
void for_batch_items(index_t batch, F const& f, index_t entries = serial_below) {
  int const parts = entries < serial_below ? 1 : int((std::min)(index_t(threads_in_use()), batch));
  parallel(parts, [&](int t) {
    for (index_t b = batch * t / parts; b < batch * (t + 1) / parts; ++b) f(b);
  });
}
} // namespace detail

/// M * r for a preconditioner that needs the whole of r at once: `View::sweep<Adjoint>(r, out, rhs)`, a task of the space.
template <class View, bool Adjoint, class X>
struct sweep_node {
  using expression_tag = void;
  using value_type = typename X::value_type;
  using extents_type = typename X::extents_type;
  using memory_type = typename X::memory_type;
  static constexpr reach depth = reach::whole;
  static constexpr bool needs_vector = true;

  View M;
  X x;
  index_t rhs;

  auto extents() const { return x.extents(); }
  template <class Y>
  auto with_operand(Y const& y) const {
    return sweep_node<View, Adjoint, Y>{M, y, rhs};
  }
  template <class F>
  auto rebuild(F const& f) const {
    return sweep_node<View, Adjoint, decltype(f(x))>{M, f(x), rhs};
  }
  template <class F>
  void accesses(F&& f, bool) const {
    x.accesses(f, true);
  }
  template <class Space, class T>
  void apply(Space& space, T* out) const {
    static_assert(memory_type::is_host, "sla: sweeps over rows (ilu0, lu, cholesky, ldlt) run on the host only: use jacobi{} on a device");
    space.run([M = M, x = x.data, rhs = rhs, out] { M.template sweep<Adjoint>(x, out, rhs); });
  }
};

namespace detail {
/// The node of M * x, where M is of a matrix of shape S, and has so many `elements` for each right-hand side.
/// Law: x has the shape of the matrix's range, plus at most one axis of right-hand sides.
template <class S, bool Adjoint, class View, class X>
auto swept(View const& M, index_t elements, X&& x, char const* who) {
  using XE = typename node_t<X>::extents_type;
  constexpr int rank = range_extents_t<S>::rank;
  static_assert(XE::rank == rank || XE::rank == rank + 1, "sla: preconditioner * x: x has the shape of the matrix's range, plus at most one axis of right-hand sides");
  auto node = as_node(std::forward<X>(x));
  index_t const rhs = XE::rank == rank ? 1 : node.extents()[XE::rank - 1];
  if (node.extents().total() != elements * rhs)
    throw shape_error(text(who, " * x: x is ", to_string(node.extents()), ", and should have ", elements * rhs, " elements"));
  return sweep_node<View, Adjoint, decltype(node)>{M, std::move(node), rhs};
}

/// A sweep over vectors of T whose preconditioner is not known here.
template <class T>
struct any_sweep {
  void const* view;
  void (*function)(void const* view, T const* x, T* out, index_t rhs);
  template <bool Adjoint, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    function(view, x, out, rhs);
  }
};
/// A preconditioner M by its sweep alone, so that a method is compiled once for all that sweep. It views `node`, which is M * x.
template <class T>
struct sweeping {
  any_sweep<T> how;
  index_t rhs;

  template <class View, bool Adjoint, class X>
  explicit sweeping(sweep_node<View, Adjoint, X> const& node)
      : how{&node.M, [](void const* view, T const* x, T* out, index_t n) { static_cast<View const*>(view)->template sweep<Adjoint>(x, out, n); }}, rhs(node.rhs) {}
};
template <class T, Tensorial X>
auto operator*(sweeping<T> const& M, X&& x) {
  auto node = as_node(std::forward<X>(x));
  return sweep_node<any_sweep<T>, false, decltype(node)>{M.how, std::move(node), M.rhs};
}
template <class X>
inline constexpr bool is_sweep = false;
template <class View, bool Adjoint, class X>
inline constexpr bool is_sweep<sweep_node<View, Adjoint, X>> = true;
} // namespace detail

} // namespace sla
