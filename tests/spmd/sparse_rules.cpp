// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The strategies of sparse operations by enumeration on two ranks: all 512 patterns of a 3 x 3 matrix, all partitions
// of rows and of columns, several partitions of the entries. A combination of placements is accepted exactly where one
// result placement is right for all of them.
#include <vector>

#include <sla/spmd/rule/rules.hpp>
#include <sla/spmd/rule/table/sparse_tensors.hpp>

#include "catch.hpp"
#include "placed.hpp"

namespace test_sparse_rules {

using namespace sla;
using namespace placed_values;

namespace {

// Sets of indices and of entries (3 i + j) as bits.
constexpr int n = 3, ranks = 2, all = 7;
constexpr bool in(int set, int i) { return set >> i & 1; }

struct world { // one instance: the pattern of A, owners of rows, columns and entries (of the second rank)
  int pattern = 0, rows = 0, columns = 0, entries = 0;
  int owned(int family, int rank) const {
    int const second = family == 1 ? rows : columns;
    return rank ? second : all & ~second;
  }
  int value(int i, int j) const { return in(pattern, n * i + j) ? 3 + 5 * i + 7 * i * j + 11 * j : 0; }
};

// What a rank has of A: its entries, and which indices its local rows and columns stand for; -1: all, or those that a
// halo names; -2: those that a halo names.
struct piece {
  int entries = 0, rows = all, columns = all;
  bool whole_values = true; // false: this rank has no part of a pending sum
};
piece part_of(world const& w, placement_value p, int rank, int holder) {
  piece out{w.pattern};
  if (p == P) out.whole_values = rank == holder;
  auto const keep = [&](auto mine) {
    for (int e = 0; e < n * n; ++e)
      if (!mine(e)) out.entries &= ~(1 << e);
  };
  if (p.kind == placement_kind::sparse_shard) {
    int const set = w.owned(p.dim == 0 ? 1 : 2, rank);
    keep([&](int e) { return in(set, p.dim == 0 ? e / n : e % n); });
    (p.dim == 0 ? out.rows : out.columns) = set;
    (p.dim == 0 ? out.columns : out.rows) = -1;
  }
  if (p.kind == placement_kind::hyper) {
    keep([&](int e) { return in(w.entries, e) == (rank == 1); });
    out.rows = out.columns = -2;
  }
  return out;
}

// The indices that a rank has of a vector along rows (side 0) or columns (side 1) of the piece.
int indices(world const& w, placement_value p, piece const& A, int side, int rank) {
  if (p.kind == placement_kind::shard) return w.owned(p.family, rank);
  if (p.kind != placement_kind::ghost && p.kind != placement_kind::ghost_partial) return all;
  int out = w.owned(p.family, rank);
  for (int e = 0; e < n * n; ++e)
    if (in(A.entries, e)) out |= 1 << (side ? e % n : e / n);
  return out;
}

// Can a kernel that sees local numbers use a vector of these indices on this side? Rows or columns that are sharded
// must be the same ones; where a halo may name them, all of them will do, or those of the halo.
bool usable(piece const& A, int side, placement_value p, int has) {
  int const want = side ? A.columns : A.rows;
  bool const ghosts = p.kind == placement_kind::ghost || p.kind == placement_kind::ghost_partial;
  return want == -2 ? ghosts : want == -1 ? ghosts || has == all : !ghosts && has == want;
}

constexpr placement_value G(int family, bool pending = false) {
  auto g = ghost(0, pending);
  g.family = static_cast<std::int16_t>(family);
  return g;
}
constexpr placement_value H{placement_kind::hyper, monoid::none, 0, 3};

using outcome_test = bool (*)(world const&, placement_value A, placement_value x, placement_value y, bool transposed);

// y = A x, or A^T x: does every rank's local product make a y of this placement?
bool product_is(world const& w, placement_value pA, placement_value px, placement_value py, bool transposed) {
  int const from = transposed ? 0 : 1, to = 1 - from;
  for (int holders = 0; holders < 4; ++holders) {
    if ((holders & 1 && pA != P) || (holders & 2 && px != P)) continue;
    int y[ranks][n] = {}, has[ranks] = {}, truth[n] = {};
    for (int e = 0; e < n * n; ++e) {
      int const i = transposed ? e % n : e / n, j = transposed ? e / n : e % n;
      truth[i] += w.value(e / n, e % n) * (13 + 17 * j);
    }
    for (int r = 0; r < ranks; ++r) {
      auto const A = part_of(w, pA, r, holders & 1);
      int const x = indices(w, px, A, from, r);
      if (!usable(A, from, px, x)) return false;
      bool const zero = !A.whole_values || (px == P && r != holders >> 1);
      for (int e = 0; e < n * n; ++e) {
        int const i = transposed ? e % n : e / n, j = transposed ? e / n : e % n;
        if (!in(A.entries, e)) continue;
        if (!in(x, j)) return false;
        if (!zero) y[r][i] += w.value(e / n, e % n) * (13 + 17 * j);
      }
      // the local rows of the product: those of the piece; a halo names them only in a result of contributions
      bool const made_ghosts = py.kind == placement_kind::ghost_partial;
      int const own = to ? A.columns : A.rows;
      has[r] = made_ghosts ? indices(w, py, A, to, r) : own < 0 ? all : own;
      if (made_ghosts != (pA.kind == placement_kind::hyper)) return false;
      if (px.kind == placement_kind::ghost && own < 0 && !made_ghosts) return false;
    }
    for (int i = 0; i < n; ++i) {
      int sum = 0;
      for (int r = 0; r < ranks; ++r) {
        bool const here = in(py.kind == placement_kind::shard ? w.owned(py.family, r) : has[r], i);
        if (py.kind == placement_kind::shard && (here != in(has[r], i) || (here && y[r][i] != truth[i]))) return false;
        if (py == R && (has[r] != all || y[r][i] != truth[i])) return false;
        if (py == P && has[r] != all) return false;
        if (!here && y[r][i] != 0) return false;
        sum += y[r][i];
      }
      if ((py == P || py.kind == placement_kind::ghost_partial) && sum != truth[i]) return false;
    }
  }
  return true;
}

bool for_all(outcome_test is, placement_value A, placement_value x, placement_value y, bool transposed) {
  bool const parts = is_sharded(A.kind) || is_sharded(x.kind) || is_sharded(y.kind);
  for (int pattern = 0; pattern < 512; pattern += parts ? 1 : 73)
    for (int rows = 0; rows < (parts ? 8 : 1); ++rows)
      for (int columns = 0; columns < (parts ? 8 : 1); ++columns) {
        world const w{pattern, rows, columns, (pattern * 37 + rows * 101 + columns * 211) % 512};
        if (!is(w, A, x, y, transposed)) return false;
      }
  return true;
}

placement_value sparse(int side) { return rows_or_columns(side, side + 1); }

// The entries of u v^T on the pattern (0: the pattern and two vectors), or of a diagonal matrix times A from the left
// (1) or right (2): one sparse result, entry by entry.
bool entries_are(world const& w, placement_value pA, placement_value pu, placement_value pv, placement_value out, int what) {
  for (int r = 0; r < ranks; ++r) {
    auto const A = part_of(w, pA, r, 0), wanted = part_of(w, out, r, 0);
    int const u = indices(w, pu, A, 0, r), v = indices(w, pv, A, 1, r);
    if (what != 2 && !usable(A, 0, pu, u)) return false;
    if (what != 1 && !usable(A, 1, pv, v)) return false;
    if (A.entries != wanted.entries || A.rows != wanted.rows || A.columns != wanted.columns) return false;
    for (int e = 0; e < n * n; ++e)
      if (in(A.entries, e) && ((what != 2 && !in(u, e / n)) || (what != 1 && !in(v, e % n)))) return false;
  }
  return true;
}

} // namespace

TEST_CASE("products of a sparse matrix have exactly the sound rules") {
  std::vector<placement_value> const of_A = {R, P, sparse(0), sparse(1), H}, of_x = {R, P, S(0, 1), S(0, 2), G(1), G(2)},
                            of_y = {R, P, S(0, 1), S(0, 2), G(1, true), G(2, true)};
  int accepted = 0;
  for (bool transposed : {false, true}) {
    auto const s = transposed ? strategies::spmv_transposed() : strategies::spmv();
    for (auto const& A : of_A)
      for (auto const& x : of_x) {
        std::vector<operand> const operands = {tensor_on(A, 2, 0), tensor_on(x, 1)};
        auto const got = check(s, operands);
        INFO("transposed " << transposed << ", A " << int(A.kind) << " " << int(A.dim) << ", x " << int(x.kind) << " "
                           << x.family);
        bool any = false;
        for (auto const& y : of_y) {
          bool const right = for_all(product_is, A, x, y, transposed);
          any = any || right;
          if (got.ok() && got.type.on[0] == y) CHECK(right);
        }
        CHECK(got.ok() == any);
        accepted += got.ok();
      }
  }
  CHECK(accepted == 2 * (3 + 3 + 1 + 2)); // whole or pending; rows with all or a halo of two families; columns; entries
}

TEST_CASE("maps onto the entries of a sparse matrix have exactly the sound rules") {
  std::vector<placement_value> const of_A = {R, sparse(0), sparse(1), H}, of_x = {R, S(0, 1), S(0, 2), G(1), G(2)};
  int accepted = 0;
  for (int what = 0; what < 3; ++what)
    for (auto const& A : of_A)
      for (auto const& u : of_x)
        for (auto const& v : of_x) {
          if ((what == 1 && v != R) || (what == 2 && u != R)) continue;
          auto const pattern = tensor_on(A, 2, 0), left = tensor_on(u, 1), right = tensor_on(v, 1);
          auto const s = what == 0 ? strategies::sddmm(0, false) : strategies::scale_rows(0, what == 2);
          std::vector<operand> operands = {pattern, left, right};
          if (what == 1) operands = {left, pattern};
          if (what == 2) operands = {right, pattern};
          auto const got = check(s, operands);
          bool any = false;
          for (auto const& to : of_A) {
            bool sound = true;
            for (int k = 0; k < 512 * 64 && sound; ++k)
              sound = entries_are({k / 64, k % 8, k / 8 % 8, k * 37 % 512}, A, u, v, to, what);
            any = any || sound;
            if (got.ok() && got.type.on[0] == to) CHECK(sound);
          }
          INFO(what << " A " << int(A.kind) << " " << int(A.dim) << " u " << int(u.kind) << u.family << " v "
                    << int(v.kind) << v.family);
          CHECK(got.ok() == any);
          accepted += got.ok();
        }
  CHECK(accepted > 20);
}

TEST_CASE("what is left of the sparse table") {
  auto const why = [](strategy const& s, std::vector<operand> const& o) { return check(s, o).why.what; };
  auto const result = [](strategy const& s, std::vector<operand> const& o) { return check(s, o).type.on[0]; };
  auto const rows = tensor_on(sparse(0), 2, 0), columns = tensor_on(sparse(1), 2, 0), terms = tensor_on(P, 2, 0);
  using namespace sla::strategies;
  CHECK(result(add_sparse(), {rows, rows}) == sparse(0));
  CHECK(result(add_sparse(), {terms, terms}) == P);
  CHECK(why(add_sparse(), {rows, columns}) == code::sparse_layouts_differ);
  CHECK(why(add_sparse(), {terms, tensor_on(R, 2, 0)}) == code::partial_plus_replicate);
  CHECK(result(diagonal(), {rows}) == S(0, 1));
  CHECK(result(diagonal(), {terms}) == P);
  CHECK(result(strategies::local_preconditioner(), {rows, tensor_on(S(0, 1), 1)}) == S(0, 1));
  CHECK(why(strategies::local_preconditioner(), {rows, tensor_on(S(0, 2), 1)}) == code::sparse_layouts_differ);
  CHECK(why(strategies::local_preconditioner(), {terms, tensor_on(R, 1)}) == code::nonlinear_argument);
  CHECK(check(solve(), std::vector<operand>{rows, tensor_on(S(0, 1), 1)}).implied[0] == communication::solver);
  CHECK(why(solve({}, true), {rows, tensor_on(S(0, 1), 1)}) == code::sparse_layouts_differ);
  CHECK(result(solve(), {tensor_on(R, 2, 0), tensor_on(P, 1)}) == P);
  // K of the factors is contracted; right-hand sides, blocks and batches are dense
  CHECK(result(sddmm(), {tensor_on(R, 2, 0), tensor_on(S(1), 2), tensor_on(S(1), 2)}) == P);
  CHECK(result(spmv({0, false, true, true}), {tensor_on(R, 2, 0), tensor_on(S(1), 2)}) == S(1));
  CHECK(result(spmv({0, true}), {tensor_on(S(2), 4, 0), tensor_on(R, 2)}) == S(1));
  CHECK(result(spmv({0, true}), {tensor_on(S(3), 4, 0), tensor_on(S(1), 2)}) == P);
  CHECK(result(spmv_transposed({0, true}), {tensor_on(S(2), 4, 0), tensor_on(S(1), 2)}) == P);
  CHECK(result(spmv({1, false, false}), {tensor_on(S(0), 3, 1), tensor_on(R, 1)}) == S(0));
  CHECK(result(spmv({1}), {tensor_on(S(0), 3, 1), tensor_on(S(0), 2)}) == S(0));
  CHECK(result(spmv({1}), {tensor_on(rows_or_columns(0, 1), 3, 1), tensor_on(R, 2)}) == S(1, 1));
}

} // namespace test_sparse_rules
