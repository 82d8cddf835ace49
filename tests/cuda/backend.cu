// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `fuse` on the device against the serial backend: formats, batches, blocks, right-hand sides, reductions, bases; and reruns,
// which are equal bit for bit.
#include "device.cuh"

using namespace on_device;

namespace {
struct divide {
  template <class N, class D>
  SLA_HD auto operator()(N num, D den) const {
    return op::div::apply(num, den);
  }
};

/// Products, updates and reductions, on either space.
template <class Space, class A, class X>
auto statements(Space& s, A const& a, X const& x0) {
  auto p = x0, q = x0, r = x0;
  auto [pq, pp] = fuse(s, set(q, a * p), dot_of(p, q), squared_norm_of(p));
  auto alpha = s.map(divide{}, pq, pp);
  auto [rr, length, largest] = fuse(s, set(r, r - alpha * q), set(p, r + 0.5 * p), set(r, a * p - r), squared_norm_of(r), norm_of(r), norm_inf_of(p));
  s.finish();
  return std::tuple{p, r, s.read(alpha), s.read(rr), s.read(length), s.read(largest)};
}

template <class A, class X>
void compare(A const& a, X const& x0, frame f, double bound, char const* what) {
  host_space<true, serial> host(f);
  auto const [p, r, a0, a1, a2, a3] = statements(host, a, x0);
  auto const da = up(a);
  auto const dx = up(x0);
  cuda::space device(f), again(f, 0);
  auto const [dp, dr, d0, d1, d2, d3] = statements(device, da, dx);
  auto const [ep, er, e0, e1, e2, e3] = statements(again, da, dx);
  expect(distance(p, down(dp)) <= bound, what);
  expect(distance(r, down(dr)) <= 10 * bound, what);
  expect(distance(a0, d0) <= bound && distance(a1, d1) <= bound && distance(a2, d2) <= bound && distance(a3, d3) <= bound, what);
  expect(same_bits(down(dr), down(er)) && distance(d1, e1) == 0 && distance(d0, e0) == 0, "a rerun has the same bits");
}

void formats() {
  auto const A = problems::convection_diffusion<double>({24, 60}, 1.0);
  index_t const n = A.rows();
  double const bound = 1e-12;
  compare(A, random<double>(n, 1), {1, n, 1, 1}, bound, "Csr");
  compare(to<Dia>(A), random<double>(n, 1), {1, n, 1, 1}, bound, "Dia");
  compare(to<Coo<>>(A), random<double>(n, 1), {1, n, 1, 1}, bound, "Coo");
  for (index_t rhs : {5, 300})  // fewer and more than a block has threads
    compare(A, random<double, Extents<dyn, dyn>>({n, rhs}, 2), {1, n, rhs, rhs}, bound, "right-hand sides");
  compare(to_batch(A, 3), random<double, Extents<dyn, dyn>>({3, n}, 3), {3, n, 1, 1}, bound, "batch");
  using Z = std::complex<float>;
  auto const C = problems::convection_diffusion<Z>({24, 60}, 1.0);
  compare(C, random<Z>(n, 1), {1, n, 1, 1}, 1e-4, "complex of float");
  compare(to_batch<2>(to_blocks<2, 2>(C)), random<Z, Extents<2, dyn, 2, 3>>({2, n / 2, 2, 3}, 5), {2, n / 2, 6, 3}, 1e-4, "blocks in a batch");
}

/// About `length` entries in each row, some rows empty and one full: rows are shared by 1 to 32 threads.
void row_lengths() {
  for (index_t length : {3, 9, 27, 100}) {
    index_t const n = 3001;
    std::vector<index_t> row, col;
    for (index_t i = 0; i < n; ++i) {
      index_t const entries = i % 11 == 10 ? 0 : i == n / 2 ? n : length;
      for (index_t k = 0; k < entries; ++k) row.push_back(i), col.push_back((i * 7 + k) % n);
    }
    auto const drawn = random<double>(index_t(row.size()), 6);
    auto const A = from_triplets<double>(n, n, row, col, std::vector<double>(drawn.begin(), drawn.end()));
    compare(A, random<double>(n, 1), {1, n, 1, 1}, 1e-12, "rows of several lengths");
    compare(A, random<double, Extents<dyn, dyn>>({n, 3}, 2), {1, n, 3, 3}, 1e-12, "rows of several lengths, right-hand sides");
  }
}

void bases() {
  using T = std::complex<double>;
  constexpr int capacity = 20;
  index_t const n = 100003;
  for (int count : {0, 1, 8, 9, 20}) {
    std::vector<vector<T>> basis;
    std::vector<vector<T, device_memory>> device_basis;
    for (int j = 0; j < capacity; ++j) {
      basis.push_back(random<T>(n, 10 + std::uint64_t(j)));
      device_basis.push_back(up(basis.back()));
    }
    vector<T> w = random<T>(n, 7);
    auto dw = up(w);
    frame const f{1, n, 1, 1};
    host_space<true, serial> host(f);
    cuda::space device(f);
    auto [h] = fuse(host, dots<capacity>(basis, count, w));
    auto [dh] = fuse(device, dots<capacity>(device_basis, count, dw));
    fuse(host, set(w, w - combine(basis, count, h)));
    fuse(device, set(dw, dw - combine(device_basis, count, dh)));
    device.finish();
    auto const want = host.read(h)[0], have = device.read(dh)[0];
    for (int j = 0; j < capacity; ++j) expect(abs_of(want[j] - have[j]) <= 1e-10, "inner products with a basis");
    expect(distance(w, down(dw)) <= 1e-10, "combinations of a basis");
  }
}
/// Vectors of two sizes, by A and its stored adjoint, and numbers that come down and go up again.
template <class Space, class A, class AH, class V>
auto two_sizes(Space& s, A const& a, AH const& ah, V const& v0) {
  auto v = v0;
  V w = ah * (a * v0);
  auto u = eval(a * v0);
  auto const [uu, vv, ww] = fuse(s, set(v, 0.5 * v), set(u, a * v), set(w, v - ah * u), squared_norm_of(u), squared_norm_of(v), squared_norm_of(w));
  auto const ratio = s.map(divide{}, uu, vv);
  s.finish();
  auto const numbers = s.read(ratio);
  auto const again = s.scalar(numbers);
  fuse(s, set(w, w / again), set(u, again * u));
  s.finish();
  return std::tuple{w, u, numbers, s.read(again), s.read(ww)};
}
void sizes() {
  std::vector<index_t> row, col;
  for (index_t i = 0; i < 1850; ++i)
    for (index_t k = 0; k < 4; ++k) row.push_back(i), col.push_back((i * 5 + k * 97) % 712);
  auto const drawn = random<double>(index_t(row.size()), 6);
  auto const A = from_triplets<double>(1850, 712, row, col, std::vector<double>(drawn.begin(), drawn.end()));
  auto const AH = adjointed(A);
  auto const check = [](auto const& a, auto const& ah, auto const& v, frame items) {
    host_space<true, serial> host(items);
    cuda::space device(items);
    auto const [w, u, n0, n1, n2] = two_sizes(host, a, ah, v);
    auto const [dw, du, d0, d1, d2] = two_sizes(device, up(a), up(ah), up(v));
    expect(distance(w, down(dw)) <= 1e-12 && distance(u, down(du)) <= 1e-12, "vectors of two sizes");
    expect(distance(n0, d0) <= 1e-12 && distance(n2, d2) <= 1e-12 && distance(d0, d1) == 0, "numbers of vectors of two sizes");
  };
  check(A, AH, random<double>(712, 1), {});
  check(A, AH, random<double, Extents<dyn, dyn>>({712, 3}, 2), {1, 0, 3, 3});
  check(to_batch(A, 3), to_batch(AH, 3), random<double, Extents<dyn, dyn>>({3, 712}, 3), {3, 0, 1, 1});
}

struct tenth {
  template <class T, int Rows, int Cols>
  SLA_HD small_matrix<T, Rows, Cols> operator()(small_matrix<T, Rows, Cols> G) const {
    for (int n = 0; n < G.size(); ++n) G[n] = op::mul::apply(1e-5, G[n]);
    return G;
  }
};
/// Columns of blocks: inner products, and combinations in their place.
void blocks() {
  using T = std::complex<double>;
  using E = Extents<dyn, 11>;
  auto const A = problems::poisson<T>({300, 200});
  auto const V = random<T, E>({60000, 11}, 1);
  auto run_on = [](auto& space, auto const& a, auto x) {
    auto y = x;
    auto [G] = fuse(space, set(y, a * x), gram_of(x, y));
    fuse(space, set(y, y - combine(x, space.map(tenth{}, G))), set(x, combine(x, space.map(tenth{}, G))));
    space.finish();
    return std::tuple{x, y, space.read(G)[0]};
  };
  frame const f{1, 60000, 11, 1};
  host_space<true, serial> host(f);
  cuda::space device(f);
  auto const [x, y, G] = run_on(host, A, V);
  auto const [dx, dy, dG] = run_on(device, up(A), up(V));
  for (int n = 0; n < G.size(); ++n) expect(abs_of(G[n] - dG[n]) <= 1e-13 * 60000, "inner products of columns");  // sums of so many terms
  expect(distance(x, down(dx)) <= 1e-10 && distance(y, down(dy)) <= 1e-10, "combinations of columns");
}
}  // namespace

int main() {
  return run([] {
    formats();
    row_lengths();
    bases();
    sizes();
    blocks();
  });
}
