// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward mode of products with sparse tensors, and of their values: <w, J d> = <J^H w, d> to 1e-12, Taylor remainders of rate
// 2.0 +- 0.05.
#include <sla/grad/call/jvp.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "suites/dual.hpp"

using namespace sla;
using complex_t = std::complex<double>;
using gradient::check_dual;

TEST_CASE("products to x and to the values of A, in every orientation") {
  auto const P = problems::convection_diffusion<double>({6, 5}, {3.0, 1.0});
  auto const A = with_values(P, random<complex_t>(P.values().size(), 7));
  auto const x = random<complex_t, Extents<dyn, 2>>({A.cols(), 2}, 1);
  check_dual([](auto const& B, auto const& z) { return eval(B * z + transpose(B) * z - adjoint(B) * (conj(B) * z)); }, std::tie(A, x));
}

TEST_CASE("a sparse tensor made of its values is a result") {
  auto const A = problems::poisson<double>({6, 5});
  auto const k = random<double>(A.values().size(), 2);
  double const s = 0.6;
  check_dual([](auto const& B, auto const& v, auto const& a) { return 2.0 * (with_values(B, exp(v) * values(B)) * a) / 3; }, std::tie(A, k, s));
}

TEST_CASE("jvp_product of batches and blocks") {
  auto const A = to_batch<2>(to_blocks<2, 2>(problems::poisson<double>({6, 4})));
  auto const x = random<double, Extents<2, dyn, 2>>(A.domain(), 1);
  check_dual([](auto const& B, auto const& z) { return eval(B * (z * z)); }, std::tie(A, x));
}
