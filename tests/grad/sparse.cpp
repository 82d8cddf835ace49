// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Algebra of sparse tensors: <C', dC> = <A', dA> to 1e-12 for each operand, in which each operation is linear, over batches,
// blocks and complex numbers; the same by forward mode; the Taylor remainder of a composition.
#include <limits>

#include <sla/grad/operation/traced_apply.hpp>
#include <sla/grad/operation/traced_entries.hpp>
#include <sla/grad/call/gradient.hpp>
#include <sla/grad/call/jvp.hpp>
#include <sla/grad/operation/traced_slice.hpp>
#include <sla/grad/operation/traced_sparse.hpp>
#include <sla/solve/direct/fill_ordering.hpp>
#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/dual.hpp"
#include "suites/gradient.hpp"
#include "tensor/oracle.hpp"

using namespace sla;
using complex_t = std::complex<double>;
using gradient::direction, gradient::pairing;

namespace {
/// C = apply(A, X), bilinear, or affine with both parts linear: its cotangents of A and X against C itself.
template <class A, class X, class F>
void check_pair(A const& a, X const& x, X const& dx, F const& apply) {
  auto const C = apply(a, x);
  auto const W = direction(C, 5);
  vector<typename decltype(W)::value_type> const w = values(W);
  auto const dA = direction(a, 6);
  auto const [value, gA, gX] = value_and_gradient([&](auto const& b, auto const& y) { return real(dot(w, values(apply(b, y)))); }, a, x);
  CHECK(value == Approx(pairing(C, W)).epsilon(1e-12));
  CHECK(gA.shared_pattern() == a.shared_pattern());
  auto const change_A = apply(a + dA, x) - C, change_X = apply(a, gradient::moved(x, 1, dx)) - C;
  CHECK(pairing(change_A, W) == Approx(pairing(dA, gA)).epsilon(1e-11));
  CHECK(pairing(change_X, W) == Approx(pairing(dx, gX)).epsilon(1e-11));
  auto const [again, dC] = jvp(apply, std::tie(a, x), std::tie(dA, dx));
  CHECK(double(norm(values(again) - values(C))) == 0);
  CHECK(pairing(dC, W) == Approx(pairing(dA, gA) + pairing(dx, gX)).epsilon(1e-11));
}

sparse_tensor<double> example(index_t rows, index_t cols, index_t entries, std::uint64_t seed) { return random_triplets(rows, cols, entries, seed).build(); }

auto const multiplied = [](auto const& A, auto const& B) { return A * B; };
}  // namespace

TEST_CASE("products: each cotangent on the pattern of its operand") {
  auto const A = example(40, 30, 200, 1), B = example(30, 50, 200, 2);
  check_pair(A, B, direction(B, 3), multiplied);
  auto const L = example(3000, 2000, 40000, 1), R = example(2000, 2500, 40000, 2);  // on several threads
  check_pair(L, R, direction(R, 3), multiplied);
}

TEST_CASE("products of complex blocks in a batch with one item for all") {
  auto Z = cast<complex_t>(to_batch<2>(to_blocks<2, 3>(example(8, 9, 20, 5))));
  Z = Z + complex_t(0.5, 1) * direction(Z, 1);
  auto const P = to_blocks<3, 2>(example(9, 6, 20, 6));
  check_pair(Z, P, direction(P, 3), multiplied);
  check_pair(example(3, 4, 6, 7), Z, direction(Z, 3), [](auto const& A, auto const& B) { return kron(A, B); });
}

TEST_CASE("sums, views, and numbers") {
  auto const A = example(20, 30, 80, 1), B = example(20, 30, 90, 2);
  auto const sums = [](auto const& a, auto const& b) { return add(2, a, -0.5, b) - 3.0 * a; };
  check_pair(A, B, direction(B, 3), sums);
  check_pair(A, A, direction(A, 3), sums);
  check_pair(A, B, direction(B, 3), [](auto const& a, auto const& b) { return transpose(a) * b; });
  auto Z = cast<complex_t>(to_batch<2>(A));
  Z = Z + complex_t(0.5, 1) * direction(Z, 1);
  check_pair(Z, B, direction(B, 3), [](auto const& a, auto const& b) { return add(complex_t(0, 1), conj(a), 2, b); });
  check_pair(Z, B, direction(B, 3), [](auto const& a, auto const& b) { return complex_t(0, 1) * adjoint(a) - transpose(b) / 0.5 + (-transpose(a)) * 2.0; });
  check_pair(A, 3.0, 0.5, [&](auto const& a, auto const& s) { return s * transpose(B) - transpose(a); });
}

TEST_CASE("rows and columns are scaled") {
  auto const A = example(20, 30, 80, 1);
  check_pair(A, random<double>(30, 2), random<double>(30, 3), [](auto const& a, auto const& d) { return scale_cols(a, d); });
  auto Z = cast<complex_t>(to_batch<2>(to_blocks<2, 3>(example(8, 9, 20, 5))));
  Z = Z + complex_t(0.5, 1) * direction(Z, 1);
  using E = Extents<2, dyn, 2>;
  check_pair(Z, random<complex_t, E>(Z.range(), 1), random<complex_t, E>(Z.range(), 2), [](auto const& a, auto const& d) { return scale_rows(a, d); });
}

TEST_CASE("one operand may be constant") {
  auto const A = example(20, 30, 80, 1), B = example(30, 25, 90, 2);
  auto const r = random<double>(20, 1);
  auto const f = [](auto const& a, auto const& b, auto const& d) { return squared_norm(values(scale_rows(a, d) * b)); };
  auto const [value, gA, gB, gr] = value_and_gradient(f, A, B, r);
  auto const [v1, only_A] = value_and_gradient([&](auto const& a) { return f(a, B, r); }, A);
  auto const [v2, only_B] = value_and_gradient([&](auto const& b) { return f(A, b, r); }, B);
  auto const [v3, only_r] = value_and_gradient([&](auto const& d) { return f(A, B, d); }, r);
  CHECK(double(norm(values(gA) - values(only_A))) <= 1e-13 * double(norm(values(gA))));
  CHECK(double(norm(values(gB) - values(only_B))) <= 1e-13 * double(norm(values(gB))));
  CHECK(double(norm(gr - only_r)) <= 1e-13 * double(norm(gr)));
}

TEST_CASE("through a Galerkin product with a shift") {
  auto const A = problems::poisson<double>({6, 5});
  auto const P = example(30, 8, 60, 3) + from_triplets<double>(30, 8, {0, 5, 10, 15, 20, 25, 27, 29}, {0, 1, 2, 3, 4, 5, 6, 7}, std::vector(8, 5.0));
  auto const I = from_triplets<double>(8, 8, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, std::vector(8, 1.0));
  auto const b = random<double>(8, 1);
  auto const f = [&](auto const& a, auto const& p, auto const& shift) {
    auto const coarse = transpose(p) * (a * p) + shift * I;
    return 0.01 * squared_norm(coarse * (coarse * b));
  };
  auto const [value, gA, gP, gs] = value_and_gradient(f, A, P, 2.0);
  CHECK(gradient::taylor_rate([&](auto const& a) { return f(a, P, 2.0); }, A, gA, direction(A, 1), 0.05) == Approx(2).margin(0.05));
  CHECK(gradient::taylor_rate([&](auto const& p) { return f(A, p, 2.0); }, P, gP, direction(P, 1), 0.05) == Approx(2).margin(0.05));
  CHECK(gradient::taylor_rate([&](double s) { return f(A, P, s); }, 2.0, gs, 1.0, 0.1) == Approx(2).margin(0.05));
}

TEST_CASE("functions of the stored values") {
  auto A = example(9, 9, 30, 1);
  A = with_values(A, values(A) - 20.0);  // negative, all of them
  gradient::check_dual([](auto const& a) { return abs2(a) + sqrt(abs(transpose(a) * 1.0)) * a; }, std::tie(std::as_const(A)));
}

TEST_CASE("diagonals, and diagonal matrices") {
  auto const of = [](auto const&... x) { return std::tuple<decltype(x)...>(x...); };
  auto const A = example(20, 30, 200, 1);
  auto const square = [](auto const& a) { return diagonal_of(a) * diagonal_of(a); };
  gradient::check_dual(square, of(A));
  gradient::check_dual(square, of(to<Dia>(A)));
  gradient::check_dual([](auto const& a) { return diagonal_of(transpose(a) * a); }, of(A));
  auto Z = cast<complex_t>(to_batch<2>(to_blocks<3, 3>(example(9, 9, 50, 5))));
  Z = Z + complex_t(0.5, 1) * direction(Z, 1);
  gradient::check_dual(square, of(Z));
  gradient::check_dual([](auto const& a) { return diagonal_of(adjoint(a)) * diagonal_of(a); }, of(Z));

  auto const v = random<complex_t, Extents<2, dyn>>({2, 20}, 3);
  gradient::check_dual([](auto const& x) { return diagonal(x * x); }, of(v));
  gradient::check_dual([](auto const& a, auto const& x) { return a + diagonal(2.0 * x) * a; }, of(example(20, 20, 80, 1), random<double>(20, 4)));

  // entries that a user's arrays repeat are summands of one element each
  std::vector<int> const row_ptr{0, 3, 4}, col{0, 1, 0, 1};
  std::vector<double> const numbers{1.0, 2.0, 4.0, 8.0};
  auto const twice = borrow_csr(2, 2, row_ptr, col, numbers);
  auto const [d, g] = value_and_gradient([](auto const& a) { return squared_norm(diagonal_of(a)); }, twice);
  CHECK(d == 25 + 64);
  CHECK(std::vector<double>(g.values().begin(), g.values().end()) == std::vector<double>{10, 0, 10, 16});

  auto const G = random<double>(20, 5);
  auto const [gA] = vjp(op::diagonal_of{}, A, G);
  CHECK(pairing(diagonal_of(direction(A, 6)), G) == Approx(pairing(direction(A, 6), gA)).epsilon(1e-12));
  auto const [gv] = vjp(op::diagonal{}, G, direction(diagonal(G), 7));
  CHECK(pairing(gv, G) == Approx(pairing(direction(diagonal(G), 7), diagonal(G))).epsilon(1e-12));
}

TEST_CASE("masks and products of entries") {
  auto const of = [](auto const&... x) { return std::tuple<decltype(x)...>(x...); };
  auto const A = example(20, 30, 200, 1), B = example(20, 30, 250, 2);
  auto const product = [](auto const& a, auto const& b) { return multiply_elements(a, b); };
  gradient::check_dual(product, of(A, B));
  gradient::check_dual([](auto const& a) { return multiply_elements(a, a) + multiply_elements(a, 2.0 * a); }, of(A));
  gradient::check_dual([&](auto const& a) { return masked(a, B) * transpose(masked(B, a)) + masked(a, transpose(example(30, 20, 90, 4))) * transpose(a); }, of(A));
  gradient::check_dual([&](auto const& a) { return multiply_elements(transpose(a), transpose(B)); }, of(to<Coo<>>(A)));
  auto Z = cast<complex_t>(to_batch<2>(to_blocks<2, 3>(example(8, 9, 40, 5))));
  Z = Z + complex_t(0.5, 1) * direction(Z, 1);
  gradient::check_dual(product, of(Z, to_batch<2>(to_blocks<2, 3>(example(8, 9, 40, 6)))));
  std::vector<int> const row_ptr{0, 3, 4}, col{1, 0, 1, 0};
  std::vector<double> const numbers{1.0, 2.0, 4.0, 8.0};
  auto const twice = borrow_csr(2, 2, row_ptr, col, numbers);
  auto const [value, g] = value_and_gradient([](auto const& a) { return sum(values(multiply_elements(a, a))); }, twice);
  CHECK(value == 25 + 4 + 64);
  CHECK(std::vector<double>(g.values().begin(), g.values().end()) == std::vector<double>{10, 4, 10, 16});
}

TEST_CASE("triangles") {
  auto const of = [](auto const&... x) { return std::tuple<decltype(x)...>(x...); };
  auto const A = example(20, 30, 200, 1);
  gradient::check_dual([](auto const& a) { return multiply_elements(tril(a, -1), a) + triu(transpose(transpose(a)), 2); }, of(A));
  auto Z = cast<complex_t>(to_batch<2>(to_blocks<2, 3>(example(8, 9, 40, 5))));
  gradient::check_dual([](auto const& a) { return tril(multiply_elements(a, a), 1); }, of(complex_t(0.5, 1) * Z));
  auto const f = [](auto const& a) { return squared_norm(values(tril(a) * triu(a, 1))); };
  auto const square = example(20, 20, 100, 3);
  auto const [value, g] = value_and_gradient(f, square);
  CHECK(gradient::taylor_rate(f, square, g, direction(square, 1), 0.05) == Approx(2).margin(0.05));
}

TEST_CASE("permuted vectors") {
  auto const of = [](auto const&... x) { return std::tuple<decltype(x)...>(x...); };
  std::vector<int> const p{3, 0, 4, 1, 2};
  auto const A = example(5, 5, 20, 1);
  auto const b = random<double>(5, 1);
  gradient::check_dual([&](auto const& x) { return permuted(x, p); }, of(b));
  gradient::check_dual([&](auto const& x) { return permuted(2.0 * x, p) * x; }, of(random<complex_t, Extents<dyn, 3>>({5, 3}, 2)));
  gradient::check_dual([&](auto const& a, auto const& x) { return permuted(permuted(a, p) * permuted(x, p), inverse_permutation(p)); }, of(A, b));
}

TEST_CASE("systems with known unknowns") {
  auto const of = [](auto const&... x) { return std::tuple<decltype(x)...>(x...); };
  auto const A = problems::poisson<double>({4, 3});
  auto const b = random<double>(12, 1), v = random<double>(3, 2);
  std::vector<int> const fixed{5, 0, 11};
  gradient::check_dual([&](auto const& a, auto const& r, auto const& x) { return eliminate(a, r, fixed, x).second * r; }, of(A, b, v));
  gradient::check_dual([&](auto const& a, auto const& r, auto const& s) { return transpose(eliminate(a, r, fixed, s).first) * eliminate(a, r, fixed, s).second; }, of(A, b, 0.7));
  auto unread = b;  // in the fixed rows
  for (int const i : fixed) unread[i] = std::numeric_limits<double>::quiet_NaN();
  auto const loss = [&](auto const& a, auto const& r, auto const& x) { return squared_norm(eliminate(a, r, fixed, x).second); };
  auto const [value, gA, gb, gv] = value_and_gradient(loss, A, unread, v);
  auto const [again, hA, hb, hv] = value_and_gradient(loss, A, b, v);
  CHECK(value == again);
  CHECK((double(norm(values(gA - hA))) == 0 && double(norm(gb - hb)) == 0 && double(norm(gv - hv)) == 0));
  for (int const i : fixed) CHECK(gb[i] == 0);
}

TEST_CASE("functions of traced entries that are stored twice are refused") {
  std::vector<int> const row_ptr{0, 2}, col{0, 0};
  std::vector<double> const value{1, -3};
  auto const A = borrow_csr(1, 1, row_ptr, col, value);
  auto const f = [](auto const& a) { return sum(values(abs(a))); };
  CHECK(double(f(A)) == 2);
  CHECK_THROWS_WITH(value_and_gradient(f, A), Catch::Matchers::ContainsSubstring("sum them before it is traced, sorted(A)"));
  CHECK(std::get<1>(value_and_gradient(f, sorted(A))).values()[0] == -1);
}

TEST_CASE("vjp of sparse operations without a tape") {
  auto const A = example(20, 30, 80, 1), B = example(30, 25, 90, 2);
  auto const C = A * B, W = direction(C, 5);
  auto const dA = direction(A, 6), dB = direction(B, 7);
  auto const [gA, gB] = vjp(op::mul{}, A, B, W);
  multiply_plan const plan(A, B);
  CHECK(pairing(plan(dA, B), W) == Approx(pairing(dA, gA)).epsilon(1e-12));
  CHECK(pairing(plan(A, dB), W) == Approx(pairing(dB, gB)).epsilon(1e-12));
  CHECK_THROWS_AS(vjp(op::mul{}, A, B, A), shape_error);
  auto const d = random<double>(30, 1), dd = random<double>(30, 2);
  auto const G = direction(A, 8);
  auto const [sA, sd] = vjp(op::scale_cols{}, A, d, G);
  CHECK(pairing(scale_cols(dA, d), G) == Approx(pairing(dA, sA)).epsilon(1e-12));
  CHECK(pairing(scale_cols(A, dd), G) == Approx(pairing(dd, sd)).epsilon(1e-12));
}
