// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements of `fuse`: `set(x, expression)` writes, reductions fold. A statement runs on a span of rows of one item, so
// that a pass can walk memory in blocks that stay in the first-level cache. Host threads and device blocks run the same text.
#pragma once

#include <utility>

#include <sla/expr/dense/node.hpp>

namespace sla {

/// `count` elements of a pass from linear position `first`; whole rows, of `rhs` right-hand sides; items start at `item`.
struct row_span {
  index_t first, count, item, rhs;
};
/// The same of one right-hand side, known when compiled: no other loop is instantiated.
struct column_span {
  index_t first, count, item;
  static constexpr index_t rhs = 1;
  SLA_HD operator row_span() const { return {first, count, item, rhs}; }  // NOLINT: it is one
};

namespace detail {
/// f(0), ..., f(N - 1), written out: a small array that is indexed by these numbers alone stays in registers at -O2 too.
SLA_AS_CALLEE
template <class F, index_t... N>
SLA_HD void written_out(std::integer_sequence<index_t, N...>, F const& f) {
  (f(N), ...);
}

/// f(element) for the elements of a span, in order: inner loops of a constant length vectorise at -O2 too.
template <class F>
SLA_HD inline void for_elements(column_span s, F const& f) {
  constexpr index_t at_once = 64;
  index_t e = s.first, const_end = s.first + s.count / at_once * at_once, end = s.first + s.count;
  for (; e < const_end; e += at_once) {
    SLA_INDEPENDENT
    for (index_t n = 0; n < at_once; ++n) f(element{e + n, e + n, s.item});
  }
  SLA_INDEPENDENT
  for (index_t n = e; n < end; ++n) f(element{n, n, s.item});
}
template <class F>
SLA_HD inline void for_elements(row_span s, F const& f) {
  if (s.rhs == 1) {
    for_elements(column_span{s.first, s.count, s.item}, f);
  } else {
    for (index_t row = s.first / s.rhs, end = (s.first + s.count) / s.rhs; row < end; ++row)
      for (index_t k = 0; k < s.rhs; ++k) f(element{row * s.rhs + k, row, s.item + k});
  }
}
} // namespace detail

/// What `fuse` takes: an assignment (`set`), or a reduction (`dot_of`, `norm_of`, ...).
template <class S>
concept Statement = requires { typename std::remove_cvref_t<S>::statement_tag; };

/// Numbers that do not lie side by side, as a statement writes them: a column of a block.
template <class T>
struct strided_numbers {
  T* data;
  index_t step;
  SLA_HD T& operator[](index_t n) const { return data[n * step]; }
};

namespace detail {
template <class T>
memory_access written(T* data, index_t count) {
  return {data, count * index_t(sizeof(T)), false, true};
}
template <class T>
memory_access written(strided_numbers<T> const& to, index_t count) {
  return {to.data, count ? ((count - 1) * to.step + 1) * index_t(sizeof(T)) : 0, false, true, 0, false, to.step * index_t(sizeof(T))};
}
} // namespace detail

/// destination = expression, for each element. Memory is that of the destination: a number has none. To: where they lie.
template <class T, class X, class Memory = typename X::memory_type, class To = T*>
struct set_statement {
  using statement_tag = void;
  using result_type = void;
  using expression_type = X;
  using memory_type = Memory;
  static constexpr reach depth = X::depth;

  To data;
  index_t elements;
  X x;

  index_t total() const { return elements; }
  template <class F>
  auto rebuild(F const& f) const {
    return set_statement<T, decltype(f(x)), Memory, To>{data, elements, f(x)};
  }
  template <class F>
  void accesses(F&& f) const {
    x.accesses(f, false);
    f(detail::written(data, elements));
  }

  /// Writes a span. A root node with a faster way to write a run of rows offers `store`.
  SLA_AS_CALLEE
  template <class Span>
  SLA_HD void run(Span s) const {
    if constexpr (requires { x.store(s, data); }) {
      x.store(s, data + s.first);
    } else {
      To const out = data;
      auto const tree = x;
      detail::for_elements(s, [=](element e) { out[e.at] = scalar_cast<T>(tree.at(e)); });
    }
  }
};

namespace detail {
/// Numbers of the items of a space, at the elements of a tensor of these extents: a space sees by them whether it has such items.
template <class X, class E>
struct spread_numbers {
  using expression_tag = void;
  using value_type = typename X::value_type;
  using extents_type = E;
  using memory_type = typename X::memory_type;
  static constexpr reach depth = X::depth;

  X x;
  E shape;

  SLA_HD E const& extents() const { return shape; }
  SLA_HD value_type at(element e) const { return x.at(e); }
  template <class F>
  auto rebuild(F const& f) const {
    return spread_numbers<decltype(f(x)), E>{f(x), shape};
  }
  template <class F>
  void accesses(F&& f, bool elsewhere) const {
    x.accesses(f, elsewhere);
  }
};
} // namespace detail

/// The statement x = expression, for `fuse`; the extents of x stay.
/// Law: the extents agree. Errors: shape_error where only run time can tell.
template <class T, class E, class Memory, Operand X>
[[nodiscard]] auto set(tensor<T, E, Memory>& destination, X&& expression) {
  using Source = node_t<X>;
  static_assert(same_extents_law<E, typename Source::extents_type>,
                "sla: set(x, expression): the expression has another shape than x");
  static_assert(same_memory_law<Memory, typename Source::memory_type>,
                "sla: set(x, expression): x and the expression live in different memories; bring one over with to<Memory>(...)");
  static_assert(storage_law<T, typename Source::value_type>,
                "sla: set(x, expression): a complex value cannot be stored in a real tensor; take real(...), imag(...) or abs(...)");
  auto source = [&] {
    if constexpr (std::same_as<typename Source::extents_type, no_extents> && detail::reads_items<Source>)
      return detail::spread_numbers<Source, E>{as_node(std::forward<X>(expression)), destination.extents()};
    else
      return as_node(std::forward<X>(expression));
  }();
  set_statement<kernel_t<T>, decltype(source), Memory> statement{kernel_pointer(destination.data()), destination.size(), std::move(source)};
  require_same_extents(destination.extents(), statement.x.extents(), "set(x, expression)", "set does not change the size of x: make x of the size of the expression before, or assign, x = expression");
  return statement;
}

} // namespace sla
