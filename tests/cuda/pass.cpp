// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementwise statements and reductions of the device's passes on simulated blocks, against the serial backend.
#include <complex>

#include <sla/exec/evaluate.hpp>
#include <sla/exec/host.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "simulated.hpp"

using namespace sla;
using complexd = std::complex<double>;

namespace {
/// The same statements on both spaces: their vectors and numbers agree.
template <class Statements>
void compare(frame f, Statements const& statements) {
  host_space<true, serial> host(f);
  simulated_space device(f);
  auto expected = statements(host);
  auto found = statements(device), again = statements(device);
  auto check = [&](auto const& e, auto const& d, auto const& a) {
    auto const want = host.read(e), have = device.read(d), rerun = device.read(a);
    REQUIRE(want.size() == have.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
      CHECK(std::abs(want[k] - have[k]) <= 1e-13 * (1 + std::abs(want[k])));
      CHECK(have[k] == rerun[k]);
    }
  };
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    (check(std::get<N>(expected), std::get<N>(found), std::get<N>(again)), ...);
  }(std::make_index_sequence<std::tuple_size_v<decltype(expected)>>{});
}
struct tenth {
  template <class T, int Rows, int Cols>
  SLA_HD small_matrix<T, Rows, Cols> operator()(small_matrix<T, Rows, Cols> G) const {
    for (int n = 0; n < G.size(); ++n) G[n] = op::mul::apply(0.1, G[n]);
    return G;
  }
};
struct twice {
  template <class T>
  SLA_HD T operator()(T a) const {
    return a + a;
  }
};
}  // namespace

TEST_CASE("a device pass runs statements in order and folds as the serial backend does") {
  for (index_t n : {0, 1, 5, 63, 64, 65, 1000, 300000}) {
    auto const x = random<double>(n, 1), y = random<double>(n, 2);
    compare({1, n, 1, 1}, [&](auto& space) {
      auto z = zeros<double>(n), w = zeros<double>(n);
      auto result = fuse(space, set(z, 2.0 * x + y), set(w, z * z), dot_of(w, x), norm_of(z), sum_of(w), norm_inf_of(y), norm1_of(x));
      index_t wrong = 0;
      for (index_t i = 0; i < n; ++i) wrong += w[i] != (2.0 * x[i] + y[i]) * (2.0 * x[i] + y[i]);
      CHECK(wrong == 0);
      return result;
    });
  }
}

TEST_CASE("float adds up in double, and extremes and NaN are kept") {
  index_t const n = 777;
  auto x = random<float>(n, 3);
  compare({1, n, 1, 1}, [&](auto& space) { return fuse(space, min_of(x), max_of(x), sum_of(x), squared_norm_of(x)); });
  x[500] = NAN;
  simulated_space device(frame{1, n, 1, 1});
  auto [high] = fuse(device, max_of(x));
  CHECK(std::isnan(device.read(high)[0]));
}

TEST_CASE("a device pass folds per batch item and per right-hand side") {
  for (index_t rhs : {1, 3, 64, 65, 150})
    for (index_t batch : {1, 4}) {
      index_t const rows = 37;
      auto const x = random<double, Extents<dyn, dyn, dyn>>({batch, rows, rhs}, 4);
      auto const y = random<double, Extents<dyn, dyn, dyn>>({batch, rows, rhs}, 5);
      compare({batch, rows, rhs, rhs}, [&](auto& space) {
        auto z = x;
        auto [xy] = fuse(space, dot_of(x, y));
        auto [scaled] = fuse(space, set(z, x - xy * y), squared_norm_of(z));
        return std::tuple{xy, scaled};
      });
    }
}

TEST_CASE("inner products with a basis come in chunks, also per item") {
  constexpr int capacity = 20;
  for (index_t rhs : {1, 5})
    for (int count : {0, 1, 8, 9, 20}) {
      index_t const rows = 123, batch = 2;
      using E = Extents<dyn, dyn, dyn>;
      std::vector<tensor<complexd, E>> basis;
      for (int j = 0; j < capacity; ++j) basis.push_back(random<complexd, E>({batch, rows, rhs}, 10 + std::uint64_t(j)));
      auto const w = random<complexd, E>({batch, rows, rhs}, 7);
      frame const f{batch, rows, rhs, rhs};
      host_space<true, serial> host(f);
      simulated_space device(f);
      auto run = [&](auto& space) {
        auto v = w;
        auto [h] = fuse(space, set(v, 0.5 * w), dots<capacity>(basis, count, v));
        auto [left] = fuse(space, set(v, v - combine(basis, count, h)), squared_norm_of(v));
        return std::tuple{space.read(h), space.read(left)};
      };
      auto const [h, left] = run(host);
      auto const [dh, dleft] = run(device);
      for (std::size_t k = 0; k < h.size(); ++k) {
        for (int j = 0; j < capacity; ++j) {
          CHECK(std::abs(complexd(h[k][j]) - complexd(dh[k][j])) < 1e-12);
          if (j >= count) CHECK(dh[k][j] == complex<double>{});
        }
        CHECK(std::abs(left[k] - dleft[k]) < 1e-11 * left[k]);
      }
    }
}

TEST_CASE("inner products and combinations of the columns of blocks, also in their place") {
  auto check = []<index_t K>(std::integral_constant<index_t, K>, index_t k, index_t batch, index_t rows) {
    using Block = tensor<complexd, Extents<dyn, dyn, K>>;
    Block const V = random<complexd, Extents<dyn, dyn, K>>({batch, rows, k}, 3), W = random<complexd, Extents<dyn, dyn, K>>({batch, rows, k}, 4);
    frame const f{batch, rows, k, 1};
    auto run = [&](auto& space) {
      Block X = V, Y = W;
      auto [G, H, s] = fuse(space, set(X, V + W), gram_of<11>(X, W), gram_of<11>(X, X), squared_norm_of(X));
      auto const C = space.map(tenth{}, G);
      fuse(space, set(Y, 2.0 * W), set(Y, Y - combine(X, C)), set(X, combine(X, C)), set(X, X + Y));
      auto [t] = fuse(space, sum_of(combine(X, C)));
      return std::tuple{space.read(G), space.read(H), space.read(s), space.read(t), X, Y};
    };
    host_space<true, serial> host(f);
    simulated_space device(f);
    auto const [G, H, s, t, X, Y] = run(host);
    auto const [G1, H1, s1, t1, X1, Y1] = run(device);
    double const size = 1e-13 * double(rows + 1);
    for (std::size_t b = 0; b < G.size(); ++b) {
      for (int n = 0; n < G[b].size(); ++n) {
        CHECK(abs_of(G[b][n] - G1[b][n]) <= size);
        CHECK(abs_of(H[b][n] - H1[b][n]) <= size);
      }
      CHECK(std::abs(s[b] - s1[b]) <= size * double(k));
      CHECK(abs_of(t[b] - t1[b]) <= size * double(1000 * k));
    }
    CHECK(double(norm(X - X1)) <= size * 100);
    CHECK(double(norm(Y - Y1)) <= size * 100);
  };
  for (index_t batch : {1, 3})
    for (index_t rows : {0, 1, 70, 1300}) {
      check(std::integral_constant<index_t, dyn>{}, 5, batch, rows);
      check(std::integral_constant<index_t, 11>{}, 11, batch, rows);
      check(std::integral_constant<index_t, 1>{}, 1, batch, rows);
    }
  auto const V = random<double, Extents<dyn, dyn>>({700, 4}, 3);
  simulated_immediate now;
  auto [G] = fuse(now, gram_of<6>(V, V));
  auto const expected = gram<6>(V, V);
  for (int n = 0; n < 36; ++n) CHECK(G[n] == Approx(expected[n]).margin(1e-12));
  auto A = problems::poisson<double>({20, 15});
  auto const X = random<double, Extents<dyn, 3>>({300, 3}, 2);
  auto Y = X, Z = X;
  host_space<false> host({1, 300, 3, 1});
  simulated_space device({1, 300, 3, 1});
  auto [H] = fuse(host, set(Y, A * X), gram_of(X, Y));
  auto [H1] = fuse(device, set(Z, A * X), gram_of(X, Z));
  for (int n = 0; n < 9; ++n) CHECK(device.read(H1)[0][n] == Approx(H[n]).margin(1e-12));
  CHECK(double(norm(Y - Z)) <= 1e-13);
}

TEST_CASE("without a space everything is one item") {
  auto const x = random<double, Extents<dyn, dyn>>({50, 3}, 8);
  simulated_immediate space;
  auto y = x;
  auto [s, n] = fuse(space, set(y, x + 1.0), sum_of(y), norm_of(x));
  double expected = sum(x + 1.0);
  CHECK(s == Approx(expected));
  CHECK(n == Approx(double(norm(x))));
}

TEST_CASE("map runs per item, and peek answers late") {
  frame const f{3, 10, 1, 1};
  simulated_space space(f, 2);
  auto const x = random<double, Extents<dyn, dyn>>({3, 10}, 9);
  auto [s] = fuse(space, squared_norm_of(x));
  auto doubled = space.map(twice{}, s);
  auto const now = space.read(s);
  CHECK(space.peek(s).empty());
  CHECK(space.peek(doubled).empty());
  CHECK(space.peek(doubled) == now);
  CHECK(space.peek(doubled) == space.read(doubled));
  space.finish();
  CHECK(space.synchronizations() == 1);
  CHECK(space.peek(s).empty());
  CHECK_THROWS_AS(simulated_space(f, -1), value_error);
}
