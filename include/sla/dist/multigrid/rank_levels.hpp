// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The levels of multigrid across ranks: those on ranks, until few rows are left, and these on every rank, from which on levels are those of one rank.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sla/dist/halo/overlap.hpp>
#include <sla/dist/multigrid/rank_level.hpp>
#include <sla/dist/solve/mesh_world.hpp>
#include <sla/solve/precond/amg/amg.hpp>

namespace sla::detail {

/// Levels on ranks, and multigrid for the last of them, where all ranks have it whole, in the order of the ranks. M: what `amg` makes of a matrix.
template <class L, class M>
struct rank_levels {
  using T = typename local_of_t<L>::value_type;
  amg_options options;
  bool hermitian = true, reversed = false;
  std::vector<rank_level<L>> levels = {};
  std::shared_ptr<M const> whole = {};
  idle_work<amg_work<T>> idle{};

  bool takes_steps(std::size_t) const { return false; }
  any_communicator& communicator() const { return levels[0].A.halo().communicator(); }
  /// z = M b of the last level, if all ranks have it. Cost: one all_gather.
  bool solve_last(kernel_t<T> const* b, kernel_t<T>* z) const {
    using K = kernel_t<T>;
    if (!whole) return false;
    auto const& rows = *levels.back().A.all->handle()->rows;
    if (rows.ranks() == 1) {
      whole->view().template sweep<false>(b, z, 1);
      return true;
    }
    kept_list<K> from(std::size_t(rows.extent())), to(from.size());
    std::vector<std::size_t> counts;
    for (int r = 0; r < rows.ranks(); ++r) counts.push_back(std::size_t(rows.count(r)));
    all_gather(communicator(), std::span<K const>(b, std::size_t(rows.count())), std::span<K>(from), counts);
    whole->view().template sweep<false>(static_cast<K const*>(from.data()), to.data(), 1);
    std::copy_n(to.data() + rows.first(rows.rank()), rows.count(), z);
    return true;
  }
};
template <class L, class M>
void apply_levels(rank_levels<L, M> const& all, kernel_t<typename local_of_t<L>::value_type> const* x, kernel_t<typename local_of_t<L>::value_type>* out) {
  using Work = amg_work<typename local_of_t<L>::value_type>;
  all.idle.with([&] { return Work(all); }, [&](Work& work) {
    immediate<overlapped> space;
    amg_cycle_from(space, all, work, 0, x, out, all.options.cycle);
  });
}
template <class L, class M, class R>
R largest_of_all(rank_levels<L, M> const& all, R here) {
  return all_reduce(all.communicator(), here, monoid::maximum);
}

/// All rows of A on every rank, in the order of the ranks. Collective.
template <class L>
amg_matrix<typename local_of_t<L>::value_type> whole_on_every_rank(L const& A) {
  auto const& rows = *A.handle()->rows;
  if (rows.ranks() == 1) return A.local();
  index_t const first = rows.first(rows.rank());
  std::vector<index_t> place(static_cast<std::size_t>(rows.count()));
  for (std::size_t i = 0; i < place.size(); ++i) place[i] = first + index_t(i);
  place = with_ghosts(*A.handle()->halo, std::move(place));
  auto const terms = terms_of(A.local(), [&](index_t i, index_t j) { return entry_place{place[std::size_t(i)], place[std::size_t(j)]}; });
  return all_terms<Csr<std::int32_t>>(A.handle()->halo->communicator(), Matrix(rows.extent(), rows.extent()), terms);
}

/// Errors: value_error for options that levels on ranks do not have.
inline void require_levels_on_ranks(amg_options const& o) {
  char const* const what = o.coarsener ? ".near_null" : o.smoother.maker() ? "a preconditioner as .smoother" : o.coarsening == amg_coarsening::grid ? ".coarsening = amg_coarsening::grid" : nullptr;
  if (what)
    throw value_error(text("amg{...} on ranks: levels across ranks do not take ", what, " yet; leave it out, or take schwarz(amg{...}), whose levels are of each rank's rows alone"));
}

/// The levels for A, by the aggregates of `kept`, where that is given. A level of `gathered` rows or fewer is on every rank, as is one of one rank:
/// finish(matrix, level) makes M of it. Aggregates are of one rank's rows, so that they depend on who owns what. Where A is not Hermitian, as amg_levels
/// (solve/precond/amg/level.hpp). Collective. Errors, on every rank: value_error for a zero on the diagonal; those of finish.
template <class M, class L, class Finish>
std::shared_ptr<rank_levels<L, M> const> make_rank_levels(amg_options o, L const& finest, index_t gathered, Finish const& finish, rank_levels<L, M> const* kept = nullptr) {
  using T = typename local_of_t<L>::value_type;
  any_communicator& c = finest.handle()->halo->communicator();
  auto out = std::make_shared<rank_levels<L, M>>();
  auto& levels = out->levels;
  out->options = o;
  rank_matrix<L> A(finest);
  for (int l = 0;; ++l) {
    index_t const n = A.all->handle()->rows->extent();
    bool whole = kept ? std::size_t(l) + 1 == kept->levels.size() && kept->whole : c.size() == 1 || n <= gathered;
    levels.push_back({A, {}, n, all_reduce(c, A.nnz())});
    auto& level = levels.back();
    if (!whole) {
      if (l == 0) {
        require_levels_on_ranks(o);
        if (o.coarsening == amg_coarsening::automatic) out->options.coarsening = o.coarsening = amg_coarsening::smoothed;
        out->hermitian = is_hermitian_on_ranks(finest);
      }
      L const& here = *A.all;
      auto const look = [&](L const& of, int at) { return look_at_rows(of.local(), o.smoother, at); };
      auto rows = l == 0 ? with_local_rows(here, [&] { return look(here, 0); }) : look(here, l);
      std::optional<L> AH;
      std::optional<amg_rows<T>> columns;
      if (!out->hermitian) AH.emplace(stored_transpose<true>(here)), columns.emplace(look(*AH, l + 1));
      if (kept) {
        level.transfer = kept->levels[std::size_t(l)].transfer;
      } else if (l + 1 < o.max_levels) {
        double const theta = o.strength * std::pow(0.5, l);
        auto const groups = [&] {
          if (!AH) return joined_ranks(here, rows, aggregate(here.local(), rows, theta));
          L const sum = sum_on_ranks(1, here, 1, *AH);
          auto const of_sum = look(sum, l + 1);
          return joined_ranks(sum, of_sum, aggregate(sum.local(), of_sum, theta));
        }();
        index_t const count = groups.owners->extent();
        if (count > 0 && 10 * count <= 8 * n) {
          auto left = AH ? std::make_shared<rank_prolongation<L> const>(*AH, groups, *columns, o.coarsening) : nullptr;
          level.transfer = std::make_shared<rank_transfer<L> const>(rank_transfer<L>{{here, groups, rows, o.coarsening}, std::move(left)});
        } else {
          whole = n <= 16 * gathered;
        }
      }
      if (level.transfer) {
        auto const& next = *level.transfer;
        level.P = rank_matrix<L>(next.right(here, rows, o.coarsening));
        level.R = rank_matrix<L>(AH ? stored_transpose<true>((*next.left)(*AH, *columns, o.coarsening)) : stored_transpose<true>(*level.P.all));
        A = rank_matrix<L>(product_on_ranks(*level.R.all, product_on_ranks(here, *level.P.all)));
      }
      level.smoother = std::move(rows.smoother);
    }
    if (whole) {
      auto const all = whole_on_every_rank(*A.all);
      out->whole = together(c, [&] { return std::make_shared<M const>(finish(all, l)); });
    }
    if (!level.transfer) return out;
  }
}

/// The levels for A^H: its cycle is the adjoint. Collective, where A is not Hermitian.
template <class L, class M, class T = typename local_of_t<L>::value_type>
std::shared_ptr<rank_levels<L, M> const> adjoint_levels(std::shared_ptr<rank_levels<L, M> const> const& of) {
  bool const same_visits = of->options.cycle != amg_cycle::F;
  if (of->hermitian && same_visits && !of->whole) return of;
  auto out = std::make_shared<rank_levels<L, M>>(*of);
  if (of->whole) out->whole = std::make_shared<M const>(of->whole->adjoint());
  if (!same_visits) out->reversed = !of->reversed;
  if (of->hermitian) return out;
  for (auto& level : out->levels) {
    level.A = rank_matrix<L>(stored_transpose<true>(*level.A.all));
    if (level.transfer) level.P = rank_matrix<L>(stored_transpose<true>(*std::exchange(level.R, rank_matrix<L>(stored_transpose<true>(*level.P.all))).all));
    for (T& d : level.smoother) d = T(conj_of(to_kernel(d)));
  }
  return out;
}

} // namespace sla::detail
