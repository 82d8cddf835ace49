// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sum and norms of traced sparse tensors, in both modes: <w, J d> = <J^H w, d>, Taylor remainders, and subgradients at ties by hand.
// Elements x(i) and A(i, j), means and clamped elements; orders of a traced matrix.
#include <sla/grad/operation/traced_apply.hpp>
#include <sla/grad/call/check_gradient.hpp>
#include <sla/grad/operation/traced_entries.hpp>
#include <sla/grad/operation/traced_norms.hpp>
#include <sla/grad/operation/traced_slice.hpp>
#include <sla/grad/operation/traced_solve.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/dual.hpp"
#include "tensor/oracle.hpp"

namespace test_norms {

using namespace sla;
using complex_t = std::complex<double>;

namespace {
auto const of = [](auto const&... x) { return std::tuple<decltype(x)...>(x...); };
auto some_matrix() { return random_triplets(12, 9, 50, 4).build(); }
/// All numbers, in both modes.
template <class A>
void check_numbers(A const& a) {
  gradient::check_dual([](auto const& m) { return sum(m); }, of(a));
  gradient::check_dual([](auto const& m) { return norm(m); }, of(a), {.h = 1e-5});
  gradient::check_dual([](auto const& m) { return norm1(m); }, of(a), {.h = 1e-5});
  gradient::check_dual([](auto const& m) { return norm_inf(m); }, of(a), {.h = 1e-5});
}
} // namespace

TEST_CASE("numbers of sparse tensors in both modes") {
  auto const A = some_matrix();
  check_numbers(A);
  check_numbers(to<Coo<>>(A));
  auto const D = to<Dia>(problems::convection_diffusion<double>({4, 3}, {3.0, 1.0}));
  check_numbers(with_values(D, values(D) * (1.0 + 0.1 * random<double>(D.values().size(), 8))));  // no ties
  auto Z = cast<complex_t>(A);
  Z = Z + complex_t(0.5, 1) * gradient::direction(Z, 1);
  check_numbers(Z);
  auto blocks = to_batch<2>(to_blocks<2, 4>(random_triplets(6, 8, 20, 5).build()));
  blocks = blocks + gradient::direction(blocks, 2);
  check_numbers(blocks);
  gradient::check_dual([](auto const& m) { return norm1(adjoint(m)) * norm(m) / norm_inf(2.0 * m); }, of(Z), {.h = 1e-5});
  auto const used_twice = [](auto const& m) { return norm(m) * squared_norm(values(m)) + sum(m) * norm_inf(transpose(m)); };
  CHECK(check_gradient(used_twice, std::tie(A), {.step = 1e-4, .out = nullptr}).passed);
}

TEST_CASE("traces") {
  auto const A = some_matrix();
  auto const f = [](auto const& m) { return trace(m) * trace(transpose(m) * m); };
  auto const [value, g] = value_and_gradient(f, A);
  CHECK(value == Approx(sum(diagonal_of(A)) * squared_norm(values(A))).epsilon(1e-13));
  CHECK(gradient::taylor_rate(f, A, g, gradient::direction(A, 1), 0.05) == Approx(2).margin(0.05));
  auto const Z = cast<complex_t>(to_batch<2>(to_blocks<2, 3>(random_triplets(6, 9, 20, 5).build())));
  gradient::check_dual([](auto const& m) { return trace(unblocked(m)) * trace(unblocked(m)); }, of(complex_t(0.5, 1) * Z));
}

TEST_CASE("the gradients of numbers of a sparse tensor, by hand") {
  auto const A = from_triplets<double>(3, 3, {0, 0, 1, 1, 2}, {0, 2, 0, 1, 2}, {3.0, -1.0, -2.0, 2.0, 0.0});
  auto const [f, gf] = value_and_gradient([](auto const& m) { return norm(m); }, A);
  CHECK(f == Approx(std::sqrt(18.0)));
  CHECK(gf.shared_pattern() == A.shared_pattern());
  CHECK(double(norm(values(gf) - values(A) / f)) <= 1e-15);
  auto const [rows, gr] = value_and_gradient([](auto const& m) { return norm_inf(m); }, A);  // the rows 0 and 1 tie
  CHECK(rows == 4);
  CHECK(std::ranges::equal(gr.values(), std::vector{0.5, -0.5, -0.5, 0.5, 0.0}));
  auto const [cols, gc] = value_and_gradient([](auto const& m) { return norm1(m); }, A);
  CHECK(cols == 5);
  CHECK(std::ranges::equal(gc.values(), std::vector{1.0, 0.0, -1.0, 0.0, 0.0}));
  auto const [total, gs] = value_and_gradient([](auto const& m) { return sum(m); }, A);
  CHECK(total == 2);
  CHECK(std::ranges::equal(gs.values(), std::vector(5, 1.0)));
  CHECK(std::ranges::equal(std::get<0>(vjp(op::norm_inf{}, A, 2.0)).values(), std::vector{1.0, -1.0, -1.0, 1.0, 0.0}));
  CHECK(std::ranges::equal(std::get<0>(vjp(op::sum{}, A, 2.0)).values(), std::vector(5, 2.0)));
  auto const zero = 0.0 * A;
  auto const [nothing, gz] = value_and_gradient([](auto const& m) { return norm(m) + norm1(m) + norm_inf(m); }, zero);
  CHECK((nothing == 0 && norm(gz) == 0));
  auto const single = cast<float>(A);
  auto const [s, g1] = value_and_gradient([](auto const& m) { return norm(m) + norm_inf(m); }, single);
  static_assert(std::same_as<std::remove_const_t<decltype(g1)>, sparse_tensor<float>>);
  CHECK(s == norm(single) + norm_inf(single));

  int const row_ptr[] = {0, 2}, col[] = {0, 0};
  double const stored[] = {1.0, -3.0};
  auto const twice = borrow_csr(1, 1, row_ptr, col, stored);
  CHECK(sum(twice) == -2);
  CHECK(std::ranges::equal(std::get<1>(value_and_gradient([](auto const& m) { return sum(m); }, twice)).values(), std::vector{1.0, 1.0}));
  CHECK_THROWS_AS(value_and_gradient([](auto const& m) { return norm(m); }, twice), value_error);
}

TEST_CASE("one element of a traced value is a number") {
  auto const x = random<double>(7, 1);
  auto const m = random<complex_t, Extents<3, dyn>>({3, 4}, 2);
  auto const A = some_matrix();
  auto const [value, g] = value_and_gradient([](auto const& v) { return v(2) * v[5] + v[2]; }, x);
  CHECK(value == x[2] * x[5] + x[2]);
  CHECK(std::ranges::equal(g, std::vector{0.0, 0.0, x[5] + 1, 0.0, 0.0, x[2], 0.0}));
  gradient::check_dual([](auto const& v) { return v[6] * v * v(0); }, of(x));
  gradient::check_dual([](auto const& v) { return v(1, 2) * v(2, 0) + v[3]; }, of(m));
  gradient::check_dual([](auto const& a) { return a(1, 1) * a(5, 2) + a(0, 0) + norm(a); }, of(A + 2.0 * multiply_elements(A, A)));
  index_t i = 0, j = 0;
  while (A(i, j) == 0) j + 1 < A.cols() ? ++j : (++i, j = 0);
  auto const [entry, gA] = value_and_gradient([&](auto const& a) { return 3.0 * a(i, j); }, A);
  CHECK(entry == 3 * A(i, j));
  CHECK((gA(i, j) == 3 && sum(gA) == 3));
  auto const Z = to_batch<2>(to_blocks<2, 3>(random_triplets(6, 6, 20, 5).build()));
  gradient::check_dual([](auto const& a) { return a(1, 2, 3) + 2.0 * sum(values(a)); }, of(Z));
  int const row_ptr[] = {0, 2}, col[] = {0, 0};
  double const stored[] = {1.0, -3.0};
  auto const [both, gt] = value_and_gradient([](auto const& a) { return a(0, 0) * a(0, 0); }, borrow_csr(1, 1, row_ptr, col, stored));
  CHECK((both == 4 && std::ranges::equal(gt.values(), std::vector{-4.0, -4.0})));
  CHECK_THROWS_AS(value_and_gradient([](auto const& a) { return a(12, 0); }, A), index_error);
}

TEST_CASE("means, clamped elements and conditions of traced values") {
  auto const x = random<double>(40, 3), y = random<double>(40, 4);
  gradient::check_dual([&](auto const& a) { return mean(a * a) * a; }, of(x));
  gradient::check_dual([&](auto const& a) { return clamp(a, -0.25, y) + clamp(0.1, a, 2.0); }, of(x), {.h = 1e-5});
  gradient::check_dual([&](auto const& s) { return clamp(x, -s, s); }, of(0.4), {.h = 1e-5});
  auto const [value, g] = value_and_gradient([](auto const& a) { return sum(clamp(a, 0.0, 1.0)); }, vector<double>{-1.0, 0.0, 0.3, 1.0, 4.0});
  CHECK(value == 2.3);
  CHECK(std::ranges::equal(g, std::vector{0.0, 0.5, 1.0, 0.5, 0.0}));
  CHECK(std::get<1>(value_and_gradient([](auto const& a) { return mean(a); }, vector<float>{1.0f, 3.0f}))[1] == 0.5f);

  auto const f = [&](auto const& a) {
    auto const inside = a > -0.3 && !(a > y);
    if (any(inside) && !all(a < 0) && count_nonzero(inside || a > 2) > 0) return sum(where(inside, a * a, 0.5 * a));
    return sum(a);
  };
  CHECK(check_gradient(f, std::tie(x), {.step = 1e-5, .out = nullptr}).passed);
  double by_hand = 0;
  for (index_t n = 0; n < x.size(); ++n) by_hand += x[n] > -0.3 && x[n] <= y[n] ? x[n] * x[n] : 0.5 * x[n];
  CHECK(std::get<0>(value_and_gradient(f, x)) == Approx(by_hand));
}

TEST_CASE("orders of a traced matrix are those of its pattern") {
  auto const A = problems::poisson<double>({5, 4});
  auto const x = random<double>(20, 1);
  auto const f = [&](auto const& m) { return squared_norm(permuted(m, rcm(m)) * x) + dot(x, permuted(m, amd(m)) * x); };
  CHECK(std::get<0>(value_and_gradient(f, A)) == Approx(double(f(A))));
  gradient::check_dual(f, of(A));
}

} // namespace test_norms
