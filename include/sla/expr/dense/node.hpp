// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nodes: small trees of views that say what to compute, element by element. An lvalue operand is viewed, an rvalue owner
// is moved in (`held_tensor`); evaluation lowers the tree to trivially copyable views. Products of sparse tensors: expr/sparse/product.hpp.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <sla/core/op.hpp>
#include <sla/core/shape.hpp>
#include <sla/expr/dense/access.hpp>
#include <sla/expr/dense/law.hpp>
#include <sla/tensor/storage/dense.hpp>

namespace sla {

/// Where a tree is evaluated: the linear position in the result, the same without its right-hand side axis, and the item
/// (a batch item or right-hand side, as the space counts them) whose scalars are meant.
struct element {
  index_t at, row, item;
  /// `row`, where right-hand sides lie side by side, of a pass that takes them for columns of one block too.
  SLA_HD index_t row_among(index_t rhs) const { return row != at ? row : at / rhs; }
};

/// How far a node looks: at its own element, at all of its row, at other rows, or at the whole operand at once.
enum class reach { pointwise, row, gather, whole };

/// How the elements of a result are laid out for a pass: (batch, rows, inner), where inner = block x right-hand sides.
struct frame {
  index_t batch = 1, rows = 0, inner = 1, rhs = 1;
  SLA_HD constexpr index_t total() const { return batch * rows * inner; }
  SLA_HD constexpr index_t items() const { return batch * rhs; }
  constexpr bool operator==(frame const&) const = default;
};
/// A frame of one item, known when compiled.
struct column_frame : frame {};

/// A node has `value_type`, `extents()`, `at(element)`, a `depth` of reach, its accesses, and `rebuild(f)`: itself over f(child).
/// One with a faster way to compute a run of rows offers `store(span, out)` too, which writes the elements of the span from `out` on.
template <class X>
concept Node = Expression<X>;

// ---- leaves -----------------------------------------------------------------------------------------------------------

/// The elements of a tensor in memory.
template <class T, class E, class Memory>
struct tensor_view {
  using expression_tag = void;
  using value_type = T;
  using extents_type = E;
  using memory_type = Memory;
  static constexpr reach depth = reach::pointwise;

  T const* data;
  E shape;

  SLA_HD E const& extents() const { return shape; }
  SLA_HD T at(element e) const { return data[e.at]; }
  /// As of a tensor, to read: `values(A)[k]`.
  user_t<T> operator[](index_t n) const
    requires(Memory::is_host)
  {
    if (SLA_CHECKED && (n < 0 || n >= shape.total())) detail::refuse_index(text("element ", n), text("a tensor of ", to_string(shape)), n, shape.total());
    return scalar_cast<user_t<T>>(data[n]);
  }
  user_t<T> operator()(index_t n) const
    requires(Memory::is_host && E::rank == 1)
  {
    return (*this)[n];
  }
  template <class F>
  tensor_view rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&& f, bool elsewhere) const {
    f(memory_access{data, shape.total() * index_t(sizeof(T)), elsewhere, false});
  }
};

/// The same values for all right-hand sides: element e reads at e without its last axis.
template <class T, class E, class Memory>
struct broadcast_view : tensor_view<T, E, Memory> {
  SLA_HD T at(element e) const { return this->data[e.row]; }
  template <class F>
  broadcast_view rebuild(F const&) const {
    return *this;
  }
  index_t elements = 0;  ///< of the tensor that is read
  frame place{};         ///< the rows and right-hand sides that it is spread over
  frame layout() const { return place; }
  template <class F>
  void accesses(F&& f, bool elsewhere) const {
    f(memory_access{this->data, elements * index_t(sizeof(T)), elsewhere, false});
  }
};

/// The same in passes that take right-hand sides for columns of one item too.
template <class T, class E, class Memory>
struct broadcast_over_columns : broadcast_view<T, E, Memory> {
  SLA_HD T at(element e) const { return this->data[e.row_among(this->place.rhs)]; }
  template <class F>
  broadcast_over_columns rebuild(F const&) const {
    return *this;
  }
};

/// One number for all elements.
template <class T>
struct constant {
  using expression_tag = void;
  using value_type = T;
  using extents_type = no_extents;
  using memory_type = any_memory;
  static constexpr reach depth = reach::pointwise;

  T value;

  SLA_HD no_extents extents() const { return {}; }
  SLA_HD T at(element) const { return value; }
  SLA_HD T const& refer(element) const { return value; }
  template <class F>
  constant rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&&, bool) const {}
};

/// One number per item, in the memory of a space (exec/space_scalar.hpp).
template <class T, class Memory>
struct per_item {
  using expression_tag = void;
  using value_type = T;
  using extents_type = no_extents;
  using memory_type = Memory;
  static constexpr reach depth = reach::pointwise;

  T const* value;

  SLA_HD no_extents extents() const { return {}; }
  SLA_HD T at(element e) const { return value[e.item]; }
  SLA_HD T const& refer(element e) const { return value[e.item]; }
  template <class F>
  per_item rebuild(F const&) const {
    return *this;
  }
  template <class F>
  void accesses(F&&, bool) const {}
};

/// The number of one item, where it is.
template <class T, class Memory>
struct of_item : per_item<T, Memory> {
  SLA_HD T at(element) const { return *this->value; }
  SLA_HD T const& refer(element) const { return *this->value; }
  template <class F>
  of_item rebuild(F const&) const {
    return *this;
  }
};

template <class T, class E, class Memory>
tensor_view<kernel_t<T>, E, Memory> view(tensor<T, E, Memory> const& x SLA_LIFETIMEBOUND) {
  return {kernel_pointer(x.data()), x.extents()};
}

/// An owner that was moved into the expression; lowering views it.
template <class Owner>
struct held_tensor {
  using expression_tag = void;
  using value_type = kernel_t<typename Owner::value_type>;
  using extents_type = typename Owner::extents_type;
  using memory_type = typename Owner::memory_type;
  static constexpr reach depth = reach::pointwise;

  Owner owner;

  SLA_HD auto const& extents() const { return owner.extents(); }
  template <class F>
  auto rebuild(F const&) const {
    return view(owner);
  }
};

// ---- inner nodes ------------------------------------------------------------------------------------------------------

namespace detail {
/// What a condition of many elements says where one answer is wanted.
template <class Op>
constexpr bool refuse_as_bool() {
  static_assert(always_false<Op>, "sla: a condition has an answer for each element: any(x > 0.5) or all(x > 0.5) is one, where(x > 0.5, x, y) takes each");
  return false;
}
} // namespace detail

/// Op::apply(x) for each element.
template <class Op, class X>
struct unary {
  using expression_tag = void;
  using value_type = decltype(Op::apply(std::declval<typename X::value_type>()));
  using extents_type = typename X::extents_type;
  using memory_type = typename X::memory_type;
  static constexpr reach depth = X::depth;

  X x;

  SLA_HD auto extents() const { return x.extents(); }
  SLA_HD value_type at(element e) const { return Op::apply(x.at(e)); }
  explicit operator bool() const
    requires std::derived_from<Op, op::condition>
  {
    return detail::refuse_as_bool<Op>();
  }
  template <class F>
  auto rebuild(F const& f) const {
    return unary<Op, decltype(f(x))>{f(x)};
  }
  template <class F>
  void accesses(F&& f, bool elsewhere) const {
    x.accesses(f, elsewhere);
  }
};

/// Op::apply(l, r) for each element.
template <class Op, class L, class R>
struct binary {
  using expression_tag = void;
  using value_type = decltype(Op::apply(std::declval<typename L::value_type>(), std::declval<typename R::value_type>()));
  using extents_type = common_extents_t<typename L::extents_type, typename R::extents_type>;
  using memory_type = common_memory_t<typename L::memory_type, typename R::memory_type>;
  static constexpr reach depth = L::depth > R::depth ? L::depth : R::depth;

  L l;
  R r;

  SLA_AS_CALLEE
  SLA_HD extents_type extents() const { return common_extents(l.extents(), r.extents()); }
  SLA_HD value_type at(element e) const { return Op::apply(l.at(e), r.at(e)); }
  explicit operator bool() const
    requires std::derived_from<Op, op::condition>
  {
    return detail::refuse_as_bool<Op>();
  }
  template <class F>
  auto rebuild(F const& f) const {
    return binary<Op, decltype(f(l)), decltype(f(r))>{f(l), f(r)};
  }
  template <class F>
  void accesses(F&& f, bool elsewhere) const {
    l.accesses(f, elsewhere);
    r.accesses(f, elsewhere);
  }
};

// ---- operands: what may stand in an expression, found by ADL ------------------------------------------------------------

template <class T, class E, class Memory>
auto as_node(tensor<T, E, Memory>& x SLA_LIFETIMEBOUND) {
  return view(x);
}
template <class T, class E, class Memory>
auto as_node(tensor<T, E, Memory> const& x SLA_LIFETIMEBOUND) {
  return view(x);
}
template <class T, class E, class Memory>
auto as_node(tensor<T, E, Memory>&& x) {
  return held_tensor<tensor<T, E, Memory>>{std::move(x)};
}
/// What a function returns as `const` cannot be moved: it is copied.
template <class T, class E, class Memory>
auto as_node(tensor<T, E, Memory> const&& x) {
  return held_tensor<tensor<T, E, Memory>>{x};
}
template <Expression X>
auto as_node(X&& x) {
  return std::remove_cvref_t<X>(std::forward<X>(x));
}
template <Number T>
auto as_node(T x) {
  return constant<kernel_t<T>>{kernel_t<T>(x)};
}

/// The node that X is in an expression.
template <class X>
using node_t = decltype(as_node(std::declval<X>()));
/// Anything that may stand in an expression, numbers included.
template <class X>
concept Operand = requires { as_node(std::declval<X>()); };
/// An operand that has elements: a tensor or an expression, not a plain number.
template <class X>
concept Tensorial = Operand<X> && !Number<X> && !std::same_as<typename node_t<X>::extents_type, no_extents>;

/// How operators take operands, so that clang warns where what they return outlives what it refers to: a tensor that has a name by
/// reference, for it is viewed; an expression, which refers to what it was made of, and a number by value; all else, such as a tensor
/// that is moved in, by a forwarding reference, which is not followed.
template <class X>
concept Viewed = is_tensor<std::remove_const_t<X>>;
/// See Viewed.
template <class X>
concept ByValue = Number<X> || Expression<X>;
/// See Viewed.
template <class X>
concept Forwarded = !(std::is_lvalue_reference_v<X> && Viewed<std::remove_reference_t<X>>) && !ByValue<std::remove_cvref_t<X>>;

namespace detail {
/// Numbers in a container that is no tensor, a std::vector for one: operators refuse it by a sentence of their own. A user's
/// linear operator is none.
template <class X>
concept ForeignNumbers = !Operand<X> && !requires { typename std::remove_cvref_t<X>::linear_operator_tag; } && requires(X const& x) {
  requires Scalar<std::remove_cvref_t<decltype(*x.data())>>;
  x.size();
};
} // namespace detail

// ---- maps over trees ----------------------------------------------------------------------------------------------------

/// The tree over views only: what kernels receive. The expression must outlive it.
struct lower_tree {
  template <class X>
  auto operator()(X const& x) const {
    return x.rebuild(*this);
  }
};
/// An expression as kernels see it: a trivially copyable tree of views.
template <class X>
using lowered_t = decltype(lower_tree{}(std::declval<X const&>()));

/// The tree for passes that take right-hand sides for columns of one item.
struct over_columns {
  template <class X>
  auto operator()(X const& x) const {
    return x.rebuild(*this);
  }
  template <class T, class E, class Memory>
  broadcast_over_columns<T, E, Memory> operator()(broadcast_view<T, E, Memory> const& x) const {
    return {x};
  }
};

/// The tree with the numbers of one item in place, so that inner loops see constants.
struct bind_item {
  index_t item;
  template <class T, class E, class Memory>
  broadcast_over_columns<T, E, Memory> operator()(broadcast_view<T, E, Memory> const& x) const {
    return {x};
  }
  template <class X>
  auto operator()(X const& x) const {
    return x.rebuild(*this);
  }
  template <class T, class Memory>
  auto operator()(per_item<T, Memory> const& x) const {
    if constexpr (sizeof(T) > 256)
      return of_item<T, Memory>{{x.value + item}};  // a small matrix is read where it is
    else
      return constant<T>{x.value[item]};
  }
};

namespace detail {
struct without_items {
  template <class X>
  auto operator()(X const& x) const {
    return x.rebuild(*this);
  }
  template <class T, class Memory>
  constant<T> operator()(per_item<T, Memory> const& x) const {
    return {*x.value};
  }
};
/// Has a tree of views numbers per item in it?
template <class X>
inline constexpr bool reads_items = !std::same_as<decltype(without_items{}(std::declval<X const&>())), X>;
} // namespace detail

} // namespace sla
