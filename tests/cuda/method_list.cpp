// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of systems of different sizes on the device's space: each stops as it does on the host, the same bits for every lag.
#include <sla/solve/linear/choose.hpp>
#include <sla/solve/linear/linear_list.hpp>

#include "methods.hpp"

using namespace sla;

namespace {
template <class A, class V, class Method>
void same_answers(std::vector<A> const& systems, std::vector<V> const& b, Method const& method) {
  sparse_list const L(systems);
  auto const [x, wanted] = try_solve(L, b, method, jacobi{});
  REQUIRE(wanted.converged());
  std::vector<std::vector<V>> found;
  for (int lag : {0, 4, 32}) {
    auto const [y, report] =
        try_solve(L, b, method, jacobi{}, on([lag](frame f, packed_systems const& each) { return simulated_space(f, each, lag); }));
    INFO("lag " << lag << ": " << report);
    REQUIRE(report.items.size() == wanted.items.size());
    for (std::size_t n = 0; n < wanted.items.size(); ++n) {
      CHECK(report.items[n].state == reason::converged);
      CHECK(std::abs(report.items[n].iterations - wanted.items[n].iterations) <= 2);
    }
    for (std::size_t k = 0; k < x.size(); ++k) {
      CHECK(double(norm(y[k] - x[k])) <= 1e-7 * double(norm(x[k])));
      if (!found.empty()) CHECK(std::equal(y[k].begin(), y[k].end(), found[0][k].begin()));
    }
    found.push_back(y);
  }
}
}  // namespace

TEST_CASE("systems from one row to several tiles") {
  std::vector<sparse_tensor<double>> A;
  std::vector<sla::vector<double>> b;
  for (index_t n : {3, 1, 40, 12}) {
    A.push_back(problems::poisson<double>({n, n}));
    b.push_back(random<double>(n * n, std::uint64_t(n)));
  }
  same_answers(A, b, cg{.rtol = 1e-10});
}

TEST_CASE("complex blocks with right-hand sides, and a method that keeps many vectors") {
  using complex_t = std::complex<double>;
  using Columns = tensor<complex_t, Extents<dyn, 2, dyn>>;
  std::vector<sparse_tensor<complex_t, Shape<Batch<>, dyn, dyn, Block<2, 2>>>> A;
  std::vector<Columns> b;
  for (index_t n : {10, 1, 18}) {
    A.push_back(cast<complex_t>(to_blocks<2, 2>(problems::convection_diffusion<double>({n, 8}, 0.5))));
    b.push_back(random<complex_t, Extents<dyn, 2, dyn>>({A.back().rows(), 2, 3}, 5 + b.size()));
  }
  same_answers(A, b, gmres{.rtol = 1e-10});
}
