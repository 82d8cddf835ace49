// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes: how few walks over memory the statements of a `fuse` need, in order. A pass ends where a gathered vector is
// written by another statement of it, before or after, and around a whole statement. Addresses decide.
// Planning allocates nothing, and no plan is kept: that would spare an iteration of 64 unknowns an eighth at best (bench/results/small.md).
#pragma once

#include <algorithm>
#include <array>
#include <span>
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

template <class S>
inline constexpr bool is_whole = S::depth == reach::whole;

/// Where statements read and where they write, one after the other.
class access_list {
public:
  struct place {
    std::size_t reads = 0, writes = 0;
  };
  template <class Access>
  void operator()(Access const& a) {
    add(a.writes ? writes_ : reads_, a.data, a.bytes, a.besides, a.step, a.elsewhere + 2 * a.writes + 4 * a.by_row);
  }
  place end() const { return {reads_.size(), writes_.size()}; }
  std::span<memory_access const> reads(place from, place to) const { return {reads_.begin() + from.reads, reads_.begin() + to.reads}; }
  std::span<memory_access const> writes(place from, place to) const { return {writes_.begin() + from.writes, writes_.begin() + to.writes}; }

private:
  using list = short_list<memory_access, 32>;
  /// In registers: what was written member by member and is copied as a whole waits for the cache, longer than the plan of a short fuse takes.
  template <class Pointer>
  [[gnu::noinline]] static void add(list& to, Pointer data, index_t bytes, index_t besides, index_t step, int flags) {
    if (to.is_full()) return add_to_longer(to, data, bytes, besides, step, flags);
    memory_access& a = to.push_back();
    a.data = data, a.bytes = bytes, a.besides = besides, a.step = step;
    a.elsewhere = flags & 1, a.writes = flags & 2, a.by_row = flags & 4;
  }
  template <class Pointer>
  [[gnu::noinline]] static void add_to_longer(list& to, Pointer data, index_t bytes, index_t besides, index_t step, int flags) {
    to.grow();
    add(to, data, bytes, besides, step, flags);
  }
  list reads_, writes_;
};

/// The elements of a statement: their layout is that of its products and broadcasts; rows are -1 where any of as many elements will do.
template <class S>
void find_elements(S const& statement, pass_layout& out) {
  out.total = statement.total();
  out.layout = {1, -1, 1, 1};
  (void)statement.rebuild(ask_nodes{.layout = &out.layout});
}

/// Puts statements into passes, one after the other.
class pass_planner {
public:
  /// The accesses of the next statement are added to these.
  access_list& accesses() { return list_; }
  /// Errors: value_error, if the next statement overwrites what its own other rows still read.
  template <class = void>
  void refuse_overwriting(bool whole) const {
    auto const end = list_.end();
    for (memory_access const& a : list_.writes(next_, end))
      for (memory_access const& b : list_.reads(next_, end))
        if (a.overlaps(b) && (whole || b.elsewhere || !a.same_as(b)))
          throw value_error("fuse: set(x, expression) reads x at other rows than it writes; write `x = expression`, which takes a copy, or set another vector");
  }
  /// The pass of the next statement. Errors: value_error, if it overwrites what its own other rows still read.
  template <class = void>
  int place(pass_layout const& elements, bool whole) {
    refuse_overwriting(whole);
    if (sealed_ || whole || !fits(elements) || conflicts()) {
      ++passes_;
      open_.total = elements.total;
      open_.layout = {1, -1, 1, 1};
      pass_ = next_;
    }
    add_layout(open_, elements);
    next_ = list_.end();
    sealed_ = whole;
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
  /// Does the next statement write what the pass reads or writes, or read what it writes, but for each element by itself?
  bool conflicts() const {
    auto const end = list_.end();
    auto const meet = [](std::span<memory_access const> before, std::span<memory_access const> next) {
      for (memory_access const& a : before)
        for (memory_access const& b : next)
          if (a.overlaps(b) && !(a.same_as(b) && !a.elsewhere && !b.elsewhere)) return true;
      return false;
    };
    auto const writes = list_.writes(pass_, next_);
    return meet(writes, list_.reads(next_, end)) || meet(writes, list_.writes(next_, end)) || meet(list_.reads(pass_, next_), list_.writes(next_, end));
  }

  int passes_ = 0;
  bool sealed_ = true;  // the next statement starts a pass
  pass_layout open_;
  access_list list_;               ///< of all statements
  access_list::place pass_, next_;  ///< where those of the open pass begin, and those of the next statement
};
} // namespace detail

/// Groups lowered statements into passes. Errors: value_error, if a statement overwrites what it still reads.
template <class... S>
pass_plan<sizeof...(S)> plan_passes(S const&... statements) {
  pass_plan<sizeof...(S)> plan;
  detail::pass_planner planner;
  std::size_t n = 0;
  auto place = [&]<class One>(One const& statement) {
    pass_layout elements;
    detail::find_elements(statement, elements);
    statement.accesses(planner.accesses());
    int const pass = planner.place(elements, detail::is_whole<One>);
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
  auto count = [&]<class One>(One const& statement) {
    pass_layout elements;
    auto const first = planner.accesses().end();
    find_elements(statement, elements);
    statement.accesses(planner.accesses());
    if (int const pass = planner.place(elements, is_whole<One>); pass != last) {
      seen.clear();
      last = pass;
    }
    auto const move = [&](std::span<memory_access const> list) {
      for (memory_access const& a : list) {
        auto const again = [&](memory_access const& b) { return a.same_as(b) && (b.writes || a.writes == b.writes); };
        if (std::any_of(seen.begin(), seen.end(), again)) continue;
        seen.push_back(a);
        moved += a.bytes + a.besides;
      }
    };
    auto const end = planner.accesses().end();
    move(planner.accesses().reads(first, end)), move(planner.accesses().writes(first, end));
  };
  (count(statements), ...);
  return moved;
}
} // namespace detail

} // namespace sla
