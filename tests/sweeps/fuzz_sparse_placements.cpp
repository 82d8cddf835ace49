// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The placement fuzz, sparse operations: every combination of placements on one axis and on two, on one pattern (on
// one axis with halos that lack entries), with batches, blocks and columns; values and gradients. All patterns are in fuzz_sparse.cpp.
#include <sla/spmd/rule/table/sparse_tensors.hpp>

#include "sparse_kernels.hpp"

using namespace fuzz;

namespace {

enum class halos { none, some, all };

/// Five rows and their neighbours, entries in an order that `domain` shards over ranks whose halos have them.
sim::sparse_pattern band() {
  return {5, 5, {0, 1, 2, 3, 4, 0, 1, 1, 2, 2, 3, 3, 4}, {0, 1, 1, 3, 4, 1, 0, 2, 2, 3, 2, 4, 3}};
}

/// The rows are sharded so, and so are vectors of as many entries; entries neither by rows nor by columns. Some halos:
/// what the ranks of one axis read of a band; none has all.
rule_domain domain(std::vector<int> ranks, sim::sparse_pattern pattern, halos with) {
  rule_domain d;
  int const most = *std::max_element(ranks.begin(), ranks.end());
  d.across = d.orders = ranks.size() > 1;
  d.w.ranks = std::move(ranks);
  std::vector<int> const banded = {0, 0, 1, 1, most - 1, 0, 0, 0, 0, 1, 1, 1, most - 1}, mixed = {1, 0, most - 1, 0, 1, 1, 0};
  d.w.families = {{}, {{}, with == halos::some ? banded : mixed}};
  d.families = {1};
  d.folds = d.missing_folds = all_monoids;
  d.w.pattern = std::move(pattern);
  if (with == halos::none) return d;
  std::vector<std::vector<int>> wanted(static_cast<std::size_t>(most), sim::all_indices(d.w.pattern.rows));
  if (with == halos::some && d.w.axes() == 1) wanted = {{2, 3}, {1, 4}, {3}}, wanted.resize(static_cast<std::size_t>(most));
  d.w.halos = {{}, wanted};
  d.patterns = {1};
  return d;
}
/// On one axis all combinations; on two axes one in 11 of three operands, one in 5 of blocks, and all others.
template <class Run>
void on_meshes(composition_state& l, sim::sparse_pattern const& pattern, halos with, Run run) {
  for (auto const& ranks : {std::vector{2}, std::vector{3}, std::vector{2, 2}, std::vector{2, 3}}) {
    auto const d = domain(ranks, pattern, with);
    run(d, [&](std::string const& name, strategy const& s, auto const& kernel, auto const&... operands) {
      auto mine = d;
      if (d.across && sizeof...(operands) > 2) {
        mine.one_in = 11;
        mine.orders = false;
        mine.folds = mine.missing_folds = monoid_bit(monoid::sum) | monoid_bit(monoid::maximum);
      } else if (d.across && with == halos::none) { // the large operands
        mine.one_in = 5;
      }
      l.check(d.across ? name + " on two axes" : name, mine, s, kernel, operands...);
    });
  }
}
checked_operand entries(std::vector<int> const& extents, int which, int batch = 0) {
  auto x = values(extents, which);
  x.batch = batch;
  return x;
}

constexpr strategies::sparse_dims wide{.columns = true};

} // namespace

TEST_CASE("products, samples, scalings, sums and diagonals") {
  composition_state l;
  auto A = entries({13}, 0), B = entries({13}, 5);
  auto const x = values({5}, 1), X = values({5, 2}, 2), v = values({5}, 3), Y = values({5, 2}, 4);
  on_meshes(l, band(), halos::some, [&](rule_domain const& d, auto check) {
    auto const& at = d.w.pattern;
    A.gradient = true;
    check("sparse product", strategies::spmv(), sparse_product{at}, A, x);
    check("transposed sparse product", strategies::spmv_transposed(), sparse_product{at, true}, A, x);
    check("sparse product of columns", strategies::spmv(wide), sparse_product{at}, A, X);
    check("transposed product of columns", strategies::spmv_transposed(wide), sparse_product{at, true}, A, X);
    check("scaled rows", strategies::scale_rows(), scaled_rows{at}, x, A);
    check("sum of matrices", strategies::add_sparse(), entries_added{}, A, B);
    check("diagonal", strategies::diagonal(), diagonal_entries{at}, A);
    check("local preconditioner", strategies::local_preconditioner(), divided_by_diagonal{at}, A, x);
    check("local preconditioner of columns", strategies::local_preconditioner(wide), divided_by_diagonal{at}, A, X);
    A.gradient = false;
    check("sampled product", strategies::sddmm(0, false), sampled_product{at}, A, x, v);
    check("contracted sampled product", strategies::sddmm(), sampled_product{at}, A, X, Y);
  });
  l.finish();
}

TEST_CASE("batches and blocks") {
  composition_state l;
  sim::sparse_pattern const pattern{4, 3, {0, 0, 1, 3, 3}, {0, 2, 1, 0, 2}}; // row 2 is empty
  auto A = entries({2, 5, 2, 3}, 0, 1), B = entries({2, 5, 2, 3}, 5, 1);
  auto const y = values({2, 4, 2}, 1), x = values({2, 3, 3}, 2), shared = values({3, 3}, 3);
  auto const U = values({2, 4, 2, 5}, 4), V = values({2, 3, 3, 5}, 5);
  strategies::sparse_dims const dims{.batch = 1, .block = true},
      one{.batch = 1, .block = true, .vector_has_batch = false};
  on_meshes(l, pattern, halos::none, [&](rule_domain const& d, auto check) {
    auto const& at = d.w.pattern;
    A.gradient = true;
    check("block product", strategies::spmv(dims), block_product{at}, A, x);
    check("block product of one vector", strategies::spmv(one), block_product{at}, A, shared);
    check("scaled block rows", strategies::scale_rows(1, false, true), scaled_blocks{at}, y, A);
    check("scaled block columns", strategies::scale_rows(1, true, true), scaled_blocks{at, true}, x, A);
    check("sum of block matrices", strategies::add_sparse(1, true), entries_added{}, A, B);
    A.gradient = false;
    check("sampled blocks", strategies::sddmm(1, false, true), sampled_blocks{at}, A, y, x);
    check("contracted sampled blocks", strategies::sddmm(1, true, true), sampled_blocks{at}, A, U, V);
  });
  CHECK(l.accepted > 1000 / one_in());
  l.finish();
}

TEST_CASE("direct solves") {
  composition_state l;
  sim::sparse_pattern const pattern{3, 3, {0, 1, 1, 2, 2}, {0, 0, 1, 0, 2}};
  auto const A = entries({2, 5}, 0, 1);
  strategies::sparse_dims const dims{.batch = 1, .columns = true},
      one{.batch = 1, .vector_has_batch = false, .columns = true};
  on_meshes(l, pattern, halos::all, [&](rule_domain const& d, auto check) {
    triangular_solve const kernel{d.w.pattern};
    check("direct solve", strategies::solve(dims, true), kernel, A, values({2, 3, 4}, 1));
    check("direct solve of shared sides", strategies::solve(one, true), kernel, A, values({3, 4}, 2));
  });
  l.finish();
}

namespace {

struct tally {
  int mutants = 0, caught = 0, others = 0;
};

/// Every rule of s with one slot changed: caught, or of operands that s accepts with another result, or a reviewed
/// refusal.
template <class K, class... Operands>
void mutate(tally& t, std::set<std::string> const& reviewed, rule_domain d, std::string const& name, strategy const& s,
            K const& kernel, Operands const&... operands) {
  d.missing = false;
  checked_operand const* const all[] = {&operands...};
  std::vector<slot> ways = {{}, partial_slot(monoid::sum), partial_slot(monoid::maximum), shard_slot(0), shard_slot(1)};
  for (auto kind : {slot_kind::rows, slot_kind::columns, slot_kind::entries}) ways.push_back({kind, 0});
  ways.push_back({slot_kind::ghost, 0});
  ways.push_back({slot_kind::ghost_partial, 0});
  for (int n = 0; n < s.size; ++n)
    for (int k = -1; k < s.inputs; ++k)
      for (auto const& other : ways) {
        auto const old = k < 0 ? s.rules[n].out[0] : s.rules[n].in[k];
        bool const sparse = k < 0 ? s.result_batch[0] >= 0 : all[k]->batch >= 0;
        bool const of_sparse = other.kind >= slot_kind::rows && other.kind <= slot_kind::entries;
        bool const of_dense = other.kind >= slot_kind::ghost || other.kind == slot_kind::shard;
        if (other.kind == old.kind && other.dim == old.dim) continue;
        if (sparse ? of_dense : of_sparse) continue;
        int const rank = k < 0 ? s.result_rank[0] : all[k]->value.rank();
        if (other.dim >= rank) continue;
        auto mutant = s;
        mutant.size = 1;
        mutant.rules[0] = s.rules[n];
        (k < 0 ? mutant.rules[0].out[0] : mutant.rules[0].in[k]) = other;
        std::set<std::string> novel;
        auto const decide = [&](std::span<operand const> o) {
          auto const said = check(mutant, o);
          if (said.ok() && !check(s, o).ok()) {
            std::vector<tensor_placement> types;
            for (auto const& one : o) types.push_back(one.type);
            novel.insert(name + "," + spelled(types, d));
          }
          return said;
        };
        auto const r = check_rule_of(d, decide, kernel, operands...);
        ++t.mutants;
        if (r.wrong() > 0)
          ++t.caught;
        else
          ++t.others;
        for (auto const& line : novel)
          if (r.wrong() == 0 && !reviewed.contains(line)) FAIL_CHECK("rule " << n << " slot " << k << ": " << line);
      }
}

} // namespace

TEST_CASE("sparse rules with one slot changed are caught, or are other rules") {
  std::set<std::string> reviewed;
  for (auto const& row : placed_values::table("reviewed_refusals.csv")) reviewed.insert(row[0] + "," + row[1]);
  tally t;
  auto A = entries({13}, 0), B = entries({13}, 5);
  auto const x = values({5}, 1), v = values({5}, 3);
  auto const d = domain({3}, band(), halos::some);
  auto const& at = d.w.pattern;
  auto const run = [&](std::string const& name, strategy const& s, auto const& kernel, auto const&... operands) {
    mutate(t, reviewed, d, name, s, kernel, operands...);
  };
  run("sparse product", strategies::spmv(), sparse_product{at}, A, x);
  run("transposed sparse product", strategies::spmv_transposed(), sparse_product{at, true}, A, x);
  run("scaled rows", strategies::scale_rows(), scaled_rows{at}, x, A);
  run("sum of matrices", strategies::add_sparse(), entries_added{}, A, B);
  run("diagonal", strategies::diagonal(), diagonal_entries{at}, A);
  run("local preconditioner", strategies::local_preconditioner(), divided_by_diagonal{at}, A, x);
  A.gradient = false;
  run("sampled product", strategies::sddmm(0, false), sampled_product{at}, A, x, v);
  INFO(t.mutants << " mutants, " << t.caught << " caught, " << t.others << " others");
  CHECK(t.mutants > 200);
  CHECK(t.caught > 2 * t.others);
}
