// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LOBPCG: a block of vectors, improved by preconditioned residuals and the directions of the step before (Knyazev 2001; stable by
// the bases of Hetmaniuk and Lehoucq 2006, Duersch, Shao, Yang and Gu 2018). One text for host, queue and ranks.
#pragma once

#include <sla/solve/eigen/lobpcg_run.hpp>

namespace sla {

namespace detail {
template <int Capacity, class Y>
struct constrained_lobpcg;
} // namespace detail

/// Locally optimal block preconditioned conjugate gradients, for A v = w B v with Hermitian A and Hermitian positive definite B: the smallest or the
/// largest values. `block` vectors (k and some more, where it is 0) are improved together, so that multiple values are found; pairs that have converged
/// stay in the basis, without new residuals (soft locking). A preconditioner is one for A v = b, and for `smallest{}`; any will do, also one that changes.
/// Cost: per iteration two products with A and one with M per active vector (none is kept of those with A: see lobpcg_run.hpp), three products with B, three
/// small Gram matrices, and about 20 vectors of traffic per vector of the block; on ranks three reductions. Memory: about 7 blocks.
/// Errors: value_error, if k and block are more than Capacity allows, if B is not positive definite.
/// Source: Knyazev, Toward the optimal preconditioned eigensolver (2001); Duersch, Shao, Yang and Gu (2018).
template <int Capacity>
struct basic_lobpcg {
  double rtol = 1e-8;        ///< of |A v - w B v| / |w B v|
  int max_iterations = 1000;
  int block = 0;             ///< vectors that are improved together, at least k and at most Capacity
  std::uint64_t seed = 1;    ///< of the random vectors to begin with
  observer watch = {};       ///< sees one progress per wanted pair

  using eigen_method_tag = void;
  static constexpr char const* name = "lobpcg";
  static constexpr int most_pairs = Capacity;  ///< that may be wanted

  /// The same method among the vectors that are orthogonal, in B, to the columns of Y, (N, m): of pairs that were found already, or of another
  /// invariant subspace. `eigsh(A, 4, smallest{}, lobpcg{}.orthogonal_to(V))` gives the next four. Y is referred to.
  template <class Y>
  detail::constrained_lobpcg<Capacity, Y> orthogonal_to(Y const& vectors SLA_LIFETIMEBOUND) const {
    return {*this, vectors, rtol};
  }
  template <class W>
  static constexpr void require_wanted() {
    static_assert(std::same_as<W, smallest> || std::same_as<W, largest>,
                  "sla: eigsh(A, k, wanted, lobpcg{}): lobpcg finds smallest{} or largest{} values; largest_magnitude{} and near{sigma} are for lanczos{}");
  }
  /// The pairs of an `eigen_problem`.
  template <class Problem, class W>
  auto find(Problem const& problem, int k, W const& wanted) const {
    return find_beside(problem, k, wanted, static_cast<detail::none const*>(nullptr));
  }
  /// The same among vectors that are orthogonal to those of *Y.
  template <class Problem, class W, class Y>
  auto find_beside(Problem const& problem, int k, W const& wanted, Y const* vectors) const {
    constexpr bool beside = !std::same_as<Y, detail::none>;
    index_t taken = 0;
    if constexpr (beside) taken = detail::width_of(*vectors);
    index_t const guards = (std::max)(2, k / 4);
    index_t const columns = (std::min)({block ? index_t(block) : (std::min)(k + guards, (std::max)(index_t(k), index_t(Capacity))), problem.n - taken});
    if (taken > 2 * Capacity || k > problem.n - taken)
      throw value_error(text("eigsh(A, ", k, ", ..., lobpcg{}.orthogonal_to(Y)): Y has ", taken, " columns, and A ", problem.n, " rows; there is room for ", 2 * Capacity,
                             " columns, and for k up to ", (std::max)(problem.n - taken, index_t(0)), taken > 2 * Capacity ? text("; basic_lobpcg<", (taken + 1) / 2, "> takes more columns") : ""));
    if (columns < k || columns > Capacity)
      throw value_error(text("eigsh(A, ", k, ", ..., lobpcg{.block = ", block, "}): the block has from k to ", Capacity, " vectors, and 0 leaves it to the method",
                             columns > Capacity ? text("; basic_lobpcg<", (std::max)(columns, k + guards), "> has room for more") : ""));
    auto const m = problem.setup();
    auto space = problem.space();
    auto start = problem.random_block(columns, seed);
    using Block = decltype(start);
    using Run = detail::lobpcg_run<2 * Capacity, decltype(space), std::remove_cvref_t<decltype(problem.a)>, std::remove_cvref_t<decltype(problem.b)>, Block>;
    typename Run::applied apply;
    if constexpr (Problem::is_preconditioned) apply = [&](Block const& r, Block& w) { fuse(space, set(w, m * r)); };
    Run run(space, problem.a, problem.b, apply, [&](double v) { return wanted.key(v); }, k, rtol);
    if constexpr (beside) {
      constexpr bool is_block = std::same_as<Y, Block>;
      static_assert(is_block, "sla: lobpcg{}.orthogonal_to(Y): Y is a block of vectors as eigsh gives it, (N, m) of the scalars of A, on ranks as A's rows lie");
      if constexpr (is_block) {
        if (taken < 1 || detail::own_size(*vectors) * columns != detail::own_size(start) * taken)
          throw shape_error(text("eigsh(A, ", k, ", ..., lobpcg{}.orthogonal_to(Y)): Y has ", taken, " columns and ", detail::own_size(*vectors), " numbers, and A ", problem.n, " rows; Y has at least one column of as many"));
        run.constrain_to(*vectors);
      }
    }
    auto found = run.run(std::move(start), max_iterations, watch);
    found.method = name, found.preconditioner = problem.name_of_preconditioner(m);
    return found;
  }
};

namespace detail {
template <int Capacity, class Y>
struct constrained_lobpcg {
  basic_lobpcg<Capacity> method;
  Y const& vectors;
  double rtol;

  using eigen_method_tag = void;
  static constexpr char const* name = "lobpcg";
  template <class W>
  static constexpr void require_wanted() {
    basic_lobpcg<Capacity>::template require_wanted<W>();
  }
  template <class Problem, class W>
  auto find(Problem const& problem, int k, W const& wanted) const {
    return method.find_beside(problem, k, wanted, &vectors);
  }
};
} // namespace detail

/// `basic_lobpcg` with blocks of at most 24 vectors.
using lobpcg = basic_lobpcg<24>;

} // namespace sla
