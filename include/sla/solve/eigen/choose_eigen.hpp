// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The method of eigsh(A, k, wanted) where none is named: dense algebra for few rows, for the smallest values lobpcg with multigrid or with
// the factors of a definite matrix, else lanczos.
#pragma once

#include <sla/solve/direct/direct.hpp>
#include <sla/solve/eigen/dense_eigen.hpp>
#include <sla/solve/eigen/thick_restart_lanczos.hpp>
#include <sla/solve/eigen/lobpcg.hpp>
#include <sla/solve/precond/amg/amg.hpp>
#include <sla/tensor/structure/properties.hpp>

namespace sla {

namespace detail {
/// Are the smallest eigenvalues of a Hermitian A its smallest singular values, and multigrid a preconditioner for them?
template <class P>
bool multigrid_serves(P const& p) {
  return (p.definite == definiteness::positive_definite || p.definite == definiteness::positive_semidefinite) && p.positive_diagonal && p.opposed_off_diagonal;
}
} // namespace detail

/// The method of `eigsh(A, k, wanted)`: it looks at A and picks one; the report names it.
struct automatic_eigen {
  double rtol = 1e-8;

  using eigen_method_tag = void;
  static constexpr char const* name = "automatic", *type = "automatic_eigen";

  /// The pairs of an `eigen_problem`.
  template <class Problem, class W>
  auto find(Problem const& problem, int k, W const& wanted) const {
    using A = std::remove_cvref_t<decltype(problem.a)>;
    if constexpr (detail::Readable<A> && !Problem::is_preconditioned) {
      if (problem.n <= 200 || (k > problem.n / 5 && problem.n <= 2000)) return dense_eigen{rtol}.find(problem, k, wanted);
      if constexpr (std::same_as<W, smallest>)
        if (k <= lobpcg::most_pairs) {
          auto const p = properties(problem.a);
          if (detail::multigrid_serves(p)) {
            auto found = find_with(problem, amg{}, k, wanted);
            found.choice = "A is a diagonally dominant M-matrix";
            return found;
          }
          if (auto const factors = definite_factors(problem.a, p)) {
            auto found = find_with(problem, *factors, k, wanted);
            found.preconditioner = "cholesky";
            return found;
          }
        }
      if (k <= lanczos::most_pairs) return lanczos{rtol}.find(problem, k, wanted);
    }
    if constexpr (std::same_as<W, smallest> || std::same_as<W, largest>)
      return lobpcg{rtol}.find(problem, k, wanted);
    else
      return lanczos{rtol}.find(problem, k, wanted);
  }

private:
  template <class A, class B, class No, class On, class P, class W>
  auto find_with(eigen_problem<A, B, No, On> const& of, P const& p, int k, W const& wanted) const {
    return lobpcg{rtol}.find(eigen_problem<A, B, P, On>{of.a, of.b, p, of.on, of.n}, k, wanted);
  }
  /// The factors of A, or of what becomes definite by a multiple of the identity that its rows tell; none, if they fail.
  template <class T, class S, class F>
  static auto definite_factors(sparse_tensor<T, S, F> const& A, matrix_properties const& p) {
    using Factors = decltype(factor<factorization::cholesky>{}.setup(A));
    std::optional<Factors> out;
    if (p.positive_diagonal) out.emplace(A);
    if (!out || out->failure(0).why != reason::converged) out.reset();
    return out;
  }
};

} // namespace sla
