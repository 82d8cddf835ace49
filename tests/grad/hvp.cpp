// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with Hessians through explicit rules and solves: against closed forms, and by symmetry and Taylor remainders of rate 2.0 +- 0.05.
#include <sla/grad.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "suites/hessian.hpp"

namespace test_hvp {

using namespace sla;
using gradient::check_hessian;

auto const grid = eval(problems::poisson<double>({4, 3}) + 0.1 * eye<double>(12));
auto const point = random<double>(12, 1), other = random<double>(12, 2), other_pair = random<double>(24, 6);
cg const tight{.rtol = 1e-14};

TEST_CASE("the Hessian of a solve, against its closed form") {
  // f = 1/2 |A^-1 b - t|^2 + 1/3 sum of cubes: H v = A^-1 (1 + 2 y) (A^-1 v), A^-1 applied by factors
  auto const f = [](auto const& b) {
    auto const y = solve(grid, b, tight, jacobi{});
    return 0.5 * squared_norm(y - other) + sum(y * y * y) / 3.0;
  };
  auto const s = lu(grid);
  vector<double> const y = s.solve(point), exact = s.solve((1.0 + 2.0 * y) * s.solve(other));
  CHECK(norm(hvp(f, point, other) - exact) <= 1e-11 * norm(exact));
  // of a misfit that is zero the gradient is zero, and the Hessian is not
  auto const met = [&](auto const& b) { return 0.5 * squared_norm(s.solve(b) - y); };
  vector<double> const normal = s.solve(s.solve(other));
  CHECK(norm(hvp(met, point, other) - normal) <= 1e-11 * norm(normal));
}

TEST_CASE("Hessians of elementwise functions and reductions") {
  check_hessian(
      [](auto const& x) {
        auto const y = x * x / 2.0 + exp(x) - sin(x) * other + sqrt(x * x + 1.0) / (2.0 + cos(x)) + tanh(x) * pow(x * x + 0.1, 1.5) + log(2.0 + x);
        return sum(y * y) + norm(y - other) * mean(y) + x[3] * norm_inf(y) + norm1(y);
      },
      std::tie(point));
  check_hessian(
      [](auto const& x, auto const& s) {
        auto const y = apply([](auto a, auto b) { using std::exp; return b * a * exp(-a * a) / (1.0 + a * a); }, x, s);
        return sum(y * where(x > 0.1, x * x, x)) + sum(maximum(x, other) * minimum(y, s)) * pow(s, 3.0);
      },
      std::tuple<vector<double> const&, double const&>(point, 1.3));
  vector<double> const zero = 0.0 * point;
  auto const quartic = [](auto const& x) { return 0.5 * squared_norm(x * x - 0.5 * x); };  // H = 1/4 at 0, where all else vanishes
  CHECK(norm(hvp(quartic, zero, other) - 0.25 * other) <= 1e-15 * norm(other));
}

TEST_CASE("Hessians through products and the algebra of sparse tensors") {
  auto const B = problems::convection_diffusion<double>({4, 3}, {3.0, -1.0});
  check_hessian(
      [](auto const& A, auto const& x) {
        auto const y = eval(A * (x * x));
        auto const z = eval(transpose(A) * (y * x));
        return dot(z, exp(0.1 * y)) + A(3, 3) * norm(rows(A, 2, 9) * x) + sum(diagonal_of(A) * x);
      },
      std::tie(B, point));
  check_hessian(
      [](auto const& A, auto const& d) {
        auto const C = scale_rows(A * grid + 2.0 * transpose(A), d * d) + with_values(grid, exp(values(grid) * d[2]));
        return norm(C) + sum(C * point * d);
      },
      std::tie(B, other));
  check_hessian(  // put together with plain ones
      [&](auto const& A) {
        auto const C = cat_rows(A, B), D = cat_cols(B, A);
        return squared_norm(C * exp(D * other_pair)) + squared_norm(block_diagonal(B, A) * exp(block_diagonal(A, grid) * other_pair)) + sum(pow(values(cat_batch(B, A)), 3.0));
      },
      std::tie(B));
}

TEST_CASE("Hessians through solves: methods, factors, blocks and right-hand sides, of A and of b") {
  check_hessian([](auto const& k) { return 0.5 * squared_norm(solve(grid + diagonal(exp(k)), point, cholesky{}) - other) + 0.1 * squared_norm(k); }, std::tie(other));
  check_hessian(
      [](auto const& A, auto const& b) {
        auto const s = lu(A);
        auto const y = s.solve(b * b), z = s.solve_transpose(y);
        return dot(z, A * y) * y[3];
      },
      std::tie(grid, point));
  auto const blocks = to_blocks<2, 2>(grid);
  auto const X = random<double, Extents<dyn, 2, dyn>>({6, 2, 3}, 3);
  check_hessian(
      [](auto const& A, auto const& b) {
        auto const y = solve(A, b * b, tight, block_jacobi{});
        return sum(y * y * b);
      },
      std::tie(blocks, X), {.symmetry = 1e-8});
  linear_operator<double> const M(12, 12, [](std::span<double const> x, std::span<double> y) { vector<double> const t = grid * borrow(x.data(), 12); std::ranges::copy(t, y.begin()); }, self_adjoint);
  check_hessian([&](auto const& b) { return sum(pow(solve(M, b * b, tight), 3.0) * (M * b)); }, std::tie(point));
}

TEST_CASE("Hessians through complex vectors that are made of real arguments") {
  auto const turned = random<std::complex<double>>(12, 9);
  auto const mixing = eval(std::complex<double>(0.3, 1.0) * grid);
  check_hessian(
      [&](auto const& b) {
        auto const x = solve(grid, turned * exp(b), tight, jacobi{});
        return squared_norm(x * b) + 0.1 * squared_norm(mixing * x) + sum(abs(x)) + real(dot(turned, exp(x) / (2.0 + b)));
      },
      std::tie(point));
}

TEST_CASE("Hessians through equations of one's own, of one unknown and of several parts") {
  auto const linearize = [](auto const& u, auto const& A, auto const&) { return lu(eval(A + diagonal(3.0 * u * u))); };
  auto const newton = [&](auto const& A, auto const& b) {
    auto u = zeros<double>(A.rows());
    for (int n = 0; n < 12; ++n) u = u - linearize(u, A, b).solve(A * u + u * u * u - b);
    return u;
  };
  auto const cubic = [](auto const& u, auto const& A, auto const& b) { return A * u + u * u * u - b; };
  check_hessian([&](auto const& A, auto const& b) { return sum(pow(implicit(newton, cubic, linearize, A, b), 3.0)); }, std::tie(grid, point));
  struct two_roots {  // s^2 = p, t^3 = s p
    double s, t, p;
    std::tuple<double, double> solve(std::tuple<double, double> const& r) const {
      double const ds = std::get<0>(r) / (2 * s);
      return {ds, (std::get<1>(r) + p * ds) / (3 * t * t)};
    }
    std::tuple<double, double> solve_adjoint(std::tuple<double, double> const& g) const {
      double const w = std::get<1>(g) / (3 * t * t);
      return {(std::get<0>(g) + p * w) / (2 * s), w};
    }
  };
  auto const f = [](auto const& p) {
    auto [s, t] = implicit([](double q) { return std::tuple(std::sqrt(q), std::cbrt(std::sqrt(q) * q)); }, [](auto const& a, auto const& b, auto const& q) { return std::tuple(a * a - q, b * b * b - a * q); },
                           [](double a, double b, double q) { return two_roots{a, b, q}; }, p);
    return s * t * t;  // p^(1/2 + 1)
  };
  CHECK(hvp(f, 2.0, 1.5) == Approx(1.5 * 0.75 / std::sqrt(2.0)).epsilon(1e-12));
}

TEST_CASE("a direction has the extents and the pattern of its argument") {
  auto const f = [](auto const& x) { return squared_norm(x); };
  CHECK_THROWS_WITH(hvp(f, point, ones<double>(11)), Catch::Matchers::ContainsSubstring("the direction of argument 0"));
  auto const [to_A, to_x] = hvp([](auto const& A, auto const& x) { return dot(x, A * x); }, std::tie(grid, point), std::tuple(eval(0.0 * grid), other));
  CHECK(to_A.shared_pattern() == grid.shared_pattern());
  CHECK(norm(to_x - 2.0 * (grid * other)) <= 1e-14 * norm(to_x));
}

} // namespace test_hvp
