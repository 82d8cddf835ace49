// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nonlinear systems and steps in time on thread ranks: the methods' own texts, with F on distributed vectors, against one rank.
#include <sla/dist.hpp>
#include <sla/integrate.hpp>

#include "catch.hpp"
#include "suites/dual_on_ranks.hpp"
#include "suites/spread.hpp"

namespace test_nonlinear_on_ranks {

using namespace sla;
using Catch::Matchers::ContainsSubstring;
using Rows = mesh<axis<"rows">>;

namespace {
auto const A = problems::convection_diffusion<double>({6, 5}, {6.0, -3.0});
auto const b = random<double>(30, 4);
/// Of one rank, and of ranks.
auto const reaction = [](auto const& u, auto const& K, auto const& load) { return K * u + 0.5 * (u * u * u) - 0.1 * exp(u) - load; };
} // namespace

TEST_CASE("nonlinear systems on ranks: every method finds what one rank finds, with the true residual of all") {
  auto const alone = nonlinear_solve(reaction, zeros<double>(30), newton{.rtol = 1e-12}, A, b).x;
  auto const check = [&](int ranks, auto const& method) {
    CHECK(suite::largest_error(ranks, [&](auto& world) {
            Rows m(world);
            auto const D = distribute<SparseShard<0>>(A, m, strips{});
            auto const load = distribute(b, D.row_layout());
            auto const [x, report] = nonlinear_solve(reaction, eval(0.0 * load), method, D, load);
            auto const whole = gather(x);
            return std::array<double, 2>{double(norm(whole - alone)), std::abs(report.residual() - double(norm(reaction(whole, A, b))))};
          }) <= 1e-8);
  };
  for (int ranks : {1, 2, 3, 4}) {
    check(ranks, newton_krylov{.rtol = 1e-10});
    check(ranks, newton{.rtol = 1e-10});
    check(ranks, anderson{.rtol = 1e-10, .damping = 0.2});
  }
  check(3, newton{.rtol = 1e-10, .step = step_control::trust_region});
  check(3, pseudo_transient{.rtol = 1e-10, .dt0 = 1});
  check(3, picard{.rtol = 1e-10, .damping = 0.05});
}
TEST_CASE("derivatives of nonlinear systems on ranks, by one solve with the adjoint of F, are those of one rank") {
  auto const w = random<double>(30, 7);
  auto const loss = [](auto const& method, auto const& start, auto const& weights) {
    return [&](auto const& K, auto const& load) { return dot(weights, nonlinear_solve(reaction, start, method, K, load).x); };
  };
  auto const [value, to_A, to_b] = value_and_gradient(loss(newton{.rtol = 1e-13}, zeros<double>(30), w), A, b);
  auto const check = [&, v = value, to_A = to_A, to_b = to_b](int ranks, auto const& method) {
    CHECK(suite::largest_error(ranks, [&](auto& world) {
            Rows m(world);
            auto const D = distribute<SparseShard<0>>(A, m, strips{});
            auto const load = distribute(b, D.row_layout()), weights = distribute(w, D.row_layout());
            auto const start = eval(0.0 * load);
            auto const [value, to_D, to_load] = value_and_gradient(loss(method, start, weights), D, load);
            return std::array<double, 3>{std::abs(value - v), double(norm(gather(to_load) - to_b)), double(norm(values(gather(to_D)) - values(to_A)))};
          }) <= 1e-8);
  };
  for (int ranks : {1, 2, 4}) check(ranks, newton{.rtol = 1e-12});
  check(3, newton_krylov{.rtol = 1e-12});
}
TEST_CASE("derivatives of nonlinear systems, with bounds and in time on ranks pass the checks of one rank, by every method") {
  auto const cubes = [](auto const& x) { return sum(x * x * x); };
  auto const check = [&](auto const& method) {
    auto const f = [&](auto const& K, auto const& load) { return cubes(nonlinear_solve(reaction, eval(0.0 * gradient::untraced(load)), method, K, load).x); };
    gradient::check_dual_on_ranks(f, std::tie(A, b), {.accuracy = 1e-8});
  };
  check(newton{.rtol = 1e-13});
  check(newton_krylov{.rtol = 1e-13});
  check(anderson{.rtol = 1e-13, .damping = 0.2});
  check(pseudo_transient{.rtol = 1e-13, .dt0 = 10});
  check(picard{.rtol = 1e-13, .max_iterations = 5000, .damping = 0.05});
  auto const L = problems::poisson<double>({30});
  vector<double> const psi = 0.3 + 0.1 * random<double>(30, 8), push = 0.02 * (1.0 + 4.0 * random<double>(30, 10));
  auto const contact = [](auto const& u, auto const& K, auto const& load) { return K * u + 0.01 * (u * u * u) - load; };
  auto const held = [&](auto const& K, auto const& low, auto const& load) {
    return cubes(solve_bounded(contact, eval(0.0 * gradient::untraced(load)), lower{low}, upper{0.8}, semismooth_newton{.rtol = 1e-13}, K, load).x);
  };
  gradient::check_dual_on_ranks(held, std::tie(L, psi, push), {.h = 1e-5, .accuracy = 1e-8});
  auto const S = with_values(A, 0.1 * values(A));
  auto const start = random<double>(30, 8);
  auto const f = [](auto const& u, double, auto const& K, auto const& load) { return load - 0.3 * (u * u * u) - K * u; };
  auto const in_time = [&](auto const& method) {
    return [&, method](auto const& K, auto const& u0, auto const& load) { return cubes(integrate(f, u0, {0.0, 0.3, 0.9}, method, K, load).x); };
  };
  gradient::check_dual_on_ranks(in_time(theta{.implicitness = 0.5, .steps = 2, .checkpoints = 2, .rtol = 1e-14}), std::tie(S, start, b), {.accuracy = 1e-8});
  gradient::check_dual_on_ranks(in_time(bdf2{.steps = 2, .rtol = 1e-14}), std::tie(S, start, b), {.accuracy = 1e-8});
}
TEST_CASE("jacobian_on(D) stores Jacobians on ranks: those of one rank, in as many colours, with preconditioners and derivatives") {
  auto const w = random<double>(30, 7);
  auto const of_one = [&](auto const& K, auto const& load) { return dot(w, nonlinear_solve(reaction, zeros<double>(30), newton{.rtol = 1e-13}, K, load).x); };
  auto const alone = try_nonlinear_solve(reaction, zeros<double>(30), newton{.rtol = 1e-12}, A, b);
  auto const [value, to_A, to_b] = value_and_gradient(of_one, A, b);
  for (int ranks : {1, 2, 3, 4})
    CHECK(suite::largest_error(ranks, [&, v = value, to_A = to_A, to_b = to_b](auto& world) {
            Rows m(world);
            auto const D = distribute<SparseShard<0>>(A, m, strips{});
            auto const load = distribute(b, D.row_layout()), weights = distribute(w, D.row_layout());
            auto const start = eval(0.0 * load);
            jacobian_on const stored(D);
            auto const s = nonlinear_solve(reaction, start, newton{.rtol = 1e-12, .step = step_control::trust_region}, stored, gmres{.rtol = 1e-12}, ilu0{}, D, load);
            auto const t = nonlinear_solve(reaction, start, pseudo_transient{.rtol = 1e-10, .dt0 = 10}, stored, D, load);
            auto const of_ranks = [&](auto const& K, auto const& f) { return dot(weights, nonlinear_solve(reaction, start, newton{.rtol = 1e-13}, stored, K, f).x); };
            auto const [value, to_D, to_load] = value_and_gradient(of_ranks, D, load);
            bool const like = s.report.jacobian == "dual numbers in " + text(jacobian_plan(A).colors()) + " colours, pattern given" && s.report.jacobians == s.report.iterations() && s.report.linear == "gmres + ilu0";
            return std::array<double, 6>{like ? 0.0 : 1.0, double(norm(gather(s.x) - alone.x)), double(norm(gather(t.x) - alone.x)), std::abs(value - v), double(norm(gather(to_load) - to_b)), double(norm(values(gather(to_D)) - values(to_A)))};
          }) <= 1e-8);
}
TEST_CASE("systems with bounds on ranks: the elements that one rank holds, with Jacobians and without, and the derivatives") {
  auto const L = problems::poisson<double>({30});
  vector<double> const psi = 0.3 + 0.1 * random<double>(30, 8), push = 0.02 * (1.0 + 4.0 * random<double>(30, 10)), w = random<double>(30, 7);
  auto const f = [](auto const& u, auto const& K, auto const& load) { return K * u + 0.01 * (u * u * u) - load; };
  auto const loss = [&](auto const& u0, auto const& weights, auto const&... options) {
    return [=](auto const& K, auto const& low, auto const& load) { return dot(weights, solve_bounded(f, u0, lower{low}, upper{0.8}, semismooth_newton{.rtol = 1e-12}, options..., K, load).x); };
  };
  auto const u0 = zeros<double>(30);
  auto const alone = solve_bounded(f, u0, lower{psi}, upper{0.8}, semismooth_newton{.rtol = 1e-12}, L, push);
  REQUIRE(alone.report.bound_lower > 0);
  REQUIRE(alone.report.bound_lower + alone.report.bound_upper < 30);
  auto const [value, to_L, to_psi, to_push] = value_and_gradient(loss(u0, w), L, psi, push);
  auto const check = [&, v = value, to_L = to_L, to_psi = to_psi, to_push = to_push](int ranks, auto const& options) {
    CHECK(suite::largest_error(ranks, [&](auto& world) {
            Rows m(world);
            auto const D = distribute<SparseShard<0>>(L, m, strips{});
            auto const lay = [&](auto const& x) { return distribute(x, D.row_layout()); };
            return std::apply(
                [&](auto const&... o) {
                  auto const s = solve_bounded(f, lay(u0), lower{lay(psi)}, upper{0.8}, semismooth_newton{.rtol = 1e-12}, o..., D, lay(push));
                  auto const [value, to_D, to_low, to_load] = value_and_gradient(loss(lay(u0), lay(w), o...), D, lay(psi), lay(push));
                  double const held = std::abs(s.report.bound_lower - alone.report.bound_lower) + std::abs(s.report.bound_upper - alone.report.bound_upper);
                  return std::array<double, 6>{held, double(norm(gather(s.x) - alone.x)), std::abs(value - v), double(norm(gather(to_low) - to_psi)), double(norm(gather(to_load) - to_push)),
                                               double(norm(values(gather(to_D)) - values(to_L)))};
                },
                options(D));
          }) <= 1e-8);
  };
  for (int ranks : {1, 3}) check(ranks, [](auto const&) { return std::tuple(); });
  check(2, [](auto const& D) { return std::tuple(jacobian_on(D), gmres{.rtol = 1e-12}, ilu0{}); });
}
TEST_CASE("trace_branch on ranks has the points and the fold of one rank, with Jacobians and without") {
  index_t const n = 12;
  auto const L = problems::poisson<double>({n});
  auto const of = [](auto const& K) { return [&K](auto const& u, auto const& lambda) { return K * u - (0.01 * lambda) * exp(u) + 0.001 * (lambda * lambda - 1.0); }; };
  arclength const to_fold{.step = 0.5, .steps = 10, .lambda_scale = 2};
  auto const [alone, report] = trace_branch(of(L), zeros<double>(n), 0.0, to_fold);
  INFO(report);
  REQUIRE(report.folds == 1);
  auto const check = [&, &alone = alone](int ranks, auto const& options) {
    CHECK(suite::largest_error(ranks, [&](auto& world) {
            Rows m(world);
            auto const D = distribute<SparseShard<0>>(L, m, strips{});
            auto const start = distribute(zeros<double>(n), D.row_layout());
            auto const [points, report] = std::apply([&](auto const&... o) { return trace_branch(of(D), start, 0.0, to_fold, o...); }, options(D));
            std::vector<double> errors{points.size() == alone.size() ? 0.0 : 1.0};
            for (std::size_t k = 0; k < (std::min)(points.size(), alone.size()); ++k) {
              auto const& p = points[k];
              auto const& q = alone[k];
              auto const u = gather(p.u);
              errors.push_back(std::abs(p.residual - double(norm(of(L)(u, p.lambda)))));
              errors.push_back(p.residual);
              errors.push_back(p.fold == q.fold ? std::abs(p.lambda - q.lambda) / (p.fold ? 1e-2 : 1) : 1.0);
              errors.push_back(std::abs(p.norm - double(norm(u))));
              if (!p.fold) errors.push_back(double(norm(u - q.u)));
            }
            return errors;
          }) <= 1e-8);
  };
  for (int ranks : {1, 2, 3}) check(ranks, [](auto const&) { return std::tuple(); });
  for (int ranks : {1, 3}) check(ranks, [](auto const& D) { return std::tuple(jacobian_on(D), gmres{.rtol = 1e-12}, ilu0{}); });
  // dF/du is zero where the first step ends, at the fold: solved with a small shift
  auto const parabola = [](auto const& u, auto const& lambda) { return (7.0 / 36) * u * u + lambda; };
  arclength const one_step{.step = 0.78125, .steps = 1};
  for (bool stored : {false, true})
    CHECK(suite::largest_error(2, [&](auto& world) {
            Rows m(world);
            auto const D = distribute<SparseShard<0>>(eye<double>(4), m, strips{});
            auto const start = distribute(full<double>(4, -0.75), D.row_layout());
            double const from = -7.0 / 36 * 0.5625;
            auto const b = stored ? trace_branch(parabola, start, from, one_step, jacobian_on(D)) : trace_branch(parabola, start, from, one_step);
            double lambda = 1;
            for (auto const& p : b.points)
              if (p.fold) lambda = p.lambda;
            return std::array<double, 2>{std::abs(lambda), double(b.report.rejected)};
          }) <= 1e-12);
  for (auto const& words : suite::words_of(2, [&](auto& world) {
         Rows m(world);
         (void)trace_branch(parabola, distribute(full<double>(4, -0.75), distribute<SparseShard<0>>(eye<double>(4), m, strips{}).row_layout()), 1.0, one_step);
       }))
    CHECK_THAT(words, ContainsSubstring("finds no solution at lambda0 = 1 from u0"));
}
TEST_CASE("on ranks too terms of a derivative that cancel leave their rounding, which is no entry that the pattern misses") {
  for (index_t n : {30, 1000})
    CHECK(suite::largest_error(3, [&](auto& world) {
            Rows m(world);
            auto const D = distribute<SparseShard<0>>(problems::poisson<double>({n}), m, strips{});
            auto const s = try_nonlinear_solve([](auto const& u) { return 0.1 * u + 0.2 * u - 0.3 * u + 3e-10 * u - 3e-10; }, distribute(random<double>(n, 3), D.row_layout()), newton{.max_iterations = 1}, jacobian_on(D));
            return std::array<double, 1>{double(norm_inf(gather(s.x) - 1.0))};
          }) <= 1e-5);
}
TEST_CASE("what fails on ranks fails on all of them, by one sentence that names the element of the whole") {
  auto const check = [](auto const& f, auto const& u0, auto const& wanted) {
    for (auto const& words : suite::words_of(3, [&](auto& world) {
           Rows m(world);
           auto const D = distribute<SparseShard<0>>(A, m, strips{});
           (void)nonlinear_solve([&](auto const& u) { return f(D, u); }, distribute(u0, D.row_layout()), newton{}, jacobian_on(D));
         }))
      CHECK_THAT(words, wanted);
  };
  auto const root = [](auto const&, auto const& u) { return sqrt(u); };
  auto u0 = full<double>(30, 2.0);
  u0[17] = -1;
  check(root, u0, ContainsSubstring("F(u0) has") && ContainsSubstring("nan at element 17, in iteration 0"));
  u0[17] = std::nan("");
  check(root, u0, ContainsSubstring("u0 has nan at element 17"));
  u0[17] = 0;
  check(root, u0, ContainsSubstring("the derivative of element 17 of F is NaN or infinite"));
  check([](auto const& D, auto const& u) { return D * (D * u) - 1.0; }, ones<double>(30), ContainsSubstring("the pattern of D misses an entry of row 0"));
}
TEST_CASE("steps in time on ranks are those of one rank, with their derivatives, by theta and by bdf2 with a mass") {
  auto const f = [](auto const& u, double, auto const& K, auto const& load) { return load - 0.3 * (u * u * u) - K * u; };
  auto const S = with_values(A, 0.1 * values(A));
  auto const w = random<double>(30, 7), start = random<double>(30, 8);
  auto const loss = [&f](auto const& weights, auto const&... options) {
    return [=, &f](auto const& u0, auto const& K, auto const& load) {
      auto const run = integrate(f, u0, {0.0, 0.3, 0.9}, options..., K, load);
      return dot(weights, run.x) + squared_norm(run.states);
    };
  };
  auto const check = [&](int ranks, auto const& alone, auto const& of_ranks) {
    auto const [value, to_u0, to_K, to_load] = value_and_gradient(alone, start, S, b);
    CHECK(suite::largest_error(ranks, [&, v = value, to_u0 = to_u0, to_K = to_K, to_load = to_load](auto& world) {
            Rows m(world);
            auto const D = distribute<SparseShard<0>>(S, m, strips{});
            auto const lay = [&](auto const& x) { return distribute(x, D.row_layout()); };
            auto const [value, g, gK, gload] = value_and_gradient(of_ranks(lay(w), D), lay(start), D, lay(b));
            return std::array<double, 4>{std::abs(value - v), double(norm(gather(g) - to_u0)), double(norm(values(gather(gK)) - values(to_K))), double(norm(gather(gload) - to_load))};
          }) <= 1e-8);
  };
  theta const middle{.implicitness = 0.5, .steps = 3, .checkpoints = 2, .rtol = 1e-13};
  for (int ranks : {1, 3}) check(ranks, loss(w, middle), [&](auto const& weights, auto const&) { return loss(weights, middle); });
  bdf2 const stiff{.steps = 3, .rtol = 1e-13};
  check(2, loss(w, stiff, mass(S)), [&](auto const& weights, auto const& D) { return loss(weights, stiff, mass(D)); });
}
} // namespace test_nonlinear_on_ranks
