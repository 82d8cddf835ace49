// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The levels of multigrid and how they are made: aggregates, prolongation, Galerkin product R A P, until few rows are left. What
// belongs to the pattern is kept, for new values on it.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sla/core/guarded.hpp>
#include <sla/core/held.hpp>
#include <sla/solve/precond/amg/blocks/block_cycle.hpp>
#include <sla/solve/precond/amg/coarsest.hpp>
#include <sla/solve/precond/amg/grid/grid_cycle.hpp>
#include <sla/solve/precond/amg/packed_levels.hpp>
#include <sla/solve/precond/amg/sums.hpp>
#include <sla/solve/precond/amg/sweeps.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/tensor/arrange/transpose.hpp>
#include <sla/tensor/build/entries.hpp>

namespace sla::detail {

/// How a level goes over to the next one: all that new values on the pattern leave as it is.
template <class = void>
struct amg_transfer_of {
  aggregates groups;
  std::shared_ptr<amg_pattern const> pattern, left;  ///< of P, and of R^H: one, where A is Hermitian
  std::shared_ptr<amg_pattern const> down = {}, right = {}, both = {};  ///< of R, of A P, unsorted, which constants have none of, and of R A P

  std::size_t bytes() const { return groups.of.bytes() + (right ? right->bytes() : 0); }
  /// R, of which R^H is given.
  template <class T>
  amg_matrix<T> first_restriction(amg_matrix<T> const& RH) {
    auto R = adjointed(RH);
    return down = R.shared_pattern(), R;
  }
  /// R A P, where that has been made before.
  template <class T>
  amg_matrix<T> product(amg_matrix<T> const& R, amg_matrix<T> const& A, amg_matrix<T> const& P) const {
    if (!right) return summed_over(A, groups.of, R.pattern(), both);
    return multiplied_on(both, R, multiplied_on(right, A, P));
  }
  /// The same, for the first time; nothing, where A P or R A P has more than `most` entries.
  template <class T>
  std::optional<amg_matrix<T>> first_product(amg_matrix<T> const& R, amg_matrix<T> const& A, amg_matrix<T> const& P, bool constants, index_t most = (std::numeric_limits<index_t>::max)()) {
    if (constants) return both = summed_pattern(A, groups.of, R.pattern()), product(R, A, P);
    auto const AP = multiplied_at_once(A, P, false);
    if (AP.nnz() > most) return std::nullopt;
    auto out = multiplied_at_once(R, AP);
    if (out.nnz() > most) return std::nullopt;
    right = AP.shared_pattern(), both = out.shared_pattern();
    return out;
  }
};
using amg_transfer = amg_transfer_of<>;

/// A matrix with its smoother (bytes count a preconditioner once, where it tells them) and, but on the last level, the prolongation P and the restriction R: P^H, where A is Hermitian.
template <class T, class Memory = host_memory>
struct amg_level {
  amg_matrix<T, Memory> A;
  vector<T, Memory> smoother;
  std::shared_ptr<amg_transfer const> transfer = {};
  amg_matrix<T, Memory> P = {}, R = {};
  std::shared_ptr<amg_sweep<T> const> before = {}, after = {};  ///< the smoother, where it is no diagonal
  amli_range range = {};  ///< of the eigenvalues of M A on this level and below, where two steps of Chebyshev's iteration stand for its inverse

  std::size_t bytes() const { return A.bytes() + smoother.values().bytes() + (before ? before->bytes() : 0) + (transfer ? transfer->bytes() + P.bytes() + R.bytes() : 0); }
};

/// The vectors that a cycle writes, per level: right-hand side and correction, which are others' on the finest, and a spare one; what a
/// sweep makes, where it is no diagonal; and the residual and the correction of a second step.
template <class T, class Memory = host_memory>
struct amg_work {
  struct vectors {
    vector<T, Memory> b, x, spare, swept, r, z;
  };
  std::vector<vectors> levels;

  template <class Levels>
  explicit amg_work(Levels const& all) : amg_work(all, [](index_t size) { return vector<T, Memory>({size}, uninitialized); }) {}
  /// of(n): a vector of n numbers.
  template <class Levels, class Of>
  amg_work(Levels const& all, Of const& of) {
    for (std::size_t l = 0; l < all.levels.size(); ++l) {
      index_t const n = all.levels[l].A.rows(), coarse = l > 0 ? n : 0, swept = all.levels[l].before ? n : 0, second = all.takes_steps(l) ? coarse : 0;
      levels.push_back({of(coarse), of(coarse), of(n), of(swept), of(second), of(second)});
    }
  }
};

/// All levels, from the finest on; the dense inverse of the last one, or nothing, where smoothing has to do.
template <class T>
struct amg_hierarchy {
  amg_options options;
  bool hermitian;  ///< as far as A is
  bool reversed = false;  ///< visits of a level, for the adjoint of an F-cycle
  bool doubtful = false;  ///< aggregates were chosen for coefficients that jump from row to row
  std::vector<amg_level<T>> levels;
  std::vector<kernel_t<T>> inverse;
  std::shared_ptr<grid_cycle<kernel_t<T>> const> grid = {};  ///< in the place of all levels
  std::shared_ptr<packed_levels const> packed = {};          ///< in the place of all levels
  std::shared_ptr<block_cycle<kernel_t<T>> const> blocks = {};  ///< in the place of all levels
  std::shared_ptr<amg_hierarchy<single_t<T>>> rounded = {};     ///< in the place of all levels
  idle_work<amg_work<T>> idle{};  ///< kept for the next application

  amg_hierarchy(amg_options o, bool h, std::vector<amg_level<T>> l, std::vector<kernel_t<T>> i) : options(o), hermitian(h), levels(std::move(l)), inverse(std::move(i)) {}

  /// Do two steps of Chebyshev's iteration stand for the inverse on level l, if the range of eigenvalues is known? They are cheap, and the cycle visits
  /// other levels once, where a level has less than a fifth of the entries of the one above, below the first.
  bool takes_steps(std::size_t l) const {
    if (l == 0 || l + 1 >= levels.size() || !hermitian) return false;
    return options.steps_where_cheap ? l > 1 && 5 * levels[l].A.nnz() < levels[l - 1].A.nnz() : options.cycle == amg_cycle::amli;
  }
  std::size_t bytes() const {
    std::size_t total = inverse.size() * sizeof(T) + (grid ? grid->bytes() : 0) + (packed ? packed->bytes() : 0) + (blocks ? blocks->bytes() : 0) + (rounded ? rounded->bytes() : 0);
    for (auto const& level : levels) total += level.bytes();
    return total;
  }
  /// Of the finest level.
  amg_pattern const& pattern() const { return rounded ? rounded->pattern() : levels[0].A.pattern(); }
  /// f(work) with vectors that nobody else has.
  template <class F>
  void with_work(F const& f) const {
    idle.with(*this, f);
  }
  /// z = M b of the last level, if it is inverted.
  template <class Space>
  bool solve_last(Space&, kernel_t<T> const* b, kernel_t<T>* z) const {
    if (inverse.empty()) return false;
    index_t const n = levels.back().A.rows();
    for (index_t i = 0; i < n; ++i) {
      kernel_t<T> sum{};
      for (index_t j = 0; j < n; ++j) sum = sum + inverse[std::size_t(i * n + j)] * b[j];
      z[i] = sum;
    }
    return true;
  }
};

/// Levels of a grid in the place of all.
template <class T>
std::shared_ptr<amg_hierarchy<T> const> hierarchy_of_grid(amg_options o, std::shared_ptr<grid_cycle<kernel_t<T>> const> grid) {
  o.coarsening = amg_coarsening::grid;
  auto out = detail::shared_of<amg_hierarchy<T>>(o, true, std::vector<amg_level<T>>(), std::vector<kernel_t<T>>());
  out->grid = std::move(grid);
  return out;
}

/// Levels of blocks in the place of all.
template <class T>
std::shared_ptr<amg_hierarchy<T> const> hierarchy_of_blocks(amg_options const& o, std::shared_ptr<block_cycle<kernel_t<T>> const> blocks) {
  auto out = detail::shared_of<amg_hierarchy<T>>(o, true, std::vector<amg_level<T>>(), std::vector<kernel_t<T>>());
  out->blocks = std::move(blocks);
  return out;
}

/// How the levels of one pattern go over to each other, from the finest on.
using amg_transfers = std::vector<std::shared_ptr<amg_transfer const>>;
template <class T>
amg_transfers transfers_of(amg_hierarchy<T> const& all) {
  if (all.rounded) return transfers_of(*all.rounded);
  amg_transfers out;
  for (auto const& level : all.levels) out.push_back(level.transfer);
  return out;
}

/// The same level with its numbers as To.
template <class To, class T>
amg_level<To> level_in(amg_level<T> const& level) {
  vector<To> smoother({level.smoother.size()}, uninitialized);
  for (index_t i = 0; i < smoother.size(); ++i) kernel_pointer(smoother.data())[i] = scalar_cast<kernel_t<To>>(kernel_pointer(level.smoother.data())[i]);
  return {cast<To>(level.A), std::move(smoother), level.transfer, cast<To>(level.P), cast<To>(level.R)};
}
/// Where A P or R A P has more than this many times the entries of A, as of the graph of a network with hubs, automatic coarsening takes constants from that level on.
inline constexpr index_t most_fill = 3;

/// The levels for A, of which the caller knows whether it is Hermitian; with `kept`, by the aggregates and symbolic products of a matrix of the same pattern. Where A is not Hermitian,
/// aggregates are those of A + A^H, and the restriction is the adjoint of A^H's prolongation: one that is smoothed by A would make
/// coarse matrices of transport unstable (Sala and Tuminaro 2008). A coarsener, where there is one, finds all anew.
/// Automatic coarsening takes constants and the AMLI-cycle where aggregates have four rows or more and all couplings pull the same way: couplings of one
/// direction make aggregates of three, which want smoothing. Cost: some tens of products with A. Errors: value_error for a zero on the diagonal.
/// Constants of a real matrix are packed (solve/precond/amg/amli/packed_cycle.hpp), by the plan of `before` where that is given, if float reaches from its
/// least rows to its largest. Levels that are not packed are rounded to float one after the other, each once the products with it are done, where float serves.
template <class T>
std::shared_ptr<amg_hierarchy<T>> amg_levels(amg_options o, amg_matrix<T> const& finest, bool hermitian, amg_transfers const& kept = {}, std::shared_ptr<packed_levels const> const& before = {}) {
  std::vector<amg_level<T>> levels;
  std::vector<kernel_t<T>> inverse;
  bool const undecided = o.coarsening == amg_coarsening::automatic;
  if (undecided) o.coarsening = amg_coarsening::smoothed;
  bool const open = undecided && !o.on_device && hermitian && !o.coarsener && o.cycle == amg_cycle::V && o.sweeps == 1 && o.smoother.is_usual() && finest.rows() >= least_grid_points;
  auto rows = look_at_rows(finest, o.smoother, 0);
  std::optional<aggregates> first;
  bool const doubtful = open && !before && jumps_in_many_rows(finest, rows);
  if (open) {
    if (!before) first = aggregate(finest, rows, o.strength);
    if (before || (finest.rows() >= 4 * first->count && couples_alike(finest, rows))) {
      o.coarsening = amg_coarsening::plain, o.cycle = amg_cycle::amli;
      if constexpr (!is_complex<T>)
        if (o.in_float && packs_into_float(rows)) {
          auto out = detail::shared_of<amg_hierarchy<T>>(o, true, std::move(levels), std::move(inverse));
          out->packed = packed_levels_of(o, finest, std::move(rows), std::move(first), before ? before->plan : nullptr), out->doubtful = doubtful;
          return out;
        }
    } else {
      o.steps_where_cheap = true;
    }
  }
  using Single = single_t<T>;
  double const size = double(rows.norm);
  auto single = rounds_to_float(o, hermitian, rows) ? detail::shared_of<amg_hierarchy<Single>>(o, hermitian, std::vector<amg_level<Single>>(), std::vector<kernel_t<Single>>()) : nullptr;
  auto const round = [&] {  // the level that is done
    if (single) single->levels.push_back(level_in<Single>(levels.back())), levels.pop_back();
  };
  amg_matrix<T> A(finest.shape(), finest.shared_pattern(), single ? buffer<T>::borrow(finest.values().data(), finest.nnz()) : finest.values());
  auto how = o.coarsening;  // constants, from the level on where smoothing would fill
  auto const coarsener = o.coarsener ? static_cast<amg_makes_coarseners<T> const&>(*o.coarsener).begin(o, A.rows(), std::type_identity<T>{}) : nullptr;
  for (int l = 0;; ++l) {
    if (l > 0) round(), rows = look_at_rows(A, o.smoother, l);
    index_t const n = A.rows();
    bool const ends = !kept.empty() ? !kept[std::size_t(l)] : n <= o.coarsest || l + 1 >= o.max_levels;
    levels.push_back({std::move(A), std::move(rows.smoother)});
    auto& level = levels.back();
    amg_matrix<T> AH, left;
    std::optional<amg_rows<T>> columns;
    std::shared_ptr<amg_transfer> found;
    if (!ends && !hermitian) columns.emplace(look_at_rows(AH = adjoint_on_pattern(level.A), o.smoother, l));
    if (coarsener && !ends) {
      amg_matrix<T> P;
      index_t const coarse = coarsener->next(level.A, hermitian ? nullptr : &AH, l, P, left);
      if (coarse > 0 && 10 * coarse <= 8 * n) {
        if (hermitian) left = P;
        auto const next = detail::shared_of<amg_transfer>(amg_transfer{aggregates{{}, coarse}, P.shared_pattern(), left.shared_pattern()});
        level.R = next->first_restriction(left), level.P = std::move(P), level.transfer = next;
        A = *next->first_product(level.R, level.A, level.P, false);
        continue;
      }
    } else if (!kept.empty()) {
      level.transfer = kept[std::size_t(l)];
    } else if (!ends) {
      double const theta = o.strength * std::pow(0.5, l);
      auto groups = [&] {
        if (first) return std::move(*std::exchange(first, std::nullopt));
        auto const grouped = [&](auto const& of, auto const& its) { return how == amg_coarsening::classical ? coarse_points(of, its) : aggregate(of, its, theta); };
        if (hermitian) return grouped(level.A, rows);
        auto const sum = sum_of(level.A, AH);
        return grouped(sum, look_at_rows(sum, o.smoother, 1));
      }();
      if (groups.count > 0 && 10 * groups.count <= 8 * n) {
        level.P = prolongation(level.A, groups, rows, how);
        if (!hermitian) left = prolongation(AH, groups, *columns, how);
        found = detail::shared_of<amg_transfer>(amg_transfer{std::move(groups), level.P.shared_pattern(), (hermitian ? level.P : left).shared_pattern()});
        level.transfer = found;
      }
    }
    if (!level.transfer) {
      if (n <= (std::max)(o.coarsest, amg_most_dense_rows)) inverse = dense_inverse(level.A);
      break;
    }
    auto const& next = *level.transfer;
    if (!kept.empty()) {
      if (!next.right) how = amg_coarsening::plain;
      level.P = prolongation(level.A, next.groups, rows, how, next.pattern);
      if (!hermitian) left = prolongation(AH, next.groups, *columns, how, next.left);
    }
    level.R = found ? found->first_restriction(hermitian ? level.P : left) : adjoint_on(next.down, hermitian ? level.P : left);
    AH = {}, left = {}, columns.reset();  // gone before the products, which take the most memory
    if (!found) {
      A = next.product(level.R, level.A, level.P);
      continue;
    }
    auto product = found->first_product(level.R, level.A, level.P, how == amg_coarsening::plain, undecided ? most_fill * level.A.nnz() : (std::numeric_limits<index_t>::max)());
    if (!product) {  // constants do not fill
      how = amg_coarsening::plain;
      level.P = prolongation(level.A, found->groups, rows, how);
      level.transfer = found = detail::shared_of<amg_transfer>(amg_transfer{std::move(found->groups), level.P.shared_pattern(), level.P.shared_pattern()});
      level.R = found->first_restriction(level.P);
      product = found->first_product(level.R, level.A, level.P, true);
    }
    A = std::move(*product);
  }
  // Errors of a mode that the coarsest level enlarges by 1e10 leave the rounding of entries above their residual, as where A is singular but for a small shift.
  std::size_t const last = std::size_t(levels.back().A.rows());
  double largest = 0, sum = 0;
  for (std::size_t k = 0; k < inverse.size(); ++k) sum = (k % last == 0 ? 0 : sum) + double(abs_of(inverse[k])), largest = (std::max)(largest, sum);
  if (single && !(size * largest * double(finest.rows()) <= 1e10 * double(last))) {
    round();
    auto const transfers = transfers_of(*std::exchange(single, nullptr));
    o.in_float = false;
    auto in_double = amg_levels<T>(o, finest, hermitian, transfers);
    return in_double->doubtful = doubtful, in_double;
  }
  round();
  if (single) single->inverse = numbers_in<Single>(std::exchange(inverse, {})), single->doubtful = doubtful;
  auto out = detail::shared_of<amg_hierarchy<T>>(o, hermitian, std::move(levels), std::move(inverse));
  out->rounded = single, out->doubtful = doubtful;
  return out;
}

/// The same levels with their numbers as To, rounded after all products.
template <class To, class T>
std::shared_ptr<amg_hierarchy<To>> levels_in(std::shared_ptr<amg_hierarchy<T>> const& of) {
  if constexpr (std::same_as<To, T>) {
    return of;
  } else {
    if constexpr (std::same_as<To, single_t<T>>)
      if (of->rounded) return of->rounded;
    std::vector<amg_level<To>> levels;
    for (auto const& level : of->levels) levels.push_back(level_in<To>(level));
    auto out = detail::shared_of<amg_hierarchy<To>>(of->options, of->hermitian, std::move(levels), numbers_in<To>(of->inverse));
    out->packed = of->packed, out->doubtful = of->doubtful;
    return out;
  }
}

/// The ILU(0) of A, unless it does not exist, takes much more work than a product, as where many rows are dense, or is unstable, as of central differences of strong
/// convection (Elman 1986): where the largest element of (L U)^-1 1, beside 1 / max |a_ii|, is large (Chow and Saad 1997). Then nothing.
template <class T>
std::shared_ptr<amg_sweep<T> const> stable_factors(amg_matrix<T> const& A) {
  auto const view = A.pattern().view();
  auto const* const a = kernel_pointer(A.values().data());
  double work = 0, diagonal = 0;
  for (index_t i = 0; i < A.rows(); ++i)
    view.for_row(i, [&](index_t s, index_t j) {
      if (j < i) work += double((std::min)(row_length(view, j), much_longer * row_length(view, i)));
      if (j == i) diagonal = (std::max)(diagonal, double(std::abs(a[s])));
    });
  if (work > 30 * double(A.values().size())) return {};
  try {
    auto factors = ilu0{}.setup(A);
    std::vector<T> const ones(std::size_t(A.rows()), T(1));
    std::vector<T> z(ones.size());
    factors.view().template sweep<false>(ones.data(), z.data(), 1);
    if (!std::all_of(z.begin(), z.end(), [&](T x) { return double(std::abs(x)) * diagonal <= 1e8; })) return {};
    if constexpr (std::same_as<T, double>)  // in float, which holds all of them
      if (auto const f = factors.view(); std::all_of(f.values, f.values + f.slots, [](double v) { return v == 0 || (std::abs(v) >= 1e-30 && std::abs(v) <= 1e30); }))
        return amg_sweep_on(factors.template rounded<float>(), A);
    return amg_sweep_on(std::move(factors), A);
  } catch (value_error const&) {
    return {};
  }
}
/// Gives the levels the preconditioner that smooths them, but the last, where it is inverted. Where the smoother is left open, a level without stable factors
/// keeps its diagonal. Errors: value_error naming the level.
template <class T>
void set_up_sweeps(amg_hierarchy<T>& all) {
  amg_options const& o = all.options;
  bool const factors = o.smoother == amg_smoother::automatic && !all.hermitian && !o.on_device && !o.coarse_only && !o.coarsener && couples_one_way(all.levels[0].A);
  if (!o.smoother.maker() && !factors) return;
  for (std::size_t l = 0; l < all.levels.size() && (l + 1 < all.levels.size() || all.inverse.empty()); ++l) {
    auto& level = all.levels[l];
    if (factors) {
      if constexpr (!is_complex<T>) level.before = level.after = stable_factors(level.A);
      continue;
    }
    try {
      level.before = static_cast<amg_makes_sweeps<T> const&>(*o.smoother.maker()).setup(level.A);
    } catch (value_error const& e) {
      throw value_error(text(e.what(), " (the smoother of level ", l, " of amg)"));
    }
    level.after = all.hermitian ? level.before->adjoint() : level.before;
  }
}

/// The levels for A^H: its cycle is the adjoint.
template <class T>
std::shared_ptr<amg_hierarchy<T> const> adjoint_levels(std::shared_ptr<amg_hierarchy<T> const> const& of) {
  bool const same_visits = of->options.cycle != amg_cycle::F;
  if (of->hermitian && same_visits) return of;
  auto levels = of->levels;
  if (of->hermitian) {
    auto out = detail::shared_of<amg_hierarchy<T>>(of->options, true, std::move(levels), of->inverse);
    out->reversed = !of->reversed;
    if (of->rounded) out->rounded = detail::shared_of<amg_hierarchy<single_t<T>>>(*of->rounded), out->rounded->reversed = out->reversed;
    return out;
  }
  for (auto& level : levels) {
    level.A = adjointed(level.A);
    if (level.transfer) {
      auto const new_R = adjointed(level.P);
      level.P = adjointed(level.R), level.R = new_R;
    }
    if (level.before) level.before = std::exchange(level.after, level.before->adjoint())->adjoint();
    for (T& d : level.smoother) d = T(conj_of(to_kernel(d)));
  }
  index_t const n = levels.back().A.rows();
  auto inverse = of->inverse;
  for (index_t i = 0; !inverse.empty() && i < n; ++i)
    for (index_t j = 0; j < n; ++j) inverse[std::size_t(i * n + j)] = conj_of(of->inverse[std::size_t(j * n + i)]);
  auto out = detail::shared_of<amg_hierarchy<T>>(of->options, false, std::move(levels), std::move(inverse));
  out->reversed = of->reversed != !same_visits;
  return out;
}

} // namespace sla::detail
