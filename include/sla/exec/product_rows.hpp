// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products inside of expressions: the rows of a span are multiplied first, by the row kernel of their format, to where the statement
// writes, or into a run of the stack; either stays in the first-level cache, and the rest of the tree reads them there.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include <sla/expr/dense/statement.hpp>

namespace sla::detail {

/// How many elements of a statement are computed at a time, but for rows that are longer by themselves.
inline constexpr index_t block_elements = 1024;

/// The elements of a node that lie in one span, computed already.
template <class V, class E, class Memory>
struct rows_view {
  using expression_tag = void;
  using value_type = V;
  using extents_type = E;
  using memory_type = Memory;
  static constexpr reach depth = reach::pointwise;

  V const* values;
  index_t first;
  E shape;

  SLA_HD E const& extents() const { return shape; }
  SLA_HD V at(element e) const { return values[e.at - first]; }
};

/// A node that computes its elements of a span by `store` and holds them; lowering views it.
template <class Y>
struct held_rows {
  using expression_tag = void;
  using value_type = typename Y::value_type;
  using extents_type = typename Y::extents_type;
  using memory_type = typename Y::memory_type;
  static constexpr reach depth = reach::pointwise;

  alignas(64) value_type own[block_elements];
  std::unique_ptr<value_type[]> longer;  ///< of rows that are longer
  index_t first;
  extents_type shape;

  struct write_element {
    Y const& y;
    value_type* out;
    index_t first;
    SLA_HD void operator()(element e) const { out[e.at - first] = y.at(e); }
  };
  value_type* out;                       ///< where they are: `own`, `longer`, or where the statement writes them
  /// to: where there is room for them, or null.
  template <class Span>
  held_rows(Y const& y, Span s, value_type* to) : first(s.first), shape(y.extents()), out(to) {
    if (!out && s.count > block_elements) longer.reset(new value_type[std::size_t(s.count)]);
    if (!out) out = longer ? longer.get() : own;
    if constexpr (requires { y.stores(s); }) {
      if (!y.stores(s)) {
        for_elements(s, write_element{y, out, first});
        return;
      }
    }
    y.store(s, out);
  }
  template <class F>
  rows_view<value_type, extents_type, memory_type> rebuild(F const&) const {
    return {out, first, shape};
  }
};

/// The tree with the rows of a span in the place of what can store them. It holds them: it is built where it stays. The first of them whose
/// numbers are of type T is written to `room`, where there is such: what the statement writes over them later.
template <class Span, class T>
struct hold_rows {
  Span span;
  T** room;
  template <class X>
  auto operator()(X const& x) const {
    if constexpr (requires(typename X::value_type* out) { x.store(span, out); }) {
      typename X::value_type* to = nullptr;
      if constexpr (std::same_as<typename X::value_type, T>) to = std::exchange(*room, nullptr);
      return held_rows<X>(x, span, to);
    } else {
      return x.rebuild(*this);
    }
  }
};

/// Where a statement writes the span, if nothing else of it reads what is there; else null.
template <class S, class Span>
auto room_of(S const& statement, Span span) {
  if constexpr (requires { *statement.data; }) {
    memory_access const to = written(statement.data, statement.elements);
    bool is_free = true;
    statement.x.accesses([&](memory_access const& a) { is_free = is_free && !a.overlaps(to); }, false);
    return is_free ? statement.data + span.first : nullptr;
  } else {
    return static_cast<char*>(nullptr);
  }
}

/// Does a statement read products, or combinations of columns, otherwise than to write them as they are?
template <class S, class Span>
inline constexpr bool reads_rows = (S::depth == reach::row || S::depth == reach::gather) && !requires(S const& s, Span span) { s.x.store(span, s.data); };

/// f(statement) that reads rows of products from the first-level cache, for this span alone.
template <class S, class Span, class F>
void with_rows(S const& statement, Span span, F const& f) {
  if constexpr (reads_rows<S, Span>) {
    auto* room = room_of(statement, span);
    auto const held = statement.rebuild(hold_rows<Span, std::remove_pointer_t<decltype(room)>>{span, &room});
    f(held.rebuild(lower_tree{}));
  } else {
    f(statement);
  }
}

} // namespace sla::detail
