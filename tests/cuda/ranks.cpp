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

TEST_CASE("the statements of a fuse there are one halo, and one all_reduce for sums and one for maxima, finished after it") {
  auto const A = problems::convection_diffusion<double>({9, 7}, {3.0, 1.0});
  auto const b = random<double>(A.rows(), 1);
  vector<double> const y = A * b;
  on_ranks(A, b, [&](auto const& D, auto const&, auto const& far, auto const& fb) {
    mesh_space_in<far_memory, Rows, false, true> space({1, fb.local().size(), 1, 1}, D.mesh());
    auto q = fb;
    auto const [length, largest, product] = fuse(space, set(q, far * fb), norm_of(q), norm_inf_of(q), dot_of(q, fb));
    space.finish();
    auto const is = [&](auto const& number, double expected) { return std::abs(space.read(number)[0] - expected) <= 1e-13 * std::abs(expected) ? 0.0 : 1.0; };
    return std::vector{is(length, norm(y)), is(largest, norm_inf(y)), is(product, dot(y, b)), std::abs(space.traffic().reductions - 2.0), std::abs(double(space.traffic().halos) - 1)};
  });
}

namespace {
/// How far b - A x is above 1e-10 of b.
template <class B, class X>
double missed(sparse_tensor<double> const& A, B const& b, X const& x) {
  double const residual = norm(b - A * x);
  return residual <= 1.01e-10 * norm(b) ? 0 : residual;
}
}  // namespace

TEST_CASE("conjugate gradients with Jacobi in another memory take the steps of the host, and give its numbers") {
  auto const A = problems::poisson<double>({23, 17});
  auto const b = random<double>(A.rows(), 5);
  on_ranks(A, b, [&](auto const& D, auto const& db, auto const& far, auto const& fb) {
    cg const method{.rtol = 1e-10};
    auto const expected = try_solve(D, db, method, jacobi{});
    auto const found = try_solve(far, fb, method, jacobi{});
    auto const x = here(found.x);
    double const sent = std::abs(found.report.sent.halos * found.report.iterations() - expected.report.sent.halos * expected.report.iterations());
    return std::vector{missed(A, b, x), off(x, gather(expected.x), 1e-9), double(std::abs(found.report.iterations() - expected.report.iterations()) > 1), double(sent > 1.5)};
  });
}

TEST_CASE("GMRES there, without a preconditioner, and conjugate gradients with several right-hand sides that stop by themselves") {
  auto const A = problems::convection_diffusion<double>({11, 9}, {5.0, -2.0}), S = problems::poisson<double>({11, 9});
  auto const b = random<double>(A.rows(), 5);
  auto const B = random<double, Extents<dyn, dyn>>({S.rows(), 3}, 6);
  on_ranks(A, b, [&](auto const& D, auto const&, auto const& far, auto const& fb) {
    auto const FS = to<far_memory>(distribute<SparseShard<0>>(S, D.mesh(), D.row_layout()));
    auto const x = here(solve(FS, to<far_memory>(distribute(B, D.row_layout())), cg{.rtol = 1e-10}, jacobi{}));
    return std::vector{missed(A, b, here(solve(far, fb, gmres{.rtol = 1e-10}, identity{}))), missed(S, B, x)};
  });
}

TEST_CASE("products with the transpose there, and gradients of products, norms and solves to vectors") {
  auto const A = problems::convection_diffusion<double>({9, 7}, {3.0, 1.0});
  auto const b = random<double>(A.rows(), 1), c = random<double>(A.rows(), 2);
  vector<double> const t = transpose(A) * b, y = A * b - c, g = transpose(A) * (y + exp(y) * b) + exp(y);
  double const value = 0.5 * squared_norm(y) + dot(exp(y), b);
  on_ranks(A, b, [&](auto const& D, auto const&, auto const& far, auto const& fb) {
    auto const fc = to<far_memory>(distribute(c, D.row_layout()));
    auto const ft = eval(transpose(far) * fb);
    auto const [fv, fg] = value_and_gradient(
        [&](auto const& v) {
          auto const z = far * v - fc;
          return 0.5 * squared_norm(z) + dot(exp(z), v);
        },
        fb);
    auto const [fn, fw] = value_and_gradient([&](auto const& v) { return dot(solve(far, v, bicgstab{.rtol = 1e-10}, jacobi{}), fc); }, fb);
    vector<double> const w = here(fw);  // of dot(A^-1 b, c): A^-T c
    vector<double> const left = c - transpose(A) * w;
    return std::vector{off(here(ft), t, 1e-14), std::abs(fv - value) <= 1e-12 * std::abs(value) ? 0.0 : 1.0, off(here(fg), g, 1e-12),
                       std::abs(fn - dot(w, b)) <= 1e-8 * std::abs(fn) ? 0.0 : 1.0, norm(left) <= 1.01e-10 * norm(c) ? 0.0 : 1.0};
  });
}

TEST_CASE("what is wrong on one rank is the error of all there too") {
  auto const A = problems::poisson<double>({5, 4});
  auto bad = ones<double>(A.rows());
  bad[7] = std::numeric_limits<double>::infinity();
  on_ranks(A, bad, [&](auto const&, auto const&, auto const& far, auto const& fb) {
    try {
      (void)try_solve(far, fb, cg{.rtol = 1e-10}, jacobi{});
    } catch (value_error const& e) {
      return std::vector{std::string(e.what()).find("is inf") != std::string::npos ? 0.0 : 1.0};
    }
    return std::vector{1.0};
  });
}

}  // namespace test_ranks
