// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `solve` of systems of different sizes, packed (tensor/sparse_list.hpp): one run of a method, in which each system has its own
// scalars, stop test and report (exec/list.hpp).
#pragma once

#include <utility>
#include <vector>

#include <sla/exec/list.hpp>
#include <sla/solve/linear.hpp>

namespace sla {

namespace detail {
/// Where a list is solved unless an option says otherwise.
struct make_listed_host {
  host_space<true, packed_systems> operator()(frame packed, packed_systems const& systems) const { return host_space<true, packed_systems>(packed, systems); }
};
inline constexpr on_space<make_listed_host> on_listed_host{};

/// The space that `make` returns for packed vectors and for the backend of their systems.
template <class MakeSpace>
struct make_list_space {
  packed_systems systems;
  MakeSpace make;
  auto operator()(frame packed) const {
    constexpr bool takes_systems = std::is_invocable_v<MakeSpace const&, frame, packed_systems const&>;
    static_assert(takes_systems, "sla: solve(list, b, on(make)): make takes a frame and the systems, and returns a space of them: "
                                 "on([](frame f, auto const& systems) { return basic_deferred(f, 4, systems); })");
    if constexpr (takes_systems)
      return make(packed, systems);
    else
      return make_listed_host{}(packed, systems);
  }
};
} // namespace detail

/// Where to solve with A.packed(), so that its systems stop each by itself: the option that `solve(A, b)` adds. With it
/// packed vectors, `prepare(A.packed(), ...)` and traced tensors work like lists:
///     auto s = prepare(A.packed(), cg{}, ilu0{});   auto x = s.solve(A.pack_rows(b), per_system(A));
/// `where`: on(make), as of `solve(A, b)`; make(frame, systems) returns a space with the backend `systems`.
template <class T, class S, class F, class MakeSpace = detail::make_listed_host>
auto per_system(sparse_list<T, S, F> const& A, on_space<MakeSpace> const& where = detail::on_listed_host) {
  return on(detail::make_list_space<MakeSpace>{packed_systems(A.row_cuts()), where.make});
}

/// x[k] with A[k] x[k] = b[k] for each system of a list; b[k] is (M_k, p), or has one more axis of right-hand sides. Each
/// system stops by itself, and report.items has one item per system and right-hand side. Options as for one system, but that
/// on(make) calls make(frame, systems).
/// Law: |b[k] - A[k] x[k]| <= max(rtol |b[k]|, atol). Errors: solve_error, with the report of all; shape_error that names the system.
template <class T, class S, class F, class U, class E, detail::SolveOption... Options>
auto perform(op::try_solve, sparse_list<T, S, F> const& A, std::vector<tensor<U, E>> const& b, Options const&... options) {
  for (index_t k = 0; k < A.count(); ++k)
    if (A.rows(k) != A.cols(k)) throw shape_error(text("solve(list, b): system ", k, " is ", A.rows(k), " x ", A.cols(k), ", and must be square"));
  for (std::size_t k = 0; k < b.size(); ++k) detail::require_finite(b[k], text("b[", k, ']').c_str());
  detail::none const absent{};
  auto const& begin = detail::pick<detail::wants_guess>(absent, options...);
  auto const where = per_system(A, detail::pick<detail::wants_space>(detail::on_listed_host, options...));
  auto const packed = A.pack_rows(b);
  auto unpacked = [&](auto&& solved) {
    auto x = A.unpack_cols(solved.x);
    return solution<decltype(x)>{std::move(x), std::move(solved.report)};
  };
  if constexpr (std::same_as<std::remove_cvref_t<decltype(begin)>, detail::none>) {
    return unpacked(try_solve(A.packed(), packed, where, options...));
  } else {
    auto const x0 = A.pack_cols(*begin.x);
    return unpacked(try_solve(A.packed(), packed, where, initial_guess(x0), options...));
  }
}
template <class T, class S, class F, class U, class E, detail::SolveOption... Options>
auto perform(op::solve, sparse_list<T, S, F> const& A, std::vector<tensor<U, E>> const& b, Options const&... options) {
  return detail::solved(perform(op::try_solve{}, A, b, options...));
}

} // namespace sla
