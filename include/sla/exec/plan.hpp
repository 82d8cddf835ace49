// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes: how few walks over memory the statements of a `fuse` need, in order. A pass ends where a gathered vector is
// written by another statement of it, before or after, and around a whole statement. Addresses decide.
#pragma once

#include <array>
#include <tuple>
#include <vector>

#include <sla/expr/reduce.hpp>
#include <sla/expr/statement.hpp>

namespace sla {

/// The pass of each statement, and how many passes there are.
template <std::size_t Count>
struct pass_plan {
  std::array<int, Count> pass_of{};
  int passes = 0;
};

namespace detail {
template <class S>
inline constexpr bool is_whole = S::depth == reach::whole;

/// What one pass reads and writes so far.
struct pass_accesses {
  std::vector<access> list;
  index_t total = -1;

  /// Must a statement with these accesses start another pass?
  bool conflicts(std::vector<access> const& next) const {
    for (access const& a : list)
      for (access const& b : next) {
        if (!a.overlaps(b)) continue;
        bool const hazard = a.writes || b.writes, aligned = a.same_as(b) && !a.elsewhere && !b.elsewhere;
        if (hazard && !aligned) return true;
      }
    return false;
  }
};
/// Errors: value_error, if a statement overwrites what its own other rows still read.
inline void refuse_overwriting(std::vector<access> const& one_statement, bool whole) {
  for (access const& a : one_statement)
    for (access const& b : one_statement)
      if (a.writes && !b.writes && a.overlaps(b) && (whole || b.elsewhere || !a.same_as(b)))
        throw value_error("fuse: set(x, expression) reads x at other rows than it writes; write `x = expression`, which takes a copy, or set another vector");
}
}  // namespace detail

/// Groups lowered statements into passes. Errors: value_error, if a statement overwrites what it still reads.
template <class... S>
pass_plan<sizeof...(S)> plan_passes(S const&... statements) {
  pass_plan<sizeof...(S)> plan;
  detail::pass_accesses open;
  bool sealed = true;  // the next statement starts a pass
  std::size_t n = 0;
  auto place = [&](auto const& s) {
    constexpr bool whole = detail::is_whole<std::remove_cvref_t<decltype(s)>>;
    std::vector<access> mine;
    s.accesses([&](access a) { mine.push_back(a); });
    detail::refuse_overwriting(mine, whole);
    if (sealed || whole || open.total != s.total() || open.conflicts(mine)) {
      ++plan.passes;
      open.list.clear();
      open.total = s.total();
    }
    open.list.insert(open.list.end(), mine.begin(), mine.end());
    sealed = whole;
    plan.pass_of[n++] = plan.passes - 1;
  };
  (place(statements), ...);
  return plan;
}

/// The number of passes over memory that `fuse` of these statements makes.
template <Statement... S>
int passes(S const&... statements) {
  return plan_passes(lower{}(statements)...).passes;
}

/// The bytes that the passes of these statements load and store, each operand once per pass (a value that a pass has just
/// stored is not loaded again; write-allocation is not counted).
template <Statement... S>
index_t bytes_moved(S const&... statements) {
  auto const plan = plan_passes(statements...);
  index_t moved = 0;
  for (int pass = 0; pass < plan.passes; ++pass) {
    std::vector<access> seen;
    std::size_t n = 0;
    auto count = [&](auto const& s) {
      if (plan.pass_of[n++] != pass) return;
      s.accesses([&](access a) {
        for (access const& b : seen)
          if (a.same_as(b) && (b.writes || a.writes == b.writes)) return;
        seen.push_back(a);
        moved += a.bytes + a.besides;
      });
    };
    (count(statements), ...);
  }
  return moved;
}

}  // namespace sla
