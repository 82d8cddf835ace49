// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The automatic choice: from what one look at A tells (tensor/structure/properties.hpp) to a list of methods to try. A cheap method gets
// about the time that the dearer one after it would take, so that the sum stays near the better of the two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <sla/solve/precond/amg/grid/recognise.hpp>
#include <sla/solve/seam/factorization.hpp>
#include <sla/tensor/structure/properties.hpp>

namespace sla {

/// One candidate of the list: a method with its preconditioner, and how many iterations it may take.
/// MINRES is for Hermitian matrices that are not definite: among candidates of CG it is reached where CG has met that, and CG left.
enum class candidate { cg_amg, cg_jacobi, cg_ilu0, minres_row_norms, bicgstab_amg, bicgstab_ilu0, gmres_row_norms, ldlt, lu };
/// One method to try, and the iterations it may take.
struct choice_step {
  candidate what;
  int limit;
  int patience = 0;      ///< given up where it foresees more steps than these, in which what follows would be done; 0: goes on to its limit
  bool weighed = false;  ///< factors: their cost was counted
  int least = 20;        ///< nothing is foreseen before this step
};
/// What to try, in order, and why.
struct candidates {
  std::vector<choice_step> steps;
  std::string why;
  bool semidefinite = false;  ///< (p, A p) <= 0 means a null vector: where CG meets one, A is singular and b not in its range
  index_t rows = 0, batch = 1;
  double step_seconds = 0;  ///< of an iteration
  double multigrid_steps = 0;  ///< that take as long as a solve by multigrid
};

namespace detail {
/// How much denser products of A with itself are, of a few rows: the rows two steps away, over those one step away. 2.6 for five points of a plane, 3.5 for seven of space, 5 for graphs of near
/// points, and as many as a row has entries where neighbours have no neighbour in common.
template <class Rows>
double growth_of_products(Rows const& rows) {
  constexpr std::size_t enough = 4000;
  std::vector<index_t> far;
  double near = 0, all = 0;
  if (rows.rows == rows.cols && rows.rows > 0)
    for_sampled_rows(rows.rows, [&](index_t i) {
      far.clear();
      rows.for_row(i, [&](index_t, index_t j) {
        ++near;
        if (far.size() < enough) rows.for_row(j, [&](index_t, index_t k) { far.push_back(k); });
      });
      std::sort(far.begin(), far.end());
      all += double(std::unique(far.begin(), far.end()) - far.begin());
    });
  return near > 0 ? all / near : 1;
}
inline constexpr index_t least_multigrid_rows = 3000;  ///< fewer are not given to multigrid
/// How much longer multigrid takes where products are dense: coarse levels are.
inline double multigrid_weight(double growth) { return (std::max)(1.0, growth * growth / 32); }
/// About the steps of CG with Jacobi that a solve by multigrid takes as long as, where no grid is recognised, with its set-up.
inline double multigrid_steps(index_t rows, double growth) { return (95 + 5e5 / double(rows)) * multigrid_weight(growth); }
constexpr bool is_factors(candidate what) { return what == candidate::ldlt || what == candidate::lu; }
inline double step_seconds(matrix_properties const& p) { return 1.5e-11 * (12 * double(p.entries) + 100 * double(p.rows)); }
template <class Candidates>
Candidates choose_steps(matrix_properties const& p, int max_iterations, grid_guess grid, double growth, bool whole, double asymmetry) {
  double const rows = double(p.rows), band = double((std::max)(p.lower_bandwidth, p.upper_bandwidth));
  double const factor_seconds = 5e-11 * rows * band * band, step_seconds = detail::step_seconds(p);
  auto limited = [&](double seconds, int least, int most) {
    double const steps = step_seconds > 0 ? seconds / step_seconds : double(least);
    return (std::min)(max_iterations, int(std::clamp(steps, double(least), double(most))));
  };
  bool const countable = p.entries <= (std::numeric_limits<std::int32_t>::max)();  // by those who make factors
  bool const ordered = countable && p.rows <= 1000000;  // to find an order of its own for more takes long
  std::string const dear = ordered ? ", in an order that is dear to factorise" : ", too large for factors";
  bool const affordable = countable && (factor_seconds < 60 || p.rows <= 20000);
  std::string const symmetry = p.complex ? "Hermitian" : "symmetric";

  std::string const other_kind = p.hermitian ? text(symmetry, ", not definite") : p.symmetric ? "complex symmetric" : text("not ", symmetry);  // than those of CG
  choice_step const gmres_while{candidate::gmres_row_norms, max_iterations, max_iterations, false, 300};  // ten restarts tell: it stagnates for good where b is not in the range of A

  // Where most entries are stored, factors are dense, and take as long as iterations of a ninth of the rows. Of many rows half of these come first, or less, as they may be lost. ILU(0) would be
  // LU without exchanges, and dear.
  if (countable && is_nearly_full(p.rows, p.entries) && p.definite != definiteness::positive_semidefinite) {
    bool const by_cg = p.hermitian && p.positive_diagonal;
    choice_step const steps = p.hermitian ? choice_step{by_cg ? candidate::cg_jacobi : candidate::minres_row_norms, max_iterations} : gmres_while;
    choice_step const factors{by_cg ? candidate::ldlt : candidate::lu, max_iterations, 0, true}, lu{candidate::lu, max_iterations, 0, true};
    Candidates out{{factors, steps}, text(by_cg ? text(symmetry, ", positive diagonal") : other_kind, ", nearly full")};
    if (by_cg) out.steps.push_back(lu);
    int const patience = int(p.rows / 20);
    if (p.rows > 1500) out.steps.insert(out.steps.begin(), {steps.what, (std::min)(max_iterations, patience), patience});
    return out;
  }

  // Of grids in two dimensions, bandwidth^2 = rows, factors cost fewer steps than indefinite matrices take; in three, more.
  bool const minres_pays = band * band > 4 * rows;
  choice_step const minres_while{candidate::minres_row_norms, limited(factor_seconds, 100, 2000)};
  bool const semidefinite = p.definite == definiteness::positive_semidefinite;

  // Multigrid is for couplings of one sign, and a solve with it takes as long as 100 steps of CG, of few rows as 250. It begins on grids of couplings alike and
  // where there are many rows; elsewhere iterations are tried first, until they foresee that they take longer, and of few rows factors that cost less. Rows that are
  // all strictly dominant, as those of steps in time, may need few steps everywhere; where all add up to zero, as those of graphs, none helps. Where the couplings of a grid follow
  // one axis, or those of transport point one way, sweeps along it are nearly exact.
  // A row that is coupled to very many makes products dense. Of a narrow band ILU(0) drops little, and nothing where it
  // has no holes, as that of a tridiagonal matrix: it is LU.
  bool const narrow = whole && band <= 16;
  bool const elliptic = p.opposed_off_diagonal && countable && p.rows >= least_multigrid_rows;
  bool const many = grid == grid_guess::none ? multigrid_weight(growth) < 1.5 && (p.rows >= (semidefinite ? 10000 : 400000) || (p.rows >= 30000 && rows >= 100 * band)) : grid == grid_guess::even ? p.rows >= least_grid_points : p.rows >= 130000;
  auto const with_multigrid = [&](Candidates&& l, candidate by) {
    if (!countable || p.rows < least_multigrid_rows || double(p.longest_row) * double(p.longest_row) > 16 * double(p.entries)) return std::move(l);
    auto& steps = l.steps;
    choice_step const multigrid{by, (std::min)(max_iterations, 100)};
    auto place = steps.begin();
    if (!elliptic) {  // one more thing to try before long iterations
      place = std::find_if(place + 1, steps.end(), [&](choice_step const& s) { return s.limit == max_iterations && !is_factors(s.what); });
    } else if (narrow || p.strictly_dominant() || !many || (by != candidate::cg_amg && !(asymmetry < 0.4 && grid == grid_guess::even && p.rows >= 10000))) {
      bool const sweeps = by != candidate::cg_amg || narrow || grid != grid_guess::none;  // a step with sweeps takes as long as two or three without
      place->patience = int(sweeps ? ((by == candidate::cg_amg ? 55 : 40) + 1.5e5 / rows) * multigrid_weight(growth) : multigrid_steps(p.rows, growth));
      place->limit = (std::min)(place->limit, 3 * place->patience);
      if (narrow) place->least = 10;  // twenty would take as long as multigrid
      // Graphs whose products are dense keep the residual at its height for a hundred steps, and then it falls.
      if (multigrid_weight(growth) > 2) place->least = place->patience * 3 / 5;
      ++place;
      if (!sweeps && p.rows <= 20000) {
        auto const factors = std::find_if(place, steps.end(), [](choice_step const& s) { return is_factors(s.what); });
        if (factors != steps.end()) place = factors + 1;
      }
    }
    steps.insert(place, multigrid);
    return std::move(l);
  };

  if (p.hermitian && p.positive_diagonal) {
    std::string const why = symmetry + (p.definite == definiteness::positive_definite ? ", positive definite"
                                        : semidefinite                                ? ", positive semidefinite"
                                                                                      : ", positive diagonal");
    if (semidefinite) {
      auto out = with_multigrid({{{candidate::cg_jacobi, max_iterations}, {candidate::cg_ilu0, max_iterations}, {candidate::minres_row_norms, max_iterations}}, why, true}, candidate::cg_amg);
      bool const cut = std::none_of(out.steps.begin(), out.steps.end(), [&](choice_step const& s) { return s.what == candidate::cg_jacobi && s.limit == max_iterations; });
      if (cut) out.steps.insert(out.steps.end() - 1, {candidate::cg_jacobi, max_iterations});
      return out;
    }
    if (p.rows <= 1500) {
      Candidates out{{{candidate::ldlt, max_iterations}, {candidate::cg_jacobi, max_iterations}, {candidate::lu, max_iterations}}, text(why, ", of few rows")};
      if (p.entries > 5000) out.steps.insert(out.steps.begin(), {candidate::cg_ilu0, (std::min)(max_iterations, 100), 100, false, 10});
      return out;
    }
    if (affordable) {
      // Sweeps go row by row on one thread: worth three steps of CG in a cache and in good order, far more in memory that threads share.
      bool const swept = narrow || (p.rows <= 200000 && !(elliptic && grid == grid_guess::none));
      choice_step const begin = swept ? choice_step{candidate::cg_ilu0, limited(factor_seconds / 3, 100, 2000)} : choice_step{candidate::cg_jacobi, limited(factor_seconds, 100, 2000)};
      Candidates out{{begin, {candidate::ldlt, max_iterations}, {swept ? candidate::cg_jacobi : candidate::cg_ilu0, max_iterations}, {candidate::lu, max_iterations}}, why};
      if (minres_pays) out.steps.insert(out.steps.begin() + 1, minres_while);
      return with_multigrid(std::move(out), candidate::cg_amg);
    }
    Candidates out{{{candidate::cg_jacobi, limited(60, 100, 1000)}, {candidate::ldlt, max_iterations}, {candidate::cg_ilu0, max_iterations}, {candidate::cg_jacobi, max_iterations}, {candidate::minres_row_norms, max_iterations}},
                   why + dear};
    if (!ordered) out.steps.erase(out.steps.begin() + 1);
    return with_multigrid(std::move(out), candidate::cg_amg);
  }
  std::string const& why = other_kind;
  if (p.hermitian) {
    if (!affordable) return {{{candidate::minres_row_norms, max_iterations}}, text(why, ", too large for factors")};
    Candidates out{{{candidate::ldlt, max_iterations}, {candidate::lu, max_iterations}, {candidate::minres_row_norms, max_iterations}}, why};
    if (minres_pays) out.steps.insert(out.steps.begin(), minres_while);
    return out;
  }
  if (p.zero_diagonals > 0) {
    Candidates out{{{candidate::lu, max_iterations}, gmres_while, {candidate::bicgstab_ilu0, max_iterations}}, text(why, ", zeros on the diagonal")};
    if (!countable) out.steps.erase(out.steps.begin());
    return out;
  }
  choice_step begin{candidate::bicgstab_ilu0, affordable ? limited(2 * factor_seconds, 60, 400) : 400};
  if (p.rows <= 1500) begin.patience = begin.limit;  // factors of few rows take no longer than some steps
  Candidates out{{begin, {candidate::lu, max_iterations}, {candidate::bicgstab_ilu0, max_iterations}, gmres_while}, affordable ? why : why + dear};  // GMRES: for singular matrices with b in their range
  if (!affordable && !ordered) out.steps.erase(out.steps.begin() + 1);
  return with_multigrid(std::move(out), candidate::bicgstab_amg);
}
} // namespace detail

/// The list for a matrix of these properties. Costs are guessed from rows, entries and bandwidth: a factorisation as
/// rows x bandwidth^2, which is too much for a matrix in bad order, so that iterations come first there. Before factors are
/// made, their cost is counted, and dear ones wait until iterations have had as much time.
/// whole: one rank has all rows, so that its ILU(0) is of all of A. asymmetry: of couplings, 1 where they point one way. Source of the constants: bench/results.
template <class Candidates = candidates>
Candidates choose(matrix_properties const& p, int max_iterations, detail::grid_guess grid = detail::grid_guess::none, double growth = 1, bool whole = true, double asymmetry = 1) {
  auto out = detail::choose_steps<Candidates>(p, max_iterations, grid, growth, whole, asymmetry);
  out.rows = p.rows, out.batch = p.batch;
  out.step_seconds = detail::step_seconds(p);
  out.multigrid_steps = detail::multigrid_steps(p.rows, growth);
  return out;
}

} // namespace sla
