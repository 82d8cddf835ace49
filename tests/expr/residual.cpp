// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Residuals in more digits than those of b and x, against integer arithmetic: every format, blocks, batches, right-hand sides,
// complex numbers, float.
#include <cmath>

#include <sla/exec/deferred.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/algebra.hpp>
#include <sla/expr/sparse/residual.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

using namespace sla;

namespace {
__extension__ using integer = __int128;

/// Integers of so many bits in the pattern of a grid; b = A x up to its rounding, so that double sees of b - A x noise alone.
template <class T>
struct cancelling {
  sparse_tensor<T> A = problems::poisson<T>({8, 6});
  vector<T> x, b, exact;

  explicit cancelling(int bits) : x(random<T>(48, 3)), b(zeros<T>(48)), exact(zeros<T>(48)) {
    double const scale = std::ldexp(1.0, bits);
    auto const values = random<T>(A.nnz(), 5);
    for (index_t k = 0; k < A.nnz(); ++k) A.values()[k] = T(std::round(scale * double(values[k])));
    for (auto& v : x) v = T(std::round(scale * double(v)));
    for (index_t i = 0; i < 48; ++i) {
      integer sum = 0;
      A.pattern().view().for_row(i, [&](index_t s, index_t j) { sum += integer(A.values()[s]) * integer(x[j]); });
      b[i] = T(sum);
      exact[i] = T(integer(b[i]) - sum);
    }
  }
};
template <class R, class E>
void check_equal(R const& r, E const& exact) {
  for (index_t i = 0; i < r.size(); ++i) CHECK(r.data()[i] == exact[i % exact.size()]);
}
} // namespace

TEST_CASE("a residual that cancels in double is exact: stored rows, triplets, diagonals, blocks") {
  cancelling<double> const c(45);
  vector<double> const plain = c.b - c.A * c.x;
  CHECK(double(norm(plain - c.exact)) > 0.1 * double(norm(c.exact)));
  vector<double> r = accurate_residual(c.b, c.A * c.x);
  check_equal(r, c.exact);
  auto const triplets = to<Coo<>>(c.A);
  r = accurate_residual(c.b, triplets * c.x);
  check_equal(r, c.exact);
  auto const diagonals = to<Dia>(c.A);
  r = accurate_residual(c.b, diagonals * c.x);
  check_equal(r, c.exact);

  using Blocked = tensor<double, Extents<dyn, 2>>;
  auto const blocks = to_blocks<2, 2>(c.A);
  Blocked xb({24, 2}), bb({24, 2});
  std::copy(c.x.begin(), c.x.end(), xb.begin());
  std::copy(c.b.begin(), c.b.end(), bb.begin());
  Blocked const rb = accurate_residual(bb, blocks * xb);
  check_equal(rb, c.exact);
}

TEST_CASE("so are those of batches, of several right-hand sides, and of a space that runs later") {
  cancelling<double> const c(45);
  auto const A = to_batch<2>(c.A);
  tensor<double, Extents<2, dyn>> x({2, 48}), b({2, 48});
  matrix<double> X({48, 3}), B({48, 3});
  for (index_t i = 0; i < 48; ++i) {
    for (index_t k = 0; k < 2; ++k) x(k, i) = c.x[i], b(k, i) = c.b[i];
    for (index_t k = 0; k < 3; ++k) X(i, k) = c.x[i], B(i, k) = c.b[i];
  }
  tensor<double, Extents<2, dyn>> const r = accurate_residual(b, A * x);
  check_equal(r, c.exact);
  matrix<double> const R = accurate_residual(B, c.A * X);
  for (index_t i = 0; i < 48; ++i)
    for (index_t k = 0; k < 3; ++k) CHECK(R(i, k) == c.exact[i]);

  auto space = deferred(frame{1, 48, 1, 1}, 4);
  vector<double> later(Extents<dyn>(48));
  fuse(space, set(later, accurate_residual(c.b, c.A * c.x)));
  space.finish();
  check_equal(later, c.exact);
}

TEST_CASE("float is computed in more digits too, and so are complex numbers") {
  cancelling<float> const f(20);
  vector<float> const r = accurate_residual(f.b, f.A * f.x);
  check_equal(r, f.exact);

  // (1 + i) times real numbers: both parts are the real residual
  cancelling<double> const c(45);
  using C = std::complex<double>;
  auto const A = cast<C>(c.A);
  vector<C> x(Extents<dyn>(48)), b(Extents<dyn>(48));
  for (index_t i = 0; i < 48; ++i) x[i] = c.x[i] * C(1, 1), b[i] = c.b[i] * C(1, 1);
  vector<C> const z = accurate_residual(b, A * x);
  for (index_t i = 0; i < 48; ++i) CHECK(z[i] == c.exact[i] * C(1, 1));
}

TEST_CASE("what was moved into a residual outlives it") {
  cancelling<double> const c(45);
  auto const of_copies = [&] {
    auto x = c.x;
    return accurate_residual(c.b, c.A * std::move(x));
  }();
  check_equal(vector<double>(of_copies), c.exact);
  auto const of_a_sum = accurate_residual(c.b, eval(c.A * c.x));
  check_equal(vector<double>(of_a_sum), vector<double>(c.b - c.A * c.x));
  auto const of_a_matrix = [&] {
    auto A = c.A;
    return accurate_residual(c.b, std::move(A) * c.x);
  }();
  check_equal(vector<double>(of_a_matrix), vector<double>(c.b - c.A * c.x));
}

TEST_CASE("its squared norm comes with that of the magnitudes, which bound its rounding") {
  cancelling<double> const c(45);
  auto const [squares] = fuse(squared_norm_of(accurate_residual(c.b, c.A * c.x)));
  CHECK(squares[0] == Approx(double(squared_norm(c.exact))));
  vector<double> const magnitudes = abs(c.b) + abs(c.A) * abs(c.x);
  CHECK(squares[1] == Approx(double(squared_norm(magnitudes))));
}
