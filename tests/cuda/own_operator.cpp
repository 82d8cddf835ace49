// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of the user as matrix and preconditioner on the device's space, with simulated blocks and a memory that is not the host's.
#include <sla/solve.hpp>
#include <sla/least_squares.hpp>
#include <sla/solve/eigen/eigsh.hpp>
#include <sla/tensor/build/sell.hpp>

#include "catch.hpp"
#include "simulated.hpp"

namespace test_own_operator {

/// As tensors of a device see it: no host loop may read it.
struct far_memory : sla::host_memory {
  static constexpr bool is_host = false;
};
struct far_engine : simulated_engine<64> {
  using memory_type = far_memory;
};
inline sla::cuda::basic_immediate<far_engine> immediate_space(far_memory) { return {}; }
template <class T, class E>
sla::tensor<T, E> convert(sla::conversion_to<sla::host_memory>, sla::tensor<T, E, far_memory> const& x) {
  sla::tensor<T, E> out(x.extents(), sla::uninitialized);
  std::copy(x.data(), x.data() + x.size(), out.begin());
  return out;
}
template <class T, class S, class F>
sla::tensor<T, sla::range_extents_t<S>, far_memory> perform(sla::op::diagonal_of, sla::sparse_tensor<T, S, F, far_memory> const&);
static_assert(requires(sla::sparse_tensor<double, sla::Matrix, sla::Csr<>, far_memory> const& a) { diagonal_of(a); });  // as a device has its own
inline sla::cuda::basic_space<far_engine> solve_space(far_memory, sla::frame const& f) { return sla::cuda::basic_space<far_engine>(f, 4); }
/// Between the memories, which are one here.
template <class To, class T, class From>
sla::buffer<T, To> moved(sla::buffer<T, From> const& x) {
  sla::buffer<T, To> y(x.size(), sla::uninitialized);
  std::copy_n(x.data(), x.size(), y.data());
  return y;
}
template <class To>
sla::index_t moved(sla::index_t n) {
  return n;
}
template <class To, class T, class S, class F, class From>
sla::sparse_tensor<T, S, F, To> moved(sla::sparse_tensor<T, S, F, From> const& A) {
  using Pattern = typename F::template pattern<To>;
  return {A.shape(), std::make_shared<Pattern const>(A.pattern().parts([](auto const&... part) { return Pattern{moved<To>(part)...}; })), moved<To>(A.values())};
}
template <class T, class S, class F>
sla::sparse_tensor<T, S, F> convert(sla::conversion_to<sla::host_memory>, sla::sparse_tensor<T, S, F, far_memory> const& A) {
  return moved<sla::host_memory>(A);
}
int lists = 0;  ///< made of patterns
template <class Pattern>
auto turned_rows_in(far_memory, Pattern const& p) {
  ++lists;
  using Twin = typename decltype(p.view())::format_type::template pattern<sla::host_memory>;
  return sla::detail::turned_rows_of<far_memory>(p.parts([](auto const&... part) { return Twin{moved<sla::host_memory>(part)...}; }), [](auto const& x) { return moved<far_memory>(x); });
}

} // namespace test_own_operator

template <class T, class S, class F>
struct sla::linear_world<sla::sparse_tensor<T, S, F, test_own_operator::far_memory>> : sla::detail::sparse_world<sla::sparse_tensor<T, S, F, test_own_operator::far_memory>> {
  using operator_type = sparse_tensor<T, S, F, test_own_operator::far_memory>;
  template <class V>
  static auto space(operator_type const& a, V const& b) {
    return solve_space(test_own_operator::far_memory{}, linear_world::layout(a, b));
  }
};

namespace test_own_operator {
using namespace sla;
using far_vector = vector<double, far_memory>;
using far_operator = linear_operator<double, far_memory>;
static_assert(detail::PlainEigenOperator<linear_operator<double>> && !detail::PlainEigenOperator<far_operator>);  // eigenvalues are the host's

namespace {
template <class T, class E>
tensor<T, E, far_memory> moved_vector(tensor<T, E> const& x) {
  return {x.extents(), moved<far_memory>(x.values())};
}
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
  auto const du = moved_vector(u);
  int const before = lists;
  using R = decltype(eval(adjoint(a) * u));
  R const g = adjoint(a) * u, t = transpose(a) * u;
  auto dg = moved_vector(g), dt = moved_vector(t);
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
  auto const u = moved_vector(random<double>(150, 3));
  cuda::basic_space<far_engine> space(frame{1, 150, 1, 1});
  auto g = moved_vector(random<double>(40, 3)), h = g;
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
  auto const [x, report] = try_least_squares(moved<far_memory>(a), moved_vector(b), lsmr{.rtol = 1e-12});
  INFO(report);
  CHECK(report.converged());
  CHECK(norm(to<host_memory>(x) - wanted) <= 1e-10 * norm(wanted));
}

}  // namespace test_own_operator
