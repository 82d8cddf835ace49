// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives in other precisions: `reduce_scatter<"dp", Shard<0>>(g, wire<float>{})`, `all_gather<"dp">(w,
// wire<bfloat16>{}, out<float>{}, bwd<wire<float>>{})`. What travels and what comes out are named apart, forward and
// backward.
#pragma once

#include <type_traits>
#include <utility>

#include <sla/dist/step/collectives.hpp>
#include <sla/dist/step/steps_gradient.hpp>

namespace sla {

namespace detail {
/// A tensor of numbers that only travel.
template <class T, class E>
class carried_tensor {
public:
  using value_type = T;
  using extents_type = E;
  using memory_type = host_memory;
  static constexpr int rank = E::rank;

  explicit carried_tensor(E extents) : extents_(extents), values_(std::size_t(extents.total())) {}
  carried_tensor(E extents, uninitialized_t) : carried_tensor(extents) {}
  E const& extents() const { return extents_; }
  index_t extent(int d) const { return extents_[d]; }
  index_t size() const { return index_t(values_.size()); }
  T const* data() const { return values_.data(); }
  T* data() { return values_.data(); }

private:
  E extents_;
  std::vector<T> values_;
};
template <class T, class E, class F>
struct rebuilt<carried_tensor<T, E>, T, F> {
  using type = carried_tensor<T, F>;
};
template <class T, class U, class E>
struct in_numbers {
  using type = tensor<T, E>;
};
template <class U, class E>
struct in_numbers<bfloat16, U, E> {
  using type = carried_tensor<bfloat16, E>;
};

/// The same elements as other numbers.
template <class T, class Local>
requires(!requires { typename Local::value_type; }) T rounded(Local x) { return T(x); }
template <class T, class Local>
auto rounded(Local const& x) {
  using From = typename Local::value_type;
  if constexpr (std::is_same_v<T, From>) {
    return x;
  } else {
    typename in_numbers<T, From, typename Local::extents_type>::type y(x.extents(), uninitialized);
    std::transform(x.data(), x.data() + x.size(), y.data(), [](From v) { return T(v); });
    return y;
  }
}

template <class S, class Wire, class Out, class X>
auto stepped_in(X const& x) {
  if constexpr (!is_distributed<X>) {
    return stepped_in<S, Wire, Out>(eval(x));
  } else {
    static_assert(
        is_tensor<local_of_t<X>> && std::floating_point<typename X::value_type>,
        "sla: wire<...>, out<...>: a step on tensors of real numbers; numbers by themselves travel as they are");
    using decided = step_decision<S, X>;
    using Axes = typename S::axes::template on<mesh_of_t<X>>;
    decided::require();
    if constexpr (decided::legal) {
      auto [sent, layout] = take_step<S::how, typename decided::From, typename S::to, Axes, S::dim>(rounded<Wire>(x.local()), x.handle());
      auto local = rounded<Out>(sent);
      return typename distributed_with<decltype(local), mesh_of_t<X>, typename decided::result>::type(std::move(local), std::move(layout));
    } else {
      return x;
    }
  }
}
/// What the options say of a step on an X.
template <class S, class X, class... Option>
struct numbers_of_step {
  using From = placement_on_t<X, S::axes::template on<mesh_of_t<X>>::first>;
  using In = typename X::value_type;
  using chosen = chosen_precision<counts_as_reduction<S::how, From, typename S::to>, In, Option...>;
  using wire_type = typename chosen::wire_type;
  static constexpr bool storable = !std::is_same_v<typename chosen::out_type, bfloat16>;
  static_assert(storable, "sla: wire<bfloat16>: no tensor holds bfloat16; name what comes out too, out<float>");
  using out_type = std::conditional_t<storable, typename chosen::out_type, float>;
};
} // namespace detail

// Law: where anything is narrower than 32 bits and the backward pass reduces, bwd<wire<T>> says in what.
template <StepOn S, class... Option, class X>
requires DistributedExpr<X>
auto perform(step_in<S, Option...>, X const& x) {
  using P = detail::numbers_of_step<S, X, Option...>;
  return detail::stepped_in<S, typename P::wire_type, typename P::out_type>(x);
}
template <StepOn S, class... Option, detail::TracedSteppable X>
auto perform(step_in<S, Option...>, X const& x) {
  using forward = detail::numbers_of_step<S, plain_t<X>, Option...>;
  using Wire = typename forward::wire_type;
  using Out = typename forward::out_type;
  using In = typename forward::In;
  using From = typename forward::From;
  using Back = detail::step_back<S, X>;
  using P = detail::backward_precision<detail::counts_as_reduction<Back::how, dual_t<typename S::to>, dual_t<From>>, Out, In,
                                       typename detail::backward_among<Option...>::type>;
  constexpr bool narrow = sizeof(In) < 4 || sizeof(Wire) < 4 || sizeof(Out) < 4;
  constexpr auto name = S::axis;
  using Facts = detail::type_list<wire<Wire>, out<Out>, operand_is<0, From>, on_axis<name>>;
  if constexpr (detail::is_reduction(Back::how) && narrow && !P::has_stated_wire) detail::refuse<code::narrow_reduction, Facts>();
  auto rule = linear_in(
      x,
      [](auto const&, auto const& g) { return detail::stepped_in<Back, typename P::wire_type, typename P::out_type>(g); },
      [](auto const&, auto const& d) { return detail::stepped_in<S, Wire, Out>(d); });
  return record(x.home(), detail::stepped_in<S, Wire, Out>(x.value()), std::move(rule));
}

} // namespace sla
