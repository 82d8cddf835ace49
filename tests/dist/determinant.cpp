// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The stochastic logarithm of a determinant on thread ranks: the same probes, so that value, error and gradient are those of one rank.
#include <complex>

#include <sla/determinant.hpp>
#include <sla/dist.hpp>

#include "catch.hpp"
#include "suites/dual_on_ranks.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

namespace test_determinant_on_ranks {

using namespace sla;
using Rows = mesh<axis<"rows">>;

TEST_CASE("estimates of logarithms of determinants on ranks are those of one rank") {
  auto const check = [](auto const& A) {
    stochastic_lanczos const options{.probes = 20, .seed = 3};
    auto const alone = logdet(A, options);
    for (int ranks : {1, 2, 4})
      CHECK(suite::largest_error(ranks, [&](auto& world) {
              Rows m(world);
              auto const D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, true));
              auto const R = distribute<Replicate>(A, m);
              auto const guess = logdet(D, options);
              return std::array<double, 4>{std::abs(guess.value / alone.value - 1), std::abs(guess.error / alone.error - 1), double(guess.steps != alone.steps),
                                           std::abs(logdet(R.local(), options).value / alone.value - 1)};
            }) < 1e-9);
  };
  auto const A = problems::checkerboard({8, 7}, 10.0, 2);
  check(A);
  check(eval(1e200 * A));  // its squares are beyond the range of double
  check(to_blocks<2, 2>(A));
  check(cast<std::complex<double>>(A));
}

TEST_CASE("gradients of estimates on ranks are those of one rank") {
  auto const A = problems::checkerboard({8, 7}, 10.0, 2);
  stochastic_lanczos const options{.probes = 20, .seed = 3, .rtol = 1e-12};
  auto const f = [&](auto const& a) { return logdet(a, options).value; };
  auto const [value, g] = value_and_gradient(f, A);
  auto const x = random<double>(56, 1);
  vector<double> const expected = g * x;
  double const exact = value;
  for (int ranks : {1, 2, 4})
    CHECK(suite::largest_error(ranks, [&](auto& world) {
            Rows m(world);
            auto const D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, true));
            auto const [total, gD] = value_and_gradient(f, D);
            return std::array<double, 2>{std::abs(total / exact - 1), double(norm(gather(gD * distribute(x, D.row_layout())) - expected) / norm(expected))};
          }) < 1e-9);
  // The mean of the probes' derivatives is the derivative of the estimate where the change is a multiple of A: its rate is 2 there.
  gradient::check_dual_on_ranks(f, std::tie(A), {.accuracy = 1e-9, .along_itself = true});
}

TEST_CASE("what has no estimate on ranks is refused on all of them") {
  auto const words = suite::words_of(3, [&](auto& world) {
    Rows m(world);
    auto const D = distribute<SparseShard<0>>(eval(-1.0 * problems::poisson<double>({6, 5})), m);
    (void)logdet(D, stochastic_lanczos{});
  });
  for (auto const& w : words) CHECK(w.find("A is not positive definite") != std::string::npos);
}

} // namespace test_determinant_on_ranks
