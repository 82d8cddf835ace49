// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What may stand together in one `fuse` and in one space: layouts that differ, operands that were moved in, vectors of
// hoisting, and work that never ran.
#include <algorithm>
#include <memory>
#include <stdexcept>

#include <sla/exec/deferred.hpp>
#include <sla/exec/list_space.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/linear_operator.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/build.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/dense.hpp"

namespace test_order {

using namespace sla;
using Columns = tensor<double, Extents<dyn, dyn>>;

namespace {
struct twice {
  SLA_HD double operator()(double s) const { return 2 * s; }
};
/// Ones in three rows, and the last row before which somebody asks for the work.
struct three_rows {
  using expression_tag = void;
  using value_type = double;
  using extents_type = Extents<dyn, dyn>;
  using memory_type = host_memory;
  static constexpr reach depth = reach::gather;
  extents_type shape;
  index_t* last;
  extents_type extents() const { return shape; }
  double at(element) const { return 1; }
  frame layout() const { return {1, 3, shape[1], shape[1]}; }
  index_t work_before(index_t row) const { return *last = (std::max)(*last, row), row; }
  template <class F>
  three_rows rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&&, bool) const {}
};
}  // namespace

TEST_CASE("products of as many elements and other layouts take passes of their own") {
  auto A = problems::poisson<double>({50, 60}), B = problems::poisson<double>({25, 40});
  auto C = to_batch(B, 3);
  auto x = random<double>(3000, 1);
  auto X = random<double, Extents<dyn, dyn>>({1000, 3}, 2), W = random<double, Extents<dyn, dyn>>({3, 1000}, 3);
  vector<double> const y1 = A * x;
  Columns const Z1 = B * X, V1 = C * W;
  vector<double> y(3000);
  Columns Z({1000, 3}), V({3, 1000});
  CHECK(passes(set(y, A * x), set(Z, B * X), set(V, C * W)) == 3);
  CHECK(passes(set(Z, B * X), set(Z, 2 * Z)) == 1);
  fuse(set(y, A * x), set(Z, B * X), set(V, C * W));
  CHECK(oracle::distance(y, y1) == 0);
  CHECK(oracle::distance(Z, Z1) == 0);
  CHECK(oracle::distance(V, V1) == 0);
  fuse(set(V, 0), set(V, C * W), set(Z, 0), set(Z, B * X), set(y, 0), set(y, A * x));
  CHECK(oracle::distance(y, y1) == 0);
  CHECK(oracle::distance(Z, Z1) == 0);
  CHECK(oracle::distance(V, V1) == 0);
}

TEST_CASE("one expression of products whose layouts differ") {
  auto B = problems::poisson<double>({10, 5});
  auto C = to_batch(B, 50);
  auto X = random<double, Extents<dyn, dyn>>({50, 50}, 1);
  Columns const by_rows = B * X, by_items = C * X;
  Columns const sum = B * X + C * X, swapped = C * X + B * X;
  Columns const expected = by_rows + by_items;
  CHECK(oracle::distance(sum, expected) <= 1e-13);
  CHECK(oracle::distance(swapped, expected) <= 1e-13);
}

TEST_CASE("threads share rows by products that have these rows alone") {
  auto const A = to_batch(problems::poisson<double>({60, 50}), 3);
  auto const x = random<double, Extents<dyn, dyn>>({3, 3000}, 1);
  Columns y(x.extents());
  index_t last = 0;
  immediate<> two;
  two.backend.threads = 2;
  fuse(two, set(y, three_rows{x.extents(), &last} + A * x));
  CHECK(last <= 3);
  Columns const expected = 1 + A * x;
  CHECK(oracle::distance(y, expected) == 0);
}

TEST_CASE("a space of n unknowns holds products that pass through other numbers of rows") {
  auto A = from_triplets<double>(30, 20, {0, 5, 7, 29, 29}, {1, 3, 19, 0, 1}, {1.0, 2.0, 3.0, 4.0, 5.0});
  auto x = random<double>(20, 1);
  vector<double> const expected = transpose(A) * (A * x);
  vector<double> y(20);
  host_space<false> host({1, 20, 1, 1});
  fuse(host, set(y, transpose(A) * (A * x)));
  CHECK(oracle::distance(y, expected) == 0);
  deferred queue({1, 20, 1, 1}, 2);
  fuse(queue, set(y, 0), set(y, transpose(A) * (A * x)));
  queue.finish();
  CHECK(oracle::distance(y, expected) == 0);
}

TEST_CASE("statements of other items than the space has are refused") {
  auto A = problems::poisson<double>({6, 6});
  auto X = random<double, Extents<dyn, dyn>>({36, 2}, 1);
  Columns Y({36, 2});
  host_space<false> one({1, 72, 1, 1});
  deferred queue({1, 72, 1, 1}, 0);
  CHECK_THROWS_WITH(fuse(one, set(Y, A * X)), Catch::Matchers::ContainsSubstring("2 right-hand sides in a space of batch 1 and 1"));
  CHECK_THROWS_AS(fuse(queue, set(Y, A * X)), shape_error);
  host_space<true> two({1, 0, 2, 2}), batch({3, 0, 1, 1});
  deferred later({1, 0, 2, 2}, 4);
  auto w = ones<double>(10), v = ones<double>(9);
  CHECK_THROWS_WITH(fuse(two, sum_of(w)), Catch::Matchers::ContainsSubstring("extents 10 in a space of batch 1 and 2 right-hand sides"));
  CHECK_THROWS_AS(fuse(later, set(w, 2 * w)), shape_error);
  CHECK_THROWS_AS(fuse(batch, sum_of(v)), shape_error);  // in nine elements there are three times three, but no three items
  CHECK_THROWS_WITH(fuse(batch, set(w, 1.0)), Catch::Matchers::ContainsSubstring("10 elements in a space of batch 3"));
  CHECK(eval(norm(w - 1)) == 0);
  auto const alpha = batch.scalar(std::vector{1.0, 2.0, 3.0});
  auto items_last = random<double, Extents<dyn, dyn>>({4, 3}, 1), items_first = random<double, Extents<dyn, dyn>>({3, 4}, 1);
  CHECK_THROWS_WITH(fuse(batch, set(items_last, alpha)), Catch::Matchers::ContainsSubstring("extents 4 x 3 in a space of batch 3"));
  fuse(batch, set(items_first, alpha));
  CHECK((items_first(0, 3) == 1 && items_first(1, 0) == 2 && items_first(2, 2) == 3));
  auto const cuts = std::make_shared<std::vector<index_t> const>(std::vector<index_t>{0, 3, 7});
  host_space<true, packed_systems> list({1, 7, 1, 1}, packed_systems(cuts));
  auto const seven = ones<double>(7), fourteen = ones<double>(14);
  auto const [sums] = fuse(list, sum_of(seven));
  CHECK(list.read(sums) == std::vector{3.0, 4.0});
  CHECK_THROWS_WITH(fuse(list, sum_of(fourteen)), Catch::Matchers::ContainsSubstring("7 rows together, and vectors of 14 rows"));  // where systems end in these is not known
}

TEST_CASE("no right-hand sides, no rows") {
  auto A = problems::poisson<double>({4, 5});
  Columns X({20, 0}), Y({20, 0});
  Y = A * X;
  Y = transpose(A) * X;
  host_space<true> fast({1, 20, 0, 0});
  host_space<true, serial> oracle_space({1, 20, 0, 0});
  auto [a] = fuse(fast, set(Y, A * X), squared_norm_of(Y));
  auto [b] = fuse(oracle_space, set(Y, A * X), squared_norm_of(Y));
  CHECK(a.count() == 0);
  CHECK(b.count() == 0);
  host_space<true, packed_systems> list({1, 20, 0, 0}, packed_systems(std::make_shared<std::vector<index_t> const>(std::vector<index_t>{0, 8, 20})));
  auto [c] = fuse(list, set(Y, 2.0 * X), squared_norm_of(Y));
  CHECK(c.count() == 0);
  sparse_tensor<double> none;
  vector<double> z;
  z = none * z;
  z = transpose(none) * z;
  CHECK(eval(norm(z)) == 0);
  auto [several, sums] = fuse(squared_norm_of(z), sum_of(z));
  CHECK(several + sums == 0);
}

TEST_CASE("operands that were moved in live until a queue has used them") {
  index_t const n = 2000;
  auto A = problems::poisson<double>({40, 50});
  vector<double> y(n), expected = A * ones<double>(n);
  std::size_t const before = memory_in_use().now;
  {
    deferred queue({1, n, 1, 1}, 0);
    fuse(queue, set(y, A * ones<double>(n)));
    auto const elsewhere = random<double>(n, 3);
    queue.finish();
    CHECK(memory_in_use().now == before + elsewhere.values().bytes());
  }
  CHECK(oracle::distance(y, expected) == 0);
}

TEST_CASE("a scalar may be moved into an expression") {
  index_t const n = 10;
  auto X = random<double, Extents<dyn, dyn>>({n, 3}, 1);
  Columns Y({n, 3});
  host_space<true> space({1, n, 3, 3});
  auto [s] = fuse(space, squared_norm_of(X));
  auto scaled = space.map(twice{}, s) * X;
  auto [other] = fuse(space, sum_of(X));
  fuse(space, set(Y, scaled));
  for (index_t k = 0; k < 3; ++k) CHECK(Y(4, k) == 2 * s.data()[k] * X(4, k));
  CHECK(other.count() == 3);
}

TEST_CASE("vectors of hoisting are those of the next fuse, and go with their space") {
  auto A = problems::convection_diffusion<double>({200, 200}, 1.0);
  index_t const n = A.rows();
  auto p = random<double>(n, 1), q = random<double>(n, 2);
  CHECK(passes(set(q, p - transpose(A) * p)) == 2);
  CHECK(bytes_moved(set(q, p - transpose(A) * p)) == index_t(A.bytes()) + (2 + 3) * 8 * n);
  std::size_t const before = memory_in_use().now, each = std::size_t(n) * sizeof(double);
  {
    host_space<false> host({1, n, 1, 1});
    deferred queue({1, n, 1, 1}, 0);
    for (int k = 0; k < 3; ++k) fuse(host, set(q, p - transpose(A) * p));
    CHECK(memory_in_use().now == before + each);
    for (int k = 0; k < 3; ++k) fuse(queue, set(q, p - transpose(A) * p));
    queue.finish();
    CHECK(memory_in_use().now == before + 2 * each);
    linear_operator<double> const failing(n, n, [](std::span<double const>, std::span<double>) { throw std::runtime_error("no image"); });
    for (int k = 0; k < 3; ++k) {
      CHECK_THROWS_AS(fuse(host, set(q, p - transpose(A) * (failing * p))), std::runtime_error);
      fuse(host, set(q, p - transpose(A) * p));
      CHECK(memory_in_use().now == before + 3 * each);
    }
  }
  CHECK(memory_in_use().now == before);
  {  // of a fuse that a space refuses in its middle too, whatever kind of space
    auto const B = from_triplets<double>(7, n, {0, 6}, {1, 2}, std::vector{1.0, 2.0});
    auto const W = random<double, Extents<dyn, dyn>>({n, 2}, 3);
    auto Y = W;
    Columns Z({7, 2});
    host_space<false> host({1, n, 1, 1});
    deferred queue({1, n, 1, 1}, 0);
    host_space<false, serial> oracle({1, n, 1, 1});
    auto const refused = [&](auto& space) {
      std::size_t const meanwhile = memory_in_use().now;
      for (int k = 0; k < 3; ++k) {
        CHECK_THROWS_AS(fuse(space, set(Y, W - transpose(A) * W), set(Z, B * W)), shape_error);
        fuse(space, set(q, p - transpose(A) * p));
        space.finish();
        CHECK(memory_in_use().now == meanwhile + 3 * each);
      }
    };
    refused(host), refused(oracle), refused(queue);
    host_space<false> of_any_size;  // takes blocks of any columns, between vectors of any sizes
    fuse(of_any_size, set(Z, B * W), set(Y, A * W));
    CHECK((Z(0, 1) == W(1, 1) && Z(6, 0) == 2 * W(2, 0) && Z(3, 1) == 0));
    CHECK(norm_inf(Y - A * W) == 0);
  }
}

TEST_CASE("a queue that ends early drops its work, and scalars outlive it") {
  index_t const n = 500;
  auto queue = std::make_unique<deferred>(frame{1, n, 1, 1}, 4);
  deferred::scalar_type<double> kept;
  {
    auto x = random<double>(n, 1);
    vector<double> y(n);
    auto [s] = fuse(*queue, set(y, 2 * x), dot_of(x, y));
    kept = queue->map(twice{}, s);
    queue->peek(s);
  }
  queue.reset();
  CHECK(kept.count() == 1);
}

TEST_CASE("products see values of their matrix that an earlier statement writes") {
  auto A = from_triplets<double>(3, 3, {0, 0, 2}, {0, 1, 2}, {1.0, 2.0, 3.0});
  auto values = borrow(A.values().data(), 3);
  auto const x = ones<double>(3);
  vector<double> y(3);
  fuse(set(values, 2 * values), set(y, A * x));
  CHECK(y[0] == 6);
  CHECK(y[1] == 0);
  CHECK(y[2] == 6);
}

TEST_CASE("bases of inner products and combinations are checked") {
  index_t const n = 600;
  auto A = problems::convection_diffusion<double>({20, 30}, 1.0);
  std::vector<vector<double>> V;
  for (unsigned j = 0; j < 3; ++j) V.push_back(random<double>(n, 10 + j));
  auto w = random<double>(n, 1);
  vector<double> const gathered = A * w, whole = transpose(A) * w;
  auto [h] = fuse(dots<4>(V, 3, A * w));
  auto [g] = fuse(dots<4>(V, 3, transpose(A) * w));
  for (int j = 0; j < 3; ++j) {
    CHECK(h[j] == Approx(eval(dot(V[std::size_t(j)], gathered))));
    CHECK(g[j] == Approx(eval(dot(V[std::size_t(j)], whole))));
  }
  CHECK_THROWS_WITH(fuse(dots<4>(V, 3, ones<double>(10))), Catch::Matchers::ContainsSubstring("600 and 10"));
  CHECK_THROWS_AS(fuse(dots<2>(V, 3, w)), shape_error);
  CHECK_THROWS_AS(fuse(dots<4>(V, 4, w)), shape_error);
  CHECK_THROWS_AS(combine(V, 4, h), shape_error);
  V[1] = ones<double>(5);
  CHECK_THROWS_AS(fuse(dots<4>(V, 3, w)), shape_error);
}

TEST_CASE("many coefficients of one item are those of all its columns") {
  auto const A = problems::convection_diffusion<double>({20, 30}, 1.0);
  std::vector<Columns> V;
  for (unsigned j = 0; j < 2; ++j) V.push_back(random<double, Extents<dyn, dyn>>({600, 3}, 10 + j));
  Columns Y({600, 3});
  deferred queue({1, 600, 3, 1}, 2);
  fixed_array<double, 40> h{};
  h[0] = 2, h[1] = -1;
  auto const coefficients = queue.scalar(std::vector{h});
  fuse(queue, set(Y, A * combine(V, 2, coefficients)));
  queue.finish();
  CHECK(norm_inf(Y - A * (2.0 * V[0] - V[1])) <= 1e-12);
}

} // namespace test_order
