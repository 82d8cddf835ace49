// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Methods whose operators need not be square: a toy method for least squares on every space of the host, judged by A^H r; what is
// still said of square ones.
#include <complex>

#include <sla/krylov.hpp>
#include <sla/exec/deferred.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/build/sell.hpp>
#include <sla/tensor/files/matrix_market.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/dense_least_squares.hpp"
#include "suites/least_squares.hpp"

namespace test_least_squares {

using Catch::Matchers::ContainsSubstring;
using namespace sla;
using suite::by_orthogonal_factors;
using suite::cgls;
using suite::rectangular;

namespace {
/// Says what it need not of A.
struct hermitian_cgls : cgls {
  static constexpr bool needs_hermitian = true;
};
/// A class of a user's, with its adjoint.
struct own_operator {
  using value_type = double;
  using linear_operator_tag = void;
  linear_operator<double> inner;

  index_t rows() const { return inner.rows(); }
  index_t cols() const { return inner.cols(); }
  linear_operator<double> adjoint() const { return inner.adjoint(); }
};
template <Tensorial X>
auto operator*(own_operator const& a, X const& x) {
  return a.inner * x;
}
} // namespace

TEST_CASE("a toy method for least squares runs wherever methods do, and is judged by A^H r") {
  auto const check = [](auto const& A) {
    using T = typename std::remove_cvref_t<decltype(A)>::value_type;
    auto const b = random<T>(A.rows(), 5);
    auto const expected = by_orthogonal_factors(A, b);
    auto const [x, report] = try_solve(A, b, cgls{.rtol = 1e-11});
    INFO(report);
    CHECK(report.converged());
    CHECK(x.size() == A.cols());
    CHECK(report.residual() == Approx(norm(adjoint(A) * (b - A * x)) / norm(adjoint(A) * b)).margin(1e-12));
    CHECK(norm(x - expected) <= 1e-9 * norm(expected));
    for (int lag : {0, 4, 32}) {
      auto const late = try_solve(A, b, cgls{.rtol = 1e-11}, on([&](frame f) { return deferred(f, lag); }));
      CHECK(late.report.converged());
      CHECK(late.report.iterations() == report.iterations());
      CHECK(norm_inf(late.x - x) == 0);
    }
    CHECK(norm(solve(to<Sell<>>(A), b, cgls{.rtol = 1e-11}) - expected) <= 1e-9 * norm(expected));
    CHECK(norm(solve(to<Dia>(A), b, cgls{.rtol = 1e-11}) - expected) <= 1e-9 * norm(expected));
    CHECK(try_solve(A, b, cgls{.rtol = 1e-11}, initial_guess(x)).report.iterations() <= 1);
    CHECK_THROWS_WITH(solve(A, b, cgls{}, initial_guess(vector<T>(A.cols() + 1))), ContainsSubstring("x0 is"));
    auto const K = with_adjoint(A);
    CHECK(norm(solve(K, b, cgls{.rtol = 1e-11}) - expected) <= 1e-9 * norm(expected));
    CHECK(norm(solve(K, b, cgls{.rtol = 1e-11}, on([](frame f) { return deferred(f, 4); })) - expected) <= 1e-9 * norm(expected));
    auto const prepared = prepare(A, cgls{.rtol = 1e-11});
    CHECK(norm_inf(prepared.solve(b) - x) == 0);
    auto const g = random<T>(A.cols(), 6);
    auto const back = prepared.solve_adjoint(g);
    CHECK(back.size() == A.rows());
    CHECK(std::abs(dot(back, b) - dot(g, x)) <= 1e-8 * norm(back) * norm(b));  // the adjoint of x(b)
  };
  check(rectangular<double>(60, 25));
  check(rectangular<double>(25, 60));  // the shortest x
  check(rectangular<double>(30, 30));
  check(rectangular<std::complex<double>>(60, 25));
}

TEST_CASE("least squares of many right-hand sides stop each for itself, and of a real matrix") {
  auto const A = rectangular<double>(60, 25);
  auto B = tensor<double, Extents<dyn, dyn>>(Extents<dyn, dyn>(60, 3));
  auto const one = random<double>(60, 1), two = random<double>(60, 2);
  for (index_t i = 0; i < 60; ++i) B(i, 0) = one[i], B(i, 1) = 0, B(i, 2) = 1e6 * two[i];
  auto const [x, report] = try_solve(A, B, cgls{});
  CHECK(report.converged());
  CHECK(report.items.size() == 3);
  CHECK(report.items[1].iterations == 0);
  auto const first = by_orthogonal_factors(A, one), last = by_orthogonal_factors(A, vector<double>(1e6 * two));
  for (index_t j = 0; j < 25; ++j) CHECK((std::abs(x(j, 0) - first[j]) <= 1e-8 && x(j, 1) == 0 && std::abs(x(j, 2) - last[j]) <= 1e-2));

  auto const well = read_matrix_market<double>(SLA_TEST_DATA "/well1850.mtx");
  auto const b = random<double>(well.rows(), 1);
  auto const found = try_solve(well, b, cgls{.rtol = 1e-9});
  INFO(found.report);
  CHECK(found.report.converged());
  CHECK_THAT(text(found.report), ContainsSubstring("true residual of A^H A x = A^H b") && ContainsSubstring("asked 1e-09"));
  CHECK(norm(adjoint(well) * (b - well * found.x)) <= 1.01e-9 * norm(adjoint(well) * b));
}

TEST_CASE("least squares of batches, of blocks, and of extents that the types know") {
  auto const one = rectangular<double>(60, 24), two = rectangular<double>(60, 24);
  auto const both = stack_batch(one, -2.0 * two);
  auto const b = random<double, Extents<dyn, dyn>>({2, 60}, 4);
  auto const x = solve(both, b, cgls{});
  for (index_t k = 0; k < 2; ++k) {
    vector<double> right(60);
    for (index_t i = 0; i < 60; ++i) right[i] = b(k, i);
    auto const expected = by_orthogonal_factors(k ? eval(-2.0 * two) : one, right);
    for (index_t j = 0; j < 24; ++j) CHECK(x(k, j) == Approx(expected[j]).margin(1e-8));
  }
  auto const blocks = to_blocks<3, 4>(one);
  auto const c = random<double>(60, 7);
  auto c_blocks = tensor<double, range_extents_t<decltype(blocks)::shape_type>>(blocks.range());
  std::copy(c.begin(), c.end(), c_blocks.data());
  auto const y = solve(blocks, c_blocks, cgls{});
  auto const expected = by_orthogonal_factors(one, c);
  for (index_t j = 0; j < 24; ++j) CHECK(y[j] == Approx(expected[j]).margin(1e-8));
  using Known = Shape<Batch<>, 60, 24, Block<>>;
  sparse_tensor<double, Known> const known(Known(), one.shared_pattern(), one.values());
  auto const z = solve(known, c, cgls{});
  static_assert(std::same_as<decltype(z), tensor<double, Extents<24>> const>);
  for (index_t j = 0; j < 24; ++j) CHECK(z[j] == Approx(expected[j]).margin(1e-8));
}

TEST_CASE("the adjoint of a matrix of any sides is made, whatever else its method wants of it") {
  auto const A = problems::poisson<double>({6, 6});
  auto const b = random<double>(36, 1);
  auto const prepared = prepare(A, hermitian_cgls{});
  CHECK(norm(A * prepared.solve_adjoint(b) - b) <= 1e-8 * norm(b));
}

TEST_CASE("methods for square operators still say so") {
  auto const well = read_matrix_market<double>(SLA_TEST_DATA "/well1850.mtx");
  CHECK_THROWS_WITH(prepare(well, cg{}), ContainsSubstring("A is 1850 x 712, and must be square"));
  CHECK_THROWS_WITH(solve(well, ones<double>(1850), gmres{}), ContainsSubstring("A is 1850 x 712, and must be square"));
  auto const apply = [&](std::span<double const> x, std::span<double> y) {
    vector<double> const image = well * borrow(x.data(), index_t(x.size()));
    std::copy(image.data(), image.data() + image.size(), y.data());
  };
  auto const apply_adjoint = [&](std::span<double const> x, std::span<double> y) {
    vector<double> const image = adjoint(well) * borrow(x.data(), index_t(x.size()));
    std::copy(image.data(), image.data() + image.size(), y.data());
  };
  auto const b = random<double>(1850, 1);
  linear_operator<double> const one_way(1850, 712, apply), both_ways(1850, 712, apply, apply_adjoint);
  CHECK_THROWS_WITH(solve(one_way, b, cg{}), ContainsSubstring("1850 x 712, and must be square"));
  CHECK_THROWS_WITH(solve(one_way, b, cgls{}), ContainsSubstring("made without its adjoint"));
  auto const x = solve(both_ways, b, cgls{.rtol = 1e-9});
  CHECK(norm_inf(solve(own_operator{both_ways}, b, cgls{.rtol = 1e-9}) - x) == 0);
  CHECK(norm(adjoint(well) * (b - well * x)) <= 1.01e-9 * norm(adjoint(well) * b));
}

} // namespace test_least_squares
