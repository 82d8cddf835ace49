// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A solve inside of a function that Enzyme differentiates: its derivative is registered, one adjoint solve by vjp, so that Enzyme need not look into the
// library. It is built by clang where CMake finds Enzyme (find_package(Enzyme), the target ClangEnzymeFlags).
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include <sla/grad.hpp>
#include <sla/solve.hpp>

#include "check.hpp"

// What Enzyme knows by name.
extern int enzyme_dup;
template <class... Args>
void __enzyme_autodiff(void*, Args...);  // NOLINT

namespace {
constexpr sla::index_t side = 8, size = side * side;
using solver_type = sla::cholesky<sla::sparse_tensor<double>>;

/// A(k): the Laplacian and a loss of heat, exp(k[i]), at each point.
sla::sparse_tensor<double> matrix(double const* k) {
  auto A = sla::problems::poisson<double>({side, side});
  for (sla::index_t i = 0; i < size; ++i) A.values()[sla::find_slot(A.pattern().view(), i, i)] += std::exp(k[i]);
  return A;
}
std::unique_ptr<solver_type> solve_and_keep(double const* k, double* x) {
  auto solver = std::make_unique<solver_type>(matrix(k));
  auto const found = solver->solve(sla::ones<double>(size));
  std::ranges::copy(found, x);
  return solver;
}
} // namespace

/// x with A(k) x = 1.
__attribute__((noinline)) void temperatures(double const* k, double* x) { solve_and_keep(k, x); }
/// The same on the way forth: what it returns comes back in the gradient.
__attribute__((noinline)) void* temperatures_forth(double const* k, double*, double* x, double*) { return solve_and_keep(k, x).release(); }
/// On the way back: k_b += what x_b makes of it; x was written, so that its cotangent is used up.
__attribute__((noinline)) void temperatures_back(double const* k, double* k_b, double* x, double* x_b, void* kept) {
  std::unique_ptr<solver_type> const solver(static_cast<solver_type*>(kept));
  auto const [to_A, to_b] = vjp(sla::op::solve{}, *solver, sla::borrow(x, size), sla::borrow(x_b, size));
  auto const diagonal = sla::eval(sla::diagonal_of(to_A));
  for (sla::index_t i = 0; i < size; ++i) k_b[i] += diagonal[i] * std::exp(k[i]), x_b[i] = 0;
}
__attribute__((used)) void* __enzyme_register_gradient_temperatures[3] = {  // NOLINT
    reinterpret_cast<void*>(temperatures), reinterpret_cast<void*>(temperatures_forth), reinterpret_cast<void*>(temperatures_back)};

/// What Enzyme differentiates: plain C++ around the solve.
double cost(double const* k) {
  double x[size], total = 0;
  temperatures(k, x);
  for (sla::index_t i = 0; i < size; ++i) total += x[i] * x[i] * (1.0 + 0.1 * double(i % 3)) + 1e-3 * k[i] * k[i] * x[0];
  return total;
}

int main() {
  std::array<double, size> k, gradient{};
  for (sla::index_t i = 0; i < size; ++i) k[std::size_t(i)] = std::sin(0.3 * double(i));
  __enzyme_autodiff(reinterpret_cast<void*>(cost), enzyme_dup, k.data(), gradient.data());

  // The same function, traced by the library.
  sla::vector<double> weights(size);
  for (sla::index_t i = 0; i < size; ++i) weights[i] = 1.0 + 0.1 * double(i % 3);
  auto const A = sla::problems::poisson<double>({side, side});
  auto const traced = [&](auto const& p) {
    auto const x = solve(A + sla::diagonal(exp(p)), sla::ones<double>(size), sla::cholesky{});
    return dot(weights, x * x) + 1e-3 * squared_norm(p) * x[0];
  };
  auto const [value, g] = sla::value_and_gradient(traced, sla::borrow(k.data(), size));
  checks check;
  check.at_most("cost, plain against traced, relative", std::abs(cost(k.data()) - value) / value, 1e-12);
  check.at_most("gradient by Enzyme against that of the library, relative", norm(sla::borrow(gradient.data(), size) - g) / norm(g), 1e-10);
  return check.exit_status();
}
