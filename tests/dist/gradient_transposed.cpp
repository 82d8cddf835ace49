// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients and tangents through transpose(D), conj(D) and adjoint(D) of a distributed matrix that is differentiated, against one rank.
#include <complex>

#include <sla/dist.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "catch.hpp"
#include "suites/partition.hpp"
#include "suites/spread.hpp"

using namespace sla;

namespace gradient_transposed {
namespace {
using Rows = mesh<axis<"rows">>;
using Z = std::complex<double>;

constexpr auto of_views = [](auto const& a, auto const& v, auto const& b) {
  return squared_norm(eval(transpose(a) * v) - b) + squared_norm(eval(conj(a) * v) * b) + squared_norm(adjoint(a) * eval(a * v));
};
/// Of columns: a pending sum is finished before it is squared, and what a transpose multiplies is whole.
constexpr auto of_columns = [](auto const& a, auto const& v, auto const& b) { return squared_norm(eval(adjoint(a) * v) - b); };

/// The differences to one rank: value, both gradients (that of A by a product), and the slope along them.
template <class P, class F>
double largest_difference(int ranks, sparse_tensor<Z> const& A, vector<Z> const& x, vector<Z> const& b, F const& f) {
  auto const one = [&](auto const& a, auto const& v) { return f(a, v, b); };
  auto [value, gA, gx] = value_and_gradient(one, A, x);
  double const slope = std::get<1>(jvp(one, std::tie(A, x), std::tie(gA, gx)));
  vector<Z> const probe = random<Z>({A.cols()}, 9), applied = gA * probe;
  double const scale = 1 + std::abs(value), expected = value;
  return suite::largest_error(ranks, [&, &gx = gx, &gA = gA](auto& world) {
    Rows m(world);
    auto const D = distribute<P>(A, m, suite::owners_for(A, ranks, true));
    auto const dx = [&] {
      if constexpr (std::same_as<F, std::remove_const_t<decltype(of_columns)>>)
        return distribute<Replicate>(x, m);
      else
        return distribute(x, D.row_layout());
    }();
    auto const db = distribute(b, D.col_layout());
    auto const many = [&](auto const& a, auto const& v) { return f(a, v, db); };
    auto const [total, dA, g] = value_and_gradient(many, D, dx);
    auto const along = std::get<1>(jvp(many, std::tie(D, dx), std::tuple(distribute<P>(gA, m, suite::owners_for(A, ranks, true)), [&] {
                               if constexpr (std::same_as<F, std::remove_const_t<decltype(of_columns)>>)
                                 return distribute<Replicate>(gx, m);
                               else
                                 return distribute(gx, D.row_layout());
                             }())));
    auto const product = [&](auto const& turned) {
      if constexpr (std::same_as<P, SparseShard<1>>)
        return all_reduce<"rows">(turned * distribute(probe, D.col_layout()));
      else
        return eval(turned * distribute(probe, D.col_layout()));
    }(dA);
    return std::array<double, 4>{std::abs(total - expected) / scale, double(norm(gather(g) - gx)) / scale, double(norm(gather(product) - applied)) / scale,
                                 std::abs(all_reduce<"rows">(along).value() - slope) / (1 + std::abs(slope))};
  });
}
}  // namespace

TEST_CASE("gradients through views of a distributed matrix are those of one rank") {
  auto const A = problems::random_sparse<Z>(30, 30, 4, 3);
  auto const x = random<Z>({30}, 1), b = random<Z>({30}, 2);
  for (int ranks : {1, 3}) {
    CHECK(largest_difference<SparseShard<0>>(ranks, A, x, b, of_views) <= 1e-12);
    CHECK(largest_difference<Hyper<>>(ranks, A, x, b, of_views) <= 1e-12);
    CHECK(largest_difference<SparseShard<1>>(ranks, A, x, b, of_columns) <= 1e-12);
  }
}
}  // namespace gradient_transposed
