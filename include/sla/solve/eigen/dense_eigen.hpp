// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The whole spectrum of a small Hermitian matrix by dense algebra, Eigen's: the method of eigsh for few rows, and the oracle of the others.
#pragma once

#include <sla/expr/sparse/refused.hpp>
#include <sla/expr/sparse/views.hpp>
#include <sla/solve/eigen/block_algebra.hpp>

namespace sla {

namespace detail {
/// A sparse matrix, or an operator, as a small one.
template <class Wide, class A>
small_dense<Wide> small_dense_of(A const& a) {
  auto const entries = to_dense(a);
  small_dense<Wide> out(entries.extent(0), entries.extent(1));
  for (index_t i = 0; i < out.rows(); ++i)
    for (index_t j = 0; j < out.cols(); ++j) out(i, j) = Wide(entries(i, j));
  return out;
}
} // namespace detail

/// `eigsh(A, k, wanted, dense_eigen{})`: all pairs by dense algebra, of which k are returned, for a matrix of few rows. Cost: some 10 n^3 operations.
/// Law: A is a sparse matrix, or an operator of yours, in host memory. Errors: value_error, if B is not positive definite.
struct dense_eigen {
  double rtol = 1e-8;

  using eigen_method_tag = void;
  static constexpr char const* name = "dense", *type = "dense_eigen";

  /// The pairs of an `eigen_problem`.
  template <class Problem, class W>
  auto find(Problem const& problem, int k, W const& wanted) const {
    using T = typename Problem::value_type;
    using Real = typename Problem::real_type;
    using Wide = detail::small_scalar<T>;
    using Dense = detail::small_dense<Wide>;
    using A = std::remove_cvref_t<decltype(problem.a)>;
    static_assert(detail::Readable<A> || detail::is_linear_operator<A>, "sla: eigsh(A, k, ..., dense_eigen{}): A is a sparse matrix in host memory; on ranks and devices take lobpcg{} or lanczos{}");
    auto const dense = [](auto const& a) {
      Dense const out = detail::small_dense_of<Wide>(a);
      return Dense(0.5 * (out + out.adjoint()));
    };
    index_t const n = problem.n;
    Dense S = dense(problem.a), R;
    if constexpr (!Problem::is_standard) {
      auto const found = detail::inverse_cholesky<Wide>(dense(problem.b));
      if (!found) detail::throw_not_definite("it has no Cholesky factors");
      R = *found;
      S = detail::dense_product<Wide>(R, detail::dense_product<Wide>(S, R.adjoint()));
      S = (0.5 * (S + S.adjoint())).eval();
    }
    auto const eigen = detail::eigenpairs_of<Wide>(S);
    auto const& w = eigen.values;
    auto const order = detail::ordered_by(n, [&](index_t j) { return wanted.key(w[j]); });
    Dense V(n, k);
    for (int j = 0; j < k; ++j) V.col(j) = eigen.vectors.col(order[std::size_t(j)]);
    if constexpr (!Problem::is_standard) V = detail::dense_adjoint_product<Wide>(R, V);

    auto vectors = block_like<T>(problem.random_vector(1), k);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < k; ++j) vectors(i, j) = T(V(i, j));
    eigen_found<Real, decltype(vectors)> found;
    for (int j = 0; j < k; ++j) found.values.push_back(Real(w[order[std::size_t(j)]]));
    found.vectors = std::move(vectors);
    found.reason = reason::converged, found.method = name, found.sees_multiplicity = int(n);
    if (k < n) {
      double const last = w[order[std::size_t(k - 1)]], next = w[order[std::size_t(k)]], size = (std::max)(std::abs(w[0]), std::abs(w[n - 1]));
      found.cuts_cluster = std::abs(next - last) <= 100 * double(n) * double(std::numeric_limits<Real>::epsilon()) * size;
    }
    return found;
  }
};

} // namespace sla
