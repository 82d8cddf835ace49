// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The small dense algebra of methods of blocks, by Eigen on the host: matrices of inner products up from a space and coefficients back,
// orthonormal columns from their inner products, the Rayleigh-Ritz step.
#pragma once

#include <algorithm>
#include <complex>
#include <functional>
#include <vector>

#include <sla/solve/eigen/problem.hpp>
#include <sla/solve/eigen/krylov/small_dense.hpp>

namespace sla::detail {

/// The part in use of a matrix of inner products.
template <class W, class G>
small_dense<W> dense_part(G const& g, index_t rows, index_t cols) {
  small_dense<W> out(rows, cols);
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < cols; ++j) out(i, j) = W(user_t<typename G::value_type>(g(int(i), int(j))));
  return out;
}
/// C as a number of the space, for `combine` of vectors of T.
template <class T, int Most, class Space, class C>
auto coefficients_in(Space& space, C const& c) {
  std::vector<small_matrix<kernel_t<T>, Most>> one(1);
  for (index_t i = 0; i < c.rows(); ++i)
    for (index_t j = 0; j < c.cols(); ++j) one[0](int(i), int(j)) = kernel_t<T>(T(c(i, j)));
  return space.scalar(one);
}

/// How columns become orthonormal.
template <class W>
struct orthonormal_columns {
  small_dense<W> C;         ///< V C is orthonormal; it has fewer columns where V has no full rank
  double least = 0;         ///< negative, where B is not definite: a (v, B v) that shows it
};
/// C for columns V with the inner products G. Columns j with G(j, j) <= least(j) are taken for zero.
/// Source: Stathopoulos and Wu, A block orthogonalization procedure with constant synchronization requirements (2002): SVQB.
template <class W, class Least>
orthonormal_columns<W> orthonormal_from(small_dense<W> const& G, Least const& least) {
  index_t const m = G.rows();
  small_values<W> d(m);
  orthonormal_columns<W> out;
  if (m == 0) return out;
  for (index_t j = 0; j < m; ++j) {
    double const g = std::real(G(j, j));
    d[j] = g > least(j) && g > 0 ? 1 / std::sqrt(g) : 0;
    if (g < -least(j)) out.least = (std::min)(out.least, g);
  }
  small_dense<W> const S = d.asDiagonal() * G * d.asDiagonal();
  auto const [values, vectors, is_found] = eigenpairs_of<W>(S);
  double const most = values[m - 1];
  if (values[0] < -1e-6 * (std::max)(most, 1e-300)) out.least = (std::min)(out.least, double(values[0]));
  index_t kept = 0;
  while (kept < m && values[m - 1 - kept] > 1e-12 * most && most > 0) ++kept;
  out.C.resize(m, kept);
  for (index_t j = 0; j < kept; ++j) out.C.col(j) = d.asDiagonal() * vectors.col(m - 1 - j) / std::sqrt(values[m - 1 - j]);
  return out;
}

/// The Rayleigh-Ritz step in the basis [Z W].
template <class W>
struct ritz_step {
  bool is_done = false;    ///< false, if the basis is dependent
  small_values<W> values;  ///< the wanted ones first
  double reach = 0;        ///< the largest |value| of all
  small_dense<W> X, P;     ///< coefficients of vectors and directions, orthonormal together
};
/// The first b pairs of H c = w G c, those with the smallest keys, and directions for those in `active`: what of their vectors does not come from the
/// first b columns of the basis, orthogonal to the new vectors. Source: Hetmaniuk and Lehoucq, Basis selection in LOBPCG (2006); Duersch, Shao, Yang
/// and Gu, A robust and efficient implementation of LOBPCG (2018).
template <class W>
ritz_step<W> rayleigh_ritz(small_dense<W> const& H, small_dense<W> const& G, index_t b, std::vector<index_t> const& active, std::function<double(double)> const& key) {
  using M = small_dense<W>;
  ritz_step<W> out;
  auto const R = inverse_cholesky<W>(G, 1e-5);
  if (!R) return out;
  M const RH = R->adjoint();
  M S = dense_product<W>(*R, dense_product<W>(H, RH));
  S = (0.5 * (S + S.adjoint())).eval();
  if (!S.allFinite()) return out;
  auto const eigen = eigenpairs_of<W>(S);
  if (!eigen.is_found) return out;
  index_t const m = S.rows();
  out.reach = eigen.values.cwiseAbs().maxCoeff();
  b = (std::min)(b, m);
  auto const order = ordered_by(m, [&](index_t j) { return key(eigen.values[j]); });
  M Q(m, b);
  out.values.resize(b);
  for (index_t j = 0; j < b; ++j) {
    Q.col(j) = eigen.vectors.col(order[std::size_t(j)]);
    out.values[j] = eigen.values[order[std::size_t(j)]];
  }
  out.X = dense_product<W>(RH, Q);
  M D = M::Zero(m, index_t(active.size()));
  for (std::size_t j = 0; j < active.size(); ++j) D.col(index_t(j)).tail(m - b) = out.X.col(active[j]).tail(m - b);
  D = dense_product<W>(*R, dense_product<W>(G, D));  // L^H D
  small_values<W> const before = D.colwise().squaredNorm();
  for (int twice = 0; twice < 2; ++twice) {
    D -= dense_product<W>(Q, dense_adjoint_product<W>(Q, D));
    auto const made = orthonormal_from<W>(dense_adjoint_product<W>(D, D), [&](index_t j) { return twice ? 0.0 : 1e-20 * before[j]; });
    D = dense_product<W>(D, made.C);
  }
  out.P = dense_product<W>(RH, D);
  out.is_done = true;
  return out;
}

} // namespace sla::detail
