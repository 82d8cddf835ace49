// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of traced sparse tensors: `sum(A)`, `norm(A)`, `norm1(A)` and `norm_inf(A)`, one per batch item. Those of vectors are in
// grad/operation/traced_elementwise.hpp.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include <sla/expr/sparse/norms.hpp>
#include <sla/grad/operation/traced_sparse.hpp>

namespace sla {

namespace detail {
template <class Op>
concept SparseNorm = std::same_as<Op, op::norm> || std::same_as<Op, op::norm1> || std::same_as<Op, op::norm_inf>;

/// The number of a batch item, of a tensor of them or of the one that there is.
template <class Y>
auto number_of_item(Y const& y, index_t item) {
  if constexpr (is_tensor<Y>)
    return y.data()[item];
  else
    return y;
}

/// The values that a norm y of A hands to the entries of A: g A / y, or g A / |A| in the rows, or columns, whose sum is the largest;
/// where several are, they share g equally. 0 is the subgradient of |a| at 0, and of the norm of zeros. sums: those of |a| over rows or columns;
/// everywhere(ties) is how many are the largest of an item, where others have some of its rows or columns too.
template <class Op, class A, class Y, class G, class R, class Everywhere>
auto norm_contribution(A const& a, Y const& y, G const& g, std::vector<R> const& sums, Everywhere const& everywhere) {
  constexpr bool columns = std::same_as<Op, op::norm1>;
  using S = typename A::shape_type;
  tensor<R, std::conditional_t<columns, domain_extents_t<S>, range_extents_t<S>>> weights([&] {
    if constexpr (columns)
      return a.domain();
    else
      return a.range();
  }());
  index_t const items = a.batch_count(), side = items > 0 ? weights.size() / items : 0;
  for (index_t b = 0; b < items; ++b) {
    R const number = R(number_of_item(y, b)), share = R(number_of_item(g, b));
    std::span<R> const of_item(weights.data() + b * side, std::size_t(side));
    if constexpr (std::same_as<Op, op::norm>) {
      std::ranges::fill(of_item, number > 0 ? share / number : R{});
    } else {
      std::span<R const> const lines(sums.data() + b * side, std::size_t(side));
      index_t const ties = everywhere(index_t(std::ranges::count(lines, number)));
      std::ranges::transform(lines, of_item.begin(), [&](R line) { return line == number ? share / R(ties) : R{}; });
    }
  }
  if constexpr (std::same_as<Op, op::norm>)
    return values(scale_rows(a, weights));
  else
    return values(scaled_by<!columns>(with_values(a, contribution<op::abs, 0>(values(a), as_node(R(1)))), weights));
}
template <class Op, class A, class Y, class G>
auto norm_contribution(A const& a, Y const& y, G const& g) {
  std::vector<decltype(op::widen_abs::apply(kernel_t<typename A::value_type>{}))> sums;
  if constexpr (!std::same_as<Op, op::norm>) sums = absolute_sums<std::same_as<Op, op::norm_inf>>(a);
  return norm_contribution<Op>(a, y, g, sums, [](index_t ties) { return ties; });
}
/// Re (slope, d) of each item, where the former has the values of the derivative of a real number by the entries of d.
template <class Number, class D, class Values>
std::vector<Number> slopes_along(D const& d, Values const& values) {
  auto const slope = with_values(d, values);
  std::vector<Number> out;
  for (index_t b = 0; b < d.batch_count(); ++b) {
    auto const c = item_values(slope, b);
    auto const t = item_values(d, b);
    out.push_back(sum(binary<real_pairing, std::remove_const_t<decltype(c)>, std::remove_const_t<decltype(t)>>{c, t}));
  }
  return out;
}
/// g for all entries of its batch item.
template <class A, class G>
auto sum_contribution(A const& a, G const& g) {
  using N = decltype(number_of_item(g, 0));
  vector<N> out(Extents<dyn>(a.values().size()), uninitialized);
  for (index_t b = 0; b < a.batch_count(); ++b) std::fill_n(out.data() + b * a.batch_stride(), a.batch_stride(), number_of_item(g, b));
  return out;
}
} // namespace detail

template <detail::TracedMatrix A>
auto perform(op::sum, A const& a) {
  auto const& owner = detail::evaluated_sparse(a);
  auto const m = detail::operand_of(owner);
  return record(a.home(), sum(m.value()),
                        linear_in(
                            m, [m](auto const&, auto const& g) { return detail::sum_contribution(m.value(), g); },
                            [](auto const&, auto const& d) { return sum(d); }));
}
/// Errors: value_error, if A stores some places twice.
template <detail::SparseNorm Op, detail::TracedMatrix A>
auto perform(Op op, A const& a) {
  auto const& owner = detail::evaluated_sparse(a);
  auto const m = detail::operand_of(owner);
  detail::require_single_entries(m.value());
  auto const push = [m](auto const& y, auto const& d) {
    return detail::number_per_item(d.shape(), detail::slopes_along<decltype(detail::number_of_item(y, 0))>(d, detail::norm_contribution<Op>(m.value(), y, 1.0)));
  };
  return record(a.home(), detail::as_number(perform(op, m.value())),
                        linear_in(m, [m](auto const& y, auto const& g) { return detail::norm_contribution<Op>(m.value(), y, g); }, push));
}

/// Refused, as of plain sparse tensors.
template <detail::TracedMatrix A>
auto squared_norm(A const& a) {
  static_assert(always_false<A>, "sla: squared_norm(A) of a sparse tensor: squared_norm(values(A)), and norm(A) is its root");
  return norm(a);
}

/// The cotangent of A where y is its sum, or its norm, one number per batch item.
template <SparseOwner A, class G>
auto vjp(op::sum, A const& a, G const& g) {
  return std::tuple{detail::collected(a, detail::sum_contribution(a, g))};
}
template <detail::SparseNorm Op, SparseOwner A, class G>
auto vjp(Op op, A const& a, G const& g) {
  return std::tuple{detail::collected(a, detail::norm_contribution<Op>(a, perform(op, a), g))};
}

} // namespace sla
