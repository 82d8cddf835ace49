// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives in other precisions: `reduce_scatter<"dp", Shard<0>>(g, wire<float>{})`, `all_gather<"dp">(w,
// wire<bfloat16>{}, out<float>{}, bwd<wire<float>>{})`. What travels and what comes out are named apart, forward and
// backward.
#pragma once

#include <type_traits>
#include <utility>

#include <sla/dist/step/collectives.hpp>
#include <sla/dist/step/steps_gradient.hpp>
#include <sla/spmd/step/precision.hpp>

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
} // namespace detail

/// A step in other precisions: what travels, what comes out, and the options of the backward pass.
template <class Step, class Wire, class Out, class Backward>
struct step_in {};

namespace detail {
template <step How, fixed_string Axis, class To, bool Insisted, int Dim, class Wire, class Out, class X>
auto stepped_in(X const& x) {
  if constexpr (!is_distributed<X>) {
    return stepped_in<How, Axis, To, Insisted, Dim, Wire, Out>(eval(x));
  } else {
    static_assert(
        is_tensor<local_of_t<X>> && std::floating_point<typename X::value_type>,
        "sla: wire<...>, out<...>: a step on tensors of real numbers; numbers by themselves travel as they are");
    require_step<How, X, Axis, To, Insisted>();
    constexpr int a = mesh_of_t<X>::template index<Axis>();
    if constexpr (legal_step<How, X, Axis, To, Insisted>) {
      auto [sent, layout] =
          take_step<How, placement_on_t<X, a>, To, one_axis<a>, Dim>(rounded<Wire>(x.local()), x.handle());
      auto local = rounded<Out>(sent);
      using List = typename replaced<a, To, placements_of_t<X>>::type;
      return typename distributed_with<decltype(local), mesh_of_t<X>, List>::type(std::move(local), std::move(layout));
    } else {
      return x;
    }
  }
}
} // namespace detail

template <StepOn S, class Wire, class Out, class Backward, class X>
requires DistributedExpr<X>
auto perform(step_in<S, Wire, Out, Backward>, X const& x) {
  return detail::stepped_in<S::how, S::axis, typename S::to, S::insisted, S::dim, Wire, Out>(x);
}
template <StepOn S, class Wire, class Out, class Backward, detail::TracedSteppable X>
auto perform(step_in<S, Wire, Out, Backward>, X const& x) {
  constexpr step How = S::how;
  using To = typename S::to;
  using From = placement_along_t<plain_t<X>, S::axis>;
  using In = typename plain_t<X>::value_type;
  constexpr step back = detail::adjoint_step<How, From, To>;
  using P = detail::backward_precision<detail::counts_as_reduction<back, dual_t<To>, dual_t<From>>, Out, In, Backward>;
  constexpr bool narrow = sizeof(In) < 4 || sizeof(Wire) < 4 || sizeof(Out) < 4;
  using Facts = detail::type_list<wire<Wire>, out<Out>, operand_is<0, From>, on_axis<S::axis>>;
  if constexpr (detail::is_reduction(back) && narrow && !P::has_stated_wire) detail::refuse<code::narrow_reduction, Facts>();
  auto const step = [](auto const& d) {
    return detail::stepped_in<How, S::axis, To, S::insisted, S::dim, Wire, Out>(d);
  };
  auto rule = detail::linear_in(
      x,
      [](auto const&, auto const& g) {
        return detail::stepped_in<back, S::axis, dual_t<From>, true, S::dim, typename P::wire_type,
                                  typename P::out_type>(g);
      },
      [step](auto const&, auto const& d) { return step(d); });
  return detail::record(x.home(), step(x.value()), std::move(rule));
}

namespace detail {
template <step How, fixed_string Axis, class To, bool Insisted, int Dim, class... Option, class X>
auto step_with_options(X const& x) {
  using Value = stepping_t<X>;
  constexpr bool reduces = counts_as_reduction<How, placement_along_t<Value, Axis>, To>;
  using P = chosen_precision<reduces, typename Value::value_type, Option...>;
  constexpr bool storable = !std::is_same_v<typename P::out_type, bfloat16>;
  static_assert(storable, "sla: wire<bfloat16>: no tensor holds bfloat16; name what comes out too, out<float>");
  using Out = std::conditional_t<storable, typename P::out_type, float>;
  using Backward = typename backward_among<Option...>::type;
  constexpr step_in<step_on<How, Axis, To, Insisted, Dim>, typename P::wire_type, Out, Backward> to_take{};
  return perform(to_take, x);
}
} // namespace detail

// The collectives of dist/step/collectives.hpp with options wire<T>{}, out<T>{} and bwd<...>{}. What travels is: the wire's,
// else in a reduction the operand's, else the lower of operand and out. What comes out is: the out's, else the wire's,
// else the operand's. Gradient: by the options of bwd, nothing of the forward pass; it comes out as the operand is.
// Law: where anything is narrower than 32 bits and the backward pass reduces, bwd<wire<T>> says in what.

template <fixed_string Axis, Placement To = Replicate, Stepping X, detail::PrecisionOption... O>
requires(sizeof...(O) > 0) auto all_reduce(X const& x, O...) {
  return detail::step_with_options<step::all_reduce, Axis, To, false, 0, O...>(x);
}
template <fixed_string Axis, Placement To = Replicate, int Dim = 0, Stepping X, detail::PrecisionOption... O>
requires(sizeof...(O) > 0) auto all_gather(X const& x, O...) {
  return detail::step_with_options<step::all_gather, Axis, To, false, Dim, O...>(x);
}
template <fixed_string Axis, Placement To, int Dim = 0, Stepping X, detail::PrecisionOption... O>
requires(sizeof...(O) > 0) auto reduce_scatter(X const& x, O...) {
  return detail::step_with_options<step::reduce_scatter, Axis, To, false, Dim, O...>(x);
}
template <fixed_string Axis, Placement To, Stepping X, detail::PrecisionOption... O>
requires(sizeof...(O) > 0) auto all_to_all(X const& x, O...) {
  return detail::step_with_options<step::all_to_all, Axis, To, false, 0, O...>(x);
}
template <fixed_string Axis, Placement To, int Dim = 0, Stepping X, detail::PrecisionOption... O>
requires(sizeof...(O) > 0) auto convert(X const& x, O...) {
  return detail::step_with_options<step::convert, Axis, To, false, Dim, O...>(x);
}

} // namespace sla
