// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many walks over memory `fuse` makes, what it moves, and that statements mean their order whatever is fused.
#include <sla/exec/evaluate.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_passes {

using namespace sla;

TEST_CASE("a pass ends where a gathered vector is written, before or after") {
  auto A = problems::poisson<double>({20, 20});
  index_t const n = A.rows();
  auto p = random<double>(n, 1), q = random<double>(n, 2), z = random<double>(n, 3), r = random<double>(n, 4), x = random<double>(n, 5);

  CHECK(passes(set(q, A * p), dot_of(p, q)) == 1);
  CHECK(passes(set(p, z), set(q, A * p)) == 2);
  CHECK(passes(set(q, A * p), set(p, z)) == 2);  // in blocks, one pass would read new values of p
  CHECK(passes(set(r, r - 0.5 * q), set(z, 0.25 * r), dot_of(r, z), squared_norm_of(r)) == 1);
  CHECK(passes(set(x, x + p), set(p, z + 0.5 * p)) == 1);
  CHECK(passes(set(q, A * p), set(r, A * q)) == 2);
  CHECK(passes(set(q, transpose(A) * p), dot_of(p, q)) == 2);
  CHECK(passes(set(q, A * p), set(z, transpose(A) * q), set(r, z - q)) == 3);
}

TEST_CASE("a statement that overwrites what it reads elsewhere is refused") {
  auto A = problems::poisson<double>({40, 40});
  auto p = random<double>(A.rows(), 1);
  auto const before = p;
  CHECK_THROWS_WITH(fuse(set(p, A * p)), Catch::Matchers::ContainsSubstring("set another vector"));
  CHECK_THROWS_AS(fuse(set(p, transpose(A) * p)), value_error);
  CHECK_THROWS_AS(fuse(set(p, before + A * p)), value_error);
  CHECK(eval(norm(p - before)) == 0);
}

TEST_CASE("bytes moved count each operand once per pass") {
  auto A = problems::poisson<double>({100, 100});
  index_t const n = A.rows(), matrix_bytes = index_t(A.bytes());
  auto p = random<double>(n, 1), q = random<double>(n, 2), r = random<double>(n, 3), z = random<double>(n, 4), d = random<double>(n, 5);
  CHECK(bytes_moved(set(q, A * p), dot_of(p, q)) == matrix_bytes + 2 * 8 * n);
  CHECK(bytes_moved(set(r, r - 0.5 * q), set(z, d * r), dot_of(r, z), squared_norm_of(r)) == 5 * 8 * n);
}

TEST_CASE("fused statements mean their order") {
  auto A = problems::convection_diffusion<double>({64, 64}, 1.0);
  index_t const n = A.rows();
  auto p = random<double>(n, 1), q = random<double>(n, 2), z = random<double>(n, 3);
  auto const p0 = p, z0 = z;
  fuse(set(q, A * p), set(p, z), set(z, A * p + q), set(z, z - p));
  vector<double> q1 = A * p0, z1 = A * z0 + q1;
  z1 = z1 - z0;
  CHECK(eval(norm(q - q1)) == 0);
  CHECK(eval(norm(p - z0)) == 0);
  CHECK(eval(norm(z - z1)) == 0);
}

TEST_CASE("fuse with whole nodes inside of expressions keeps the order") {
  auto A = problems::convection_diffusion<double>({30, 30}, 1.0);
  index_t const n = A.rows();
  auto p = random<double>(n, 1), q = random<double>(n, 2);
  vector<double> p1 = 2 * p, transposed = transpose(A) * p1, expected = p1 - transposed;
  auto [s] = fuse(set(p, 2 * p), set(q, p - transpose(A) * p), sum_of(q));
  CHECK(eval(norm(q - expected)) == 0);
  CHECK(s == eval(sum(expected)));
}

TEST_CASE("statements of different lengths take passes of their own") {
  auto x = ones<double>(10), y = ones<double>(3000);
  auto [sx, sy] = fuse(sum_of(x), sum_of(y));
  CHECK(sx == 10);
  CHECK(sy == 3000);
  host_space<false> space({1, 10, 1, 1});
  CHECK_THROWS_AS(fuse(space, sum_of(y)), shape_error);
}

TEST_CASE("any number of statements and reductions") {
  auto x = random<double>(5000, 1), y = random<double>(5000, 2);
  auto [a, b, c, d, e] = fuse(set(x, 2 * x), dot_of(x, y), set(y, y + x), sum_of(y), norm1_of(x), max_of(y), norm_of(x));
  CHECK(a + b + c + d + e == Approx(eval(dot(x, y - x)) + eval(sum(y)) + eval(norm1(x)) + eval((max)(y)) + eval(norm(x))));
}

} // namespace test_passes
