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

/// The layout of a statement's elements by the nodes that know it, the outermost first: its operands may have other rows.
struct find_frame {
  frame* found;
  template <class X>
  X operator()(X const& x) const {
    x.rebuild(*this);
    if constexpr (requires { x.layout(); }) *found = x.layout();
    return x;
  }
};

/// The layout of a statement by its products and broadcasts; rows are -1 where any layout of as many elements will do.
template <class S>
frame frame_of(S const& statement) {
  frame found{1, -1, 1, 1};
  (void)statement.rebuild(find_frame{&found});
  return found;
}

namespace detail {
template <class S>
inline constexpr bool is_whole = S::depth == reach::whole;

/// What one pass reads and writes so far.
struct pass_accesses {
  std::vector<access> list;
  index_t total = -1;
  frame layout{1, -1, 1, 1};

  /// Can a statement of this layout walk the same rows?
  bool fits(index_t count, frame f) const { return total == count && (layout.rows < 0 || f.rows < 0 || layout == f); }
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
    frame const layout = frame_of(s);
    if (sealed || whole || !open.fits(s.total(), layout) || open.conflicts(mine)) {
      ++plan.passes;
      open = {{}, s.total(), layout};
    }
    if (layout.rows >= 0) open.layout = layout;
    open.list.insert(open.list.end(), mine.begin(), mine.end());
    sealed = whole;
    plan.pass_of[n++] = plan.passes - 1;
  };
  (place(statements), ...);
  return plan;
}

namespace detail {
/// The bytes that the passes of lowered statements load and store.
template <class... S>
index_t bytes_of_passes(S const&... statements) {
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
}  // namespace detail

}  // namespace sla
