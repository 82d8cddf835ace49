// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The placements of the tests as values, and the ground truth of tests/data/spmd, read line by line.
#pragma once
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <sla/spmd/rule/rules.hpp>
#include <sla/spmd/step/transition.hpp>

#include "data.hpp"

namespace placed_values {

using sla::monoid;
using sla::placement_value;
using sla::placement_kind;

inline constexpr placement_value R{placement_kind::replicate}, Inv{placement_kind::invariant}, V{placement_kind::varying},
    P{placement_kind::partial, monoid::sum};
constexpr placement_value S(int dim, int family = 1) {
  return {placement_kind::shard, monoid::none, static_cast<std::int8_t>(dim), static_cast<std::int16_t>(family)};
}
constexpr placement_value rows_or_columns(int axis, int family = 1) {
  return {placement_kind::sparse_shard, monoid::none, static_cast<std::int8_t>(axis),
          static_cast<std::int16_t>(family)};
}
constexpr placement_value ghost(int dim, bool dual = false) {
  return {dual ? placement_kind::ghost_partial : placement_kind::ghost, monoid::none, static_cast<std::int8_t>(dim), 1,
          2};
}

inline placement_value parse(std::string const& s) {
  if (s == "R") return R;
  if (s == "I") return Inv;
  if (s == "V") return V;
  if (s == "P") return P;
  if (s == "S0") return S(0);
  if (s == "S1") return S(1);
  if (s == "S2") return S(2);
  throw std::runtime_error("no placement: " + s);
}

constexpr sla::operand tensor_on(placement_value at, int rank, int batch = -1) {
  sla::operand o;
  o.type.axes = 1;
  o.type.rank = static_cast<std::int8_t>(rank);
  o.type.batch = static_cast<std::int8_t>(batch);
  o.type.on[0] = at;
  return o;
}
inline sla::operand literal_operand() {
  sla::operand o = tensor_on(R, 0);
  o.weak = true;
  o.gradient = false;
  return o;
}

inline std::vector<std::string> split(std::string const& line, char at) {
  std::vector<std::string> parts;
  std::istringstream in(line);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

/// The lines of a table, without its heading, as cells.
inline std::vector<std::vector<std::string>> table(std::string const& file, char between = ',') {
  std::ifstream in(data("spmd/" + file));
  if (!in) throw std::runtime_error("cannot open " + file);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) rows.push_back(split(line, between));
  return rows;
}

} // namespace placed_values
