// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients through direct solves: J^H against J to 1e-10 (residuals of 1e-13); complex, transposed, adjoint.
#include <sla/grad.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "suites/gradient.hpp"

using namespace sla;
using complex_t = std::complex<double>;
using gradient::direction;
using gradient::pairing;

namespace {
/// <w, x> for x of op(A) x = b by `run(A, b)`: dx = op(A)^-1 (db - op(dA) x).
template <class A, class F, class G>
void check_system(A const& a, F const& run, G const& times) {
  using V = vector<typename A::value_type>;
  V const b = random<typename A::value_type>(a.rows(), 1), w = random<typename A::value_type>(a.rows(), 2);
  auto const [value, gA, gb] = value_and_gradient([&](auto const& B, auto const& c) { return real(dot(w, run(B, c))); }, a, b);
  V const x = run(a, b), db = random<typename A::value_type>(a.rows(), 3);
  CHECK(value == Approx(pairing(w, x)).epsilon(1e-10));
  CHECK(pairing(w, V(run(a, db))) == Approx(pairing(gb, db)).epsilon(1e-10));
  auto const dA = direction(a, 4);
  V const moved = times(dA, x), dx = run(a, moved);
  CHECK(-pairing(w, dx) == Approx(pairing(gA, dA)).epsilon(1e-10));
}
lu<> const exact = [] {
  lu<> method;
  method.rtol = 1e-12;
  return method;
}();
}  // namespace

TEST_CASE("complex systems: plain, transposed, adjoint") {
  auto const A = read_matrix_market<complex_t>(data("young1c.mtx"));
  check_system(A, [](auto const& B, auto const& c) { return solve(B, c, exact); }, [](auto const& D, auto const& x) { return D * x; });
  check_system(A, [](auto const& B, auto const& c) { return prepare(B, exact).solve_transpose(c); },
               [](auto const& D, auto const& x) { return transpose(D) * x; });
  check_system(A, [](auto const& B, auto const& c) { return prepare(B, exact).solve_adjoint(c); },
               [](auto const& D, auto const& x) { return adjoint(D) * x; });
}

TEST_CASE("complex systems with a view of A as their matrix: solved, tried, prepared") {
  auto const A = read_matrix_market<complex_t>(data("young1c.mtx"));
  check_system(A, [](auto const& B, auto const& c) { return solve(transpose(B), c, exact); },
               [](auto const& D, auto const& x) { return transpose(D) * x; });
  check_system(A, [](auto const& B, auto const& c) { return try_solve(adjoint(B), c, exact).x; },
               [](auto const& D, auto const& x) { return adjoint(D) * x; });
  check_system(A, [](auto const& B, auto const& c) { return prepare(conj(B), exact).solve(c); },
               [](auto const& D, auto const& x) { return conj(D) * x; });
}

TEST_CASE("a system of transpose(A) with one constant side, and its tangent") {
  auto const A = problems::convection_diffusion<double>({9, 8}, {3.0, 1.0});
  auto const b = random<double>(A.rows(), 1), w = random<double>(A.rows(), 2);
  auto const prepared = prepare(A, exact);
  auto const x = prepared.solve_transpose(b), back = prepared.solve(w);
  auto const [to_A, gA] = value_and_gradient([&](auto const& B) { return dot(w, solve(transpose(B), b, exact)); }, A);
  auto const [to_b, gb] = value_and_gradient([&](auto const& c) { return dot(w, solve(transpose(A), c, exact)); }, b);
  auto const dA = direction(A, 4);
  vector<double> const moved = transpose(dA) * x;
  auto const slope = -pairing(back, moved);
  CHECK(pairing(gA, dA) == Approx(slope).epsilon(1e-10));
  CHECK(double(norm(gb - back)) <= 1e-10 * double(norm(back)));
  auto const [value, forward] = jvp([&](auto const& B) { return dot(w, solve(transpose(B), b, exact)); }, std::tie(A), std::tie(dA));
  CHECK(value == Approx(pairing(w, x)).epsilon(1e-10));
  CHECK(forward == Approx(slope).epsilon(1e-10));
}

TEST_CASE("a complex step through a solve agrees to 1e-11") {
  auto const A = problems::convection_diffusion<double>({9, 8}, {3.0, 1.0});
  auto const b = random<double>(A.rows(), 1), db = random<double>(A.rows(), 3);
  auto const dA = direction(A, 4);
  auto const f = [](auto const& B, auto const& c) {
    auto const x = solve(B, c, exact);
    return eval(sum(x * x * x + B * x));
  };
  auto const [value, gA, gb] = value_and_gradient(f, A, b);
  complex_t const h(0, 1e-30);
  complex_t const along_b = f(cast<complex_t>(A), eval(b + h * db)), along_A = f(with_values(A, values(A) + h * values(dA)), cast<complex_t>(b));
  CHECK(along_b.real() == Approx(double(value)));
  CHECK(std::abs(along_b.imag() / h.imag() - pairing(gb, db)) <= 1e-11 * std::abs(pairing(gb, db)));
  CHECK(std::abs(along_A.imag() / h.imag() - pairing(gA, dA)) <= 1e-11 * std::abs(pairing(gA, dA)));
}
