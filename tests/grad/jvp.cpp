// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward mode of elementwise operations and reductions: each rule on numbers against central differences, and functions of
// tensors by <w, J d> = <J^H w, d> to 1e-12 and Taylor remainders of rate 2.0 +- 0.05. Products are in jvp_product.cpp.
#include <sla/grad/call/jvp.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "suites/dual.hpp"

using namespace sla;
using complex_t = std::complex<double>;
using gradient::check_dual;

namespace {
template <class T>
T point(int k, double shift) {
  return detail::random_number<T>(11, std::uint64_t(k)) + T(shift);
}
/// jvp of Op, as an operation without a tape, against the central difference.
template <class T, class Op>
void check_push(Op, double shift = 0) {
  double const h = 1e-6;
  for (int k = 0; k < 8; ++k) {
    T const x = point<T>(k, shift), d = point<T>(k + 100, 0);
    auto const [y, dy] = jvp(Op{}, std::tie(x), std::tie(d));
    auto const f = [](T z) { return Op::apply(to_kernel(z)); };
    auto const slope = op::div::apply(f(x + h * d) - f(x - h * d), 2 * h);
    CHECK(abs_of(to_kernel(dy) - slope) <= 1e-7 * (1 + abs_of(slope)));
  }
}
template <class L, class R, class Op>
void check_push2(Op) {
  double const h = 1e-6;
  for (int k = 0; k < 8; ++k) {
    L const l = point<L>(k, 3), dl = point<L>(k + 100, 0);
    R const r = point<R>(k + 200, 2), dr = point<R>(k + 300, 0);
    auto const [y, dy] = jvp(Op{}, std::tie(l, r), std::tie(dl, dr));
    auto const f = [](L a, R b) { return Op::apply(to_kernel(a), to_kernel(b)); };
    auto const slope = op::div::apply(f(l + h * dl, r + h * dr) - f(l - h * dl, r - h * dr), 2 * h);
    CHECK(abs_of(to_kernel(dy) - slope) <= 1e-7 * (1 + abs_of(slope)));
  }
}
}  // namespace

TEST_CASE("each elementwise rule, pushed forward") {
  check_push<double>(op::exp{});
  check_push<double>(op::sqrt{}, 1.5);
  check_push<double>(op::log{}, 1.5);
  check_push<double>(op::sin{});
  check_push<double>(op::cos{});
  check_push<double>(op::tanh{});
  check_push<double>(op::atan{});
  check_push<double>(op::abs{});
  check_push<complex_t>(op::exp{});
  check_push<complex_t>(op::sqrt{}, 2);
  check_push<complex_t>(op::neg{});
  check_push<complex_t>(op::conj{});
  check_push<complex_t>(op::real{});
  check_push<complex_t>(op::imag{});
  check_push<complex_t>(op::abs{});
  check_push<complex_t>(op::abs2{});
  check_push2<double, complex_t>(op::add{});
  check_push2<complex_t, double>(op::sub{});
  check_push2<complex_t, complex_t>(op::mul{});
  check_push2<double, complex_t>(op::mul{});
  check_push2<complex_t, complex_t>(op::div{});
  check_push2<double, complex_t>(op::div{});
  check_push2<double, double>(op::pow{});
}

TEST_CASE("tensors and a number, with reductions on the way") {
  index_t const n = 40;
  auto const u = random<double>(n, 1), v = random<double>(n, 2), t = random<double>(n, 3);
  double const s = 0.8;
  check_dual(
      [&t](auto const& x, auto const& y, auto const& a) {
        auto const z = eval(a * exp(x));
        auto w = eval(t / y - z);
        w *= norm(z) + (max)(x) - (min)(y) * norm_inf(z);
        return eval(w * (a + squared_norm(y) + norm1(x) * sum(z)) - x / dot(z, y));
      },
      std::tie(u, v, s));
}

TEST_CASE("complex tensors, a real one and a complex number") {
  index_t const n = 30;
  auto const u = random<complex_t>(n, 1);
  auto const r = random<double>(n, 3);
  complex_t const s(0.4, -1.1);
  check_dual(
      [](auto const& z, auto const& x, auto const& a) {
        auto const w = z * x - a * conj(z);
        return eval(w * sum(w) + dot(z, w) * x);
      },
      std::tie(u, r, s));
}

TEST_CASE("what is constant has no tangent, and costs nothing") {
  auto const A = problems::poisson<double>({20, 20});
  auto const x = random<double>(A.cols(), 1), d = random<double>(A.cols(), 2);
  auto const [y, dy] = jvp([&](auto const& z) { return A * z.value(); }, std::tie(x), std::tie(d));
  CHECK((norm(y - A * x) == 0 && norm(dy) == 0 && dy.size() == y.size()));
  auto const [c, dc] = jvp([&](auto const&) { return 2.5; }, std::tie(x), std::tie(d));
  CHECK((c == 2.5 && dc == 0));
  auto const [same, tangent] = jvp([](auto const& z) { return z; }, std::tie(x), std::tie(d));
  CHECK((norm(same - x) == 0 && norm(tangent - d) == 0));
  auto const before = memory_in_use().now;
  std::size_t most = 0;
  auto const [z, dz] = jvp(
      [&](auto const& first) {
        auto v = first;
        for (int step = 0; step < 50; ++step) {
          v = A * v;
          most = (std::max)(most, memory_in_use().now - before);
        }
        return v;
      },
      std::tie(x), std::tie(d));
  CHECK(most <= 5 * x.values().bytes());  // a value goes with its last handle: nothing is recorded
  CHECK(double(norm(dz)) > 0);
}

TEST_CASE("operations by name, expressions and other numbers as tangents") {
  auto const A = problems::poisson<double>({5, 4});
  auto const x = random<double>(A.cols(), 1), d = random<double>(A.cols(), 2);
  auto const [y, dy] = jvp(op::matvec{}, std::tuple(A, x), std::tuple(2.0 * A, d - x));
  CHECK(double(norm(dy - (A * d + A * x))) <= 1e-13 * double(norm(dy)));
  auto const [z, dz] = jvp(op::transposed_matvec{}, std::tie(A, x), std::tie(A, d));
  CHECK(double(norm(dz - transpose(A) * (d + x))) <= 1e-13 * double(norm(dz)));
  auto const [s, ds] = jvp(op::dot{}, std::tie(x, d), std::tie(d, d));
  CHECK(ds == Approx(double(squared_norm(d)) + double(dot(x, d))).epsilon(1e-14));
  auto const [e, de] = jvp(op::exp{}, std::tuple(0.5f), std::tuple(2));
  static_assert(std::same_as<std::remove_const_t<decltype(de)>, float>);
  CHECK(de == Approx(2 * std::exp(0.5)));
}

TEST_CASE("a tangent that does not fit its argument is named") {
  auto const A = problems::poisson<double>({5, 4});
  auto const x = random<double>(A.cols(), 1), d = random<double>(A.cols() + 1, 2);
  auto const f = [](auto const& B, auto const& z) { return B * z; };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(jvp(f, std::tie(A, x), std::tie(A, d)), ContainsSubstring("argument 1 has extents 21, the argument 20"));
  CHECK_THROWS_WITH(jvp(f, std::tie(A, x), std::tuple(problems::poisson<double>({20}), x)), ContainsSubstring("argument 0 has another pattern"));
}
