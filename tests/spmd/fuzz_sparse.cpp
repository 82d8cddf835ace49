// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sparse rules by exhaustion: all patterns of 3 by 3 entries, dealt out to two ranks by rows, by columns and entry by
// entry, with the halos that the entries ask for and nothing else; values and gradients.
#include <sla/spmd/strategies/sparse.hpp>

#include "sparse_kernels.hpp"

using namespace fuzz;
using kind = placement_kind;

namespace {

constexpr int n = 3;

// Numbers of families and halos in the meshes here.
constexpr std::int16_t by_row = 1, by_column = 2, by_entry = 3;
constexpr std::int16_t columns_read = 1, rows_written = 2, both = 3;

constexpr placed R{kind::replicate}, P{kind::partial, monoid::sum};
constexpr placed rows{kind::sparse_shard, monoid::none, 0, by_row},
    columns{kind::sparse_shard, monoid::none, 1, by_column}, entries{kind::hyper, monoid::none, 0, by_entry};
constexpr placed shard(std::int16_t family, std::int8_t dim = 0) { return {kind::shard, monoid::none, dim, family}; }
constexpr placed ghost(std::int16_t family, std::int16_t pattern) {
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
  m.d.manners = 1;
  m.values = fuzz::values({sim::count(w.pattern.row)}, 0);
  m.values.batch = 0;
  return m;
}

struct counts {
  long cases = 0, wrong = 0;
};

/// Is the call accepted, with this placement of the result, and right in values and gradients?
template <class K, class... Operands>
void require_right(counts& c, rule_domain const& d, strategy const& s, K const& kernel, std::vector<placed> const& at,
                   placed result, Operands const&... operands) {
  std::vector<checked_operand> const all = {operands...};
  std::vector<typing> types;
  std::vector<operand> asked;
  std::vector<detail::dealt_operand> dealt;
  for (std::size_t k = 0; k < all.size(); ++k) {
    typing t;
    t.axes = 1;
    t.batch = static_cast<std::int8_t>(all[k].batch);
    t.rank = static_cast<std::int8_t>(all[k].value.rank() + (all[k].batch >= 0 ? 1 : 0));
    t.on[0] = at[k];
    types.push_back(t);
    asked.push_back({t, false, all[k].gradient});
    dealt.push_back(detail::deal_operand(d, all[k], t, static_cast<std::uint32_t>(k)));
  }
  auto const said = check(s, asked);
  sim::kernel_of<static_cast<int>(sizeof...(Operands)), K> const on_ranks(kernel);
  detail::rule_case one{on_ranks, d, all, types};
  std::vector<detail::dealt_operand const*> parts;
  for (auto const& o : dealt) parts.push_back(&o);
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
  for (int mask = 0; mask < 512; ++mask)
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
  CHECK(c.cases > 25000);
}

TEST_CASE("sampled products and scalings, for all patterns and partitions") {
  counts c;
  auto const u = values({n}, 1), v = values({n}, 2), U = values({n, 2}, 3), V = values({n, 2}, 4);
  auto const gradient = strategies::sddmm(0, false), contracted = strategies::sddmm(), scale = strategies::scale_rows();
  for (int mask = 0; mask < 512; ++mask)
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
  CHECK(c.cases > 25000);
}

TEST_CASE("every way to deal out nine entries to two ranks, or to leave them out") {
  counts c;
  auto const x = values({n}, 1);
  auto const spmv = strategies::spmv();
  for (int state = 0; state < 19683; ++state) {
    int mask = 0, rest = state;
    std::vector<int> owners;
    for (int k = 0; k < 9; ++k, rest /= 3)
      if (rest % 3) mask |= 1 << k, owners.push_back(rest % 3 - 1);
    int const partition = state % 8;
    auto const m = make(mask, partition, partition, owners);
    auto halo = ghost(by_column, both), sums = halo;
    sums.kind = kind::ghost_partial;
    require_right(c, m.d, spmv, sparse_product{m.d.w.pattern}, {entries, halo}, sums, m.values, x);
  }
  CHECK(c.wrong == 0);
  CHECK(c.cases == 19683);
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
      a.d.manners = 1;
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
      if (square) require_right(c, a.d, strategies::spmv(), forward, {entries, halo}, sums, a.values, x);
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
  // x dealt out by another partition than the columns
  require_right(c, m.d, strategies::spmv(), forward, {columns, shard(by_row)}, P, m.values, x);
  CHECK(c.wrong == 1 + 1);
}
