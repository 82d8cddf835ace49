// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Why a call is refused, as text in a constant expression: the rule, what was found, the calls to insert with what they
// cost, and the whole call. What compilers print of it is in spmd/refusal/sentences.hpp and spmd/refusal/facts.hpp; who owns what, not
// here.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include <sla/core/meta.hpp>
#include <sla/spmd/placement/spelling.hpp>
#include <sla/spmd/refusal/facts.hpp>
#include <sla/spmd/refusal/words.hpp>

namespace sla {

namespace detail {

/// "E03".
constexpr void write_code(auto& out, code why) {
  out << "sla[E" << (number_of(why) < 10 ? "0" : "") << number_of(why) << "] ";
}

/// An operand: its placement on the axis, or all of them (Axis -1), or which kind of number it is.
template <class T, int Axis>
constexpr void write_operand(auto& out) {
  using traits = operand_traits<T>;
  if constexpr (traits::kind == operand_kind::distributed) {
    if constexpr (Axis >= 0)
      write_placement<placement_on_t<T, Axis>>(out);
    else
      write_placements(out, placements_of_t<T>{}, std::type_identity<mesh_of_t<T>>{});
  } else if constexpr (traits::kind == operand_kind::literal) {
    out << "a literal";
  } else if constexpr (traits::kind == operand_kind::uniform) {
    out << "uniform";
  } else {
    out << (traits::kind == operand_kind::number ? "a run-time " : "a plain ") << short_name<T>();
  }
}

/// `all_reduce<"tp", Replicate>(arg0) (forward all_reduce, backward all_reduce)`.
template <class Mesh, class Keys, placement_value From, placement_value To, step How, bool Insisted, int Axis>
constexpr void write_call(auto& out, std::string_view around, int number) {
  constexpr transition t{How, From, To};
  using Target = placement_at<To, Keys>;
  constexpr auto beside = companion_of(t, is_found<Target>());
  bool const halo = function_of(t) == "owned" || function_of(t) == "embed" || How == step::halo_reduce;
  out << function_of(t) << "<\"" << Mesh::name(Axis) << "\"";
  if constexpr (beside == step_companion::matrix) {
    if (!Target::pattern::value.view().empty()) out << ", \"" << Target::pattern::value.view() << "\"";
  } else if (!halo) {
    out << ", ";
    write_placement<Target>(out);
  }
  out << ">(" << around;
  if (number >= 0) out << number;
  if (beside != step_companion::none) out << (beside == step_companion::matrix ? ", A" : ", layout");
  out << (Insisted ? ", expert) (forward " : ") (forward ") << (is_free(How) ? "free" : name_of(How)) << ", backward ";
  if (dual(From).kind == placement_kind::untyped || dual(To).kind == placement_kind::untyped)
    out << "none)";
  else
    out << (is_free(adjoint_of(t).how) ? "free" : name_of(adjoint_of(t).how)) << ")";
}

template <class Refused>
struct fix_words {
  template <int F, int N>
  static constexpr void write_step(auto& out) {
    constexpr auto s = Refused::mended.best[F].steps[N];
    if (F > 0 || N > 0) out << (N == 0 ? "; or " : " and ");
    write_call<typename Refused::mesh_type, typename Refused::keys, s.step.from, s.step.to, s.step.how, s.insisted,
               s.axis>(out, "arg", s.operand);
  }
  template <int F, int... N>
  static constexpr void write_steps(auto& out, std::integer_sequence<int, N...>) {
    (write_step<F, N>(out), ...);
  }
  template <int... F>
  static constexpr void write(auto& out, std::integer_sequence<int, F...>) {
    (write_steps<F>(out, std::make_integer_sequence<int, Refused::mended.best[F].size>{}), ...);
  }
};

/// What mends a call that no step around an operand does.
constexpr void write_other_fix(auto& out, code why, int operand) {
  if (why == code::run_time_number) out << " fix: uniform(arg" << operand << ").";
  if (why == code::no_placement) out << " fix: distribute(arg" << operand << ", layout).";
  if (why == code::different_meshes)
    out << " fix: reinterpret_mesh(arg" << operand << "), where the axes have the same ranks.";
  if (why == code::no_rule) out << " fix: specialise rule_of of this operation.";
}

template <class Op, class Refused, class... Ts, int... K>
constexpr auto call_text(std::integer_sequence<int, K...>) {
  constexpr diagnostic why = Refused::why;
  using Mesh = typename Refused::mesh_type;
  fixed_text<1600> out;
  write_code(out, why.what);
  out << short_name<Op>() << ": " << rule_broken(why.what) << ". found ";
  ((out << (K ? ", " : "") << "arg" << K << ": ", write_operand<Ts, why.axis>(out)), ...);
  if constexpr (why.axis >= 0) out << " on " << Mesh::name(why.axis);
  out << ".";
  if constexpr (Refused::mended.size > 0) {
    out << " fix: ";
    fix_words<Refused>::write(out, std::make_integer_sequence<int, Refused::mended.size>{});
    out << ".";
  } else {
    write_other_fix(out, why.what, why.operand);
  }
  out << " context: " << short_name<Op>() << "(";
  ((out << (K ? ", " : "") << "arg" << K << ": ", write_operand<Ts, -1>(out)), ...);
  out << ")";
  if constexpr (!std::is_void_v<Mesh>) write_mesh<Mesh>(out);
  return out;
}

template <class Op, class... Ts>
inline constexpr auto call_text_v = [] {
  if constexpr (well_typed<Op, Ts...>)
    return fixed_text<1>{};
  else
    return call_text<Op, refused_call<Op, Ts...>, Ts...>(
        std::make_integer_sequence<int, static_cast<int>(sizeof...(Ts))>{});
}();

template <class Refused, class Mesh, int N>
constexpr void write_one_step(auto& out) {
  constexpr auto s = Refused::mended.steps[N];
  if (N > 0) out << ", then ";
  write_call<Mesh, typename Refused::keys, s.step.from, s.step.to, s.step.how, s.insisted, s.axis>(out, "x", -1);
}
template <class Refused, class Mesh, int... N>
constexpr void write_step_fix(auto& out, std::integer_sequence<int, N...>) {
  (write_one_step<Refused, Mesh, N>(out), ...);
}

template <class Refused, class T, step How, int Axis, class To, bool Insisted>
constexpr auto step_text() {
  using Mesh = mesh_of_t<T>;
  fixed_text<1200> out;
  auto const write_requested = [&] {
    out << name_of(How) << "<\"" << Mesh::name(Axis) << "\", ";
    write_placement<To>(out);
    out << ">(x: ";
  };
  write_code(out, Refused::why.what);
  out << name_of(How) << ": " << rule_broken(Refused::why.what) << ". found x: ";
  write_placement<typename Refused::From>(out);
  out << " on " << Mesh::name(Axis);
  if constexpr (Refused::why.what == code::indivisible)
    out << ", " << static_cast<int>(extent_to_shard<T, Axis, To>()) << " indices for " << Mesh::static_size(Axis) << " ranks";
  out << ".";
  if constexpr (Refused::superfluous) {
    out << " fix: remove the call.";
  } else if constexpr (Refused::mended.size > 0) {
    out << " fix: ";
    write_step_fix<Refused, Mesh>(out, std::make_integer_sequence<int, Refused::mended.size>{});
    out << ".";
  }
  out << " context: ";
  write_requested();
  write_operand<T, -1>(out);
  out << (Insisted ? ", expert)" : ")");
  write_mesh<Mesh>(out);
  return out;
}

template <step How, class T, int Axis, class To, bool Insisted>
inline constexpr auto step_text_v = [] {
  if constexpr (step_diagnostic_v<How, T, Axis, To, Insisted>.what == code::ok)
    return fixed_text<1>{};
  else
    return step_text<step_refusal<How, T, Axis, To, Insisted>, T, How, Axis, To, Insisted>();
}();

} // namespace detail

/// Why `Op` refuses operands of these types, as text; empty if it does not. A constant:
/// `static_assert(explain_error<op::add, X, Y>() == "sla[E03] add: ...")`.
template <class Op, class... Ts>
constexpr std::string_view explain_error() {
  return detail::call_text_v<Op, std::remove_cvref_t<Ts>...>.view();
}

/// Why a collective or conversion along an axis of a T is refused, as text; empty if it is not.
template <step How, class T, fixed_string Axis, Placement To, bool Insisted = false>
constexpr std::string_view explain_step_error() {
  return detail::step_text_v<How, std::remove_cvref_t<T>, mesh_of_t<T>::template index<Axis>(), To, Insisted>.view();
}

} // namespace sla
