// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which numbers travel and which come out of a step: the options wire<T>, out<T> and bwd<...>, and what they choose. The steps
// are in dist/step/precision_steps.hpp.
#pragma once
#include <type_traits>

#include <sla/core/bfloat16.hpp>
#include <sla/spmd/step/transition.hpp>

namespace sla {

/// The numbers that travel, in which reductions are made: double, float or bfloat16.
template <class T>
struct wire {
  static_assert(std::is_same_v<T, double> || std::is_same_v<T, float> || std::is_same_v<T, bfloat16>,
                "sla: wire<T>: numbers travel as double, float or bfloat16");
};
/// The numbers of the result: double or float. Without it they are those that travel, else those that came in.
template <class T>
struct out {
  static_assert(std::is_same_v<T, double> || std::is_same_v<T, float>, "sla: out<T>: tensors hold double or float");
};
/// The same of the backward pass: `bwd<wire<float>>`. Without it gradients travel as they are, and come out as the
/// operand is.
template <class... Options>
struct bwd {};

namespace detail {
template <class Option>
struct precision_option {
  static constexpr bool known = false;
};
template <class T>
struct precision_option<wire<T>> {
  static constexpr bool known = true;
  using wire_type = T;
};
template <class T>
struct precision_option<out<T>> {
  static constexpr bool known = true;
  using out_type = T;
};
template <class... O>
struct precision_option<bwd<O...>> {
  static constexpr bool known =
      ((precision_option<O>::known && !requires { typename precision_option<O>::backward; }) && ...);
  using backward = bwd<O...>;
};
template <class Option>
concept PrecisionOption = precision_option<Option>::known;

/// The T of the first Kind<T> among the options; void without one.
template <template <class> class Kind, class... Option>
struct stated_number {
  using type = void;
};
template <template <class> class Kind, class First, class... Rest>
struct stated_number<Kind, First, Rest...> : stated_number<Kind, Rest...> {};
template <template <class> class Kind, class T, class... Rest>
struct stated_number<Kind, Kind<T>, Rest...> {
  using type = T;
};
template <class... Option>
struct backward_among {
  using type = bwd<>;
};
template <class First, class... Rest>
struct backward_among<First, Rest...> : backward_among<Rest...> {};
template <class... O, class... Rest>
struct backward_among<bwd<O...>, Rest...> {
  using type = bwd<O...>;
};

template <class A, class B>
using lower_precision = std::conditional_t<(sizeof(A) < sizeof(B)), A, B>;

/// What travels and what comes out of a step on numbers of type In, as the options say.
template <bool Reduces, class In, class... Option>
struct chosen_precision {
  using requested_wire = typename stated_number<wire, Option...>::type;
  using requested_out = typename stated_number<out, Option...>::type;
  static constexpr bool has_wire = !std::is_void_v<requested_wire>, has_out = !std::is_void_v<requested_out>;
  using other_out = std::conditional_t<has_out, requested_out, In>;
  using wire_type = std::conditional_t<has_wire, requested_wire,
                                       std::conditional_t<Reduces || !has_out, In, lower_precision<In, other_out>>>;
  using out_type = std::conditional_t<has_out, requested_out, wire_type>;
};
/// Of a backward pass: as asked, and out of it come numbers as the operand's.
template <bool Reduces, class In, class Operand, class Backward>
struct backward_precision;
template <bool Reduces, class In, class Operand, class... O>
struct backward_precision<Reduces, In, Operand, bwd<O...>> : chosen_precision<Reduces, In, O..., out<Operand>> {
  static constexpr bool has_stated_wire = !std::is_void_v<typename stated_number<wire, O...>::type>;
};

constexpr bool is_reduction(step how) { return how == step::all_reduce || how == step::reduce_scatter; }
/// Does the step count as one that reduces, in the choice of what travels? What is cut out of copies does too.
template <step How, class From, class To>
inline constexpr bool counts_as_reduction = is_reduction(How) ||
                                            (How == step::convert && is_copied(From::kind) && is_part(To::kind));
} // namespace detail

} // namespace sla
