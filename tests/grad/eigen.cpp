// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of eigenvalues and eigenvectors: <w, J d> = <J^H w, d> and Taylor remainders of rate 2.0 +- 0.05; clusters as subspaces.
#include <complex>

#include <sla/eigenvalues.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/dual.hpp"

namespace test_eigen_gradient {

using namespace sla;

namespace {
/// A symmetric matrix of simple values: a Laplacian with a potential of s times x.
auto const base = problems::poisson<double>({6, 5});
auto const slope = [] {
  sla::vector<double> d(30);
  for (index_t i = 0; i < 30; ++i) d[i] = 0.03 * double(i) + 0.1 * std::sin(double(3 * i));
  return d;
}();
auto const weights = random<double>(30, 5);
/// Another Hermitian matrix on the pattern of A.
template <class A>
A random_sparse_like(A const& a) {
  A out = a;
  for (index_t i = 0; i < a.rows(); ++i)
    a.pattern().view().for_row(i, [&](index_t s, index_t j) { out.values()[s] = std::polar(0.1 * double((i + j) % 7) + 0.3, 0.2 * double(i - j)); });
  return out;
}
} // namespace

TEST_CASE("the gradient of an eigenvalue is v v^H on the pattern, and its value by Euler's identity") {
  auto const A = problems::poisson<double>({40, 40});
  auto lowest = [](auto const& a) { return eigsh(a, 1, smallest{}, lobpcg{.rtol = 1e-11}, amg{}).values[0]; };
  auto [value, gA] = value_and_gradient(lowest, A);
  CHECK(std::abs(dot(gA.values(), A.values()) - value) <= 1e-8 * value);
  auto const pairs = eigsh(A, 1, smallest{}, lobpcg{.rtol = 1e-11}, amg{});
  CHECK(gA(17, 18) == Approx(pairs.vectors(17, 0) * pairs.vectors(18, 0)).epsilon(1e-8));
}

TEST_CASE("eigenpairs of batches and of blocks have the derivatives of their items") {
  auto const A = eval(base + diagonal(slope));
  auto const items = stack_batch(A, eval(A + diagonal(weights * weights)));
  auto const blocks = to_blocks<2, 2>(items);
  auto const loss = [](auto const& a) {
    auto const [w, V, report] = eigsh(a, 2, smallest{}, dense_eigen{});
    return sum(w * w) + w(1, 1) + 0.3 * sum(V * V * V);
  };
  auto const by_items = [](auto const& a) {
    auto const of = [](auto const& item) {
      auto const [w, V, report] = eigsh(item, 2, smallest{}, dense_eigen{});
      return std::pair(sum(w * w) + 0.3 * sum(V * V * V), w[1]);
    };
    auto const [first, unused] = of(batch_item(a, 0));
    auto const [second, last] = of(batch_item(a, 1));
    return first + second + last;
  };
  auto const [value, g] = value_and_gradient(loss, items);
  auto const [same, of_items] = value_and_gradient(by_items, items);
  auto const [again, of_blocks] = value_and_gradient(loss, blocks);
  CHECK(value == Approx(same));
  CHECK(again == Approx(same));
  CHECK(norm(values(g) - values(of_items)) <= 1e-12);
  auto const E = with_values(items, values(items) * values(items));  // symmetric too
  double const h = 1e-5, difference = (loss(eval(items + h * E)) - loss(eval(items - h * E))) / (2 * h);
  CHECK(dot(g.values(), E.values()) == Approx(difference).epsilon(1e-7));
  CHECK(std::get<1>(jvp(loss, std::tie(items), std::tie(E))) == Approx(difference).epsilon(1e-7));
  gradient::check_dual(loss, std::tie(items), {.accuracy = 1e-10});
  auto const EB = to_blocks<2, 2>(E);
  CHECK(dot(of_blocks.values(), EB.values()) == Approx(difference).epsilon(1e-7));
  CHECK(std::get<1>(jvp(loss, std::tie(blocks), std::tie(EB))) == Approx(difference).epsilon(1e-7));
}

TEST_CASE("gradients of values and vectors, ordinary and generalised, in both modes") {
  for (bool iterative : {false, true}) {
    auto const loss = [&](auto const& d, auto const& m) {
      auto const A = base + diagonal(d);
      auto const B = eye<double>(30) + 0.1 * diagonal(m * m);
      auto const of = [&](auto const& pairs) {
        auto const r = pairs.vectors;
        return 0.3 * pairs.values[0] + pairs.values[2] * pairs.values[1] + sum(r * r * r) + 0.1 * sum(r * r) + r(3, 1);
      };
      return iterative ? of(eigsh(A, 3, smallest{}, lobpcg{.rtol = 1e-12}, jacobi{})) + of(eigsh(A, B, 3, smallest{}, lobpcg{.rtol = 1e-12}, jacobi{}))
                       : of(eigsh(A, 3, largest{}, dense_eigen{})) + of(eigsh(A, B, 3, largest{}, dense_eigen{}));
    };
    gradient::check_dual(loss, std::tie(slope, weights), {.accuracy = 1e-7});
  }
}

TEST_CASE("the gauge of complex vectors counts in their gradients") {
  auto const phases = [](auto A) {
    for (index_t i = 0; i < 30; ++i) A.pattern().view().for_row(i, [&](index_t s, index_t j) { A.values()[s] *= std::polar(1.0, 0.9 * double(i - j)); });
    return A;
  };
  using C = std::complex<double>;
  auto const A = phases(cast<C>(eval(base + diagonal(slope))));
  auto const E = phases(random_sparse_like(A));
  auto const target = random<C, Extents<dyn, dyn>>({30, 2}, 8);
  auto const loss = [&](auto const& a) {
    auto const pairs = eigsh(a, 2, smallest{}, dense_eigen{});
    return squared_norm(pairs.vectors - target) + pairs.values[0] * pairs.values[1];
  };
  auto const [value, g] = value_and_gradient(loss, A);
  double const h = 1e-5, difference = (loss(eval(A + h * E)) - loss(eval(A - h * E))) / (2 * h);
  double along = 0;
  for (index_t n = 0; n < A.nnz(); ++n) along += std::real(std::conj(g.values()[n]) * E.values()[n]);
  CHECK(along == Approx(difference).epsilon(1e-6));
  CHECK(std::get<1>(jvp(loss, std::tie(A), std::tie(E))) == Approx(difference).epsilon(1e-6));
  gradient::check_dual(loss, std::tie(A), {.accuracy = 1e-10});
}

TEST_CASE("clusters have the derivatives of what mixing their vectors does not change; all else is refused by a sentence") {
  using Catch::Matchers::ContainsSubstring;
  auto const A = problems::poisson<double>({9, 9});  // values 1 and 2 are equal
  auto const C = random<double, Extents<dyn, dyn>>({81, 3}, 4);
  auto rows = C;  // c_i in each column: sum c_i |row i of V|^2 is one number for all bases
  for (index_t i = 0; i < rows.size(); ++i) rows[i] = C[i / 3 * 3];
  auto const whole = [&](auto const& d, auto const& m) {
    auto const pairs = eigsh(A + diagonal(d), eye<double>(81) + 0.2 * diagonal(m), 3, smallest{}, dense_eigen{});
    auto const V = pairs.vectors;
    return sum(rows * V * V) + pairs.values[1] + pairs.values[2] + 0.5 * pairs.values[0];
  };
  auto const report = check_gradient(whole, std::tuple(sla::vector<double>(81), ones<double>(81)), {.out = nullptr});
  INFO(report);
  CHECK(report.passed);
  CHECK(report.slope == Approx(2).margin(0.05));

  auto const apart = [&](auto const& a) { return eigsh(a, 3, smallest{}, dense_eigen{}).values[1]; };
  CHECK_THROWS_WITH(value_and_gradient(apart, A), ContainsSubstring("values 1 and 2") && ContainsSubstring("one cluster"));
  auto const cut = [&](auto const& a) { return eigsh(a, 2, smallest{}, dense_eigen{}).values[1]; };
  CHECK_THROWS_WITH(value_and_gradient(cut, A), ContainsSubstring("beyond the 2 pairs"));
  std::vector<index_t> row, col;
  std::vector<double> value;
  for (index_t i = 0; i < 26; ++i)  // two paths of 12 and 15 points: 0 is a value of both, and only rounding tells the two apart
    if (i != 11) row.insert(row.end(), {i, i, i + 1, i + 1}), col.insert(col.end(), {i, i + 1, i, i + 1}), value.insert(value.end(), {1.0, -1.0, -1.0, 1.0});
  auto const paths = from_triplets<double>(27, 27, row, col, value);
  auto const zero = [&](auto const& a) { return eigsh(a, 3, smallest{}, dense_eigen{}).values[0]; };
  CHECK_THROWS_WITH(value_and_gradient(zero, paths), ContainsSubstring("one cluster"));
  auto const vectors = [&](auto const& a) { return sum(C * eigsh(a, 3, smallest{}, dense_eigen{}).vectors); };
  CHECK_THROWS_WITH(value_and_gradient(vectors, A), ContainsSubstring("single vectors"));
  auto const unfinished = [&](auto const& a) { return eigsh(a, 2, smallest{}, lobpcg{.max_iterations = 1}).values[0]; };
  CHECK_THROWS_AS(value_and_gradient(unfinished, A), eigen_error);
}

} // namespace test_eigen_gradient
