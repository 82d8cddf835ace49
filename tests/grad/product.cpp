// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products with sparse tensors, to x and to the values of A: <J v, w> = <v, J^H w> to 1e-12 (both sides are linear), in every
// orientation, real and complex, on real matrices; and the values of A as a traced vector.
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "suites/gradient_product.hpp"

using namespace sla;
using complex_t = std::complex<double>;
using gradient::direction;
using gradient::pairing, gradient::check_product;
using gradient::adjoint_times, gradient::conj_times, gradient::times, gradient::transpose_times;

TEST_CASE("a rectangular real matrix") {
  auto const A = read_matrix_market<double>(data("well1850.mtx"));
  check_product(A, random<double>(A.cols(), 1), times);
  check_product(A, random<double>(A.rows(), 1), transpose_times);
}

TEST_CASE("either operand may be constant") {
  auto const A = read_matrix_market<double>(data("utm300.mtx"));
  auto const x = random<double>(A.cols(), 1), w = random<double>(A.rows(), 2);
  auto const f = [&w](auto const& B, auto const& z) { return dot(w, B * z + transpose(B) * z); };
  auto const [value, gA, gx] = value_and_gradient(f, A, x);
  auto const [only_x, gx2] = value_and_gradient([&](auto const& z) { return f(A, z); }, x);
  auto const [only_A, gA2] = value_and_gradient([&](auto const& B) { return f(B, x); }, A);
  CHECK((double(norm(gx2 - gx)) == 0 && double(norm(values(gA2) - values(gA))) == 0));
}

TEST_CASE("a complex matrix, in every orientation") {
  auto const A = read_matrix_market<complex_t>(data("young1c.mtx"));
  auto const x = random<complex_t>(A.cols(), 1);
  check_product(A, x, times);
  check_product(A, x, transpose_times);
  check_product(A, x, adjoint_times);
  check_product(A, x, conj_times);
}

TEST_CASE("by diagonals, whose transpose is read by rows") {
  auto const A = to<Dia>(problems::convection_diffusion<complex_t>({9, 8}, 2.0));
  auto const x = random<complex_t>(A.cols(), 1);
  check_product(A, x, times);
  check_product(A, x, transpose_times);
  check_product(A, x, adjoint_times);
}

TEST_CASE("a matrix with its adjoint stored is an operator, whose gradients go by both") {
  auto const A = read_matrix_market<double>(data("well1850.mtx"));
  auto const x = random<double>(A.cols(), 1), w = random<double>(A.rows(), 2);
  auto const K = with_adjoint(A);
  auto const loss = [&](auto const& a, auto const& z) { return squared_norm(w - a * z) + dot(z, adjoint(a) * (a * z)); };
  auto const [value, g] = value_and_gradient([&](auto const& z) { return loss(K, z); }, x);
  auto const [expected, h] = value_and_gradient([&](auto const& z) { return loss(A, z); }, x);
  CHECK(value == Approx(expected));
  CHECK(double(norm(g - h)) <= 1e-12 * double(norm(h)));
}

TEST_CASE("a real matrix and a complex vector: the real part counts") {
  auto const A = read_matrix_market<double>(data("utm300.mtx"));
  check_product(A, random<complex_t>(A.cols(), 1), times);
}

TEST_CASE("vjp without a tape") {
  auto const A = read_matrix_market<double>(data("utm300.mtx"));
  auto const x = random<double>(A.cols(), 1), w = random<double>(A.rows(), 2);
  auto const dA = direction(A, 3);
  auto const [gA, gx] = vjp(op::matvec{}, A, x, w);
  CHECK(pairing(eval(dA * x), w) == Approx(pairing(dA, gA)).epsilon(1e-12));
  CHECK(double(norm(gx - transpose(A) * w)) == 0);
  auto const [tA, tx] = vjp(op::transposed_matvec{}, A, x, w);
  CHECK(pairing(eval(transpose(dA) * x), w) == Approx(pairing(dA, tA)).epsilon(1e-12));
  CHECK(double(norm(tx - A * w)) == 0);
}

TEST_CASE("the values of a sparse tensor are traced too") {
  auto const A = problems::poisson<double>({6, 5});
  auto const x = random<double>(A.cols(), 1), k = random<double>(A.values().size(), 2);
  auto const f = [&](auto const& B, auto const& v, auto const& s) {
    auto const C = 2.0 * (with_values(B, exp(v) * values(B)) * s) / 3;
    return 0.5 * squared_norm(C * x) + sum(values(-B) * values(C));
  };
  double const s = 0.6;
  auto const [value, gA, gk, gs] = value_and_gradient(f, A, k, s);
  CHECK(value == Approx(double(f(A, k, s))));
  CHECK(gradient::taylor_rate([&](auto const& B) { return f(B, k, s); }, A, gA, direction(A, 1), 0.1) == Approx(2).margin(0.05));
  CHECK(gradient::taylor_rate([&](auto const& v) { return f(A, v, s); }, k, gk, random<double>(k.size(), 4), 0.01) == Approx(2).margin(0.05));
  CHECK(gradient::taylor_rate([&](double t) { return f(A, k, t); }, s, gs, 1.0, 0.1) == Approx(2).margin(0.05));
}
