// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plain evaluation: assignment from an expression, and `eval`, also of a reduction. At once, on the memory of the operands;
// aliasing (x = A * x) is seen and handled.
#pragma once

#include <sla/exec/host.hpp>
#include <sla/expr/dense/conditions.hpp>
#include <sla/expr/dense/elementwise.hpp>
#include <sla/expr/dense/multi.hpp>
#include <sla/expr/dense/reduce.hpp>
#include <sla/expr/sparse/algebra.hpp>
#include <sla/expr/sparse/product.hpp>

namespace sla {

namespace detail {
/// Would writing `destination` disturb what the expression still has to read?
template <class X>
bool reads_elsewhere(memory_access destination, X const& lowered) {
  bool found = false;
  lowered.accesses([&](memory_access a) { found = found || (a.overlaps(destination) && (a.elsewhere || !a.same_as(destination))); }, false);
  return found;
}
} // namespace detail

/// x = expression, in one pass; x takes the extents of the expression. Called by the tensor's own assignment.
template <class T, class E, class Memory, Expression X>
void assign(tensor<T, E, Memory>& x, X const& expression) {
  using Source = typename X::extents_type;
  static_assert(same_extents_law<E, Source>, "sla: x = expression: the expression has another shape than x");
  static_assert(same_memory_law<Memory, typename X::memory_type>,
                "sla: x = expression: x and the expression live in different memories; bring it over with to<Memory>(...)");
  if constexpr (same_extents_law<E, Source> && same_memory_law<Memory, typename X::memory_type>) {
    if constexpr (std::same_as<Source, no_extents>) {
      fuse(set(x, expression));
    } else {
      auto const extents = E::from(expression.extents());
      require_same_extents(E(extents), expression.extents(), "x = expression");
      memory_access const destination{x.values().data(), x.size() * index_t(sizeof(T)), false, true};
      bool const fits = x.extents() == extents && x.size() == extents.total();  // a new tensor has extents, not elements yet
      if (fits && !detail::reads_elsewhere(destination, lower_tree{}(expression))) {
        fuse(set(x, expression));
      } else {
        tensor<T, E, Memory> value(extents, uninitialized);
        fuse(set(value, expression));
        x = std::move(value);
      }
    }
  }
}

template <class T, class E, class Memory, Operand X>
tensor<T, E, Memory>& operator+=(tensor<T, E, Memory>& x, X&& y) {
  return x = x + std::forward<X>(y);
}
template <class T, class E, class Memory, Operand X>
tensor<T, E, Memory>& operator-=(tensor<T, E, Memory>& x, X&& y) {
  return x = x - std::forward<X>(y);
}
template <class T, class E, class Memory, Operand X>
tensor<T, E, Memory>& operator*=(tensor<T, E, Memory>& x, X&& y) {
  return x = x * std::forward<X>(y);
}
template <class T, class E, class Memory, Operand X>
tensor<T, E, Memory>& operator/=(tensor<T, E, Memory>& x, X&& y) {
  return x = x / std::forward<X>(y);
}

/// The value of an expression as an owner; of a reduction, a statement of `fuse`, as a number; anything else is its own value.
template <Expression X>
auto eval(X const& x) {
  return tensor<user_t<typename X::value_type>, typename X::extents_type, typename X::memory_type>(x);
}
template <class M, class X, class F>
auto eval(reduction<M, X, F> const& r) {
  return std::get<0>(fuse(r));
}
template <class T, class E, class Memory>
tensor<T, E, Memory> eval(tensor<T, E, Memory> x) {
  return x;
}
template <Number T>
T eval(T x) {
  return x;
}
/// A sparse tensor, or what a view of one shows, as an owner. What higher floors evaluate: a traced value stays traced.
template <class X>
  requires Performs<op::eval, X>
auto eval(X&& x) {
  if constexpr (SparseOperand<X>)
    return detail::stored(std::forward<X>(x));
  else
    return perform(op::eval{}, std::forward<X>(x));
}

/// V^H W of two blocks, as a number that is evaluated now: see `gram_of`.
template <int Most = 0, class T, class E, class U, class E2, class Memory>
[[nodiscard]] auto gram(tensor<T, E, Memory> const& V, tensor<U, E2, Memory> const& W) {
  return std::get<0>(fuse(gram_of<Most>(V, W)));
}

/// Prints the value of an expression, of transpose(A) too, as that of a tensor.
template <class X>
  requires(Expression<X> || SparseView<X>)
std::ostream& operator<<(std::ostream& out, X const& x) {
  return out << eval(x);
}

} // namespace sla
