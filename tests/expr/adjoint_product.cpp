// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A x, A^T u and A^H u without a stored transpose against dense algebra: formats, scalars, sides, threads, and inside of `fuse`.
#include <complex>

#include <sla/exec/deferred.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/exec/list_space.hpp>
#include <sla/expr/sparse/with_adjoint.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/build.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/build/sell.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"
#include "suites/dense.hpp"

namespace test_adjoint_product {

using namespace sla;

namespace {
/// Entries of rows that are not empty, in columns that are not empty: near the diagonal, or anywhere.
template <class T>
sparse_tensor<T> some_matrix(index_t rows, index_t cols, index_t per_row, bool anywhere) {
  std::vector<index_t> i, j;
  std::vector<T> v;
  auto const values = random<T>(rows * per_row, 3);
  for (index_t r = 0; r < rows; ++r)
    for (index_t n = 0; n < per_row; ++n) {
      index_t const c = anywhere ? (r * 7919 + n * n * 104729 + n) % cols : r * cols / rows + n - per_row / 2;
      if ((r % 5 == 3 && rows > 1) || c < 0 || c >= cols || (c % 6 == 4 && cols > 1)) continue;
      i.push_back(r), j.push_back(c), v.push_back(values[r * per_row + n]);
    }
  return from_triplets<T>(rows, cols, i, j, v);
}

/// The three products, plain and as an operand, of one matrix in one format.
template <class A>
void check_all(A const& a) {
  using T = typename A::value_type;
  auto const D = oracle::dense(a);
  index_t const rows = a.rows(), cols = a.cols();
  auto const x = random<T>(cols, 1), z = random<T>(cols, 2), u = random<T>(rows, 4);
  double const bound = 1e-13 * double(rows + cols);
  vector<T> const forth = a * x, turned = transpose(a) * u, back = adjoint(a) * u;
  CHECK(oracle::distance(forth, oracle::product(D, x.data(), 1, rows, cols, 1)) <= bound);
  CHECK(oracle::distance(turned, oracle::product(D, u.data(), 1, rows, cols, 1, true)) <= bound);
  CHECK(oracle::distance(back, oracle::product(D, u.data(), 1, rows, cols, 1, true, true)) <= bound);

  vector<T> w(cols), v(cols), image(rows);
  auto const [zw, norm2, of_rows] = fuse(set(w, z - 0.5 * (adjoint(a) * (2.0 * u))), set(image, a * w), dot_of(z, w), squared_norm_of(w), squared_norm_of(image));
  CHECK(norm_inf(w - (z - back)) <= bound);
  CHECK(std::abs(zw - dot(z, w)) <= bound);
  CHECK(norm2 == Approx(real(dot(w, w))).margin(1e-300));
  CHECK(of_rows == Approx(squared_norm(vector<T>(a * w))).margin(1e-300));
  auto held = adjoint(A(a)) * vector<T>(u);  // owners that were moved in
  v = held;
  CHECK(norm_inf(v - back) == 0);
  CHECK(std::abs(dot(u, forth) - dot(back, x)) <= bound);
}
}  // namespace

TEST_CASE("products with A, its transpose and its adjoint, of all formats, scalars and sides") {
  auto const of = [](auto T_) {
    using T = decltype(T_);
    for (auto const [rows, cols] : {std::array<index_t, 2>{40, 40}, {61, 17}, {13, 50}, {1, 1}, {1, 9}, {9, 1}}) {
      INFO(rows << " x " << cols);
      auto const A = some_matrix<T>(rows, cols, 5, false), B = some_matrix<T>(rows, cols, 4, true);
      check_all(A), check_all(B);
      check_all(to<Coo<>>(A)), check_all(to<Coo<>>(B));
      check_all(to<Csr<std::int64_t>>(A)), check_all(to<Dia>(A)), check_all(to<Sell<>>(B)), check_all(to<Sell<4, 8>>(A)), check_all(to<NarrowSell<>>(B));
    }
    check_all(sparse_tensor<T>(from_triplets<T>(7, 4, std::vector<index_t>{}, std::vector<index_t>{}, std::vector<T>{})));
  };
  of(double{});
  of(std::complex<double>{});
}

TEST_CASE("transposed products on any number of threads: the same numbers, and the same bits again") {
  auto const check = [](auto const& A, double bound) {
    using T = typename std::remove_cvref_t<decltype(A)>::value_type;
    using S = typename std::remove_cvref_t<decltype(A)>::shape_type;
    auto const u = random<T, range_extents_t<S>>(A.range(), 4);
    auto const stored = adjointed(A);
    tensor<T, domain_extents_t<S>> const expected = stored * u;
    for (int threads : {1, 2, 4}) {
      set_threads(threads);
      tensor<T, domain_extents_t<S>> const first = adjoint(A) * u;
      CHECK(norm_inf(first - expected) <= bound);
      for (int again = 0; again < 3; ++again) {
        tensor<T, domain_extents_t<S>> const same = adjoint(A) * u;
        CHECK(std::equal(same.data(), same.data() + same.size(), first.data()));
      }
    }
    set_threads(0);
  };
  check(problems::convection_diffusion<double>({200, 150}, 2.0), 1e-13);
  check(problems::convection_diffusion<std::complex<double>>({200, 150}, 2.0), 1e-13);
  check(some_matrix<double>(60000, 20000, 5, true), 1e-12);
  check(some_matrix<double>(20000, 90000, 5, false), 1e-12);
  check(to<Coo<>>(some_matrix<double>(60000, 20000, 5, false)), 1e-12);
  check(to<Sell<>>(some_matrix<std::complex<double>>(30000, 30000, 5, true)), 1e-12);
  check(to_blocks<2, 5>(problems::convection_diffusion<double>({100, 100}, 2.0)), 1e-12);
  check(to<Dia>(to_blocks<2, 3>(problems::convection_diffusion<std::complex<double>>({30, 20}, 2.0)), dia_limit{30}), 1e-12);
  auto const one = problems::poisson<double>({100, 100});
  check(stack_batch(one, 2.0 * one, -1.0 * one), 1e-12);
  check(from_triplets<double>(0, 200000, std::vector<index_t>{}, std::vector<index_t>{}, std::vector<double>{}), 0);
  check(from_triplets<double>(200000, 0, std::vector<index_t>{}, std::vector<index_t>{}, std::vector<double>{}), 0);
}

TEST_CASE("a transposed product of doubles into floats is rounded once") {
  using C = std::complex<double>;
  index_t const n = 20000;
  std::vector<index_t> i, j;
  for (index_t k = 0; k < n; ++k) i.push_back(k), j.push_back(0);
  auto const A = from_triplets<double>(n, 1, i, j, std::vector<double>(std::size_t(n), 0.1));
  vector<float> const sum = adjoint(A) * ones<double>(n);
  CHECK(sum[0] == 2000.0f);
  vector<std::complex<float>> const complex_sum = adjoint(A) * (C(1, -2) * ones<double>(n));
  CHECK(complex_sum[0] == std::complex<float>(2000, -4000));
}

TEST_CASE("by diagonals a transposed product is one by rows: it takes no pass of its own") {
  auto const A = problems::convection_diffusion<double>({60, 50}, 2.0);
  auto const D = to<Dia>(A);
  auto const u = random<double>(A.rows(), 1);
  auto v = u, w = u;
  CHECK(passes(set(v, D * u), set(w, adjoint(D) * u), dot_of(v, w)) == 1);
  CHECK(passes(set(v, A * u), set(w, adjoint(to<Coo<>>(A)) * u), dot_of(v, w)) == 3);
  fuse(set(w, u - transpose(D) * u));
  CHECK(norm_inf(w - (u - transposed(A) * u)) <= 1e-14);
  deferred queue({1, A.rows(), 1, 1}, 2);
  fuse(queue, set(v, adjoint(D) * u), set(w, adjoint(A) * u));
  queue.finish();
  CHECK(norm_inf(v - w) <= 1e-14);
}

TEST_CASE("a product with A beside one with its transpose is one walk over A, and the bits are those of two") {
  auto const check = [](auto const& A) {
    using T = typename std::remove_cvref_t<decltype(A)>::value_type;
    using S = typename std::remove_cvref_t<decltype(A)>::shape_type;
    auto const p = random<T, domain_extents_t<S>>(A.domain(), 1);
    auto const u = random<T, range_extents_t<S>>(A.range(), 2);
    auto q = u, q2 = u;
    auto s = p, s2 = p;
    CHECK(passes(set(q2, A * p), set(s2, adjoint(A) * u), dot_of(u, q2), dot_of(p, s2)) <= 3);
    index_t const walks = bytes_moved(set(q, A * p)) + bytes_moved(set(s, transpose(A) * u));
    CHECK(bytes_moved(set(s2, transpose(A) * u), set(q2, A * p)) == walks - index_t(A.bytes()));
    auto const same = [&] { return std::equal(q.data(), q.data() + q.size(), q2.data()) && std::equal(s.data(), s.data() + s.size(), s2.data()); };
    for (int threads : {1, 2, 4}) {
      set_threads(threads);
      fuse(set(q, A * p)), fuse(set(s, adjoint(A) * (T(2) * u)));
      auto const [uq, ps] = fuse(set(q2, A * p), set(s2, adjoint(A) * (T(2) * u)), dot_of(u, q2), dot_of(p, s2));
      CHECK((same() && uq == dot(u, q) && ps == dot(p, s)));
      fuse(set(s, transpose(A) * u));
      fuse(set(s2, T(3) * s), set(s2, transpose(A) * u), set(q2, A * p));
      CHECK(same());
      deferred queue({A.batch_count(), A.rows(), 1, 1}, 2);
      q2 = T(0) * q, s2 = T(0) * s;
      fuse(queue, set(q2, A * p), set(s2, transpose(A) * u));
      queue.finish();
      CHECK(same());
    }
    set_threads(0);
  };
  check(problems::convection_diffusion<double>({200, 150}, 2.0));
  check(some_matrix<std::complex<double>>(20000, 60000, 5, true));
  check(some_matrix<float>(300, 170, 5, false));
  auto const one = problems::poisson<double>({30, 20});
  check(stack_batch(one, 2.0 * one));
}

TEST_CASE("products with A and its transpose take two walks where one reads what the other writes, or they are of two matrices") {
  auto const A = problems::convection_diffusion<double>({20, 15}, 2.0);
  auto const B = eval(2.0 * A);  // the same pattern
  auto const x = random<double>(A.rows(), 1);
  vector<double> const forth = A * x, there_and_back = transpose(A) * forth, back = transpose(A) * x, and_forth = A * back, of_other = transpose(B) * x;
  vector<double> q(A.rows()), s(A.rows());
  fuse(set(q, A * x), set(s, transpose(A) * q));
  CHECK((norm_inf(q - forth) == 0 && norm_inf(s - there_and_back) == 0));
  fuse(set(s, transpose(A) * x), set(q, A * s));
  CHECK((norm_inf(s - back) == 0 && norm_inf(q - and_forth) == 0));
  fuse(set(q, A * x), set(s, transpose(B) * x));
  CHECK((norm_inf(q - forth) == 0 && norm_inf(s - of_other) == 0));
  auto v = x, w = x;
  fuse(set(v, A * w), set(w, transpose(A) * x));  // w is read, then written
  CHECK((norm_inf(v - forth) == 0 && norm_inf(w - back) == 0));
  auto both = x;
  fuse(set(both, A * x), set(both, transpose(A) * x));
  CHECK(norm_inf(both - back) == 0);
}

TEST_CASE("a transposed product of an operand with numbers per item takes those of its space's items") {
  auto const A = problems::convection_diffusion<double>({5, 4}, 2.0);
  auto const K = with_adjoint(A);
  index_t const n = A.rows();
  SECTION("columns of one item") {
    using Block = tensor<double, Extents<dyn, 3>>;
    Block const U = random<double, Extents<dyn, 3>>({n, 3}, 1);
    Block V(U.extents()), W(U.extents());
    deferred queue({1, n, 3, 1}, 2);
    auto const alpha = queue.scalar(std::vector<double>{2.0});
    fuse(queue, set(V, adjoint(A) * (alpha * U)), set(W, adjoint(K) * (alpha * U)));
    queue.finish();
    CHECK(norm_inf(V - W) <= 1e-13);
  }
  SECTION("systems of a list") {
    host_space<true, packed_systems> space({1, n, 1, 1}, packed_systems(std::make_shared<std::vector<index_t> const>(std::vector<index_t>{0, 8, n})));
    auto const alpha = space.scalar(std::vector<double>{2.0, 5.0});
    auto const u = random<double>(n, 2);
    vector<double> v(n), w(n), scaled(n);
    fuse(space, set(v, adjoint(A) * (alpha * u)), set(scaled, alpha * u), set(w, adjoint(K) * scaled));
    CHECK(norm_inf(v - w) <= 1e-13);
  }
}

TEST_CASE("with its adjoint stored a matrix has products by rows both ways, the same on any number of threads") {
  auto const check = [](auto const& A) {
    using T = typename std::remove_cvref_t<decltype(A)>::value_type;
    auto const K = with_adjoint(A);
    auto const x = random<T>(A.cols(), 1), u = random<T>(A.rows(), 2);
    vector<T> y(A.rows()), v(A.cols());
    auto const [ux, vx] = fuse(set(y, K * x), set(v, x - 0.5 * (adjoint(K) * u)), dot_of(u, y), dot_of(x, v));
    vector<T> const forth = A * x, back = adjoint(A) * u, both = adjoint(K) * (K * x), expected = adjoint(A) * forth;
    double const bound = 1e-13 * double(A.rows());
    CHECK(norm_inf(y - forth) == 0);
    CHECK(norm_inf(v - (x - 0.5 * back)) <= bound);
    CHECK(norm_inf(both - expected) <= bound);
    CHECK(std::abs(ux - dot(u, forth)) <= bound);
    CHECK(std::abs(vx - dot(x, v)) <= bound);
    auto product = adjoint(with_adjoint(A)) * u;  // shares what it multiplies by
    vector<T> one = product, four = product;
    set_threads(1), one = product;
    set_threads(4), four = product;
    set_threads(0);
    CHECK(norm_inf(one - back) <= bound);
    CHECK(std::equal(one.data(), one.data() + one.size(), four.data()));
    CHECK(adjoint(K).rows() == A.cols());
  };
  check(some_matrix<double>(61, 17, 5, false));
  check(some_matrix<std::complex<double>>(13, 50, 4, true));
  check(to<Sell<>>(problems::convection_diffusion<std::complex<double>>({200, 150}, 2.0)));
  auto const A = problems::convection_diffusion<double>({20, 15}, 2.0);
  auto const K = with_adjoint(A);
  auto v = ones<double>(300), w = v;
  CHECK(passes(set(v, K * w), squared_norm_of(v)) == 1);
  CHECK(passes(set(v, adjoint(K) * w), squared_norm_of(v)) == 1);
  auto y = v;
  CHECK(passes(set(v, K * w), set(y, adjoint(K) * w), dot_of(v, y)) == 1);
  CHECK_THROWS_WITH(with_adjoint(some_matrix<double>(6, 4, 2, false), some_matrix<double>(6, 4, 2, false)),
                    Catch::Matchers::ContainsSubstring("A is 6 x 4, and AH 6 x 4"));
}

}  // namespace test_adjoint_product
