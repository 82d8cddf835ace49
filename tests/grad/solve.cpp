// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients through solves, on real matrices: Taylor remainders of rate 2.0 +- 0.05 over four halvings, with symmetric
// perturbations for methods that want symmetric matrices; one set-up; failures that are errors.
#include <sla/grad.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/precond/jacobi.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "suites/gradient.hpp"

using namespace sla;
using gradient::direction;
using gradient::taylor_rate;

namespace {
/// SPD, of condition 1e4, with entries of size one.
sparse_tensor<double> stiffness() {
  auto A = read_matrix_market<double>(data("nos5.mtx"));
  return A / double(norm_inf(values(A)));
}
cg const tight{.rtol = 1e-11};
}  // namespace

TEST_CASE("a conjugate gradient solve, to b and to the values of A") {
  auto const A = stiffness();
  auto const b = random<double>(A.rows(), 1), target = random<double>(A.rows(), 2);
  auto const misfit = [&](auto const& B, auto const& c) {
    auto const x = solve(B, c, tight, jacobi{});
    return 0.5 * squared_norm(x - target) / 1e4;
  };
  auto const [value, gA, gb] = value_and_gradient(misfit, A, b);
  CHECK(value == Approx(double(misfit(A, b))).epsilon(1e-10));
  CHECK(gA.shared_pattern() == A.shared_pattern());
  CHECK(taylor_rate([&](auto const& c) { return misfit(A, c); }, b, gb, random<double>(A.rows(), 3), 0.5) == Approx(2).margin(0.05));
  CHECK(taylor_rate([&](auto const& B) { return misfit(B, b); }, A, gA, direction(A, 4, true), 1e-5) == Approx(2).margin(0.05));
}

TEST_CASE("a function that returns the squared norm of its own solution: plain, traced and checked") {
  auto const A = problems::poisson<double>({40});
  auto const b = random<double>(40, 1);
  auto const of_A = [&](auto const& M) {
    auto const u = solve(M, b, cg{.rtol = 1e-13}, jacobi{});
    return squared_norm(u);
  };
  auto const of_both = [](auto const& M, auto const& c) {
    auto const u = solve(M, c, cg{.rtol = 1e-13}, jacobi{});
    return dot(u, u);
  };
  static_assert(std::same_as<decltype(of_A(A)), double>);
  auto const u = solve(A, b, cg{.rtol = 1e-13}, jacobi{});
  double expected = 0;
  for (double v : u) expected += v * v;
  CHECK(of_A(A) == Approx(expected).epsilon(1e-12));
  CHECK(std::get<0>(value_and_gradient(of_A, A)) == of_A(A));
  CHECK(std::get<0>(value_and_gradient(of_both, A, b)) == of_both(A, b));
  CHECK(check_gradient(of_A, std::tie(A), {.out = nullptr}).outcome == gradient_outcome::right);
  CHECK(check_gradient(of_both, std::tie(A, b), {.out = nullptr}).outcome == gradient_outcome::right);
}

TEST_CASE("prepare inside of the function: one set-up for the value and the gradient, one entry per solve") {
  auto const A = stiffness();
  auto const b = random<double>(A.rows(), 1);
  int setups = 0;
  std::size_t entries = 0;
  auto const f = [&](auto const& B, auto const& c) {
    auto const s = prepare(B, tight, jacobi{});
    auto const x = s.solve(c);
    auto const y = s.solve(x);
    if constexpr (requires { y.home(); }) {
      setups = s.setups();
      entries = y.home().operations();
    }
    return dot(y, y) * 1e-8;
  };
  auto const [value, gA, gb] = value_and_gradient(f, A, b);
  CHECK((setups == 1 && entries == 2));
  CHECK(taylor_rate([&](auto const& c) { return f(A, c); }, b, gb, random<double>(A.rows(), 3), 0.5) == Approx(2).margin(0.05));
  CHECK(taylor_rate([&](auto const& B) { return f(B, b); }, A, gA, direction(A, 4, true), 1e-5) == Approx(2).margin(0.05));
}

TEST_CASE("a matrix that a method wants Hermitian is its own adjoint, and the tape shares its values: the gradient takes little memory") {
  auto const A = problems::poisson<double>({500, 500});
  auto const b = random<double>(A.rows(), 1), target = random<double>(A.rows(), 2);
  constexpr double MiB = 1 << 20;
  CHECK(double(A.bytes()) / MiB == Approx(15.2).margin(0.05));
  auto const peak_of = [&](auto const& preconditioner) {
    memory_peak_reset();
    auto const before = memory_in_use().now;
    auto const gradients = value_and_gradient([&](auto const& B, auto const& c) { return squared_norm(solve(B, c, cg{.rtol = 0.7}, preconditioner) - target); }, A, b);
    CHECK(std::get<1>(gradients).shared_pattern() == A.shared_pattern());
    return double(memory_in_use().peak - before) / MiB;
  };
  CHECK(peak_of(jacobi{}) <= 25.0);  // gA, gb, and six vectors at a time
  CHECK(peak_of(identity{}) <= 25.0);
}

TEST_CASE("where it is not Hermitian after all, its adjoint is stored, and the residual is that of the adjoint") {
  auto A = problems::poisson<double>({9, 8});
  auto const b = random<double>(A.rows(), 1), w = random<double>(A.rows(), 2);
  for (double const skew : {0.0, 1e-7}) {
    A.values()[find_slot(A.pattern().view(), 3, 4)] = -1.0 - skew;
    auto const s = prepare(A, tight, jacobi{});
    CHECK(double(norm(b - adjoint(A) * s.solve_adjoint(b))) <= 2e-11 * double(norm(b)));
    auto const [value, gA, gb] = value_and_gradient([&](auto const& B, auto const& c) { return dot(w, solve(B, c, tight, jacobi{})); }, A, b);
    CHECK(double(norm(w - adjoint(A) * gb)) <= 2e-11 * double(norm(w)));
  }
}

TEST_CASE("a traced prepared solver that was moved from says so") {
  auto const A = stiffness();
  auto const b = random<double>(A.rows(), 1);
  auto const f = [](auto const& B, auto const& c) {
    auto s = prepare(B, tight, jacobi{});
    auto const now = std::move(s);
    auto const x = now.solve(c), y = s.solve(c);
    return dot(x, y);
  };
  CHECK_THROWS_WITH(value_and_gradient(f, A, b), Catch::Matchers::ContainsSubstring("a prepared solver was moved from"));
}

TEST_CASE("a constant operator prepared outside, or as a local: the tape shares its set-up") {
  auto const A = stiffness();
  auto const b = random<double>(A.rows(), 1), w = random<double>(A.rows(), 2);
  auto const outside = prepare(A, tight, jacobi{});
  auto const before = memory_in_use().now;
  std::size_t during = 0;
  auto const [value, gb] = value_and_gradient(
      [&](auto const& c) {
        auto const x = outside.solve(c);
        auto const y = outside.solve_transpose(c);
        auto const z = outside.solve_adjoint(2 * c);
        during = memory_in_use().now - before;
        auto const local = prepare(A, tight, jacobi{});
        return dot(w, x + y + z + local.solve(c) + solve(A, c, tight, jacobi{}));
      },
      b);
  auto const expected = eval(6.0 * outside.solve(w));
  CHECK(double(norm(gb - expected)) < 1e-8 * double(norm(expected)));
  CHECK(during < A.values().bytes() * 2 + 5 * std::size_t(A.rows()) * sizeof(double));  // the stored adjoint, x, y, z
}

TEST_CASE("new values for a prepared operator: solves that are recorded keep the old ones") {
  auto const A = stiffness();
  auto const b = random<double>(A.rows(), 1), w = random<double>(A.rows(), 2);
  auto s = prepare(A, tight, jacobi{});
  auto const original = s;  // shares what is set up, until one is updated
  auto const [value, gb] = value_and_gradient(
      [&](auto const& c) {
        auto const x = s.solve(c);
        s.update(2.0 * A);
        return dot(w, x + s.solve(c));
      },
      b);
  CHECK((s.setups() == 2 && original.setups() == 1));
  auto const expected = eval(1.5 * original.solve(w));
  CHECK(double(norm(gb - expected)) < 1e-8 * double(norm(expected)));
}

TEST_CASE("vjp of a solve without a tape") {
  auto const A = stiffness();
  auto const b = random<double>(A.rows(), 1), w = random<double>(A.rows(), 2);
  auto const s = prepare(A, tight, jacobi{});
  auto const x = s.solve(b);
  auto const [gA, gb] = vjp(op::solve{}, s, x, w);
  auto const [value, tA, tb] = value_and_gradient([&](auto const& B, auto const& c) { return dot(w, prepare(B, tight, jacobi{}).solve(c)); }, A, b);
  CHECK(double(norm(values(gA) - values(tA))) <= 1e-12 * double(norm(values(gA))));
  CHECK(double(norm(gb - tb)) <= 1e-12 * double(norm(gb)));
}

TEST_CASE("a failed adjoint solve is an error, never a zero gradient") {
  auto const A = stiffness();
  auto const b = random<double>(A.rows(), 1), w = random<double>(A.rows(), 2);
  auto const x0 = solve(A, b, tight, jacobi{});
  // the forward solve begins at its solution; the adjoint one has 3 iterations for all
  auto const brief = [&](auto const& c) { return dot(w, solve(A, c, cg{.rtol = 1e-10, .max_iterations = 3}, jacobi{}, initial_guess(x0))); };
  CHECK_NOTHROW(double(brief(b)));
  CHECK_THROWS_AS(value_and_gradient(brief, b), solve_error);
  // and so is the gradient of a solve that did not converge, though try_solve tolerates its value
  auto const tried = [&](auto const& c) {
    auto const [x, report] = try_solve(A, c, cg{.max_iterations = 3}, jacobi{});
    CHECK(!report.converged());
    return dot(w, x);
  };
  CHECK_THROWS_AS(value_and_gradient(tried, b), solve_error);
  CHECK_THROWS_AS(value_and_gradient([&](auto const& c) { return dot(w, solve(A, c, cg{.max_iterations = 3}, jacobi{})); }, b), solve_error);
}

TEST_CASE("the gradient goes through a solve with b = 0 that begins elsewhere") {
  auto const A = stiffness();
  auto const w = random<double>(A.rows(), 2), x0 = random<double>(A.rows(), 3);
  auto const weighed = [&](auto const& c) { return dot(w, solve(A, c, tight, jacobi{}, initial_guess(x0))); };
  auto const [value, gradient] = value_and_gradient(weighed, zeros<double>(A.rows()));
  CHECK(value == 0);
  CHECK(double(norm(gradient - solve(A, w, tight, jacobi{}))) <= 1e-6 * double(norm(gradient)));
}

TEST_CASE("an update of a traced prepared solver that throws leaves it as it was, in both modes") {
  auto const A = stiffness();
  auto const b = random<double>(A.rows(), 1);
  auto const f = [&](auto const& B) {
    auto s = prepare(1.0 * B, tight, jacobi{});
    CHECK_THROWS_AS(s.update(0.0 * B), value_error);
    CHECK(s.setups() == 1);
    return dot(b, s.solve(b));
  };
  auto const g = [&](auto const& B) { return dot(b, solve(B, b, tight, jacobi{})); };
  auto const [value, gA] = value_and_gradient(f, A);
  auto const [same, hA] = value_and_gradient(g, A);
  CHECK(value == Approx(same));
  CHECK(norm(values(gA) - values(hA)) <= 1e-10 * norm(values(hA)));
  CHECK(std::get<1>(jvp(f, std::tie(A), std::tie(A))) == Approx(std::get<1>(jvp(g, std::tie(A), std::tie(A)))));
}

namespace {
/// The x of least norm with A x = b: conjugate gradients for A A^H w = b, x = A^H w (Craig 1955).
struct least_norm {
  double rtol = 1e-12, atol = 0;
  int max_iterations = 100;
  observer watch = {};
  using method_tag = void;
  static constexpr char const* name = "least norm";
  static constexpr bool needs_square = false;

  template <class S, class M, class N, class V, class X, class MakeStop>
  static auto run(S& space, M const& a, N const&, V const& b, X& x, MakeStop make_stop) {
    using T = typename V::value_type;
    auto r = space.template like<T>(b);
    auto p = space.template like<T>(x);
    auto [rr, bb] = fuse(space, set(r, b - a * x), set(p, adjoint(a) * r), squared_norm_of(r), squared_norm_of(b));
    auto stop = make_stop(space, bb);
    while (stop.go_on(rr)) {
      auto [pp] = fuse(space, squared_norm_of(p));
      auto alpha = stop.ratio(rr, pp, reason::breakdown);
      auto [now] = fuse(space, set(x, x + alpha * p), set(r, r - alpha * (a * p)), squared_norm_of(r));
      auto beta = stop.ratio(now, rr, reason::breakdown);
      fuse(space, set(p, adjoint(a) * r + beta * p));
      rr = now;
    }
    return stop.outcome();
  }
};
}  // namespace

TEST_CASE("a method that takes rectangular matrices has the derivatives of square ones, and says so of others") {
  auto const A = problems::convection_diffusion<double>({3, 3}, {1.0, 2.0});
  auto const b = random<double>(A.rows(), 1), w = random<double>(A.rows(), 2);
  auto const by = [&](auto const& method) { return value_and_gradient([&](auto const& B, auto const& c) { return dot(w, solve(B, c, method)); }, A, b); };
  auto const [value, gA, gb] = by(least_norm{});
  auto const [same, hA, hb] = by(lu{});
  CHECK(norm(values(gA) - values(hA)) <= 1e-8 * norm(values(hA)));
  CHECK(norm(gb - hb) <= 1e-8 * norm(hb));

  auto const wide = eval(rows(A, 0, 5));
  vector<double> const five = random<double>(5, 3);
  CHECK(norm(five - wide * solve(wide, five, least_norm{})) <= 1e-11);
  auto const f = [&](auto const& B) { return dot(w, solve(B, five, least_norm{})); };
  CHECK_THROWS_AS(jvp(f, std::tie(wide), std::tie(wide)), shape_error);
  CHECK_THROWS_WITH(value_and_gradient(f, wide), Catch::Matchers::ContainsSubstring("must be square"));
}
