// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sum of a local preconditioner and a coarse correction, such as additive Schwarz with the coarse levels of multigrid (Dryja and Widlund 1987; Smith, Bjorstad and
// Gropp, Domain Decomposition, section 2.3). On ranks: dist/multigrid/two_level_on_ranks.hpp.
#pragma once

#include <string>
#include <utility>

#include <sla/solve/precond/amg/amg.hpp>
#include <sla/solve/precond/composed/schwarz.hpp>

namespace sla {

namespace detail {
/// The sum of two preconditioners as sweeps see it. Elements: of one right-hand side.
template <class First, class Second>
struct sum_view {
  First first;
  Second second;
  index_t elements;

  template <bool Adjoint, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    kept_list<Out> more(std::size_t(elements * rhs));
    first.template sweep<Adjoint>(x, out, rhs);
    second.template sweep<Adjoint>(x, more.data(), rhs);
    parallel_ranges(elements * rhs, [&, from = static_cast<Out const*>(more.data())](index_t lo, index_t hi) {
      for (index_t i = lo; i < hi; ++i) out[i] = out[i] + from[i];
    });
  }
};
/// The node of both.
template <class FirstView, class SecondView, bool Adjoint, class X>
auto sum_of_sweeps(sweep_node<FirstView, Adjoint, X> const& first, sweep_node<SecondView, Adjoint, X> const& second) {
  using View = sum_view<FirstView, SecondView>;
  return sweep_node<View, Adjoint, X>{View{first.M, second.M, first.x.extents().total() / (std::max)(index_t(1), first.rhs)}, first.x, first.rhs};
}
} // namespace detail

/// M * r = local * r + coarse * r. Made by `two_level_schwarz(inner, {...}).setup(A)`.
template <class Local, class Coarse>
struct applied_two_level {
  using value_type = typename Local::value_type;

  Local local;
  Coarse coarse;

  auto adjoint() const {
    return applied_two_level<decltype(local.adjoint()), Coarse>{local.adjoint(), coarse.adjoint()};
  }
  /// New values on the same pattern. Where this throws, all is as before.
  template <class A>
  void update(A const& a) {
    auto next = *this;
    next.local.update(a), next.coarse.update(a);
    *this = std::move(next);
  }
  /// What a report adds to the name.
  std::string remark() const { return text(local.remark(), ", and coarse levels", coarse.remark()); }
};
template <class Local, class Coarse, Tensorial X>
auto operator*(applied_two_level<Local, Coarse> const& M, X&& x) {
  auto const node = as_node(std::forward<X>(x));
  return detail::sum_of_sweeps(M.local * node, M.coarse * node);
}

/// `solve(A, b, cg{}, two_level_schwarz(ic0{}, {.parts = 64}))`: the sum of Schwarz by subdomains and of the correction that coarse levels of multigrid make,
/// without the smoothing of the finest: iterations hardly grow with the number of subdomains. Hermitian where both are. Levels are of aggregates, as
/// `amg{.coarse_only = true}` makes them; other options of theirs are the third argument. Placement: the host, and rows on ranks. Setup, cost: those of both. Gradient: through the solve.
/// Errors: those of both.
template <class Inner>
struct two_level_schwarz {
  using preconditioner_tag = void;
  using spans_ranks_tag = void;
  static constexpr char const* name = "schwarz";

  schwarz<Inner> local;
  amg coarse;

  explicit two_level_schwarz(Inner inner, schwarz_options o = {}, amg levels = {}) : local(std::move(inner), std::move(o)), coarse(std::move(levels)) { coarse.coarse_only = true; }

  template <class A>
  auto setup(A const& a) const {
    auto first = local.setup(a);
    auto second = coarse.setup(a);
    return applied_two_level<decltype(first), decltype(second)>{std::move(first), std::move(second)};
  }
};

} // namespace sla
