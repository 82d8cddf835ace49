// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The levels of multigrid across ranks: those on ranks, until few rows are left, and these on every rank, from which on levels are those of one rank.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sla/dist/halo/overlap.hpp>
#include <sla/dist/multigrid/rank_galerkin.hpp>
#include <sla/dist/multigrid/rank_grid.hpp>
#include <sla/dist/multigrid/slab_levels.hpp>
#include <sla/dist/solve/mesh_world.hpp>
#include <sla/solve/precond/amg/amg.hpp>

namespace sla::detail {

/// The scalars of grids, as one rank's multigrid has them.
template <class M>
struct grid_real;
template <class T, class S, class Stored, class GridReal>
struct grid_real<applied_amg<T, S, Stored, GridReal>> {
  using type = GridReal;
};

/// Levels on ranks, and multigrid for the last of them, where all ranks have it whole. M: what `amg` makes of a matrix.
template <class L, class M>
struct rank_levels {
  using T = typename local_of_t<L>::value_type;
  amg_options options;
  bool hermitian = true, reversed = false;
  std::vector<rank_level<L>> levels = {};
  std::shared_ptr<M const> whole = {};
  std::vector<index_t> order = {};  ///< of its rows: where those of the ranks, one after the other, are in it
  std::shared_ptr<rank_grid const> grid = {};  ///< of the finest level, where that is one
  using slabs_type = slab_levels<typename grid_real<M>::type, kernel_t<T>>;
  std::shared_ptr<slabs_type const> slabs = {};  ///< in the place of all levels
  idle_work<amg_work<T>> idle{};

  bool takes_steps(std::size_t) const { return false; }
  any_communicator& communicator() const { return levels[0].A.halo().communicator(); }
  /// z = M b of the last level, if all ranks have it. Cost: one all_gather.
  template <class Space>
  bool solve_last(Space&, kernel_t<T> const* b, kernel_t<T>* z) const {
    using K = kernel_t<T>;
    if (!whole) return false;
    auto const& rows = *levels.back().A.all->handle()->rows;
    if (rows.ranks() == 1) {
      whole->view().template sweep<false>(b, z, 1);
      return true;
    }
    kept_list<K> in_turn(std::size_t(rows.extent())), from(in_turn.size()), to(in_turn.size());
    kept_list<std::size_t> counts(std::size_t(rows.ranks()));
    for (int r = 0; r < rows.ranks(); ++r) counts[std::size_t(r)] = std::size_t(rows.count(r));
    all_gather(communicator(), std::span<K const>(b, std::size_t(rows.count())), std::span<K>(in_turn), counts);
    for (std::size_t k = 0; k < order.size(); ++k) from[std::size_t(order[k])] = in_turn[k];
    whole->view().template sweep<false>(static_cast<K const*>(from.data()), to.data(), 1);
    for (index_t i = 0; i < rows.count(); ++i) z[i] = to[std::size_t(order[std::size_t(rows.first(rows.rank()) + i)])];
    return true;
  }
};
template <class L, class M>
void apply_levels(rank_levels<L, M> const& all, kernel_t<typename local_of_t<L>::value_type> const* x, kernel_t<typename local_of_t<L>::value_type>* out) {
  using T = typename local_of_t<L>::value_type;
  using Work = amg_work<T>;
  if constexpr (!is_complex<T>)
    if (all.slabs) return all.slabs->apply(x, out);
  all.idle.with(all, [&](Work& work) {
    immediate<overlapped> space;
    amg_cycle_from(space, all, work, 0, x, out, all.options.cycle);
  });
}
template <class L, class M, class R>
R largest_of_all(rank_levels<L, M> const& all, R here) {
  return all_reduce(all.communicator(), here, monoid::maximum);
}

/// All rows of A on every rank: this rank's i-th is the place[i]-th of them. Collective.
template <class L>
amg_matrix<typename local_of_t<L>::value_type> whole_on_every_rank(L const& A, std::vector<index_t> place) {
  index_t const n = A.handle()->rows->extent();
  if (A.handle()->rows->ranks() == 1) return A.local();
  place = with_ghosts(*A.handle()->halo, std::move(place));
  auto const terms = terms_of(A.local(), [&](index_t i, index_t j) { return entry_place{place[std::size_t(i)], place[std::size_t(j)]}; });
  return all_terms<Csr<std::int32_t>>(A.handle()->halo->communicator(), Matrix(n, n), terms);
}

/// Errors: value_error for options that levels on ranks do not have.
inline void require_levels_on_ranks(amg_options const& o) {
  char const* const what = o.coarsener ? ".near_null" : o.smoother.maker() ? "a preconditioner as .smoother" : nullptr;
  if (what)
    throw value_error(text("amg{...} on ranks: levels across ranks do not take ", what, " yet; leave it out, or take schwarz(amg{...}), whose levels are of each rank's rows alone"));
}

/// Do the options ask for a grid, or leave it open?
inline bool may_be_grid(amg_options const& o, index_t rows) {
  bool const open = o.coarsening == amg_coarsening::automatic && o.cycle == amg_cycle::V && o.sweeps == 1 && o.smoother.is_usual() && rows >= least_grid_points;
  return open || o.coarsening == amg_coarsening::grid;
}
/// The grid that the finest level may be, if the options ask for it or leave it open; nothing, where it is none. Collective. Errors, on every rank: value_error, if a
/// grid is asked for and A is none.
template <class L>
std::shared_ptr<rank_grid const> wanted_grid(amg_options const& o, L const& A, bool symmetric) {
  std::shared_ptr<rank_grid const> found;
  if constexpr (!is_complex<typename local_of_t<L>::value_type>)
    if (symmetric && may_be_grid(o, A.rows())) found = grid_on_ranks(A);
  if (o.coarsening == amg_coarsening::grid && !found)
    throw value_error("amg{.coarsening = amg_coarsening::grid}: D is not found to be a symmetric operator of 5, 9, 7 or 27 points on a grid whose points are numbered line by line");
  return found;
}
/// Levels of slabs into `out`, if the finest is a grid whose points the ranks have line by line. Collective.
template <class L, class M>
bool set_up_slabs(rank_levels<L, M>& out, L const& finest, index_t gathered) {
  if constexpr (is_complex<typename local_of_t<L>::value_type>) {
    return false;
  } else {
    auto found = recognise_slabs<typename grid_real<M>::type>(finest);
    if (!found) return false;
    auto const grid = std::make_shared<rank_grid>(rank_grid{found->layout.shape, {}, found->rough});
    out.slabs = rank_levels<L, M>::slabs_type::make(finest.handle()->halo->communicator(), finest.handle()->rows, std::move(*found), gathered);
    if (out.slabs) out.grid = grid;
    return out.slabs != nullptr;
  }
}
/// The mean factor by which six steps of conjugate gradients lessen sqrt((r, M r)), from a residual of chance; by which three do, if that is below 0.2 or above 0.4.
/// Collective.
template <class L, class M>
double contraction_on_ranks(rank_levels<L, M> const& all) {
  using T = typename local_of_t<L>::value_type;
  auto const& A = all.levels[0].A;
  index_t const n = A.rows();
  std::vector<T> r(static_cast<std::size_t>(n)), z(r.size()), p(r.size(), T(0)), q(r.size());
  for (index_t i = 0; i < n; ++i) r[std::size_t(i)] = random_at<T>(1, A.all->handle()->rows->global(i));
  auto const product = [&](std::vector<T> const& x, std::vector<T> const& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += double(x[i]) * double(y[i]);
    return all_reduce(all.communicator(), sum);
  };
  immediate<overlapped> space;
  constexpr int steps = 6;
  double first = 0, last = 0, mean = INFINITY;
  for (int k = 0; k <= steps; ++k) {
    apply_levels(all, static_cast<T const*>(r.data()), z.data());
    double const rz = product(r, z);
    if (k == 0) first = rz;
    T const beta = k > 0 && last > 0 ? T(rz / last) : T(0);
    last = rz;
    if (k > 0) mean = first > 0 && last >= 0 ? std::pow(last / first, 0.5 / k) : INFINITY;
    if (!(last > 0) || k == steps || (k == 3 && (mean < 0.2 || mean > 0.4))) break;
    for (std::size_t i = 0; i < r.size(); ++i) p[i] = z[i] + beta * p[i];
    fuse(space, put_at(q.data(), n, A * numbers_at(static_cast<T const*>(p.data()), n)));
    T const alpha = T(last / product(p, q));
    for (std::size_t i = 0; i < r.size(); ++i) r[i] -= alpha * q[i];
  }
  return mean;
}

/// The levels for A, by the aggregates of `kept`, where that is given. A level of `gathered` rows or fewer is on every rank, as is one of one rank:
/// finish(matrix, level, before) makes M of it, of what was kept. Aggregates are of one rank's rows, so that they depend on who owns what. Where A is not Hermitian, as amg_levels
/// (solve/precond/amg/level.hpp). Collective. Errors, on every rank: value_error for a zero on the diagonal; those of finish.
template <class M, class L, class Finish>
std::shared_ptr<rank_levels<L, M> const> make_rank_levels(amg_options o, L const& finest, index_t gathered, Finish const& finish, rank_levels<L, M> const* kept = nullptr) {
  using T = typename local_of_t<L>::value_type;
  any_communicator& c = finest.handle()->halo->communicator();
  auto out = std::make_shared<rank_levels<L, M>>();
  auto& levels = out->levels;
  out->options = o;
  std::shared_ptr<rank_grid const> grid;
  rank_matrix<L> A(finest);
  for (int l = 0;; ++l) {
    index_t const n = A.all->handle()->rows->extent();
    bool whole = kept ? std::size_t(l) + 1 == kept->levels.size() && kept->whole : c.size() == 1 || n <= gathered;
    levels.push_back({A, {}, n, all_reduce(c, A.nnz())});
    auto& level = levels.back();
    if (!whole) {
      L const& here = *A.all;
      if (l == 0) {
        require_levels_on_ranks(o);
        if (may_be_grid(o, n) && (!kept || kept->grid) && set_up_slabs(*out, finest, gathered)) {
          out->options.coarsening = amg_coarsening::grid, o.coarsening = amg_coarsening::smoothed;
          break;
        }
      }
      auto const look = [&](L const& of, int at) { return look_at_rows(of.local(), o.smoother, at); };
      auto rows = l == 0 ? with_local_rows(here, [&] { return look(here, 0); }) : look(here, l);
      if (l == 0) {
        out->hermitian = is_hermitian_on_ranks(finest);
        if (!kept || kept->grid) out->grid = grid = wanted_grid(o, finest, out->hermitian);
        if (kept && (kept->slabs || kept->hermitian != out->hermitian || (kept->grid && !grid))) kept = nullptr;  // its levels are others
        if (o.coarsening != amg_coarsening::plain) o.coarsening = amg_coarsening::smoothed;
        out->options.coarsening = grid ? amg_coarsening::grid : o.coarsening;
      }
      if (grid && !grid->is_wide()) grid = nullptr;  // what is left is aggregated
      std::optional<L> AH;
      std::optional<amg_rows<T>> columns;
      if (!out->hermitian) AH.emplace(stored_transpose<true>(here)), columns.emplace(look(*AH, l + 1));
      if (grid) {
        if constexpr (!is_complex<T>) {
          rows.smoother = vector<T>(grid->omega() * inverse_of_diagonal(cols(here.local(), 0, A.rows()), "amg"));
          auto [P, coarse] = grid->shape.is_plane() ? grid_interpolation<4>(here, *grid) : grid_interpolation<8>(here, *grid);
          level.P = rank_matrix<L>(std::move(P));
          grid = std::make_shared<rank_grid const>(std::move(coarse));
        }
      } else if (kept) {
        level.transfer = kept->levels[std::size_t(l)].transfer;
      } else if (l + 1 < o.max_levels) {
        double const theta = o.strength * std::pow(0.5, l);
        auto const groups = [&] {
          if (!AH) return joined_ranks(here, rows, aggregate(here.local(), rows, theta), gathered);
          L const sum = sum_on_ranks(1, here, 1, *AH);
          auto const of_sum = look(sum, l + 1);
          return joined_ranks(sum, of_sum, aggregate(sum.local(), of_sum, theta), gathered);
        }();
        index_t const count = groups.owners->extent();
        if (count > 0 && 10 * count <= 8 * n) {
          auto left = AH ? std::make_shared<rank_prolongation<L> const>(*AH, groups, *columns, o.coarsening) : nullptr;
          level.transfer = std::make_shared<rank_transfer<L> const>(rank_transfer<L>{{here, groups, rows, o.coarsening}, std::move(left)});
        } else {
          whole = n <= 16 * gathered;
        }
      }
      if (level.transfer) level.P = rank_matrix<L>(level.transfer->right(here, rows, o.coarsening));
      if (level.P.all) {
        auto const turned = AH ? std::make_shared<L const>((*level.transfer->left)(*AH, *columns, o.coarsening)) : level.P.all;
        if (kept && level.transfer) level.galerkin = kept->levels[std::size_t(l)].galerkin;  // whose patterns stay
        if (!level.galerkin) level.galerkin = std::make_shared<rank_galerkin<L> const>(*turned, here, *level.P.all);
        auto [R, next] = (*level.galerkin)(*turned, here, *level.P.all);
        level.R = rank_matrix<L>(std::move(R)), A = rank_matrix<L>(std::move(next));
      }
      level.smoother = std::move(rows.smoother);
    }
    if (whole) {
      auto const places = grid ? grid->point : A.all->handle()->rows->members();  // on a grid line by line, as on one rank
      auto const all = whole_on_every_rank(*A.all, places);
      out->order = all_gather(c, places).values;
      out->whole = together(c, [&] { return std::make_shared<M const>(finish(all, l, kept ? kept->whole.get() : nullptr)); });
    }
    if (!level.P.all) break;
  }
  if constexpr (!is_complex<T>)
    if (out->grid && out->grid->rough && !(contraction_on_ranks(*out) <= 0.4)) return make_rank_levels<M>(o, finest, gathered, finish);  // aggregates follow what is coupled
  return out;
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
