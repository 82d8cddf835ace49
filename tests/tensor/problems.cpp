// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Model problems against their stencils, entry by entry.
#include "catch.hpp"
#include "oracle.hpp"

#include <complex>
#include <functional>

#include <sla/tensor/build/block.hpp>
#include <sla/tensor/problems/problems.hpp>

namespace test_problems {

using namespace sla;

/// The dense matrix of a stencil: face(x, y, z, axis, side) couples neighbours; the diagonal sums all faces.
using face_weight = std::function<double(int const*, int, int)>;
std::vector<double> stencil(std::vector<int> n, face_weight const& face) {
  int const axes = int(n.size());
  n.resize(3, 1);
  int const total = n[0] * n[1] * n[2];
  std::vector<double> out(std::size_t(total) * std::size_t(total));
  int const stride[] = {1, n[0], n[0] * n[1]};
  for (int row = 0; row < total; ++row) {
    int const at[] = {row % n[0], row / n[0] % n[1], row / n[0] / n[1]};
    for (int a = 0; a < axes; ++a)
      for (int side : {-1, 1}) {
        double const w = face(at, a, side);
        out[std::size_t(row) * std::size_t(total) + std::size_t(row)] += w;
        int const there = at[a] + side;
        if (there >= 0 && there < n[std::size_t(a)])
          out[std::size_t(row) * std::size_t(total) + std::size_t(row + side * stride[a])] = -w;
      }
  }
  return out;
}
double laplace(int const*, int, int) { return 1; }

TEST_CASE("Poisson in one, two and three dimensions, in every format") {
  CHECK(equals(problems::poisson({7}), stencil({7}, laplace)));
  CHECK(equals(problems::poisson({5, 4}), stencil({5, 4}, laplace)));
  CHECK(equals(problems::poisson<float>({3, 4, 2}), stencil({3, 4, 2}, laplace)));
  CHECK(equals(problems::poisson<std::complex<double>, Csr<std::int32_t, std::int64_t>>({5, 4}),
               stencil({5, 4}, laplace)));
  CHECK(equals(problems::poisson<double, Coo<>>({5, 4}), stencil({5, 4}, laplace)));
  CHECK(equals(problems::poisson<double, Dia>({5, 4}), stencil({5, 4}, laplace)));
  CHECK(equals(problems::poisson<double, Dia>({3, 2, 4}), stencil({3, 2, 4}, laplace)));
  index_t const n = 3;
  CHECK(problems::poisson({n, n}).nnz() == 33);
}

TEST_CASE("grids that are one point wide, or empty") {
  CHECK(equals(problems::poisson({1, 1}), stencil({1, 1}, laplace)));
  CHECK(equals(problems::poisson({1, 4}), stencil({1, 4}, laplace)));
  CHECK(equals(problems::poisson<double, Dia>({1, 4}), stencil({1, 4}, laplace)));
  CHECK(equals(problems::poisson<double, Dia>({2, 1, 3}), stencil({2, 1, 3}, laplace)));
  CHECK(problems::poisson({0, 4}).rows() == 0);
  CHECK(problems::poisson<double, Dia>({4, 0}).nnz() == 0);
  CHECK_THROWS_AS(problems::poisson({-1, 4}), shape_error);
  CHECK_THROWS_WITH((problems::poisson<double, Csr<std::int64_t>>({index_t(1) << 32, index_t(1) << 32})), Catch::Matchers::ContainsSubstring("more elements than std::int64_t counts"));
}

TEST_CASE("patterns are sorted, and those of other ways to them") {
  auto const A = problems::poisson({40, 30});
  CHECK(has_sorted_columns(A.pattern()));
  CHECK(same_pattern(problems::poisson<double, Dia>({6, 5, 4}).pattern(),
                     to<Dia>(problems::poisson({6, 5, 4})).pattern()));
  CHECK(problems::poisson<double, Dia>({6, 5, 4}).nnz() == to<Dia>(problems::poisson({6, 5, 4})).nnz());
  CHECK(
      same_pattern(problems::poisson<double, Coo<>>({6, 5}).pattern(), to<Coo<>>(problems::poisson({6, 5})).pattern()));
}

TEST_CASE("the parallel fill agrees with the serial one") {
  set_threads(1);
  auto const one = problems::poisson({150, 20, 17});
  set_threads(5);
  auto const five = problems::poisson({150, 20, 17});
  set_threads(0);
  CHECK(same_pattern(one.pattern(), five.pattern()));
  CHECK(std::equal(one.values().begin(), one.values().end(), five.values().begin()));
}

TEST_CASE("anisotropic, checkerboard, convection-diffusion") {
  CHECK(equals(problems::anisotropic({4, 3}, 0.25),
               stencil({4, 3}, [](int const*, int a, int) { return a == 0 ? 1 : 0.25; })));
  CHECK(equals(problems::anisotropic<double, Dia>({4, 3, 2}, 0.25),
               stencil({4, 3, 2}, [](int const*, int a, int) { return a == 0 ? 1 : 0.25; })));

  auto conductivity = [](int const* at, int a, int side) {
    auto k = [&](int by) {
      int colour = 0;
      int const n[] = {8, 6};
      for (int b = 0; b < 2; ++b) colour += (at[b] + (a == b ? by : 0)) * 2 / n[b];
      return colour % 2 ? 3.0 : 1.0;
    };
    int const n[] = {8, 6}, there = at[a] + side;
    return there < 0 || there >= n[a] ? k(0) : 2 * k(0) * k(side) / (k(0) + k(side));
  };
  auto const A = problems::checkerboard({8, 6}, 3.0, 2);
  auto const expected = stencil({8, 6}, conductivity);
  auto const D = to_dense(A);
  for (index_t n = 0; n < D.size(); ++n) CHECK(D[n] == Approx(expected[std::size_t(n)]));
  CHECK(problems::checkerboard({8, 6, 5}, 1e4).nnz() == problems::poisson({8, 6, 5}).nnz());

  auto upwind = [](double vx, double vy) {
    return [=](int const*, int a, int side) {
      double const v = a == 0 ? vx : vy;
      return side < 0 ? 1 + (v > 0 ? v : 0) : 1 + (v < 0 ? -v : 0);
    };
  };
  CHECK(equals(problems::convection_diffusion({4, 3}, {2.0, -0.5}), stencil({4, 3}, upwind(2, -0.5))));
  CHECK(equals(problems::convection_diffusion<double, Dia>({4, 3}, 10), stencil({4, 3}, upwind(10, 10))));
  CHECK_THROWS_AS(problems::anisotropic({4, 3}, 0), value_error);
  CHECK_THROWS_AS(problems::checkerboard({4, 3}, -1), value_error);
  CHECK_THROWS_AS(problems::checkerboard({4, 3}, 1, 0), value_error);
  CHECK_THROWS_AS(problems::convection_diffusion({4, 3}, INFINITY), value_error);
}

} // namespace test_problems
