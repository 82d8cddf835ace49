// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches, and blocks, of eigenproblems, singular triplets, least squares and estimates of determinants on queues of any lag: what the host finds.
#include <sla/determinant.hpp>
#include <sla/eigenvalues.hpp>
#include <sla/least_squares.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/queues.hpp"

namespace test_batches_on_queues {

using namespace sla;
using suite::check_lags;

namespace {
auto const A = eval(problems::poisson<double>({6, 5}) + diagonal(random<double>(30, 2)));
auto const items = stack_batch(A, eval(A + diagonal(random<double>(30, 3))));
auto const pairs = [](auto const& r) { return std::tie(r.values, r.vectors); };
} // namespace

TEST_CASE("eigenpairs of batches and of blocks are the same on a queue of any lag, by every method") {
  auto const blocks = to_blocks<2, 2>(items);
  check_lags([](auto const&... queue) { return eigsh(items, 2, smallest{}, lobpcg{.rtol = 1e-12}, jacobi{}, queue...); }, pairs);
  check_lags([](auto const&... queue) { return eigsh(items, 2, largest{}, lanczos{.rtol = 1e-12}, queue...); }, pairs);
  check_lags([&](auto const&... queue) { return eigsh(blocks, 2, smallest{}, lobpcg{.rtol = 1e-12}, queue...); }, pairs);
  check_lags([](auto const&... queue) { return eigsh(items, 2, near{2.1}, lanczos{.rtol = 1e-12}, queue...); }, pairs);
  auto const C = problems::convection_diffusion<double>({6, 5}, {0.8, 0.3});
  auto const general = stack_batch(C, eval(C + diagonal(random<double>(30, 3))));
  check_lags([&](auto const&... queue) { return eigs(general, 2, near{1.0}, krylov_schur{.rtol = 1e-12}, queue...); }, pairs);
  check_lags([&](auto const&... queue) { return svds(general, 2, largest{}, golub_kahan{.rtol = 1e-12}, queue...); }, [](auto const& r) { return std::tie(r.values, r.left, r.right); });
}

TEST_CASE("least squares and estimates of determinants of batches are the same on a queue of any lag") {
  auto const tall = cat_rows(problems::poisson<double>({5, 4}), problems::convection_diffusion<double>({5, 4}, {1.0, 2.0}));
  auto const both = stack_batch(tall, -2.0 * tall);
  auto const b = random<double, Extents<dyn, dyn>>({2, 40}, 4);
  auto const x = [](auto const& r) { return std::tie(r.x); };
  check_lags([&](auto const&... queue) { return try_least_squares(both, b, lsmr{.rtol = 1e-12}, queue...); }, x);
  check_lags([&](auto const&... queue) { return try_least_squares(both, b, lsqr{.rtol = 1e-12, .damping = 0.3}, queue...); }, x);
  check_lags([&](auto const&... queue) { return try_least_squares(both, b, cgls{.rtol = 1e-12}, queue...); }, x);
  stochastic_lanczos const options{.probes = 8, .seed = 3};
  auto const host = logdet(items, options);
  for (int lag : {0, 4, 32}) {
    auto const late = logdet(items, options, on([lag](frame f) { return deferred(f, lag); }));
    CHECK(norm(late.value - host.value) <= 1e-12 * norm(host.value));
    CHECK(norm(late.error - host.error) <= 1e-9 * norm(host.error));
  }
}

} // namespace test_batches_on_queues
