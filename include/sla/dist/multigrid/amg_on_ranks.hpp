// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Algebraic multigrid across ranks, `solve(D, b, cg{}, amg{})`. That of one rank: solve/precond/amg/amg.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/dist/matrix/matrix_functions.hpp>
#include <sla/dist/multigrid/rank_levels.hpp>

namespace sla {

namespace detail {
/// D as the finest level: scalar entries in Csr, the same columns. Errors, on every rank: those of with_scalar_rows.
template <class D>
auto finest_level(D const& d) {
  using L = rank_rows_like<D>;
  return together(d.mesh().world(), [&] {
    return with_scalar_rows(d.local(), "amg", [&](auto const& rows) {
      return L(typename L::local_type(Matrix(rows.rows(), rows.cols()), rows.shared_pattern(), rows.values()), d.handle());
    });
  });
}
/// Are levels made across the ranks of D, or of each rank's own rows: of blocks, of batches, and of rows that lie in another way?
template <class D>
inline constexpr bool has_levels_on_ranks = has_found_rows<placements_of_t<D>> && !local_of_t<D>::shape_type::is_batched && !local_of_t<D>::shape_type::is_blocked;
} // namespace detail

/// Multigrid across the ranks that share D's rows: M * r, M.adjoint() * r, all of them collective. Made by `amg{}.setup(D)`; `std::cout << M` prints a
/// line per level.
template <class Options, class D>
class rank_amg {
  using L = detail::rank_rows_like<D>;
  using S = typename local_of_t<D>::shape_type;
  using M = decltype(std::declval<Options const&>().setup(std::declval<typename L::local_type const&>()));
  using Levels = detail::rank_levels<L, M>;

public:
  using value_type = typename local_of_t<D>::value_type;

  /// Collective.
  rank_amg(Options const& options, D const& d) : options_(options), layout_(d.handle()) { make(d, nullptr); }

  rank_amg adjoint() const {
    rank_amg out = *this;
    out.levels_ = share(detail::adjoint_levels(levels_->front()));
    return out;
  }
  /// New values on the same pattern: aggregates are kept. Where this throws, all ranks are as before. Collective.
  /// Errors, on every rank: shape_error for another pattern.
  void update(D const& d) {
    auto const& before = *levels_->front();
    bool const same = d.local().rows() == before.levels[0].A.rows() && d.local().nnz() == before.levels[0].A.nnz() && d.handle()->halo->same_ghosts(before.levels[0].A.halo());
    if (all_reduce(d.mesh().world(), index_t(!same)) > 0) throw shape_error("amg: update(D) takes another pattern than that of the set-up; set up anew");
    make(d, &before);
  }

  /// The levels of all ranks, from the finest on.
  std::vector<amg_level_size> levels() const {
    auto const& all = *levels_->front();
    std::vector<amg_level_size> out;
    if (all.slabs) {
      for (detail::grid_shape const& s : all.slabs->shapes()) out.push_back({s.points(), s.entries()});
      return out;
    }
    for (auto const& level : all.levels) out.push_back({level.rows, level.entries});
    if (all.whole) {
      out.pop_back();
      for (auto const& level : all.whole->levels()) out.push_back(level);
    }
    return out;
  }
  /// The levels that are on several ranks; the others are on every rank or, of grids in slabs, on one.
  index_t levels_on_ranks() const {
    auto const& all = *levels_->front();
    if (all.slabs) {
      index_t count = 0;
      for (std::size_t l = 0; l < all.slabs->shapes().size(); ++l) count += all.slabs->ranks_of(l) > 1;
      return count;
    }
    return index_t(all.levels.size()) - index_t(all.whole != nullptr);
  }
  /// The entries of all levels over those of D.
  double operator_complexity() const {
    double sum = 0;
    auto const all = levels();
    for (auto const& level : all) sum += double(level.entries);
    return all[0].entries > 0 ? sum / double(all[0].entries) : 1;
  }
  /// What a report adds to the name.
  std::string remark() const {
    auto const& all = *levels_->front();
    if (levels_on_ranks() == 0) return all.whole->remark();
    return text(", ", to_string(all.options.cycle), " of ", levels().size(), " levels, ", levels_on_ranks(), " across ranks, ",
                all.grid ? text("grid ", all.grid->shape.text_of(), ", ", all.grid->shape.stencil(), " points") : text(to_string(all.options.coarsening)));
  }
  detail::rank_levels<L, M> const& hierarchy() const { return *levels_->front(); }

  template <class X>
  auto times(X&& x) const {
    index_t const rows = hierarchy().levels[0].A.rows();
    return detail::swept<S, false>(detail::amg_view<value_type, Levels>{levels_->data(), 1, rows}, rows, std::forward<X>(x), "amg");
  }

private:
  using Shared = std::vector<std::shared_ptr<Levels const>>;
  static std::shared_ptr<Shared const> share(std::shared_ptr<Levels const> levels) { return std::make_shared<Shared const>(Shared{std::move(levels)}); }
  void make(D const& d, Levels const* before) {
    auto const last = [&](auto const& A, int level, M const* kept) {
      if (kept) {
        M next = *kept;
        next.update(A);
        return next;
      }
      auto o = options_;
      if (level > 0 && o.coarsening == amg_coarsening::grid) o.coarsening = amg_coarsening::automatic;
      if (level > 0) o.coarse_only = false;
      o.strength = options_.strength / double(1 << (std::min)(level, 30)), o.max_levels = (std::max)(1, options_.max_levels - level);
      return o.setup(A);
    };
    levels_ = share(detail::make_rank_levels<M>(options_.checked(1), detail::finest_level(d), options_.gathered, last, before));
  }

  Options options_;
  layout_handle<mesh_of_t<D>> layout_;
  detail::held<Shared const, "a preconditioner"> levels_;
};

template <class Options, class D, DistributedExpr X>
auto operator*(rank_amg<Options, D> const& m, X&& x) {
  return detail::distributed_like(std::forward<X>(x), [&](auto&& node) { return m.times(std::move(node)); });
}

template <class Char, class Traits, class Options, class D>
std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, rank_amg<Options, D> const& m) {
  auto const sizes = m.levels();
  auto const& all = m.hierarchy();
  if (all.slabs) {
    out << "amg across " << all.communicator().size() << " ranks" << m.remark() << '\n';
    auto const shapes = all.slabs->shapes();
    for (std::size_t l = 0; l < shapes.size(); ++l)
      out << detail::level_text(index_t(l), sizes[l]) << shapes[l].text_of() << ", " << shapes[l].stencil() << " points, "
          << (l + 1 == shapes.size() ? "factors of a band" : "1 + 1 Jacobi") << ", on " << all.slabs->ranks_of(l) << (all.slabs->ranks_of(l) == 1 ? " rank\n" : " ranks\n");
    return out;
  }
  for (index_t l = 0; l < m.levels_on_ranks(); ++l) {
    auto const& level = sizes[std::size_t(l)];
    out << (l == 0 ? text("amg across ", all.communicator().size(), " ranks", m.remark(), '\n') : text()) << detail::level_text(l, level) << all.options.sweeps << " + " << all.options.sweeps << ' ';
    bool const of_grid = all.grid && !all.levels[std::size_t(l)].transfer;
    out << (of_grid ? "Jacobi" : detail::smoother_text(all.options.smoother, false));
    if (std::size_t(l) + 1 < sizes.size()) out << ", " << sizes[std::size_t(l) + 1].rows << (of_grid ? " points of the next grid" : " aggregates of each rank's rows");
    out << '\n';
  }
  if (all.whole) out << (m.levels_on_ranks() > 0 ? "on every rank: " : "") << *all.whole;
  return out;
}

/// `amg{...}.setup(D)` for D whose rows are on ranks. Errors, on every rank: shape_error, if D is not square; value_error for options out of range, for options
/// that levels across ranks do not have, and naming a row whose diagonal entry is zero or not stored.
template <class Stored, DistributedSparse D>
  requires(detail::sparse_axis<placements_of_t<D>> >= 0)
auto perform(op::setup, amg_in<Stored> const& p, D const& d) {
  if constexpr (detail::has_levels_on_ranks<D>) {
    detail::require_square("amg", "D", d);
    return rank_amg<amg_in<Stored>, D>(p, d);
  } else {
    auto m = detail::with_own_block<amg_in<Stored>>(d, [&](auto const& block) { return p.setup(block); });
    return local_preconditioner<decltype(m)>(std::move(m), d);
  }
}

} // namespace sla
