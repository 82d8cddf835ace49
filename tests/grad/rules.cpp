// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules of elementwise operations and reductions without a tape, against <J v, w> = <v, J^H w>: with J v by central
// differences to 1e-7, by the complex step to 1e-12; reductions and closed forms to rounding.
#include <sla/grad/tape/vjp.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

using namespace sla;
using complex_t = std::complex<double>;
using gradient::pairing;

namespace {
constexpr index_t entries = 37;
vector<double> real_vector(std::uint64_t seed) { return random<double>(entries, seed); }
vector<complex_t> complex_vector(std::uint64_t seed) { return random<complex_t>(entries, seed); }

/// Re conj(a) b.
template <class A, class B>
double pair(A a, B b) {
  return real_of(op::mul::apply(conj_of(a), b));
}
template <class T>
T sample(int k, double shift) {
  if constexpr (is_complex<T>)
    return {shift + detail::uniform_at(1, std::uint64_t(k)), detail::uniform_at(2, std::uint64_t(k))};
  else
    return shift + detail::uniform_at(1, std::uint64_t(k));
}

/// Re conj(w) f'(x; v) = Re conj(g) v for the pullback g of w, on scalars; f' by central differences.
template <class T, class Op>
void check_pull(Op, double shift = 0) {
  double const h = 1e-6;
  for (int k = 0; k < 20; ++k) {
    T const x = sample<T>(k, shift), v = sample<T>(k + 100, 0);
    auto const slope = op::div::apply(Op::apply(x + op::mul::apply(h, v)) - Op::apply(x - op::mul::apply(h, v)), 2 * h);
    auto const w = sample<std::remove_const_t<decltype(slope)>>(k + 200, 0);
    CHECK(pair(slope, w) == Approx(pair(v, derivative<Op>::pullback(x, w))).epsilon(1e-7).margin(1e-8));
  }
}
template <class L, class R, class Op>
void check_pull2(Op) {
  double const h = 1e-6;
  for (int k = 0; k < 20; ++k) {
    L const l = sample<L>(k, 3), dl = sample<L>(k + 100, 0);
    R const r = sample<R>(k + 300, 2), dr = sample<R>(k + 400, 0);
    auto const to_l = op::div::apply(Op::apply(l + op::mul::apply(h, dl), r) - Op::apply(l - op::mul::apply(h, dl), r), 2 * h);
    auto const to_r = op::div::apply(Op::apply(l, r + op::mul::apply(h, dr)) - Op::apply(l, r - op::mul::apply(h, dr)), 2 * h);
    auto const w = sample<std::remove_const_t<decltype(to_l)>>(k + 200, 0);
    CHECK(pair(to_l, w) == Approx(pair(dl, derivative<Op>::template pullback<0>(l, r, w))).epsilon(1e-7).margin(1e-8));
    CHECK(pair(to_r, w) == Approx(pair(dr, derivative<Op>::template pullback<1>(l, r, w))).epsilon(1e-7).margin(1e-8));
  }
}
}  // namespace

TEST_CASE("functions of one operand") {
  using Z = complex<double>;
  check_pull<double>(op::exp{});
  check_pull<double>(op::sqrt{}, 1.5);
  check_pull<double>(op::neg{});
  check_pull<double>(op::log{}, 1.5);
  check_pull<double>(op::sin{});
  check_pull<double>(op::cos{});
  check_pull<double>(op::tanh{});
  check_pull<double>(op::atan{});
  check_pull<double>(op::abs{});
  check_pull<double>(op::abs2{});
  check_pull<double>(op::real{});
  check_pull<double>(op::imag{});
  check_pull<double>(op::conj{});
  check_pull<Z>(op::exp{});
  check_pull<Z>(op::sqrt{}, 2);
  check_pull<Z>(op::neg{});
  check_pull<Z>(op::conj{});
  check_pull<Z>(op::real{});
  check_pull<Z>(op::imag{});
  check_pull<Z>(op::abs{});
  check_pull<Z>(op::abs2{});
}

TEST_CASE("operations on two operands, real, complex and mixed") {
  using Z = complex<double>;
  check_pull2<double, Z>(op::add{});
  check_pull2<Z, double>(op::sub{});
  check_pull2<Z, Z>(op::mul{});
  check_pull2<double, Z>(op::mul{});
  check_pull2<Z, Z>(op::div{});
  check_pull2<Z, double>(op::div{});
  check_pull2<double, Z>(op::div{});
  check_pull2<double, double>(op::pow{});
}

TEST_CASE("on tensors, by the complex step to 1e-12") {
  auto const x = real_vector(1), v = real_vector(2), w = real_vector(3);
  double const h = 1e-30;
  vector<complex_t> const stepped = exp(x + complex_t(0, h) * v);
  vector<double> const jv = imag(stepped) / h;
  auto const [g] = vjp(op::exp{}, x, w);
  CHECK(pairing(jv, w) == Approx(pairing(v, g)).epsilon(1e-12));
}

TEST_CASE("a number beside a tensor collects from all elements") {
  auto const z = complex_vector(9), w = complex_vector(10);
  auto const [gs, gz] = vjp(op::mul{}, complex_t(2, 1), z, w);
  CHECK(std::abs(gs - eval(dot(z, w))) < 1e-13);
  CHECK(double(norm(gz - complex_t(2, -1) * w)) < 1e-13);
  auto const [gr, unused] = vjp(op::mul{}, 2.0, z, w);  // a real number: the real part
  CHECK(gr == Approx(std::real(eval(dot(z, w)))));
}

TEST_CASE("reductions") {
  auto const x = real_vector(1), y = real_vector(2);
  auto const z = complex_vector(3), u = complex_vector(4);
  complex_t const g(0.3, -0.8);

  auto const [gx, gy] = vjp(op::dot{}, z, u, g);
  CHECK(double(norm(gx - std::conj(g) * u)) < 1e-14);
  CHECK(double(norm(gy - g * z)) < 1e-14);
  auto const [gs] = vjp(op::sum{}, z, g);
  CHECK(double(norm(gs - g * ones<double>(entries))) < 1e-14);
  auto const [gq] = vjp(op::squared_norm{}, z, 2.0);
  CHECK(double(norm(gq - 4.0 * z)) < 1e-14);
  auto const [gn] = vjp(op::norm{}, z, 2);
  CHECK(double(norm(gn - 2.0 / double(norm(z)) * z)) < 1e-14);
  auto const [g1] = vjp(op::norm1{}, x, 0.5);
  for (index_t i = 0; i < entries; ++i) CHECK(g1[i] == (x[i] < 0 ? -0.5 : 0.5));

  vector<double> const e{1, -4, 3, 4};
  auto const [gi] = vjp(op::norm_inf{}, e, 1.0);  // two elements share it
  CHECK((gi[0] == 0 && gi[1] == -0.5 && gi[2] == 0 && gi[3] == 0.5));
  auto const [glow] = vjp(op::minimum{}, e, 2.0);
  CHECK((glow[0] == 0 && glow[1] == 2 && glow[2] == 0 && glow[3] == 0));
  auto const [ghigh] = vjp(op::maximum{}, e, 2.0);
  CHECK((ghigh[1] == 0 && ghigh[3] == 2));
}

TEST_CASE("where there is no derivative, the subgradient of least modulus") {
  vector<double> const zero(Extents<dyn>(3));
  auto const [gn] = vjp(op::norm{}, zero, 1.0);
  auto const [ga] = vjp(op::abs{}, zero, ones<double>(3));
  auto const [gp, exponent] = vjp(op::pow{}, zero, 0, ones<double>(3));
  CHECK((norm(gn) == 0 && norm(ga) == 0 && norm(gp) == 0 && exponent == 0));
}

TEST_CASE("single precision stays single") {
  auto const x = random<float>(entries, 1), w = random<float>(entries, 2);
  auto const [g] = vjp(op::exp{}, x, w);
  static_assert(std::same_as<std::remove_const_t<decltype(g)>, vector<float>>);
  CHECK(double(norm(g - exp(x) * w)) < 1e-6);
}
