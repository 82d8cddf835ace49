// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes: how few walks over memory the statements of a `fuse` need, in order. A pass ends where a gathered vector is
// written by another statement of it, before or after, and around a whole statement. Addresses decide.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include <sla/core/short_list.hpp>
#include <sla/exec/walk.hpp>
#include <sla/expr/dense/reduce.hpp>
#include <sla/expr/dense/statement.hpp>

namespace sla {

/// What the elements of a pass are: how many, and in which layout (rows are -1 where any of as many elements will do).
struct pass_layout {
  index_t total = -1;
  frame layout{1, -1, 1, 1};
};

/// The pass of each statement, how many passes there are, and the elements of each.
template <std::size_t Count>
struct pass_plan {
  std::array<int, Count> pass_of{};
  int passes = 0;
  std::array<pass_layout, Count> layouts{};
};

namespace detail {
/// What a pass asks of the nodes of a statement, in one walk over them that is compiled once for each; null: not asked.
struct ask_nodes {
  /// The layout of its elements by the nodes that know it, the outermost first: its operands may have other rows.
  frame* layout = nullptr;
  /// Of blocks. `rows_at_once` is for nodes that compute more than the rows of a block: a stencil of slabs, from the ones beside them too.
  block_rows* rows = nullptr;
  /// As many stored entries and elements for each thread.
  pass_walk* walk = nullptr;

  template <class X>
  X operator()(X const& x) const {
    if constexpr (requires { x.rows_at_once(); })
      if (rows) rows->least = (std::max)(rows->least, x.rows_at_once());
    if constexpr (requires { x.rows_together(); })
      if (rows) rows->together = (std::max)(rows->together, x.rows_together());
    if constexpr (requires { x.work_before(index_t()); })
      if (walk) walk->balance({&x, x.layout().rows, [](void const* node, index_t row) { return double(static_cast<X const*>(node)->work_before(row)) + 3.0 * double(row); }});
    x.rebuild(*this);
    if constexpr (requires { x.layout(); })
      if (layout) *layout = x.layout();
    return x;
  }
};

/// The layout of a statement by its products and broadcasts; rows are -1 where any layout of as many elements will do.
template <class S>
frame frame_of(S const& statement) {
  frame found{1, -1, 1, 1};
  (void)statement.rebuild(ask_nodes{.layout = &found});
  return found;
}

template <class S>
inline constexpr bool is_whole = S::depth == reach::whole;

/// What the planner sees of a statement.
struct statement_needs {
  short_list<memory_access, 16> accesses;
  bool whole = false;

  template <class Access>
  [[gnu::noinline]] void operator()(Access const& a) {
    accesses.push_back(a);
  }
};
template <class S>
pass_layout elements_of_statement(S const& statement) {
  return {statement.total(), frame_of(statement)};
}
template <class S>
void find_needs(S const& statement, statement_needs& out) {
  out.accesses.clear();
  out.whole = is_whole<S>;
  statement.accesses(out);
}

/// Puts statements into passes, one after the other.
class pass_planner {
public:
  /// Errors: value_error, if a statement overwrites what its own other rows still read.
  template <class Needs>
  static void refuse_overwriting(Needs const& one) {
    for (memory_access const& a : one.accesses) {
      if (!a.writes) continue;
      for (memory_access const& b : one.accesses)
        if (!b.writes && a.overlaps(b) && (one.whole || b.elsewhere || !a.same_as(b)))
          throw value_error("fuse: set(x, expression) reads x at other rows than it writes; write `x = expression`, which takes a copy, or set another vector");
    }
  }
  /// The pass of the next statement. Errors: value_error, if it overwrites what its own other rows still read.
  template <class Needs>
  int place(Needs const& next, pass_layout const& elements) {
    refuse_overwriting(next);
    if (sealed_ || next.whole || !fits(elements) || conflicts(next)) {
      ++passes_;
      open_ = {elements.total, {1, -1, 1, 1}};
      list_.clear();
    }
    add_layout(open_, elements);
    list_.append(next.accesses);
    sealed_ = next.whole;
    return passes_ - 1;
  }
  int passes() const { return passes_; }
  /// The elements of a pass with one more statement, which fits: where one of two layouts of the same rows has a block of vectors, the
  /// right-hand sides of the other one are its columns, and the batch items of one are those of the other.
  static void add_layout(pass_layout& pass, pass_layout const& next) {
    frame& a = pass.layout;
    frame const& b = next.layout;
    if (b.rows >= 0 && a != b) a = a.rows < 0 ? b : frame{(std::max)(a.batch, b.batch), (std::min)(a.rows, b.rows), a.inner, 1};
  }
  /// The elements of the pass that the last statement is in.
  pass_layout const& elements() const { return open_; }

private:
  /// Can a statement of these elements walk the same rows?
  bool fits(pass_layout const& next) const {
    frame const &a = open_.layout, &b = next.layout;
    bool const same_rows = a.batch * a.rows == b.batch * b.rows && a.inner == b.inner && (a.batch == 1 || b.batch == 1 || a.batch == b.batch);
    return open_.total == next.total && (a.rows < 0 || b.rows < 0 || a == b || (same_rows && (a.rhs == 1 || b.rhs == 1)));
  }
  template <class Needs>
  bool conflicts(Needs const& next) const {
    for (memory_access const& a : list_)
      for (memory_access const& b : next.accesses) {
        bool const hazard = a.writes || b.writes;
        if (hazard && a.overlaps(b) && !(a.same_as(b) && !a.elsewhere && !b.elsewhere)) return true;
      }
    return false;
  }

  int passes_ = 0;
  bool sealed_ = true;  // the next statement starts a pass
  pass_layout open_;
  short_list<memory_access, 32> list_;
};
} // namespace detail

/// Groups lowered statements into passes. Errors: value_error, if a statement overwrites what it still reads.
template <class... S>
pass_plan<sizeof...(S)> plan_passes(S const&... statements) {
  pass_plan<sizeof...(S)> plan;
  detail::pass_planner planner;
  detail::statement_needs needs;
  std::size_t n = 0;
  auto place = [&](auto const& statement) {
    detail::find_needs(statement, needs);
    int const pass = planner.place(needs, detail::elements_of_statement(statement));
    plan.pass_of[n++] = pass;
    plan.layouts[std::size_t(pass)] = planner.elements();
  };
  (place(statements), ...);
  plan.passes = planner.passes();
  return plan;
}

namespace detail {
/// The bytes that the passes of lowered statements load and store.
template <class... S>
index_t bytes_of_passes(S const&... statements) {
  pass_planner planner;
  std::vector<memory_access> seen;
  index_t moved = 0;
  int last = -1;
  statement_needs s;
  auto count = [&](auto const& statement) {
    find_needs(statement, s);
    if (int const pass = planner.place(s, elements_of_statement(statement)); pass != last) {
      seen.clear();
      last = pass;
    }
    for (memory_access const& a : s.accesses) {
      auto const again = [&](memory_access const& b) { return a.same_as(b) && (b.writes || a.writes == b.writes); };
      if (std::any_of(seen.begin(), seen.end(), again)) continue;
      seen.push_back(a);
      moved += a.bytes + a.besides;
    }
  };
  (count(statements), ...);
  return moved;
}
} // namespace detail

} // namespace sla
