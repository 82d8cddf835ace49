// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of the user as matrix and preconditioner on the device's space, with simulated blocks and a memory that is not the host's.
#include <sla/solve.hpp>
#include <sla/least_squares.hpp>
#include <sla/solve/eigen/eigsh.hpp>
#include <sla/tensor/build/sell.hpp>

#include "catch.hpp"
#include "far_memory.hpp"

namespace test_own_operator {
using namespace sla;
using namespace test_far;
using far_vector = vector<double, far_memory>;
using far_operator = linear_operator<double, far_memory>;
static_assert(detail::PlainEigenOperator<linear_operator<double>> && !detail::PlainEigenOperator<far_operator>);  // eigenvalues are the host's

namespace {
far_vector up(vector<double> const& x) {
  far_vector out(x.extents(), uninitialized);
  std::copy(x.begin(), x.end(), out.data());
  return out;
}
vector<double> down(far_vector const& x) { return to<host_memory>(x); }
auto const A = problems::poisson<double>({12, 10});
index_t const n = A.rows();
auto multiply(sparse_tensor<double> const& by) {
  return [&by](std::span<double const> x, std::span<double> y) { std::ranges::copy(vector<double>(by * borrow(x.data(), n)), y.begin()); };
}
template <class Method>
void same_answer(Method const& method) {
  auto const b = random<double>(n, 1);
  auto const db = up(b);
  auto const F = ic0{}.setup(A);
  auto const precondition = [&](std::span<double const> x, std::span<double> y) { std::ranges::copy(vector<double>(F * borrow(x.data(), n)), y.begin()); };
  auto const wanted = try_solve(A, b, method, ic0{});
  auto const check = [&](auto const& found) {
    CHECK(found.report.converged());
    CHECK(std::abs(found.report.iterations() - wanted.report.iterations()) <= 1);
    CHECK(norm(down(found.x) - wanted.x) <= 1e-7 * norm(wanted.x));
  };
  far_operator const op(n, n, multiply(A), self_adjoint), M(n, n, precondition, self_adjoint);
  check(try_solve(op, db, method, M));
  for (int lag : {0, 32}) check(try_solve(op, db, method, M, on([lag](frame f) { return cuda::basic_space<far_engine>(f, lag); })));
}
}  // namespace

TEST_CASE("functions on a device's memory have the host's answer, as matrix and preconditioner") {
  same_answer(cg{.rtol = 1e-10});
  same_answer(gmres{.rtol = 1e-10});
}

TEST_CASE("their products in expressions, and what is wrong") {
  far_operator const op(n, n, multiply(A));
  auto const b = random<double>(n, 1);
  auto const db = up(b);
  far_vector const r = db - 2.0 * (op * db);
  CHECK(norm_inf(down(r) - (b - 2.0 * (A * b))) <= 1e-12);
  CHECK_THROWS_AS(solve(op, up(ones<double>(n + 1)), cg{}), shape_error);
  auto bad = ones<double>(n);
  bad[7] = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH(solve(op, up(bad), cg{}), Catch::Matchers::ContainsSubstring("b(7) is inf"));
  far_operator const broken(n, n, [](auto, auto y) { y[0] = std::numeric_limits<double>::quiet_NaN(); });
  CHECK(try_solve(broken, db, cg{}).report.reason() == reason::not_a_number);
  CHECK_THROWS_AS(prepare(op, gmres{}).solve_transpose(db), value_error);
}

namespace {
template <class T>
sparse_tensor<T> tall() {
  triplets<T> t(150, 40);
  for (index_t i = 0; i < 150; ++i) t.add(i, i % 40, 3.0), t.add(i, (i * 7 + 3) % 40, T(0.5 + 0.001 * double(i))), t.add(i, i % 3, T(0.25));
  return t.build();
}
/// adjoint(A) * u and transpose(A) * u, and what they say of each other, beside the host's.
template <class A, class E>
void same_products(A const& a, E const& extents) {
  using T = typename A::value_type;
  auto const far = moved<far_memory>(a);
  auto const u = random<T, E>(extents, 8);
  auto const du = to<far_memory>(u);
  int const before = lists;
  using R = decltype(eval(adjoint(a) * u));
  R const g = adjoint(a) * u, t = transpose(a) * u;
  auto dg = to<far_memory>(g), dt = to<far_memory>(t);
  dg = adjoint(far) * du;
  dt = 2.0 * (transpose(far) * du) - dg;
  CHECK(norm_inf(to<host_memory>(dg) - g) <= 1e-13 * norm_inf(g));
  CHECK(norm_inf(to<host_memory>(dt) - (2.0 * t - g)) <= 1e-13 * norm_inf(t));
  dg = adjoint(moved<far_memory>(a)) * du;  // of one that ends here
  CHECK(norm_inf(to<host_memory>(dg) - g) <= 1e-13 * norm_inf(g));
  CHECK(lists == before + 2);  // one for each pattern
}
}  // namespace

TEST_CASE("a device multiplies by the transpose of a matrix by rows, from a list that its pattern keeps") {
  same_products(to_batch(tall<double>(), 2), Extents<dyn, dyn>(2, 150));
  same_products(to<Sell<>>(tall<double>()), Extents<dyn>(150));
  same_products(to_blocks<3, 2>(tall<std::complex<double>>()), Extents<dyn, dyn, dyn>(50, 3, 2));
  auto const K = moved<far_memory>(tall<double>());
  auto const B = with_values(K, 2.0 * values(K));  // its pattern, and its list
  auto const u = to<far_memory>(random<double>(150, 3));
  cuda::basic_space<far_engine> space(frame{1, 150, 1, 1});
  auto g = to<far_memory>(random<double>(40, 3)), h = g;
  int const before = lists;
  auto const [most] = fuse(space, set(g, adjoint(K) * u), set(h, 0.5 * (adjoint(B) * u) - g), norm_inf_of(h));
  CHECK(space.read(most)[0] == 0);
  CHECK(space.engine().passes == 1);
  CHECK(lists == before + 1);
}

TEST_CASE("least squares of a matrix on a device need no stored adjoint") {
  auto const a = tall<double>();
  auto const b = random<double>(150, 4);
  auto const wanted = least_squares(a, b, lsmr{.rtol = 1e-12});
  auto const [x, report] = try_least_squares(moved<far_memory>(a), to<far_memory>(b), lsmr{.rtol = 1e-12});
  INFO(report);
  CHECK(report.converged());
  CHECK(norm(to<host_memory>(x) - wanted) <= 1e-10 * norm(wanted));
}

}  // namespace test_own_operator
