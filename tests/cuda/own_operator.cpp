// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of the user as matrix and preconditioner on the device's space, with simulated blocks and a memory that is not the host's.
#include <sla/solve.hpp>
#include <sla/solve/eigen/eigsh.hpp>

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

using namespace sla;
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

}  // namespace test_own_operator
