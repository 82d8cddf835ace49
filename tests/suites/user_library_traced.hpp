// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The test of a user's library on traced values; which includes come first is the test's choice.
#pragma once

#include <sla/grad.hpp>
#include <sla/tensor.hpp>

#include "catch.hpp"
#include "suites/gradient.hpp"

TEST_CASE("a user's library is differentiated as it is") {
  auto const A = sla::problems::poisson<double>({10, 8});
  auto const b = sla::random<double>(A.rows(), 1), target = sla::random<double>(A.rows(), 2);
  auto const [value, gA, gb] = sla::value_and_gradient([&](auto const& B, auto const& c) { return user::misfit(B, c, target); }, A, b);
  CHECK(value == Approx(user::misfit(A, b, target)).epsilon(1e-9));
  auto const d = sla::random<double>(A.rows(), 3);
  CHECK(gradient::difference_error([&](auto const& c) { return user::misfit(A, c, target); }, b, gb, d, 1e-5) < 1e-6);
  CHECK(gradient::difference_error([&](auto const& B) { return user::misfit(B, b, target); }, A, gA, gradient::direction(A, 4, true), 1e-5) < 1e-6);
}
