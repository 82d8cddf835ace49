// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waves, elastic bodies, random matrices and graphs: against their definitions and what must hold of them.
#include "catch.hpp"
#include "oracle.hpp"

#include <algorithm>
#include <complex>

#include <sla/tensor/build/block.hpp>
#include <sla/tensor/structure/components.hpp>
#include <sla/tensor/structure/properties.hpp>
#include <sla/tensor/problems/random_problems.hpp>
#include <sla/tensor/arrange/transpose.hpp>
#include <sla/tensor/problems/wave_problems.hpp>

namespace test_more_problems {

using namespace sla;
using C = std::complex<double>;
using Catch::Matchers::ContainsSubstring;

template <class A, class B>
bool same(A const& a, B const& b) {
  return same_pattern(a.pattern(), b.pattern()) && std::equal(a.values().begin(), a.values().end(), b.values().begin());
}
/// x^T A x by the dense matrix.
double energy(matrix<double> const& A, vector<double> const& x) {
  double sum = 0;
  for (index_t i = 0; i < x.size(); ++i)
    for (index_t j = 0; j < x.size(); ++j) sum += x[i] * A(i, j) * x[j];
  return sum;
}

TEST_CASE("Helmholtz: the stencil, the absorption and the impedance of the boundary") {
  double const k = 0.5, a = 0.1;
  auto const A = problems::helmholtz({3, 2}, k, a);
  auto const D = to_dense(A);
  for (index_t i = 0; i < 6; ++i)
    for (index_t j = 0; j < 6; ++j) {
      index_t const dx = std::abs(i % 3 - j % 3), dy = std::abs(i / 3 - j / 3);
      double const faces = (i % 3 == 1 ? 0 : 1) + 1;
      C const diagonal = 4.0 - k * k * C(1, a) - faces * C(1, k);
      CHECK(std::abs(D(i, j) - (i == j ? diagonal : dx + dy == 1 ? C(-1) : C(0))) < 1e-15);
    }
  auto const p = properties(problems::helmholtz({9, 7, 4}, 0.6));
  CHECK((p.symmetric && !p.hermitian));
  CHECK(same(to<Csr<index_t>>(problems::helmholtz<std::complex<float>, Dia>({9, 7}, 0.6)),
             to<Csr<index_t>>(to<Dia>(problems::helmholtz<std::complex<float>>({9, 7}, 0.6)))));
  // a wave that leaves a line on both sides solves the equation up to the order of the scheme
  index_t const n = 200;
  double const kh = 0.05;
  auto const L = problems::helmholtz({n}, kh);
  auto const view = L.pattern().view();
  double worst = 0;
  for (index_t i = 0; i + 1 < n; ++i) { // the source is outside, on the right
    C sum = 0;
    view.for_row(i, [&](index_t s, index_t j) { sum += L.values()[s] * std::exp(C(0, -kh * double(j))); });
    worst = (std::max)(worst, std::abs(sum));
  }
  CHECK(worst < kh * kh);
  CHECK_THROWS_AS(problems::helmholtz({3, 3}, INFINITY), value_error);
}

TEST_CASE("elastic bodies: symmetric, definite, and free of stress where they move as a whole") {
  auto const K = problems::elasticity({4, 3, 5});
  CHECK(K.rows() == 60);
  CHECK(K.nnz() == 10 * 7 * 13);
  CHECK(has_sorted_columns(K.pattern()));
  auto const p = properties(K);
  CHECK((p.symmetric && p.positive_diagonal && p.rows == 180));
  auto const D = to_dense(K);
  for (std::uint64_t seed = 1; seed < 20; ++seed) CHECK(energy(D, random<double>(180, seed)) > 0);
  // rigid kinds of steps and uniform strain of the whole space: the rows of nodes away from the boundary see no force
  auto const view = K.pattern().view();
  index_t const middle = 1 + 4 * (1 + 3 * 2);
  auto position = [](index_t node, index_t axis) { return double(axis == 0 ? node % 4 : axis == 1 ? node / 4 % 3 : node / 12); };
  for (index_t c = 0; c < 3; ++c)
    for (index_t along = -1; along < 3; ++along)
      for (index_t e = 0; e < 3; ++e) {
        double force = 0;
        view.for_row(middle, [&](index_t s, index_t j) { force += K.values()[s * 9 + e * 3 + c] * (along < 0 ? 1 : position(j, along)); });
        CHECK(std::abs(force) < 1e-14);
      }
  CHECK(view.row_ptr[middle + 1] - view.row_ptr[middle] == 27);

  // plane strain: the stiffness of a node against the integrals by hand, lambda = mu = 0.4 at nu = 1/4
  auto const one = problems::elasticity({1, 1}, 0.25);
  CHECK(one.values()[0] == Approx(0.4 * 16 / 3));
  CHECK(one.values()[1] == Approx(0).margin(1e-15));
  CHECK(same(to<Csr<>>(problems::elasticity<float, Coo<>>({5, 4})), problems::elasticity<float>({5, 4})));
  CHECK_THROWS_AS(problems::elasticity({3, 3}, 0.5), value_error);
}

TEST_CASE("random matrices: the same numbers everywhere, for any number of threads") {
  auto const A = problems::random_sparse(5, 9, 3, 7);
  // written down once, the values from exact arithmetic: a change of these numbers breaks what others have recorded
  CHECK(std::vector<int>(A.pattern().col.begin(), A.pattern().col.end()) == std::vector<int>{2, 7, 8, 4, 7, 8, 1, 3, 8, 0, 3, 4, 1, 6, 8});
  CHECK(A.values()[0] == -0x1.bd676bf59167ap-1);
  CHECK(problems::grid_laplacian({40, 30}, 5, 12).values()[1] == -0x1.a81ea30f2ccc0p+10);
  for (index_t k : {0, 1, 4, 30}) {
    set_threads(1);
    auto const one = problems::random_sparse(40000, 20, k, 1);
    set_threads(4);
    CHECK(same(one, problems::random_sparse(40000, 20, k, 1)));
    set_threads(0);
    CHECK(one.nnz() == 40000 * (std::min)(k, index_t(20)));
    CHECK(has_sorted_columns(one.pattern()));
  }
  CHECK_FALSE(same(problems::random_sparse(50, 50, 4, 1), problems::random_sparse(50, 50, 4, 2)));
  std::vector<index_t> hits(10);
  auto const B = problems::random_sparse<std::complex<float>>(20000, 10, 3, 1);
  for (int j : B.pattern().col) ++hits[std::size_t(j)];
  for (index_t h : hits) CHECK(std::abs(double(h) - 6000) < 300);

  auto const p = properties(problems::random_dominant<C>(2000, 5, 3));
  CHECK((p.strictly_dominant() && p.positive_diagonal && p.shortest_row == 6 && p.longest_row == 6));
  CHECK(properties(to<Csr<>>(problems::random_dominant<float, Coo<>>(4, 9, 3))).entries == 16);
  CHECK(has_sorted_columns(problems::random_dominant(300, 7, 3).pattern()));
  CHECK(problems::random_dominant(0, 3, 1).nnz() == 0);
  CHECK_THROWS_AS(problems::random_sparse(3, 3, -1, 1), shape_error);
}

TEST_CASE("Laplacians of graphs") {
  CHECK(equals(problems::graph_laplacian(3, {0, 1}, {1, 2}), std::vector<double>{1, -1, 0, -1, 2, -1, 0, -1, 1}));
  std::vector<int> const from{0, 2, 2, 1}, to_{2, 0, 1, 1};
  CHECK(equals(problems::graph_laplacian(4, from, to_, std::vector<double>{1, 2, 0.5, 9}),
               std::vector<double>{3, 0, -3, 0, 0, 0.5, -0.5, 0, -3, -0.5, 3.5, 0, 0, 0, 0, 0}));
  CHECK_THROWS_WITH(problems::graph_laplacian(2, {0}, {2}), ContainsSubstring("edge 0 has the node 2 of 2; nodes count from 0"));
  CHECK_THROWS_WITH(problems::graph_laplacian(2, {0}, {1}, {0.0}), ContainsSubstring("edge 0 has the weight 0; weights are positive"));
  CHECK_THROWS_AS(problems::graph_laplacian(2, {0, 1}, {1}), shape_error);
  CHECK_THROWS_AS(problems::graph_laplacian(2, {0}, {1}, {1.0, 2.0}), shape_error);

  auto const L = problems::grid_laplacian({40, 30}, 5, 12);
  auto const p = properties(L);
  CHECK((p.symmetric && p.definite == definiteness::positive_semidefinite && connected_components(L).count == 1));
  CHECK(same_pattern(L.pattern(), problems::poisson({40, 30}).pattern()));
  CHECK(same(L, transposed(L)));
  double low = INFINITY, high = 0;
  for (index_t i = 0; i < L.rows(); ++i) {
    double sum = 0;
    L.pattern().view().for_row(i, [&](index_t s, index_t j) {
      sum += L.values()[s];
      if (i != j) low = (std::min)(low, -L.values()[s]), high = (std::max)(high, -L.values()[s]);
    });
    CHECK(std::abs(sum) < 1e-11);
  }
  CHECK((low >= 1 && low < 2 && high > 2048 && high <= 4096));
  CHECK_THROWS_AS(problems::grid_laplacian({3, 3}, 1, 0), value_error);
}

} // namespace test_more_problems
