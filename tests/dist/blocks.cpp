// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A method of blocks of vectors, written once as a user would: the smallest eigenvalues of the 2-D Laplacian, against their closed form, on
// the host, on a queue and on ranks.
#include <cmath>
#include <complex>
#include <numbers>

#include <sla/adapter/eigen.hpp>
#include <sla/dist.hpp>
#include <sla/exec/deferred.hpp>
#include <sla/tensor/problems/problems.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "catch.hpp"

namespace test_blocks_on_ranks {

using namespace sla;

namespace {
// ---- what a user writes: Chebyshev's filter and Rayleigh-Ritz, over a Space alone

/// C with G = C^-H C^-1: the columns of V C are orthonormal, where those of V have the inner products G.
struct orthonormal {
  template <class T, int K>
  small_matrix<T, K> operator()(small_matrix<T, K> const& G) const {
    using M = Eigen::Matrix<user_t<T>, K, K, Eigen::RowMajor>;
    small_matrix<T, K> C;
    M const L = Eigen::LLT<M>(as_eigen(G)).matrixL();
    as_eigen(C) = L.template triangularView<Eigen::Lower>().solve(M::Identity()).adjoint();
    return C;
  }
};
/// The eigenvectors of a Hermitian matrix, and its eigenvalues, in ascending order.
struct eigenvectors {
  template <class T, int K>
  small_matrix<T, K> operator()(small_matrix<T, K> const& H) const {
    small_matrix<T, K> Q;
    as_eigen(Q) = Eigen::SelfAdjointEigenSolver<Eigen::Matrix<user_t<T>, K, K>>(as_eigen(H)).eigenvectors();
    return Q;
  }
};
struct eigenvalues {
  template <class T, int K>
  fixed_array<double, K> operator()(small_matrix<T, K> const& H) const {
    auto const values = Eigen::SelfAdjointEigenSolver<Eigen::Matrix<user_t<T>, K, K>>(as_eigen(H)).eigenvalues().eval();
    fixed_array<double, K> out;
    for (int k = 0; k < K; ++k) out[k] = values[k];
    return out;
  }
};

/// The eigenvalues of A below those in [low, high], of the block X, which becomes their vectors (Zhou, Saad, Tiago, Chelikowsky 2006).
template <class S, class A, class V>
auto smallest_eigenvalues(S& space, A const& a, V& X, double low, double high, int degree, int steps) {
  using T = typename V::value_type;
  V Y = space.template like<T>(X), Z = space.template like<T>(X);
  double const center = (high + low) / 2, half = (high - low) / 2;
  auto [G] = fuse(space, gram_of(X, X));
  auto const number = [&](double value) { return space.scalar(std::vector<double>(std::size_t(space.items()), value)); };
  auto const one = number(1 / half), shift = number(center / half), two = number(2 / half), shift2 = number(2 * center / half);
  auto H = G;
  for (int step = 0; step < steps; ++step) {
    fuse(space, set(Y, one * (a * X) - shift * X));
    for (int k = 2; k <= degree; ++k) {
      fuse(space, set(Z, two * (a * Y) - shift2 * Y - X));
      std::swap(X, Y), std::swap(Y, Z);
    }
    std::swap(X, Y);
    for (int twice = 0; twice < 2; ++twice) {
      auto [XX] = fuse(space, gram_of(X, X));
      fuse(space, set(X, combine(X, space.map(orthonormal{}, XX))));
    }
    auto [XAX] = fuse(space, set(Y, a * X), gram_of(X, Y));
    H = XAX;
    fuse(space, set(X, combine(X, space.map(eigenvectors{}, H))));
  }
  auto values = space.map(eigenvalues{}, H);
  space.finish();
  return space.read(values).front();
}

constexpr index_t nx = 19, ny = 16, n = nx * ny;
constexpr int k = 6;
template <class T>
using block = tensor<T, Extents<dyn, k>>;
/// 4 - 2 cos - 2 cos: the k smallest.
std::vector<double> closed_form() {
  std::vector<double> all;
  for (index_t i = 1; i <= nx; ++i)
    for (index_t j = 1; j <= ny; ++j)
      all.push_back(4 - 2 * std::cos(double(i) * std::numbers::pi / double(nx + 1)) - 2 * std::cos(double(j) * std::numbers::pi / double(ny + 1)));
  std::sort(all.begin(), all.end());
  return all;
}
template <class Values>
double error(Values const& found) {
  auto const exact = closed_form();
  double most = 0;
  for (int j = 0; j < 4; ++j) most = std::max(most, std::abs(found[j] - exact[std::size_t(j)]) / exact[std::size_t(j)]);
  return most;
}
template <class Space, class T>
double found_on(Space&& space, T) {
  auto const A = problems::poisson<T>({nx, ny});
  block<T> X = random<T, Extents<dyn, k>>({n, k}, 3);
  double const e = error(smallest_eigenvalues(space, A, X, closed_form()[k], 8.0, 12, 30));
  for (int j = 0; j < 4; ++j) {  // the vectors are those of the values
    vector<T> v(n);
    for (index_t i = 0; i < n; ++i) v[i] = X(i, j);
    CHECK(double(norm(A * v - closed_form()[std::size_t(j)] * v)) <= 1e-7);
  }
  return e;
}
}  // namespace

TEST_CASE("a method of blocks finds the eigenvalues of the Laplacian on the host, on a queue and on ranks") {
  frame const f{1, n, k, 1};
  CHECK(found_on(host_space<false>(f), 1.0) <= 1e-12);
  CHECK(found_on(host_space<true>(f), std::complex<double>()) <= 1e-12);
  for (int lag : {0, 4}) CHECK(found_on(deferred(f, lag), 1.0) <= 1e-12);
  for (int ranks : {1, 2, 3}) {
    auto const errors = threads::run(ranks, [&](auto& world) {
      using Rows = mesh<axis<"rows">>;
      Rows m(world);
      auto D = distribute<SparseShard<0>>(problems::poisson<double>({nx, ny}), m, strips{});
      auto X = distribute(block<double>(random<double, Extents<dyn, k>>({n, k}, 3)), D.row_layout());
      mesh_space<Rows, false, true> space({1, X.local().extent(0), k, 1}, m);
      return error(smallest_eigenvalues(space, D, X, closed_form()[k], 8.0, 12, 30));
    });
    for (double e : errors) CHECK(e <= 1e-12);
  }
}

TEST_CASE("the inner products of blocks cross ranks together, as many numbers as there are") {
  auto const V = random<double, Extents<dyn, dyn>>({50, 5}, 1);
  auto const expected = gram<8>(V, V);
  for (int ranks : {1, 2, 3}) {
    auto const right = threads::run(ranks, [&](auto& world) {
      using Rows = mesh<axis<"rows">>;
      Rows m(world);
      auto D = distribute<SparseShard<0>>(problems::poisson<double>({50}), m, strips{});
      auto X = distribute(V, D.row_layout());
      mesh_space<Rows, true, true> space({1, X.local().extent(0), 5, 1}, m);
      auto const before = space.traffic();
      auto [G, s] = fuse(space, gram_of<8>(X, X), squared_norm_of(X));
      auto const after = space.traffic();
      auto const found = space.read(G)[0];
      double difference = 0;
      for (int e = 0; e < 64; ++e) difference = std::max(difference, std::abs(found[e] - expected[e]));
      return difference <= 1e-13 && after.reductions - before.reductions == 1 && std::abs(space.read(s)[0] - sum(V * V)) <= 1e-12;
    });
    for (bool r : right) CHECK(r);
  }
}

TEST_CASE("a column of a block is written on every rank") {
  auto const A = problems::poisson<double>({12, 5});
  auto const V = random<double, Extents<dyn, dyn>>({60, 3}, 1);
  vector<double> const expected = A * column(V, 0) - 2.0 * column(V, 1);
  for (int ranks : {1, 3}) {
    auto const right = threads::run(ranks, [&](auto& world) {
      using Rows = mesh<axis<"rows">>;
      Rows m(world);
      auto const D = distribute<SparseShard<0>>(A, m, strips{});
      auto X = distribute(V, D.row_layout());
      mesh_space<Rows, false, true> space({1, X.local().extent(0), 1, 1}, m);
      fuse(space, set(column(X, 1), D * column(X, 0) - 2.0 * column(X, 1)));
      space.finish();
      auto const W = gather(X);
      vector<double> const w = column(W, 1), kept = column(W, 2);
      return norm_inf(w - expected) <= 1e-14 && norm_inf(kept - column(V, 2)) == 0;
    });
    for (bool r : right) CHECK(r);
  }
}

} // namespace test_blocks_on_ranks
