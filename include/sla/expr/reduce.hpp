// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions: statements of `fuse` that fold all elements of each item to a number. Elsewhere one converts, once, to its
// number. float adds up in double; the order is fixed, so reruns are bitwise equal.
#pragma once

#include <ostream>

#include <sla/expr/ops.hpp>
#include <sla/expr/statement.hpp>

namespace sla {

/// What becomes of the folded value at the end.
struct as_is {
  template <class A>
  SLA_HD static constexpr A apply(A a) {
    return a;
  }
};

/// Monoid-fold of the elements of x, then Finish. Made by `dot`, `norm`, `sum`, ... ; never an operand of an expression.
template <class Monoid, class X, class Finish = as_is>
struct [[nodiscard]] reduction {
  using statement_tag = void;
  using monoid_type = Monoid;
  using finish_type = Finish;
  using expression_type = X;
  using memory_type = typename X::memory_type;
  using accumulator_type = typename X::value_type;
  using result_type = decltype(Finish::apply(accumulator_type{}));
  static constexpr reach depth = X::depth;
  static constexpr int lanes = 8;

  X x;

  index_t total() const { return x.extents().total(); }
  template <class F>
  auto rebuild(F const& f) const {
    return reduction<Monoid, decltype(f(x)), Finish>{f(x)};
  }
  template <class F>
  void accesses(F&& f) const {
    x.accesses(f, false);
  }
  SLA_HD static accumulator_type identity() { return Monoid::template identity<accumulator_type>(); }

  /// Folds a span into one value per right-hand side; eight lanes, folded in a fixed order.
  SLA_HD void run(column_span s, accumulator_type* result) const {
    auto const tree = x;
    accumulator_type lane[lanes];
    for (int w = 0; w < lanes; ++w) lane[w] = identity();
    index_t e = s.first, const_end = s.first + s.count / lanes * lanes, end = s.first + s.count;
    for (; e < const_end; e += lanes)
      for (int w = 0; w < lanes; ++w) Monoid::fold(lane[w], tree.at(element{e + w, e + w, s.item}));
    for (int w = 0; e < end; ++e, ++w) Monoid::fold(lane[w], tree.at(element{e, e, s.item}));
    for (int width = lanes / 2; width > 0; width /= 2)
      for (int w = 0; w < width; ++w) Monoid::fold(lane[w], lane[w + width]);
    Monoid::fold(*result, lane[0]);
  }
  SLA_HD void run(row_span s, accumulator_type* result) const {
    if (s.rhs == 1) {
      run(column_span{s.first, s.count, s.item}, result);
    } else {
      auto const tree = x;
      detail::for_elements(s, [&](element e) { Monoid::fold(result[e.item - s.item], tree.at(e)); });
    }
  }

  /// The number, evaluated now.
  operator user_t<result_type>() && { return number_of(*this); }  // NOLINT: `double s = dot(x, y)` converts by intent
  template <class U>
  operator U() const& {  // NOLINT
    static_assert(always_false<U>,
                  "sla: a named reduction is not a number: write `double s = dot(x, y);` or `auto s = eval(dot(x, y));`");
    return U{};
  }
};

template <class R>
inline constexpr bool is_reduction = false;
template <class M, class X, class F>
inline constexpr bool is_reduction<reduction<M, X, F>> = true;
template <class R>
concept Reduction = is_reduction<std::remove_cvref_t<R>>;

namespace detail {
template <class Monoid, class Map, class Finish = as_is, class X>
auto reduce(X&& x) {
  using Mapped = unary<Map, node_t<X>>;
  return reduction<Monoid, Mapped, Finish>{Mapped{as_node(std::forward<X>(x))}};
}
} // namespace detail

template <Tensorial X, Tensorial Y>
auto perform(op::dot, X&& x, Y&& y) {
  auto node = detail::elementwise<op::inner>(std::forward<X>(x), std::forward<Y>(y), "dot(x, y)");
  return reduction<op::plus, decltype(node)>{std::move(node)};
}
template <Tensorial X>
auto perform(op::sum, X&& x) {
  return detail::reduce<op::plus, op::widen>(std::forward<X>(x));
}
template <Tensorial X>
auto perform(op::squared_norm, X&& x) {
  return detail::reduce<op::plus, op::widen_abs2>(std::forward<X>(x));
}
template <Tensorial X>
auto perform(op::norm, X&& x) {
  return detail::reduce<op::plus, op::widen_abs2, op::sqrt>(std::forward<X>(x));
}
template <Tensorial X>
auto perform(op::norm1, X&& x) {
  return detail::reduce<op::plus, op::widen_abs>(std::forward<X>(x));
}
template <Tensorial X>
auto perform(op::norm_inf, X&& x) {
  return detail::reduce<op::magnitude, op::widen_abs>(std::forward<X>(x));
}
template <Tensorial X>
auto perform(op::minimum, X&& x) {
  if constexpr (is_complex<typename node_t<X>::value_type>)
    return detail::reduce<op::minimum, op::widen_abs>(std::forward<X>(x));  // well-formed, to be refused by `min`
  else
    return detail::reduce<op::minimum, op::widen>(std::forward<X>(x));
}
template <Tensorial X>
auto perform(op::maximum, X&& x) {
  if constexpr (is_complex<typename node_t<X>::value_type>)
    return detail::reduce<op::maximum, op::widen_abs>(std::forward<X>(x));  // well-formed, to be refused by `max`
  else
    return detail::reduce<op::maximum, op::widen>(std::forward<X>(x));
}

/// sum of conj(x_i) y_i.
/// Law: equal extents. Cost: reads x and y once.
template <class X, class Y>
  requires Performs<op::dot, X, Y>
auto dot(X&& x, Y&& y) {
  return perform(op::dot{}, std::forward<X>(x), std::forward<Y>(y));
}
template <class X>
  requires Performs<op::sum, X>
auto sum(X&& x) {
  return perform(op::sum{}, std::forward<X>(x));
}
/// sum of |x_i|^2.
template <class X>
  requires Performs<op::squared_norm, X>
auto squared_norm(X&& x) {
  return perform(op::squared_norm{}, std::forward<X>(x));
}
/// The root of sum |x_i|^2.
template <class X>
  requires Performs<op::norm, X>
auto norm(X&& x) {
  return perform(op::norm{}, std::forward<X>(x));
}
/// sum of |x_i|.
template <class X>
  requires Performs<op::norm1, X>
auto norm1(X&& x) {
  return perform(op::norm1{}, std::forward<X>(x));
}
/// max of |x_i|; 0 without elements.
template <class X>
  requires Performs<op::norm_inf, X>
auto norm_inf(X&& x) {
  return perform(op::norm_inf{}, std::forward<X>(x));
}
/// The smallest and the largest element; real tensors. Without elements: +infinity and -infinity.
template <class X>
  requires Performs<op::minimum, X>
auto(min)(X&& x) {
  if constexpr (Tensorial<X>)
    static_assert(!is_complex<typename node_t<X>::value_type>, "sla: min(x) of complex numbers: they have no order; take abs(x)");
  return perform(op::minimum{}, std::forward<X>(x));
}
template <class X>
  requires Performs<op::maximum, X>
auto(max)(X&& x) {
  if constexpr (Tensorial<X>)
    static_assert(!is_complex<typename node_t<X>::value_type>, "sla: max(x) of complex numbers: they have no order; take abs(x)");
  return perform(op::maximum{}, std::forward<X>(x));
}

// ---- arithmetic of reductions is arithmetic of their numbers -------------------------------------------------------------

namespace detail {
template <class X>
decltype(auto) plain(X&& x) {
  if constexpr (Reduction<X>) {
    static_assert(!std::is_lvalue_reference_v<X>,
                  "sla: a named reduction is not a number: write `double s = dot(x, y);` or `auto s = eval(dot(x, y));`");
    return number_of(x);
  } else {
    return std::forward<X>(x);
  }
}
template <class L, class R>
concept WithReduction = (Reduction<L> && (Operand<R> || Reduction<R>)) || (Operand<L> && Reduction<R>);
} // namespace detail

template <class L, class R>
  requires detail::WithReduction<L, R>
auto operator+(L&& l, R&& r) {
  return detail::plain(std::forward<L>(l)) + detail::plain(std::forward<R>(r));
}
template <class L, class R>
  requires detail::WithReduction<L, R>
auto operator-(L&& l, R&& r) {
  return detail::plain(std::forward<L>(l)) - detail::plain(std::forward<R>(r));
}
template <class L, class R>
  requires detail::WithReduction<L, R>
auto operator*(L&& l, R&& r) {
  return detail::plain(std::forward<L>(l)) * detail::plain(std::forward<R>(r));
}
template <class L, class R>
  requires detail::WithReduction<L, R>
auto operator/(L&& l, R&& r) {
  return detail::plain(std::forward<L>(l)) / detail::plain(std::forward<R>(r));
}
template <Reduction R>
auto operator-(R&& r) {
  return -detail::plain(std::forward<R>(r));
}
template <class L, class R>
  requires detail::WithReduction<L, R>
bool operator==(L&& l, R&& r) {
  return detail::plain(std::forward<L>(l)) == detail::plain(std::forward<R>(r));
}
template <class L, class R>
  requires detail::WithReduction<L, R>
auto operator<=>(L&& l, R&& r) {
  return detail::plain(std::forward<L>(l)) <=> detail::plain(std::forward<R>(r));
}

/// So are functions of them: `real(dot(x, y))`.
template <class Op, Reduction R>
  requires(is_elementwise<Op> && requires(typename std::remove_cvref_t<R>::result_type a) { Op::apply(a); })
auto perform(Op, R&& r) {
  auto const value = Op::apply(to_kernel(detail::plain(std::forward<R>(r))));
  return user_t<std::remove_const_t<decltype(value)>>(value);
}

/// Prints the number: `std::cout << norm(r)`.
template <class Char, class Traits, Reduction R>
std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, R&& r) {
  return out << detail::plain(std::forward<R>(r));
}

} // namespace sla
