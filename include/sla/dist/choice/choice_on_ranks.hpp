// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `solve(D, b)` on ranks: what the automatic choice asks of a matrix whose rows are on ranks, or that each has whole. The choice is that of one rank, in
// solve/linear/choose.hpp: all ranks see the same numbers, and decide alike.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sla/dist/choice/factors_on_ranks.hpp>
#include <sla/dist/choice/properties_on_ranks.hpp>
#include <sla/dist/multigrid/amg_on_ranks.hpp>
#include <sla/dist/multigrid/recognise_slabs.hpp>
#include <sla/solve/linear/choose.hpp>

namespace sla::detail {

/// The grid that D may be, by a few rows of each rank. Collective.
template <class D>
grid_guess guess_grid_on_ranks(D const& d) {
  using S = typename local_of_t<D>::shape_type;
  if constexpr (is_complex<typename D::value_type> || S::is_batched || S::is_blocked) {
    return grid_guess::none;
  } else {
    auto const shape = shape_on_ranks(d);
    if (!shape) return grid_guess::none;
    global_places<D> const places{d};
    auto const& A = d.local();
    grid_couplings seen;
    if (A.rows() > 0)
      seen.look_at(*shape, A.rows(), [&](index_t i, auto const& f) {
        A.pattern().view().for_row(i, [&, at = places.row(i)](index_t s, index_t j) { f(places.col(j) - at, double(A.values()[s])); });
      });
    std::int64_t found[] = {seen.strongest[0], seen.strongest[1], seen.strongest[2], !seen.apart};
    all_reduce(sharing(d), std::span<std::int64_t>(found), monoid::maximum);
    return grid_couplings{{found[0] > 0, found[1] > 0, found[2] > 0}, found[3] == 0}.guess();
  }
}
/// The rows of a rank's own block.
template <class View>
struct rows_of_own_block {
  View view;
  index_t rows, cols;
  template <class F>
  void for_row(index_t i, F const& f) const {
    view.for_row(i, [&](index_t s, index_t j) {
      if (j < cols) f(s, j);
    });
  }
};
/// The mean of how much denser products are of each rank's own block. Collective.
template <class D>
double growth_on_ranks(D const& d) {
  auto const view = d.local().pattern().view();
  double const count = double(d.local().rows());
  double sums[] = {count * growth_of_products(rows_of_own_block<std::remove_const_t<decltype(view)>>{view, d.local().rows(), d.handle()->halo->own()}), count};
  all_reduce(sharing(d), std::span<double>(sums));
  return sums[1] > 0 ? sums[0] / sums[1] : 1;
}

/// Factors are those of the first rank, of 20 000 rows at most; of copies each rank makes its own.
template <class T, class S, class F, class Mesh, class... P>
struct choice_world<distributed<sparse_tensor<T, S, F, host_memory>, Mesh, P...>> {
  using A = distributed<sparse_tensor<T, S, F, host_memory>, Mesh, P...>;
  static constexpr bool is_shared = true, on_ranks = owners_axis<placements<P...>> >= 0;
  static constexpr bool is_gathered = may_be_gathered<A>;
  static constexpr index_t most_gathered_rows = 20000;  ///< more are not gathered for factors
  template <factorization Kind>
  using factors = std::conditional_t<is_gathered, factor_on_first<Kind>, factor<Kind>>;

  template <class Candidates = candidates>
  static Candidates look(A const& a, int max_iterations) {
    auto grid = grid_guess::none;
    double growth = 1;
    bool whole = true;
    if constexpr (on_ranks) grid = guess_grid_on_ranks(a), growth = growth_on_ranks(a), whole = sharing(a).size() == 1;
    auto out = choose<Candidates>(properties_on_ranks(a), max_iterations, grid, growth, whole);
    auto const factored = std::find_if(out.steps.begin(), out.steps.end(), [](choice_step const& s) { return is_factors(s.what); });
    if (on_ranks && factored != out.steps.end() && (!is_gathered || out.rows > most_gathered_rows)) {
      out.why += is_gathered ? text(", of more than ", most_gathered_rows, " rows, which no rank gathers for factors") : text(", whose factors no rank makes");
      std::erase_if(out.steps, [](choice_step const& s) { return is_factors(s.what); });
      auto const stays = [&](candidate what) { return std::any_of(out.steps.begin(), out.steps.end(), [&](choice_step const& s) { return s.what == what; }); };
      if (!stays(candidate::minres_row_norms) && !stays(candidate::gmres_row_norms)) out.steps.push_back({stays(candidate::cg_jacobi) ? candidate::minres_row_norms : candidate::gmres_row_norms, max_iterations});
    }
    return out;
  }
  static constexpr index_t block_rows() { return S::block_rows; }
  static std::pair<index_t, index_t> levels(A const& a) {
    if constexpr (!is_gathered) {
      auto const [narrow, wide] = rows_of_levels(a.local().pattern().view());  // of copies
      double numbers[] = {double(narrow), double(wide)};
      agree(a, numbers);
      return {index_t(numbers[0]), index_t(numbers[1])};
    } else {
      auto const whole = whole_on_first(a);
      auto const found = on_first(a, [&] {
        auto const [narrow, wide] = rows_of_levels(whole.pattern().view());
        return std::array{narrow, wide};
      });
      return {found[0], found[1]};
    }
  }
  static factor_cost cost(A const& a, double most, bool exchanges) {
    if constexpr (is_gathered) {
      auto const whole = whole_on_first(a);
      return on_first(a, [&] { return cost_of_factors(whole, most, exchanges); });
    } else {
      factor_cost out = cost_of_factors(a.local(), most, exchanges);  // of copies
      double numbers[] = {out.entries, out.operations};
      agree(a, numbers);
      return {numbers[0], numbers[1]};
    }
  }
  static void agree(A const& a, std::span<double> numbers) { all_reduce(a.mesh().world(), numbers, monoid::maximum); }
  static void agree(A const& a, std::string& words) {
    std::vector<char> told(words.begin(), words.end());
    broadcast(a.mesh().world(), told);
    words.assign(told.begin(), told.end());
  }
};

} // namespace sla::detail
