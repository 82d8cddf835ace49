// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Traced values: what a differentiated function computes with instead of tensors, sparse tensors and numbers. Operators are
// in grad/elementwise.hpp, reductions in grad/reductions.hpp, products and solves in grad/product.hpp and grad/solve.hpp.
#pragma once

#include <sla/expr/values.hpp>
#include <sla/grad/tape.hpp>

namespace sla {

/// A V on a tape: a handle, cheap to copy, valid inside of the differentiated function. Assignment makes it name another value.
template <class V>
class traced {
 public:
  using plain_type = V;

  traced(tape& home, variable<V>& v) : home_(&home), variable_(&v) {}

  /// The plain value; what is computed from it is constant for the gradient.
  V const& value() const { return variable_->value(); }
  tape& home() const { return *home_; }
  sla::variable<V>& variable() const { return *variable_; }

  template <class U>
  operator U() const {  // NOLINT: it exists for its sentence
    static_assert(always_false<U>,
                  "sla: a traced value does not convert to a plain one: write `auto`, or `auto x = eval(...)`, in a differentiated function");
    return U{};
  }

  // What generic code asks of shapes.
  auto const& extents() const
    requires is_tensor<V>
  {
    return value().extents();
  }
  index_t extent(int axis) const
    requires is_tensor<V>
  {
    return value().extent(axis);
  }
  index_t size() const
    requires is_tensor<V>
  {
    return value().size();
  }
  auto const& shape() const
    requires is_sparse_tensor<V>
  {
    return value().shape();
  }
  index_t rows() const
    requires is_sparse_tensor<V>
  {
    return value().rows();
  }
  index_t cols() const
    requires is_sparse_tensor<V>
  {
    return value().cols();
  }
  index_t nnz() const
    requires is_sparse_tensor<V>
  {
    return value().nnz();
  }
  auto domain() const
    requires is_sparse_tensor<V>
  {
    return value().domain();
  }
  auto range() const
    requires is_sparse_tensor<V>
  {
    return value().range();
  }

 private:
  tape* home_;
  sla::variable<V>* variable_;
};

template <class X>
inline constexpr bool is_traced = false;
template <class V>
inline constexpr bool is_traced<traced<V>> = true;
/// A traced value of any floor.
template <class X>
concept Traced = is_traced<std::remove_cvref_t<X>>;

/// Traced values, and views of them: their operators are those of this floor.
template <class X>
inline constexpr bool is_tracing = is_traced<X>;

template <class X>
struct plain_of {
  using type = std::remove_cvref_t<X>;
};
template <class V>
struct plain_of<traced<V>> {
  using type = V;
};
/// V of a traced<V>, and X itself of any other X.
template <class X>
using plain_t = typename plain_of<std::remove_cvref_t<X>>::type;

/// Traced values of this floor: numbers and tensors, which mix in elementwise operations, and sparse tensors.
template <class X>
concept TracedElements = Traced<X> && (is_tensor<plain_t<X>> || Number<plain_t<X>>);
template <class X>
concept TracedSparse = Traced<X> && is_sparse_tensor<plain_t<X>>;
template <class X>
concept TracedLocal = TracedElements<X> || TracedSparse<X>;

namespace detail {
/// What may stand beside a traced operand of an elementwise operation.
template <class X>
concept ElementsOrTraced = TracedElements<X> || Operand<X> || Reduction<X>;

template <class X, class... Rest>
tape& tape_of(X const& x, Rest const&... rest) {
  if constexpr (is_tracing<X>)
    return x.home();
  else
    return tape_of(rest...);
}

/// The traced value of a new entry.
template <class V, class Pull>
traced<V> record(tape& t, V value, Pull pull) {
  return {t, t.record(std::move(value), std::move(pull))};
}

// ---- operands as the forward operation and the pullback see them: node(), and kept(), which is all that the pullback holds

template <class V>
struct traced_operand {
  variable<V>* v;
  auto node() const { return as_node(v->value()); }
  traced_operand kept() const { return *this; }
  template <class X>
  void add(X const& contribution) const {
    v->add(contribution);
  }
};
template <class V>
struct kept_operand {
  std::shared_ptr<V const> value;
  auto node() const { return as_node(*value); }
  kept_operand kept() const { return *this; }
};
template <class T>
struct number_operand {
  T value;
  auto node() const { return as_node(value); }
  number_operand kept() const { return *this; }
};
/// In the place of an operand that the pullback does not read.
struct ignored_operand {
  auto node() const { return constant<int>{0}; }
  template <class X>
  void add(X const&) const {}
};
template <class Node>
struct passing_operand {
  Node x;
  Node const& node() const { return x; }
  ignored_operand kept() const { return {}; }
};

template <class>
inline constexpr bool is_traced_operand = false;
template <class V>
inline constexpr bool is_traced_operand<traced_operand<V>> = true;

/// An operand of an elementwise operation or a reduction. Read: some pullback reads it.
template <bool Read, class X>
auto trace_operand(tape& t, X&& x) {
  using P = std::remove_cvref_t<X>;
  if constexpr (Traced<X>) {
    return traced_operand<plain_t<X>>{&x.variable()};
  } else if constexpr (Reduction<X>) {
    return trace_operand<Read>(t, plain(std::forward<X>(x)));
  } else if constexpr (Number<X>) {
    return number_operand<P>{x};
  } else if constexpr (!Read) {
    return passing_operand<node_t<X>>{as_node(std::forward<X>(x))};
  } else if constexpr (is_tensor<P>) {
    if constexpr (std::is_lvalue_reference_v<X>)
      return kept_operand<P>{t.keep(x)};
    else
      return kept_operand<P>{std::make_shared<P const>(std::move(x))};
  } else {
    auto value = eval(std::forward<X>(x));
    return kept_operand<decltype(value)>{std::make_shared<decltype(value) const>(std::move(value))};
  }
}
}  // namespace detail

/// eval of a traced value is itself: it is evaluated already, and stays traced.
template <Traced X>
std::remove_cvref_t<X> perform(op::eval, X const& x) {
  return x;
}

}  // namespace sla
