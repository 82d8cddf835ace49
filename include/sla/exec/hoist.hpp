// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hoisting: what cannot be read element by element inside of another node becomes a statement of its own before it, with
// a vector of the space in between: A * (B * x), and b - M * r where M is a sweep.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <sla/core/kept_blocks.hpp>
#include <sla/core/pack.hpp>
#include <sla/expr/dense/elementwise.hpp>
#include <sla/expr/dense/statement.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla::detail {

/// The memory of vectors in between: runs of the host's shorter than a large page are blocks that its thread keeps, as it keeps longer ones anyway.
/// Short ones are not counted among what tensors hold.
template <class Memory>
struct memory_between : Memory {
  static void* allocate(std::size_t bytes) {
    if constexpr (Memory::is_host)
      if (bytes < large_page) {
        void* const p = kept_blocks::take(bytes);
        if (!kept_blocks::is_short(bytes)) count_bytes(bytes);
        return p;
      }
    return Memory::allocate(bytes);
  }
  static void deallocate(void* p, std::size_t bytes) noexcept {
    if constexpr (Memory::is_host)
      if (bytes < large_page) {
        if (!p) return;
        if (!kept_blocks::is_short(bytes)) bytes_now -= bytes;
        return kept_blocks::give(p, bytes);
      }
    Memory::deallocate(p, bytes);
  }
};

/// The vectors in between of a space. One that was given back is the next of its size: as all work of a space is in order, nothing reads it
/// any more. They end with the space.
template <class Memory>
class vectors_between {
public:
  template <class T, class E>
  tensor<T, E, Memory> take(E const& extents) {
    index_t const count = extents.total(), bytes = count * index_t(sizeof(T));
    auto const free = runs_.begin() + std::ptrdiff_t(taken_);
    if (auto const same = std::find_if(free, runs_.end(), [&](auto const& one) { return one.size() == bytes; }); same != runs_.end())
      std::iter_swap(free, same);
    else
      runs_.insert(free, buffer<std::byte, memory_between<Memory>>(bytes, uninitialized));
    return {extents, buffer<T, Memory>::borrow(reinterpret_cast<T*>(runs_[taken_++].data()), count)};
  }
  /// All of them.
  void give_back() { taken_ = 0; }

private:
  using run = buffer<std::byte, memory_between<Memory>>;
  kept_list<run> runs_;
  std::size_t taken_ = 0;
};

/// A rewritten node, and the statements that must run before it.
template <class X, class... Before>
struct hoisted {
  X x;
  pack<Before...> before;
};

template <class X, class... Before>
hoisted<X, Before...> with_before(X const& x, pack<Before...> const& before) {
  return {x, before};
}

template <class X>
inline constexpr bool is_view = false;
template <class T, class E, class Memory>
inline constexpr bool is_view<tensor_view<T, E, Memory>> = true;

/// Nodes that gather or take whole operands say so: `with_operand(x)` is the node over another operand.
template <class X>
concept HasOperand = requires(X const& node) {
  X::needs_vector;
  node.with_operand(node.x);
};

/// May a whole node stand at the root of the statement? Of one that writes numbers side by side.
template <class S>
inline constexpr bool takes_whole = false;
template <class S>
  requires requires(S const& s) { *s.data; }
inline constexpr bool takes_whole<S> = std::is_void_v<typename S::result_type>;

/// Does anything in a tree or statement want a vector of its own? Most want none, and nothing of what follows is compiled for them.
template <class X>
inline constexpr bool wants_hoisting = false;
template <class X>
inline constexpr bool wants_hoisting_inside = wants_hoisting<X> || X::depth == reach::whole;
template <class Op, class X>
inline constexpr bool wants_hoisting<unary<Op, X>> = wants_hoisting_inside<X>;
template <class F, class X>
inline constexpr bool wants_hoisting<applied<F, X>> = wants_hoisting_inside<X>;
template <class Op, class L, class R>
inline constexpr bool wants_hoisting<binary<Op, L, R>> = wants_hoisting_inside<L> || wants_hoisting_inside<R>;
template <HasOperand X>
inline constexpr bool wants_hoisting<X> = wants_hoisting<decltype(X::x)> || decltype(X::x)::depth != reach::pointwise || (X::needs_vector && !is_view<decltype(X::x)>);
template <class S>
  requires requires { typename S::statement_tag; typename S::expression_type; }
inline constexpr bool wants_hoisting<S> = takes_whole<S> ? wants_hoisting<typename S::expression_type> : wants_hoisting_inside<typename S::expression_type>;

// They call each other, whatever the namespace of the space.
template <class Space, class X>
auto hoist(Space& space, X const& leaf);
template <class Space, class Op, class X>
auto hoist(Space& space, unary<Op, X> const& node);
template <class Space, class F, class X>
auto hoist(Space& space, applied<F, X> const& node);
template <class Space, class Op, class L, class R>
auto hoist(Space& space, binary<Op, L, R> const& node);
template <class Space, HasOperand X>
auto hoist(Space& space, X const& node);

/// `x` as a vector of the space, written by one more statement.
template <class Space, class X, class... Before>
auto materialize(Space& space, hoisted<X, Before...> h) {
  auto vector = space.template temporary<user_t<typename X::value_type>>(h.x.extents());
  set_statement<typename X::value_type, X> statement{kernel_pointer(vector.data()), vector.size(), h.x};
  auto leaf = view(vector);
  return hoisted<decltype(leaf), Before..., decltype(statement)>{leaf, joined(h.before, packed(statement))};
}

template <class Space, class X>
auto hoist(Space&, X const& leaf) {
  return hoisted<X>{leaf, {}};
}

/// Operands of elementwise nodes: anything but a whole node can be read element by element.
template <class Space, class X>
auto hoist_elementwise(Space& space, X const& x) {
  auto h = hoist(space, x);
  if constexpr (decltype(h.x)::depth == reach::whole)
    return materialize(space, h);
  else
    return h;
}
/// Operands that are read at other rows: pointwise nodes only; whole operators get a vector.
template <bool NeedsVector, class Space, class X>
auto hoist_gathered(Space& space, X const& x) {
  auto h = hoist(space, x);
  if constexpr (decltype(h.x)::depth != reach::pointwise || (NeedsVector && !is_view<decltype(h.x)>))
    return materialize(space, h);
  else
    return h;
}

template <class Space, class Op, class X>
auto hoist(Space& space, unary<Op, X> const& node) {
  auto h = hoist_elementwise(space, node.x);
  using H = unary<Op, decltype(h.x)>;
  return with_before(H{h.x}, h.before);
}
template <class Space, class F, class X>
auto hoist(Space& space, applied<F, X> const& node) {
  auto h = hoist_elementwise(space, node.x);
  using H = applied<F, decltype(h.x)>;
  return with_before(H{node.f, h.x}, h.before);
}
template <class Space, class Op, class L, class R>
auto hoist(Space& space, binary<Op, L, R> const& node) {
  auto l = hoist_elementwise(space, node.l);
  auto r = hoist_elementwise(space, node.r);
  using H = binary<Op, decltype(l.x), decltype(r.x)>;
  return with_before(H{l.x, r.x}, joined(l.before, r.before));
}

template <class Space, HasOperand X>
auto hoist(Space& space, X const& node) {
  auto h = hoist_gathered<X::needs_vector>(space, node.x);
  auto rebuilt = node.with_operand(h.x);
  return with_before(rebuilt, h.before);
}

template <class Replacement>
struct replace_by {
  Replacement x;
  template <class Old>
  Replacement operator()(Old const&) const {
    return x;
  }
};

/// A statement and those before it. A whole node may stand at the root of `set`, not in a reduction.
template <class Space, class S>
auto hoist_statement(Space& space, S const& statement) {
  if constexpr (requires { typename S::expression_type; }) {
    auto h = [&] {
      if constexpr (takes_whole<S>)
        return hoist(space, statement.x);
      else
        return hoist_elementwise(space, statement.x);
    }();
    auto rebuilt = statement.rebuild(replace_by<decltype(h.x)>{h.x});
    return joined(h.before, packed(rebuilt));
  } else {
    return packed(statement);
  }
}

/// f(statements...) with everything hoisted.
template <class Space, class F, class... S>
auto with_hoisted(Space& space, F const& f, S const&... statements) {
  if constexpr (!(wants_hoisting<S> || ...))
    return f(statements...);
  else
    return with_parts(f, joined(hoist_statement(space, statements)...));
}

} // namespace sla::detail
