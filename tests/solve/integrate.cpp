// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// M u' = f(u, t) in steps: orders against closed forms, what is kept over the steps, checkpoints against the fewest steps, and bad input.
#include <sla/integrate.hpp>

#include <map>

#include "catch.hpp"

using namespace sla;
using Catch::Matchers::ContainsSubstring;

namespace {
/// The slope of log2 of the error over halved steps, from `steps` on.
template <class Error>
double order_of(Error error, int steps) {
  return std::log2(error(steps) / error(2 * steps));
}
/// u_t = u_xx on n inner points of (0, 1), its slowest mode, and the rate at which that decays.
struct heat {
  index_t n = 15;
  double h2 = 1.0 / double((n + 1) * (n + 1));
  sparse_tensor<double> L = problems::poisson<double>({n});
  double rate = 4 / h2 * std::pow(std::sin(std::acos(-1.0) / double(2 * (n + 1))), 2);
  vector<double> mode() const {
    vector<double> u(n);
    for (index_t i = 0; i < n; ++i) u[i] = std::sin(std::acos(-1.0) * double(i + 1) / double(n + 1));
    return u;
  }
  template <class U>
  auto operator()(U const& u, double) const {
    return (-1 / h2) * (L * u);
  }
};
/// a u + b u^2 + c cos(t), whose last element is NaN after a time: one function for many, since each is compiled.
struct quadratic {
  double a, b = 0, c = 0, breaks = 100;
  template <class U>
  auto operator()(U const& u, double t) const {
    vector<double> factor = full<double>(u.size(), 1.0);
    if (t > breaks) factor[u.size() - 1] = std::nan("");
    return eval(factor * (a * u + b * (u * u) + c * std::cos(t)));
  }
};
/// The fewest steps by which the states are given back, latest first, the first of them being stored: by all ways there are.
long fewest_steps(int states, int stored, std::map<std::pair<int, int>, long>& known) {
  if (states == 1) return 0;
  if (stored == 1) return long(states) * (states - 1) / 2;
  auto const [at, is_new] = known.try_emplace({states, stored}, 1L << 40);
  if (is_new) {
    long best = 1L << 40;
    for (int m = 1; m < states; ++m) best = (std::min)(best, m + fewest_steps(states - m, stored - 1, known) + fewest_steps(m, stored, known));
    at->second = best;
  }
  return at->second;
}
} // namespace

TEST_CASE("integrate has the order of its method, for the heat equation and for a scalar one that depends on time") {
  heat const f;
  auto const u0 = f.mode();
  vector<double> const exact = std::exp(-0.1 * f.rate) * u0;
  auto const of_heat = [&](auto method) {
    return [&f, &u0, &exact, method](int steps) mutable {
      method.steps = steps;
      return double(norm(integrate(f, u0, {0.0, 0.05, 0.1}, method).x - exact));
    };
  };
  CHECK(order_of(of_heat(theta{.implicitness = 0.5}), 20) == Approx(2).margin(0.05));
  CHECK(order_of(of_heat(bdf2{}), 40) == Approx(2).margin(0.1));
  CHECK(order_of(of_heat(theta{.implicitness = 1}), 80) == Approx(1).margin(0.05));
  CHECK(order_of(of_heat(theta{.implicitness = 0}), 80) == Approx(1).margin(0.05));

  quadratic const scalar{-2, 0, 3};  // u = (6 cos t + 3 sin t) / 5 + c exp(-2 t)
  double const end = (6 * std::cos(1.0) + 3 * std::sin(1.0)) / 5 + 0.8 * std::exp(-2.0);
  auto const of_scalar = [&](auto method) {
    return [&scalar, end, method](int steps) mutable {
      method.steps = steps;
      return std::abs(integrate(scalar, full<double>(1, 2.0), {0.0, 0.3, 1.0}, method).x[0] - end);  // two lengths of steps, a ratio of 7 / 3
    };
  };
  CHECK(order_of(of_scalar(theta{}), 20) == Approx(2).margin(0.05));
  CHECK(order_of(of_scalar(bdf2{}), 40) == Approx(2).margin(0.1));
  CHECK(order_of(of_scalar(theta{.implicitness = 1}), 80) == Approx(1).margin(0.05));
}
TEST_CASE("integrate: states at the times, a mass, linear methods, nonlinear f and parameters") {
  heat const f;
  auto const u0 = f.mode();
  auto const s = integrate(f, u0, {0.0, 0.05, 0.1}, theta{.steps = 10});
  CHECK(s.states.extent(0) == f.n);
  CHECK(s.states.extent(1) == 3);
  CHECK(norm(vector<double>(column(s.states, 0)) - u0) == 0);
  CHECK(norm(vector<double>(column(s.states, 2)) - s.x) == 0);
  double const factor = std::pow((1 - 0.0025 * f.rate) / (1 + 0.0025 * f.rate), 10);
  CHECK(norm(vector<double>(column(s.states, 1)) - factor * u0) <= 1e-12);
  CHECK(s.report.converged());
  CHECK(s.report.steps == 20);

  auto const queued = integrate(f, u0, {0.0, 0.05, 0.1}, theta{.steps = 10}, on([](frame l) { return deferred(l, 4); }));
  CHECK(norm(queued.x - s.x) <= 1e-12);
  CHECK(norm(integrate(f, u0, {0.0, 0.05, 0.1}, bdf2{.steps = 10}, on([](frame l) { return deferred(l, 4); })).x - integrate(f, u0, {0.0, 0.05, 0.1}, bdf2{.steps = 10}).x) <= 1e-14);
  auto const M = eval(diagonal(vector<double>(1.0 + random<double>(f.n, 3))));
  auto const scaled = [&](auto const& u, double t, auto const& m) { return m * f(u, t); };
  CHECK(norm(integrate(scaled, u0, {0.0, 0.05, 0.1}, theta{.steps = 10}, mass(M), lu{}, M).x - s.x) <= 1e-10);
  CHECK(norm(integrate(f, u0, {0.0, 0.05, 0.1}, theta{.steps = 10}, cg{.rtol = 1e-13}, ic0{}).x - s.x) <= 1e-9);

  quadratic const logistic{2, -2};
  auto const grown = [&](int steps) {
    auto const g = integrate(logistic, full<double>(3, 0.1), {0.0, 1.0}, bdf2{.steps = steps});
    return double(std::abs(g.x[1] - 1 / (1 + 9 * std::exp(-2.0))));
  };
  CHECK(order_of(grown, 40) == Approx(2).margin(0.1));
  auto const single = integrate([](auto const& u, double) { return -1.0f * u; }, full<float>(2, 1.0f), {0.0, 0.1}, theta{.steps = 10}, lu{});
  CHECK(single.x[0] == Approx(std::exp(-0.1)).epsilon(1e-4));
  auto const wave = integrate([](auto const& u, double) { return std::complex<double>(0, 1) * u; }, full<std::complex<double>>(2, 1.0), {0.0, 1.0}, theta{.steps = 10}, lu{});
  CHECK(std::abs(std::complex<double>(wave.x[0])) == Approx(1).epsilon(1e-12));  // the trapezoidal rule keeps the modulus
}
TEST_CASE("integrate factorises once while f is linear and the step constant, and again where they are not") {
  heat const f;
  auto const u0 = f.mode();
  auto const linear = integrate(f, u0, {0.0, 0.1, 0.2, 0.3, 0.4}, theta{.steps = 7});  // 0.3 - 0.2 and 0.1 differ by rounding
  INFO(linear.report);
  CHECK(linear.report.set_ups == 1);
  CHECK(linear.report.newton_iterations <= 28);
  CHECK(integrate(f, u0, {0.0, 0.1, 0.3}, theta{.steps = 7}).report.set_ups == 2);
  CHECK(integrate(f, u0, {0.0, 0.1, 0.2}, bdf2{.steps = 7}).report.set_ups == 2);  // the first step is one of Euler's
  auto const cubic = integrate([&](auto const& u, double t) { return f(u, t) - 40.0 * (u * u * u); }, u0, {0.0, 0.1}, theta{.steps = 20});
  CHECK(cubic.report.set_ups < 20);
  CHECK(cubic.report.linear_solves >= 20);
  CHECK(cubic.report.largest_residual <= 1e-9);
  auto const steady = integrate([&](auto const& u, double t) { return f(u, t) - f(u0, t); }, u0, {0.0, 0.1}, theta{.steps = 3});
  CHECK(norm(steady.x - u0) <= 1e-13);
  CHECK_THAT(text(linear.report), ContainsSubstring("theta: 28 of 28 steps, to t = 0.4"));
}
TEST_CASE("checkpoints give states back, latest first, in the fewest steps, and store no more than is said") {
  std::map<std::pair<int, int>, long> known;
  for (int states : {1, 2, 3, 7, 20, 61}) {
    for (int capacity = 1; capacity <= 8; ++capacity) {
      checkpoint_stack<int> kept(capacity, 0);
      for (int n = states - 1; n >= 0; --n) {
        CHECK(kept.at(n, [](index_t k, int s) {
          CHECK(k == s);
          return s + 1;
        }) == n);
      }
      INFO(states << " states, " << capacity << " stored");
      CHECK(kept.most_stored() <= capacity);
      CHECK(kept.steps() == fewest_steps(states, capacity, known));
      CHECK(double(kept.steps()) == checkpointed_steps(states, capacity));
    }
  }
  CHECK_THROWS_WITH(checkpoint_stack<int>(0, 1), ContainsSubstring("at least the first"));
}
TEST_CASE("integrate: bad input and steps that fail say why, in one sentence") {
  auto const u0 = ones<double>(3);
  quadratic const decay{-1}, breaks{-1, 0, 0, 0.35}, bursts{0, 1};  // of u' = u^2, u = 1 / (1 - t); a step of 1/2 has no solution there
  CHECK_THROWS_WITH(integrate(decay, u0, {0.0, 1.0, 1.0}, theta{}), ContainsSubstring("times[2] = 1 comes after 1"));
  CHECK_THROWS_WITH(integrate(decay, u0, {0.0}, theta{}), ContainsSubstring("times has 1 elements"));
  CHECK_THROWS_WITH(integrate(decay, u0, {0.0, std::nan("")}, theta{}), ContainsSubstring("times[1] = nan"));
  CHECK_THROWS_WITH(integrate(decay, u0, {0.0, 1.0}, theta{.implicitness = 1.5}), ContainsSubstring(".implicitness = 1.5"));
  CHECK_THROWS_WITH(integrate(decay, u0, {0.0, 1.0}, theta{.steps = 0}), ContainsSubstring(".steps = 0"));
  for (double rtol : {-1.0, std::nan("")}) CHECK_THROWS_WITH(integrate(decay, u0, {0.0, 1.0}, theta{.rtol = rtol}), ContainsSubstring(text("theta{.rtol = ", rtol)));
  CHECK_THROWS_WITH(integrate(decay, u0, {0.0, 1.0}, bdf2{.max_iterations = -1}), ContainsSubstring(".max_iterations = -1"));
  CHECK_THROWS_WITH(integrate(decay, u0, {0.0, 1.0}, bdf2{.linear_rtol = 2}), ContainsSubstring(".linear_rtol = 2"));
  CHECK_THROWS_WITH(integrate(decay, u0, {0.0, 1.0}, bdf2{.checkpoints = -1}), ContainsSubstring(".checkpoints = -1"));
  CHECK_THROWS_WITH(integrate(decay, u0, {0.0, 1.0, 5.0}, bdf2{}), ContainsSubstring("step 2 of 2, from t = 1 to 5, is 4 times as long"));
  CHECK_THROWS_WITH(integrate(decay, vector<double>{1.0, std::nan(""), 1.0}, {0.0, 1.0}, theta{}), ContainsSubstring("u0 has nan at element 1"));
  CHECK_THROWS_WITH(integrate(decay, u0, {0.0, 1.0}, theta{}, mass(eye<double>(4)), lu{}), ContainsSubstring("M is 4 x 4, and u0 has 3"));
  CHECK_THROWS_WITH(integrate(decay, u0, {0.0, 1.0}, bdf2{}, mass(from_triplets<double>(3, 3, {0, 1, 2}, {0, 1, 2}, {1.0, std::nan(""), 1.0}))), ContainsSubstring("mass(A)): A(1, 1) is nan"));
  CHECK_THROWS_WITH(integrate(decay, u0, {0.0, 1.0}, theta{.implicitness = 0}, mass(from_triplets<double>(3, 3, {0, 1, 2}, {0, 1, 2}, {1.0, 0.0, 1.0})), lu{}), ContainsSubstring("step 1 of 1") && ContainsSubstring("singular"));
  auto const wide = from_triplets<double>(2, 3, {0, 1}, {0, 1}, {1.0, 1.0});
  CHECK_THROWS_WITH(integrate([&](auto const& u, double) { return wide * u; }, u0, {0.0, 1.0}, theta{}), ContainsSubstring("f(u, t) has 2 elements, and u 3"));
  CHECK_THROWS_WITH(integrate(breaks, u0, {0.0, 1.0}, theta{.steps = 10}), ContainsSubstring("step 4 of 10, from t = 0.3") && ContainsSubstring("at element 2"));
  CHECK_THROWS_WITH(integrate(quadratic{-1, 0, 0, 1e201}, u0, {0.0, 1e200}, theta{}), ContainsSubstring("the change of u in the step is inf: scale u, or take shorter steps"));
  CHECK_THROWS_AS(integrate(bursts, u0, {0.0, 2.0}, theta{.implicitness = 1, .steps = 4}), integration_error);
  CHECK_THROWS_WITH(integrate(bursts, u0, {0.0, 2.0}, theta{.implicitness = 1, .steps = 4}), ContainsSubstring("step 1 of 4, from t = 0 to 0.5 failed: newton"));
}
