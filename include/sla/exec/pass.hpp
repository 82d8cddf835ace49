// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One pass on the host: each thread walks its rows in blocks of about a thousand elements and runs the statements one after
// the other inside a block, which stays in the first-level cache. Blocks, not threads, fix the order of reductions.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <sla/core/kept_blocks.hpp>
#include <sla/core/pack.hpp>
#include <sla/exec/plan.hpp>
#include <sla/exec/product_rows.hpp>
#include <sla/exec/walk.hpp>

namespace sla {

namespace detail {
struct nothing {};
template <class S>
struct accumulator_of {
  using type = nothing;
};
template <class S>
  requires requires { typename S::accumulator_type; }
struct accumulator_of<S> {
  using type = typename S::accumulator_type;
};
template <class S>
using accumulator_of_t = typename accumulator_of<S>::type;
/// Does the statement fold to a result?
template <class S>
inline constexpr bool has_result = !std::same_as<accumulator_of_t<S>, nothing>;

/// How results of one type are folded, whatever the statement.
struct fold_functions {
  std::size_t size;  ///< of a result
  void (*clear)(void* results, index_t count);
  /// Folds the results of blocks, rhs each, into those of an item; into the first one, if merged.
  void (*fold)(void* results, std::byte const* blocks, std::size_t stride, index_t count, index_t rhs, bool merged);
};
template <class Monoid, class A>
inline constexpr fold_functions folding_of{
    sizeof(A),
    [](void* results, index_t count) {
      for (index_t k = 0; k < count; ++k) static_cast<A*>(results)[k] = Monoid::template identity<A>();
    },
    [](void* results, std::byte const* blocks, std::size_t stride, index_t count, index_t rhs, bool merged) {
      auto* const to = static_cast<A*>(results);
      for (index_t n = 0; n < count; ++n, blocks += stride)
        for (index_t k = 0; k < rhs; ++k) Monoid::fold(to[merged ? 0 : k], reinterpret_cast<A const*>(blocks)[k]);
    }};

/// What passes ask of a statement whose type they do not know.
struct statement_functions {
  void (*describe)(void const* statement, pass_layout& elements, access_list* accesses);  ///< the latter where they are wanted
  /// On a row_span, whose members stay in registers; null for whole statements.
  void (*run)(void const* statement, void* results, index_t first, index_t count, index_t item, index_t rhs);
  void (*ask)(void const* statement, ask_nodes const& about);
  void (*apply)(void const* statement, void* space);  ///< of whole statements
  fold_functions const* folds;                        ///< null for those that write
};
/// A statement without its type, so that what all `fuse` do alike is compiled once: a block of a thousand elements costs one call through a
/// pointer, and the same statement in another `fuse` is the same function.
struct pass_statement {
  void const* statement;
  statement_functions const* is;
  void* results;  ///< of all items
  int pass = 0;
  pass_layout elements;

  pass_statement() = default;
  pass_statement(void const* one, statement_functions const* functions, void* to) : statement(one), is(functions), results(to) {}
  void run(row_span const& block, void* to) const { is->run(statement, to, block.first, block.count, block.item, block.rhs); }
};

/// Does nothing in the statement, nor what it writes, ask for right-hand sides?
template <class S>
inline constexpr bool has_no_items = std::same_as<decltype(std::declval<S const&>().rebuild(bind_item{})), S>;
/// Runs a statement on the rows of a block. Span: `row_span`, or `column_span`.
template <class Span, class S>
void run_statement(void const* statement, void* results, index_t first, index_t count, index_t item, index_t rhs) {
  auto const& unbound = *static_cast<S const*>(statement);
  auto const s = [&] {
    if constexpr (std::same_as<Span, column_span> || (has_no_items<S> && !has_result<S>))
      return (void)rhs, column_span{first, count, item};
    else
      return row_span{first, count, item, rhs};
  }();
  auto run = [&](auto const& bound) {
    if constexpr (has_result<S>)
      with_rows(bound, s, [&](auto const& ready) { ready.run(s, static_cast<typename S::accumulator_type*>(results)); });
    else
      with_rows(bound, s, [&](auto const& ready) { ready.run(s); });
  };
  if constexpr (has_result<S>) {
    auto* const of_rhs = static_cast<typename S::accumulator_type*>(results);
    *of_rhs = S::identity();
    for (index_t k = 1; k < s.rhs; ++k) of_rhs[k] = S::identity();
  }
  if constexpr (has_no_items<S>)
    run(unbound);
  else if constexpr (std::same_as<Span, column_span>)
    run(unbound.rebuild(over_columns{}));  // nothing in it has a number per item: there is one
  else if (s.rhs == 1)
    run(unbound.rebuild(bind_item{s.item}));
  else
    run(unbound);
}
/// What a statement answers in the same way on all spans and spaces.
template <class S>
struct answers_of {
  static void describe(void const* s, pass_layout& elements, access_list* accesses) {
    auto const& statement = *static_cast<S const*>(s);
    find_elements(statement, elements);
    if (accesses) statement.accesses(*accesses);
  }
  static void nodes(void const* s, ask_nodes const& about) { (void)static_cast<S const*>(s)->rebuild(about); }
};
template <class Span, class Space, class S>
constexpr statement_functions functions_of_statement() {
  statement_functions out{answers_of<S>::describe, nullptr, nullptr, nullptr, nullptr};
  if constexpr (is_whole<S>) {
    if constexpr (!std::is_void_v<Space>)
      out.apply = [](void const* s, void* space) { static_cast<S const*>(s)->x.apply(*static_cast<Space*>(space), static_cast<S const*>(s)->data); };
  } else {
    out.run = run_statement<std::conditional_t<has_no_items<S> && !has_result<S>, column_span, Span>, S>;
    out.ask = answers_of<S>::nodes;
  }
  if constexpr (has_result<S>) {
    static_assert(std::is_trivially_copyable_v<accumulator_of_t<S>> && alignof(accumulator_of_t<S>) <= alignof(std::max_align_t));
    out.folds = &folding_of<typename S::monoid_type, accumulator_of_t<S>>;
  }
  return out;
}
/// Of a statement on spans of this type; whole ones are applied on this space.
template <class Span, class Space, class S>
inline constexpr statement_functions functions_of = functions_of_statement<Span, Space, S>();

/// Puts statements into passes, one after the other: how many passes. Errors: value_error, if one overwrites what it still reads.
template <class = void>
int plan_passes(std::span<pass_statement> all) {
  if (all.size() == 1 && all[0].is->folds) {  // it writes nothing that it could read
    all[0].is->describe(all[0].statement, all[0].elements, nullptr);
    return 1;
  }
  pass_planner planner;
  for (pass_statement& s : all) {
    s.is->describe(s.statement, s.elements, &planner.accesses());
    bool const whole = !s.is->run;
    if (all.size() > 1)
      s.pass = planner.place(s.elements, whole);
    else
      planner.refuse_overwriting(whole);  // most fuse are one assignment or one number
  }
  return (std::max)(planner.passes(), 1);
}
/// Runs planned statements: whole ones by themselves, the others pass after pass by space.run_pass(statements, elements).
template <class Space>
void run_passes(Space& space, std::span<dependent_t<pass_statement, Space> const> all) {
  for (std::size_t first = 0, next = 0; first < all.size(); first = next) {
    pass_layout elements = all[first].elements;
    for (++next; next < all.size() && all[next].pass == all[first].pass; ++next) pass_planner::add_layout(elements, all[next].elements);
    if (all[first].is->apply)
      all[first].is->apply(all[first].statement, &space);
    else
      space.run_pass(all.subspan(first, next - first), elements);
  }
}

/// The statements of one pass, at most Most.
template <std::size_t Most>
struct pass_list {
  std::array<pass_statement, Most> statements;
  std::size_t count = 0;
  operator std::span<pass_statement const>() const { return {statements.data(), count}; }  // NOLINT: it is one
};
/// F: `frame`, or `column_frame`, of one right-hand side.
template <class F, std::size_t Count, class... S>
pass_list<Count> statements_of_pass(pass_plan<Count> const& plan, int pass, pack<S...> const& statements, pack<accumulator_of_t<S>*...> const& results) {
  using Span = std::conditional_t<std::same_as<F, column_frame>, column_span, row_span>;
  pass_list<Count> out;
  auto add = [&]<class One>(One const& statement, accumulator_of_t<One>* result, int of) {
    if constexpr (!is_whole<One>)
      if (of == pass) out.statements[out.count++] = {&statement, &functions_of<Span, void, One>, result};
  };
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    (add(part<N>(statements), part<N>(results), plan.pass_of[N]), ...);
  }(std::index_sequence_for<S...>{});
  return out;
}
} // namespace detail

/// Runs the statements of a pass on one block, whose results are those of its item.
template <class = void>
void run_block(std::span<detail::pass_statement const> statements, row_span const& block) {
  for (auto const& s : statements) s.run(block, s.is->folds ? static_cast<std::byte*>(s.results) + s.is->folds->size * std::size_t(block.item) : nullptr);
}

/// The results of the reductions of a pass, per block and right-hand side, until they are folded. Kept between the pieces of a pass. Where a
/// pass is one piece and each block is an item, whose results are not merged, the blocks write into the results of their items.
template <class Byte = std::byte>
class pass_partials {
public:
  /// For a pass that may come in pieces.
  pass_partials() = default;
  /// For a pass of one piece.
  explicit pass_partials(bool merged) : is_whole_(true), merged_(merged) {}
  pass_partials(pass_partials const&) = delete;
  pass_partials& operator=(pass_partials const&) = delete;

  /// Room for the blocks of one more walk.
  void grow(std::span<detail::pass_statement const> statements, frame const& f, detail::pass_walk const& walk) {
    is_direct_ = is_whole_ && walk.is_one_each() && (!merged_ || f.items() == 1);
    if (is_direct_) return;
    std::size_t size = 0;  // of the results of a block
    for (auto const& s : statements)
      if (s.is->folds) size += padded(s.is->folds->size * std::size_t(f.rhs));
    block_ = size;
    if (size == 0) return;
    base_ = values_.size();
    values_.resize(base_ + size * std::size_t(walk.blocks()));
    runs_.reserve(runs_.size() + std::size_t(f.batch));
    for (index_t b = 0; b < f.batch; ++b) runs_.push_back({b, walk.blocks_of(b)});
  }
  /// Runs the statements on the n-th block of the last walk.
  void run(std::span<detail::pass_statement const> statements, row_span const& block, index_t n) {
    if (is_direct_) {
      run_block(statements, block);
    } else {
      Byte* results = values_.data() + base_ + block_ * std::size_t(n);
      for (auto const& s : statements) {
        s.run(block, results);
        results += size_of(s, block.rhs);
      }
    }
  }

  /// Folds the blocks, in order, into the results of each reduction (one value per item, or one in all if merged).
  void fold(std::span<detail::pass_statement const> statements, frame const& f, bool merged) const {
    if (is_direct_) return;
    std::size_t offset = 0;
    for (auto const& s : statements) {
      if (!s.is->folds) continue;
      s.is->folds->clear(s.results, merged ? 1 : f.items());
      if (runs_.empty()) continue;
      Byte const* at = values_.data() + offset;
      for (auto const& [batch, count] : runs_) {
        s.is->folds->fold(static_cast<std::byte*>(s.results) + (merged ? 0 : s.is->folds->size * std::size_t(batch * f.rhs)), at, block_, count, f.rhs, merged);
        at += block_ * std::size_t(count);
      }
      offset += size_of(s, f.rhs);
    }
  }

private:
  static std::size_t padded(std::size_t size) { return (size + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t); }
  /// The size of the results of one reduction in a block.
  static std::size_t size_of(detail::pass_statement const& s, index_t rhs) { return s.is->folds ? padded(s.is->folds->size * std::size_t(rhs)) : 0; }

  struct run_of_blocks {
    index_t item, count;
  };
  detail::kept_list<Byte> values_;
  detail::kept_list<run_of_blocks> runs_;  ///< in the order of the values
  std::size_t base_ = 0, block_ = 0;
  bool is_whole_ = false, merged_ = false, is_direct_ = false;
};

namespace detail {
/// What the thread that called a pass does after each of its blocks: where ranks wait for messages, it moves them on.
struct between_blocks {
  void (*call)(void* work) = nullptr;
  void* work = nullptr;
};
} // namespace detail

/// Runs the statements of one pass on the blocks of a walk.
template <class Partials>
void run_blocks(std::span<detail::pass_statement const> statements, frame const& f, detail::pass_walk& walk, Partials& partials, detail::between_blocks between = {}) {
  partials.grow(statements, f, walk);
  if (walk.may_share())
    for (auto const& s : statements) walk.add_statement(), s.is->ask(s.statement, {.walk = &walk});
  struct context {
    std::span<detail::pass_statement const> statements;
    Partials& partials;
    detail::between_blocks between;
    void const* caller;  ///< a thread's own variable has an address of its own
  } const all{statements, partials, between, &detail::chosen_threads};
  walk.run(
      [](void const* c, row_span const& block, index_t n) {
        auto const& in = *static_cast<context const*>(c);
        in.partials.run(in.statements, block, n);
        if (in.between.call && in.caller == &detail::chosen_threads) in.between.call(in.between.work);
      },
      &all);
}

namespace detail {
/// What the statements of a pass ask of its blocks.
inline block_rows rows_of_blocks(std::span<pass_statement const> statements, frame const& f) {
  block_rows found;
  for (auto const& s : statements) s.is->ask(s.statement, {.rows = &found});
  if (found.together * f.inner > block_elements) found.together = 1;
  return found;
}
} // namespace detail

/// Runs the statements of one pass on a range of rows, with at most `max_threads` threads; 0: as many as `threads_in_use()`.
template <class Partials>
void run_pass(std::span<detail::pass_statement const> statements, frame const& f, row_range range, int max_threads, Partials& partials,
              detail::between_blocks between = {}) {
  if (range.last <= range.first || f.batch == 0 || f.inner == 0) return;
  block_walk<dependent_t<index_t, Partials>> walk(f, range, max_threads, (range.last - range.first) * f.inner > detail::block_elements ? detail::rows_of_blocks(statements, f) : detail::block_rows());
  run_blocks(statements, f, walk, partials, between);
}

} // namespace sla
