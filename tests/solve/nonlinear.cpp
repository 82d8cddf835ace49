// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nonlinear systems by every method: against closed forms, the test functions of More, Garbow and Hillstrom (1981), and each other.
#include <numeric>

#include <sla/nonlinear.hpp>

#include "catch.hpp"

using namespace sla;
using Catch::Matchers::ContainsSubstring;

namespace {
/// -u'' = lambda exp(u) on n inner points of (0, 1).
struct bratu {
  index_t n;
  sparse_tensor<double> A = problems::poisson<double>({n});
  template <class U, class L>
  auto operator()(U const& u, L const& lambda) const {
    return A * u - (lambda / double((n + 1) * (n + 1))) * exp(u);
  }
  /// The lower solution: -2 log(cosh((x - 1/2) theta / 2) / cosh(theta / 4)), theta = sqrt(2 lambda) cosh(theta / 4).
  vector<double> exact(double lambda) const {
    double theta = 0;
    for (int k = 0; k < 500; ++k) theta = std::sqrt(2 * lambda) * std::cosh(theta / 4);
    vector<double> u(n);
    for (index_t i = 0; i < n; ++i) u[i] = -2 * std::log(std::cosh((double(i + 1) / double(n + 1) - 0.5) * theta / 2) / std::cosh(theta / 4));
    return u;
  }
};
/// The shifts (i, i + offset) of n rows.
sparse_tensor<double> shift(index_t n, index_t offset, double value) {
  triplets<double> t(n, n);
  for (index_t i = 0; i < n; ++i)
    if (i + offset >= 0 && i + offset < n) t.add(i, i + offset, value);
  return t.build();
}
/// The residual is that of x, and the tolerance is reached.
template <class F, class S>
void is_solution(F const& f, S const& s) {
  INFO(s.report);
  CHECK(s.report.converged());
  CHECK(double(norm(f(s.x))) == Approx(s.report.residual()).epsilon(1e-12).margin(1e-300));
  CHECK(s.report.residual() <= (std::max)(s.report.rtol * s.report.first_residual, s.report.atol));
  CHECK(s.report.history.size() == std::size_t(s.report.iterations()) + 1);
}
constexpr step_control all_steps[] = {step_control::full, step_control::line_search, step_control::trust_region};
} // namespace

TEST_CASE("newton solves Bratu's problem to second order of the mesh, and converges quadratically") {
  double last = 0;
  for (index_t n : {19, 39, 79}) {
    bratu const f{n};
    auto const s = nonlinear_solve(f, zeros<double>(n), newton{.rtol = 1e-10}, 2.0);
    is_solution([&](auto const& u) { return f(u, 2.0); }, s);
    double const error = norm_inf(s.x - f.exact(2.0));
    if (last > 0) CHECK(last / error == Approx(4).epsilon(0.02));
    last = error;
    CHECK(s.report.iterations() <= 5);
    auto const& r = s.report.history;
    CHECK(r[3] / r[2] <= 10 * r[2] / r[1] * r[2] / r[1]);
  }
}
TEST_CASE("newton solves Broyden's tridiagonal and banded functions and Rosenbrock's, by all kinds of steps") {
  index_t const n = 60;
  auto const L = shift(n, -1, 1.0), U = shift(n, 1, 2.0);
  auto const tridiagonal = [&](auto const& x) { return (3.0 - 2.0 * x) * x - L * x - U * x + 1.0; };
  sparse_tensor<double> band = shift(n, 1, 1.0);
  for (index_t k = 1; k <= 5; ++k) band = band + shift(n, -k, 1.0);
  auto const banded = [&](auto const& x) { return x * (2.0 + 5.0 * x * x) + 1.0 - band * (x * (1.0 + x)); };
  std::vector<index_t> odd, even, half;
  for (index_t i = 0; i < n / 2; ++i) odd.push_back(2 * i), even.push_back(2 * i + 1), half.push_back(i);
  std::vector<double> const one(odd.size(), 1.0);
  auto const O = from_triplets<double>(n / 2, n, half, odd, one), E = from_triplets<double>(n / 2, n, half, even, one);
  auto const OT = eval(transpose(O)), ET = eval(transpose(E));
  auto const rosenbrock = [&](auto const& x) { return OT * (10.0 * (E * x - (O * x) * (O * x))) + ET * (1.0 - O * x); };
  for (auto step : all_steps) {
    auto const t = nonlinear_solve(tridiagonal, full<double>(n, -1.0), newton{.rtol = 1e-12, .step = step});
    is_solution(tridiagonal, t);
    CHECK(t.report.iterations() <= 7);
    CHECK_THAT(text(t.report), ContainsSubstring("in 3 colours, pattern found"));
    is_solution(banded, nonlinear_solve(banded, full<double>(n, -1.0), newton{.rtol = 1e-12, .step = step}));
    auto const s = nonlinear_solve(rosenbrock, eval(OT * full<double>(n / 2, -1.2) + ET * ones<double>(n / 2)), newton{.rtol = 1e-12, .step = step});
    is_solution(rosenbrock, s);
    CHECK(norm_inf(s.x - 1.0) <= 1e-11);
    CHECK(s.report.iterations() <= 40);
  }
  auto const B = nonlinear_solve(banded, full<double>(n, -1.0), newton{.rtol = 1e-12}).x;
  is_solution(banded, nonlinear_solve(banded, full<double>(n, -1.0), newton_krylov{.rtol = 1e-12}));
  CHECK(norm(nonlinear_solve(banded, full<double>(n, -1.0), anderson{.rtol = 1e-12, .damping = 0.1}).x - B) <= 1e-9);
}
TEST_CASE("methods without Jacobians reach the solution of newton: newton_krylov, anderson, picard, with preconditioners and without") {
  bratu const of{40};
  auto const f = [&](auto const& u) { return of(u, 1.0); };
  auto const start = zeros<double>(40);
  auto const u = nonlinear_solve(f, start, newton{.rtol = 1e-13}).x;
  auto const check = [&](auto const& method) {
    auto const s = nonlinear_solve(f, start, method);
    is_solution(f, s);
    CHECK(norm(s.x - u) <= 1e-6 * norm(u));
    auto const again = nonlinear_solve(f, s.x, method);  // a part of a residual that is small already
    CHECK(again.report.residual() <= 1e-14);
    CHECK(norm(of(again.x, 1.0)) == Approx(again.report.residual()));
    return s.report;
  };
  CHECK(check(newton_krylov{.rtol = 1e-10, .restart = 31}).jacobians == 0);
  auto const krylov = check(newton_krylov{.rtol = 1e-10, .precondition = ilu0{}});
  CHECK(krylov.linear_iterations < 3 * krylov.linear_solves);
  CHECK_THAT(text(krylov), ContainsSubstring("gmres + ilu0") && ContainsSubstring("J v by dual numbers"));
  CHECK(check(anderson{.rtol = 1e-10, .precondition = amg{}}).iterations() < 20);
  int const fast = check(anderson{.rtol = 1e-10, .precondition = ilu0{}}).iterations(), slow = check(picard{.rtol = 1e-10, .precondition = ilu0{}}).iterations();
  CHECK(fast < slow);
  CHECK(check(anderson{.rtol = 1e-10, .max_iterations = 5000, .depth = 20, .damping = 0.4}).jacobians == 0);
  linear_operator<double> const M(40, 40, [s = prepare(of.A, lu{})](std::span<double const> r, std::span<double> z) {
    vector<double> const x = s.solve(borrow(r.data(), 40));
    std::copy(x.begin(), x.end(), z.begin());
  });
  CHECK(check(picard{.rtol = 1e-10, .precondition = M}).jacobians == 0);
  CHECK(check(newton_krylov{.rtol = 1e-10, .precondition = M}).jacobians == 0);
  auto const c = [A = cast<std::complex<double>>(of.A)](auto const& z) { return A * z - std::complex<double>(0.0, 0.01) * exp(z); };
  auto const z = zeros<std::complex<double>>(40);
  CHECK(norm(nonlinear_solve(c, z, newton_krylov{.rtol = 1e-11}).x - nonlinear_solve(c, z, newton{.rtol = 1e-11}).x) <= 1e-8);
}
TEST_CASE("nonlinear systems on the deferred queue have the solutions of the host, by every method") {
  bratu const of{30};
  auto const f = [&](auto const& u) { return of(u, 1.0); };
  auto const start = zeros<double>(30);
  auto const u = nonlinear_solve(f, start, newton{.rtol = 1e-13}).x;
  for (int lag : {0, 4}) {
    auto const queue = on([lag](frame l) { return deferred(l, lag); });
    auto const check = [&](auto const& method, auto const&... linear) {
      auto const s = nonlinear_solve(f, start, method, linear..., queue);
      is_solution(f, s);
      CHECK(norm(s.x - u) <= 1e-6 * norm(u));
    };
    check(newton{.rtol = 1e-10, .step = step_control::trust_region});
    check(newton{.rtol = 1e-10}, gmres{.restart = 31}, ilu0{});
    check(newton_krylov{.rtol = 1e-10, .restart = 31});
    check(anderson{.rtol = 1e-10, .precondition = ilu0{}});
    check(pseudo_transient{.rtol = 1e-10}, cg{}, jacobi{});
  }
}
TEST_CASE("anderson and picard solve systems of complex unknowns") {
  using C = std::complex<double>;
  auto const A = cast<C>(problems::convection_diffusion<double>({6, 5}, {4.0, -2.0}));
  auto const b = random<C>(30, 3);
  auto const f = [&](auto const& z) { return A * z + C(0.3, 0.2) * (z * z) - C(0.0, 0.3) * b; };
  auto const z = nonlinear_solve(f, zeros<C>(30), newton{.rtol = 1e-13}).x;
  auto const s = nonlinear_solve(f, zeros<C>(30), anderson{.rtol = 1e-11, .damping = 0.08}), p = nonlinear_solve(f, zeros<C>(30), picard{.rtol = 1e-11, .damping = 0.08});
  is_solution(f, s);
  is_solution(f, p);
  CHECK(norm(s.x - z) <= 1e-9 * norm(z));
  CHECK(norm(p.x - z) <= 1e-9 * norm(z));
  CHECK(2 * s.report.iterations() < p.report.iterations());
}
TEST_CASE("nonlinear systems in float are solved by every method, with preconditioners of the Jacobian in double") {
  auto const A = cast<float>(problems::convection_diffusion<double>({6, 5}, {4.0, -2.0}));
  auto const b = random<float>(30, 3);
  auto const f = [&](auto const& u) { return A * u + 0.1F * (u * u * u) - b; };
  auto const exact = nonlinear_solve([&](auto const& u) { return cast<double>(A) * u + 0.1 * (u * u * u) - cast<double>(b); }, zeros<double>(30), newton{.rtol = 1e-12}).x;
  auto const check = [&](auto const& method) {
    auto const s = nonlinear_solve(f, zeros<float>(30), method);
    INFO(s.report);
    CHECK(s.report.converged());
    CHECK(norm(cast<double>(s.x) - exact) <= 1e-4 * norm(exact));
  };
  check(newton{.rtol = 1e-5});
  check(newton_krylov{.rtol = 1e-5, .precondition = ilu0{}});
  check(anderson{.rtol = 1e-5, .precondition = ilu0{}});
  check(picard{.rtol = 1e-5, .damping = 0.5, .precondition = ilu0{}});
  check(pseudo_transient{.rtol = 1e-5});
}
TEST_CASE("newton at the floor of rounding says so, rather than that its iterations were not enough") {
  bratu const of{60};
  auto const f = [&](auto const& u) { return of(u, 2.0); };
  auto const check = [&](auto const& method) {
    auto const s = try_nonlinear_solve(f, zeros<double>(60), method);
    CHECK(s.report.reason() == reason::stagnated);
    CHECK(s.report.iterations() <= 12);
    CHECK(s.report.residual() < 1e-14);
    CHECK_THAT(s.report.why, ContainsSubstring("rounding"));
  };
  for (auto step : all_steps) {
    check(newton{.rtol = 0, .atol = 0, .step = step});
    auto u = nonlinear_solve(f, zeros<double>(60), newton{.step = step}).x;
    for (int again = 0; again < 3; ++again) {  // of a solution a tenth is not there, and rounding is enough
      auto const s = nonlinear_solve(f, u, newton{.step = step});
      CHECK(s.report.residual() < 1e-14);
      CHECK(norm(f(s.x)) == Approx(s.report.residual()));
      u = s.x;
    }
  }
  check(newton_krylov{.rtol = 0, .atol = 0, .restart = 31});
  check(pseudo_transient{.rtol = 0, .atol = 0, .dt0 = 1e6});
  auto const slow = try_nonlinear_solve([](auto const& u) { return u * u; }, ones<double>(3), newton{.rtol = 0, .max_iterations = 40});  // by a quarter each
  CHECK(slow.report.reason() == reason::iteration_limit);
  // Beside a pole the rounding of u changes F beyond all bounds, and tells nothing.
  auto const pole = [](auto const& u) { return 1e-17 / (1.0 - u) + 0.3; };
  CHECK_FALSE(try_nonlinear_solve(pole, eval(std::nextafter(1.0, 0.0) * ones<double>(4)), picard{.max_iterations = 20, .damping = 1e-20}).report.converged());
}
TEST_CASE("anderson of a linear system is GMRES: it ends within as many steps as there are eigenvalues") {
  auto const D = diagonal(vector<double>(std::vector<double>{1.0, 2.0, 4.0, 1.0, 2.0, 4.0}));
  auto const s = nonlinear_solve([&](auto const& u) { return D * u - 1.0; }, zeros<double>(6), anderson{.rtol = 1e-12, .depth = 5, .damping = 0.3});
  CHECK(s.report.iterations() <= 4);
}
TEST_CASE("newton: linear methods behind it, patterns that are given, found again where they miss something, and axes") {
  auto const A = problems::convection_diffusion<double>({9, 8}, {30.0, -10.0});
  auto const n = A.rows();
  auto const f = [&](auto const& u, double a) { return A * u - a * exp(u); };
  auto const u = nonlinear_solve(f, zeros<double>(n), newton{.rtol = 1e-12}, 0.1).x;
  auto const check = [&](auto const& s, char const* said) {
    CHECK(norm(s.x - u) <= 1e-7 * norm(u));
    CHECK_THAT(text(s.report), ContainsSubstring(said));
  };
  check(nonlinear_solve(f, zeros<double>(n), newton{.rtol = 1e-9}, lu{}, 0.1), "by lu");
  check(nonlinear_solve(f, zeros<double>(n), newton{.rtol = 1e-9}, gmres{.rtol = 1e-4}, ilu0{}, 0.1), "gmres + ilu0");
  check(nonlinear_solve(f, zeros<double>(n), newton{.rtol = 1e-9}, gmres{.rtol = 1e-14, .max_iterations = 5}, ilu0{}, 0.1), "gmres + ilu0");  // not solved, and good enough
  CHECK_THROWS_WITH(nonlinear_solve(f, zeros<double>(n), newton{}, gmres{.rtol = 1e-14, .max_iterations = 1}, 0.1), ContainsSubstring("iteration 0 failed"));
  check(nonlinear_solve(f, zeros<double>(n), newton{.rtol = 1e-9, .pattern = eval(A * A)}, 0.1), "pattern given");
  CHECK_THROWS_WITH(nonlinear_solve(f, zeros<double>(n), newton{.pattern = eye<double>(n)}, 0.1), ContainsSubstring("misses an entry of row 0"));
  CHECK_THROWS_WITH(nonlinear_solve(f, zeros<double>(n), newton{.pattern = eye<double>(n + 1)}, 0.1), ContainsSubstring("newton{.pattern = P}: P is"));

  // Where u = 0, nothing of the dependence of the entries on u shows.
  std::vector<index_t> slots, rows;
  for (index_t i = 0; i < n; ++i) A.pattern().view().for_row(i, [&](index_t s, index_t) { slots.push_back(s), rows.push_back(i); });
  auto const W = eval(from_triplets<double>(A.nnz(), n, slots, rows, std::vector<double>(slots.size(), 1.0)) * A);
  auto const nonlocal = [&](auto const& v) { return with_values(A, values(A) * (1.0 + 1e-3 * (W * v))) * v - 1.0; };
  is_solution(nonlocal, nonlinear_solve(nonlocal, zeros<double>(n), newton{.rtol = 1e-10}));

  auto const many = [&](auto const& v) { return A * v - 0.1 * exp(v); };
  auto const s = nonlinear_solve(many, tensor<double, Extents<dyn, 2>>(n, 2), newton{.rtol = 1e-10});
  is_solution(many, s);
  CHECK(std::abs(s.x(7, 1) - u[7]) <= 1e-9);
  auto const F = cast<float>(A);
  CHECK(nonlinear_solve([&](auto const& v) { return F * v - 0.1f * exp(v); }, zeros<float>(n), newton{.rtol = 1e-5}).report.converged());
}
TEST_CASE("newton: a line search and a trust region reach what full steps do not") {
  auto const f = [](auto const& u) { return apply([](auto a) { using std::atan; return atan(a); }, u); };
  auto const start = full<double>(3, 3.0);
  CHECK_THROWS_AS(nonlinear_solve(f, start, newton{.step = step_control::full}), nonlinear_error);
  auto const s = nonlinear_solve(f, start, newton{});
  is_solution(f, s);
  CHECK(*std::min_element(s.report.step_lengths.begin(), s.report.step_lengths.end()) < 1);
  is_solution(f, nonlinear_solve(f, start, newton{.step = step_control::trust_region}));
  auto const domain = [](auto const& u) { return log(u) + 3.0; };  // Newton's first step leads out of the domain
  is_solution(domain, nonlinear_solve(domain, full<double>(2, 4.0), newton{.rtol = 1e-10}));
  CHECK_THROWS_WITH(nonlinear_solve(domain, full<double>(2, 4.0), newton{.step = step_control::full}), ContainsSubstring("nan at element 0, in iteration 1"));
}
TEST_CASE("nonlinear systems: bad input and solves that fail say why, in one sentence") {
  auto const start = ones<double>(4);
  auto const square = [](auto const& u) { return u * u + 1.0; };
  auto const failed = try_nonlinear_solve(square, start, newton{});
  CHECK(!failed.report.converged());
  CHECK(failed.report.residual() == double(norm(square(failed.x))));
  CHECK_THROWS_AS(nonlinear_solve(square, start, newton{}), nonlinear_error);
  CHECK_THROWS_AS(nonlinear_solve(square, start, newton{.step = step_control::trust_region}), nonlinear_error);
  auto const past_fold = [of = bratu{40}](auto const& u) { return of(u, 5.0); };  // the fold is at 3.51
  for (auto const& report : {try_nonlinear_solve(past_fold, zeros<double>(40), newton{}).report, try_nonlinear_solve(past_fold, zeros<double>(40), newton{.step = step_control::trust_region}).report,
                             try_nonlinear_solve(past_fold, zeros<double>(40), newton_krylov{}).report}) {
    INFO(report);
    CHECK(report.reason() == reason::stagnated);
    CHECK(report.iterations() <= 15);
    CHECK_THAT(report.why, ContainsSubstring("the last 8 steps") && ContainsSubstring("stationary point of |F| that is no root"));
  }
  CHECK_THROWS_WITH(nonlinear_solve([](auto const& u) { return u - 1.0; }, zeros<double>(2), newton_krylov{.most_forcing = std::nan("")}), ContainsSubstring("newton_krylov{.first_forcing = ") && ContainsSubstring(".most_forcing = nan}"));
  CHECK_THROWS_WITH(nonlinear_solve([](auto const& u) { return sqrt(u - 2.0); }, start, newton{}), ContainsSubstring("nan at element 0, in iteration 0"));
  CHECK_THROWS_WITH(nonlinear_solve(square, full<double>(4, std::nan("")), newton{}), ContainsSubstring("u0 has nan at element 0"));
  auto const fails_later = [](auto const& u) { return u + where(u > 0.999999999999999, 0.0, std::nan("")); };
  CHECK_THROWS_WITH(nonlinear_solve(fails_later, ones<double>(4), newton{}), ContainsSubstring("at the full step F is") && ContainsSubstring("element 0"));
  CHECK_THROWS_WITH(nonlinear_solve(fails_later, ones<double>(4), newton_krylov{}), ContainsSubstring("at the full step F is") && ContainsSubstring("element 0"));
  CHECK_THROWS_WITH(solve_bounded(fails_later, ones<double>(4), lower{-9.0}, semismooth_newton{}), ContainsSubstring("at the full step F is") && ContainsSubstring("element 0"));
  auto const ends = [](auto const& u) { return u * u - 2.0 + where(u > 1.2, std::nan(""), 0.0); };  // before its root
  auto const at_wall = try_nonlinear_solve(ends, start, newton{.step = step_control::trust_region}).report;
  for (auto const& report : {try_nonlinear_solve(ends, start, newton{}).report, at_wall, try_nonlinear_solve(ends, start, newton_krylov{}).report}) {
    INFO(report);
    CHECK(report.reason() == reason::stagnated);
    CHECK_THAT(report.why, ContainsSubstring("longer ones end where F is nan at element 0; begin elsewhere"));
  }
  for (double const damping : {0.0, std::nan("")}) CHECK_THROWS_WITH(try_nonlinear_solve(square, start, anderson{.damping = damping}), ContainsSubstring(text("anderson{.damping = ", damping, "}: ")));
  CHECK_THROWS_WITH(try_nonlinear_solve(square, start, newton{.linear_rtol = std::nan("")}), ContainsSubstring("newton{.linear_rtol = nan}: it is at least 0"));
  for (double scale : {1e-200, 1e-150}) {  // whose squares vanish, or lose their digits: no residual of 0 is made of that
    auto const tiny = [&](auto const& u) { return scale * (u * u - 2.0); };
    CHECK_THROWS_WITH(try_nonlinear_solve(tiny, start, newton{}), ContainsSubstring("|F(u0)| is below 1e-140, with -1e-") && ContainsSubstring("at element 0, in iteration 0: scale F"));
    CHECK_THROWS_WITH(try_nonlinear_solve(tiny, start, anderson{}), ContainsSubstring("scale F"));
    CHECK_THROWS_WITH(try_solve_bounded(tiny, start, lower{0.0}, semismooth_newton{}), ContainsSubstring("scale F"));
    CHECK(try_nonlinear_solve(tiny, start, newton{.atol = 1e-100}).report.converged());  // asked for no more
  }
  CHECK(try_nonlinear_solve([](auto const& u) { return 1e-200 * (u - 1.0); }, start, newton{}).report.converged());  // F(u0) = 0
  CHECK(std::abs(nonlinear_solve([](auto const& u) { return 1e-130 * (u * u - 2.0); }, start, newton{}).x[0] - std::sqrt(2.0)) <= 1e-8);
  auto const wide = from_triplets<double>(3, 4, {0, 1, 2}, {0, 1, 2}, {1.0, 1.0, 1.0});
  CHECK_THROWS_WITH(nonlinear_solve([&](auto const& u) { return wide * u; }, start, newton{}), ContainsSubstring("3 elements and u 4"));
  CHECK_THROWS_WITH(nonlinear_solve(square, start, newton{.rtol = -1}), ContainsSubstring(".rtol = -1"));
  CHECK_THROWS_WITH(nonlinear_solve(square, start, anderson{.depth = -1}), ContainsSubstring(".depth = -1"));
  CHECK_THROWS_WITH(nonlinear_solve([](auto const& u) { return exp(u); }, start, newton{.rtol = 0, .max_iterations = 3}), ContainsSubstring(".max_iterations = 3") && ContainsSubstring("after 3 iterations"));
  auto const S = from_triplets<double>(4, 4, {0, 0, 1, 1, 2, 3}, {0, 1, 0, 1, 2, 3}, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0});
  auto const singular = try_nonlinear_solve([&](auto const& u) { return S * u - vector<double>{1.0, 2.0, 3.0, 4.0}; }, start, newton{}, lu{});
  CHECK(singular.report.reason() == reason::singular);
  CHECK_THAT(text(singular.report), ContainsSubstring("the linear solve with the Jacobian of iteration 0 failed"));
  auto const krylov = try_nonlinear_solve([](auto const& u) { return u * u - 1.0; }, zeros<double>(4), newton_krylov{});
  CHECK(krylov.report.reason() == reason::singular);
  CHECK(krylov.report.linear_solves == 1);
  CHECK_THAT(text(krylov.report), ContainsSubstring("iteration 0 reduces nothing of |F|: the Jacobian is singular at this u"));
  auto turn = zeros<double>(40);  // GMRES with a restart below 40 reduces nothing of it
  turn[0] = 1;
  auto const ring = from_triplets<double>(40, 40, [] { std::vector<index_t> i(40); std::iota(i.begin(), i.end(), 0); return i; }(), [] { std::vector<index_t> j(40); for (index_t n = 0; n < 40; ++n) j[std::size_t(n)] = (n + 39) % 40; return j; }(), std::vector<double>(40, 1.0));
  auto const stagnated = try_nonlinear_solve([&](auto const& u) { return ring * u - turn; }, zeros<double>(40), newton_krylov{.restart = 5, .linear_iterations = 50});
  CHECK(stagnated.report.reason() == reason::stagnated);
  CHECK_THAT(text(stagnated.report), ContainsSubstring("GMRES wants a .restart above 5 or a .precondition"));
  auto const cut = try_nonlinear_solve([&](auto const& u) { return ring * u - turn; }, zeros<double>(40), newton_krylov{.restart = 30, .linear_iterations = 20});
  CHECK(cut.report.reason() == reason::stagnated);
  CHECK_THAT(text(cut.report), ContainsSubstring("GMRES wants .linear_iterations above 20 or a .precondition"));
  CHECK_THROWS_WITH(nonlinear_solve([](auto const& u) { return u * u * u; }, full<double>(4, 5.0), picard{}), ContainsSubstring("diverges"));
}
