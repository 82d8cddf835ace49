// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A solve inside of a program that CoDiPack differentiates: one external function on its tape, whose derivatives are vjp and jvp of the solve, instead of
// every operation of every iteration. It is built where codi.hpp is found (CoDiPack is under the GPL 3, and so is a program that includes it).
#include <algorithm>
#include <cmath>
#include <vector>

#include <codi.hpp>

#include <sla/grad.hpp>
#include <sla/solve.hpp>

#include "check.hpp"

namespace {
using active = codi::RealReverse;

/// What the external function has besides numbers: the pattern of A, and the solver that the value has set up, for the derivatives.
struct heat_system {
  sla::sparse_tensor<double> pattern;
  using solver_type = decltype(sla::prepare(pattern, sla::cg{.rtol = 1e-13}, sla::jacobi{}));
  std::shared_ptr<solver_type const> solver;
};
/// in: the values of A, then b. out: x with A x = b.
void solve_values(double const* in, std::size_t, double* out, std::size_t n, codi::ExternalFunctionUserData* data) {
  auto& system = *data->getData<heat_system*>();
  auto const nnz = system.pattern.nnz();
  system.solver = std::make_shared<heat_system::solver_type const>(sla::prepare(with_values(system.pattern, sla::borrow(in, nnz)), sla::cg{.rtol = 1e-13}, sla::jacobi{}));
  auto const x = system.solver->solve(sla::borrow(in + nnz, sla::index_t(n)));
  std::ranges::copy(x, out);
}
/// Backward: the cotangents of A and b from that of x.
void solve_backward(double const*, double* in_b, std::size_t, double const* x, double const* x_b, std::size_t n, codi::ExternalFunctionUserData* data) {
  auto const& system = *data->getData<heat_system*>();
  auto const size = sla::index_t(n);
  auto const [to_A, to_b] = vjp(sla::op::solve{}, *system.solver, sla::borrow(x, size), sla::borrow(x_b, size));
  std::copy(to_A.values().begin(), to_A.values().end(), in_b);
  std::ranges::copy(to_b, in_b + to_A.nnz());
}
/// Forward: x, and its tangent from those of A and b.
void solve_forward(double const* in, double const* in_d, std::size_t m, double* x, double* x_d, std::size_t n, codi::ExternalFunctionUserData* data) {
  solve_values(in, m, x, n, data);
  auto const& system = *data->getData<heat_system*>();
  auto const size = sla::index_t(n), nnz = system.pattern.nnz();
  auto const dx = jvp(sla::op::solve{}, *system.solver, sla::borrow(x, size), sla::sparse_tensor<double>(with_values(system.pattern, sla::borrow(in_d, nnz))), sla::borrow(in_d + nnz, size));
  std::ranges::copy(dx, x_d);
}

/// The temperatures of a plate that loses heat at the rate k where it is warm: (A + k diag(s)) x = b, and what they cost. Number is double or CoDiPack's.
template <class Number, class Solve>
Number cost(sla::sparse_tensor<double> const& A, std::vector<Number> const& k, Solve const& solve) {
  std::vector<Number> in;
  for (sla::index_t i = 0; i < A.rows(); ++i)
    A.pattern().view().for_row(i, [&](sla::index_t s, sla::index_t j) {
      Number const base = A.values()[s];
      in.push_back(i == j ? Number(base + exp(k[std::size_t(i) % k.size()])) : base);
    });
  for (sla::index_t i = 0; i < A.rows(); ++i) in.push_back(1.0 + 0.5 * sin(0.1 * k[0] * double(i)));
  std::vector<Number> x(std::size_t(A.rows()));
  solve(in, x);
  Number total = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) total += x[i] * x[i] * (1.0 + 0.1 * double(i % 3));
  return total;
}
} // namespace

int main() {
  using namespace sla;
  heat_system system{problems::poisson<double>({12, 11}), nullptr};
  std::vector<double> const at{0.3, -0.2, 0.1, 0.4};

  auto& tape = active::getTape();
  std::vector<active> k(at.begin(), at.end());
  tape.setActive();
  for (active& each : k) tape.registerInput(each);
  active y = cost(system.pattern, k, [&](std::vector<active>& in, std::vector<active>& x) {
    codi::ExternalFunctionHelper<active> on_tape;
    for (active const& each : in) on_tape.addInput(each);
    for (active& each : x) on_tape.addOutput(each);
    on_tape.addUserData(&system);
    on_tape.callPrimalFunc(solve_values);
    on_tape.addToTape(solve_backward, solve_forward);
  });
  tape.registerOutput(y);
  tape.setPassive();
  y.setGradient(1.0);
  tape.evaluate();
  std::vector<double> gradient;
  for (active const& each : k) gradient.push_back(each.getGradient());

  // Forward along a direction, on the same tape.
  std::vector<double> const d{1.0, -0.5, 0.25, 2.0};
  tape.clearAdjoints();
  for (std::size_t n = 0; n < k.size(); ++n) k[n].setGradient(d[n]);
  tape.evaluateForward();
  double const tangent = y.getGradient();

  // Against central differences of a program without tapes.
  auto plain = [&](std::vector<double> const& p) {
    return cost(system.pattern, p, [&](std::vector<double>& in, std::vector<double>& x) {
      auto const nnz = system.pattern.nnz();
      auto const found = lu(eval(with_values(system.pattern, borrow(in.data(), nnz)))).solve(borrow(in.data() + nnz, system.pattern.rows()));
      std::ranges::copy(found, x.begin());
    });
  };
  double apart = 0, largest = 0, along = 0;
  for (std::size_t n = 0; n < at.size(); ++n) {
    double const h = 1e-5;
    auto plus = at, minus = at;
    plus[n] += h, minus[n] -= h;
    double const slope = (plain(plus) - plain(minus)) / (2 * h);
    apart = std::max(apart, std::abs(slope - gradient[n])), largest = std::max(largest, std::abs(slope)), along += gradient[n] * d[n];
  }
  checks check;
  check.at_most("value by CoDiPack's tape against the plain program, relative", std::abs(y.getValue() - plain(at)) / plain(at), 1e-10);
  check.at_most("gradient through the solve against differences, relative", apart / largest, 1e-7);
  check.at_most("tangent forward against the gradient, relative", std::abs(tangent - along) / std::abs(along), 1e-9);
  return check.exit_status();
}
