// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `solve` of systems of different sizes, packed (tensor/arrange/sparse_list.hpp): one run of a method, in which each system has its own
// scalars, stop test and report (exec/list_space.hpp).
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sla/exec/list_space.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/seam/numbered_error.hpp>

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

namespace detail {
/// f(), whose errors name a system and its rows in the place of those of the packed tensor.
template <class List, class F>
auto with_systems(List const& A, F const& f) {
  try {
    return f();
  } catch (numbered_error const& e) {
    std::size_t k = 0;
    auto const in_system = [&](std::vector<index_t> const& cuts) {
      return [&](index_t at) {
        k = std::size_t(std::upper_bound(cuts.begin(), cuts.end() - 1, at) - cuts.begin()) - 1;
        return at - cuts[k];
      };
    };
    using S = typename List::packed_type::shape_type;
    std::string const told = e.words().with(S::block_rows, S::block_cols, in_system(*A.row_cuts()), in_system(*A.col_cuts()));
    throw value_error(text(told, " (of system ", k, " of the list)"));
  }
}
/// All systems in one run of a method, from begin: a guess of all, or none.
template <class T, class S, class F, class U, class E, class Begin, class... Options>
auto solve_packed(sparse_list<T, S, F> const& A, std::vector<tensor<U, E>> const& b, Begin const& begin, Options const&... options) {
  auto const where = per_system(A, pick<wants_space>(options..., on_listed_host));
  auto const packed = A.pack_rows(b);
  auto unpacked = [&](auto&& solved) {
    auto x = A.unpack_cols(solved.x);
    return solution<decltype(x)>{std::move(x), std::move(solved.report)};
  };
  if constexpr (std::same_as<Begin, none>) {
    return unpacked(try_solve(A.packed(), packed, where, options...));
  } else {
    auto const x0 = A.pack_cols(*begin.x);
    return unpacked(try_solve(A.packed(), packed, where, initial_guess(x0), options...));
  }
}

/// The report of one more system of a list, behind those before.
template <class Report>
void append(Report& all, Report const& one) {
  std::size_t const before = all.items.size(), steps = (std::max)(all.history.size(), one.history.size());
  auto const padded = [steps](auto history, auto const& items) {
    while (history.size() < steps) history.push_back(history.empty() ? items : history.back());
    return history;
  };
  auto const more = padded(one.history, one.items);
  all.history = padded(std::move(all.history), all.items);
  for (std::size_t n = 0; n < steps; ++n) all.history[n].insert(all.history[n].end(), more[n].begin(), more[n].end());
  bool const ends = (all.converged() || all.limited_by_rounding) && (one.converged() || one.limited_by_rounding);
  all.limited_by_rounding = ends && (all.limited_by_rounding || one.limited_by_rounding);
  all.items.insert(all.items.end(), one.items.begin(), one.items.end());
  if (all.method.empty()) all.method = one.method, all.preconditioner = one.preconditioner, all.rtol = one.rtol;
  if (!one.choice.empty() && (before == 0 || all.choice.empty())) all.choice = one.choice;
  all.seconds_setup += one.seconds_setup, all.seconds_solve += one.seconds_solve;
  all.bytes = (std::max)(all.bytes, one.bytes), all.runs = (std::max)(all.runs, one.runs);
}

/// The systems one after the other; for those whose method cannot be set up x = 0, and the report says why. None, if there are no others.
template <class T, class S, class F, class U, class E, class Begin, class... Options>
auto solve_each(sparse_list<T, S, F> const& A, std::vector<tensor<U, E>> const& b, Begin const& begin, Options const&... options) {
  auto const one = [&](index_t k) {
    std::vector const right{b[std::size_t(k)]};
    if constexpr (std::same_as<Begin, none>) {
      return solve_packed(A.systems(k, k + 1), right, begin, options...);
    } else {
      std::vector const x0{(*begin.x)[std::size_t(k)]};
      return solve_packed(A.systems(k, k + 1), right, guess<std::remove_const_t<decltype(x0)>>{&x0}, options...);
    }
  };
  using Solution = decltype(one(0));
  std::optional<Solution> out(std::in_place);
  std::string refusals;
  bool any = false;
  for (index_t k = 0; k < A.count(); ++k) {
    auto const& right = b[std::size_t(k)];
    try {
      auto solved = one(k);
      out->x.push_back(std::move(solved.x[0]));
      append(out->report, solved.report);
      any = true;
    } catch (setup_refused const& e) {
      out->x.emplace_back(right.extents());
      bool const solves = double(norm1(right)) == 0;
      report failed;
      index_t const columns = E::rank > domain_extents_t<S>::rank ? right.extent(E::rank - 1) : 1;
      failed.items.assign(std::size_t(columns), {solves ? reason::converged : reason::setup_failed, 0, solves ? 0.0 : 1.0});
      append(out->report, failed);
      add_remark(refusals, "system ", k, ": ", e.what());
    }
  }
  if (!refusals.empty()) add_remark(out->report.choice, refusals);
  if (!any) out.reset();
  return out;
}
} // namespace detail

/// x[k] with A[k] x[k] = b[k] for each system of a list; b[k] is (M_k, p), or has one more axis of right-hand sides. Each
/// system stops by itself, and report.items has one item per system and right-hand side. Options as for one system, but that
/// on(make) calls make(frame, systems).
/// Law: |b[k] - A[k] x[k]| <= max(rtol |b[k]|, atol). Errors: solve_error, with the report of all; shape_error that names the system.
/// Where the method cannot be set up for all, a preconditioner that one system does not have for instance, each is solved by
/// itself, and that one has the reason setup_failed.
template <class T, class S, class F, class U, class E, detail::SolveOption... Options>
auto perform(op::try_solve, sparse_list<T, S, F> const& A, std::vector<tensor<U, E>> const& b, Options const&... options) {
  for (index_t k = 0; k < A.count(); ++k)
    if (A.rows(k) != A.cols(k)) throw shape_error(text("solve(list, b): system ", k, " is ", A.rows(k), " x ", A.cols(k), ", and must be square"));
  for (std::size_t k = 0; k < b.size(); ++k) detail::require_finite(b[k], text("b[", k, ']').c_str());
  detail::none const absent{};
  auto const& begin = detail::pick<detail::wants_guess>(options..., absent);
  if constexpr (!std::same_as<std::remove_cvref_t<decltype(begin)>, detail::none>)
    for (std::size_t k = 0; k < begin.x->size(); ++k) detail::require_finite((*begin.x)[k], text("x0[", k, ']').c_str());
  return detail::with_systems(A, [&] {
    linear_world<std::remove_cvref_t<decltype(A.packed())>>::check(A.packed(), false);
    try {
      return detail::solve_packed(A, b, begin, options...);
    } catch (detail::setup_refused const&) {
      if (A.count() == 1) throw;
      auto out = detail::solve_each(A, b, begin, options...);
      if (!out) throw;
      return *std::move(out);
    }
  });
}
template <class T, class S, class F, class U, class E, detail::SolveOption... Options>
auto perform(op::solve, sparse_list<T, S, F> const& A, std::vector<tensor<U, E>> const& b, Options const&... options) {
  return detail::solved(perform(op::try_solve{}, A, b, options...));
}

} // namespace sla
