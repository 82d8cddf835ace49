// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a method and a preconditioner are: the members that solves call, as concepts, and the sentence for each that is missing.
// Operators are in solve/seam/space.hpp; what is called of both is in solve/driver/engine.hpp.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include <sla/solve/seam/rule.hpp>
#include <sla/solve/seam/space.hpp>

namespace sla {

/// Options of a preconditioner: an aggregate with `preconditioner_tag`; `Preconditioner` says the rest.
template <class P>
concept PreconditionerOptions = requires { typename P::preconditioner_tag; };

/// The method of `solve(A, b)`: the library looks at A and picks. The report says what, why, and what was tried before.
struct automatic {
  relative_tolerance rtol = default_rule().rtol;
  double atol = default_rule().atol;

  using method_tag = void;
  static constexpr char const* name = "automatic";
};

namespace detail {
/// What says that it is a method, whether or not it is one.
template <class M>
concept MethodOption = requires { typename M::method_tag; };
template <class M>
inline constexpr bool has_name = requires {
  { M::name } -> std::convertible_to<char const*>;
};
template <class M>
inline constexpr bool has_rtol = requires(M const& m) {
  { m.rtol } -> std::convertible_to<double>;
};
template <class M>
inline constexpr bool has_atol = requires(M const& m) {
  { m.atol } -> std::convertible_to<double>;
};
template <class M>
inline constexpr bool has_max_iterations = requires(M const& m) {
  { m.max_iterations } -> std::convertible_to<int>;
};
template <class M>
inline constexpr bool has_watch = requires(M const& m) {
  { m.watch } -> std::convertible_to<observer const&>;
};
/// Is what it may say of itself, but need not, a constant that can be read? `name` of a preconditioner is such a thing, too.
template <class O>
inline constexpr bool has_readable_name = !requires { O::name; } || has_name<O>;
/// For reports, of a preconditioner.
template <class P>
inline constexpr char const* name_of_options = "a preconditioner of yours";
template <class P>
  requires requires { P::name; }
inline constexpr char const* name_of_options<P> = P::name;
template <class M>
inline constexpr bool has_readable_flags =
    ((!requires { &M::needs_definite; } && !requires { typename M::needs_definite; }) || requires { typename std::bool_constant<M::needs_definite>; }) &&
    ((!requires { &M::needs_hermitian; } && !requires { typename M::needs_hermitian; }) || requires { typename std::bool_constant<M::needs_hermitian>; }) &&
    ((!requires { &M::needs_square; } && !requires { typename M::needs_square; }) || requires { typename std::bool_constant<M::needs_square>; });
/// A type with a name, no object; its `numbers` and `sum` are asked for by the vectors of a solve: whole_measure.
template <class M>
inline constexpr bool has_named_measure = !requires { &M::measure; } && (!requires { typename M::measure; } || requires { requires has_name<typename M::measure>; });
/// Names others: a direct method is refinement with factors as its preconditioner; the automatic one takes any.
template <class M>
inline constexpr bool names_others = std::same_as<M, automatic> || requires(M const& m) { m.method(), m.preconditioner(); };

/// The first member that M misses, whose tag says that it is a method.
enum class method_member { none, name, rtol, atol, max_iterations, watch, flags, measure };
template <class M>
constexpr method_member missing_member() {
  using enum method_member;
  if (!MethodOption<M> || names_others<M>) return none;
  return !has_name<M> ? name : !has_rtol<M> ? rtol : !has_atol<M> ? atol : !has_max_iterations<M> ? max_iterations : !has_watch<M> ? watch : !has_readable_flags<M> ? flags : !has_named_measure<M> ? measure : none;
}
} // namespace detail

/// A method, as options of one name:
///   using method_tag = void;              it stands among the options of a solve
///   static constexpr char const* name     for reports
///   relative_tolerance rtol; double atol; int max_iterations; observer watch    the stop rule; a `double rtol` has no default for float
///   run(space, A, M, b, x, make_stop)     improves x: `MethodOn`; static constexpr, for schedules
///   needs_definite, needs_hermitian       optional, static constexpr bool: it takes A and M for Hermitian, so that A is its own adjoint
///   needs_square                          optional: false, where A may be rectangular
///   using measure                         optional: what a solve is judged by, solve/seam/measure.hpp
///   flexible_tag                          optional: M may be another operator at every step
/// or, of a method that only names others, `method()` and `preconditioner()`. CONTRIBUTING.md writes one.
template <class M>
concept Method = detail::MethodOption<M> && detail::missing_member<M>() == detail::method_member::none;

/// A method that runs in the spaces S: `run` improves x in A x = b, with M for the inverse of A, until the test of make_stop(space, |b|^2)
/// is content, and returns what the test's outcome() gives, a progress per item.
template <class Options, class S, class A, class M, class V, class MakeStop, class X = V>
concept MethodOn = Method<Options> && requires(Options const& method, S& space, A const& a, M const& m, V const& b, X& x, MakeStop const& make_stop) {
  { method.run(space, a, m, b, x, make_stop) } -> std::convertible_to<std::vector<progress>>;
};

namespace detail {
/// Has a preconditioner, or an operator, the same of A^H?
template <class M>
concept HasAdjoint = requires(M const& m) { requires !std::is_void_v<decltype(m.adjoint())>; };
/// Is there a preconditioner of a by the options p?
template <class P, class A>
concept SetsUp = requires(P const& p, A const& a) { requires !std::is_void_v<decltype(p.setup(a))>; };
template <class M>
inline constexpr bool may_fail = requires(M const& m) { m.failure(index_t()); };
template <class M>
inline constexpr bool counts_failures = requires(M const& m, std::size_t bytes) {
  bytes += m.bytes();
  { m.batch_count() } -> std::convertible_to<index_t>;
  { m.failure(index_t()).why } -> std::convertible_to<reason>;
  { m.failure(index_t()).what } -> std::convertible_to<std::string>;
};
template <class M>
inline constexpr bool remarks = requires(M const& m) { m.remark(); };
template <class M>
inline constexpr bool remarks_text = requires(M const& m) {
  { m.remark() } -> std::convertible_to<std::string>;
};
/// The sentences for what a preconditioner that is set up may have, but not by half.
template <class M>
constexpr bool require_applied() {
  static_assert(!remarks<M> || remarks_text<M>, "sla: solve(A, b, method, M): the member remark() of a preconditioner gives a std::string, which the report prints behind its name");
  static_assert(!may_fail<M> || counts_failures<M>, "sla: solve(A, b, method, M): a preconditioner with a member failure(item), which has .why, a reason, and .what, a text, has bytes() and batch_count() too");
  return (!remarks<M> || remarks_text<M>) && (!may_fail<M> || counts_failures<M>);
}
} // namespace detail

/// A preconditioner for operators A and vectors V, as options that are set up for one A:
///   using preconditioner_tag = void;    it stands among the options of a solve
///   name                                optional: for reports
///   setup(A)                            makes M, of A or, on ranks, of each rank's own block
///   spans_ranks_tag                     optional: on ranks, setup takes the distributed A
///   varying_tag                         optional: M is another operator at every step, for methods with a flexible_tag, such as fgmres
/// of whose M is asked
///   M * r                               an expression: `LinearOperator`
///   adjoint()                           the same of A^H: for transposed systems and gradients of methods that do not want A Hermitian
///   update(A)                           new values on the same pattern: for prepared.update
///   remark()                            optional: a text behind the name
///   reads_diagonal_only                 optional, of the options and of what they make: true, if no other entry is looked at; on ranks no block is copied for it then
///   failure(item)                       optional, with bytes() and batch_count(): .why and .what of items whose setup failed
/// What is no aggregate of options, but such an M, or a linear_operator, is a preconditioner that is set up already.
template <class P, class A, class V>
concept Preconditioner = PreconditionerOptions<P> && detail::SetsUp<P, A> && requires(decltype(std::declval<P const&>().setup(std::declval<A const&>()))& m, A const& a) {
  requires LinearOperator<std::remove_cvref_t<decltype(m)>, V>;
  requires detail::HasAdjoint<std::remove_cvref_t<decltype(m)>>;
  m.update(a);
  requires !detail::remarks<std::remove_cvref_t<decltype(m)>> || detail::remarks_text<std::remove_cvref_t<decltype(m)>>;
  requires !detail::may_fail<std::remove_cvref_t<decltype(m)>> || detail::counts_failures<std::remove_cvref_t<decltype(m)>>;
};

} // namespace sla
