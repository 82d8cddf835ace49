// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nonzero partitions on thread ranks: products and transposed products are those of one rank, every entry is on one rank, and a
// product sends a halo in and contributions out.
#include <sla/dist/assembly/distribute.hpp>
#include <sla/dist/grad/value_and_gradient.hpp>
#include <sla/dist/engine/threads.hpp>
#include <sla/spmd/schedule/outline_operators.hpp>
#include <sla/tensor/problems/random_problems.hpp>

#include "catch.hpp"

namespace test_entries {

using namespace sla;

namespace {
using Mesh = mesh<axis<"rows">>;
using Entries = dsparse_tensor<sparse_tensor<double>, Mesh, Hyper<>>;
using Column = dtensor<vector<double>, Mesh, Shard<0, Part<>>>;
constexpr auto multiply = [](auto const& A, auto const& x) { return A * x; };
constexpr auto sent = schedule<multiply, Entries, Column>;
static_assert(sent.size() == 2 && sent[0].how() == step::halo_exchange && sent[1].how() == step::halo_reduce);
static_assert(sent.backward()[0].how() == step::halo_exchange && sent.backward()[1].how() == step::halo_reduce);
static_assert(std::same_as<result_placements_t<op::matvec, Entries, Column>, placements<Shard<0, Part<>>>>);
static_assert(!well_typed<op::matvec, Entries, dtensor<vector<double>, Mesh, Shard<0>>>, "another family of vectors");

template <class T>
void check(sparse_tensor<T> const& A) {
  auto const x = random<T>({A.cols()}, 1);
  tensor<T, Extents<dyn, dyn>> const X = random<T, Extents<dyn, dyn>>({A.cols(), 3}, 2);
  vector<T> const y = A * x, z = transpose(A) * x, w = adjoint(A) * x;
  tensor<T, Extents<dyn, dyn>> const Y = A * X;
  for (int ranks : {1, 2, 3, 8})
    for (auto const& [apart, entries] : threads::run(ranks, [&](auto& world) {
           Mesh m(world);
           auto const D = distribute<Hyper<>>(A, m, strips{});
           auto const dx = distribute(x, D.row_layout());
           auto const dX = distribute(X, D.row_layout());
           double const e = norm(gather(eval(D * dx)) - y) + norm(gather(eval(transpose(D) * dx)) - z) +
                            norm(gather(eval(adjoint(D) * dx)) - w) + norm(gather(eval(D * dX)) - Y) +
                            norm(gather(eval(dx - D * (2.0 * dx))) - (x - 2.0 * y));
           return std::pair{e, all_reduce(m.world(), D.local().nnz())};
         })) {
      CHECK(apart <= 1e-12 * (1 + double(norm(Y))));
      CHECK(entries == A.nnz());
    }
}
}  // namespace

TEST_CASE("a product by a nonzero partition is that of one rank") {
  check(problems::random_sparse<std::complex<double>>(40, 40, 5, 3));
  check(problems::random_sparse<std::complex<double>>(2, 2, 1, 3));
}

TEST_CASE("a dense row and a dense column are shared by the ranks, and gradients go back through both halos") {
  index_t const n = 30;
  std::vector<index_t> row, col;
  std::vector<double> value;
  for (index_t i = 0; i < n; ++i)
    for (auto [r, c] : {std::pair{i, i}, {index_t(0), i}, {i, index_t(7)}}) row.push_back(r), col.push_back(c), value.push_back(1.0 + double(r + 2 * c));
  auto const A = from_triplets<double>(Matrix(n, n), row, col, value);
  auto const x = random<double>({n}, 1);
  vector<double> const y = A * x, g = transpose(A) * y;
  double of_values = 0;
  for (index_t i = 0; i < n; ++i) A.pattern().view().for_row(i, [&](index_t, index_t j) { of_values += y[i] * y[i] * x[j] * x[j]; });
  for (double e : threads::run(4, [&](auto& world) {
         Mesh m(world);
         auto const D = distribute<Hyper<>>(A, m, strips{});
         auto const [loss, gA, gx] = value_and_gradient([](auto const& a, auto const& v) { return 0.5 * squared_norm(a * v); }, D,
                                                        distribute(x, D.row_layout()));
         static_assert(has_placements<decltype(gx), Shard<0, Part<>>> && has_placements<decltype(gA), Hyper<>>);
         double paired = 0, squared = 0;  // the gradient of a_ij is y_i x_j, each on the rank of the entry
         for (index_t k = 0; k < gA.local().values().size(); ++k) {
           paired += gA.local().values()[k] * D.local().values()[k];
           squared += gA.local().values()[k] * gA.local().values()[k];
         }
         return double(norm(gather(gx) - g)) + std::abs(all_reduce(m.world(), paired) - 2 * loss) + std::abs(all_reduce(m.world(), squared) - of_values);
       }))
    CHECK(e <= 1e-12 * (double(norm(g)) + of_values));
}
} // namespace test_entries
