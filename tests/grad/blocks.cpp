// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives of sets of vectors: gram(V, W), combine(V, C) and column(V, j), by reverse and forward mode, against differences and closed forms.
#include <complex>

#include <sla/grad/call/check_gradient.hpp>
#include <sla/grad/call/gradient.hpp>
#include <sla/grad/call/jvp.hpp>
#include <sla/grad/operation/traced_blocks.hpp>
#include <sla/grad/operation/traced_product.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

namespace test_gradient_of_blocks {

using namespace sla;

namespace {
constexpr index_t rows = 37;
template <class T, index_t K, index_t M>
void check_blocks(T, Extents<dyn, K> ev, Extents<dyn, M> ew, auto most_) {
  constexpr int most = decltype(most_)::value;
  auto const V = random<T, Extents<dyn, K>>(ev, 1);
  auto const W = random<T, Extents<dyn, M>>(ew, 2);
  // some numbers of G, and a block that depends on G and on V
  auto const f = [](auto const& v, auto const& w) {
    auto const G = gram<most>(v, w);
    auto const Y = combine(v, G);
    return real(G(0, 1) * conj(G(0, 1))) * 0.3 + real(G(1, 0)) + 0.01 * squared_norm(Y) + 0.1 * real(dot(column(v, 2), column(w, 1)));
  };
  auto const silent = gradient_check_options{.out = nullptr};
  CHECK(check_gradient(f, std::tie(V, W), silent).passed);
  CHECK(check_gradient([&](auto const& v) { return f(v, W); }, std::tie(V), silent).passed);
  CHECK(check_gradient([&](auto const& w) { return f(V, w); }, std::tie(W), silent).passed);  // combine of a plain block and a traced matrix
  CHECK(check_gradient([&](auto const& v) { return squared_norm(combine(v, gram<most>(V, W))) + real(gram<most>(v, v)(0, 1)); }, std::tie(V), silent).passed);

  auto const dV = random<T, Extents<dyn, K>>(ev, 3);
  auto const dW = random<T, Extents<dyn, M>>(ew, 4);
  auto const [value, gV, gW] = value_and_gradient(f, V, W);
  auto const [same, tangent] = jvp(f, std::tie(V, W), std::tie(dV, dW));
  CHECK(same == Approx(value));
  CHECK(tangent == Approx(real(dot(gV, dV)) + real(dot(gW, dW))).epsilon(1e-11));
}
template <int Most>
using at_most = std::integral_constant<int, Most>;
}  // namespace

TEST_CASE("gradients of inner products and combinations of blocks, real and complex, of columns that are known or counted") {
  check_blocks(double{}, Extents<dyn, 3>(rows, 3), Extents<dyn, 4>(rows, 4), at_most<0>{});
  check_blocks(std::complex<double>{}, Extents<dyn, 3>(rows, 3), Extents<dyn, 4>(rows, 4), at_most<0>{});
  check_blocks(double{}, Extents<dyn, dyn>(rows, 3), Extents<dyn, dyn>(rows, 2), at_most<5>{});
}

TEST_CASE("the gradient of a Rayleigh quotient of two vectors is its closed form") {
  auto const A = problems::poisson<double>({rows});
  auto const V = random<double, Extents<dyn, 2>>({rows, 2}, 5);
  auto const f = [&](auto const& v) {
    auto const H = gram(v, eval(A * v));
    return H(0, 0) + H(1, 1);
  };
  auto const [value, g] = value_and_gradient(f, V);
  tensor<double, Extents<dyn, 2>> const expected = 2.0 * (A * V);
  CHECK(norm_inf(g - expected) <= 1e-13);
  CHECK(double(value) == Approx(dot(V, tensor<double, Extents<dyn, 2>>(A * V))));
}

TEST_CASE("an element that a traced small matrix does not have is refused by its place") {
  auto const V = random<double, Extents<dyn, 2>>({rows, 2}, 5);
  CHECK_THROWS_WITH(value_and_gradient([](auto const& v) { return gram(v, v)(0, 2); }, V), Catch::Matchers::Contains("C(0, 2) of a traced small_matrix of 2 x 2"));
}

} // namespace test_gradient_of_blocks
