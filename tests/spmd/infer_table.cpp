// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of one axis without shards, derived again: on 2 and 3 ranks, for operations of each class and all operand
// placements, which result placements keep the value and give every operand its gradient. The rules accept exactly
// these.
#include <vector>

#include <sla/spmd/rule/rules.hpp>
#include <sla/spmd/rule/table/composite.hpp>

#include "catch.hpp"
#include "placed.hpp"

namespace test_infer_table {

using namespace sla;
using namespace placed_values;

namespace {

// A scalar operation f(x, y, z) with integer derivatives; the last operands may be unused.
struct subject {
  char const* name;
  int inputs;
  strategy rules;
  int (*f)(int const*);
  int (*derivative)(int const*, int); // with respect to operand k
};

constexpr int max_ranks = 3;
using values = fixed_array<int, max_ranks>; // one number per rank

bool is_valid(placement_value p, values const& x, int ranks) { // the representation invariant
  for (int r = 1; r < ranks; ++r)
    if ((p == R || p == Inv) && x[r] != x[0]) return false;
  return true;
}

// All representatives over two numbers: the operations have degree 2 at most in what a rank has, and different numbers on
// the ranks tell every wrong claim.
std::vector<values> representatives(placement_value p, int ranks) {
  std::vector<values> out;
  int const numbers[] = {-1, 2};
  int const count = 1 << ranks;
  for (int n = 0; n < count; ++n) {
    values x;
    for (int r = 0; r < ranks; ++r) x[r] = numbers[n >> r & 1];
    if (is_valid(p, x, ranks)) out.push_back(x);
  }
  return out;
}

int sum(values const& x, int ranks) {
  int s = 0;
  for (int r = 0; r < ranks; ++r) s += x[r];
  return s;
}

// <g, x> for x of placement p and g of its dual
int pairing(placement_value p, values const& g, values const& x, int ranks) {
  if (p == Inv) return g[0] * x[0];
  if (p == R) return sum(g, ranks) * x[0];
  if (p == P) return g[0] * sum(x, ranks);
  int s = 0;
  for (int r = 0; r < ranks; ++r) s += g[r] * x[r];
  return s;
}

// Is `to` right for these operands: the value, and the gradient of every operand of the set `gradients`?
bool sound(subject const& op, std::vector<placement_value> const& at, unsigned gradients, placement_value to, int ranks) {
  std::vector<std::vector<values>> lists;
  bool varying = false;
  for (auto p : at) lists.push_back(representatives(p, ranks)), varying = varying || p == V;
  if ((to == V) != varying) return false; // the tuple is the value only where some operand is one
  std::vector<std::size_t> n(at.size(), 0);
  for (bool more = true; more;) {
    fixed_array<fixed_array<int, 3>, max_ranks> x{}; // by rank, then by operand
    int value[3] = {};
    for (std::size_t k = 0; k < at.size(); ++k) {
      auto const& mine = lists[k][n[k]];
      for (int r = 0; r < ranks; ++r) x[r][static_cast<int>(k)] = mine[r];
      value[k] = at[k] == P ? sum(mine, ranks) : mine[0];
    }
    values y;
    for (int r = 0; r < ranks; ++r) y[r] = op.f(x[r].data);
    if (!is_valid(to, y, ranks)) return false;
    if (varying) {
      for (auto p : at)
        if (p == P) return false; // no rank has the value
    } else if (op.f(value) != (to == P ? sum(y, ranks) : y[0])) {
      return false;
    }
    for (auto const& g : representatives(dual(to), ranks)) {
      for (std::size_t k = 0; k < at.size(); ++k) {
        if (!(gradients >> k & 1)) continue;
        values back;
        for (int r = 0; r < ranks; ++r) back[r] = g[r] * op.derivative(x[r].data, static_cast<int>(k));
        if (!is_valid(dual(at[k]), back, ranks)) return false;
        for (auto const& dx : representatives(at[k], ranks)) { // the adjoint identity, one operand at a time
          values dy;
          for (int r = 0; r < ranks; ++r) dy[r] = dx[r] * op.derivative(x[r].data, static_cast<int>(k));
          // the true change of the result, in the placement of the result
          int change = pairing(to, g, dy, ranks);
          if (!varying) {
            int const whole = op.derivative(value, static_cast<int>(k)) * (at[k] == P ? sum(dx, ranks) : dx[0]);
            change = (to == R ? sum(g, ranks) : g[0]) * whole;
          }
          if (pairing(at[k], back, dx, ranks) != change) return false;
        }
      }
    }
    more = false;
    for (std::size_t k = at.size(); k-- > 0 && !more;) {
      more = ++n[k] < lists[k].size();
      if (!more) n[k] = 0;
    }
  }
  return true;
}

} // namespace

TEST_CASE("the table of placements without shards is the sound one") {
  using strategies::opaque;
  auto const x = operand_bits(0), y = operand_bits(1), xy = operand_bits(0, 1);
  std::vector<subject> const subjects = {
      {"x", 1, opaque(1).linear_in(x), [](int const* v) { return 3 * v[0]; }, [](int const*, int) { return 3; }},
      {"x^2", 1, opaque(1), [](int const* v) { return v[0] * v[0]; }, [](int const* v, int) { return 2 * v[0]; }},
      {"x + 1", 1, opaque(1), [](int const* v) { return v[0] + 1; }, [](int const*, int) { return 1; }},
      {"2 x - y", 2, opaque(2).linear_in(xy), [](int const* v) { return 2 * v[0] - v[1]; },
       [](int const*, int k) { return k ? -1 : 2; }},
      {"x y", 2, opaque(2).linear_in(x).linear_in(y), [](int const* v) { return v[0] * v[1]; },
       [](int const* v, int k) { return v[1 - k]; }},
      {"x y^2", 2, opaque(2).linear_in(x), [](int const* v) { return v[0] * v[1] * v[1]; },
       [](int const* v, int k) { return k ? 2 * v[0] * v[1] : v[1] * v[1]; }},
      {"x^2 + y^2", 2, opaque(2), [](int const* v) { return v[0] * v[0] + v[1] * v[1]; },
       [](int const* v, int k) { return 2 * v[k]; }},
      {"x + y z", 3, opaque(3).linear_in(xy).linear_in(operand_bits(0, 2)),
       [](int const* v) { return v[0] + v[1] * v[2]; }, [](int const* v, int k) { return k == 0 ? 1 : v[3 - k]; }},
  };
  int combinations = 0, accepted = 0;
  for (auto const& op : subjects)
    for (int n = 0; n < 1 << 3 * op.inputs; ++n) { // placement and gradient of each operand
      placement_value const kinds[] = {R, Inv, V, P};
      std::vector<placement_value> at;
      std::vector<operand> operands;
      unsigned gradients = 0;
      for (int k = 0; k < op.inputs; ++k) {
        at.push_back(kinds[n >> 3 * k & 3]);
        operands.push_back(tensor_on(at.back(), 0));
        operands.back().gradient = !(n >> (3 * k + 2) & 1);
        gradients |= unsigned{operands.back().gradient} << k;
      }
      auto const got = check(op.rules, operands);
      INFO(op.name << " " << n);
      bool any = false, ours = false;
      int count = 0;
      for (auto to : kinds) { // what is right on two ranks and on three
        bool right = true;
        for (int ranks = 2; ranks <= (op.inputs == 3 ? 2 : max_ranks); ++ranks)
          right = right && sound(op, at, gradients, to, ranks);
        any = any || right, count += right;
        ours = ours || (right && got.ok() && got.type.on[0] == to);
      }
      CHECK(got.ok() == any);
      CHECK(ours == any);
      CHECK(count <= (gradients ? 1 : 2)); // without gradients copies are Replicate and Invariant alike
      ++combinations, accepted += got.ok();
    }
  CHECK(combinations == 3 * 8 + 4 * 64 + 512);
  CHECK(accepted > 300);
  CHECK(accepted < 500);
}

} // namespace test_infer_table
