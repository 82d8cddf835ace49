// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions: `dot(x, y)`, `norm(x)`, `sum(x)`, ... are numbers, evaluated at once; `dot_of(x, y)`, ... the same as statements of
// `fuse`, that fold all elements of each item. float adds up in double; the order is fixed, so reruns are bitwise equal.
#pragma once

#include <sla/expr/dense/ops.hpp>
#include <sla/expr/dense/statement.hpp>

namespace sla {

/// What becomes of the folded value at the end.
struct as_is {
  template <class A>
  SLA_HD static constexpr A apply(A a) {
    return a;
  }
};

/// Monoid-fold of the elements of x, then Finish: the statement that `dot_of`, `norm_of`, ... make.
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

  /// Refused, where a number is wanted: std::sqrt of it too.
  template <std::same_as<double> T>
  operator T() const {  // NOLINT: refused
    static_assert(always_false<T>, "sla: a number of a statement: dot_of(x, y), norm_of(x), sum_of(x), ... are statements of fuse, which returns their numbers; "
                                   "the numbers themselves are dot(x, y), norm(x), sum(x), ...");
    return 0;
  }

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

  /// Folds elements of an item into its value; eight lanes, folded in a fixed order.
  [[gnu::flatten]] SLA_HD void fold(index_t first, index_t count, index_t item, accumulator_type* result) const {
    auto const tree = x;
    constexpr std::make_integer_sequence<index_t, lanes> all{};
    accumulator_type lane[lanes];
    detail::written_out(all, [&](index_t w) { lane[w] = identity(); });
    index_t e = first, const_end = first + count / lanes * lanes, end = first + count;
    for (; e < const_end; e += lanes)
      detail::written_out(all, [&](index_t w) { Monoid::fold(lane[w], tree.at(element{e + w, e + w, item})); });
    if (e < end)
      detail::written_out(all, [&](index_t w) {
        if (e + w < end) Monoid::fold(lane[w], tree.at(element{e + w, e + w, item}));
      });
    detail::written_out(std::make_integer_sequence<index_t, 4>{}, [&](index_t w) { Monoid::fold(lane[w], lane[w + 4]); });
    detail::written_out(std::make_integer_sequence<index_t, 2>{}, [&](index_t w) { Monoid::fold(lane[w], lane[w + 2]); });
    Monoid::fold(lane[0], lane[1]);
    Monoid::fold(*result, lane[0]);
  }
  /// Folds a span into one value per right-hand side.
  SLA_HD void run(column_span s, accumulator_type* result) const { fold(s.first, s.count, s.item, result); }
  SLA_HD void run(row_span s, accumulator_type* result) const {
    if (s.rhs == 1) {
      fold(s.first, s.count, s.item, result);
    } else {
      auto const tree = x;
      detail::for_elements(s, [&](element e) { Monoid::fold(result[e.item - s.item], tree.at(e)); });
    }
  }
};

namespace detail {
template <class Monoid, class Map, class Finish = as_is, class X>
auto reduce(X&& x) {
  using Mapped = unary<Map, node_t<X>>;
  return reduction<Monoid, Mapped, Finish>{Mapped{as_node(std::forward<X>(x))}};
}

template <class Op>
concept OfOneTensor = std::same_as<Op, op::sum> || std::same_as<Op, op::squared_norm> || std::same_as<Op, op::norm> || std::same_as<Op, op::norm1> ||
                      std::same_as<Op, op::norm_inf> || std::same_as<Op, op::minimum> || std::same_as<Op, op::maximum>;
template <class Op>
inline constexpr bool is_of_entries = std::same_as<Op, op::sum> || std::same_as<Op, op::squared_norm> || std::same_as<Op, op::norm> || std::same_as<Op, op::norm1> || std::same_as<Op, op::norm_inf>;
template <class Op, class... A>
auto number_of_entries(A const&... a);
/// The statement of a reduction, by the operation that is asked for; of operands that are no tensors what is performed on them.
template <class Op, class X>
auto reduction_for(X&& x) {
  if constexpr (is_of_entries<Op> && is_plain_entries<std::remove_cvref_t<X>>) {
    return number_of_entries<Op>(x);
  } else if constexpr (!Tensorial<X>) {
    return perform(Op{}, std::forward<X>(x));
  } else if constexpr (std::same_as<Op, op::sum>) {
    return reduce<op::plus, op::widen>(std::forward<X>(x));
  } else if constexpr (std::same_as<Op, op::squared_norm>) {
    return reduce<op::plus, op::widen_abs2>(std::forward<X>(x));
  } else if constexpr (std::same_as<Op, op::norm>) {
    return reduce<op::plus, op::widen_abs2, op::sqrt>(std::forward<X>(x));
  } else if constexpr (std::same_as<Op, op::norm1>) {
    return reduce<op::plus, op::widen_abs>(std::forward<X>(x));
  } else if constexpr (std::same_as<Op, op::norm_inf>) {
    return reduce<op::magnitude, op::widen_abs>(std::forward<X>(x));
  } else {
    constexpr bool has_order = !is_complex<typename node_t<X>::value_type>;  // else well-formed, to be refused by `min` and `max`
    return reduce<Op, std::conditional_t<has_order, op::widen, op::widen_abs>>(std::forward<X>(x));
  }
}
template <class Op, class X, class Y>
auto reduction_for(X&& x, Y&& y) {
  if constexpr (Tensorial<X> && Tensorial<Y>) {
    auto node = elementwise<op::inner>(std::forward<X>(x), std::forward<Y>(y), "dot(x, y)");
    return reduction<op::plus, decltype(node)>{std::move(node)};
  } else if constexpr (is_plain_entries<std::remove_cvref_t<X>> && is_plain_entries<std::remove_cvref_t<Y>>) {
    return number_of_entries<Op>(x, y);
  } else {
    return perform(Op{}, std::forward<X>(x), std::forward<Y>(y));
  }
}
} // namespace detail

/// For text that has Op as a parameter.
template <detail::OfOneTensor Op, Tensorial X>
auto perform(Op, X&& x) {
  return detail::reduction_for<Op>(std::forward<X>(x));
}
template <Tensorial X, Tensorial Y>
auto perform(op::dot, X&& x, Y&& y) {
  return detail::reduction_for<op::dot>(std::forward<X>(x), std::forward<Y>(y));
}

namespace detail {
/// What was performed as what it amounts to; the norm of a sparse tensor is a number already.
template <class X>
auto as_number(X x) {
  if constexpr (Number<X>)
    return x;
  else
    return eval(std::move(x));
}
/// The norm of a node whose squares may leave the range of double: of the elements times a power of two, which rounds nothing.
template <class X>
auto norm_scaled(X const& x, double scale) {
  return eval(reduce<op::plus, op::widen_abs2, op::sqrt>(scale * x)) / scale;
}
/// Complex numbers have no order.
template <class X>
constexpr void require_order() {
  if constexpr (Tensorial<X>)
    static_assert(!is_complex<typename node_t<X>::value_type>, "sla: min(x) and max(x) of complex numbers: they have no order; take abs(x)");
}
} // namespace detail

// ---- numbers, evaluated now: those of the scalar type, traced of traced operands, placed on ranks. Reductions of float are double.

/// sum of conj(x_i) y_i.
/// Law: equal extents. Cost: reads x and y once.
template <class X, class Y>
  requires Takes<op::dot, X, Y>
[[nodiscard]] auto dot(X&& x, Y&& y) {
  return detail::as_number(detail::reduction_for<op::dot>(std::forward<X>(x), std::forward<Y>(y)));
}
/// sum of x_i.
template <class X>
  requires Takes<op::sum, X>
[[nodiscard]] auto sum(X&& x) {
  return detail::as_number(detail::reduction_for<op::sum>(std::forward<X>(x)));
}
/// sum(x) over the number of elements; of none NaN.
template <class X>
  requires(Takes<op::sum, X> && requires(X const& x) { x.extents().total(); })
[[nodiscard]] auto mean(X&& x) {
  double const count = double(x.extents().total());
  return sum(std::forward<X>(x)) / count;
}
/// sum of |x_i|^2.
template <class X>
  requires Takes<op::squared_norm, X>
[[nodiscard]] auto squared_norm(X&& x) {
  return detail::as_number(detail::reduction_for<op::squared_norm>(std::forward<X>(x)));
}
/// The root of sum |x_i|^2. Cost: reads x once; twice where that is below 1e-140, 0 too, or above 1e150, since the squares of such
/// elements are no doubles (`norm_of` squares them all the same).
template <class X>
  requires Takes<op::norm, X>
[[nodiscard]] auto norm(X&& x) {
  if constexpr (Tensorial<X>) {
    auto const r = detail::reduction_for<op::norm>(std::forward<X>(x));
    auto const n = eval(r);
    if constexpr (std::same_as<real_t<typename node_t<X>::value_type>, double>) {
      if (n < 1e-140) return detail::norm_scaled(r.x.x, 0x1p600);
      if (n > 1e150) return detail::norm_scaled(r.x.x, 0x1p-600);
    }
    return n;
  } else {
    return detail::as_number(detail::reduction_for<op::norm>(std::forward<X>(x)));
  }
}
/// sum of |x_i|.
template <class X>
  requires Takes<op::norm1, X>
[[nodiscard]] auto norm1(X&& x) {
  return detail::as_number(detail::reduction_for<op::norm1>(std::forward<X>(x)));
}
/// max of |x_i|; 0 without elements.
template <class X>
  requires Takes<op::norm_inf, X>
[[nodiscard]] auto norm_inf(X&& x) {
  return detail::as_number(detail::reduction_for<op::norm_inf>(std::forward<X>(x)));
}
/// The smallest and the largest element; real tensors. Without elements: +infinity and -infinity.
template <class X>
  requires Takes<op::minimum, X>
[[nodiscard]] auto (min)(X&& x) {
  detail::require_order<X>();
  return detail::as_number(detail::reduction_for<op::minimum>(std::forward<X>(x)));
}
/// The largest element; real tensors. Without elements: -infinity.
template <class X>
  requires Takes<op::maximum, X>
[[nodiscard]] auto (max)(X&& x) {
  detail::require_order<X>();
  return detail::as_number(detail::reduction_for<op::maximum>(std::forward<X>(x)));
}

// ---- the same as statements of `fuse`, which returns their numbers

/// The statement of `dot(x, y)`.
template <class X, class Y>
  requires Takes<op::dot, X, Y>
[[nodiscard]] auto dot_of(X&& x, Y&& y) {
  return detail::reduction_for<op::dot>(std::forward<X>(x), std::forward<Y>(y));
}
template <Viewed X, Viewed Y>
[[nodiscard]] auto dot_of(X& x SLA_LIFETIMEBOUND, Y& y SLA_LIFETIMEBOUND) { return detail::reduction_for<op::dot>(x, y); }
template <Viewed X, ByValue Y>
  requires Tensorial<Y>
[[nodiscard]] auto dot_of(X& x SLA_LIFETIMEBOUND, Y y SLA_LIFETIMEBOUND) { return detail::reduction_for<op::dot>(x, std::move(y)); }
template <ByValue X, Viewed Y>
  requires Tensorial<X>
[[nodiscard]] auto dot_of(X x SLA_LIFETIMEBOUND, Y& y SLA_LIFETIMEBOUND) { return detail::reduction_for<op::dot>(std::move(x), y); }
/// The statement of `sum(x)`.
template <class X>
  requires Takes<op::sum, X>
[[nodiscard]] auto sum_of(X&& x) {
  return detail::reduction_for<op::sum>(std::forward<X>(x));
}
template <Viewed X>
[[nodiscard]] auto sum_of(X& x SLA_LIFETIMEBOUND) { return detail::reduction_for<op::sum>(x); }
/// The statement of `squared_norm(x)`.
template <class X>
  requires Takes<op::squared_norm, X>
[[nodiscard]] auto squared_norm_of(X&& x) {
  return detail::reduction_for<op::squared_norm>(std::forward<X>(x));
}
template <Viewed X>
[[nodiscard]] auto squared_norm_of(X& x SLA_LIFETIMEBOUND) { return detail::reduction_for<op::squared_norm>(x); }
/// The statement of `norm(x)`.
template <class X>
  requires Takes<op::norm, X>
[[nodiscard]] auto norm_of(X&& x) {
  return detail::reduction_for<op::norm>(std::forward<X>(x));
}
template <Viewed X>
[[nodiscard]] auto norm_of(X& x SLA_LIFETIMEBOUND) { return detail::reduction_for<op::norm>(x); }
/// The statement of `norm1(x)`.
template <class X>
  requires Takes<op::norm1, X>
[[nodiscard]] auto norm1_of(X&& x) {
  return detail::reduction_for<op::norm1>(std::forward<X>(x));
}
template <Viewed X>
[[nodiscard]] auto norm1_of(X& x SLA_LIFETIMEBOUND) { return detail::reduction_for<op::norm1>(x); }
/// The statement of `norm_inf(x)`.
template <class X>
  requires Takes<op::norm_inf, X>
[[nodiscard]] auto norm_inf_of(X&& x) {
  return detail::reduction_for<op::norm_inf>(std::forward<X>(x));
}
template <Viewed X>
[[nodiscard]] auto norm_inf_of(X& x SLA_LIFETIMEBOUND) { return detail::reduction_for<op::norm_inf>(x); }
/// min(x), by the name that minimum(x, y) has.
template <class X>
  requires Takes<op::minimum, X>
[[nodiscard]] auto minimum(X&& x) {
  return (min)(std::forward<X>(x));
}
/// max(x), by the name that maximum(x, y) has.
template <class X>
  requires Takes<op::maximum, X>
[[nodiscard]] auto maximum(X&& x) {
  return (max)(std::forward<X>(x));
}
/// The statement of `min(x)`.
template <class X>
  requires Takes<op::minimum, X>
[[nodiscard]] auto min_of(X&& x) {
  detail::require_order<X>();
  return detail::reduction_for<op::minimum>(std::forward<X>(x));
}
/// The statement of `max(x)`.
template <class X>
  requires Takes<op::maximum, X>
[[nodiscard]] auto max_of(X&& x) {
  detail::require_order<X>();
  return detail::reduction_for<op::maximum>(std::forward<X>(x));
}

} // namespace sla
