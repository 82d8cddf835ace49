// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of determinants in both modes: <w, J d> = <J^H w, d> and Taylor remainders, adjugates by hand, complex steps, entries of
// dense inverses; of factors that are kept for solves too.
#include <sla/determinant.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "catch.hpp"
#include "data.hpp"
#include "suites/dual.hpp"

namespace test_traced_determinant {

using namespace sla;
using complex_t = std::complex<double>;
using Catch::Matchers::ContainsSubstring;

namespace {
auto const of = [](auto const&... x) { return std::tuple<decltype(x)...>(x...); };
auto unsymmetric(index_t n) { return eval(problems::random_sparse<double>(n, n, 3, 2) + 1.5 * eye<double>(n)); }
auto turned(sparse_tensor<double> const& A) {
  auto Z = cast<complex_t>(A);
  for (index_t n = 0; n < Z.values().size(); ++n) Z.values()[n] *= std::polar(1.0, 0.3 * std::sin(double(n)));
  return Z;
}
} // namespace

TEST_CASE("determinants of traced matrices in both modes") {
  auto const A = unsymmetric(12);
  gradient::check_dual([](auto const& m) { return det(m); }, of(A), {.h = 1e-4});
  gradient::check_dual([](auto const& m) { return slogdet(m).log_abs; }, of(A));
  gradient::check_dual([](auto const& m) { return logdet(m, lu{}); }, of(A));
  gradient::check_dual([](auto const& m) { return slogdet(transpose(m)).log_abs * det(2.0 * m); }, of(to<Coo<>>(A)), {.h = 1e-4});
  auto const blocks = to_blocks<2, 2>(stack_batch(A, with_values(A, values(A) * (1.0 + 0.2 * random<double>(A.nnz(), 8)))));
  gradient::check_dual([](auto const& m) { return slogdet(m).log_abs; }, of(blocks));
  gradient::check_dual([](auto const& m) { return det(m); }, of(blocks), {.h = 1e-4});
}

TEST_CASE("determinants of traced complex matrices: the sign has a derivative of its own") {
  auto const Z = turned(unsymmetric(10));
  gradient::check_dual([](auto const& m) { return slogdet(m).log_abs; }, of(Z));
  gradient::check_dual([](auto const& m) { return slogdet(m).sign; }, of(Z));
  gradient::check_dual([](auto const& m) { return det(m); }, of(Z), {.h = 1e-4});
  gradient::check_dual([](auto const& m) { auto const [sign, log_abs] = slogdet(m); return sign * exp(log_abs) - 0.5 * det(m); }, of(Z), {.h = 1e-4});
}

TEST_CASE("the gradient of a logarithm is the inverse on the pattern, for Hermitian matrices as for others") {
  auto const A = problems::poisson<double>({9, 8});
  auto const [value, g] = value_and_gradient([](auto const& m) { return logdet(m); }, A);
  CHECK(value == logdet(A));
  CHECK(g.shared_pattern() == A.shared_pattern());
  CHECK(dot(g.values(), A.values()) == Approx(72.0).epsilon(1e-13));
  auto const Z = selected_inverse(A);
  CHECK(double(norm(values(g) - values(Z))) <= 1e-14 * double(norm(values(Z))));
  auto const D = gradient::direction(A, 4, true);
  double const along = dot(values(g), values(D));
  auto const shifted = cast<complex_t>(A) + complex_t(0, 1e-20) * cast<complex_t>(D);  // a complex step: the oracle knows no derivative
  CHECK(std::arg(slogdet(shifted).sign) / 1e-20 == Approx(along).epsilon(1e-12));
  CHECK(std::get<1>(jvp([](auto const& m) { return logdet(m); }, std::tie(A), std::tie(D))) == Approx(along).epsilon(1e-12));
  CHECK(gradient::taylor_rate([](auto const& m) { return logdet(m, ldlt{}); }, A, g, D, 1e-1) == Approx(2).margin(0.05));
  auto const Y = turned(unsymmetric(12));
  sparse_tensor<complex_t> const H = Y * adjoint(Y);
  auto const gH = std::get<1>(value_and_gradient([](auto const& m) { return logdet(m); }, H));
  auto const gL = std::get<1>(value_and_gradient([](auto const& m) { return slogdet(m).log_abs; }, H));
  CHECK(double(norm(values(gH) - values(gL))) <= 1e-9 * double(norm(values(gL))));
}

TEST_CASE("factors of a traced matrix serve solves and determinants") {
  auto const A = problems::checkerboard({6, 6}, 10.0, 2);
  auto const b = random<double>(36, 1);
  auto const likelihood = [](auto const& m, auto const& c) {  // of a Gaussian field with the precision matrix m
    auto const factors = cholesky(m);
    return 0.5 * logdet(factors) - 0.5 * dot(c, factors.solve(c));
  };
  auto const [value, gA, gb] = value_and_gradient(likelihood, A, b);
  CHECK(value == Approx(0.5 * logdet(A) - 0.5 * double(dot(b, solve(A, b, cholesky{})))));
  auto const D = gradient::direction(A, 4, true);
  CHECK(gradient::taylor_rate([&](auto const& m) { return likelihood(m, b); }, A, gA, D, 1e-2) == Approx(2).margin(0.05));
  CHECK(gradient::taylor_rate([&](auto const& c) { return likelihood(A, c); }, b, gb, random<double>(36, 2), 1e-2) == Approx(2).margin(0.05));
  auto const g = std::get<1>(value_and_gradient([](auto const& m) { return slogdet(lu(m)).log_abs + det(ldlt(m)) * 1e-30; }, A));
  CHECK(double(norm(values(g) - (1.0 + det(A) * 1e-30) * values(selected_inverse(A)))) <= 1e-11 * double(norm(values(g))));
}

TEST_CASE("cotangents of determinants without a tape, and singular matrices") {
  auto const A = from_triplets<double>(2, 2, {0, 0, 1, 1}, {0, 1, 0, 1}, {1.0, 2.0, 3.0, 4.0});
  auto const [g] = vjp(op::det{}, A, 2.0);  // 2 adj(A)^T
  double const adjugate[] = {8, -6, -4, 2};
  for (int n = 0; n < 4; ++n) CHECK(g.values()[n] == Approx(adjugate[n]));
  auto const [gl] = vjp(op::slogdet{}, A, 1.0);
  CHECK(gl.values()[0] == Approx(-2));
  auto const N = from_triplets<double>(2, 2, {0, 0, 1, 1}, {0, 1, 0, 1}, {1.0, 2.0, 2.0, 4.0});
  CHECK_THROWS_WITH(value_and_gradient([](auto const& m) { return det(m); }, N), ContainsSubstring("det(A): A is singular") && ContainsSubstring("the derivative is not there"));
  auto const F = cast<float>(A);
  auto const gF = std::get<1>(value_and_gradient([](auto const& m) { return slogdet(m).log_abs; }, F));
  CHECK(gF.values()[0] == Approx(-2).epsilon(1e-6));
}

TEST_CASE("the gradient of a real matrix' determinant is that of n solves") {
  auto const A = read_matrix_market<double>(data("utm300.mtx"));
  auto const g = std::get<1>(value_and_gradient([](auto const& m) { return slogdet(m).log_abs; }, A));
  lu const f(A);
  double most = 0, size = 0;
  for (index_t i = 0; i < 300; i += 7) {  // row i of A^-T is column i of A^-1
    vector<double> e(300);
    e[i] = 1;
    auto const x = f.solve(e);
    A.pattern().view().for_row(i, [&](index_t s, index_t j) { most = std::max(most, std::abs(g.values()[s] - x[j])), size = std::max(size, std::abs(x[j])); });
  }
  CHECK(most <= 1e-9 * size);
}

TEST_CASE("the gradient of an estimate is the mean over its own probes, in both modes") {
  auto const A = problems::checkerboard({7, 6}, 10.0, 2);
  stochastic_lanczos const options{.probes = 20, .seed = 3, .rtol = 1e-13};
  auto const f = [&](auto const& m) { return logdet(m, options).value; };
  auto const [value, g] = value_and_gradient(f, A);
  CHECK(value == Approx(f(A)).epsilon(1e-14));
  sparse_tensor<double> expected(A.shape(), A.shared_pattern());
  for (index_t k = 0; k < 20; ++k) {
    auto const z = detail::sign_probes(A, 3, k, 1);
    auto const x = solve(A, z, cholesky{});
    add_outer(expected, eval(0.025 * x), z);
    add_outer(expected, z, eval(0.025 * x));
  }
  CHECK(double(norm(values(g) - values(expected))) <= 1e-11 * double(norm(values(expected))));
  CHECK(dot(g.values(), A.values()) == Approx(42.0).epsilon(1e-11));  // |z|^2, for every probe
  auto const D = gradient::direction(A, 4, true);
  CHECK(std::get<1>(jvp(f, std::tie(A), std::tie(D))) == Approx(double(dot(values(g), values(D)))).epsilon(1e-10));
  auto const scaled = [&](double s) { return f(eval(s * A)); };  // along A itself the mean of the derivatives is the derivative of the mean
  CHECK((scaled(1.001) - scaled(0.999)) / 0.002 == Approx(42.0).epsilon(1e-6));
  for (double scale : {1e200, 1e-200}) {
    auto const [of_scaled, to_scaled] = value_and_gradient(f, eval(scale * A));
    CHECK(of_scaled == Approx(value + 42 * std::log(scale)).epsilon(1e-12));
    CHECK(double(norm(scale * values(to_scaled) - values(g))) <= 1e-10 * double(norm(values(g))));
  }
  stochastic_lanczos const many{.probes = 400, .seed = 3};
  auto const gm = std::get<1>(value_and_gradient([&](auto const& m) { return logdet(m, many).value; }, A));
  auto const exact = std::get<1>(value_and_gradient([](auto const& m) { return logdet(m); }, A));
  CHECK(double(norm(values(gm) - values(exact))) <= 0.2 * double(norm(values(exact))));
  auto const few = [](auto const& m) { return logdet(m, stochastic_lanczos{.probes = 4}).value; };
  auto const in_float = std::get<1>(value_and_gradient(few, cast<float>(A)));  // its solves ask for what float reaches
  CHECK(double(norm(values(cast<double>(in_float)) - values(std::get<1>(value_and_gradient(few, A))))) <= 1e-3 * double(norm(values(in_float))));
}

} // namespace test_traced_determinant
