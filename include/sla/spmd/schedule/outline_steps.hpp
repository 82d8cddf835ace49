// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// More steps of outlines: shards in another order, steps that do not wait, and steps in other numbers. Other steps are in
// spmd/schedule/outline_operators.hpp, plans in dist/plan/redistribute.hpp.
#pragma once
#include <type_traits>
#include <utility>

#include <sla/spmd/schedule/outline_operators.hpp>

namespace sla {

/// Shards in another order.
template <detail::OrderOfShards Order, Outlined X>
constexpr auto perform(Order, X const& x) {
  using decided = detail::step_decision<Order, X>;
  decided::require();
  if constexpr (!decided::legal) {
    return x;
  } else {
    tensor_placement const before = operand_traits<X>::template value<typename decided::keys>.type, after = decided::found.type;
    scheduled_step s({step::convert, before.on[decided::axes[0]], before.on[decided::axes[0]]}, decided::axes[0]);
    bool first = true;
    for (int a = 0; a < before.axes; ++a) {
      bool named = false;
      for (int b : decided::axes) named = named || a == b;
      if (named && first)
        s.axis = static_cast<std::int8_t>(a);
      else if (named)
        s.act_with(a);
      first = first && !named;
      if (before.on[a] != after.on[a]) s.what = {step::permute_shards, before.on[a], after.on[a]};
    }
    return detail::after_step<typename X::local_type, typename decided::result>(x, s);
  }
}

/// The outline of a value that is being communicated.
template <Outlined Y>
class [[nodiscard]] pending_outline {
public:
  constexpr explicit pending_outline(Y y) : value_(std::move(y)), step_(value_.record().size() - 1) {}
  constexpr Y wait() && {
    value_.record().await(step_);
    return value_;
  }

private:
  Y value_;
  int step_;
};

/// A step that does not wait: the last one recorded goes on.
template <StepOn S, Outlined X, class... With>
constexpr auto perform(begin_step<S>, X const& x, With const&... with) {
  auto y = perform(S{}, x, with...);
  pending_outline<decltype(y)> out(y);
  y.record().leave_under_way();
  return out;
}

// ---- steps in other numbers

namespace detail {
template <class Local, class T>
struct outline_in;
template <class T, class E, class U>
struct outline_in<shape_only<T, E>, U> {
  using type = shape_only<U, E>;
};
template <class Local, class T>
using outline_in_t = typename outline_in<Local, T>::type;

} // namespace detail

template <StepOn S, class... Option, Outlined X>
constexpr auto perform(step_in<S, Option...>, X const& x) {
  using decided = detail::step_decision<S, X>;
  decided::require();
  if constexpr (!decided::legal) {
    return x;
  } else {
    using taken = detail::step_of_outline<S, X>;
    using From = typename taken::From;
    using To = typename taken::To;
    using Before = typename X::local_type;
    using After = typename taken::local_type;
    using In = typename X::value_type;
    using forward = detail::chosen_precision<detail::counts_as_reduction<S::how, From, To>, In, Option...>;
    using Wire = typename forward::wire_type;
    scheduled_step s = taken::value;
    static_cast<carried_bytes&>(s) = {detail::bytes_of<detail::outline_in_t<Before, Wire>>(), detail::bytes_of<detail::outline_in_t<After, Wire>>()};
    if constexpr (!std::is_same_v<typename From::dual, no_dual> && !std::is_same_v<typename To::dual, no_dual>) {
      constexpr step how_back = adjoint_of(taken::what).how;
      using backward = detail::backward_precision<detail::counts_as_reduction<how_back, typename To::dual, typename From::dual>,
                                                  typename forward::out_type, In, typename detail::backward_among<Option...>::type>;
      using Back = typename backward::wire_type;
      s.other_way_back = true;
      s.back = {detail::bytes_of<detail::outline_in_t<After, Back>>(), detail::bytes_of<detail::outline_in_t<Before, Back>>()};
    }
    return detail::after_step<detail::outline_in_t<After, typename forward::out_type>, typename decided::result>(x, s);
  }
}

} // namespace sla
