// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules of own operations that are not tables: whole operands only, a function of the operands, or a composition of
// type-only operations on "placements" values. How an operation names its rule is in spmd/rule/table/op_rule.hpp.
#pragma once
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <sla/core/meta.hpp>
#include <sla/core/pack.hpp>
#include <sla/spmd/placement/placement.hpp>
#include <sla/spmd/rule/operators.hpp>
#include <sla/spmd/rule/rules.hpp>
#include <sla/spmd/rule/table/composite.hpp>
#include <sla/spmd/rule/table/einsum.hpp>
#include <sla/spmd/rule/table/pointwise.hpp>
#include <sla/spmd/step/named_steps.hpp>

namespace sla {

/// The rule of a kernel that knows nothing of ranks: Replicate, Invariant and Varying operands as they are; a pending
/// reduction or a shard is refused. `template <> inline constexpr auto sla::rule_of<mine> = sla::local_only{};`
struct local_only {
  bool known = true;
};

namespace rules {

/// What a composition computes with. It keeps account of which arguments were used, and of the first refusal.
struct composition_state {
  call_context now{};
  diagnostic why{};
  std::uint32_t used = 0;
};
/// A value of a composed rule: an operand, or what came of some.
struct value {
  operand is{};
  composition_state* in = nullptr;
  std::uint32_t from = 0; ///< the arguments that it was made of, as bits
};
/// Several results of a composition.
struct value_list {
  fixed_array<value, max_results> at{};
  int size = 0;
};
/// The results of a composed rule that has several.
template <class... V>
constexpr value_list results(V const&... v) {
  return {{{v...}}, static_cast<int>(sizeof...(V))};
}

/// The operands in which a kernel is linear: `linear_in<0, 1>` in each of them separately, `jointly_linear_in<0, 1>` in
/// all of them at once. Without a claim a pending sum is refused.
template <int... K>
struct linear_in_t {
  static constexpr strategy& apply(strategy& s) {
    (s.linear_in(operand_bits(K)), ...);
    return s;
  }
};
/// The type of `jointly_linear_in<...>`.
template <int... K>
struct jointly_linear_in_t {
  static constexpr strategy& apply(strategy& s) { return s.linear_in(operand_bits(K...)); }
};
/// States that the operation is linear in each of these operands by itself.
template <int... K>
inline constexpr linear_in_t<K...> linear_in{};
/// States that the operation is linear in these operands together, as a sum is.
template <int... K>
inline constexpr jointly_linear_in_t<K...> jointly_linear_in{};

/// A rule made of type-only operations; see `compose`.
template <class F>
struct composed {
  F f;
  bool known = true;
};
/// A rule that is a strategy or an op_rule chosen for the operands; see `by_operands`.
template <class F>
struct chosen {
  F f;
  bool known = true;
};

/// `rule_of<mine> = rules::compose([](auto x, auto w) { return rules::einsum<"mk,nk->mn">(x, w, rules::linear_in<0,
/// 1>); })` Law: every argument is used, or named in `ignore`, and the lambda returns a value (or `results`).
template <class F>
constexpr composed<F> compose(F f) {
  return {f};
}
/// The rule of a kernel that fuses a plain composition: any generic lambda that also works on tensors.
template <class F>
constexpr composed<F> same_as(F f) {
  return {f};
}
/// A rule that a function chooses by the operands.
template <class F>
constexpr chosen<F> by_operands(F f) {
  return {f};
}

} // namespace rules

namespace detail {

template <class T>
inline constexpr bool is_rule_value = std::is_same_v<std::remove_cvref_t<T>, rules::value>;

template <class T>
constexpr rules::composition_state* composition_of(T const& v) {
  if constexpr (is_rule_value<T>)
    return v.in;
  else
    return nullptr;
}
template <class T>
constexpr std::uint32_t origin_of(T const& v) {
  if constexpr (is_rule_value<T>)
    return v.from;
  else
    return 0;
}
template <class T>
constexpr operand operand_value(T const& v, int axes) {
  if constexpr (is_rule_value<T>) {
    return v.is;
  } else { // a number in the text of the rule is a literal
    operand out;
    out.weak = true;
    out.gradient = false;
    out.type.axes = static_cast<std::int8_t>(axes);
    for (int a = 0; a < axes; ++a) out.type.on[a].kind = placement_kind::replicate;
    return out;
  }
}

constexpr std::int8_t first_of(std::uint32_t arguments) {
  for (std::int8_t k = 0; k < max_operands; ++k)
    if (arguments >> k & 1) return k;
  return -1;
}

/// Applies a rule to values; a refusal points at the argument that the refused value came from.
template <class Rule, class... V>
constexpr rules::value_list apply_rule(Rule const& rule, V const&... v) {
  rules::composition_state* in = nullptr;
  ((in = in ? in : composition_of(v)), ...);
  std::uint32_t const origins[] = {origin_of(v)...};
  int axes = 0;
  for (auto o : {(is_rule_value<V> ? operand_value(v, 0).type.axes : std::int8_t{0})...}) axes = o > axes ? o : axes;
  operand const operands[] = {operand_value(v, axes)...};
  std::uint32_t from = 0;
  bool gradient = false;
  for (auto bits : origins) from |= bits;
  for (auto const& o : operands) gradient = gradient || o.gradient;
  in->used |= from;
  rules::value_list out;
  out.size = max_results;
  for (int n = 0; n < max_results; ++n) out.at[n] = {operands[0], in, from};
  if (in->why.what != code::ok) return out;
  auto const got = check(rule, std::span<operand const>(operands), in->now);
  if (!got.ok()) {
    in->why = got.why;
    if (got.why.operand >= 0) in->why.operand = first_of(origins[got.why.operand]);
    return out;
  }
  for (int n = 0; n < max_results; ++n) {
    out.at[n].is = {n == 0 ? got.type : got.more[n - 1], false, gradient};
  }
  return out;
}

/// The placement To, as a value; a shard gets the family that x has, or equal pieces.
template <class To>
constexpr placement_value target(rules::value const& x, int axis) {
  placement_value out{To::kind};
  if constexpr (requires { typename To::monoid_type; }) out.fold = To::monoid_type::value;
  if constexpr (requires { To::dim; }) {
    static_assert(To::kind == placement_kind::shard && std::is_same_v<typename To::family, Even>,
                  "sla: a composed rule says Shard<d>; the family is that of the call's operands, or Even");
    out.dim = static_cast<std::int8_t>(To::dim);
    out.family = is_sharded(x.is.type.on[axis].kind) ? x.is.type.on[axis].family : x.in->now.even_family;
  }
  return out;
}

template <class S>
constexpr rules::value take_on_placements(rules::value const& x) {
  auto out = x;
  x.in->used |= x.from;
  if (x.in->why.what != code::ok) return out;
  auto const refuse = [&](diagnostic why) {
    x.in->why = why;
    x.in->why.operand = first_of(x.from);
    return out;
  };
  int axis = -1;
  for (int a = 0; a < x.is.type.axes; ++a)
    if (x.in->now.axis_names[a] == S::axis.view()) axis = a;
  if (axis < 0) return refuse({code::different_meshes, -1, -1}); // the mesh of the call has no such axis
  auto const to = target<typename S::to>(x, axis);
  auto const why = check_step(S::how, x.is.type, axis, to, S::insisted);
  if (why.what != code::ok) return refuse(why);
  out.is.type.on[axis] = to;
  return out;
}

template <class L, class R>
  requires(is_rule_value<L> || is_rule_value<R>)
struct adds_up<L, R> : std::true_type {};
template <class X>
  requires is_rule_value<X>
struct has_own_functions<X> : std::true_type {};
} // namespace detail
namespace rules {

/// What an operator, or a step, makes of a value.
template <class Op, class... V>
  requires(detail::is_rule_value<V> || ...)
constexpr value perform(operation<Op>, V const&... v) {
  return detail::apply_rule(rule_of<Op>, v...).at[0];
}
template <StepOn S>
  requires(S::axes::count == 1)
constexpr value perform(S, value const& x) {
  return detail::take_on_placements<S>(x);
}

/// The kernel as an operation of the library, `apply<op::mul>(x, y)`, or with a strategy of strategies/.
template <class Op, class... V>
constexpr value apply(V const&... v) {
  return detail::apply_rule(rule_of<Op>, v...).at[0];
}
template <class... V>
constexpr value_list apply(strategy const& s, V const&... v) {
  auto out = detail::apply_rule(s, v...);
  out.size = s.results;
  return out;
}

/// A contraction in index notation. `_` is a dimension that every rank needs whole, `...` passes leading dimensions; a
/// contracted label claims that parts add up, so a maximum, a mean or a norm says `_` instead.
template <fixed_string Spec, class... Rest>
constexpr value einsum(value const& x, Rest const&... rest) {
  using Last = typename detail::type_at_index<static_cast<int>(sizeof...(Rest)), value, Rest...>::type;
  constexpr bool claims = !detail::is_rule_value<Last>; // the last argument says where the kernel is linear
  auto const all = detail::packed(x, rest...);
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    auto s = strategies::contraction(Spec.view(), dims::unknown(detail::part<K>(all).is.type.rank)...);
    if constexpr (claims)
      if (s.known) Last::apply(s);
    return detail::apply_rule(s, detail::part<K>(all)...).at[0];
  }(std::make_index_sequence<sizeof...(Rest) + (claims ? 0 : 1)>{});
}

/// Type-only steps along an axis: the checks of the real ones, and the placement that they leave.
using sla::all_gather;
using sla::all_reduce;
using sla::all_to_all;
using sla::convert;
using sla::reduce_scatter;
using sla::reinterpret;

/// States that the rule does not depend on these arguments.
template <class... V>
constexpr void ignore(V const&... v) {
  ((v.in->used |= v.from), ...);
}
/// Demands a placement: another one is refused.
template <fixed_string Axis, class P>
constexpr void expect(value const& x) {
  x.in->used |= x.from;
  for (int a = 0; a < x.is.type.axes && x.in->why.what == code::ok; ++a)
    if (x.in->now.axis_names[a] == Axis.view() && x.is.type.on[a].kind != P::kind)
      x.in->why = {code::layouts_differ, static_cast<std::int8_t>(a), detail::first_of(x.from)};
}

// The vocabulary of a reference composition, so that one generic lambda serves tensors and rules: the operators of
// spmd/rule/operators.hpp.
using sla::operator+;
using sla::operator-;
using sla::operator*;
using sla::operator/;
using sla::abs;
using sla::exp;
using sla::log;
using sla::sqrt;
using sla::tanh;
/// The rule of sum(x).
template <std::same_as<value> V>
constexpr value sum(V const& x) { return apply<op::sum>(x); }
/// The rule of dot(x, y).
template <std::same_as<value> V>
constexpr value dot(V const& x, V const& y) { return apply<op::dot>(x, y); }

} // namespace rules

/// `local_only` as a decision.
template <class = void>
constexpr placement_outcome check(local_only, std::span<operand const> operands, call_context const& now = {}) {
  return check(strategies::opaque(static_cast<int>(operands.size())), operands, now);
}

template <class F>
constexpr placement_outcome check(rules::chosen<F> const& rule, std::span<operand const> operands,
                        call_context const& now = {}) {
  return check(rule.f(operands), operands, now);
}

namespace detail {

constexpr rules::value_list as_list(rules::value const& v) { return rules::results(v); }
constexpr rules::value_list as_list(rules::value_list const& v) { return v; }

template <int N, class F>
constexpr bool call_composition(F const& f, rules::value const* v, int count, rules::value_list& out) {
  auto const with = [&]<int... K>(std::integer_sequence<int, K...>) {
    if constexpr (std::is_invocable_v<F const&, decltype((void(K), *v))...>) {
      if (N != count) return false;
      out = as_list(f(v[K]...));
      return true;
    } else {
      return false;
    }
  };
  if (with(std::make_integer_sequence<int, N>{})) return true;
  if constexpr (N < max_operands)
    return call_composition<N + 1>(f, v, count, out);
  else
    return false;
}

} // namespace detail

/// A composition as a decision. Errors: the first refusal inside it; no_rule if it takes another number of operands, or
/// leaves an argument out that it does not `ignore`.
template <class F>
constexpr placement_outcome check(rules::composed<F> const& rule, std::span<operand const> operands,
                        call_context const& now = {}) {
  placement_outcome out;
  rules::composition_state in{now, {}, 0};
  rules::value values[max_operands];
  int n = 0;
  for (auto const& o : operands) {
    values[n] = {o, &in, 1U << n};
    ++n;
  }
  rules::value_list made;
  if (!detail::call_composition<1>(rule.f, values, n, made)) return out.why.what = code::no_rule, out;
  for (int k = 0; k < made.size; ++k) in.used |= made.at[k].from;
  if (out.why = in.why; !out.ok()) return out;
  for (int k = 0; k < n; ++k)
    if (!(in.used >> k & 1)) return out.why = {code::no_rule, -1, static_cast<std::int8_t>(k)}, out;
  if (made.size == 0) return out.why.what = code::no_rule, out;
  out.type = made.at[0].is.type;
  for (int k = 1; k < made.size; ++k) out.more[k - 1] = made.at[k].is.type;
  return out;
}

} // namespace sla
