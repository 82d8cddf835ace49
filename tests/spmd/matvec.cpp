// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules of sparse products against enumeration: on two ranks, for every placement of A and x, all basis matrices
// and vectors. A product is bilinear, so what holds for these holds for all.
#include <optional>
#include <vector>

#include "catch.hpp"
#include "placed.hpp"

namespace test_matvec {

using namespace sla;
using namespace placed_values;

namespace {

constexpr int n = 4, ranks = 2, part = n / ranks;

// A local matrix or vector; `from` is the global number of the first row or column that it has.
struct local_matrix {
  int rows = n, cols = n;
  fixed_array<fixed_array<int, n>, n> at{};
};
struct local_vector {
  int size = n;
  fixed_array<int, n> at{};
  bool operator==(local_vector const&) const = default;
};

local_matrix share(local_matrix const& A, placement_value p, int rank, int holder) {
  if (p == R || (p == P && rank == holder)) return A;
  if (p == P) return {};
  local_matrix out;
  bool const by_rows = p.dim == 0;
  (by_rows ? out.rows : out.cols) = part;
  for (int i = 0; i < out.rows; ++i)
    for (int j = 0; j < out.cols; ++j)
      out.at[i][j] = A.at[i + (by_rows ? rank * part : 0)][j + (by_rows ? 0 : rank * part)];
  return out;
}

local_vector share(local_vector const& x, placement_value p, int rank, int holder) {
  if (p == R || (p == P && rank == holder)) return x;
  if (p == P) return {};
  local_vector out{part, {}};
  for (int i = 0; i < part; ++i) out.at[i] = x.at[i + rank * part];
  return out;
}

std::optional<local_vector> product(local_matrix const& A, local_vector const& x, bool transposed) {
  if (x.size != (transposed ? A.rows : A.cols)) return std::nullopt;
  local_vector y{transposed ? A.cols : A.rows, {}};
  for (int i = 0; i < A.rows; ++i)
    for (int j = 0; j < A.cols; ++j) y.at[transposed ? j : i] += A.at[i][j] * x.at[transposed ? i : j];
  return y;
}

local_vector sum(fixed_array<local_vector, ranks> const& y) {
  local_vector out{y[0].size, {}};
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < n; ++i) out.at[i] += y[r].at[i];
  return out;
}

// Is the local product, with the communication that the rule implies, a y of placement `to`?
bool sound(placement_value pA, placement_value px, placement_value to, communication implied, bool transposed) {
  for (int ij = 0; ij < n * n; ++ij)
    for (int k = 0; k < n; ++k)
      for (int holder = 0; holder < ranks * ranks; ++holder) {
        local_matrix A;
        local_vector x;
        A.at[ij / n][ij % n] = 1;
        x.at[k] = 1;
        auto const whole = *product(A, x, transposed);
        fixed_array<local_vector, ranks> y;
        for (int r = 0; r < ranks; ++r) {
          auto const mine = implied == communication::halo ? x : share(x, px, r, holder % ranks);
          auto const out = product(share(A, pA, r, holder / ranks), mine, transposed);
          if (!out) return false;
          y[r] = *out;
        }
        if (implied == communication::reverse_halo) { // every contribution goes to the owner of its entry
          auto const all = sum(y);
          for (int r = 0; r < ranks; ++r) y[r] = share(all, S(0), r, 0);
        }
        if (to == P) {
          if (y[0].size != n || !(sum(y) == whole)) return false;
        } else {
          for (int r = 0; r < ranks; ++r)
            if (!(y[r] == share(whole, to, r, 0))) return false;
        }
      }
  return true;
}

} // namespace

TEST_CASE("products of sparse matrices, all placements") {
  std::vector<placement_value> const of_A = {R, P, rows_or_columns(0), rows_or_columns(1)}, of_x = {R, P, S(0)};
  int accepted = 0;
  for (bool transposed : {false, true})
    for (auto a : of_A)
      for (auto x : of_x) {
        std::vector<operand> const operands = {tensor_on(a, 2, 0), tensor_on(x, 1)};
        auto const got = check(transposed ? rule_of<op::transposed_matvec> : rule_of<op::matvec>, operands);
        INFO("transposed " << transposed << ", A " << int(a.kind) << " " << int(a.dim) << ", x " << int(x.kind));
        if (got.ok()) {
          ++accepted;
          CHECK(sound(a, x, got.type.on[0], got.implied[0], transposed));
        } else {
          for (placement_value to : {R, P, S(0)}) CHECK(!sound(a, x, to, communication::none, transposed));
        }
      }
  CHECK(accepted == 6 + 5);
}

TEST_CASE("what a product of rows communicates") {
  auto const result = [](op_rule const& rule, placement_value a, placement_value x) {
    std::vector<operand> const operands = {tensor_on(a, 2, 0), tensor_on(x, 1)};
    return check(rule, operands);
  };
  auto const rows = rows_or_columns(0), columns = rows_or_columns(1);
  CHECK(result(rule_of<op::matvec>, rows, S(0)).implied[0] == communication::halo);
  CHECK(result(rule_of<op::matvec>, rows, ghost(0)).implied[0] == communication::none);
  CHECK(result(rule_of<op::matvec>, rows, ghost(0)).type.on[0] == S(0));
  CHECK(result(rule_of<op::matvec>, rows, R).implied[0] == communication::none);
  CHECK(result(rule_of<op::matvec>, columns, S(0)).implied[0] == communication::none);
  CHECK(result(rule_of<op::matvec>, columns, S(0)).type.on[0] == P);
  CHECK(result(rule_of<op::matvec>, columns, R).why.what == code::sparse_layouts_differ);
  CHECK(result(rule_of<op::matvec>, rows, S(0, 3)).why.what == code::sparse_layouts_differ);
  CHECK(result(rule_of<op::matvec>, rows, P).why.what == code::partial_with_varying);
  CHECK(result(rule_of<op::matvec>, rows, ghost(0, true)).why.what == code::sparse_layouts_differ);
  CHECK(result(rule_of<op::transposed_matvec>, rows, S(0)).implied[0] == communication::reverse_halo);
  CHECK(result(rule_of<op::transposed_matvec>, columns, R).type.on[0] == S(0));
  CHECK(result(rule_of<op::solve>, rows, S(0)).implied[0] == communication::solver);
  CHECK(result(rule_of<op::solve>, rows, S(0)).type.on[0] == S(0));
  CHECK(result(rule_of<op::solve>, rows, R).why.what == code::sparse_layouts_differ);
  CHECK(result(rule_of<op::solve>, columns, S(0)).implied[0] == communication::solver);
  CHECK(result(rule_of<op::solve>, columns, S(0)).type.on[0] == S(0));
  CHECK(result(rule_of<op::solve>, columns, R).why.what == code::sparse_layouts_differ);
  CHECK(result(rule_of<op::solve>, R, P).type.on[0] == P);
  CHECK(result(rule_of<op::solve>, P, R).why.what == code::nonlinear_argument);
}

TEST_CASE("batch, block and right-hand side dimensions") {
  auto const result = [](op_rule const& rule, operand const& A, operand const& x) {
    std::vector<operand> const operands = {A, x};
    return check(rule, operands);
  };
  auto const& mv = rule_of<op::matvec>;
  auto const& tmv = rule_of<op::transposed_matvec>;
  // A: (batch, M, N), x: (batch, N, k)
  CHECK(result(mv, tensor_on(S(0), 3, 1), tensor_on(S(0), 3)).type.on[0] == S(0));
  CHECK(result(rule_of<op::solve>, tensor_on(S(0), 3, 1), tensor_on(S(0), 2)).type.on[0] == S(0));
  CHECK(result(mv, tensor_on(S(0), 3, 1), tensor_on(R, 3)).why.what == code::sparse_layouts_differ);
  CHECK(result(mv, tensor_on(rows_or_columns(0), 3, 1), tensor_on(S(1), 3)).type.on[0] == S(1));
  CHECK(result(mv, tensor_on(rows_or_columns(0), 3, 1), tensor_on(S(1), 3)).implied[0] == communication::halo);
  CHECK(result(mv, tensor_on(R, 3, 1), tensor_on(S(2), 3)).type.on[0] == S(2));
  CHECK(result(rule_of<op::solve>, tensor_on(R, 3, 1), tensor_on(S(2), 3)).type.on[0] == S(2));
  CHECK(result(mv, tensor_on(R, 3, 1), tensor_on(S(1), 3)).why.what == code::sparse_layouts_differ);
  CHECK(result(mv, tensor_on(S(1), 3, 1), tensor_on(R, 3)).why.what == code::no_such_dimension);
  // A: (M, N, p, q), x: (N, q), y: (M, p)
  CHECK(result(mv, tensor_on(S(2), 4, 0), tensor_on(R, 2)).type.on[0] == S(1));
  CHECK(result(mv, tensor_on(S(3), 4, 0), tensor_on(S(1), 2)).type.on[0] == P);
  CHECK(result(tmv, tensor_on(S(2), 4, 0), tensor_on(S(1), 2)).type.on[0] == P);
  CHECK(result(tmv, tensor_on(S(3), 4, 0), tensor_on(R, 2)).type.on[0] == S(1));
  CHECK(result(rule_of<op::solve>, tensor_on(S(2), 4, 0), tensor_on(R, 2)).why.what == code::sparse_layouts_differ);
  CHECK(result(mv, tensor_on(rows_or_columns(0), 4, 0), tensor_on(S(0), 3)).type.on[0] == S(0));
}

TEST_CASE("rows on one axis, columns on the other") {
  auto const on = [](placement_value first, placement_value second, int rank, int batch) {
    operand o = tensor_on(first, rank, batch);
    o.type.axes = 2;
    o.type.on[1] = second;
    return o;
  };
  auto const result = [](operand const& A, operand const& x, op_rule const& rule = rule_of<op::matvec>) {
    std::vector<operand> const operands = {A, x};
    return check(rule, operands);
  };
  auto const A = on(rows_or_columns(0), rows_or_columns(1, 3), 2, 0);
  auto const y = result(A, on(R, S(0, 3), 1, -1));
  CHECK(y.ok());
  CHECK(y.type.on[0] == S(0));
  CHECK(y.type.on[1] == P);
  // no rank has whole rows, so there is no halo: along the axis of the rows x is whole
  CHECK(result(A, on(S(0), S(0, 3), 1, -1)).why == diagnostic{code::sparse_layouts_differ, 0, 1});
  // of a solve b lies as the rows, x as the columns
  auto const x = result(A, on(S(0), R, 1, -1), rule_of<op::solve>);
  CHECK(x.ok());
  CHECK(x.type.on[0] == R);
  CHECK(x.type.on[1] == S(0, 3));
  CHECK(!result(A, on(R, S(0, 3), 1, -1), rule_of<op::solve>).ok());
  CHECK(!result(A, on(S(0, 3), R, 1, -1), rule_of<op::solve>).ok());
}

TEST_CASE("elementwise operations keep rows and columns") {
  auto const rows = rows_or_columns(0);
  std::vector<operand> const same = {tensor_on(rows, 2, 0), tensor_on(rows, 2, 0)};
  CHECK(check(rule_of<op::add>, same).type.on[0] == rows);
  CHECK(check(rule_of<op::add>, same).type.batch == 0);
  std::vector<operand> const scaled = {literal_operand(), tensor_on(rows_or_columns(1), 3, 1)};
  CHECK(check(rule_of<op::mul>, scaled).type.on[0] == rows_or_columns(1));
  std::vector<operand> const ghosts = {tensor_on(ghost(0), 1), tensor_on(ghost(0), 1)};
  CHECK(check(rule_of<op::mul>, ghosts).type.on[0] == ghost(0));
}

} // namespace test_matvec
