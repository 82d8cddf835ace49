// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of singular values and vectors, and of eigenvalues of matrices that are not Hermitian: against differences, by Taylor
// remainders of rate 2.0 +- 0.05, in both modes.
#include <complex>

#include <sla/eigenvalues.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

namespace test_svds_gradient {

using namespace sla;
using Z = std::complex<double>;

namespace {
/// A rectangular matrix of simple singular values.
sparse_tensor<double> rectangle(int m, int n) {
  std::vector<index_t> row, col;
  std::vector<double> value;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      if ((3 * i + 5 * j) % 4 == 0 || i == j) row.push_back(i), col.push_back(j), value.push_back(std::sin(1.0 + i * 1.7 + j * j * 0.9) + (i == j ? 0.2 * i : 0.0));
  return from_triplets<double>(m, n, row, col, value);
}
/// The same pattern with other values.
template <class A>
A direction(A a) {
  using T = typename A::value_type;
  for (index_t s = 0; s < a.nnz(); ++s) {
    if constexpr (is_complex<T>)
      a.values()[s] = T(std::cos(0.7 * double(s)), std::sin(1.1 * double(s)));
    else
      a.values()[s] = std::cos(0.7 * double(s));
  }
  return a;
}
/// The derivative along E by both modes, by differences and by the rate of remainders.
template <class Loss, class A>
void check_both(Loss const& loss, A const& a, A const& E, double h = 1e-5) {
  double const difference = (8 * (loss(eval(a + h * E)) - loss(eval(a - h * E))) - (loss(eval(a + 2 * h * E)) - loss(eval(a - 2 * h * E)))) / (12 * h);
  auto const [value, g] = value_and_gradient(loss, a);
  double along = 0;
  for (index_t n = 0; n < a.nnz(); ++n) along += std::real(Z(g.values()[n]) * std::conj(Z(E.values()[n])));
  CHECK(along == Approx(difference).epsilon(1e-7));
  CHECK(std::get<1>(jvp(loss, std::tie(a), std::tie(E))) == Approx(along).epsilon(1e-9));
  CHECK(gradient::remainder_rate([&](double t) { return loss(eval(a + t * E)); }, along, 100 * h) == Approx(2).margin(0.05));
}
} // namespace

TEST_CASE("singular values and vectors of tall and wide matrices have their derivatives in both modes") {
  for (auto const& A : {rectangle(12, 9), rectangle(8, 11)}) {
    auto const E = direction(A);
    auto const left = random<double, Extents<dyn, dyn>>({A.rows(), 3}, 5), right = random<double, Extents<dyn, dyn>>({A.cols(), 3}, 6);
    check_both([](auto const& a) { return svds(a, 3).values[0] * 0.3 + svds(a, 2, smallest{}).values[1]; }, A, E);
    check_both([&](auto const& a) {
      auto const t = svds(a, 3);
      return sum(left * t.left) + 0.5 * sum(right * t.right) + t.values[0] * t.values[2];
    }, A, E);
    auto const [value, g] = value_and_gradient([](auto const& a) { return svds(a, 1).values[0]; }, A);
    CHECK(dot(g.values(), A.values()) == Approx(value));  // Euler's identity, of u v^H
  }
}

TEST_CASE("the gauge of complex singular vectors counts in their derivatives") {
  auto A = cast<Z>(rectangle(10, 8));
  for (index_t s = 0; s < A.nnz(); ++s) A.values()[s] *= std::polar(1.0, 0.8 * double(s));
  auto const target = random<Z, Extents<dyn, dyn>>({10, 2}, 5);
  check_both([&](auto const& a) {
    auto const t = svds(a, 2);
    return squared_norm(t.left - target) + t.values[1];
  }, A, direction(A));
}

TEST_CASE("a singular value 0 has no derivative, in either mode, and the errors of svds begin with its name") {
  using Catch::Matchers::ContainsSubstring;
  auto const A = from_triplets<double>(4, 3, {0, 1, 2, 3, 0, 1}, {0, 0, 1, 1, 2, 2}, {1.0, 2.0, 3.0, 1.0, 2.0, 4.0});  // column 2 is twice column 0
  auto const E = direction(A);
  auto const all = [](auto const& a) { return svds(a, 3).values[2]; };
  auto const vectors = [](auto const& a) { return sum(svds(a, 1, smallest{}).left); };
  auto const kink = ContainsSubstring("svds: a derivative of triplet 2, whose value");
  CHECK_THROWS_WITH(value_and_gradient(all, A), kink);
  CHECK_THROWS_WITH(jvp(all, std::tie(A), std::tie(E)), kink);
  CHECK_THROWS_WITH(value_and_gradient(vectors, A), ContainsSubstring("svds: a derivative of triplet 0"));
  check_both([](auto const& a) { return svds(a, 2).values[1]; }, A, E);
  check_both([](auto const& a) { return svds(a, 2).values[1]; }, eval(1e-20 * A), eval(1e-20 * E));
  auto const [value, g] = value_and_gradient([](auto const& a) { return svds(a, 3).values[0]; }, A);
  CHECK(dot(g.values(), A.values()) == Approx(value));
  auto const twice = diagonal(ones<double>(3));
  CHECK_THROWS_WITH(value_and_gradient([](auto const& a) { return svds(a, 3).values[0]; }, twice), ContainsSubstring("svds: a derivative of single values"));
  auto const stopped = [](auto const& a) { return svds(a, 2, largest{}, golub_kahan{.rtol = 1e-14, .max_restarts = 0, .basis = 5}).values[0]; };
  CHECK_THROWS_WITH(value_and_gradient(stopped, problems::convection_diffusion<double>({12, 12}, 3.0)), ContainsSubstring("svds: golub-kahan"));
}

TEST_CASE("eigenvalues of matrices that are not Hermitian have their derivatives, complex ones too") {
  using Catch::Matchers::ContainsSubstring;
  auto const A = rectangle(11, 11);
  auto const B = eval(2.0 * eye<double>(11) + 0.05 * direction(rectangle(11, 11)));
  auto const E = direction(A);
  check_both([](auto const& a) {
    auto const w = eigs(a, 4, largest_magnitude{}).values;
    return 0.4 * squared_norm(w);
  }, A, E);
  check_both([&](auto const& a) { return squared_norm(eigs(a, B, 2, near{0.3}).values); }, A, E);
  check_both([&](auto const& b) { return squared_norm(eigs(A, b, 2, near{0.3}).values); }, B, direction(B));
  auto C = cast<Z>(A);
  for (index_t s = 0; s < C.nnz(); ++s) C.values()[s] *= std::polar(1.0, 0.8 * double(s));
  auto const weights = random<Z>(3, 4);
  check_both([&](auto const& a) { return squared_norm(eigs(a, 3, largest_magnitude{}).values - weights); }, C, direction(C));
  auto const twice = from_triplets<double>(3, 3, {0, 1, 2}, {0, 1, 2}, {2.0, 2.0, 1.0});
  CHECK_THROWS_WITH(value_and_gradient([](auto const& a) { return squared_norm(eigs(a, 2, largest{}).values - random<Z>(2, 3)); }, twice), ContainsSubstring("one multiple value"));
  CHECK_THROWS_WITH(value_and_gradient([](auto const& a) { return sum(real(eigs(a, 2, largest{}).vectors)); }, twice), ContainsSubstring("eigs: a derivative of the vectors 0 and 1") || ContainsSubstring("eigs: a derivative of the vectors 1 and 0"));
  auto const tiny = from_triplets<double>(4, 4, {0, 1, 2, 3}, {0, 1, 2, 3}, {1.0, 1e-13, 2e-13, 2.0});  // equal beside the size of A
  CHECK_THROWS_WITH(value_and_gradient([](auto const& a) { return squared_norm(eigs(a, 2, smallest{}).values - random<Z>(2, 3)); }, tiny), ContainsSubstring("one multiple value"));
}

TEST_CASE("right and left vectors of matrices that are not Hermitian have their derivatives in their gauge, to A and B") {
  auto const A = rectangle(11, 11);
  auto const B = eval(2.0 * eye<double>(11) + 0.05 * direction(rectangle(11, 11)));
  auto const E = direction(A);
  auto const right = random<Z, Extents<dyn, dyn>>({11, 2}, 5), left = random<Z, Extents<dyn, dyn>>({11, 2}, 6);
  auto const of = [&](auto const& t) { return squared_norm(t.vectors - right) + 0.3 * squared_norm(t.left - left) + 0.1 * squared_norm(t.values); };
  check_both([&](auto const& a) { return squared_norm(eigs(a, 2, largest_magnitude{}).vectors - right); }, A, E);
  check_both([&](auto const& a) { return of(eigs(a, 2, largest_magnitude{}, left_vectors)); }, A, E);
  check_both([&](auto const& a) { return of(eigs(a, B, 2, near{0.3}, left_vectors)); }, A, E);
  check_both([&](auto const& b) { return of(eigs(A, b, 2, near{0.3}, left_vectors)); }, B, direction(B));
  auto C = cast<Z>(A);
  for (index_t s = 0; s < C.nnz(); ++s) C.values()[s] *= std::polar(1.0, 0.8 * double(s));
  check_both([&](auto const& a) { return of(eigs(a, 2, largest_magnitude{}, left_vectors)); }, C, direction(C));
}

namespace {
/// The derivative along E, of batches and blocks, by the same.
template <class Loss, class A>
void check_along(Loss const& loss, A const& a, A const& E) {
  double const h = 1e-5, difference = (8 * (loss(eval(a + h * E)) - loss(eval(a - h * E))) - (loss(eval(a + 2 * h * E)) - loss(eval(a - 2 * h * E)))) / (12 * h);
  auto const [value, g] = value_and_gradient(loss, a);
  CHECK(value == Approx(loss(a)));
  double const along = dot(g.values(), E.values());
  CHECK(along == Approx(difference).epsilon(1e-7));
  CHECK(std::get<1>(jvp(loss, std::tie(a), std::tie(E))) == Approx(along).epsilon(1e-9));
  CHECK(gradient::remainder_rate([&](double t) { return loss(eval(a + t * E)); }, along, 100 * h) == Approx(2).margin(0.05));
}
} // namespace

TEST_CASE("singular triplets of batches and of blocks have the derivatives of their items") {
  auto const A = rectangle(8, 6);
  auto const items = stack_batch(A, with_values(A, values(A) * values(A)));
  auto const E = stack_batch(direction(A), A);
  auto const left = random<double, Extents<2, dyn, dyn>>({2, 8, 2}, 5), right = random<double, Extents<2, dyn, dyn>>({2, 6, 2}, 6);
  auto const of_values = [](auto const& a) { return svds(a, 2).values(1, 0) + 0.4 * squared_norm(svds(a, 2, smallest{}).values); };
  auto const loss = [&](auto const& a) {
    auto const [U, s, V] = svds(a, 2);
    return s(0, 1) * s(1, 0) + sum(left * U) + 0.5 * sum(right * V);
  };
  check_along(of_values, items, E);
  check_along(loss, items, E);
  auto const gradient = [&](double h) { return eval(values(std::get<1>(value_and_gradient(of_values, eval(items + h * E))))); };
  auto const slope = eval((gradient(1e-5) - gradient(-1e-5)) / 2e-5);
  CHECK(norm(values(hvp(of_values, items, E)) - slope) <= 1e-7 * norm(slope));
  auto const blocks = to_blocks<2, 2>(items);
  check_along(of_values, blocks, to_blocks<2, 2>(E));
  check_along(loss, blocks, to_blocks<2, 2>(E));
}

TEST_CASE("eigenpairs of batches of matrices that are not Hermitian have the derivatives of their items, to A and B") {
  auto const A = rectangle(10, 10);
  auto const items = stack_batch(A, eval(A + 0.2 * direction(A)));
  auto const B = eval(2.0 * eye<double>(10) + 0.05 * direction(A));
  auto const right = random<Z, Extents<2, dyn, dyn>>({2, 10, 2}, 5), left = random<Z, Extents<2, dyn, dyn>>({2, 10, 2}, 6);
  auto const of = [&](auto const& t) { return squared_norm(t.vectors - right) + 0.3 * squared_norm(t.left - left) + 0.1 * squared_norm(t.values); };
  check_along([](auto const& a) { return squared_norm(eigs(a, 2, near{0.3}).values); }, items, stack_batch(direction(A), A));
  check_along([&](auto const& a) { return of(eigs(a, B, 2, near{0.3}, left_vectors)); }, items, stack_batch(direction(A), A));
  check_along([&](auto const& b) { return of(eigs(items, b, 2, near{0.3}, left_vectors)); }, B, direction(B));
}

} // namespace test_svds_gradient
