// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lanczos's method with thick restarts for A v = w B v, A Hermitian, B definite (Wu and Simon 2000), with shift and invert for `near{sigma}`. The basis
// is orthogonalised in full, twice, so the small matrix is dense and the decomposition that of krylov_process.hpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sla/solve/eigen/krylov/restarts.hpp>
#include <sla/solve/eigen/spectral_operator.hpp>

namespace sla {

/// Lanczos's method with thick restarts, for `eigsh`: `eigsh(A, 6, near{1.0}, lanczos{.rtol = 1e-10})`. near{sigma} factors A - sigma B (shift and invert);
/// the others multiply by A, and where there is a B, solve with its factors. On ranks they are factors on the first rank, of at most 20 000 rows; what has more rows, an operator, and a
/// distributed A with a preconditioner named are solved with by minres. At most Capacity basis vectors.
/// It finds all vectors of a multiple value, unless find_multiples is false: beside the pairs that have converged it looks for others from a new random vector.
/// Cost: of each of the basis vectors of a cycle one product, or solve, and four passes over the basis; one synchronisation per cycle. Memory: 2 basis vectors.
/// Where sigma is an eigenvalue, nearly, a shift beside it is inverted, which the report says; nearest is what is nearest to sigma. move_shift = false refuses such a sigma instead.
/// Errors: value_error, if A - sigma B is singular for both shifts; shape_error for more pairs than the basis has room for.
/// Source: Wu and Simon, SIAM J. Matrix Anal. Appl. 22 (2000); Stathopoulos, Saad and Wu, SIAM J. Sci. Comput. 19 (1998).
template <int Capacity>
struct basic_lanczos {
  double rtol = default_rule().rtol;
  int max_restarts = 1000;
  int basis = 0;  ///< vectors of the basis; 0: some more than twice the pairs that are wanted
  bool find_multiples = true;
  bool move_shift = true;  ///< of near{sigma}, where sigma is a value of A, nearly

  using eigen_method_tag = void;
  static constexpr char const* name = "lanczos";
  static constexpr int most_pairs = Capacity - 3;  ///< that may be wanted of more than Capacity rows

  template <class Problem, class W>
  auto find(Problem const& problem, index_t k, W const& wanted) const {
    using T = typename Problem::value_type;
    detail::require_basis(name, k, problem.n, Capacity);
    auto space = problem.space();
    auto const like = problem.random_vector(1);
    using V = std::remove_const_t<decltype(like)>;
    V between = space.template like<T>(like), image = space.template like<T>(like);
    auto const inner = [&] {
      if constexpr (Problem::is_standard)
        return detail::plain_inner{};
      else
        return detail::weighted_inner<std::remove_cvref_t<decltype(problem.b)>, V>{problem.b, image};
    }();
    auto const random = [&](std::uint64_t seed) { return problem.random_vector(seed); };
    detail::restart_rule const rule{rtol, max_restarts, detail::basis_for(k, basis, Capacity), find_multiples};
    auto const run = [&](auto const& op) {
      detail::krylov_process process(std::integral_constant<int, Capacity>{}, space, like, op.multiply, inner, random, problem.n);
      auto const scale = [&](auto const& p) { return detail::residual_scale(problem, p, wanted, between); };
      auto const found = detail::restarted<detail::hermitian_problem>(process, int(k), rule, op.inverted, op.key, op.to_a, scale);
      auto vectors = process.combined(found.vectors());
      index_t applications = op.by.empty() ? 0 : process.products();
      if constexpr (detail::is_near<W> && detail::multiplies_by_solving<decltype(op.multiply)>) {
        // What solves leave of the images of the basis stands beside the largest of them. One more solve with each vector leaves it beside the distance from sigma.
        typename decltype(process)::list refined(space, inner, random);
        for (int j = 0; j < int(vectors.size()); ++j)
          op.multiply(vectors[std::size_t(j)], refined.next(), [&](auto&&... statement) { return refined.join(j, std::forward<decltype(statement)>(statement)...); });
        space.finish();
        applications += index_t(vectors.size());
        vectors = refined.vectors();
      }
      return as_found(problem, process, found, vectors, applications, op.by, op.inverted, op.remark);
    };
    if constexpr (detail::is_solved_with<Problem, W>) {
      if constexpr (detail::has_gathered_factors<Problem>)
        if (problem.n <= detail::choice_world<std::remove_cvref_t<decltype(problem.a)>>::most_gathered_rows) return detail::with_operator<false>(problem, wanted, space, between, true, "eigsh(A", run, move_shift);
      return detail::with_solved_operator(problem, wanted, space, between, rtol, run, move_shift);
    } else {
      return detail::with_operator<false>(problem, wanted, space, between, true, "eigsh(A", run, move_shift);
    }
  }

private:
  /// What eigsh is given: the vectors, and the values as Rayleigh's quotients.
  template <class Problem, class Process, class Found, class V>
  auto as_found(Problem const& problem, Process& process, Found const& found, std::vector<V> const& vectors, index_t applications, std::string by, bool inverted, std::string choice) const {
    using T = typename Problem::value_type;
    auto& space = process.space();
    index_t const count = index_t(vectors.size());
    auto block = block_like<T>(vectors.front(), count);
    if (found.alone && !process.is_whole()) detail::add_remark(choice, "a run beside these pairs found no others");
    eigen_found<typename Problem::real_type, decltype(block)> out{{}, std::move(block), found.reason, found.restarts + 1, count + (inverted ? 0 : process.products()), applications, name, by,
                                                                  std::move(choice), found.alone ? int(problem.n) : 1, found.cuts_cluster};
    out.proves_definite = out.preconditioner == "cholesky";
    for (std::size_t j = 0; j < vectors.size(); ++j) {
      auto const& v = vectors[j];
      auto image = space.template like<T>(v), weighted = space.template like<T>(v);
      auto [above, below] = fuse(space, set(image, problem.a * v), set(weighted, problem.b * v), dot_of(v, image), dot_of(v, weighted));
      double const vav = double(real_of(detail::read_one(space, above))), vbv = double(real_of(detail::read_one(space, below)));
      if (!(vbv > 0)) detail::throw_not_definite("a vector v has v^H B v = ", vbv);
      out.values.push_back(typename Problem::real_type(vav / vbv));
      detail::put_column(out.vectors, index_t(j), v);
    }
    return out;
  }
};
/// `basic_lanczos` of at most 64 basis vectors.
using lanczos = basic_lanczos<64>;

} // namespace sla
