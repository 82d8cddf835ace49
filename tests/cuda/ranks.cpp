// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distributed tensors whose parts lie in another memory than the host's, on the simulated device: packing, halos, fuse, solves and gradients are those of
// ranks on the host, and of one rank.
#include <sla/dist.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "far_memory.hpp"
#include "suites/partition.hpp"

namespace test_ranks {

using namespace sla;
using test_far::far_memory;
using Rows = mesh<axis<"rows">>;

namespace {
/// f(the part of this rank of A, of b, in host memory and elsewhere) on 1 to 4 ranks, of strips and of rows without order; every number it returns is 0.
template <class F>
void on_ranks(sparse_tensor<double> const& A, vector<double> const& b, F const& f) {
  for (int ranks : {1, 2, 3, 4}) {
    auto const errors = threads::run(ranks, [&](auto& world) {
      Rows m(world);
      auto const D = distribute<SparseShard<0>>(A, m, suite::owners_for(A, ranks, ranks % 2 == 0));
      auto const db = distribute(b, D.row_layout());
      return f(D, db, to<far_memory>(D), to<far_memory>(db));
    });
    INFO(ranks << " ranks");
    for (auto const& list : errors)
      for (double e : list) CHECK(e <= 0);
  }
}
template <class X>
auto here(X const& x) {
  return gather(to<host_memory>(x));
}
/// 0, or by how much x is off.
template <class X, class Y>
double off(X const& x, Y const& y, double tolerance) {
  double const difference = norm(x - y);
  return difference <= tolerance * norm(y) ? 0 : difference;
}
}  // namespace

TEST_CASE("products and expressions of parts in another memory are those of the host: rows are packed, sent, and read there") {
  auto const A = problems::convection_diffusion<double>({9, 7}, {3.0, 1.0});
  auto const b = random<double>(A.rows(), 1);
  vector<double> const y = A * b, z = 2.0 * (A * (A * b)) - b;
  on_ranks(A, b, [&](auto const& D, auto const& db, auto const& far, auto const& fb) {
    auto const fy = eval(far * fb);
    static_assert(std::same_as<typename local_of_t<decltype(fy)>::memory_type, far_memory>);
    auto fz = fy;
    fz = 2.0 * (far * (far * fb)) - fb;
    (void)D, (void)db;
    return std::vector{off(here(fy), y, 1e-15), off(here(fz), z, 1e-14), std::abs(norm(fz).value() - norm(z)) <= 1e-12 * norm(z) ? 0.0 : 1.0};
  });
}

TEST_CASE("conjugate gradients with Jacobi in another memory take the steps of the host, and give its numbers") {
  auto const A = problems::poisson<double>({23, 17});
  auto const b = random<double>(A.rows(), 5);
  auto const x = solve(A, b, cg{.rtol = 1e-12}, jacobi{});
  on_ranks(A, b, [&](auto const& D, auto const& db, auto const& far, auto const& fb) {
    auto const expected = try_solve(D, db, cg{.rtol = 1e-10}, jacobi{}), found = try_solve(far, fb, cg{.rtol = 1e-10}, jacobi{});
    return std::vector{off(here(found.x), x, 1e-8), double(!found.report.converged()), double(std::abs(found.report.iterations() - expected.report.iterations()) > 1)};
  });
}

TEST_CASE("products with the transpose, and gradients of products, norms and solves to vectors, are those of one rank") {
  auto const A = problems::convection_diffusion<double>({9, 7}, {3.0, 1.0});
  auto const S = problems::poisson<double>({9, 7});
  auto const b = random<double>(A.rows(), 1), c = random<double>(A.rows(), 2);
  vector<double> const t = transpose(A) * b;
  auto const program = [](auto const& a, auto const& other) {
    return [&](auto const& v) {
      auto const y = a * v - other;
      return 0.5 * squared_norm(y) + dot(exp(y), v);
    };
  };
  auto const of_solve = [](auto const& a, auto const& other) {
    return [&](auto const& v) { return dot(solve(a, v, cg{.rtol = 1e-13}, jacobi{}), other); };
  };
  auto const [value, g] = value_and_gradient(program(A, c), b);
  auto const [number, w] = value_and_gradient(of_solve(S, c), b);
  on_ranks(A, b, [&, value = value, number = number, &g = g, &w = w](auto const& D, auto const&, auto const& far, auto const& fb) {
    auto const fc = to<far_memory>(distribute(c, D.row_layout()));
    auto const DS = to<far_memory>(distribute<SparseShard<0>>(S, D.mesh(), D.row_layout()));
    auto const ft = eval(transpose(far) * fb);
    auto const [fv, fg] = value_and_gradient(program(far, fc), fb);
    auto const [fn, fw] = value_and_gradient(of_solve(DS, fc), fb);
    return std::vector{off(here(ft), t, 1e-14), std::abs(fv - value) <= 1e-12 * std::abs(value) ? 0.0 : 1.0, off(here(fg), g, 1e-12),
                       std::abs(fn - number) <= 1e-10 * std::abs(number) ? 0.0 : 1.0, off(here(fw), w, 1e-9)};
  });
}

}  // namespace test_ranks
