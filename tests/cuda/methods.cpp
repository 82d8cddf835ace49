// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The methods on the device's space with simulated blocks: the host's answers, the same bits for every lag.
#include <sla/exec/evaluate.hpp>
#include <sla/solve/krylov/bicgstab.hpp>
#include <sla/solve/krylov/cg.hpp>
#include <sla/solve/krylov/gmres.hpp>
#include <sla/tensor/block.hpp>
#include <sla/tensor/problems.hpp>

#include "catch.hpp"
#include "simulated.hpp"

using namespace sla;

namespace {
/// M * r = 0.5 r: a preconditioner is whatever has `*`.
struct halve {
  template <class X>
  friend auto operator*(halve, X const& x) {
    return 0.5 * x;
  }
};

template <class Method, class A, class V>
void same_answer(Method const& method, A const& a, V const& b, frame f) {
  host_space<true> host(f);
  V x(b.extents());
  auto const wanted = method.run(host, a, halve{}, b, x, stop_maker{{.rtol = 1e-10, .max_iterations = 500}});
  std::vector<V> found;
  for (int lag : {0, 4, 32}) {
    simulated_space space(f, lag);
    V y(b.extents());
    auto const items = method.run(space, a, halve{}, b, y, stop_maker{{.rtol = 1e-10, .max_iterations = 500}});
    CHECK(eval(norm(b - a * y)) <= 1e-9 * eval(norm(b)));
    CHECK(eval(norm(y - x)) <= 1e-7 * eval(norm(x)));
    REQUIRE(items.size() == wanted.size());
    for (std::size_t k = 0; k < items.size(); ++k) {
      CHECK(items[k].state == reason::converged);
      CHECK(std::abs(items[k].iterations - wanted[k].iterations) <= 2);
    }
    CHECK(space.synchronizations() == 1);
    found.push_back(y);
  }
  for (index_t n = 0; n < b.size(); ++n) {
    CHECK(found[1][n] == found[0][n]);
    CHECK(found[2][n] == found[0][n]);
  }
}
}  // namespace

TEST_CASE("conjugate gradients: plain, batched, with right-hand sides") {
  auto const A = problems::poisson<double>({15, 16});
  same_answer(cg{}, A, random<double>(240, 1), {1, 240, 1, 1});
  same_answer(cg{}, to_batch(A, 2), random<double, Extents<dyn, dyn>>({2, 240}, 2), {2, 240, 1, 1});
  same_answer(cg{}, A, random<double, Extents<dyn, dyn>>({240, 3}, 3), {1, 240, 3, 3});
}

TEST_CASE("bicgstab and gmres") {
  auto const A = problems::convection_diffusion<double>({12, 13}, 0.5);
  same_answer(bicgstab{}, A, random<double>(156, 4), {1, 156, 1, 1});
  same_answer(gmres{.restart = 25}, A, random<double>(156, 5), {1, 156, 1, 1});
}
