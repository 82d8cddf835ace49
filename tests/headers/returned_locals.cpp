// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a function returns an expression of its locals, clang warns at each of them; where it does not, clang is silent. For clang's -verify.
#include <sla/solve.hpp>

using sla::eval, sla::norm, sla::ones;
using vec = sla::vector<double>;

// expected-warning@+1 {{local variable 'y'}}
auto const multiple = [] { vec y(9); return 2.0 * y; };
// expected-warning@+1 {{local variable 'x'}} expected-warning@+1 {{local variable 'y'}}
auto const sum = [] { vec x(9), y(9); return x + y; };
// expected-warning@+1 {{local variable 'x'}} expected-warning@+1 {{local variable 'y'}}
auto const nested = [] { vec const x(9), y(9); return -(2.0 * (x - y)) / 3.0; };
// expected-warning@+1 {{local variable 'y'}}
auto const negative = [] { vec y(9); return -y; };
// expected-warning@+1 {{local variable 'y'}}
auto const root = [] { vec y(9); return sqrt(y); };
// expected-warning@+1 {{local variable 'y'}}
auto const condition = [] { vec y(9); return y > 0.5; };
// expected-warning@+1 2 {{local variable 'y'}}
auto const statement = [] { vec y(9); return dot_of(y, y); };
// expected-warning@+1 {{local variable 'r'}}
auto const norm_statement = [](vec const& x) { vec r = 2.0 * x; return norm_of(r); };
// expected-warning@+1 {{local variable 'y'}}
auto const residual = [](auto const& A, vec const& b) { vec y(9); return b - A * y; };
// expected-warning@+1 {{local variable 'A'}} expected-warning@+1 {{local variable 'y'}}
auto const product = [] { auto const A = sla::problems::poisson({3, 3}); vec y(9); return 2.0 * (transpose(A) * y); };
// expected-warning@+1 {{local variable 'A'}}
auto const transposed = [] { auto const A = sla::problems::poisson({3, 3}); return transpose(A); };
// expected-warning@+1 {{local variable 'A'}}
auto const stored = [] { auto const A = sla::problems::poisson({3, 3}); return values(A); };

// What outlives the function, is moved in, or is computed before it returns.
auto const of_arguments = [](vec const& y, double s) { auto e = s * y; return e + 2.0 * y; };
auto const with_temporary = [](auto const& A, vec const& b) { return b - A * ones<double>(9); };
auto const moved = [] { vec y(9); return 2.0 * std::move(y); };
auto const of_numbers = [](vec const& x) { vec const y = ones<double>(9); double const s = norm(y); return s * x * y[0]; };
auto const evaluated = [](auto const& A) { vec y(9); return eval(A * y); };
auto const number = [] { vec y(9); return dot(y, y) + max(y); };
auto const sparse = [] { auto A = sla::problems::poisson({3, 3}); return abs(2.0 * A); };

int main() {
  auto const A = sla::problems::poisson({3, 3});
  vec const b = ones<double>(9);
  multiple(), sum(), nested(), negative(), root(), condition(), static_cast<void>(statement()), static_cast<void>(norm_statement(b));
  residual(A, b), product(), transposed(), stored();
  of_arguments(b, 2), with_temporary(A, b), moved(), of_numbers(b), evaluated(A), number(), sparse();
  auto const e = 2.0 * ones<double>(9) + -sqrt(ones<double>(9)) * b;
  auto const t = transpose(sla::problems::poisson({3, 3}));
  auto const v = values(sla::problems::poisson({3, 3}));
  return norm(e) + norm(t * b) + norm(v) > 0 ? 0 : 1;
}
