// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ILUT and ILU(k) against their algorithms on dense arrays, and against LU where nothing is dropped: complex numbers, blocks in batches,
// adjoints, scales of rows, new values, bad input; fewer iterations than ILU(0).
#include "catch.hpp"

#include <complex>

#include <sla/exec/deferred.hpp>
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/solve/linear/linear.hpp>
#include <sla/solve/linear/linear_list.hpp>
#include <sla/solve/precond/ilu0.hpp>
#include <sla/solve/precond/iluk.hpp>
#include <sla/solve/precond/ilut.hpp>
#include <sla/solve/precond/composed/schwarz.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "data.hpp"
#include "suites/dense.hpp"
#include "suites/solved.hpp"

namespace test_ilut {

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Matches;
using suite::solved;
using complex_t = std::complex<double>;

namespace {
/// Of an n x n matrix the product L U of algorithm 10.6, entry by entry, with zeros for what is dropped; and how many are kept.
template <class T>
std::pair<std::vector<T>, index_t> dense_ilut(std::vector<T> const& a, index_t n, double tolerance, index_t fill) {
  std::vector<T> L(a.size()), U(a.size());
  index_t kept = 0;
  for (index_t i = 0; i < n; ++i) {
    auto const at = [n](auto& m, index_t r, index_t c) -> auto& { return m[std::size_t(r * n + c)]; };
    std::vector<T> w(a.begin() + i * n, a.begin() + (i + 1) * n), l(static_cast<std::size_t>(n));
    double norm = 0;
    for (T v : w) norm += std::norm(v);
    norm = std::sqrt(norm);
    for (index_t k = 0; k < i; ++k) {
      T& v = w[std::size_t(k)];
      if (std::abs(v) < tolerance * norm) v = 0;
      l[std::size_t(k)] = v / at(U, k, k);
      for (index_t j = k + 1; j < n; ++j) w[std::size_t(j)] -= l[std::size_t(k)] * at(U, k, j);
    }
    for (index_t j = i + 1; j < n; ++j)
      if (std::abs(w[std::size_t(j)]) < tolerance * norm) w[std::size_t(j)] = 0;
    auto const among_largest = [&](index_t j, index_t first, index_t last) {
      index_t larger = 0;
      for (index_t c = first; c < last; ++c) larger += std::abs(w[std::size_t(c)]) > std::abs(w[std::size_t(j)]);
      return w[std::size_t(j)] != T(0) && larger < fill;
    };
    for (index_t j = 0; j < i; ++j)
      if (among_largest(j, 0, i)) at(L, i, j) = l[std::size_t(j)], ++kept;
    for (index_t j = i + 1; j < n; ++j)
      if (among_largest(j, i + 1, n)) at(U, i, j) = w[std::size_t(j)], ++kept;
    at(L, i, i) = 1, at(U, i, i) = w[std::size_t(i)], ++kept;
  }
  return {oracle::product(L, U.data(), 1, n, n, n), kept};
}
/// An unsymmetric matrix whose entries all differ in size.
template <class T>
sparse_tensor<T> uneven(index_t n, std::uint64_t seed) {
  auto A = cast<T>(problems::convection_diffusion<double>({n, n - 1}, {3.0, 1.0}));
  auto const noise = random<double>(A.nnz(), seed);
  for (index_t s = 0; s < A.nnz(); ++s) {
    A.values()[s] *= T(0.7 + 0.2 * noise[s]);
    if constexpr (is_complex<T>) A.values()[s] *= std::polar(real_t<T>(1), real_t<T>(0.5 * noise[s]));
  }
  return A;
}
template <class A, class B>
double difference(A const& a, B const& b) {
  return norm_inf(a - b);
}
/// <M x, y> = <x, M^H y>
template <class M, class V>
void check_adjoint(M const& m, V const& x, V const& y, double rounding = 1e-12) {
  V const mx = m * x, hy = m.adjoint() * y;
  auto const left = eval(dot(mx, y)), right = eval(dot(x, hy));
  CHECK(std::abs(left - right) <= rounding * double(norm(mx)) * double(norm(y)));
}
} // namespace

TEMPLATE_TEST_CASE("ilut is the algorithm on dense arrays", "", double, complex_t) {
  auto const A = uneven<TestType>(6, 1);
  index_t const n = A.rows();
  auto const units = oracle::units<TestType>(1, n);
  matrix<TestType> unit({n, n});
  std::copy(units.begin(), units.end(), unit.begin());
  for (double const tolerance : {0.0, 1e-3, 1e-2, 1e-1})
    for (int const fill : {0, 1, 3, 5, 30}) {
      auto const M = ilut{.drop_tolerance = tolerance, .fill = fill}.setup(A);
      auto const [LU, kept] = dense_ilut(oracle::dense(A), n, tolerance, fill);
      matrix<TestType> const columns = M * unit;
      CAPTURE(tolerance, fill);
      CHECK(oracle::distance(columns, oracle::solution(LU, units, n)) < 1e-12);
      CHECK(M.entries() == kept);
      check_adjoint(M, random<TestType>(n, 2), random<TestType>(n, 3));
    }
}

TEST_CASE("ilut that drops nothing is LU: one iteration, and fill and tolerance bound the entries") {
  auto const A = uneven<double>(9, 4);
  ilut const whole{.drop_tolerance = 0, .fill = int(A.rows())};
  auto const M = whole.setup(A);
  auto const x = random<double>(A.rows(), 1);
  CHECK(difference(eval(M * eval(A * x)), x) < 1e-12);
  CHECK(difference(eval(M.adjoint() * eval(adjoint(A) * x)), x) < 1e-12);
  CHECK(solved(A, whole).iterations() == 1);
  auto const s = prepare(A, bicgstab{.rtol = 1e-10}, whole);
  CHECK(s.try_solve_transpose(x).report.iterations() == 1);

  index_t before = M.entries();
  for (int const fill : {5, 3, 1, 0}) {
    index_t const entries = ilut{.drop_tolerance = 0, .fill = fill}.setup(A).entries();
    CHECK(entries <= A.rows() * (2 * fill + 1));
    CHECK(std::exchange(before, entries) > entries);
  }
  before = M.entries();
  for (double const tolerance : {1e-4, 1e-2, 1e-1}) {
    index_t const entries = ilut{.drop_tolerance = tolerance, .fill = 100}.setup(A).entries();
    CHECK(std::exchange(before, entries) > entries);
  }
}

TEST_CASE("ilut and iluk on a queue of any lag do what they do on the host, to the last bit") {
  auto const A = problems::convection_diffusion<double>({12, 9}, 3.0);
  auto const b = random<double>(A.rows(), 2);
  auto const check = [&](auto const& options) {
    auto const [x, report] = try_solve(A, b, bicgstab{.rtol = 1e-10}, options);
    INFO(report);
    CHECK((report.converged() && report.iterations() > 1));
    for (int lag : {0, 4}) {
      auto const [y, queued] = try_solve(A, b, bicgstab{.rtol = 1e-10}, options, on([lag](frame f) { return deferred(f, lag); }));
      CHECK(std::equal(x.begin(), x.end(), y.begin()));
      CHECK(queued.iterations() == report.iterations());
    }
  };
  check(ilut{.drop_tolerance = 1e-2, .fill = 4});
  check(iluk{.level = 1});
}

TEST_CASE("ilut of blocks in batches: each item has a pattern of its own") {
  auto const A = to_blocks<2, 2>(uneven<double>(6, 5));
  auto B = A;
  for (index_t n = 0; n < B.values().size(); ++n) B.values()[n] *= n % 3 == 0 ? 0.2 : 1.0;
  for (index_t d : diagonal_positions(A.pattern())) B.values()[d * 4] += 5, B.values()[d * 4 + 3] += 5;
  auto C = stack_batch(A, B);
  using V = tensor<double, Extents<2, dyn, 2, dyn>>;
  using W = tensor<double, Extents<dyn, 2, dyn>>;
  index_t const n = A.rows();
  V const x = random<double, Extents<2, dyn, 2, dyn>>({2, n, 2, 3}, 3), b = C * x;
  CHECK(difference(V(ilut{.drop_tolerance = 0, .fill = 100}.setup(C) * b), x) < 1e-12);

  ilut const some{.drop_tolerance = 0.05, .fill = 2};
  auto M = some.setup(C);
  check_adjoint(M, x, b);
  auto const first = some.setup(A), second = some.setup(B);
  CHECK(first.entries() != second.entries());
  CHECK(M.entries() == first.entries() + second.entries());
  auto const same_as_items = [&] {
    V const z = M * b;
    index_t const half = b.size() / 2;
    for (index_t k = 0; k < 2; ++k) {
      W r({n, 2, 3});
      std::copy_n(b.begin() + k * half, half, r.begin());
      W const one = (k == 0 ? first : second) * r;
      CHECK(std::equal(one.begin(), one.end(), z.begin() + k * half));
    }
  };
  same_as_items();
  auto turned = stack_batch(B, A);
  M.update(turned);
  CHECK(std::as_const(M).entries() == first.entries() + second.entries());
  M.update(C);
  same_as_items();
}

TEST_CASE("the scale of a row changes nothing of ilut but the scale") {
  auto const A = uneven<double>(8, 6);
  auto d = ones<double>(A.rows());
  for (index_t i = 0; i < d.size(); ++i) d[i] = std::ldexp(1.0, int(i * 37 % 400) - 200);
  auto const r = random<double>(A.rows(), 1);
  ilut const some{.drop_tolerance = 0.02, .fill = 4};
  vector<double> const z = some.setup(A) * r, scaled = some.setup(scale_rows(A, d)) * eval(d * r);
  CHECK(difference(z, scaled) == 0);
  auto const f = cast<float>(A);  // and numbers keep their precision
  auto const M = some.setup(f);
  static_assert(std::same_as<decltype(M)::value_type, float>);
  CHECK(difference(vector<float>(M * cast<float>(r)), z) < 1e-4 * double(norm_inf(z)));
  check_adjoint(M, cast<float>(r), cast<float>(z), 1e-5);
}

TEST_CASE("iluk has the entries of its level, and agrees with A on them") {
  auto const A = uneven<complex_t>(6, 7);
  index_t const n = A.rows();
  auto const a = oracle::dense(A), units = oracle::units<complex_t>(1, n);
  matrix<complex_t> unit({n, n});
  std::copy(units.begin(), units.end(), unit.begin());
  std::vector<int> level(a.size(), 1000);  // by the definition: the least over all pivots, one after the other
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k] != complex_t(0)) level[k] = 0;
  auto const at = [n](auto& m, index_t r, index_t c) -> auto& { return m[std::size_t(r * n + c)]; };
  for (index_t k = 0; k < n; ++k)
    for (index_t i = k + 1; i < n; ++i)
      for (index_t j = k + 1; j < n; ++j) at(level, i, j) = (std::min)(at(level, i, j), at(level, i, k) + at(level, k, j) + 1);
  index_t before = 0;
  for (int const most : {0, 1, 2, 3}) {
    auto const M = iluk{.level = most}.setup(A);
    matrix<complex_t> const columns = M * unit;
    auto const LU = oracle::solution(std::vector<complex_t>(columns.begin(), columns.end()), units, n);
    index_t kept = 0;
    double apart = 0;
    for (std::size_t k = 0; k < a.size(); ++k)
      if (level[k] <= most) ++kept, apart = (std::max)(apart, std::abs(LU[k] - a[k]));
    CHECK(apart < 1e-12);
    CHECK(M.view().slots == kept);
    CHECK(std::exchange(before, kept) < kept);
    check_adjoint(M, random<complex_t>(n, 2), random<complex_t>(n, 3));
  }
  auto const r = random<complex_t>(n, 1);
  vector<complex_t> const by_iluk = iluk{.level = 0}.setup(A) * r, by_ilu0 = ilu0{}.setup(A) * r;
  CHECK(std::equal(by_iluk.begin(), by_iluk.end(), by_ilu0.begin()));
}

TEST_CASE("iluk of a high level is LU, of blocks in batches too; iterations fall with the level") {
  auto const A = to_blocks<2, 2>(uneven<double>(6, 5));
  auto B = A;
  for (index_t d : diagonal_positions(A.pattern())) B.values()[d * 4] += 5, B.values()[d * 4 + 3] += 5;
  auto const C = stack_batch(A, B);
  using V = tensor<double, Extents<2, dyn, 2, dyn>>;
  V const x = random<double, Extents<2, dyn, 2, dyn>>({2, A.rows(), 2, 3}, 3), b = C * x;
  auto M = iluk{.level = 100}.setup(C);
  CHECK(difference(V(M * b), x) < 1e-12);
  check_adjoint(M, x, b);
  auto const turned = stack_batch(B, A);
  M.update(turned);
  CHECK(difference(V(M * V(turned * x)), x) < 1e-12);
  CHECK(solved(uneven<double>(9, 4), iluk{.level = 100}).iterations() == 1);

  auto const D = problems::convection_diffusion<double>({40, 40}, {0.05, 0.02});
  int const by_ilu0 = solved(D, ilu0{}).iterations(), first = solved(D, iluk{}).iterations(), second = solved(D, iluk{.level = 2}).iterations();
  CHECK(first * 5 < by_ilu0 * 4);
  CHECK(second < first);
  CHECK(solved(D, iluk{}).preconditioner == "iluk, level 1");
  auto const P = problems::poisson<double>({30, 30});  // Hermitian where A is
  CHECK(try_solve(P, ones<double>(900), cg{}, iluk{.level = 2}).report.iterations() < try_solve(P, ones<double>(900), cg{}, ilu0{}).report.iterations());

  std::vector<index_t> i, j;
  std::vector<double> v;
  auto const put = [&](index_t r, index_t c, double a) { i.push_back(r), j.push_back(c), v.push_back(a); };
  for (index_t r = 0; r < 600; ++r) {  // each unknown knows the next, and the first knows all
    put(r, r, 600);
    if (r > 0) put(0, r, -1), put(r, 0, -1), put(r, (r + 1) % 600, -1);
  }
  auto const hub = from_triplets<double>(600, 600, i, j, v);
  CHECK_THROWS_WITH(iluk{}.setup(hub), Matches("iluk\\{.level = 1\\}: row [0-9]+ of 600 makes L and U more than 100 times A's 2396 entries, .*; take a lower level, ilut\\{\\} or amg\\{\\}, or raise .most_fill"));
  CHECK(try_solve(hub, ones<double>(600), gmres{}, iluk{.most_fill = 1000}).report.iterations() == 1);
  CHECK_THROWS_WITH(iluk{.most_fill = NAN}.setup(D), ContainsSubstring("iluk{.most_fill = nan}: L and U have A's entries at least"));
  CHECK_THROWS_WITH(iluk{.level = -1}.setup(D), ContainsSubstring("iluk{.level = -1}"));
  auto zero = D;
  zero.values()[0] = 0;
  CHECK_THROWS_WITH(iluk{}.setup(zero), ContainsSubstring("iluk: zero pivot in row 0; permute rows"));
  CHECK_THROWS_WITH(iluk{}.setup(rows(D, 0, 3)), ContainsSubstring("iluk: A is 3 x 1600, and must be square"));
}

TEST_CASE("ilut names the row without a pivot, and options that make no sense") {
  auto A = problems::poisson<double>({4, 4});
  CHECK_THROWS_WITH(ilut{.drop_tolerance = -1}.setup(A), ContainsSubstring("ilut{.drop_tolerance = -1}"));
  CHECK_THROWS_WITH(ilut{.drop_tolerance = std::nan("")}.setup(A), ContainsSubstring("at least 0 and less than 1"));
  CHECK_THROWS_WITH(ilut{.drop_tolerance = 1}.setup(A), ContainsSubstring("less than 1"));
  CHECK_THROWS_WITH(ilut{.fill = -1}.setup(A), ContainsSubstring("ilut{.fill = -1}"));
  CHECK_THROWS_WITH(ilut{}.setup(rows(A, 0, 3)), "ilut: A is 3 x 16, and must be square");
  CHECK_THROWS_AS(ilut{}.setup(A) * ones<double>(15), shape_error);

  auto const b = ones<double>(16);
  auto s = prepare(A, gmres{}, ilut{});
  vector<double> const x = s.solve(b);
  auto zero = A;
  zero.values()[0] = 0;
  CHECK_THROWS_WITH(s.update(zero), ContainsSubstring("ilut: zero pivot in row 0; permute rows"));
  vector<double> const same = s.solve(b);
  CHECK(std::equal(x.begin(), x.end(), same.begin()));
  CHECK_THROWS_WITH(ilut{}.setup(stack_batch(A, zero)), ContainsSubstring("zero pivot in row 0 of batch item 1"));
  zero.values()[0] = std::nan("");
  CHECK_THROWS_WITH(ilut{}.setup(zero), ContainsSubstring("a number that is not finite in row 0"));
  CHECK_THROWS_WITH(solve(zero, b, gmres{}, ilut{}), ContainsSubstring("A(0, 0) is nan"));

  // A diagonal entry that is not stored may fill up; of a singular matrix the last one does not.
  auto const bare = from_triplets<double>(2, 2, {0, 0, 1}, {0, 1, 0}, {2.0, 1.0, 1.0});
  CHECK(difference(solve(bare, vector<double>{3.0, 1.0}, gmres{}, ilut{}), ones<double>(2)) < 1e-14);
  auto const singular = from_triplets<double>(2, 2, {0, 0, 1, 1}, {0, 1, 0, 1}, {2.0, 1.0, 4.0, 2.0});
  CHECK_THROWS_WITH(solve(singular, ones<double>(2), gmres{}, ilut{}), ContainsSubstring("ilut: zero pivot in row 1"));
  auto const listed = try_solve(sparse_list(std::vector{singular, bare}), std::vector{ones<double>(2), ones<double>(2)}, gmres{}, ilut{}).report;
  CHECK((listed.items[0].state == reason::setup_failed && listed.items[1].state == reason::converged));
}

} // namespace test_ilut
