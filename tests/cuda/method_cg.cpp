// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conjugate gradients on the device's space: plain, in a batch, with right-hand sides; passes and synchronisations.
#include <sla/exec/cuda/diagonal.cuh>
#include <sla/solve/precond/chebyshev.hpp>

#include "methods.hpp"

using namespace sla;

TEST_CASE("conjugate gradients have the host's answer") {
  auto const A = problems::poisson<double>({15, 16});
  same_answer(A, random<double>(240, 1), cg{.rtol = 1e-10});
  same_answer(to_batch(A, 2), random<double, Extents<dyn, dyn>>({2, 240}, 2), cg{.rtol = 1e-10});
  same_answer(A, random<double, Extents<dyn, dyn>>({240, 3}, 3), cg{.rtol = 1e-10});
}

TEST_CASE("chebyshev polynomials are applied there, and their bounds found there, as on the host") {
  auto const A = problems::poisson<double>({15, 16});
  auto const b = random<double>(240, 1), other = random<double>(240, 2);
  auto const M = chebyshev{}.setup(A);
  auto const expected = try_solve(A, b, cg{.rtol = 1e-10}, M), found = try_solve(A, b, cg{.rtol = 1e-10}, M, on([](frame f) { return simulated_space(f, 4); }));
  CHECK(found.report.iterations() == expected.report.iterations());
  CHECK(eval(norm(found.x - expected.x)) <= 1e-9 * eval(norm(expected.x)));
  simulated_space there(frame{1, 240, 1, 1}, 4);
  host_space<false> here(frame{1, 240, 1, 1});
  auto const largest = [&](auto& space) { return detail::lanczos(space, A, jacobi{}.setup(A), b, other, 10).largest(1e-16, "", ""); };
  CHECK(largest(there) == Approx(largest(here)));
  CHECK(there.synchronizations() == 1);
}

TEST_CASE("an iteration of conjugate gradients is three kernels, two folds, and maps; the host waits once") {
  auto const A = problems::poisson<double>({30, 30});
  auto const M = jacobi{}.setup(A);
  auto const b = random<double>(900, 4);
  int passes[2], folds[2];
  for (int run : {0, 1}) {
    auto x = zeros<double>(900);
    simulated_space space(frame{1, 900, 1, 1}, 0);
    auto const items = cg::run(space, A, M, b, x, stop_maker{{.rtol = 0, .max_iterations = 10 + 10 * run}});
    CHECK(items[0].iterations == 10 + 10 * run);
    CHECK(space.synchronizations() == 1);
    passes[run] = space.engine().passes;
    folds[run] = space.engine().folds;
  }
  CHECK(passes[1] - passes[0] == 30);
  CHECK(folds[1] - folds[0] == 20);
}

TEST_CASE("the diagonal as a node is the diagonal of the host") {
  auto const A = to_batch(to_blocks<2, 2>(problems::convection_diffusion<double>({6, 8}, 0.5)), 3);
  auto const expected = diagonal_of(A);
  auto found = expected;
  simulated_immediate space;
  fuse(space, set(found, cuda::diagonal_node(A)));
  CHECK(std::equal(expected.begin(), expected.end(), found.begin()));
}
