// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of vectors: inner products of columns and their combinations, against Eigen's dense algebra, on all spaces of the host.
#include <complex>
#include <memory>

#include <Eigen/Dense>

#include <sla/adapter/eigen.hpp>
#include <sla/exec/deferred.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_blocks {

using namespace sla;

namespace {
template <class T>
using dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using wide = std::conditional_t<is_complex<T>, std::complex<double>, double>;

/// A block of a space's item, in double.
template <class T, class E>
dense<wide<T>> item_of(tensor<T, E> const& V, index_t items, index_t b) {
  index_t const k = V.extent(E::rank - 1), rows = V.size() / k / items;
  return Eigen::Map<dense<T> const>(V.data() + b * rows * k, rows, k).template cast<wide<T>>();
}
template <class M>
double distance(M const& found, dense<wide<user_t<typename M::value_type>>> const& expected) {
  double most = 0;
  for (int a = 0; a < found.rows(); ++a)
    for (int b = 0; b < found.cols(); ++b) {
      bool const used = a < expected.rows() && b < expected.cols();
      using W = wide<user_t<typename M::value_type>>;
      most = std::max(most, std::abs(W(user_t<typename M::value_type>(found(a, b))) - (used ? expected(a, b) : W(0))));
    }
  return most;
}
template <class T, index_t K, index_t M, int Most>
void check_products(index_t n, index_t k, index_t m, double tolerance) {
  auto const V = random<T, Extents<dyn, K>>({n, k}, 1);
  auto const W = random<T, Extents<dyn, M>>({n, m}, 2);
  auto const v = item_of(V, 1, 0), w = item_of(W, 1, 0);
  CHECK(distance(gram<Most>(V, W), v.adjoint() * w) <= tolerance * double(n + 1));
  auto const C = gram<Most>(V, W);
  dense<wide<T>> c(k, m);
  for (int a = 0; a < k; ++a)
    for (int b = 0; b < m; ++b) c(a, b) = wide<T>(user_t<typename decltype(C)::value_type>(C(a, b)));
  tensor<T, Extents<dyn, dyn>> const product = combine(V, C, m);
  CHECK((item_of(product, 1, 0) - v * c).norm() <= tolerance * (1 + c.norm()) * double(k + 1) * std::sqrt(double(n + 1)));

  auto const own = gram<Most>(V, V);  // half of it is computed
  CHECK(distance(own, v.adjoint() * v) <= tolerance * double(n + 1));
  small_matrix<typename decltype(C)::value_type, C.rows(), C.cols()> picks{};  // columns alone, out of order and scaled, the last of them none
  dense<wide<T>> p = dense<wide<T>>::Zero(k, m);
  for (int b = 0; b + 1 < m; ++b) picks(int((3 * b + 1) % k), b) = scalar_cast<typename decltype(C)::value_type>(b - 2), p((3 * b + 1) % k, b) = wide<T>(b - 2);
  tensor<T, Extents<dyn, dyn>> const chosen = combine(V, picks, m);
  CHECK((item_of(chosen, 1, 0) - v * p).norm() <= tolerance * (1 + p.norm()) * std::sqrt(double(n + 1)));
}
template <class T>
void check_scalar(double tolerance) {
  for (index_t n : {0, 1, 7, 4001}) {
    check_products<T, 1, 1, 0>(n, 1, 1, tolerance);
    check_products<T, 3, 7, 0>(n, 3, 7, tolerance);
    check_products<T, 8, 8, 0>(n, 8, 8, tolerance);
    check_products<T, dyn, dyn, 20>(n, 5, 20, tolerance);
    check_products<T, 16, dyn, 9>(n, 16, 9, tolerance);
  }
}
}  // namespace

TEST_CASE("columns of blocks: inner products and combinations in every scalar") {
  check_scalar<double>(1e-14);
  check_scalar<float>(1e-7);
  check_scalar<std::complex<double>>(1e-14);
  check_scalar<std::complex<float>>(1e-7);
}

namespace {
/// Cholesky's factor of a Gram matrix, inverted and adjoint: V times it is orthonormal. By Eigen, for one item.
struct orthonormalizer {
  template <class T, int K>
  small_matrix<T, K> operator()(small_matrix<T, K> const& G) const {
    using M = Eigen::Matrix<user_t<T>, K, K, Eigen::RowMajor>;
    small_matrix<T, K> out;
    M const L = Eigen::LLT<M>(as_eigen(G)).matrixL();
    as_eigen(out) = L.template triangularView<Eigen::Lower>().solve(M::Identity()).adjoint();
    return out;
  }
};
/// CholeskyQR2 (Yamamoto, Nakatsukasa, Yanagisawa, Fukaya 2015) on any space: V becomes orthonormal in its place, in each item.
template <class Space, class V>
void orthonormalize(Space& space, V& v) {
  for (int twice = 0; twice < 2; ++twice) {
    auto [G] = fuse(space, gram_of(v, v));
    fuse(space, set(v, combine(v, space.map(orthonormalizer{}, G))));
  }
}
/// The same by matrices that are read, computed on the host, and go back up.
template <class Space, class V>
void orthonormalize_by_host(Space& space, V& v) {
  for (int twice = 0; twice < 2; ++twice) {
    auto [G] = fuse(space, gram_of(v, v));
    space.finish();
    auto C = space.read(G);
    for (auto& c : C) c = orthonormalizer{}(c);
    auto const up = space.scalar(C);
    fuse(space, set(v, combine(v, up)));
  }
}
template <class T, class Space>
void check_orthonormal(Space&& space, index_t batch, bool by_host = false) {
  constexpr index_t k = 11;
  tensor<T, Extents<dyn, dyn, k>> V = random<T, Extents<dyn, dyn, k>>({batch, 1700, k}, 3);
  auto const before = V;
  by_host ? orthonormalize_by_host(space, V) : orthonormalize(space, V);
  auto [G] = fuse(space, gram_of(V, V));
  space.finish();
  auto const numbers = space.read(G);
  REQUIRE(index_t(numbers.size()) == batch);
  for (index_t b = 0; b < batch; ++b) {
    CHECK(distance(numbers[std::size_t(b)], dense<wide<T>>::Identity(k, k)) <= 1e-14);
    auto const v = item_of(V, batch, b), old = item_of(before, batch, b);
    CHECK((old - v * (v.adjoint() * old)).norm() <= 1e-12 * old.norm());  // they span the same space
  }
}
}  // namespace

TEST_CASE("a block becomes orthonormal in its place, item by item, on every space") {
  for (index_t batch : {1, 3}) {
    frame const f{batch, 1700, 11, 1};
    check_orthonormal<double>(host_space<true, serial>(f), batch);
    for (int threads : {1, 3}) check_orthonormal<std::complex<double>>(host_space<true>(f, openmp{threads}), batch);
    for (int lag : {0, 4, 32}) check_orthonormal<double>(deferred(f, lag), batch), check_orthonormal<double>(deferred(f, lag), batch, true);
    check_orthonormal<double>(host_space<true>({batch, 0, 11, 1}), batch);  // of a space the items count, and the columns of an item
  }
  for (bool by_host : {false, true}) check_orthonormal<double>(host_space<false>({1, 1700, 11, 1}), 1, by_host);
}

TEST_CASE("statements of blocks stand beside others, in one pass where their rows agree") {
  auto A = problems::poisson<double>({40, 30});
  using Block = tensor<double, Extents<dyn, 4>>;
  Block V = random<double, Extents<dyn, 4>>({1200, 4}, 1), W = V;
  CHECK(passes(set(W, A * V), gram_of(V, W), gram_of(W, W), squared_norm_of(W)) == 1);
  small_matrix<double, 4> const C = gram<4>(V, V);
  CHECK(passes(set(W, V - combine(V, C)), gram_of(V, W)) == 1);
  CHECK(passes(set(W, combine(V, C)), set(V, A * W)) == 2);
  CHECK(passes(set(W, A * combine(V, C))) == 2);  // a vector of its own comes before

  dense<double> const v = item_of(V, 1, 0), c = Eigen::Map<dense<double> const>(&C[0], 4, 4), a = Eigen::MatrixXd(as_eigen(A));
  auto check = [&](auto&& space) {
    Block X = V, Y = V, Z = V;
    auto [G, xx] = fuse(space, set(X, A * V), gram_of(V, X), set(Y, X - combine(V, C) + 2.0 * combine(X, C)), set(Z, A * combine(V, C)), squared_norm_of(X));
    fuse(space, set(X, X - combine(X, C)), set(V, combine(V, C)));
    space.finish();
    dense<double> const x = a * v;
    CHECK(distance(space.read(G)[0], v.transpose() * x) <= 1e-10);
    CHECK(space.read(xx)[0] == Approx(x.squaredNorm()));
    CHECK((item_of(X, 1, 0) - (x - x * c)).norm() <= 1e-12 * x.norm() * c.norm());
    CHECK((item_of(Y, 1, 0) - (x - v * c + 2.0 * (x * c))).norm() <= 1e-12 * x.norm() * c.norm());
    CHECK((item_of(Z, 1, 0) - a * v * c).norm() <= 1e-12 * x.norm() * c.norm());
    CHECK((item_of(V, 1, 0) - v * c).norm() <= 1e-12 * v.norm() * c.norm());
    V = random<double, Extents<dyn, 4>>({1200, 4}, 1);
  };
  frame const f{1, 1200, 4, 1};
  check(host_space<false>(f));
  check(host_space<true, serial>(f));
  for (int lag : {0, 4}) check(deferred(f, lag));

  auto d = random<double>(1200, 5);  // numbers of rows are spread over the columns
  Block expected = V, spread = V;
  broadcast_view<double, Extents<dyn, 4>, host_memory> const scaling{{d.data(), V.extents()}, 1200, {1, 1200, 4, 4}};
  for (index_t i = 0; i < V.size(); ++i) expected[i] = d[i / 4] * V[i];
  auto check_spread = [&](auto&& space) {
    spread = 0.0 * V;
    auto [G] = fuse(space, set(spread, as_node(scaling) * V), gram_of(V, spread));
    space.finish();
    CHECK(norm(spread - expected) == 0);
    CHECK(distance(space.read(G)[0], v.transpose() * item_of(expected, 1, 0)) <= 1e-11);
  };
  check_spread(host_space<false>(f));
  check_spread(host_space<true, serial>(f));
  check_spread(deferred(f, 2));
}

TEST_CASE("products of a batch stand beside inner products of its blocks, whatever comes last") {
  for (index_t side : {6, 20}) {
    auto const one = problems::convection_diffusion<double>({side, 5}, 1.0);
    auto const A = stack_batch(one, 2.0 * one, -1.0 * one);
    index_t const n = one.rows();
    auto const V = random<double, Extents<dyn, dyn, 4>>({3, n, 4}, 1);
    tensor<double, Extents<dyn, dyn, 4>> const expected = A * V;
    auto W = V;
    auto trace_is = [](auto const& G, double sum) { return std::abs(G(0, 0) + G(1, 1) + G(2, 2) + G(3, 3) - sum) <= 1e-10 * (1 + std::abs(sum)); };
    CHECK(passes(set(W, A * V), gram_of(V, W), dot_of(V, W)) == 1);
    auto const [G, vw] = fuse(set(W, A * V), gram_of(V, W), dot_of(V, W));
    CHECK(norm_inf(W - expected) == 0);
    CHECK(trace_is(G, dot(V, expected)));
    W = V;
    auto const [H, vv] = fuse(gram_of(V, V), set(W, A * V), squared_norm_of(V));
    CHECK(norm_inf(W - expected) == 0);
    CHECK(trace_is(H, vv));
    W = V;
    host_space<true> space({3, 0, 4, 1});
    auto const [K] = fuse(space, set(W, A * V), gram_of(V, W));
    CHECK(norm_inf(W - expected) == 0);
    double traces = 0;
    for (auto const& k : space.read(K)) traces += k(0, 0) + k(1, 1) + k(2, 2) + k(3, 3);
    CHECK(traces == Approx(vw));
  }
}

TEST_CASE("a column of a block is an expression") {
  auto A = problems::poisson<std::complex<double>>({12, 9});
  auto const V = random<std::complex<double>, Extents<dyn, 5>>({108, 5}, 1);
  tensor<std::complex<double>, Extents<dyn, 5>> const W = A * V;
  for (index_t j = 0; j < 5; ++j) {
    sla::vector<std::complex<double>> const w = A * column(V, j) - 2.0 * column(W, j);
    double most = 0;
    for (index_t i = 0; i < 108; ++i) most = std::max(most, std::abs(w[i] + W(i, j)));
    CHECK(most <= 1e-14);
    CHECK(std::abs(dot(column(V, j), column(W, j)) - std::complex<double>(gram(V, W)(int(j), int(j)))) <= 1e-12);
  }
  auto X = random<double, Extents<dyn, dyn>>({108, 2}, 1);
  auto x = ones<double>(108);
  CHECK(passes(set(X, 2.0 * X), set(x, column(X, 1))) == 2);
  CHECK_THROWS_WITH(column(X, 2), Catch::Matchers::ContainsSubstring("108 x 2 and has columns 0 to 1"));
}

TEST_CASE("a column of a block is written where it lies, in every space") {
  auto const A = problems::poisson<double>({12, 9});
  index_t const n = A.rows();
  auto const V = random<double, Extents<dyn, dyn>>({n, 3}, 1);
  auto const u = random<double>(n, 2);
  auto const columns_of = [&](auto const& W) {
    std::vector<vector<double>> out;
    for (index_t j = 0; j < 3; ++j) out.push_back(vector<double>(column(W, j)));
    return out;
  };
  auto const v = columns_of(V);
  auto const check = [&](auto& space) {
    auto W = V;
    auto const [wu] = fuse(space, set(column(W, 1), A * column(W, 0) - 2.0 * column(W, 1)), set(column(W, 0), 0.5 * column(W, 0) + u), dot_of(column(W, 1), u));
    fuse(space, set(column(W, 2), adjoint(A) * column(W, 0)));  // a whole node gets a vector first
    space.finish();
    auto const w = columns_of(W);
    vector<double> const first = 0.5 * v[0] + u, second = A * v[0] - 2.0 * v[1], third = adjoint(A) * first;
    CHECK(norm_inf(w[0] - first) == 0);
    CHECK(norm_inf(w[1] - second) <= 1e-14);
    CHECK(norm_inf(w[2] - third) <= 1e-14);
    CHECK(space.read(wu)[0] == Approx(dot(second, u)));
  };
  host_space<false> host({1, n, 1, 1});
  host_space<false, serial> oracle({1, n, 1, 1});
  deferred queue({1, n, 1, 1}, 2);
  check(host), check(oracle), check(queue);
  auto W = V;
  CHECK(passes(set(column(W, 0), u), set(column(W, 1), column(W, 0) - column(W, 2)), set(column(W, 2), 2.0 * u)) == 1);
  CHECK(passes(set(column(W, 0), u), set(column(W, 1), A * column(W, 0))) == 2);
  CHECK(passes(set(W, 2.0 * V), set(column(W, 1), u)) == 2);
  CHECK_THROWS_AS(fuse(set(column(W, 1), A * column(W, 1))), value_error);
  CHECK_THROWS_WITH(set(column(W, 1), ones<double>(n + 1)), Catch::Matchers::ContainsSubstring("set(column(V, j), expression)"));
}

TEST_CASE("blocks that do not fit are refused") {
  auto V = random<double, Extents<dyn, dyn>>({10, 4}, 1), W = random<double, Extents<dyn, dyn>>({11, 4}, 2);
  CHECK_THROWS_WITH(gram<4>(V, W), Catch::Matchers::ContainsSubstring("10 x 4 and 11 x 4"));
  CHECK_THROWS_WITH(gram<3>(V, V), Catch::Matchers::ContainsSubstring("4 columns; there is room for 3"));
  auto const C = gram<4>(V, V);
  CHECK_THROWS_WITH(combine(V, C, 5), Catch::Matchers::ContainsSubstring("5 columns are wanted, and C has 4"));
  CHECK_THROWS_AS(combine(V, small_matrix<double, 3>{}), shape_error);
  CHECK_THROWS_AS(fuse(set(W, combine(V, C))), shape_error);
  host_space<true> columns_are_items({1, 10, 4, 4});
  CHECK_THROWS_AS(fuse(columns_are_items, gram_of<4>(V, V)), shape_error);
  CHECK_THROWS_AS(fuse(columns_are_items, set(V, combine(V, C))), shape_error);
}

} // namespace test_blocks
