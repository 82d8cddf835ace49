// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The Krylov-Schur method for A v = w B v with any square A (Stewart 2001): in real arithmetic for a real A, with shift and invert for `near{sigma}`,
// and left vectors on request.
#pragma once

#include <complex>
#include <string>
#include <utility>
#include <vector>

#include <sla/solve/eigen/krylov/restarts.hpp>
#include <sla/solve/eigen/spectral_operator.hpp>

namespace sla {

/// The Krylov-Schur method for `eigs`: `eigs(A, 4, largest_magnitude{}, krylov_schur{.rtol = 1e-10})`. near{sigma} factors A - sigma B (shift and invert); the
/// others multiply by A, and where there is a B, solve with its factors. At most Capacity basis vectors; of fewer unknowns it finds all pairs, as a dense solver does.
/// Cost: of each of the basis vectors of a cycle one product, or solve, and four passes over the basis; one synchronisation per cycle. Memory: 2 basis vectors.
/// Errors: value_error, if A - sigma B is singular; shape_error for more pairs than the basis has room for.
/// Source: Stewart, SIAM J. Matrix Anal. Appl. 23 (2001) 601.
template <int Capacity>
struct basic_krylov_schur {
  double rtol = default_rule().rtol;
  int max_restarts = 1000;
  int basis = 0;  ///< vectors of the basis; 0: some more than twice the pairs that are wanted
  bool find_multiples = true;  ///< look for others beside what has converged

  using general_eigen_method_tag = void;
  static constexpr char const* name = "krylov-schur";
  static constexpr int capacity = Capacity;

  /// The k pairs that are wanted, or of the conjugate transpose those with the conjugate values: complex values and vectors.
  template <bool Adjoint, class Problem, class W>
  auto find(Problem const& problem, index_t k, W const& wanted) const {
    using T = typename Problem::value_type;
    using Z = std::complex<typename Problem::real_type>;
    detail::require_basis(name, k, problem.n, Capacity);
    auto space = problem.space();
    auto const like = problem.random_vector(1);
    auto between = space.template like<T>(like);
    auto const random = [&](std::uint64_t seed) { return problem.random_vector(seed); };
    detail::restart_rule const rule{rtol, max_restarts, problem.n <= Capacity ? int(problem.n) : detail::basis_for(k, basis, Capacity), find_multiples};
    return detail::with_operator<Adjoint>(problem, wanted, between, false, "eigs(A", [&](auto const& op) {
      detail::krylov_process process(std::integral_constant<int, Capacity>{}, space, like, op.multiply, detail::plain_inner{}, random, problem.n);
      auto const scale = [&](auto const& p) { return detail::residual_scale(problem, p, wanted, between); };
      auto const found = detail::restarted<detail::schur_problem>(process, int(k), rule, op.inverted, op.key, op.to_a, scale);
      auto block = block_like<Z>(like, k);
      put_vectors(process, found.vectors(), block);
      eigen_found<Z, decltype(block)> out{{}, std::move(block), found.reason, found.restarts + 1, op.inverted ? 0 : process.products(), op.by.empty() ? 0 : process.products(), name, op.by,
                                          found.alone && !process.is_whole() ? "a run beside these pairs found no others" : "", found.alone ? int(problem.n) : 1, found.cuts_cluster};
      for (int j = 0; j < found.count; ++j) out.values.push_back(Z(op.to_a(found.problem->value(j))));
      return out;
    });
  }

private:
  /// The columns of V C, for a complex C.
  template <class Process, class C, class Block>
  static void put_vectors(Process& process, C const& c, Block& block) {
    using U = typename Process::U;
    using Z = typename Block::value_type;
    auto const take = [&](auto const& coefficients, auto const& as) {
      auto const vectors = process.combined(coefficients);
      process.space().finish();
      auto* const to = detail::own_numbers(block);
      for (std::size_t j = 0; j < vectors.size(); ++j) {
        auto const* const from = detail::own_numbers(vectors[j]);
        index_t const rows = detail::own_size(vectors[j]), columns = rows ? detail::own_size(block) / rows : 0;
        for (index_t i = 0; i < rows; ++i) as(to[i * columns + index_t(j)], from[i]);
      }
    };
    if constexpr (is_complex<U>) {
      take(detail::projected_matrix<U>(c), [](Z& z, auto x) { z = Z(x); });
    } else {
      take(detail::projected_matrix<U>(c.real()), [](Z& z, auto x) { z = Z(x, 0); });
      take(detail::projected_matrix<U>(c.imag()), [](Z& z, auto x) { z = Z(z.real(), x); });
    }
  }
};
/// `basic_krylov_schur` of at most 64 basis vectors.
using krylov_schur = basic_krylov_schur<64>;

} // namespace sla
