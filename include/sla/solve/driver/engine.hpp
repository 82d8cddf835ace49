// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A method with its preconditioner, set up for one operator: what `solve` makes for a call and `prepare` keeps. The
// operator itself is handed in, so that `solve` copies nothing. The public names are in solve/linear/linear.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

#include <sla/core/guarded.hpp>
#include <sla/core/held.hpp>
#include <sla/solve/driver/driver.hpp>
#include <sla/solve/driver/world.hpp>
#include <sla/solve/precond/identity.hpp>
#include <sla/solve/precond/lanczos.hpp>
#include <sla/solve/seam/method.hpp>
#include <sla/solve/seam/numbered_error.hpp>

namespace sla {

/// A preconditioner that is set up: `M * r`, `M.adjoint()`. A class of the user may be one; with `linear_operator_tag` it needs no adjoint.
template <class P>
concept AppliedPreconditioner = !PreconditionerOptions<P> && !detail::MethodOption<P> && (OwnOperator<P> || detail::HasAdjoint<P>);

/// Where to run; made by `on`.
template <class MakeSpace>
struct on_space {
  MakeSpace make;
};
/// Asks for `report.history`.
struct keep_history_t {};
/// The option of a solve that keeps the residual of each iteration in `report.history`: `try_solve(A, b, cg{}, jacobi{},
/// keep_history)`.
inline constexpr keep_history_t keep_history{};

namespace detail {
/// Where to begin; made by `initial_guess`. It owns what was a temporary.
template <class X>
struct guess {
  X const* x;
  std::shared_ptr<X const> owner = {};
};
template <class O>
inline constexpr bool is_guess = false;
template <class X>
inline constexpr bool is_guess<guess<X>> = true;
template <class O>
inline constexpr bool is_on_space = false;
template <class F>
inline constexpr bool is_on_space<on_space<F>> = true;

/// Options of one call, not of the set-up: where to begin, where to run, what to keep.
template <class O>
concept CallOption = is_guess<O> || is_on_space<O> || std::same_as<O, keep_history_t>;
template <class O>
concept SolveOption = MethodOption<O> || PreconditionerOptions<O> || AppliedPreconditioner<O> || CallOption<O>;

/// The first that is wanted, or the last.
template <template <class> class Wanted, class First, class... Rest>
auto const& pick(First const& first, Rest const&... rest) {
  if constexpr (sizeof...(Rest) == 0)
    return first;
  else if constexpr (Wanted<First>::value)
    return first;
  else
    return pick<Wanted>(rest...);
}
template <class O>
using wants_method = std::bool_constant<MethodOption<O>>;
template <class O>
using wants_preconditioner = std::bool_constant<PreconditionerOptions<O> || AppliedPreconditioner<O>>;
template <class O>
using wants_guess = std::bool_constant<is_guess<O>>;
template <class O>
using wants_space = std::bool_constant<is_on_space<O>>;
template <class... O>
inline constexpr bool has_history = (std::same_as<O, keep_history_t> || ...);

struct none {};

/// What the library can look at, to pick a method.
template <class A>
concept Readable = is_sparse_tensor<A> && std::same_as<typename A::memory_type, host_memory>;
/// Operators that the automatic choice looks at: readable ones, and those whose world says so (`is_chosen_for`).
template <class A>
concept Chosen = Readable<A> || requires { requires linear_world<A>::is_chosen_for; };
/// Complete where the automatic choice is included: solve/linear/choose.hpp.
template <class Method>
struct automatic_choice;

/// What a refused call would return: declared only, so that its sentence is the only error.
template <class T>
T never();

/// Operators of the user's, also where a higher floor wraps them.
template <class M>
inline constexpr bool is_own_operator = OwnOperator<M>;
/// Does the method take A and M for Hermitian?
template <class Method>
inline constexpr bool wants_hermitian = requires { requires std::bool_constant<Method::needs_definite>::value; } || requires { requires std::bool_constant<Method::needs_hermitian>::value; };
/// The adjoint of A, and of M; one of the user's is its own under a method that wants that; none, if there is none.
template <class Method, class World, class A>
auto adjoint_matrix(A const& a) {
  if constexpr (is_own_operator<A> && wants_hermitian<Method>)
    return a;
  else if constexpr (requires { World::adjoint(a); })
    return World::adjoint(a);
  else
    return none{};
}
template <class Method, class M>
auto adjoint_preconditioner(M const& m) {
  if constexpr (is_own_operator<M> && wants_hermitian<Method>)
    return m;
  else if constexpr (HasAdjoint<M>)
    return m.adjoint();
  else
    return none{};
}

/// Is A Hermitian, as the method takes it to be? Then A and M serve as their own adjoints; the residual shows it where M is not Hermitian.
template <class Method, class World, class A>
bool is_own_adjoint([[maybe_unused]] A const& a) {
  if constexpr (wants_hermitian<Method> && wants_square<Method> && requires { World::is_self_adjoint(a); })
    return World::is_self_adjoint(a);
  else
    return false;
}

template <class P>
std::string name_of() {
  if constexpr (std::same_as<P, none>)
    return "";
  else
    return name_of_options<P>;
}

/// Items whose factors failed say so: what the method saw of them is a residual that does not fall.
template <class Words>
void name_failures_of(index_t batch, void const* m, reason (*why)(void const* m, index_t item, Words& words), report& out) {
  index_t const rhs = index_t(out.items.size()) / batch;
  Words words;
  for (index_t b = 0; b < batch; ++b) {
    reason const state = why(m, b, words);
    if (state == reason::converged) continue;
    for (index_t k = b * rhs; k < (b + 1) * rhs; ++k)
      if (progress& item = out.items[std::size_t(k)]; item.state != reason::converged) item.state = state, out.choice = words;
  }
}
template <class M>
void name_failures(M const& m, report& out) {
  out.bytes += m.bytes();
  auto const why = [](void const* of, index_t item, std::string& words) {
    auto const& failure = static_cast<M const*>(of)->failure(item);
    if (failure.why != reason::converged) {
      words = failure.what;
      if constexpr (requires { failure.in_solves; }) words += failure.in_solves;
    }
    return failure.why;
  };
  name_failures_of<std::string>(m.batch_count(), &m, why, out);
}

/// Of a method that failed: what of A is not Hermitian, if it is not. Without a look at the entries, x and b tell.
template <class Space, class A, class V>
std::string found_asymmetry(Space& space, A const& a, V const& b, V const& x, char const* who) {
  if constexpr (requires { linear_world<A>::asymmetry(a, who); }) {
    return linear_world<A>::asymmetry(a, who);
  } else {
    auto [left, right, ax, bb] = fuse(space, dot_of(b, a * x), dot_of(a * b, x), squared_norm_of(a * x), squared_norm_of(b));
    auto const difference = space.map(relative_difference{}, left, right, ax, bb);
    space.finish();
    double most = 0;
    for (double d : space.read(difference)) most = (std::max)(most, std::sqrt(d));
    double const rounding = std::sqrt(double(std::numeric_limits<real_t<typename V::value_type>>::epsilon()));
    return most > rounding ? text(who, ": A is not Hermitian: (b, A x) and (A b, x) differ by ", most, " of |b| |A x|; use gmres{} or bicgstab{}") : std::string();
  }
}

/// Where a call runs: there, or on what an option names.
template <class A, class V, class... Options>
auto space_of_call(A const& a, V const& b, Options const&... options) {
  using World = linear_world<A>;
  none const absent{};
  auto const& where = pick<wants_space>(options..., absent);
  if constexpr (!std::same_as<std::remove_cvref_t<decltype(where)>, none>)
    return where.make(World::layout(a, b));
  else if constexpr (requires { World::space(a, b); })
    return World::space(a, b);
  else
    return host_space<World::template has_items<V>>(World::layout(a, b));
}
/// A call on a x = b with what its options say: what is alike in all methods and preconditioners, and compiled once for them.
/// preconditioner: its name. seconds: of the set-up.
template <class Measure, class Space, class A, class V, class X, class... Options>
solution<X> run_call(method_of_call<Space, A, V, X> const& method, A const& a, V const& b, std::string&& preconditioner, double seconds, Options const&... options) {
  using World = linear_world<A>;
  none const absent{};
  auto const& begin = pick<wants_guess>(options..., absent);
  constexpr bool guessed = !std::same_as<std::remove_cvref_t<decltype(begin)>, none>;
  double const start = seconds_now();
  report out;
  out.method = method.name, out.preconditioner = std::move(preconditioner), out.seconds_setup = seconds;
  X x = method.zero(a, b);
  if constexpr (guessed) {
    static_assert(std::same_as<std::remove_cvref_t<decltype(*begin.x)>, X>,
                  "sla: initial_guess(x0): x0 has the type of the solution: the shape of b, and its scalars with those of A");
    World::check_guess(*begin.x, x);
    x = *begin.x;
  }
  out.rtol = method.rule.rtol.of_double;  // both are the same here
  out.measure = Measure::name;
  bool is_empty = false;
  if constexpr (requires { World::is_empty(a, b); })
    is_empty = World::is_empty(a, b);
  else
    is_empty = b.size() == 0;
  if (!is_empty) {
    Space space = space_of_call(a, b, options...);
    drive<Measure>(space, method, a, b, x, guessed, has_history<Options...>, out);
    if (method.name_failures) method.name_failures(method.context, out);
    if (method.asymmetry && !out.converged() && out.reason() != reason::stopped && out.choice.empty()) out.choice = method.asymmetry(space, a, b, x, method.name);
    if (out.reason() == reason::indefinite_matrix && out.choice.empty()) out.choice = "for an indefinite matrix take minres{} if it is Hermitian, gmres{} if not";
    constexpr bool is_float = std::same_as<real_t<typename X::value_type>, float>;
    double const attainable = std::pow(10, std::ceil(std::log10(2 * out.residual())));
    if (out.reason() == reason::stagnated && (out.limited_by_rounding || (method.rule.rtol.of_double < (is_float ? 1e-5 : 1e-14) && attainable < 0.1)))
      add_remark(out.choice, "x is ", is_float ? "float, which holds seven digits: " : "double, which holds sixteen digits: ",
                         attainable < 0.1 ? text("ask for less, such as .rtol = ", attainable) : std::string("their rounding alone leaves so much, for A is nearly singular"),
                         is_float ? ", or solve with cast<double>(b)" : "");
  }
  out.seconds_solve += seconds_now() - start;
  return {std::move(x), std::move(out)};
}

/// Does the method run where this call would?
template <class A, class Method, class M, class V, class... Options>
inline constexpr bool runs_on = [] {
  using Space = decltype(space_of_call(std::declval<A const&>(), std::declval<V const&>(), std::declval<Options const&>()...));
  using MakeStop = recorded_stop_maker<Space, squared_norm_t<Space, V>>;
  if constexpr (is_sweep<std::remove_cvref_t<decltype(std::declval<M const&>() * std::declval<V const&>())>>)
    return true;  // of its sweep, which stands for M
  else
    return MethodOn<Method, Space, A, M, V, MakeStop, solution_of_t<Method, A, V>>;
}();
/// One call of a method on a x = b, or the one sentence that says why there can be none. P: the preconditioner's options, for its name.
/// seconds: of the set-up.
template <class P, class A, class Method, class M, class V, class... Options>
solution<solution_of_t<Method, A, V>> call(A const& a, Method const& method, M const& m, V const& b, double seconds, Options const&... options) {
  using X = solution_of_t<Method, A, V>;
  constexpr bool are_operators = LinearOperator<A, X, V> && LinearOperator<M, X>;
  constexpr bool is_refused = std::same_as<Method, automatic>;  // in solve/linear/linear.hpp: its list is not included
  constexpr bool has_adjoint_product = std::same_as<measure_of_t<Method>, residual_of_system> || !are_operators || requires { adjoint(a) * b; };
  static_assert(has_adjoint_product, "sla: solve(A, b, method): this method multiplies by the adjoint of A too, and A, an operator of yours, has none: give it a member adjoint(), "
                                     "or make it by linear_operator<T>(rows, cols, apply, apply_adjoint)");
  constexpr bool have_products = requires { a * std::declval<X const&>(); m * std::declval<X const&>(); };
  static_assert(have_products || is_refused, "sla: solve(A, b, method, M): the operator, A or M, has no `operator*` that takes such an x: auto operator*(X const& x) const, which returns an expression");
  static_assert(!have_products || are_operators || is_refused,
                "sla: solve(A, b, method, M): A * x and M * x say what to compute, when its turn comes; an operator* of yours computes at once and returns a tensor, "
                "or what set(y, A * x) cannot take: give the function that computes to linear_operator<T>(rows, cols, apply)");
  using Space = decltype(space_of_call(a, b, options...));
  if constexpr (!(are_operators && has_adjoint_product && require_space<Space, V>())) {
    return never<solution<X>>();
  } else {
    constexpr bool is_whole = require_applied<M>(), runs = runs_on<A, Method, M, V, Options...>;
    static_assert(runs, "sla: solve(A, b, method, M): the method has no member `run(space, A, M, b, x, make_stop)` for these A, M and b, which improves x and returns what the outcome() of the stop "
                        "test gives: MethodOn in sla/solve/seam/method.hpp");
    if constexpr (is_whole && runs) {
      struct with_operators {
        A const& a;
        Method const& method;
        M const& m;
      } const all{a, method, m};
      method_of_call<Space, A, V, X> run{Method::name, {relative_tolerance(method.rtol).*tolerance_of<typename X::value_type>, method.atol, method.max_iterations, method.watch}, &all, zero_vector<has_own_domain<Method, A, V>, A, V>};
      run.improve = [](void const* context, Space& space, stop_of_run<Space, V> const& make_stop, V const& of, X& x) {
        auto const& with = *static_cast<with_operators const*>(context);
        if constexpr (is_sweep<std::remove_cvref_t<decltype(with.m * of)>>) {
          auto const node = with.m * of;
          return with.method.run(space, with.a, sweeping<kernel_t<typename V::value_type>>(node), of, x, make_stop);
        } else {
          return with.method.run(space, with.a, with.m, of, x, make_stop);
        }
      };
      if constexpr (wants_hermitian<Method>) run.asymmetry = found_asymmetry<Space, A, V>;
      if constexpr (may_fail<M> && counts_failures<M>) run.name_failures = [](void const* context, report& r) { name_failures(static_cast<with_operators const*>(context)->m, r); };
      std::string name = name_of<P>();
      if constexpr (remarks_text<M>) name += m.remark();
      return run_call<measure_of_t<Method>>(run, a, b, std::move(name), seconds, options...);
    } else {
      return never<solution<X>>();
    }
  }
}

/// What a set-up throws for values that it cannot take. It is told so from what observers and operators of the user throw in a solve.
class setup_refused : public value_error {
public:
  using value_error::value_error;
};
[[noreturn]] inline void refuse_setup(value_error const& e) {
  if (typeid(e) != typeid(value_error) && typeid(e) != typeid(numbered_error)) throw;  // a type of the user's
  throw setup_refused(e.what());
}
/// The preconditioner that p asks for; one that is set up already is itself.
template <class P, class A>
auto set_up(P const& p, A const& a) {
  try {
    if constexpr (requires { linear_world<A>::setup(p, a); })
      return linear_world<A>::setup(p, a);
    else if constexpr (!PreconditionerOptions<P>)
      return p;
    else if constexpr (OwnOperator<A> && !requires { p.setup(a); })
      return applied_identity{};  // a law of `solve` says so
    else
      return p.setup(a);
  } catch (value_error const& e) {
    refuse_setup(e);
  }
}

/// A method and a preconditioner, set up for one operator and, on first need, for its adjoint. Several threads may solve at once.
template <class A, class Method, class P>
class engine {
  using World = linear_world<A>;
  using M = decltype(set_up(std::declval<P const&>(), std::declval<A const&>()));
  using Adjoint = decltype(adjoint_matrix<Method, World>(std::declval<A const&>()));
  using AdjointM = decltype(adjoint_preconditioner<Method>(std::declval<M const&>()));
  static constexpr bool has_adjoint = !std::same_as<Adjoint, none> && !std::same_as<AdjointM, none>;

public:
  engine(A const& a, Method const& method, P const& p)
      : method_(sensible(method)), start_(seconds_now()), m_(set_up(p, a)), found_({nullptr, seconds_now() - start_}) {}

  template <class V, class... Options>
  auto solve(A const& a, V const& b, Options const&... options) const {
    return call<P>(a, method_, m_, b, seconds(), options...);
  }
  /// With the conjugate transpose of a, and of the preconditioner; both are made once, or are a and the preconditioner themselves.
  /// b: as `solve` takes it, or of the domain of a, where that need not be its range.
  template <class V, class... Options>
  auto solve_adjoint(A const& a, V const& b, Options const&... options) const {
    static_assert(has_adjoint, "sla: solve_transpose, solve_adjoint and gradients need the adjoint of A and of the preconditioner, and an operator of yours has none: "
                               "give it a member adjoint(), or make it by linear_operator<T>(rows, cols, apply, apply_adjoint)");
    if constexpr (has_adjoint) {
      auto const made = found_.with([&](found& f) {
        if (f.adjoint || f.is_own) return f.adjoint;
        double const start = seconds_now();
        f.is_own = is_own_adjoint<Method, World>(a);
        if (!f.is_own) f.adjoint = detail::shared_of<both const>(adjoint_matrix<Method, World>(a), adjoint_preconditioner<Method>(m_));
        f.seconds += seconds_now() - start;
        return f.adjoint;
      });
      if constexpr (wants_square<Method>) {
        if (!made) return solve(a, b, options...);
        return call<P>(made->first, method_, made->second, b, seconds(), options...);
      } else {
        auto const& vector = linear_world<Adjoint>::right_hand_side(made->first, b);
        return call<P>(made->first, method_, made->second, vector, seconds(), options...);
      }
    } else {
      return never<solution<V>>();
    }
  }
  /// New values on the same pattern. Where the preconditioner throws, it keeps the old ones.
  void update(A const& a) {
    double const start = seconds_now();
    found_.with([](found& f) { f.adjoint = nullptr, f.is_own = false; });  // it shares factors
    constexpr bool renews = requires { m_.update(a); };
    static_assert(renews, "sla: prepared.update(A): the preconditioner has no member update(A), which takes new values on the old pattern; prepare(A, ...) anew");
    if constexpr (renews) m_.update(a);
    found_.with([&](found& f) { f.seconds += seconds_now() - start; });
  }
  M const& preconditioner() const { return m_; }

private:
  using both = std::pair<Adjoint, AdjointM>;
  struct found {
    std::shared_ptr<both const> adjoint;  ///< null where the operator is its own
    double seconds;                       ///< of set-ups that no report has told yet
    bool is_own = false;
  };
  /// Of set-ups, since the last report that told them.
  double seconds() const {
    return found_.with([](found& f) { return std::exchange(f.seconds, 0.0); });
  }
  Method method_;
  double start_;
  M m_;
  guarded<found> found_;
};
} // namespace detail

} // namespace sla
