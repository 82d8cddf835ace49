// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of sparse tensors on transpose(A), adjoint(A) and conj(A), against the same of stored transposes.
#include <cmath>
#include <sstream>

#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/norms.hpp>
#include <sla/expr/sparse/views.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/files/print.hpp>
#include <sla/tensor/arrange/slice.hpp>
#include <sla/tensor/build/sell.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "tensor/oracle.hpp"

namespace test_views {

using namespace sla;
using complex_t = std::complex<double>;

namespace {
template <class A, class B>
bool same(A const& a, B const& b) {
  auto const x = to_dense(a), y = to_dense(b);
  return x.extents() == y.extents() && std::equal(x.begin(), x.end(), y.begin());
}
template <class A>
std::string written(A const& a) {
  std::ostringstream out;
  write_matrix_market(out, a);
  return out.str();
}
index_t entries(sparse_tensor<double> const& A) { return A.nnz(); }
} // namespace

TEST_CASE("a view converts to a sparse tensor, as an expression to a dense one") {
  auto const A = random_triplets(9, 7, 30, 1).build();
  sparse_tensor<double> B = transpose(A);
  CHECK(same(B, transposed(A)));
  B = conj(A);
  CHECK(same(B, A));
  CHECK(entries(transpose(A)) == A.nnz());
  auto Z = cast<complex_t>(to_blocks<3, 7>(A));
  Z = complex_t(1, 2) * Z;
  sparse_tensor<complex_t, Shape<Batch<>, dyn, dyn, Block<7, 3>>> const C = adjoint(Z);
  CHECK(same(C, adjointed(Z)));
  sparse_tensor<double> const D(transpose(transposed(A)));  // of a temporary
  CHECK(same(D, A));
}

TEST_CASE("views are looked at, taken apart, put together, converted and written") {
  auto const A = random_triplets(9, 9, 40, 1).build();
  auto const At = transposed(A);
  auto const T = transpose(A);
  CHECK(same(T, At));
  CHECK(same(to<Coo<>>(T), At));
  CHECK((same(tril(T, 1), tril(At, 1)) && same(triu(T, 1), transposed(tril(A, -1))) && trace(T) == trace(At)));
  index_t visited = 0;
  for_each_entry(T, [&](index_t i, index_t j, double v) { visited += A(j, i) == v; });
  CHECK(visited == A.nnz());
  static_assert(std::same_as<decltype(to<Dia>(T)), sparse_tensor<double, Matrix, Dia>>);
  CHECK(same(cast<complex_t>(T), cast<complex_t>(At)));
  CHECK(same(rows(T, 2, 5), rows(At, 2, 5)));
  CHECK(same(row(T, 3), row(At, 3)));
  CHECK(same(select(T, {3, 1}, {0, 8}), select(At, {3, 1}, {0, 8})));
  CHECK(same(permuted(T, {8, 7, 6, 5, 4, 3, 2, 1, 0}), permuted(At, {8, 7, 6, 5, 4, 3, 2, 1, 0})));
  CHECK(same(cat_cols(A, T), cat_cols(A, At)));
  CHECK(same(cat_rows(T, A, T), cat_rows(At, A, At)));
  CHECK(same(block_diagonal(T, T), block_diagonal(At, At)));
  CHECK(same(cat_batch(A, T), cat_batch(A, At)));
  CHECK(std::ranges::equal(eval(values(T)), eval(values(At))));
  CHECK(std::ranges::equal(diagonal_of(T), diagonal_of(A)));
  CHECK(properties(T).upper_bandwidth == properties(A).lower_bandwidth);
  CHECK(properties(T, 0.5).rows == 9);
  CHECK(norm1(T) == norm_inf(A));
  CHECK(rcm(T) == rcm(At));
  CHECK(text(spy(T, 5)) == text(spy(At, 5)));
  CHECK(written(T) == written(At));
  auto const batch = to_batch<2>(A);
  CHECK(same(batch_item(transpose(batch), 1), At));
  CHECK(same(batch_items(transpose(batch), 1, 2), to_batch(At, 1)));
}

TEST_CASE("the sum of a sparse tensor is that of its stored entries") {
  auto const A = random_triplets(12, 9, 50, 4).build();
  double total = 0;
  for (double a : A.values()) total += a;
  CHECK(sum(A) == Approx(total));
  CHECK(sum(transpose(A)) == Approx(total));
  CHECK(sum(to<Coo<>>(A)) == Approx(total));
  CHECK(sum(conj(std::complex<double>(0, 2) * A)).imag() == Approx(-2 * total));
  auto const items = sum(to_batch<3>(A));
  CHECK((items.size() == 3 && items[2] == Approx(total)));
  int const row_ptr[] = {0, 2}, col[] = {0, 0};
  double const stored[] = {1.0, -3.0};
  CHECK(sum(borrow_csr(1, 1, row_ptr, col, stored)) == -2);
}

TEST_CASE("expressions and views print their value") {
  auto const A = from_triplets<double>(2, 3, {0, 1}, {0, 2}, {4.0, -1.0});
  vector<double> const x{1.0, 2.0, 3.0};
  CHECK(text(2.0 * x - 1.0) == text(eval(2.0 * x - 1.0)));
  CHECK(text(A * x) == "4 -3");
  CHECK(text(transpose(A)) == "3 x 2, 2 entries\n4  .\n.  .\n. -1\n");
  CHECK(text(values(A)) == "4 -1");
  CHECK((values(A)[1] == -1 && values(A)(0) == 4));
  auto const C = complex_t(0, 1) * A;
  CHECK(values(C)[1] == complex_t(0, -1));
  CHECK_THROWS_AS(values(A)[2], index_error);
}

TEST_CASE("slots that only fill up a format are no entries, whatever is done to all values") {
  auto const A = problems::poisson<double>({5, 4});
  auto const B = to<Sell<>>(A);
  REQUIRE(B.pattern().slots() > B.nnz());
  CHECK(sum(with_values(B, exp(values(B)))) == Approx(sum(with_values(A, exp(values(A))))).epsilon(1e-14));
  CHECK(norm(INFINITY * B) == INFINITY);
  CHECK(norm(B / 0.0) == INFINITY);
  // The places of a stored diagonal are all there, those beyond the matrix are not.
  auto const D = to<Dia>(A);
  double at_places = 0;
  for (index_t i = 0; i < D.rows(); ++i) D.pattern().view().for_row(i, [&](index_t s, index_t) { at_places += std::exp(values(D)[s]); });
  CHECK(sum(with_values(D, exp(values(D)))) == Approx(at_places).epsilon(1e-14));
}

} // namespace test_views
