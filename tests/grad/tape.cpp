// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tape owns and counts: locals of the differentiated function are gone before the sweep, an operand that comes
// again is copied once, entries are released as they are pulled back.
#include <sstream>

#include <sla/grad/call/gradient.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

using namespace sla;

TEST_CASE("locals of the function are gone, or changed, before the sweep") {
  index_t const n = 400;
  auto const x = random<double>(n, 1);
  auto const [value, g] = value_and_gradient(
      [&](auto const& z) {
        vector<double> weight = 2.0 * ones<double>(n);
        auto y = z * weight;
        weight = 3.0 * weight;  // y has seen the old one
        auto A = problems::poisson<double>({20, 20});
        y = A * y + transpose(A) * (weight * y) + adjoint(problems::poisson<double>({20, 20})) * y;
        return dot(ones<double>(n) / weight, y) + sum(y * random<double>(n, 2));
      },
      x);
  auto A = problems::poisson<double>({20, 20});
  vector<double> const w = ones<double>(n) / 6.0 + random<double>(n, 2);
  vector<double> const expected = 2.0 * (A * w + 6.0 * (A * w) + A * w);
  CHECK(double(norm(g - expected)) < 1e-12 * double(norm(expected)));
}

TEST_CASE("traced values print their plain value") {
  std::string seen;
  (void)value_and_gradient(
      [&](auto const& x) {
        std::ostringstream out;
        out << x << '|' << dot(x, x) << '|' << x[0];
        seen = out.str();
        return sum(x);
      },
      vector<double>{1.0, 2.0});
  CHECK(seen == "1 2|5|1");
}

TEST_CASE("operations are recorded once each, whatever their size") {
  tape t;
  auto const x = random<double>(1000, 1);
  auto& v = t.input(x);
  traced<vector<double>> z(t, v);
  auto y = 0.5 * squared_norm(exp(z) - x);
  CHECK(t.operations() == 4);
  CHECK(eval(y).value() == y.value());
  CHECK(t.operations() == 4);
  y.variable().add(1.0);
  t.sweep();
  CHECK(t.operations() == 0);
  auto const g = v.take_cotangent();
  CHECK(double(norm(g - (exp(x) - x) * exp(x))) < 1e-13);
}

TEST_CASE("a plain operand that comes again unchanged is copied once") {
  auto const A = problems::poisson<double>({100, 100});
  auto x = random<double>(A.cols(), 1);
  tape t;
  traced<vector<double>> z(t, t.input(x));
  auto const weight = random<double>(A.cols(), 2);
  auto const before = memory_in_use().now;
  auto const vector_bytes = std::size_t(A.cols()) * sizeof(double);
  for (int step = 0; step < 10; ++step) z = A * (weight * z);
  auto const used = memory_in_use().now - before;
  CHECK(used < 20 * vector_bytes + vector_bytes + A.values().bytes() + A.values().bytes() / 10);
  for (int step = 0; step < 10; ++step) z = transpose(A) * z;  // a view owns nothing: pattern and values are copied, once
  CHECK(memory_in_use().now - before - used < 10 * vector_bytes + A.bytes() + A.bytes() / 10);
}

TEST_CASE("a kept operand that changes is copied again") {
  vector<double> weight{1, 2, 3};
  vector<double> const x{1, 1, 1};
  auto const [value, g] = value_and_gradient(
      [&](auto const& z) {
        auto y = weight * z;
        weight[0] = 10;
        return sum(y) + sum(weight * z);
      },
      x);
  CHECK((g[0] == 11 && g[1] == 4 && g[2] == 6));
}
