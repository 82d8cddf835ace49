// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the automatic choice of solve/linear/choose.hpp asks of operators of a kind: `choice_world<A>`. Sparse tensors on the host are here; those on ranks
// are in dist/choice/choice_on_ranks.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sla/solve/direct/direct.hpp>
#include <sla/solve/linear/candidates.hpp>
#include <sla/solve/precond/amg/strength.hpp>

namespace sla::detail {

/// How many rows the narrowest and the widest level have, of a walk over the graph of A that begins far out, in its middle: a dissection takes out about as
/// many. 0 and all, if less than half of the rows are connected to the first.
template <class Rows>
std::pair<index_t, index_t> rows_of_levels(Rows const& rows) {
  std::vector<char> seen;
  std::vector<index_t> order, begins;
  index_t root = 0;
  for (int walk = 0; walk < 2; ++walk) {
    seen.assign(std::size_t(rows.rows), 0), begins.clear(), order = {root};
    seen[std::size_t(root)] = 1;
    for (std::size_t at = 0; at < order.size();) {
      begins.push_back(index_t(at));
      for (std::size_t const end = order.size(); at < end; ++at)
        rows.for_row(order[at], [&](index_t, index_t j) {
          if (!std::exchange(seen[std::size_t(j)], char(1))) order.push_back(j);
        });
    }
    root = order.back();
  }
  auto const reached = index_t(order.size());
  if (2 * reached < rows.rows) return {0, rows.rows};
  begins.push_back(reached);
  std::pair<index_t, index_t> out(reached, 0);
  for (std::size_t k = 0; k + 1 < begins.size(); ++k)
    if (4 * begins[k + 1] > reached && 4 * begins[k] < 3 * reached) out = {(std::min)(out.first, begins[k + 1] - begins[k]), (std::max)(out.second, begins[k + 1] - begins[k])};
  return out;
}

/// Of a batch item for all.
template <class A>
grid_guess guess_of_grid(A const& a) {
  if constexpr (!is_complex<typename A::value_type> && A::shape_type::block_rows == 1 && A::shape_type::block_cols == 1)
    if (a.batch_count() > 0) return guess_grid(a.pattern().view(), a.values().data());
  return grid_guess::none;
}

/// How far its couplings are from symmetric ones; 1, if they are not numbers.
template <class A>
double asymmetry_of(A const& a) {
  if constexpr (!is_complex<typename A::value_type> && A::shape_type::block_rows == 1 && A::shape_type::block_cols == 1)
    if (a.batch_count() > 0) return asymmetry(a.pattern().view(), a.values().data());
  return 1;
}

/// What the choice asks of operators A: the look, the candidates of factors and what they would take. Of those on ranks: dist/choice/choice_on_ranks.hpp.
template <class A>
struct choice_world {
  template <factorization Kind>
  using factors = factor<Kind>;
  static constexpr bool is_shared = false;  ///< by ranks, whose errors are those of all, but for memory that one has not
  static dependent_t<candidates, A> look(A const& a, int max_iterations) {
    if constexpr (Readable<A>) {
      auto const p = properties(a);
      return choose(p, max_iterations, guess_of_grid(a), p.rows < least_multigrid_rows || is_nearly_full(p.rows, p.entries) ? 1 : growth_of_products(a.pattern().view()), true,
                    !p.hermitian && p.opposed_off_diagonal && p.rows >= least_multigrid_rows ? asymmetry_of(a) : 1);
    } else {
      return {};  // refused in solve/linear/linear.hpp
    }
  }
  static constexpr index_t block_rows() { return A::shape_type::block_rows; }
  static std::pair<index_t, index_t> levels(A const& a) { return rows_of_levels(a.pattern().view()); }
  /// exchanges: of LU.
  static factor_cost cost(A const& a, double most, bool exchanges) { return cost_of_factors(a, most, exchanges); }
  /// The largest of all ranks, of each number.
  static void agree(A const&, std::span<double>) {}
  /// The words of the first rank.
  static void agree(A const&, std::string&) {}
};
/// What a report tells the choice, in numbers of which the largest of all ranks counts.
struct told {
  enum { failed, stopped, at_limit, singular, indefinite, exact, open_items, residual, count };
  std::array<double, count> of{};

  template <class A>
  told(A const& a, report const& r) {
    of[failed] = !r.converged(), of[stopped] = r.reason() == reason::stopped, of[at_limit] = r.reason() == reason::iteration_limit;
    of[singular] = r.reason() == reason::singular, of[indefinite] = r.reason() == reason::indefinite_matrix;
    of[exact] = !r.converged() && !r.limited_by_rounding, of[residual] = r.residual();
    of[open_items] = double(std::count_if(r.items.begin(), r.items.end(), [](progress const& item) { return item.state != reason::converged; }));
    choice_world<A>::agree(a, of);
  }
  bool is(int what) const { return of[std::size_t(what)] > 0; }
  double left() const { return of[residual]; }
  bool done() const { return !is(failed) || is(stopped); }
  /// Of two solves that failed: did more of this one's items converge, or as many, and is the worst residual smaller?
  bool is_nearer(told const& o) const {
    if (of[open_items] != o.of[open_items]) return of[open_items] < o.of[open_items];
    return left() < o.left() || (left() == left() && o.left() != o.left());  // NaN is last
  }
};

} // namespace sla::detail
