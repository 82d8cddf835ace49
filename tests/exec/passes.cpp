// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many walks over memory `fuse` makes, what it moves, and that statements mean their order whatever is fused.
#include <limits>
#include <utility>
#include <vector>

#include <sla/exec/deferred.hpp>
#include <sla/exec/evaluate.hpp>
#include <sla/expr/sparse/residual.hpp>
#include <sla/tensor/build/block.hpp>
#include <sla/tensor/build/convert.hpp>
#include <sla/tensor/build/sell.hpp>
#include <sla/tensor/problems/problems.hpp>

#include "catch.hpp"

namespace test_passes {

using namespace sla;

TEST_CASE("a pass ends where a gathered vector is written, before or after") {
  auto A = problems::poisson<double>({20, 20});
  index_t const n = A.rows();
  auto p = random<double>(n, 1), q = random<double>(n, 2), z = random<double>(n, 3), r = random<double>(n, 4), x = random<double>(n, 5);

  CHECK(passes(set(q, A * p), dot_of(p, q)) == 1);
  CHECK(passes(set(p, z), set(q, A * p)) == 2);
  CHECK(passes(set(q, A * p), set(p, z)) == 2);  // in blocks, one pass would read new values of p
  CHECK(passes(set(r, r - 0.5 * q), set(z, 0.25 * r), dot_of(r, z), squared_norm_of(r)) == 1);
  CHECK(passes(set(x, x + p), set(p, z + 0.5 * p)) == 1);
  CHECK(passes(set(q, A * p), set(r, A * q)) == 2);
  CHECK(passes(set(q, transpose(A) * p), dot_of(p, q)) == 2);
  CHECK(passes(set(q, A * p), set(z, transpose(A) * q), set(r, z - q)) == 3);
}

TEST_CASE("a statement that overwrites what it reads elsewhere is refused") {
  auto A = problems::poisson<double>({40, 40});
  auto p = random<double>(A.rows(), 1);
  auto const before = p;
  CHECK_THROWS_WITH(fuse(set(p, A * p)), Catch::Matchers::ContainsSubstring("set another vector"));
  CHECK_THROWS_AS(fuse(set(p, transpose(A) * p)), value_error);
  CHECK_THROWS_AS(fuse(set(p, before + A * p)), value_error);
  CHECK(eval(norm(p - before)) == 0);
}

TEST_CASE("bytes moved count each operand once per pass") {
  auto A = problems::poisson<double>({100, 100});
  index_t const n = A.rows(), matrix_bytes = index_t(A.bytes());
  auto p = random<double>(n, 1), q = random<double>(n, 2), r = random<double>(n, 3), z = random<double>(n, 4), d = random<double>(n, 5);
  CHECK(bytes_moved(set(q, A * p), dot_of(p, q)) == matrix_bytes + 2 * 8 * n);
  CHECK(bytes_moved(set(r, r - 0.5 * q), set(z, d * r), dot_of(r, z), squared_norm_of(r)) == 5 * 8 * n);
}

TEST_CASE("fused statements mean their order") {
  auto A = problems::convection_diffusion<double>({64, 64}, 1.0);
  index_t const n = A.rows();
  auto p = random<double>(n, 1), q = random<double>(n, 2), z = random<double>(n, 3);
  auto const p0 = p, z0 = z;
  fuse(set(q, A * p), set(p, z), set(z, A * p + q), set(z, z - p));
  vector<double> q1 = A * p0, z1 = A * z0 + q1;
  z1 = z1 - z0;
  CHECK(eval(norm(q - q1)) == 0);
  CHECK(eval(norm(p - z0)) == 0);
  CHECK(eval(norm(z - z1)) == 0);
}

TEST_CASE("fuse with whole nodes inside of expressions keeps the order") {
  auto A = problems::convection_diffusion<double>({30, 30}, 1.0);
  index_t const n = A.rows();
  auto p = random<double>(n, 1), q = random<double>(n, 2);
  vector<double> p1 = 2 * p, transposed = transpose(A) * p1, expected = p1 - transposed;
  auto [s] = fuse(set(p, 2 * p), set(q, p - transpose(A) * p), sum_of(q));
  CHECK(eval(norm(q - expected)) == 0);
  CHECK(s == eval(sum(expected)));
  vector<double> const squared = A * p1, both = A * squared;
  auto const half = [](double v) { return 0.5 * v; };
  auto [halves] = fuse(set(p, where(transpose(A) * p1 > 0.0, p1, 2.0 * p1)), set(q, apply(half, A * (A * p1))), sum_of(apply(half, transpose(A) * p1)));
  CHECK(eval(norm(p - where(transposed > 0.0, p1, 2.0 * p1))) == 0);
  CHECK(eval(norm(q - 0.5 * both)) == 0);
  CHECK(halves == Approx(0.5 * eval(sum(transposed))));
}

TEST_CASE("statements of different lengths take passes of their own") {
  auto x = ones<double>(10), y = ones<double>(3000);
  auto [sx, sy] = fuse(sum_of(x), sum_of(y));
  CHECK(sx == 10);
  CHECK(sy == 3000);
  CHECK(passes(sum_of(x), sum_of(y), set(x, 2 * x)) == 3);
  CHECK(passes(sum_of(x), set(x, 2 * x), sum_of(y), dot_of(y, y)) == 2);
  host_space<false> space({1, 10, 1, 1});
  auto const [one, other] = fuse(space, sum_of(x), sum_of(y));  // of one item, whatever their lengths
  CHECK((one == 10 && other == 3000));
  host_space<true> items({3, 10, 2, 2});
  auto const z = ones<double, Extents<dyn, dyn, dyn>>({3, 500, 2});
  auto const [each] = fuse(items, sum_of(z));
  for (double sum : items.read(each)) CHECK(sum == 500);
  CHECK_THROWS_WITH(fuse(items, sum_of(y)), Catch::Matchers::ContainsSubstring("extents 3000 in a space of batch 3 and 2 right-hand sides"));
}

TEST_CASE("any number of statements and reductions") {
  auto x = random<double>(5000, 1), y = random<double>(5000, 2);
  auto [a, b, c, d, e] = fuse(set(x, 2 * x), dot_of(x, y), set(y, y + x), sum_of(y), norm1_of(x), max_of(y), norm_of(x));
  CHECK(a + b + c + d + e == Approx(eval(dot(x, y - x)) + eval(sum(y)) + eval(norm1(x)) + eval((max)(y)) + eval(norm(x))));
}

namespace {
/// Element i is i, to who has it stored; read one by one they are NaN.
template <class E = Extents<dyn>>
struct stored_numbers {
  using expression_tag = void;
  using value_type = double;
  using extents_type = E;
  using memory_type = host_memory;
  static constexpr reach depth = reach::gather;
  index_t n, together = 1;

  extents_type extents() const { return {n}; }
  index_t rows_together() const { return together; }
  double at(element) const { return std::numeric_limits<double>::quiet_NaN(); }
  template <class Span>
  void store(Span s, double* out) const {
    if (together > 1) CHECK((s.first % together == 0 && ((s.first + s.count) % together == 0 || s.first + s.count == n)));
    for (index_t k = 0; k < s.count; ++k) out[k] = double(s.first + k);
  }
  template <class F>
  stored_numbers rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&&, bool) const {}
};

/// Products inside of expressions, by the host and element by element: the same sums.
template <class A, class X>
void check_rows_inside(A const& a, X const& x) {
  frame f = (a * x).layout();
  host_space<true, serial> oracle(f);
  host_space<true> space(f);
  deferred queue(f, 2);
  auto run = [&](auto& s) {
    auto b = x, r = x, y = x;
    auto read = random<typename X::value_type, typename X::extents_type>(x.extents(), 9);  // by the statement that writes over it
    auto [rr, both] = fuse(s, set(r, b - a * x), set(y, 1.5 * (a * x) + b * (a * b)), set(read, b * (a * x) - 2 * read), squared_norm_of(r), dot_of(b, a * x));
    s.finish();
    auto const numbers = s.read(rr), dots = s.read(both);
    return std::tuple{r, y, std::vector<double>(numbers.begin(), numbers.end()), std::vector<double>(dots.begin(), dots.end()), read};
  };
  auto const expected = run(oracle);
  auto check = [&](auto const& found) {
    CHECK(norm_inf(std::get<0>(found) - std::get<0>(expected)) == 0);
    CHECK(norm_inf(std::get<1>(found) - std::get<1>(expected)) == 0);
    CHECK(norm_inf(std::get<4>(found) - std::get<4>(expected)) == 0);
    for (std::size_t k = 0; k < std::get<2>(expected).size(); ++k) {
      CHECK(std::get<2>(found)[k] == Approx(std::get<2>(expected)[k]).epsilon(1e-12));
      CHECK(std::abs(std::get<3>(found)[k] - std::get<3>(expected)[k]) <= 1e-11 * double(x.size()));
    }
  };
  check(run(space));
  check(run(queue));
}
}  // namespace

TEST_CASE("what can store its rows is never read one by one") {
  index_t const n = 5000;
  auto y = zeros<double>(n);
  auto [total, scaled] = fuse(set(y, 1 + stored_numbers<>{n}), sum_of(stored_numbers<>{n}), dot_of(y, 2.0 * stored_numbers<>{n}));
  CHECK(y[0] == 1);
  CHECK(y[n - 1] == double(n));
  CHECK(total == double(n * (n - 1) / 2));
  CHECK(scaled == Approx(2 * eval(dot(y, y - 1))));
  auto [h] = fuse(dots<2>(std::vector(2, y), 2, stored_numbers<>{n}));
  CHECK(h[1] == Approx(eval(dot(y, y - 1))));
}

TEST_CASE("rows that a format stores together are not cut by blocks, and another range is cut where it begins and ends") {
  index_t const n = 50000;
  auto y = zeros<double>(n);
  auto const total = [&](index_t together) { return eval(std::get<0>(fuse(set(y, 1 + stored_numbers<>{n, together}), sum_of(stored_numbers<>{n, together})))); };
  for (index_t const together : {48, 256, 768, 1024}) {
    CHECK(total(together) == double(n * (n - 1) / 2));
    CHECK(y[n - 1] == double(n));
  }
  detail::block_rows asked;
  (void)lower_tree{}(set(y, to<Sell<8, 768>>(eye<double>(n)) * ones<double>(n))).rebuild(detail::ask_nodes{.rows = &asked});
  CHECK(asked.together == 768);

  frame const f{2, n, 1, 1};
  for (row_range const range : {row_range{0, n}, row_range{700, 800}, row_range{500, n - 1}, row_range{1536, 2304}}) {
    block_walk walk(f, range, 1, asked);
    index_t next = range.first, blocks = 0;
    struct context {
      row_range range;
      index_t &next, &blocks;
    } const all{range, next, blocks};
    walk.run(
        [](void const* c, row_span const& s, index_t block) {
          auto const& in = *static_cast<context const*>(c);
          index_t const end = s.first % n + s.count;
          CHECK(block == in.blocks++);
          CHECK(s.first % n == in.next);
          CHECK((end % 768 == 0 || end == in.range.last));
          in.next = end == in.range.last ? in.range.first : end;
        },
        &all);
    CHECK(blocks == walk.blocks());
    CHECK(next == range.first);
  }
}

TEST_CASE("rows of products inside of expressions are those of the elements, in every format") {
  auto A = problems::convection_diffusion<double>({61, 53}, 1.5);
  index_t const n = A.rows();
  auto const x = random<double>(n, 1);
  check_rows_inside(A, x);
  check_rows_inside(to<Coo<>>(A), x);
  check_rows_inside(to<Sell<>>(A), x);
  check_rows_inside(to<NarrowSell<>>(A), x);
  check_rows_inside(to<Sell<4, 48>>(A), x);  // whose windows are no part of a block of 1024 rows
  check_rows_inside(to<Dia>(A), x);
  check_rows_inside(to<Dia>(A * A), x);  // thirteen diagonals: several groups
  auto const even = problems::convection_diffusion<double>({60, 54}, 1.5);
  check_rows_inside(to_batch(A, 3), random<double, Extents<dyn, dyn>>({3, n}, 3));
  auto const blocks = to_blocks<3, 3>(even);
  check_rows_inside(blocks, random<double, std::remove_cvref_t<decltype(blocks.domain())>>(blocks.domain(), 4));
  auto const large = to_blocks<9, 9>(even);
  check_rows_inside(large, random<double, std::remove_cvref_t<decltype(large.domain())>>(large.domain(), 4));
  check_rows_inside(A, random<double, Extents<dyn, dyn>>({n, 7}, 5));
  check_rows_inside(to<Dia>(A), random<double, Extents<dyn, dyn>>({n, 2}, 5));
  auto const small = problems::poisson<double>({5, 4});
  check_rows_inside(small, random<double, Extents<dyn, dyn>>({20, 1500}, 6));  // a row is longer than a block
}

TEST_CASE("twofold products keep their digits where rows are stored first") {
  auto A = to<Dia>(problems::convection_diffusion<double>({40, 50}, 1.5));
  auto const x = random<double>(A.cols(), 1);
  vector<double> const b = A * x;
  auto r = b;
  host_space<false, serial> oracle({1, A.rows(), 1, 1});
  fuse(oracle, set(r, accurate_residual(b, A * x)));
  vector<double> found = accurate_residual(b, A * x);
  CHECK(norm_inf(r) > 0);
  CHECK(norm_inf(found - r) == 0);
}

TEST_CASE("a fuse of more statements than its plan has room for in place is one pass, but where the last one writes what the first one reads elsewhere") {
  auto const A = problems::poisson<double>({7, 6});
  auto const w = random<double>(42, 1);
  std::vector<vector<double>> v(40, w);
  auto const all = [&]<std::size_t... K>(std::index_sequence<K...>, auto const& f) { return f(set(v[K], v[K] + double(K) * w)...); };
  auto const of = std::make_index_sequence<40>();
  auto p = w;
  vector<double> q(Extents<dyn>(42));
  CHECK(all(of, [](auto const&... s) { return passes(s...); }) == 1);
  CHECK(all(of, [&](auto const&... s) { return passes(set(q, A * p), s..., set(p, w)); }) == 2);
  CHECK(all(of, [&](auto const&... s) { return passes(set(p, w), s..., set(q, A * p)); }) == 2);  // the first of many that write
  all(of, [](auto const&... s) { fuse(s...); });
  for (std::size_t k = 0; k < 40; ++k) CHECK(norm(v[k] - (1.0 + double(k)) * w) <= 1e-13 * double(k) * norm(w));
  vector<double> const wanted = A * p;
  vector<double> const z = 0.5 * p;
  all(of, [&](auto const&... s) { fuse(set(q, A * p), s..., set(p, z)); });
  CHECK(norm_inf(q - wanted) == 0);
  CHECK(norm_inf(p - z) == 0);
}

} // namespace test_passes
