// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nonlinear systems, with bounds and in time, eigenpairs, singular triplets, least squares and estimates of determinants on queues of any lag, by every method,
// and their derivatives there: what the host finds.
#include <sla/determinant.hpp>
#include <sla/eigenvalues.hpp>
#include <sla/integrate.hpp>
#include <sla/least_squares.hpp>
#include <sla/nonlinear.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/queues.hpp"

namespace test_equations_on_queues {

using namespace sla;
using suite::check_lags;

namespace {
auto const A = eval(problems::poisson<double>({6, 5}) + diagonal(random<double>(30, 2)));
auto const C = problems::convection_diffusion<double>({6, 5}, {0.8, 0.3});
auto const tall = cat_rows(A, C);
vector<double> const cat_rhs = random<double>(60, 7), b = 1.0 + random<double>(30, 4);
auto const start = zeros<double>(30);
auto const cubic = [](auto const& u, auto const& K, auto const& f) { return K * u + 0.3 * (u * u * u) - f; };
auto const x_of = [](auto const& r) { return std::tie(r.x); };
auto const pairs_of = [](auto const& r) { return std::tie(r.values, r.vectors); };
auto const all_of = [](auto const& r) -> auto const& { return r; };
} // namespace

TEST_CASE("nonlinear systems, with bounds and in time are the same on a queue of any lag, by every method") {
  auto const nonlinear = [](auto const&... method) {
    check_lags([&](auto const&... queue) { return nonlinear_solve(cubic, start, method..., queue..., C, b); }, x_of, 1e-9);
  };
  for (auto step : {step_control::full, step_control::line_search, step_control::trust_region}) nonlinear(newton{.rtol = 1e-12, .step = step});
  nonlinear(newton{.rtol = 1e-12}, bicgstab{.rtol = 1e-12}, ilu0{});
  nonlinear(newton_krylov{.rtol = 1e-12});
  nonlinear(newton_krylov{.rtol = 1e-12, .precondition = jacobi{}});
  nonlinear(anderson{.rtol = 1e-12, .precondition = ilu0{}});
  nonlinear(picard{.rtol = 1e-12, .max_iterations = 5000, .damping = 0.5, .precondition = ilu0{}});
  nonlinear(pseudo_transient{.rtol = 1e-12});
  auto const bounded = [](auto const&... method) {
    check_lags([&](auto const&... queue) { return solve_bounded(cubic, start, lower{0.2}, upper{0.9}, method..., queue..., A, b); }, x_of, 1e-9);
  };
  bounded(semismooth_newton{.rtol = 1e-12}, lu{});
  bounded(active_set{.rtol = 1e-12});
  bounded();
  auto const rate = [](auto const& u, double t, auto const& K, auto const& f) { return (1.0 + t) * f - K * u - u * u * u; };
  auto const M = diagonal(eval(2.0 + random<double>(30, 5)));
  auto const in_time = [&](auto const&... method) {
    check_lags([&](auto const&... queue) { return integrate(rate, b, {0.0, 0.1, 0.3}, method..., queue..., C, b); }, [](auto const& r) { return std::tie(r.x, r.states); }, 1e-10);
  };
  in_time(theta{.implicitness = 0.5, .steps = 3, .rtol = 1e-13});
  in_time(theta{.implicitness = 0, .steps = 3, .rtol = 1e-13}, mass(M), cg{.rtol = 1e-14}, jacobi{});
  in_time(bdf2{.steps = 3, .rtol = 1e-13}, mass(M));
}

TEST_CASE("eigenpairs, singular triplets, least squares and estimates are the same on a queue of any lag, by every method and choice") {
  auto const B = diagonal(eval(2.0 + random<double>(30, 6)));
  auto const triplets_of = [](auto const& r) { return std::tie(r.values, r.left, r.right); };
  check_lags([](auto const&... queue) { return eigsh(A, 2, smallest{}, queue...); }, pairs_of, 1e-8);
  check_lags([&](auto const&... queue) { return eigsh(A, B, 2, largest{}, lobpcg{.rtol = 1e-12}, queue...); }, pairs_of);
  check_lags([&](auto const&... queue) { return eigsh(A, B, 2, near{1.0}, lanczos{.rtol = 1e-12}, queue...); }, pairs_of);
  check_lags([&](auto const&... queue) { return eigsh(A, B, 2, largest_magnitude{}, dense_eigen{}, queue...); }, pairs_of);
  check_lags([&](auto const&... queue) { return eigs(C, 3, largest{}, left_vectors, queue...); }, [](auto const& r) { return std::tie(r.values, r.vectors, r.left); }, 1e-8);
  check_lags([](auto const&... queue) { return svds(tall, 2, smallest{}, queue...); }, triplets_of, 1e-8);
  for (double d : {0.0, 0.4}) {
    auto const least = [&](auto const& method) { check_lags([&](auto const&... queue) { return try_least_squares(tall, cat_rhs, method, damping(d), queue...); }, x_of, 1e-9); };
    least(lsmr{.rtol = 1e-13});
    least(lsqr{.rtol = 1e-13});
    least(cgls{.rtol = 1e-13});
    least(dense_qr{});
  }
  check_lags([](auto const&... queue) { return try_least_squares(tall, cat_rhs, lsmr{.rtol = 1e-13}, jacobi{}, queue...); }, x_of, 1e-9);
  check_lags([](auto const&... queue) { return try_least_squares(tall, cat_rhs, queue...); }, x_of, 1e-9);
  check_lags([](auto const&... queue) { return logdet(A, stochastic_lanczos{.probes = 8}, queue...); }, [](auto const& r) { return std::tie(r.value, r.error); }, 1e-9);
}

TEST_CASE("derivatives are the same on a queue of any lag") {
  auto const check = [](auto const& f, auto const&... x) {
    check_lags([&](auto const&... queue) { return value_and_gradient([&](auto const&... y) { return f(std::tie(queue...), y...); }, x...); }, all_of, 1e-7);
  };
  auto const with = [](auto const& queue, auto const& call) { return std::apply(call, queue); };
  check([&](auto const& queue, auto const& K, auto const& f) {
    return with(queue, [&](auto const&... q) { return squared_norm(nonlinear_solve(cubic, start, newton_krylov{.rtol = 1e-12}, q..., K, f).x); });
  }, C, b);
  check([&](auto const& queue, auto const& K, auto const& f) {
    return with(queue, [&](auto const&... q) { return squared_norm(solve_bounded(cubic, start, lower{0.2}, upper{0.9}, semismooth_newton{.rtol = 1e-12}, q..., K, f).x); });
  }, A, b);
  check([&](auto const& queue, auto const& K, auto const& u0) {
    return with(queue, [&](auto const&... q) { return squared_norm(integrate([](auto const& u, double, auto const& k) { return b - k * u; }, u0, {0.0, 0.2}, bdf2{.steps = 3}, q..., K).x); });
  }, C, b);
  check([&](auto const& queue, auto const& a) {
    return with(queue, [&](auto const&... q) { auto const p = eigsh(a, 2, smallest{}, lobpcg{.rtol = 1e-12}, jacobi{}, q...); return p.values[1] + dot(b, column(p.vectors, 0)); });
  }, A);
  check([&](auto const& queue, auto const& a) { return with(queue, [&](auto const&... q) { return svds(a, 2, largest{}, golub_kahan{.rtol = 1e-12}, q...).values[1]; }); }, tall);
  check([&](auto const& queue, auto const& a, auto const& r) { return with(queue, [&](auto const&... q) { return squared_norm(least_squares(a, r, lsmr{.rtol = 1e-13}, damping(0.4), q...)); }); }, tall, cat_rhs);
  check([&](auto const& queue, auto const& a) { return with(queue, [&](auto const&... q) { return logdet(a, stochastic_lanczos{.probes = 8}, q...).value; }); }, A);
}

} // namespace test_equations_on_queues
