// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Properties of matrices that are known, of model problems and of files.
#include "catch.hpp"
#include "data.hpp"
#include "oracle.hpp"

#include <algorithm>
#include <complex>
#include <ctime>

#include <sla/tensor/build/block.hpp>
#include <sla/tensor/structure/components.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/problems.hpp>
#include <sla/tensor/structure/properties.hpp>
#include <sla/tensor/problems/random_problems.hpp>
#include <sla/tensor/problems/wave_problems.hpp>

namespace test_properties {

using namespace sla;
using C = std::complex<double>;
using Catch::Matchers::ContainsSubstring;

matrix_properties of(index_t rows, std::vector<double> const& dense) {
  index_t const cols = index_t(dense.size()) / rows;
  triplets<double> t(rows, cols);
  for (index_t k = 0; k < rows * cols; ++k)
    if (dense[std::size_t(k)] != 0) t.add(k / cols, k % cols, dense[std::size_t(k)]);
  return properties(t.build());
}

TEST_CASE("what cancelled sums leave beside large entries does not make a matrix unsymmetric; the same among small entries does") {
  double const up = 0.1 + 0.2 - 0.3, down = -0.3 + 0.2 + 0.1;
  REQUIRE(up != down);
  auto const p = of(3, {4, -1, up, -1, 4, -1, down, -1, 4});
  CHECK((p.symmetric && p.hermitian && !p.skew_symmetric));
  CHECK(p.definite == definiteness::positive_definite);
  CHECK(of(3, {0, -1, up, 1, 0, -1, down, 1, 0}).skew_symmetric);
  CHECK_FALSE(of(3, {1e-17, 0, up, 0, 4, -1, down, -1, 1e-17}).symmetric);
  CHECK_FALSE(of(3, {4, -1, 1e-12, -1, 4, -1, 0, -1, 4}).symmetric);
}
TEST_CASE("a row for all unknowns, whose entries differ from their mirror images by rounding, is looked through once") {
  index_t const n = 200000;
  triplets<double> t(n, n);
  for (index_t i = 0; i < n; ++i) t.add(i, i, i == 0 ? double(n) : 2.0);
  for (index_t i = 1; i < n; ++i) t.add(i, 0, -1e-3), t.add(0, i, -1e-3 * (1 + 1e-10));  // by the largest entries of their rows, 4e-16
  auto const A = t.build();
  auto const began = std::clock();  // n^2 takes half a minute and more
  CHECK(properties(A).symmetric);
  CHECK(double(std::clock() - began) / CLOCKS_PER_SEC < 10);
}

TEST_CASE("the Poisson problem, in every clothing") {
  auto const A = problems::poisson({9, 8});
  auto check = [&](auto const& X, index_t items) {
    auto const p = properties(X);
    CHECK(p.rows == 72);
    CHECK(p.cols == 72);
    CHECK(p.batch == items);
    CHECK((p.square && p.structurally_symmetric && p.symmetric && p.hermitian && p.finite));
    CHECK_FALSE(p.skew_symmetric);
    CHECK(p.definite == definiteness::positive_definite);
    CHECK((p.positive_diagonal && !p.negative_diagonal && p.zero_diagonals == 0));
    CHECK(p.smallest_diagonal == 4);
    CHECK(p.largest_diagonal == 4);
    CHECK(p.dominant_rows == 72 * items);
    CHECK(p.strictly_dominant_rows == 30 * items);
    CHECK(p.zero_rows + p.zero_columns == 0);
    return p;
  };
  auto const p = check(A, 1);
  CHECK(p.entries == A.nnz());
  CHECK(p.shortest_row == 3);
  CHECK(p.longest_row == 5);
  CHECK(p.lower_bandwidth == 9);
  CHECK(p.upper_bandwidth == 9);
  CHECK(p.mean_row == Approx(double(A.nnz()) / 72));
  check(to<Dia>(A), 1);
  check(to<Coo<>>(A), 1);
  check(cast<C>(A), 1);
  check(to_batch<3>(A), 3);
  check(to_blocks<3, 3>(A), 1);
  check(to_batch<2>(to_blocks<6, 6>(to<Dia>(A))), 2);
  check(cast<float>(A), 1);
}

TEST_CASE("symmetries") {
  CHECK(of(2, {1, 2, 2, 1}).symmetric);
  auto const skew = of(2, {0, 2, -2, 0});
  CHECK((skew.skew_symmetric && skew.structurally_symmetric && !skew.symmetric));
  CHECK(skew.zero_diagonals == 2);
  CHECK(skew.first_zero_diagonal == 0);
  CHECK((of(2, {1, 2, 3, 1}).structurally_symmetric && !of(2, {1, 2, 3, 1}).symmetric));
  CHECK_FALSE(of(2, {1, 2, 0, 1}).structurally_symmetric);
  CHECK_FALSE(of(2, {1, 2, 3, 4, 5, 6}).square);

  auto const explicit_zero = properties(from_triplets<double>(2, 2, {0, 0, 1}, {0, 1, 1}, {1.0, 0.0, 1.0}));
  CHECK((explicit_zero.symmetric && !explicit_zero.structurally_symmetric));
  auto const below = properties(from_triplets<double>(2, 2, {0, 1, 1}, {0, 0, 1}, {1.0, 0.0, 1.0}));
  CHECK((below.symmetric && !below.structurally_symmetric));
  CHECK((!of(2, {1, 0, 2, 1}).symmetric && !of(2, {1, 0, 2, 1}).structurally_symmetric));
  for (double v : {0.0, 3.0}) {  // as many before the diagonal as behind it, and no partners
    auto const apart = properties(from_triplets<double>(3, 3, {0, 1, 2, 0, 2}, {0, 1, 2, 1, 0}, {1.0, 1.0, 1.0, 0.0, v}));
    CHECK(!apart.structurally_symmetric);
    CHECK((apart.symmetric == (v == 0) && apart.hermitian == (v == 0)));
  }

  auto const rounding = from_triplets<double>(2, 2, {0, 1}, {1, 0}, {0.1, 0.1 * (1 + 2e-16)});
  CHECK(properties(rounding).symmetric);
  CHECK_FALSE(properties(from_triplets<double>(2, 2, {0, 1}, {1, 0}, {0.1, 0.1 * (1 + 1e-9)})).symmetric);
  CHECK(properties(from_triplets<double>(2, 2, {0, 1}, {1, 0}, {0.1, 0.1 * (1 + 1e-9)}), 1e-8).symmetric);

  auto const H = properties(from_triplets<C>(2, 2, {0, 0, 1, 1}, {0, 1, 0, 1}, {C(2), C(1, 1), C(1, -1), C(2)}));
  CHECK((H.hermitian && !H.symmetric && H.definite == definiteness::positive_definite));
  auto const S = properties(from_triplets<C>(2, 2, {0, 0, 1, 1}, {0, 1, 0, 1}, {C(2), C(1, 1), C(1, 1), C(2)}));
  CHECK((S.symmetric && !S.hermitian && S.definite == definiteness::unknown));
  CHECK_FALSE(properties(from_triplets<C>(1, 1, {0}, {0}, {C(1, 1)})).hermitian);
}

TEST_CASE("symmetries of random matrices, with zeros of both signs that are stored, are those of their dense forms") {
  std::uint64_t state = 5;
  auto const next = [&](int below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return int((state >> 33) % std::uint64_t(below));
  };
  auto const check = [&]<class T>(T) {
    int seen = 0;
    for (int k = 0; k < 300; ++k) {
      index_t const n = 2 + next(4);
      int const kind = next(5), spoils = next(3);
      triplets<T> t(n, n);
      auto const number = [&] {
        double const part[] = {0.0, -0.0, 1.0, -2.0, 0.5};
        if constexpr (std::is_same_v<T, C>)
          return C(part[next(5)], part[next(5)]);
        else
          return T(part[next(5)]);
      };
      for (index_t i = 0; i < n; ++i)
        for (index_t j = i; j < n; ++j) {
          if (next(3) == 0) continue;
          T const v = number();
          T partner = kind == 0 ? v : kind == 1 ? -v : v;
          if constexpr (std::is_same_v<T, C>) partner = kind == 2 ? std::conj(v) : kind == 3 ? -std::conj(v) : partner;
          if (i != j) t.add(i, j, v), t.add(j, i, spoils == 0 && next(4) == 0 ? number() : partner);
          if (i == j && next(2) == 0) t.add(i, i, v);
        }
      auto const A = t.build();
      auto const D = to_dense(A);
      bool symmetric = true, hermitian = true, skew = true, skew_hermitian = true;
      for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j) {
          C const v = D(i, j), w = D(j, i);
          symmetric = symmetric && v == w, skew = skew && v == -w;
          hermitian = hermitian && v == std::conj(w), skew_hermitian = skew_hermitian && v == -std::conj(w);
        }
      auto const p = properties(A);
      REQUIRE((p.symmetric == symmetric && p.hermitian == hermitian && p.skew_symmetric == skew && p.skew_hermitian == skew_hermitian));
      bool both = true;
      for_each_entry(A, [&](index_t i, index_t j, T) { both = both && find_slot(A.pattern().view(), j, i) >= 0; });
      REQUIRE(p.structurally_symmetric == both);
      seen |= 1 * symmetric + 2 * (hermitian && !symmetric) + 4 * (skew && !symmetric) + 8 * !(symmetric || skew || hermitian || skew_hermitian);
    }
    CHECK(seen >= 13);
  };
  check(0.0), check(C());
}

TEST_CASE("definiteness where it is provable") {
  CHECK(of(2, {2, -1, -1, 2}).definite == definiteness::positive_definite);
  CHECK(of(2, {1, -1, -1, 1}).definite == definiteness::positive_semidefinite); // singular indeed
  CHECK(of(2, {-1, 1, 1, -2}).definite == definiteness::negative_definite);
  CHECK(of(2, {-1, 1, 1, -1}).definite == definiteness::negative_semidefinite);
  CHECK(of(2, {1, 0, 0, -1}).definite == definiteness::indefinite);
  CHECK(of(2, {1, 1, 1, 0}).definite == definiteness::indefinite); // a saddle point
  CHECK(of(2, {1, 2, 2, 1}).definite == definiteness::unknown);
  CHECK(of(2, {2, 1, 0, 2}).definite == definiteness::unknown); // not symmetric
  // one strict row proves its own component only
  CHECK(of(4, {2, -1, 0, 0, -1, 1, 0, 0, 0, 0, 1, -1, 0, 0, -1, 1}).definite == definiteness::positive_semidefinite);
  CHECK(of(4, {2, -1, 0, 0, -1, 1, 0, 0, 0, 0, 1, -1, 0, 0, -1, 2}).definite == definiteness::positive_definite);
  CHECK(of(2, {1, 0, 0, 0}).definite == definiteness::positive_semidefinite);
  // the strict row is reached against the order of rows
  CHECK(of(4, {1, 0, -1, 0, 0, 2, 0, -1, -1, 0, 2, -1, 0, -1, -1, 3}).definite == definiteness::positive_definite);
  CHECK(of(4, {1, 0, -1, 0, 0, 1, 0, -1, -1, 0, 1, 0, 0, -1, 0, 2}).definite == definiteness::positive_semidefinite);
  CHECK(properties(problems::checkerboard({16, 16}, 1e6)).definite == definiteness::positive_definite);
  CHECK(properties(problems::anisotropic({9, 9}, 1e-3)).definite == definiteness::positive_definite);
  CHECK(properties(problems::convection_diffusion({9, 9}, 3)).dominant_rows == 81);

  auto const P = of(1, {2}), N = of(1, {-2});
  CHECK(weaker(P.definite, N.definite) == definiteness::unknown);
  CHECK(weaker(definiteness::positive_semidefinite, P.definite) == definiteness::positive_semidefinite);
  CHECK(weaker(definiteness::negative_semidefinite, N.definite) == definiteness::negative_semidefinite);
}

TEST_CASE("hints of singularity") {
  auto const p = of(3, {1, 0, 2, 0, 0, 0, 3, 0, 4});
  CHECK(p.zero_rows == 1);
  CHECK(p.zero_columns == 1);
  CHECK(p.zero_diagonals == 1);
  CHECK(p.first_zero_diagonal == 1);
  CHECK(p.shortest_row == 0);
  auto const s = properties(read_matrix_market<double>(data("structurally_singular.mtx")));
  CHECK(s.zero_rows == 3);
  CHECK(s.zero_columns == 0);
  CHECK(properties(from_triplets<double>(2, 2, {0, 1}, {0, 1}, {1.0, 0.0})).zero_rows == 1);
}

TEST_CASE("NaN and infinity are found where they are") {
  auto A = to_batch<2>(problems::poisson({5, 4}));
  index_t const slot = find_slot(A.pattern().view(), 7, 8);
  A.values()[A.nnz() + slot] = std::nan("");
  auto const p = properties(A);
  CHECK_FALSE(p.finite);
  CHECK(p.nonfinite_item == 1);
  CHECK(p.nonfinite_row == 7);
  CHECK(p.nonfinite_col == 8);
  CHECK_FALSE(p.symmetric);
  CHECK(p.definite == definiteness::unknown);
  auto B = problems::poisson({200, 200});
  B.values()[150000] = INFINITY;
  CHECK_FALSE(properties(B).finite);
}

TEST_CASE("items of a batch that differ") {
  auto A = to_batch<2>(problems::poisson({3, 3}));
  for (index_t k = 0; k < A.nnz(); ++k) A.values()[A.nnz() + k] *= -1;
  auto const p = properties(A);
  CHECK(p.symmetric);
  CHECK(p.definite == definiteness::unknown);
  CHECK_FALSE(p.positive_diagonal);
  CHECK(p.smallest_diagonal == -4);
  CHECK(p.largest_diagonal == 4);
}

TEST_CASE("rectangular, empty and unsorted matrices") {
  auto const tall = properties(random_triplets(9, 4, 20, 1).build()),
             wide = properties(random_triplets(4, 9, 20, 1).build());
  CHECK_FALSE((tall.square || wide.square || tall.symmetric || wide.hermitian));
  auto const none = properties(sparse_tensor<double>{});
  CHECK((none.square && none.entries == 0 && !none.positive_diagonal));
  std::vector<int> row_ptr{0, 2, 4}, col{1, 0, 1, 0};
  std::vector<double> values{-1, 3, 3, -1};
  CHECK(properties(borrow_csr(2, 2, row_ptr, col, values)).definite == definiteness::positive_definite);
}

TEST_CASE("properties of real matrices") {
  auto const bus = properties(read_matrix_market<double>(data("1138_bus.mtx")));
  CHECK((bus.symmetric && bus.positive_diagonal && bus.entries == 4054));
  auto const mhd = properties(read_matrix_market<C>(data("mhd1280b.mtx")));
  CHECK((mhd.hermitian && !mhd.symmetric));
  auto const qc = properties(read_matrix_market<C>(data("qc324.mtx")));
  CHECK((qc.symmetric && !qc.hermitian));
  auto const oil = properties(read_matrix_market<double>(data("orsirr_1.mtx")));
  CHECK((oil.structurally_symmetric && !oil.symmetric && oil.negative_diagonal));
}

TEST_CASE("properties print") {
  CHECK_THAT(text(properties(problems::poisson({30, 30}))),
             ContainsSubstring("900 x 900, real, 4380 entries (3 to 5 per row, mean 4.9), bandwidth 30 + 30") &&
                 ContainsSubstring("symmetric, positive definite; diagonal 4 to 4, 900 of 900 rows dominant"));
  CHECK_THAT(text(of(3, {1, 0, 2, 0, 0, 0, 3, 0, 4})),
             ContainsSubstring("1 zero rows, 1 zero columns") &&
                 ContainsSubstring("1 zeros on the diagonal, the first in row 1"));
  CHECK_THAT(text(of(1, {1, 2})), ContainsSubstring("not square"));
  CHECK_THAT(text(of(2, {0, 1, -1, 0})), ContainsSubstring("skew-symmetric"));
}

TEST_CASE("skew-Hermitian matrices, and dominance in words") {
  auto const K = from_triplets<C>(2, 2, {0, 0, 1}, {0, 1, 0}, {C(0, 2), C(1, 3), C(-1, 3)});
  auto const p = properties(K);
  CHECK((p.skew_hermitian && !p.hermitian && !p.symmetric && !p.skew_symmetric));
  CHECK_THAT(text(p), ContainsSubstring("skew-hermitian; diagonal 0 to 0"));
  CHECK((of(2, {0, 1, -1, 0}).skew_symmetric && of(2, {0, 1, -1, 0}).skew_hermitian));
  CHECK((of(2, {2, -2, 1, 3}).dominant() && !of(2, {2, -2, 1, 3}).strictly_dominant()));
  CHECK(of(2, {2, -1, 1, 3}).strictly_dominant());
  CHECK_FALSE(of(1, {3, 1}).dominant());
  CHECK_FALSE(of(2, {2, -3, 1, 3}).dominant());
}

/// The labels of components, by the plainest search.
template <class A>
std::vector<index_t> searched_components(A const& a) {
  index_t const n = a.rows();
  std::vector<std::vector<index_t>> near(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i)
    a.pattern().view().for_row(i, [&](index_t, index_t j) { near[std::size_t(i)].push_back(j), near[std::size_t(j)].push_back(i); });
  std::vector<index_t> label(std::size_t(n), -1), open;
  index_t count = 0;
  for (index_t i = 0; i < n; ++i) {
    if (label[std::size_t(i)] >= 0) continue;
    label[std::size_t(i)] = count++;
    for (open = {i}; !open.empty();) {
      index_t const at = open.back();
      open.pop_back();
      for (index_t j : near[std::size_t(at)])
        if (label[std::size_t(j)] < 0) label[std::size_t(j)] = label[std::size_t(i)], open.push_back(j);
    }
  }
  return label;
}

TEST_CASE("connected components are those of a search") {
  auto check = [](auto const& A) {
    auto const expected = searched_components(A);
    for (int threads : {1, 4}) {
      set_threads(threads);
      auto const parts = connected_components(A);
      CHECK(std::equal(expected.begin(), expected.end(), parts.label.begin(), parts.label.end()));
      CHECK(parts.count == (expected.empty() ? 0 : *std::max_element(expected.begin(), expected.end()) + 1));
      index_t rows = 0;
      for (index_t size : parts.sizes()) rows += size;
      CHECK(rows == A.rows());
    }
    set_threads(0);
  };
  check(problems::poisson({250, 150}));
  for (index_t entries : {6000, 18000, 40000}) check(random_triplets(40000, 40000, entries, 3).build());
  check(problems::elasticity({5, 4}));
  check(problems::random_sparse(300, 300, 0, 1));
  check(sparse_tensor<double>{});
  CHECK(connected_components(from_triplets<double>(4, 4, {3}, {1}, {0.0})).count == 3);
  CHECK_THROWS_WITH(connected_components(random_triplets(3, 4, 5, 1).build()), ContainsSubstring("connected_components of a 3 x 4 matrix"));
}

} // namespace test_properties
