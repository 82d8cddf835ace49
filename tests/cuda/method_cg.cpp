// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conjugate gradients on the device's space: plain, in a batch, with right-hand sides; passes and synchronisations.
#include <sla/exec/cuda/diagonal.cuh>
#include <sla/solve/precond/amg/in_memory/levels_in_memory.hpp>
#include <sla/solve/precond/composed/chebyshev.hpp>

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

TEST_CASE("multigrid cycles there on the levels of the host, in as many iterations, with any cycle and scalars") {
  auto const A = problems::poisson<double>({24, 25});
  auto const b = random<double>(A.rows(), 1);
  for (auto const cycle : {amg_cycle::V, amg_cycle::W, amg_cycle::amli}) {
    amg const options{.cycle = cycle, .coarsening = amg_coarsening::smoothed, .coarsest = 20};
    auto const expected = try_solve(A, b, cg{.rtol = 1e-10}, options);
    auto const check = [&](auto const& M) {
      auto const found = try_solve(A, b, cg{.rtol = 1e-10}, M, on([](frame f) { return simulated_space(f, 4); }));
      CHECK(found.report.iterations() == expected.report.iterations());
      CHECK(eval(norm(found.x - expected.x)) <= 1e-9 * eval(norm(expected.x)));
    };
    check(applied_amg_in<double, Matrix, double, host_memory>(detail::on_device(options.checked(1)), A));
    if (cycle == amg_cycle::V) check(applied_amg_in<double, Matrix, float, host_memory>(detail::on_device(options.checked(1)), A));
  }
  amg const of_grids{.coarsening = amg_coarsening::grid};
  for (auto const& G : {problems::poisson<double>({45, 52}), problems::checkerboard<double>({12, 11, 13}, 10)}) {  // of an odd and an even number of points
    auto const c = random<double>(G.rows(), 2);
    auto const expected = try_solve(G, c, cg{.rtol = 1e-10}, of_grids);
    applied_amg_in<double, Matrix, double, host_memory> const M(detail::on_device(of_grids.checked(1)), G);
    REQUIRE(M.host().hierarchy().grid);
    auto const found = try_solve(G, c, cg{.rtol = 1e-10}, M, on([](frame f) { return simulated_space(f, 4); }));
    CHECK(std::abs(found.report.iterations() - expected.report.iterations()) <= 1);
    CHECK(eval(norm(found.x - expected.x)) <= 1e-8 * eval(norm(expected.x)));
  }
  CHECK_THROWS_WITH(detail::on_device(amg{.smoother = jacobi{}}.checked(1)), Catch::Matchers::ContainsSubstring("smooth on the host alone"));
}

TEST_CASE("an iteration of conjugate gradients is three kernels and three maps; its two folds have kernels only where there are many items") {
  for (index_t batch : {1, 9}) {
    auto const A = to_batch(problems::poisson<double>({15, 20}), batch);
    auto const M = jacobi{}.setup(A);
    auto const b = random<double, Extents<dyn, dyn>>({batch, 300}, 4);
    int passes[2], folds[2], launches_of_folds[2], maps[2];
    for (int run : {0, 1}) {
      auto x = zeros<double, Extents<dyn, dyn>>({batch, 300});
      simulated_space space(frame{batch, 300, 1, 1}, 0);
      auto const items = cg::run(space, A, M, b, x, stop_maker{{.rtol = 0, .max_iterations = 10 + 10 * run}});
      CHECK(items.size() == std::size_t(batch));
      for (auto const& item : items) CHECK(item.iterations == 10 + 10 * run);
      CHECK(space.synchronizations() == 1);
      passes[run] = space.engine().passes;
      folds[run] = space.engine().folds;
      maps[run] = space.engine().maps;
      launches_of_folds[run] = space.engine().launches_of_folds;
    }
    CHECK(passes[1] - passes[0] == 30);
    CHECK(folds[1] - folds[0] == 20);
    CHECK(maps[1] - maps[0] == 30);
    CHECK(launches_of_folds[1] - launches_of_folds[0] == (batch == 1 ? 0 : 20));
  }
}

TEST_CASE("a batch has its own blocks of one launch, and each item its own stop") {
  CHECK(cuda::share({1000, 25, 1, 1}, 256, 1).blocks() == 1000);
  CHECK(cuda::share({3, 50000, 1, 1}, 256, 1).blocks() == 3 * 196);  // a tile each, until the device is full
  CHECK(cuda::share({3, 100000, 1, 1}, 256, 1).blocks() == 3 * (cuda::filling_blocks / 3));
  CHECK(cuda::share({3, index_t(1) << 30, 1, 1}, 256, 1).blocks() == 3 * (cuda::most_blocks / 3));
  index_t const n = 240, batch = 4;
  auto A = to_batch(problems::poisson<double>({15, 16}), batch);
  auto const diagonal = diagonal_positions(A.pattern());
  for (index_t item = 0; item < batch; ++item)
    for (index_t i = 0; i < n; ++i) A.values()[item * A.batch_stride() + diagonal[i]] += double(item * item);
  auto const b = random<double, Extents<dyn, dyn>>({batch, n}, 5);
  auto const expected = try_solve(A, b, cg{.rtol = 1e-10}, jacobi{});
  auto const found = try_solve(A, b, cg{.rtol = 1e-10}, jacobi{}, on([](frame f) { return simulated_space(f, 4); }));
  CHECK(eval(norm(found.x - expected.x)) <= 1e-8 * eval(norm(expected.x)));
  for (std::size_t item = 0; item < std::size_t(batch); ++item) {
    CHECK(found.report.items[item].state == reason::converged);
    CHECK(std::abs(found.report.items[item].iterations - expected.report.items[item].iterations) <= 1);
    if (item > 0) CHECK(found.report.items[item].iterations < found.report.items[item - 1].iterations);
  }
}

TEST_CASE("the diagonal as a node is the diagonal of the host") {
  auto const A = to_batch(to_blocks<2, 2>(problems::convection_diffusion<double>({6, 8}, 0.5)), 3);
  auto const expected = diagonal_of(A);
  auto found = expected;
  simulated_immediate space;
  fuse(space, set(found, cuda::diagonal_node(A)));
  CHECK(std::equal(expected.begin(), expected.end(), found.begin()));
}
