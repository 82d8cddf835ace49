// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Algebraic multigrid by aggregation, `solve(A, b, cg{}, amg{})` (Vanek, Mandel and Brezina 1996): the options, and what they set up.
// Its rooms are in solve/precond/amg: how rows are aggregated, how levels are made, and the cycle.
#pragma once

#include <algorithm>
#include <complex>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sla/core/held.hpp>
#include <sla/exec/host.hpp>
#include <sla/solve/precond/amg/amg_report.hpp>
#include <sla/solve/precond/amg/block_levels.hpp>
#include <sla/solve/precond/amg/cycle.hpp>
#include <sla/solve/precond/amg/nodes.hpp>
#include <sla/solve/precond/amg/sweeps.hpp>
#include <sla/solve/precond/scalar_rows.hpp>
#include <sla/solve/precond/sweep.hpp>

namespace sla {

namespace detail {
template <class T>
using amg_shared = std::shared_ptr<amg_hierarchy<T> const>;

/// The scalars of levels: those of A, or of the precision that is asked for.
struct same_scalars {};
template <class Stored, class T>
struct level_scalar {
  static_assert(std::same_as<Stored, float> || std::same_as<Stored, double>, "sla: amg_in<Real>: levels are of float or double; amg{} takes the scalars of A");
  using type = std::conditional_t<is_complex<T>, std::complex<Stored>, Stored>;
};
template <class T>
struct level_scalar<same_scalars, T> {
  using type = T;
};
template <class Stored, class T>
using level_scalar_t = typename level_scalar<Stored, T>::type;

template <class T, class Levels = amg_hierarchy<T>>
struct amg_view;
/// out = M x for contiguous vectors; and how large the largest number of x is, on whatever holds the rest of it.
template <class T>
void apply_levels(amg_hierarchy<T> const& levels, kernel_t<T> const* x, kernel_t<T>* out) {
  if (levels.grid) return levels.grid->apply(x, out);
  if (levels.blocks) return levels.blocks->apply(x, out);
  if constexpr (!std::same_as<T, single_t<T>>)
    if (levels.rounded) {
      amg_shared<single_t<T>> const rounded = levels.rounded;
      return amg_view<single_t<T>>{&rounded, 1, rounded->pattern().rows}.template sweep<false>(x, out, 1);
    }
  if constexpr (!is_complex<T>)
    if (levels.packed) return packed_apply(*levels.packed, x, out);
  levels.with_work([&](amg_work<T>& work) {
    auto space = immediate_space(host_memory{});
    amg_cycle_from(space, levels, work, 0, x, out, levels.options.cycle);
  });
}
template <class T, class R>
R largest_of_all(amg_hierarchy<T> const&, R here) {
  return here;
}

/// The cycles of all batch items as sweeps see them.
template <class T, class Levels>
struct amg_view {
  std::shared_ptr<Levels const> const* items;
  index_t count, rows;

  template <bool, class X, class Out>
  void sweep(X const* x, Out* out, index_t rhs) const {
    for (index_t b = 0; b < count; ++b)
      for (index_t c = 0; c < rhs; ++c) column(*items[b], x + b * rows * rhs + c, out + b * rows * rhs + c, rhs);
  }

private:
  using K = kernel_t<T>;
  /// One right-hand side, every `stride`-th number; complex numbers under real levels part by part. Numbers that the levels' type may not
  /// hold are scaled by the largest.
  template <class X, class Out>
  void column(Levels const& levels, X const* x, Out* out, index_t stride) const {
    if constexpr (std::same_as<X, K> && std::same_as<Out, K>) {
      if (stride == 1) return apply_levels(levels, x, out);
    }
    buffer<K> from(rows, uninitialized), to(rows, uninitialized);
    auto const through = [&](auto const& part, auto const& put) {
      using R = real_t<X>;
      R scale = 1;
      if constexpr (!std::same_as<R, real_t<K>>) {
        auto const most = merged_ranges<largest_size<R>>(rows, [&](index_t lo, index_t hi) {
          largest_size<R> here;
          for (index_t i = lo; i < hi; ++i) here.merge({R(abs_of(part(x[i * stride])))});
          return here;
        }, light_below);
        if (R const all = largest_of_all(levels, most.value); all > 0) scale = all;
      }
      parallel_ranges(rows, [&, f = from.data()](index_t lo, index_t hi) {
        for (index_t i = lo; i < hi; ++i) f[i] = scalar_cast<K>(part(x[i * stride]) / scale);
      }, light_below);
      apply_levels(levels, static_cast<K const*>(from.data()), to.data());
      parallel_ranges(rows, [&, z = to.data()](index_t lo, index_t hi) {
        for (index_t i = lo; i < hi; ++i) put(out[i * stride], z[i], scale);
      }, light_below);
    };
    if constexpr (is_complex<X> && !is_complex<K>) {
      through([](X v) { return real_of(v); }, [](Out& o, K z, real_t<X> scale) { o = Out(real_t<Out>(real_t<X>(z) * scale)); });
      through([](X v) { return imag_of(v); }, [](Out& o, K z, real_t<X> scale) { o = Out(real_of(o), real_t<Out>(real_t<X>(z) * scale)); });
    } else {
      through([](X v) { return v; }, [](Out& o, K z, real_t<X> scale) { o = scalar_cast<Out>(scalar_cast<X>(z) * scale); });
    }
  }
};
} // namespace detail

/// Multigrid for one matrix: `M * r` is one cycle. Made by `amg{}.setup(A)`; `std::cout << M` prints a line per level. Stored: the scalars of its levels;
/// GridReal: those of levels that are grids or of blocks.
template <class T, class S, class Stored = T, class GridReal = float>
class applied_amg {
  using Levels = detail::amg_shared<Stored>;

public:
  using value_type = T;
  using shape_type = S;

  template <class F>
  applied_amg(detail::amg_options const& options, sparse_tensor<T, S, F> const& A) : options_(options), rows_(A.rows() * S::block_rows) {
    if constexpr (S::block_rows > 1) {
      index_t const n = rows_, P = S::block_rows;
      options_.unknowns = P;
      if (!options_.coarsener) {  // the constants of each unknown of a node
        matrix<double> modes({n, P});
        for (index_t i = 0; i < n; ++i) modes(i, i % P) = 1;
        options_.coarsener = detail::shared_of<detail::node_coarseners<double> const>(std::move(modes));
      }
    }
    make(A, {});
  }

  /// The cycle of A^H, of the same aggregates; the same levels, where A is Hermitian.
  applied_amg adjoint() const {
    auto items = *items_;
    for (Levels& one : items) one = detail::adjoint_levels(one);
    return {options_, std::move(items), rows_};
  }

  /// New values on the same pattern: aggregates and the patterns of all products are kept. Where this throws, all is as before.
  /// Errors: shape_error for another pattern, but where A is a grid, or nodes are aggregated, and all is found anew.
  template <class F>
  void update(sparse_tensor<T, S, F> const& A) {
    if (A.rows() * S::block_rows != rows_ || A.cols() * S::block_cols != rows_ || A.batch_count() != index_t(items_->size()))
      throw shape_error(text("amg: update(A) has ", A.rows(), " x ", A.cols(), " rows and columns and ", A.batch_count(), " items, other than the matrix of the set-up; set up anew"));
    make(A, items_.shared());
  }

  /// The levels of a batch item, from the finest on.
  std::vector<amg_level_size> levels(index_t item = 0) const {
    return detail::sizes_of(hierarchy(item));
  }
  /// The entries of all levels over those of A.
  double operator_complexity(index_t item = 0) const {
    double sum = 0;
    auto const all = levels(item);
    for (auto const& level : all) sum += double(level.entries);
    return all[0].entries > 0 ? sum / double(all[0].entries) : 1;
  }
  detail::amg_hierarchy<Stored> const& hierarchy(index_t item = 0) const { return *(*items_)[std::size_t(item)]; }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (Levels const& one : *items_) sum += one->bytes();
    return sum;
  }
  /// What a report adds to the name.
  std::string remark() const {
    if (items_->empty()) return "";
    std::size_t const count = levels().size();
    bool const swept = !hierarchy().levels.empty() && hierarchy().levels[0].before;
    return text(", ", to_string(hierarchy().options.cycle), " of ", count, count == 1 ? " level" : " levels", ", ", detail::coarsening_text(hierarchy()),
                swept ? text(", smoother ", detail::smoother_text(hierarchy().options.smoother, true)) : "");
  }
  index_t elements() const { return index_t(items_->size()) * rows_; }
  detail::amg_view<Stored> view() const { return {items_->data(), index_t(items_->size()), rows_}; }

private:
  applied_amg(detail::amg_options const& options, std::vector<Levels> items, index_t rows)
      : options_(options), rows_(rows), items_(detail::shared_of<std::vector<Levels> const>(std::move(items))) {}

  /// The levels of each batch item whose matrix is an operator on a grid, or nothing. Where aggregates are kept, they stay.
  template <class F>
  std::vector<Levels> grids(sparse_tensor<T, S, F> const& A, std::shared_ptr<std::vector<Levels> const> const& kept) const {
    using detail::grid_levels;
    std::vector<Levels> items(static_cast<std::size_t>(A.batch_count()));
    bool const wanted = options_.coarsening == amg_coarsening::grid;
    if constexpr (!is_complex<T> && S::block_rows == 1) {
      bool const asked = options_.coarsening == amg_coarsening::automatic && options_.cycle == amg_cycle::V && options_.smoother.is_usual() && options_.sweeps == 1 &&
                         !options_.coarsener && A.rows() >= detail::least_grid_points;
      for (std::size_t b = 0; b < items.size() && (wanted || asked); ++b) {
        if (kept && !(*kept)[b]->grid) continue;
        if (auto found = detail::recognise_grid<GridReal>(A.pattern().view(), A.values().data() + index_t(b) * A.batch_stride()))
          if (auto grid = grid_levels<GridReal, Stored>::make(std::move(*found), kept ? (*kept)[b]->grid.get() : nullptr, options_.on_device ? detail::most_device_grid_work : grid_levels<GridReal, Stored>::most_factor_work)) items[b] = detail::hierarchy_of_grid<Stored>(options_, std::move(grid));
      }
    }
    for (std::size_t b = 0; b < items.size() && wanted; ++b)
      if (!items[b])
        throw value_error(text("amg{.coarsening = amg_coarsening::grid}: A", items.size() > 1 ? text(" of batch item ", b) : "",
                               " is not found to be a symmetric operator of 5, 9, 7 or 27 points on a grid whose points are numbered line by line, or a cycle contracts worse than "
                               "0.4; amg_coarsening::automatic takes a grid only where it is one"));
    return items;
  }

  /// f(), whose errors name item b of so many, where there are others.
  template <class F>
  static void of_item(index_t b, index_t count, F const& f) {
    try {
      f();
    } catch (value_error const& e) {
      if (count == 1) throw;
      throw value_error(text(e.what(), " (batch item ", b, ")"));
    }
  }

  /// Levels of blocks, which are found anew for new values.
  template <class F>
  void add_blocks(sparse_tensor<T, S, F> const& A, std::vector<Levels>& items) const {
    if constexpr (S::block_rows > 1 && S::block_rows <= 6 && !is_complex<T>)
      if (detail::wants_blocks(options_, rows_)) {
        auto o = options_;
        if (o.coarsening == amg_coarsening::automatic) o.coarsening = amg_coarsening::smoothed;
        detail::with_csr_rows(A, "amg", [&](auto const& rows) {
          for (index_t b = 0; b < rows.batch_count(); ++b) {
            detail::block_matrix<T, S::block_rows, S::block_rows> const item({rows.rows(), rows.cols()}, rows.shared_pattern(), buffer<T>::borrow(rows.values().data() + b * rows.batch_stride(), rows.batch_stride()));
            of_item(b, rows.batch_count(), [&] {
              if (auto blocks = detail::block_levels_of<GridReal, kernel_t<Stored>>(o, item)) items[std::size_t(b)] = detail::hierarchy_of_blocks<Stored>(o, std::move(blocks));
            });
          }
        });
      }
  }

  template <class F>
  void make(sparse_tensor<T, S, F> const& A, std::shared_ptr<std::vector<Levels> const> const& kept) {
    auto items = grids(A, kept);
    add_blocks(A, items);
    if (std::find(items.begin(), items.end(), nullptr) == items.end()) {
      items_ = detail::shared_of<std::vector<Levels> const>(std::move(items));
      return;
    }
    detail::with_scalar_rows(A, "amg", [&](auto const& rows) {
      for (index_t b = 0; b < rows.batch_count(); ++b) {
        auto& levels = items[std::size_t(b)];
        if (levels) continue;
        auto const before = kept && !(*kept)[std::size_t(b)]->grid ? (*kept)[std::size_t(b)] : nullptr;
        auto const& o = before && !before->packed ? before->options : options_;
        detail::amg_matrix<T> const item(Matrix(rows.rows(), rows.cols()), rows.shared_pattern(), buffer<T>::borrow(rows.values().data() + b * rows.batch_stride(), rows.pattern().nnz()));
        bool const hermitian = detail::is_hermitian(item);
        bool const keeps = before && !o.coarsener && (before->hermitian || !hermitian);  // else the restriction has another pattern
        detail::require_kept_pattern(!keeps || before->packed || same_pattern(before->pattern(), item.pattern()));
        auto const made = [&](detail::amg_options const& with) {
          auto const all = detail::amg_levels<T>(with, item, hermitian, keeps ? transfers_of(*before) : detail::amg_transfers{}, before ? before->packed : nullptr);
          auto const stored = detail::levels_in<Stored>(all);
          if (all->rounded) {
            detail::measure_levels(*all->rounded);
            stored->options = all->rounded->options;
          } else {
            detail::set_up_sweeps(*stored);
            detail::measure_levels(*stored);
          }
          levels = stored;
        };
        of_item(b, rows.batch_count(), [&] {
          made(o);
          if (levels->doubtful && contracts_late(levels, item) > 0.5) {
            auto classical = o;
            classical.coarsening = amg_coarsening::classical, levels = nullptr;
            made(classical);
          }
        });
      }
      items_ = detail::shared_of<std::vector<Levels> const>(std::move(items));
    });
  }

  /// How well conjugate gradients contract with these levels for A, once the first steps are done.
  static double contracts_late(Levels const& levels, detail::amg_matrix<T> const& A) {
    using K = kernel_t<T>;
    index_t const n = A.rows();
    detail::amg_view<Stored> const cycle{&levels, 1, n};
    auto space = immediate_space(host_memory{});
    return detail::late_contraction<K>(
        n, [&](K const* p, K* q) { fuse(space, detail::put_at(q, n, A * detail::numbers_at(p, n))); }, [&](K const* r, K* z) { cycle.template sweep<false>(r, z, 1); });
  }

  detail::amg_options options_;
  index_t rows_ = 0;
  detail::held<std::vector<Levels> const, "a preconditioner"> items_;
};

template <class T, class S, class Stored, class GridReal, Tensorial X>
auto operator*(applied_amg<T, S, Stored, GridReal> const& M, X&& x) {
  return detail::swept<S, false>(M.view(), M.elements(), std::forward<X>(x), "amg");
}

template <class Char, class Traits, class T, class S, class Stored, class GridReal>
std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, applied_amg<T, S, Stored, GridReal> const& M) {
  index_t const items = M.elements() > 0 ? M.view().count : 0;
  for (index_t b = 0; b < items; ++b) {
    if (items > 1) out << "batch item " << b << ", ";
    detail::print_levels(out, M.hierarchy(b));
  }
  return out;
}

/// `solve(A, b, cg{}, amg{})`: one cycle of multigrid, for discretised elliptic equations and for the Laplacians of graphs: iterations that
/// hardly depend on the number of unknowns. Aggregates of rows that are coupled strongly become the unknowns of the next level; the errors
/// that matter are taken to be smooth along strong couplings. M is Hermitian positive definite where A is; A may be unsymmetric (bicgstab,
/// gmres), complex, or singular with the constants as its null space.
/// Where A is a symmetric operator of 5, 9, 7 or 27 points on a grid of 6000 points or more, numbered line by line, with the default options, levels
/// are grids: two passes per level over half diagonals in float (`amg_in<double>{}`: in double), a third of the memory of levels in double, and 7 to 10 iterations.
/// Another real symmetric matrix whose aggregates are large has levels in float too, of constants: off-diagonal entries, in 4 bytes each where rows are narrow, and sums of rows. Smoothed
/// and classical levels of a Hermitian A of 6000 rows or more are rounded to float too (`amg_in<double>{}`: not), unless its rows differ in size by more than 1e5.
/// Each batch item has levels of its own. Of a real Hermitian matrix of blocks with 6000 rows or more they are matrices of blocks in float (`amg_in<double>{}`: in double), for the V-cycle with a
/// diagonal smoother and constants or rigid motions: two fifths of the memory and a third of the time. Others are of scalar rows. Of a block matrix, and where `near_null` is given, rows are aggregated by nodes, along
/// blocks whose norm is half of `strength` times the largest; P reproduces the near-null space on each aggregate, which for blocks is the constants of each
/// unknown unless it is given: rigid_body_modes(points) for elasticity. Placement: the host; of a matrix
/// on a device, set-up is on the host, levels are copied to the device, and the cycle runs there, for one system and one right-hand side; levels that are no grid are
/// smoothed, unless `coarsening` says plain or classical (solve/precond/amg/in_memory/levels_in_memory.hpp). With A's rows on ranks,
/// grids are those of all ranks and aggregates of each rank's rows, matrices of levels on all ranks, and levels of `gathered` rows on every rank; of blocks and batches, each rank has levels of its own rows.
/// Setup: some tens of products with A; `update` keeps aggregates and symbolic products. Memory: three to four times that of A. Cost of an
/// application: five passes over each level. With nodes, `update` finds aggregates anew. Gradient: through the solve; the levels serve the adjoint too.
/// Errors: value_error for options out of range, and naming a row whose diagonal entry is zero or not stored.
/// `amg_in<float>{...}` rounds the levels of a double or complex matrix to float once they are made, products and the coarsest inverse
/// included, for a quarter less memory and a third less traffic; A itself, the residuals and x stay as they are. Not for coefficients that jump by 1e6 or more.
template <class Stored = detail::same_scalars>
struct amg_in {
  amg_cycle cycle = amg_cycle::V;                            ///< or W, F, amli: more work on coarse levels
  amg_smoother smoother = amg_smoother::automatic;           ///< spai0, or ilu0{} of transport; or l1_jacobi, or a preconditioner: chebyshev{.degree = 2}, ssor{}, ilu0{}
  amg_coarsening coarsening = amg_coarsening::automatic;     ///< grid where A is one, else plain with amli, or smoothed; classical, where those contract badly
  int sweeps = 1;                                            ///< of the smoother, before the correction and after it
  index_t coarsest = 200;                                    ///< a level of so many rows is inverted
  double strength = 0.4;                                     ///< of the largest in both rows: couplings that aggregates follow; halved on each level
  int max_levels = 30;
  amg_near_null near_null = {};                              ///< of systems: rigid_body_modes(points)

  index_t gathered = 4000;                                   ///< on ranks: a level of so many rows is on every rank, and goes on as on one
  bool coarse_only = false;                                  ///< the correction of the coarser levels alone, of aggregates: two_level_schwarz adds what smooths

  using preconditioner_tag = void;
  using spans_ranks_tag = void;
  static constexpr char const* name = "amg";

  /// As the rooms of multigrid read them, for blocks of P rows. Errors: value_error for options out of range.
  detail::amg_options checked(index_t P) const {
    if (sweeps < 1 || coarsest < 1 || max_levels < 1 || !(strength > 0 && strength <= 1))
      throw value_error(text("amg{.sweeps = ", sweeps, ", .coarsest = ", coarsest, ", .strength = ", strength, ", .max_levels = ", max_levels,
                             "}: sweeps, coarsest and max_levels are at least 1, strength is above 0 and at most 1"));
    if (gathered < 1) throw value_error(text("amg{.gathered = ", gathered, "}: a level of one row is on every rank at the latest; give 1 or more"));
    index_t const unknowns = near_null.unknowns();
    if (unknowns < 0 || (P > 1 && unknowns > 0 && unknowns != P))
      throw value_error(text("amg{.near_null = {modes, ", unknowns, "}}: a node has ", P, " unknowns, the rows of a block of A; give no number here"));
    if (near_null.maker() && near_null.modes() == 0) throw value_error("amg{.near_null}: there is no mode; give a column per mode, or leave it out");
    if (coarsening == amg_coarsening::grid && near_null.modes() > 0)
      throw value_error("amg{.coarsening = amg_coarsening::grid, .near_null}: grids take no near-null space; leave out one of them");
    if (coarsening == amg_coarsening::grid && (cycle != amg_cycle::V || !smoother.is_usual() || sweeps != 1))
      throw value_error("amg{.coarsening = amg_coarsening::grid}: a grid has a V-cycle with one step of Jacobi before and after; leave out .cycle, .smoother and .sweeps");
    bool const grid = coarsening == amg_coarsening::grid, open = coarsening == amg_coarsening::automatic;
    if (coarse_only && grid) throw value_error("amg{.coarsening = amg_coarsening::grid, .coarse_only = true}: a grid is smoothed in the pass that restricts; leave out .coarsening");
    return {cycle, smoother, coarse_only && open ? amg_coarsening::smoothed : coarsening, sweeps, (std::min)(coarsest, detail::amg_most_dense_rows), strength, max_levels, near_null.maker(), (std::max)(P, unknowns), !std::same_as<Stored, double>, coarse_only};
  }
  template <class T, class S, class F>
  auto setup(sparse_tensor<T, S, F> const& A) const {
    static_assert(S::block_rows == S::block_cols, "sla: amg wants a square matrix: square blocks too");
    if (A.rows() != A.cols()) throw shape_error(text("amg: A is ", A.rows(), " x ", A.cols(), ", and must be square"));
    using GridReal = std::conditional_t<std::same_as<Stored, double>, double, float>;
    return applied_amg<T, S, detail::level_scalar_t<Stored, T>, GridReal>(checked(S::block_rows), A);
  }
  /// Of a matrix on ranks.
  template <class A>
    requires Performs<op::setup, amg_in const&, A const&>
  auto setup(A const& a) const {
    return perform(op::setup{}, *this, a);
  }
};
/// Multigrid whose levels have the scalars of A.
using amg = amg_in<>;

} // namespace sla
