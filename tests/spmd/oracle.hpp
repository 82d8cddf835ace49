// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparing the rules with recorded tables: what each row answers, what is right, and the reviewed list of the rows in
// which we answer something else. A row of the list that no longer differs is stale, and an error too.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "placed.hpp"

namespace placed_values {

/// R, I, V, P, S0, ...; P(max) and its like; {} without placement.
inline std::string name(placement_value p) {
  switch (p.kind) {
  case placement_kind::replicate:
    return "R";
  case placement_kind::invariant:
    return "I";
  case placement_kind::varying:
    return "V";
  case placement_kind::shard:
    return "S" + std::to_string(int{p.dim});
  case placement_kind::partial: {
    char const* const folds[] = {"P()", "P", "P(avg)", "P(max)", "P(min)", "P(product)"};
    return folds[static_cast<int>(p.fold)];
  }
  case placement_kind::untyped:
    return "{}";
  default:
    return "?";
  }
}

/// "R:11 I:00 P:1-": the placements all of whose digits are 1 (or -: no gradient).
inline std::set<std::string> right_results(std::string const& sound) {
  std::set<std::string> out;
  for (auto const& entry : split(sound, ' ')) {
    auto const colon = entry.find(':');
    if (entry.find('0', colon) == std::string::npos) out.insert(entry.substr(0, colon));
  }
  return out;
}

/// The rows in which we differ, from file: operation, arguments, our answer, reason.
class reviewed_list {
public:
  explicit reviewed_list(std::string const& file) {
    for (auto const& row : table(file, '|')) {
      if (row.size() < 4) throw std::runtime_error("no reason given in " + file + ": " + row[0]);
      listed_[row[0] + " " + row[1]] = row[2];
    }
  }
  /// Do we answer what the list says for this row?
  bool accepts(std::string const& row, std::string const& ours) {
    auto const found = listed_.find(row);
    if (found == listed_.end()) return false;
    seen_.insert(row);
    return found->second == ours;
  }
  /// The rows that did not differ.
  std::vector<std::string> stale() const {
    std::vector<std::string> out;
    for (auto const& [row, ours] : listed_)
      if (!seen_.count(row)) out.push_back(row + " -> " + ours);
    return out;
  }

private:
  std::map<std::string, std::string> listed_;
  std::set<std::string> seen_;
};

} // namespace placed_values
