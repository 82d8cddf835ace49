// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse rules by exhaustion: all patterns of 3 by 3 entries, sharded over two ranks by rows, by columns and entry by
// entry, with the halos that the entries ask for and nothing else; values and gradients. An iterative solve, up to its
// tolerance.
#include <sla/spmd/rule/table/sparse_tensors.hpp>

#include "sparse_kernels.hpp"

using namespace fuzz;
using kind = placement_kind;

namespace {

constexpr int n = 3;

// Numbers of families and halos in the meshes here.
constexpr std::int16_t by_row = 1, by_column = 2, by_entry = 3;
constexpr std::int16_t columns_read = 1, rows_written = 2, both = 3;

constexpr placement_value R{kind::replicate}, P{kind::partial, monoid::sum};
constexpr placement_value rows{kind::sparse_shard, monoid::none, 0, by_row},
    columns{kind::sparse_shard, monoid::none, 1, by_column}, nonzeros{kind::hyper, monoid::none, 0, by_entry};
constexpr placement_value shard(std::int16_t family, std::int8_t dim = 0) { return {kind::shard, monoid::none, dim, family}; }
constexpr placement_value ghost(std::int16_t family, std::int16_t pattern) {
  return {kind::ghost, monoid::none, 0, family, pattern};
}

struct matrix {
  rule_domain d;
  checked_operand values;
};

/// The pattern as 9 bits, owners of rows and columns as 3 bits each, and of entries.
matrix make(int mask, int p, int q, std::vector<int> const& owners = {}) {
  matrix m;
  auto& w = m.d.w;
  w.ranks = {2};
  w.pattern.rows = w.pattern.columns = n;
  for (int k = 0; k < n * n; ++k)
    if (mask >> k & 1) w.pattern.row.push_back(k / n), w.pattern.column.push_back(k % n);
  auto const map = [](int bits) { return std::vector<int>{bits & 1, bits >> 1 & 1, bits >> 2 & 1}; };
  w.families = {{}, {{}, map(p)}, {{}, map(q)}, {{}, owners}};
  w.halos.assign(4, {{}, {}});
  for (int e = 0; e < sim::count(w.pattern.row); ++e) {
    auto const at = static_cast<std::size_t>(e);
    int const i = w.pattern.row[at], j = w.pattern.column[at];
    w.halos[columns_read][static_cast<std::size_t>(p >> i & 1)].push_back(j);
    w.halos[rows_written][static_cast<std::size_t>(q >> j & 1)].push_back(i);
    if (!owners.empty())
      for (int index : {i, j}) w.halos[both][static_cast<std::size_t>(owners[at])].push_back(index);
  }
  m.d.split_seeds = 1;
  m.values = fuzz::values({sim::count(w.pattern.row)}, 0);
  m.values.batch = 0;
  return m;
}

struct counts {
  long cases = 0, wrong = 0;
};

/// Is the call accepted, with this placement of the result, and right in values and gradients?
template <class K, class... Operands>
void require_right(counts& c, rule_domain const& d, strategy const& s, K const& kernel, std::vector<placement_value> const& at,
                   placement_value result, Operands const&... operands) {
  std::vector<checked_operand> const all = {operands...};
  std::vector<tensor_placement> types;
  std::vector<operand> asked;
  std::vector<detail::sharded_operand> sharded;
  for (std::size_t k = 0; k < all.size(); ++k) {
    tensor_placement t;
    t.axes = 1;
    t.batch = static_cast<std::int8_t>(all[k].batch);
    t.rank = static_cast<std::int8_t>(all[k].value.rank() + (all[k].batch >= 0 ? 1 : 0));
    t.on[0] = at[k];
    types.push_back(t);
    asked.push_back({t, false, all[k].gradient});
    sharded.push_back(detail::shard_operand(d, all[k], t, static_cast<std::uint32_t>(k)));
  }
  auto const said = check(s, asked);
  sim::kernel_of<static_cast<int>(sizeof...(Operands)), K> const on_ranks(kernel);
  detail::rule_case one{on_ranks, d, all, types};
  std::vector<detail::sharded_operand const*> parts;
  for (auto const& o : sharded) parts.push_back(&o);
  one.prepare(parts);
  rule_report report;
  ++c.cases;
  if (!said.ok() || !(said.type.on[0] == result) || !one.right_value({said.type}, report) ||
      !one.right_gradient({said.type}))
    ++c.wrong;
}

} // namespace

TEST_CASE("products by rows and columns, for all patterns and partitions") {
  counts c;
  auto const x = values({n}, 1), X = values({n, 2}, 2);
  auto const spmv = strategies::spmv(), transposed = strategies::spmv_transposed();
  strategies::sparse_dims wide;
  wide.columns = true;
  auto const spmm = strategies::spmv(wide);
  for (int mask = 0; mask < 512; mask += one_in())
    for (int p = 0; p < 8; ++p) {
      int const q = (p * 5 + mask) % 8;
      auto const m = make(mask, p, q);
      auto const& A = m.values;
      sparse_product const forward{m.d.w.pattern}, back{m.d.w.pattern, true};
      require_right(c, m.d, spmv, forward, {rows, R}, shard(by_row), A, x);
      require_right(c, m.d, spmv, forward, {rows, ghost(by_column, columns_read)}, shard(by_row), A, x);
      require_right(c, m.d, spmv, forward, {columns, shard(by_column)}, P, A, x);
      require_right(c, m.d, transposed, back, {columns, R}, shard(by_column), A, x);
      require_right(c, m.d, transposed, back, {columns, ghost(by_row, rows_written)}, shard(by_column), A, x);
      require_right(c, m.d, transposed, back, {rows, shard(by_row)}, P, A, x);
      if (mask % 4 == 0)
        require_right(c, m.d, spmm, forward, {rows, ghost(by_column, columns_read)}, shard(by_row), A, X);
      if (p > 0) continue; // no partition of A
      require_right(c, m.d, spmv, forward, {P, R}, P, A, x);
      require_right(c, m.d, spmv, forward, {R, P}, P, A, x);
      require_right(c, m.d, spmm, forward, {R, shard(by_row, 1)}, shard(by_row, 1), A, X);
    }
  INFO(c.cases << " cases");
  CHECK(c.wrong == 0);
  CHECK(c.cases > 25000 / one_in());
}

TEST_CASE("sampled products and scalings, for all patterns and partitions") {
  counts c;
  auto const u = values({n}, 1), v = values({n}, 2), U = values({n, 2}, 3), V = values({n, 2}, 4);
  auto const gradient = strategies::sddmm(0, false), contracted = strategies::sddmm(), scale = strategies::scale_rows();
  for (int mask = 0; mask < 512; mask += one_in())
    for (int p = 0; p < 8; ++p) {
      int const q = (p * 3 + mask + 1) % 8;
      auto m = make(mask, p, q);
      auto& A = m.values;
      sampled_product const at_entries{m.d.w.pattern};
      scaled_rows const scaled{m.d.w.pattern};
      require_right(c, m.d, scale, scaled, {shard(by_row), rows}, rows, u, A);
      require_right(c, m.d, scale, scaled, {ghost(by_row, rows_written), columns}, columns, u, A);
      A.gradient = false; // the pattern alone
      require_right(c, m.d, gradient, at_entries, {rows, shard(by_row), R}, rows, A, u, v);
      require_right(c, m.d, gradient, at_entries, {rows, shard(by_row), ghost(by_column, columns_read)}, rows, A, u, v);
      require_right(c, m.d, gradient, at_entries, {columns, R, shard(by_column)}, columns, A, u, v);
      require_right(c, m.d, gradient, at_entries, {columns, ghost(by_row, rows_written), shard(by_column)}, columns, A,
                    u, v);
      if (p > 0) continue;
      require_right(c, m.d, contracted, at_entries, {R, shard(by_row, 1), shard(by_row, 1)}, P, A, U, V);
      require_right(c, m.d, contracted, at_entries, {R, P, R}, P, A, U, V);
    }
  INFO(c.cases << " cases");
  CHECK(c.wrong == 0);
  CHECK(c.cases > 25000 / one_in());
}

TEST_CASE("every way to shard nine entries over two ranks, or to leave them out") {
  counts c;
  auto const x = values({n}, 1);
  auto const spmv = strategies::spmv();
  for (int state = 0; state < 19683; state += one_in()) {
    int mask = 0, rest = state;
    std::vector<int> owners;
    for (int k = 0; k < 9; ++k, rest /= 3)
      if (rest % 3) mask |= 1 << k, owners.push_back(rest % 3 - 1);
    int const partition = state % 8;
    auto const m = make(mask, partition, partition, owners);
    auto halo = ghost(by_column, both), sums = halo;
    sums.kind = kind::ghost_partial;
    require_right(c, m.d, spmv, sparse_product{m.d.w.pattern}, {nonzeros, halo}, sums, m.values, x);
  }
  CHECK(c.wrong == 0);
  CHECK(c.cases == 19682 / one_in() + 1);
}

TEST_CASE("random patterns, rectangular, on up to eight ranks, some of them without a row") {
  counts c;
  std::uint32_t seed = 1;
  auto const draw = [&](int below) {
    return static_cast<int>((seed = sim::detail::mix(seed, 17U)) % static_cast<std::uint32_t>(below));
  };
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int trial = 0; trial < 6; ++trial) {
      bool const square = trial % 2 == 0;
      int const m = 9 + draw(12), k = square ? m : 5 + draw(12);
      matrix a;
      auto& w = a.d.w;
      a.d.split_seeds = 1;
      w.ranks = {ranks};
      w.pattern.rows = m;
      w.pattern.columns = k;
      std::vector<int> owners;
      for (int e = 0; e < 2 * m; ++e) { // entries may be there twice, rows and columns empty
        w.pattern.row.push_back(draw(m));
        w.pattern.column.push_back(draw(k));
        owners.push_back(draw(ranks));
      }
      auto const map = [&](int extent) {
        std::vector<int> owner;
        for (int i = 0; i < extent; ++i)
          owner.push_back(draw(ranks > 2 ? ranks - 1 : ranks)); // the last one has nothing
        return owner;
      };
      auto const rows_of = map(m), columns_of = map(k);
      w.families = {{}, {{}, rows_of}, {{}, columns_of}, {{}, owners}};
      w.halos.assign(4, std::vector<std::vector<int>>(static_cast<std::size_t>(ranks)));
      for (std::size_t e = 0; e < owners.size(); ++e) {
        int const i = w.pattern.row[e], j = w.pattern.column[e];
        w.halos[columns_read][static_cast<std::size_t>(rows_of[static_cast<std::size_t>(i)])].push_back(j);
        w.halos[rows_written][static_cast<std::size_t>(columns_of[static_cast<std::size_t>(j)])].push_back(i);
        for (int index : {i, j}) w.halos[both][static_cast<std::size_t>(owners[e])].push_back(index);
      }
      a.values = values({2 * m}, trial);
      a.values.batch = 0;
      auto const x = values({k}, 1), y = values({m}, 2);
      sparse_product const forward{w.pattern}, back{w.pattern, true};
      require_right(c, a.d, strategies::spmv(), forward, {rows, ghost(by_column, columns_read)}, shard(by_row),
                    a.values, x);
      require_right(c, a.d, strategies::spmv(), forward, {columns, shard(by_column)}, P, a.values, x);
      require_right(c, a.d, strategies::spmv_transposed(), back, {columns, ghost(by_row, rows_written)},
                    shard(by_column), a.values, y);
      require_right(c, a.d, strategies::spmv_transposed(), back, {rows, shard(by_row)}, P, a.values, y);
      auto halo = ghost(by_column, both), sums = halo;
      sums.kind = kind::ghost_partial;
      if (square) require_right(c, a.d, strategies::spmv(), forward, {nonzeros, halo}, sums, a.values, x);
      a.values.gradient = false;
      require_right(c, a.d, strategies::sddmm(0, false), sampled_product{w.pattern},
                    {rows, shard(by_row), ghost(by_column, columns_read)}, rows, a.values, y, x);
    }
  CHECK(c.wrong == 0);
  CHECK(c.cases == 8 * 6 * 5 + 8 * 3);
}

TEST_CASE("a halo that lacks a column, or another partition, is noticed") {
  counts c;
  auto const x = values({n}, 1);
  auto m = make(0b111'010'101, 0b011, 0b110);
  sparse_product const forward{m.d.w.pattern};
  require_right(c, m.d, strategies::spmv(), forward, {rows, ghost(by_column, columns_read)}, shard(by_row), m.values,
                x);
  CHECK(c.wrong == 0);
  m.d.w.halos[columns_read][1].clear();
  require_right(c, m.d, strategies::spmv(), forward, {rows, ghost(by_column, columns_read)}, shard(by_row), m.values,
                x);
  CHECK(c.wrong == 1);
  // x sharded by another partition than the columns
  require_right(c, m.d, strategies::spmv(), forward, {columns, shard(by_row)}, P, m.values, x);
  CHECK(c.wrong == 1 + 1);
}

namespace {

/// A x = b by elimination, for whole operands: the entries of A by its pattern, b with columns or without.
struct elimination {
  sim::sparse_pattern const& pattern;
  template <class T>
  array<T> operator()(array<T> const& entries, array<T> const& b) const {
    int const m = pattern.rows;
    if (b.extent(0) != m || entries.size() != sim::count(pattern.row)) return sim::no_result<T>();
    array<T> A({m, m});
    for (int e = 0; e < entries.size(); ++e) {
      auto const at = static_cast<std::size_t>(e);
      A(pattern.row[at], pattern.column[at]) = A(pattern.row[at], pattern.column[at]) + entries[e];
    }
    auto x = b;
    int const wide = b.inner(0);
    for (int k = 0; k < m; ++k) // of a definite matrix without exchanges
      for (int i = 0; i < m; ++i) {
        if (i == k) continue;
        T const f = A(i, k) / A(k, k);
        for (int j = 0; j < m; ++j) A(i, j) = A(i, j) - f * A(k, j);
        for (int c = 0; c < wide; ++c) x[i * wide + c] = x[i * wide + c] - f * x[k * wide + c];
      }
    for (int i = 0; i < m; ++i)
      for (int c = 0; c < wide; ++c) x[i * wide + c] = x[i * wide + c] / A(i, i);
    return x;
  }
};

using vectors = sim::on_ranks<double>;

/// Conjugate gradients with the diagonal as preconditioner, on ranks that have rows of A: a product exchanges halos, a
/// dot is a sum over the ranks.
struct solve_together {
  sim::sparse_pattern const& pattern;
  sim::owned_indices own, read;                 ///< rows, and what their products read
  std::vector<std::vector<int>> entries;  ///< of the ranks

  /// f(rank, entry among those of the rank, its row and column where the rank has them)
  template <class F>
  void for_each_entry(F f) const {
    for (int r = 0; r < own.ranks(); ++r) {
      auto const row = places(own[r], pattern.rows), column = places(read[r], pattern.columns);
      int k = 0;
      for (int e : entries[static_cast<std::size_t>(r)]) {
        auto const at = static_cast<std::size_t>(e);
        f(static_cast<std::size_t>(r), k++, row[static_cast<std::size_t>(pattern.row[at])],
          column[static_cast<std::size_t>(pattern.column[at])]);
      }
    }
  }
  vectors product(vectors const& A, vectors const& x) const {
    auto const all = sim::halo_exchange(x, 0, own, read);
    vectors y;
    for (auto const& mine : x) y.push_back(sim::nothing_like(mine));
    int const wide = x[0].inner(0);
    for_each_entry([&](std::size_t r, int k, int i, int j) {
      for (int c = 0; c < wide; ++c) y[r][i * wide + c] += A[r][k] * all[r][j * wide + c];
    });
    return y;
  }
  static double dot(vectors const& x, vectors const& y) {
    vectors parts;
    for (std::size_t r = 0; r < x.size(); ++r) {
      parts.emplace_back(std::vector<int>{});
      for (int n = 0; n < x[r].size(); ++n) parts[r][0] += x[r][n] * y[r][n];
    }
    return sim::all_reduce(parts)[0][0];
  }
  static vectors combined(vectors x, double factor, vectors const& y) {
    for (std::size_t r = 0; r < x.size(); ++r)
      for (int n = 0; n < x[r].size(); ++n) x[r][n] += factor * y[r][n];
    return x;
  }
  vectors solve(vectors const& A, vectors const& b) const {
    auto const precondition = [&](vectors z) {
      int const wide = z[0].inner(0);
      for_each_entry([&](std::size_t r, int k, int i, int j) {
        if (own[static_cast<int>(r)][static_cast<std::size_t>(i)] != read[static_cast<int>(r)][static_cast<std::size_t>(j)]) return;
        for (int c = 0; c < wide; ++c) z[r][i * wide + c] /= A[r][k];
      });
      return z;
    };
    vectors x;
    for (auto const& mine : b) x.push_back(sim::nothing_like(mine));
    auto r = b, z = precondition(r), p = z;
    double rz = dot(r, z);
    double const enough = 1e-26 * dot(b, b);
    for (int n = 0; n < 100 && dot(r, r) > enough; ++n) {
      auto const q = product(A, p);
      double const alpha = rz / dot(p, q);
      x = combined(std::move(x), alpha, p), r = combined(std::move(r), -alpha, q);
      z = precondition(r);
      double const next = dot(r, z);
      p = combined(z, next / rz, p), rz = next;
    }
    return x;
  }
  /// The gradient of the entries of A: -l x^T on the pattern.
  vectors outer(vectors const& A, vectors const& l, vectors const& x) const {
    auto const all = sim::halo_exchange(x, 0, own, read);
    vectors y;
    for (auto const& mine : A) y.push_back(sim::nothing_like(mine));
    int const wide = x[0].inner(0);
    for_each_entry([&](std::size_t r, int k, int i, int j) {
      for (int c = 0; c < wide; ++c) y[r][k] -= l[r][i * wide + c] * all[r][j * wide + c];
    });
    return y;
  }
};

/// Every rank has all of A: it solves for what it has of b.
solve_together alone(sim::sparse_pattern const& pattern) {
  sim::owned_indices const all{pattern.rows, {sim::all_indices(pattern.rows)}};
  return {pattern, all, all, {sim::all_indices(sim::count(pattern.row))}};
}
/// f(solver, ranks [first, last)) for those who solve together.
template <class F>
void among(rule_domain const& d, placement_value A, F f) {
  auto const& pattern = d.w.pattern;
  int const ranks = d.w.ranks_of(0);
  if (A.kind != kind::sparse_shard) {
    for (int r = 0; r < ranks; ++r) f(alone(pattern), r, r + 1);
    return;
  }
  auto const own = d.w.families[by_row].split_indices(pattern.rows, ranks);
  solve_together all{pattern, own, sim::with_halo(own, d.w.halos[columns_read]), {}};
  for (int r = 0; r < ranks; ++r) {
    all.entries.emplace_back();
    for (int e = 0; e < sim::count(pattern.row); ++e)
      if (d.w.families[by_row].owner[static_cast<std::size_t>(pattern.row[static_cast<std::size_t>(e)])] == r)
        all.entries.back().push_back(e);
  }
  f(all, 0, ranks);
}

/// A definite matrix of a random symmetric pattern, its rows sharded at random.
matrix definite(int m, int ranks, std::uint32_t seed) {
  matrix a;
  auto& w = a.d.w;
  w.ranks = {ranks};
  w.pattern.rows = w.pattern.columns = m;
  auto const draw = [&](int below) {
    return static_cast<int>((seed = sim::detail::mix(seed, 23U)) % static_cast<std::uint32_t>(below));
  };
  std::vector<int> owner;
  std::vector<double> value;
  auto const add = [&](int i, int j, double v) { w.pattern.row.push_back(i), w.pattern.column.push_back(j), value.push_back(v); };
  for (int i = 0; i < m; ++i) {
    owner.push_back(draw(ranks));
    add(i, i, 2.0 * m + draw(7));
    for (int j = 0; j < i; ++j)
      if (double const v = draw(5) - 2; draw(2)) add(i, j, v), add(j, i, v);
  }
  w.families = {{}, {{}, owner}};
  w.halos.assign(2, std::vector<std::vector<int>>(static_cast<std::size_t>(ranks)));
  for (std::size_t e = 0; e < value.size(); ++e)
    w.halos[columns_read][static_cast<std::size_t>(owner[static_cast<std::size_t>(w.pattern.row[e])])].push_back(w.pattern.column[e]);
  a.d.families = {by_row};
  a.d.folds = a.d.missing_folds = all_monoids;
  a.d.split_seeds = 1;
  a.values.value = array<double>({sim::count(w.pattern.row)}, value);
  a.values.batch = 0;
  return a;
}

} // namespace

TEST_CASE("iterative solves in every placement that is accepted") {
  counts c;
  int together = 0;
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (int trial = 0; trial < 6; ++trial) {
      auto const a = definite(4 + trial % 3, ranks, static_cast<std::uint32_t>(10 * ranks + trial));
      auto const& w = a.d.w;
      bool const columns = trial % 2 == 1;
      std::vector<checked_operand> const all = {a.values, columns ? values({w.pattern.rows, 3}, trial) : values({w.pattern.rows}, trial)};
      auto const s = strategies::solve({.columns = columns});
      elimination const direct{w.pattern};
      sim::kernel_of<2, elimination> const whole(direct);
      std::vector<tensor_placement> types(2);
      for (std::size_t k = 0; k < 2; ++k) {
        types[k].axes = 1;
        types[k].batch = static_cast<std::int8_t>(all[k].batch);
        types[k].rank = static_cast<std::int8_t>(all[k].value.rank() + (k == 0 ? 1 : 0));
      }
      for (auto const p : detail::choices(a.d, types[0], true, 0))
        for (auto const q : detail::choices(a.d, types[1], true, 0)) {
          types[0].on[0] = p, types[1].on[0] = q;
          auto const said = check(s, std::vector<operand>{{types[0]}, {types[1]}});
          if (!said.ok() || p.kind == kind::varying) continue; // other matrices on every rank: not definite ones
          ++c.cases;
          together += p.kind == kind::sparse_shard;
          detail::sharded_operand const parts[] = {detail::shard_operand(a.d, all[0], types[0], 0), detail::shard_operand(a.d, all[1], types[1], 1)};
          detail::rule_case one{whole, a.d, all, types};
          one.prepare({&parts[0], &parts[1]});
          auto const &A = parts[0].parts[0], &b = parts[1].parts[0];
          vectors x, A_bar, b_bar, g;
          std::vector<tensor_placement> const made = {said.type};
          auto const seed = sim::detail::cotangent(one.truths[0][0].extents, 0);
          bool const gradient = one.has_gradient(made);
          if (gradient) g = sim::split(w, detail::dual_placement_of(said.type), seed, {77, false});
          among(a.d, p, [&](solve_together const& solver, int first, int last) {
            auto const of = [&](vectors const& v) { return vectors(v.begin() + first, v.begin() + last); };
            auto const mine = solver.solve(of(A), of(b));
            x.insert(x.end(), mine.begin(), mine.end());
            if (!gradient) return;
            auto const l = solver.solve(of(A), of(g)), outer = solver.outer(of(A), l, mine);
            b_bar.insert(b_bar.end(), l.begin(), l.end());
            A_bar.insert(A_bar.end(), outer.begin(), outer.end());
          });
          one.runs = {{x}};
          bool right = one.folds_right(0, 0, said.type);
          if (gradient) {
            auto const global = [&](auto const& operands) { return sim::truth(whole, w, types, operands); };
            auto const expected = sim::detail::gradients_of(global, one.calls[0].whole, {seed}, one.wanted);
            vectors const* const got[] = {&A_bar, &b_bar};
            for (std::size_t k = 0; k < 2; ++k) {
              auto const joined = sim::joined(w, detail::dual_placement_of(types[k]), *got[k],
                                              sim::without_tuples(one.calls[0].whole[k].extents, types[k]));
              right = right && expected && joined && (!(one.wanted >> k & 1U) || same(*joined, (*expected)[k]));
            }
          }
          c.wrong += !right;
          if (!right) CHECK("right" == spelled(types, a.d));
        }
    }
  INFO(c.cases << " cases");
  CHECK(c.wrong == 0);
  CHECK(c.cases > 120);
  CHECK(together == 4 * 6);
}
