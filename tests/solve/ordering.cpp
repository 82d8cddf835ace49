// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders: bands that are known, the entries of a Cholesky factor counted and against Eigen's own, graphs in parts, bad input.
#include <numeric>

#include <sla/adapter/eigen.hpp>
#include <sla/expr/sparse/norms.hpp>
#include <sla/solve/direct/direct.hpp>
#include <sla/solve/direct/fill_ordering.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/arrange/cat.hpp>
#include <sla/tensor/algebra/kron.hpp>
#include <sla/tensor/algebra/masked.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/structure/properties.hpp>

#include "catch.hpp"
#include "tensor/oracle.hpp"

namespace test_ordering {

using namespace sla;

namespace {
std::vector<index_t> shuffled(index_t n, std::uint64_t seed) {
  std::vector<index_t> p(static_cast<std::size_t>(n));
  std::iota(p.begin(), p.end(), index_t(0));
  for (index_t k = n - 1; k > 0; --k)
    std::swap(p[std::size_t(k)], p[std::size_t((detail::uniform_at(seed, std::uint64_t(k)) + 1) / 2 * double(k + 1))]);
  return p;
}
/// Entries of the Cholesky factor, by elimination of the pattern.
template <class A>
index_t factor_entries(A const& a) {
  auto const n = std::size_t(a.rows());
  std::vector<std::vector<bool>> m(n, std::vector<bool>(n));
  for (index_t i = 0; i < a.rows(); ++i) a.pattern().view().for_row(i, [&](index_t, index_t j) { m[std::size_t(i)][std::size_t(j)] = true; });
  index_t count = 0;
  for (std::size_t k = 0; k < n; ++k) {
    ++count;
    for (std::size_t i = k + 1; i < n; ++i)
      if (m[i][k]) {
        ++count;
        for (std::size_t j = k + 1; j < n; ++j)
          if (m[j][k]) m[i][j] = true;
      }
  }
  return count;
}
template <class A>
index_t bandwidth(A const& a) {
  auto const p = properties(a);
  return (std::max)(p.lower_bandwidth, p.upper_bandwidth);
}
} // namespace

TEST_CASE("reverse Cuthill-McKee finds bands") {
  auto const path = permuted(problems::poisson<double>({200}), shuffled(200, 1));
  CHECK(bandwidth(path) > 100);
  CHECK(bandwidth(permuted(path, rcm(path))) == 1);
  auto const grid = permuted(problems::poisson<double>({40, 7}), shuffled(280, 2));
  CHECK(bandwidth(permuted(grid, rcm(grid))) <= 8);
  CHECK(bandwidth(permuted(to<Coo<>>(grid), rcm(to<Coo<>>(grid)))) <= 8);
  // the pattern of one triangle says the same
  auto const lower = masked(grid, from_triplets<double>(280, 280, [&] {
    std::vector<index_t> row;
    for (index_t i = 0; i < 280; ++i) row.insert(row.end(), std::size_t(i + 1), i);
    return row;
  }(), [&] {
    std::vector<index_t> col;
    for (index_t i = 0; i < 280; ++i)
      for (index_t j = 0; j <= i; ++j) col.push_back(j);
    return col;
  }(), std::vector<double>(280 * 281 / 2, 1.0)));
  CHECK(rcm(lower) == rcm(grid));
  // parts stay together, and a row without neighbours is a part
  auto const D = problems::poisson<double>({50}), one = problems::poisson<double>({1});
  auto const parts = permuted(block_diagonal(D, one, D), shuffled(101, 3));
  CHECK(bandwidth(permuted(parts, rcm(parts))) == 1);
  auto const blocks = to_batch<2>(to_blocks<2, 2>(kron(path, from_triplets<double>(2, 2, {0, 0, 1, 1}, {0, 1, 0, 1}, {2.0, 1.0, 1.0, 2.0}))));
  CHECK(rcm(blocks) == rcm(path));
  CHECK(detail::undirected(blocks, "rcm").values().size() == 0);  // of values nothing is computed
  CHECK(rcm(sparse_tensor<double>{}).empty());
  CHECK_THROWS_AS(rcm(rows(D, 0, 7)), shape_error);
}

TEST_CASE("approximate minimum degree keeps factors sparse, as Eigen's solvers do") {
  auto const A = permuted(problems::poisson<double>({17, 15}), shuffled(255, 4));
  auto const p = amd(A);
  auto const entries = factor_entries(permuted(A, p));
  CHECK(2 * entries < factor_entries(A));
  CHECK(entries < factor_entries(permuted(A, rcm(A))));
  Eigen::SparseMatrix<double> const matrix = as_eigen(A);
  Eigen::SimplicialLLT<Eigen::SparseMatrix<double>> const solver(matrix);
  Eigen::SparseMatrix<double> const L = solver.matrixL();
  CHECK(entries == L.nonZeros());
  CHECK(amd(to_batch<5>(A)) == p);
  CHECK(amd(sparse_tensor<double>{}).empty());
  CHECK(permuted(to<Dia>(problems::poisson<double>({9})), amd(to<Dia>(problems::poisson<double>({9})))).nnz() == 25);
  CHECK_THROWS_AS(amd(rows(A, 0, 7)), shape_error);
}

TEST_CASE("vectors in the order of a permuted matrix, and back") {
  auto const A = permuted(problems::convection_diffusion<double>({9, 7}, {1.0, 2.0}), shuffled(63, 5));
  auto const p = rcm(A), back = inverse_permutation(p);
  auto const b = random<double>(63, 1);
  auto const c = permuted(b, p);
  for (index_t k = 0; k < 63; ++k) CHECK(c[k] == b[p[std::size_t(k)]]);
  vector<double> const x = lu(A).solve(b), y = lu(permuted(A, p)).solve(c);
  CHECK(double(norm_inf(y - permuted(x, p))) < 1e-12 * double(norm_inf(x)));
  CHECK(double(norm_inf(permuted(y, back) - x)) < 1e-12 * double(norm_inf(x)));
  CHECK(double(norm(permuted(c, back) - b)) == 0);
  CHECK(double(norm(permuted(2.0 * b, p) - 2.0 * c)) == 0);
  CHECK(permuted(permuted(A, p), back).nnz() == A.nnz());
  CHECK(double(norm(values(permuted(permuted(A, p), back) - A))) == 0);

  // several right-hand sides of complex floats; the numbers of blocks
  auto const Z = random<std::complex<float>, Extents<dyn, 3>>({63, 3}, 2);
  tensor<std::complex<float>, Extents<dyn, 3>> const W = permuted(Z, p);
  for (index_t k = 0; k < 63; ++k) CHECK((W(k, 0) == Z(p[std::size_t(k)], 0) && W(k, 2) == Z(p[std::size_t(k)], 2)));
  auto const K = to_blocks<3, 3>(problems::poisson<double>({9, 7}));
  auto const r = random<double, Extents<dyn, 3>>({21, 3}, 3);
  auto const q = shuffled(21, 6);
  CHECK(double(norm(permuted(K, q) * permuted(r, q) - permuted(eval(K * r), q))) < 1e-14);

  CHECK_THROWS_WITH(permuted(b, {0, 1}), Catch::Matchers::ContainsSubstring("permuted: the permutation misses 2"));
  CHECK_THROWS_WITH(permuted(ones<double>(3), {0, 1, 1}), Catch::Matchers::ContainsSubstring("permuted: the permutation has 1 twice"));
  CHECK_THROWS_WITH(inverse_permutation({0, 2}), Catch::Matchers::ContainsSubstring("inverse_permutation(A, indices): index 1 is 2"));
}

} // namespace test_ordering
