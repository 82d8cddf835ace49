// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pieces of unequal sizes between the ranks of an axis, `all_to_all<"ep", Varying>(x, splits{send})`: rows of a Varying go to the
// ranks that a table gives them. Parts of one tensor, whose sizes a family states, are exchanged in dist/step/collectives.hpp.
#pragma once

#include <concepts>
#include <numeric>
#include <utility>
#include <vector>

#include <sla/dist/step/steps_gradient.hpp>
#include <sla/spmd/schedule/outline_operators.hpp>

namespace sla {

/// How many rows go to each rank of an axis, and how many come from each; without the second table the ranks are asked.
struct splits {
  std::vector<index_t> send, receive = {};
};

namespace detail {
/// Errors: shape_error, if a table has another length than there are ranks, a number below 0, or does not add up.
template <class = void>
void require_splits(splits const& s, index_t rows, any_communicator& c) {
  auto const check = [&](std::vector<index_t> const& table, char const* name) {
    if (index_t(table.size()) != c.size())
      throw shape_error(text("all_to_all(x, splits) on rank ", c.rank(), ": the table `", name, "` has ", table.size(), " numbers, and there are ",
                             c.size(), " ranks"));
    for (index_t n : table)
      if (n < 0) throw shape_error(text("all_to_all(x, splits) on rank ", c.rank(), ": the table `", name, "` has ", n, " rows for a rank"));
  };
  check(s.send, "send");
  if (!s.receive.empty()) check(s.receive, "receive");
  if (index_t const sum = std::accumulate(s.send.begin(), s.send.end(), index_t(0)); sum != rows)
    throw shape_error(text("all_to_all(x, splits) on rank ", c.rank(), ": the table `send` gives away ", sum, " rows, and x has ", rows));
}
/// The same tables with what comes from each rank, where all fit. Collective.
template <class = void>
splits answered(splits s, index_t rows, any_communicator& c) {
  together(c, [&] { return require_splits(s, rows, c), 0; });
  if (!s.receive.empty()) return s;
  std::vector<std::size_t> const one(s.send.size(), 1);
  s.receive.resize(s.send.size());
  all_to_all(c, std::span<index_t const>(s.send), one, std::span<index_t>(s.receive), one);
  return s;
}
template <class Local>
auto exchanged_rows(Local const& x, splits const& s, any_communicator& c) {
  using Out = resized_t<Local, 0>;
  auto const inner = around(x.extents(), 0).second;
  auto const elements = [inner](std::vector<index_t> const& rows) {
    std::vector<std::size_t> out;
    for (index_t n : rows) out.push_back(std::size_t(n * inner));
    return out;
  };
  Out y(with_extent<typename Out::extents_type>(x.extents(), 0, std::accumulate(s.receive.begin(), s.receive.end(), index_t(0))), uninitialized);
  all_to_all(c, elements_of(x), elements(s.send), elements_of(y), elements(s.receive));
  return y;
}
template <class S>
constexpr bool goes_by_splits() {
  constexpr bool goes = S::how == step::all_to_all && std::same_as<typename S::to, Varying>;
  static_assert(goes, "sla: all_to_all<axis, P>(x, splits): rows go from a Varying to a Varying; what a Shard holds, its family says");
  return goes;
}
template <class Local>
constexpr bool require_rows() {
  constexpr bool has_rows = local_dims<Local>::rank > 0;
  static_assert(has_rows, "sla: all_to_all<axis, Varying>(x, splits): x has rows to give away: a tensor of one dimension at least");
  return has_rows;
}
} // namespace detail

/// Each rank's first send[0] rows go to rank 0, the next send[1] to rank 1, and so on; the rows that come lie in the order of the
/// ranks. Placement: Varying to Varying. Gradient: the all_to_all back, with the tables exchanged. Collective.
/// Cost: one all_to_all of the rows, an all_reduce of a number, and without `receive` an all_to_all of a number for each rank.
/// Errors, on all ranks: shape_error, if a table does not fit.
template <StepOn S, DistributedExpr X>
auto perform(S rows, X const& x, splits const& s) {
  if constexpr (!is_distributed<X>) {
    return perform(rows, eval(x), s);
  } else if constexpr (!detail::goes_by_splits<S>()) {
    return x;
  } else {
    using decided = detail::step_decision<S, X>;
    decided::require();
    constexpr bool has_rows = detail::require_rows<local_of_t<X>>();
    if constexpr (decided::legal && has_rows) {
      auto& c = x.mesh().communicator(decided::at);
      auto local = detail::exchanged_rows(x.local(), detail::answered(s, x.local().extent(0), c), c);
      return typename detail::distributed_with<decltype(local), mesh_of_t<X>, placements_of_t<X>>::type(std::move(local), x.handle());
    } else {
      return x;
    }
  }
}
template <StepOn S, detail::TracedSteppable X>
auto perform(S rows, X const& x, splits const& s) {
  auto& c = x.value().mesh().template communicator<S::axis>();
  auto value = perform(rows, x.value(), s);
  splits both = s;
  if (both.receive.empty()) both = detail::answered(std::move(both), x.value().local().extent(0), c);
  auto rule = linear_in(
      x, [rows, both](auto const&, auto const& g) { return perform(rows, g, splits{both.receive, both.send}); },
      [rows, both](auto const&, auto const& d) { return perform(rows, d, both); });
  return record(x.home(), std::move(value), std::move(rule));
}
/// The same of outlines. A schedule knows no sizes: the rows that come are open, and any tables do, `splits{}`.
template <StepOn S, detail::DenseOutline X>
constexpr auto perform(S, X const& x, splits const&) {
  using Local = typename X::local_type;
  using decided = detail::step_decision<S, X>;
  decided::require();
  if constexpr (detail::goes_by_splits<S>() && decided::legal && detail::require_rows<Local>()) {
    using After = shape_only<typename X::value_type, typename detail::resized_extents<typename Local::extents_type, 0, dyn>::type>;
    return detail::after_step<After, placements_of_t<X>>(x, scheduled_step(detail::transition_of<step::all_to_all, Varying, Varying>(), decided::at));
  } else {
    return x;
  }
}

} // namespace sla
