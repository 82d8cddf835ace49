// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chebyshev polynomials against known eigenvectors and the textbook's recurrence, their bounds against known eigenvalues.
#include <cmath>
#include <complex>
#include <ctime>

#include "suites/krylov.hpp"
#include "suites/messages.hpp"

#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/composed/chebyshev.hpp>

using suite::tells, suite::words;
using sla::dyn, sla::index_t;
using complex_t = std::complex<double>;

namespace {
/// M r by the recurrence with a residual and a direction (Saad, algorithm 12.1), on dense arrays [batch][n][rhs].
template <class T, class S, class F>
std::vector<T> reference(sla::sparse_tensor<T, S, F> const& A, sla::eigenvalue_bounds bounds, int degree, std::vector<T> r, index_t rhs) {
  auto const D = oracle::dense(A);
  index_t const batch = A.batch_count(), n = A.rows() * S::block_rows;
  auto const scaled = [&](std::vector<T> x) {
    for (index_t e = 0; e < index_t(x.size()); ++e) {
      index_t const row = e / rhs;
      x[std::size_t(e)] /= D[std::size_t(row * n + row % n)];
    }
    return x;
  };
  double const middle = (bounds.highest + bounds.lowest) / 2, half = (bounds.highest - bounds.lowest) / 2, sigma = middle / half;
  double rho = 1 / sigma;
  auto d = scaled(r);
  for (auto& v : d) v /= middle;
  auto x = d;
  for (int k = 0; k < degree; ++k) {
    auto const Ad = oracle::product(D, d.data(), batch, n, n, rhs);
    for (std::size_t e = 0; e < r.size(); ++e) r[e] -= Ad[e];
    auto const z = scaled(r);
    double const next = 1 / (2 * sigma - rho);
    for (std::size_t e = 0; e < r.size(); ++e) {
      d[e] = next * rho * d[e] + 2 * next / half * z[e];
      x[e] += d[e];
    }
    rho = next;
  }
  return x;
}
template <class A, class V>
void agrees(A const& a, V const& r, index_t rhs, int degree) {
  auto const M = sla::chebyshev{.degree = degree}.setup(a);
  V const z = M * r, h = M.adjoint() * r;
  auto const wanted = reference(a, M.bounds(), degree, std::vector(r.begin(), r.end()), rhs);
  CHECK(oracle::distance(std::vector(z.begin(), z.end()), wanted) < 1e-12);
  CHECK(oracle::distance(z, h) == 0);
}
}  // namespace

TEST_CASE("chebyshev scales eigenvectors by its polynomial, and its bounds enclose the spectrum") {
  index_t const n = 20;
  auto const A = sla::problems::poisson({n});
  double const pi = std::acos(-1.0);
  for (int degree : {1, 2, 5}) {
    auto const M = sla::chebyshev{.degree = degree, .ratio = 200}.setup(A);
    auto const [low, high] = M.bounds();
    double const largest = 1 + std::cos(pi / double(n + 1)), least = 1 - std::cos(pi / double(n + 1));
    CHECK(high >= largest);
    CHECK(high <= 1.1 * largest * (1 + 1e-12));
    CHECK(low <= least);
    CHECK(low == Approx(high / 200));
    double const middle = (high + low) / 2, half = (high - low) / 2;
    auto const T = [&](double t) { return std::abs(t) <= 1 ? std::cos((degree + 1) * std::acos(t)) : std::cosh((degree + 1) * std::acosh(t)); };
    for (index_t k = 1; k <= n; ++k) {
      sla::vector<double> v(n);
      for (index_t i = 0; i < n; ++i) v[i] = std::sin(pi * double(k * (i + 1)) / double(n + 1));
      double const lambda = 1 - std::cos(pi * double(k) / double(n + 1));
      double const q = (1 - T((middle - lambda) / half) / T(middle / half)) / lambda;
      sla::vector<double> const z = M * v;
      CHECK(oracle::distance(z, sla::vector<double>(q / 2 * v)) < 1e-12);
      CHECK(q > 0);
    }
  }
}

TEST_CASE("chebyshev of complex numbers, of batches, blocks and right-hand sides is the textbook's") {
  auto const A = suite::complex_problem<sla::cg>(4);
  agrees(A, sla::random<complex_t>(A.rows(), 1), 1, 3);
  auto const C = sla::to_blocks<2, 2>(suite::batched_problem<sla::cg>(4));
  agrees(C, sla::random<double, sla::Extents<2, dyn, 2, dyn>>({2, 8, 2, 3}, 2), 3, 4);
}

TEST_CASE("chebyshev helps conjugate gradients, on a queue the same; it takes new values") {
  auto const A = sla::problems::checkerboard({24, 24}, 10.0, 2);
  auto const b = sla::random<double>(A.rows(), 3);
  suite::same_everywhere(A, b, sla::cg{}, sla::chebyshev{}, 1e-6);
  auto const few = sla::try_solve(A, b, sla::cg{}, sla::chebyshev{.degree = 1}).report, many = sla::try_solve(A, b, sla::cg{}, sla::chebyshev{.degree = 8}).report;
  CHECK(2 * many.iterations() < few.iterations());
  CHECK(tells(many.preconditioner, "chebyshev of degree 8 for eigenvalues from"));

  auto M = sla::chebyshev{}.setup(A);
  sla::vector<double> const before = M * b, within = 2.0 * (M * b) - A * b;
  CHECK(oracle::distance(within, sla::vector<double>(2.0 * before - A * b)) < 1e-13);
  M.update(4.0 * A);
  CHECK(oracle::distance(sla::vector<double>(4.0 * (M * b)), before) < 1e-13);
  auto bad = A;
  bad.values()[1] += 1;
  CHECK(tells(words([&] { M.update(bad); }), "entry (0, 1) is"));
  CHECK(oracle::distance(sla::vector<double>(4.0 * (M * b)), before) < 1e-13);
  CHECK(sla::vector<double>(sla::chebyshev{}.setup(sla::problems::poisson({0})) * sla::vector<double>(0)).size() == 0);
}

TEST_CASE("chebyshev refuses what it cannot do") {
  auto const A = sla::problems::poisson({6, 6});
  CHECK(tells(words([&] { sla::chebyshev{.degree = 0}.setup(A); }), "chebyshev{.degree = 0}: the degree is at least 1"));
  CHECK(tells(words([&] { sla::chebyshev{.ratio = 1}.setup(A); }), "greater than 1"));
  CHECK(tells(words([&] { sla::chebyshev{.steps = 0}.setup(A); }), "both are at least 1"));
  CHECK(tells(words([&] { sla::chebyshev{}.setup(sla::problems::convection_diffusion({5, 5}, 3.0)); }), "chebyshev: A is not symmetric: entry (0, 1) is"));
  sla::triplets<double> hub(200000, 200000);  // each entry of row 0 differs: the square of them takes half a minute and more
  for (index_t i = 0; i < 200000; ++i) hub.add(i, i, 2.0), hub.add(i, 0, 1e-6), hub.add(0, i, 2e-6);
  auto const apart = hub.build();
  auto const began = std::clock();
  CHECK(tells(words([&] { sla::chebyshev{}.setup(apart); }), "chebyshev: A is not symmetric: entry (0, 1) is 2e-06, and entry (1, 0) is 1e-06"));
  CHECK(double(std::clock() - began) / CLOCKS_PER_SEC < 10);
  CHECK(tells(words([&] { sla::chebyshev{}.setup(-1.0 * A); }), "the diagonal entry of row 0 is not positive"));
  auto indefinite = A;
  for (index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](index_t s, index_t j) { indefinite.values()[s] = i == j ? 1.0 : -1.0; });
  CHECK(tells(words([&] { sla::chebyshev{}.setup(indefinite); }), "A is not positive definite: a vector has (p, A p) = -"));
}
