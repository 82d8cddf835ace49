// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse Jacobians of functions of tensors: patterns that are found, colours, values; against directional derivatives along every unit vector.
#include <set>
#include <sla/nonlinear.hpp>

#include "catch.hpp"

using namespace sla;
using Catch::Matchers::ContainsSubstring;

namespace {
/// Row by row what directional derivatives along unit vectors are; the entries that J stores besides are 0. Returns the number of entries stored.
template <class F, class V>
index_t is_jacobian(F const& f, V const& u) {
  using T = typename V::value_type;
  auto const J = jacobian(f, u);
  REQUIRE(J.cols() == u.size());
  for (index_t j = 0; j < u.size(); ++j) {
    V e(u.extents());
    e[j] = T(1);
    auto const column = std::get<1>(jvp(f, std::tie(u), std::tie(e)));
    REQUIRE(J.rows() == column.size());
    for (index_t i = 0; i < J.rows(); ++i) {
      INFO("entry " << i << ", " << j);
      REQUIRE(std::abs(J(i, j) - column[i]) <= 20 * std::numeric_limits<real_t<T>>::epsilon() * std::abs(column[i]));
    }
  }
  return J.nnz();
}
auto const A = problems::convection_diffusion<double>({6, 5}, {30.0, -10.0});
auto const u = random<double>(30, 3);
} // namespace

TEST_CASE("jacobian: element by element, products with sparse matrices of any kind, and their transposes") {
  CHECK(is_jacobian([](auto const& v) { return exp(v) * v - 2.0 * sin(v) + 1.0; }, u) == 30);
  CHECK(is_jacobian([](auto const& v) { return A * v - 0.3 * exp(v); }, u) == A.nnz());
  CHECK(is_jacobian([](auto const& v) { return transpose(A) * (v * v) + A * sin(v); }, u) == A.nnz());
  CHECK(is_jacobian([](auto const& v) { return A * (A * v); }, u) == eval(A * A).nnz());
  CHECK(is_jacobian([S = to<Sell<>>(A)](auto const& v) { return S * v; }, u) == A.nnz());
  CHECK(is_jacobian([](auto const& v) { return where(v > 0.1, v * v, A * v); }, u) == A.nnz());
  CHECK(is_jacobian([](auto const& v) { return apply([](auto a, auto b) { using std::exp; return a * exp(-b); }, v, A * v); }, u) == A.nnz());
  auto const R = from_triplets<double>(4, 30, {0, 1, 1, 3}, {2, 0, 29, 7}, {1.0, 2.0, 3.0, 4.0});
  CHECK(is_jacobian([&](auto const& v) { return R * (v * v); }, u) == 4);
  CHECK(is_jacobian([](auto const& v) { return with_adjoint(A) * (v * v); }, u) == A.nnz());
}
TEST_CASE("jacobian: sparse matrices whose values depend on u, and linear functions that can only be called") {
  auto const row_of = from_triplets<double>(A.nnz(), 30, [] {
    std::vector<index_t> at;
    for (index_t s = 0; s < A.nnz(); ++s) at.push_back(s);
    return at;
  }(), [] {
    std::vector<index_t> rows;
    for (index_t i = 0; i < 30; ++i) A.pattern().view().for_row(i, [&](index_t, index_t) { rows.push_back(i); });
    return rows;
  }(), std::vector<double>(std::size_t(A.nnz()), 1.0));
  auto const diffusion = [&](auto const& v) { return with_values(A, values(A) * (row_of * (1.0 + v * v))) * v; };
  CHECK(is_jacobian(diffusion, u) == A.nnz());
  CHECK(is_jacobian([](auto const& v) { return scale_rows(A, v) * v; }, u) == A.nnz());
  linear_operator<double> const reversed(30, 30, [](std::span<double const> x, std::span<double> y) { std::reverse_copy(x.begin(), x.end(), y.begin()); });
  CHECK(is_jacobian([&](auto const& v) { return v * (reversed * v); }, u) == 60);
}
TEST_CASE("jacobian: reductions and solves depend on all; numbers, blocks, batches and several right-hand sides") {
  CHECK(is_jacobian([](auto const& v) { return sum(v) * v; }, u) == 900);
  CHECK(is_jacobian([](auto const& v) { return v * v + u[2] * v[7]; }, u) == 59);
  CHECK(is_jacobian([](auto const& v) { return solve(A, v * v, lu{}); }, u) == 900);
  CHECK(is_jacobian([](auto const&) { return 2.0 * u; }, u) == 0);
}
TEST_CASE("jacobian: blocks, batches, several right-hand sides, axes, complex numbers and float") {
  auto const blocks = from_triplets<double>(8, 8, {0, 1, 2, 3, 5, 6, 7, 4, 0}, {1, 6, 2, 0, 5, 3, 7, 4, 5}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0});
  auto const B = to_blocks<2, 2>(blocks);
  auto const x = random<double, Extents<dyn, 2>>({4, 2}, 5);
  CHECK(is_jacobian([&](auto const& v) { return B * (v * v) - v; }, x) > 8);
  auto const many = random<double, Extents<dyn, 3>>({30, 3}, 6);
  CHECK(is_jacobian([](auto const& v) { return A * (v * v) - v; }, many) == 3 * A.nnz());
  CHECK(is_jacobian([](auto const& v) { return transpose(A) * (v * v) - v; }, many) == 3 * A.nnz());
  auto const items = to_batch<2>(A);
  auto const both = random<double, Extents<2, dyn>>({2, 30}, 7);
  CHECK(is_jacobian([&](auto const& v) { return items * (v * v); }, both) == 2 * A.nnz());
  auto const C = cast<std::complex<double>>(A);
  auto const z = random<std::complex<double>>(30, 8);
  CHECK(is_jacobian([&](auto const& v) { return C * v - std::complex<double>(0.2, 0.5) * exp(v); }, z) == A.nnz());
  CHECK_THROWS_WITH(jacobian([&](auto const& v) { return C * v + conj(v) * v; }, z), ContainsSubstring("no analytic function"));
  auto const F = cast<float>(A);
  CHECK(is_jacobian([&](auto const& v) { return F * v - exp(v); }, random<float>(30, 9)) == A.nnz());
}
TEST_CASE("jacobian: colours are as few as the longest row asks for on a grid, and no row has two of one colour") {
  auto const has_no_row_twice = [](auto const& M, column_coloring const& c) {
    REQUIRE(index_t(c.color.size()) == M.cols());
    for (index_t i = 0; i < M.rows(); ++i) {
      std::vector<int> seen(std::size_t(c.count), 0);
      M.pattern().view().for_row(i, [&](index_t, index_t j) { REQUIRE(++seen[std::size_t(c.color[std::size_t(j)])] == 1); });
    }
  };
  using enum column_order;
  CHECK(color_columns(problems::poisson<double>({40})).count == 3);
  CHECK(color_columns(problems::poisson<double>({20, 17})).count <= 7);
  std::vector<index_t> rows, cols;
  for (index_t k = 0; k < 60; ++k)
    for (index_t e = 0; e < 4; ++e) rows.push_back(k), cols.push_back((k * k + 17 * e * k + 5 * e) % 50);
  auto const R = from_triplets<double>(60, 50, rows, cols, std::vector<double>(rows.size(), 1.0));
  for (auto order : {fewest_colors, natural, largest_first, smallest_last}) {
    has_no_row_twice(R, color_columns(R, order));
    has_no_row_twice(to<Sell<>>(R), color_columns(to<Sell<>>(R), order));
    CHECK(color_columns(R, order).count >= 4);
    CHECK(color_columns(R, fewest_colors).count <= color_columns(R, natural).count);
    CHECK(color_columns(eye<double>(9), order).count == 1);
    auto const all = color_columns(sparse_tensor<double>(eye<double>(4) + from_triplets<double>(4, 4, {2, 2, 2, 2}, {0, 1, 2, 3}, {1.0, 1.0, 1.0, 1.0})), order);  // a row of all columns
    CHECK((all.count == 4 && std::set<int>(all.color.begin(), all.color.end()).size() == 4));
  }
  jacobian_plan const plan([](auto const& v) { return A * v - v * v; }, u);
  CHECK(plan.nnz() == A.nnz());
  CHECK(plan.colors() <= 8);
}
TEST_CASE("jacobian: a plan serves other u, a pattern that is given is checked, and what is not found is refused") {
  auto const f = [](auto const& v, auto const& a) { return A * v - a * exp(v); };
  jacobian_plan const plan(f, u, 0.3);
  auto J = plan(f, u, 0.3);
  auto const w = random<double>(30, 12);
  plan.update(J, f, w, 0.7);
  sparse_tensor<double> const expected = A - diagonal(eval(0.7 * exp(w)));
  CHECK(norm(J * u - expected * u) <= 1e-13);
  CHECK(norm(jacobian_plan(A)(f, w, 0.7) * u - expected * u) <= 1e-13);
  // terms that cancel leave their rounding, which is no entry
  for (index_t n : {30, 1000}) {
    auto const at = random<double>(n, 3);
    auto const check = [&](auto const& g, double expected, double off, index_t row) {
      auto const nearly = jacobian(g, at);
      CHECK(nearly.nnz() == n);
      CHECK(std::abs(nearly(4, 4) - expected) <= 1e-15);
      // a small entry that is missing is seen among them
      auto const tie = from_triplets<double>(n, n, {row}, {2}, {off});
      CHECK_THROWS_WITH(jacobian_plan(eye<double>(n))([&](auto const& v) { return g(v) + tie * v; }, at), ContainsSubstring(text("misses an entry of row ", row)));
    };
    check([](auto const& v) { return 1.0000000003 * v - v * 1.0; }, 3e-10, 1e-9, 21);
    check([](auto const& v) { return 0.1 * v + 0.2 * v - 0.3 * v + 3e-10 * v; }, 3e-10, 1e-9, n - 1);
  }
  CHECK_THROWS_WITH(jacobian_plan(eye<double>(30))(f, w, 0.7), ContainsSubstring("misses an entry of row 0") && ContainsSubstring(".pattern = P"));
  CHECK_THROWS_WITH(plan(f, random<double>(31, 1), 0.7), ContainsSubstring("30 x 30") && ContainsSubstring("31"));
  CHECK_THROWS_WITH(plan.update(J = jacobian_plan(A)(f, w, 0.7), f, w, 0.7), ContainsSubstring("another plan"));
  CHECK_THROWS_WITH(jacobian([](auto const& v) { return sqrt(v - 2.0); }, u), ContainsSubstring("element 0 of F is NaN"));
  auto const large = zeros<double>(20000);
  CHECK_THROWS_WITH(jacobian([](auto const& v) { return v + sum(v); }, large), ContainsSubstring("newton_krylov{}"));
}
