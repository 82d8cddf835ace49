// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a solve is asked for and why it ended: tolerances, limits, observers, reasons, and the defaults of a thread.
// The test that goes by them is in solve/seam/stop.hpp.
#pragma once

#include <concepts>
#include <functional>
#include <utility>
#include <vector>

#include <sla/core/error.hpp>
#include <sla/core/scalar.hpp>

namespace sla {

/// Why a solve ended, after the model of PETSc's KSPConvergedReason.
enum class reason : int {
  running = 0,
  converged,                  ///< the true residual is within the tolerance
  iteration_limit,            ///< max_iterations were not enough
  stagnated,                  ///< more iterations no longer reduce the true residual
  not_a_number,               ///< NaN or infinity in A, b, x or during the iteration
  indefinite_matrix,          ///< (p, A p) <= 0: A is not positive definite
  indefinite_preconditioner,  ///< (r, M r) <= 0: M is not positive definite
  breakdown,                  ///< a denominator of the recurrence vanished, or was so small that the residual grew beyond all digits
  singular,                   ///< the matrix has no inverse: a zero pivot, among all that could be taken
  setup_failed,               ///< the preconditioner does not exist for this system of a list
  zero_pivot,                 ///< a pivot is zero, and the factorisation takes no other: A may have an inverse
  stopped,                    ///< an observer asked for it
  badly_scaled,               ///< |b|^2 leaves the range of double, so that no residual can be judged: scale b
};
inline char const* to_string(reason why) {
  switch (why) {
    case reason::running: return "running";
    case reason::converged: return "converged";
    case reason::iteration_limit: return "iteration limit";
    case reason::stagnated: return "stagnated";
    case reason::not_a_number: return "NaN or infinity";
    case reason::indefinite_matrix: return "matrix is not positive definite";
    case reason::indefinite_preconditioner: return "preconditioner is not positive definite";
    case reason::breakdown: return "breakdown";
    case reason::singular: return "matrix is singular";
    case reason::setup_failed: return "no preconditioner";
    case reason::zero_pivot: return "zero pivot";
    case reason::stopped: return "stopped by an observer";
    case reason::badly_scaled: return "|b|^2 leaves the range of double: scale b";
  }
  return "unknown";
}

/// What an observer sees of one item, as old as the flag of the space.
struct progress {
  reason state;
  int iterations;
  double residual;  ///< estimated |r| / |b|
};
/// Called once per iteration with one progress per item; false stops the solve. A method that has none takes that of `with`, if
/// the solve is inside of one: it is kept by no prepared solver. On ranks each has its own, or none; if one of them says false, a
/// time limit perhaps, all stop, an iteration later.
using observer = std::function<bool(std::vector<progress> const&)>;

/// A relative tolerance: a number that was asked for, or the default where none was, which is 1e-8, and 1e-5 for an x in float: it holds
/// seven digits, and its rounding alone leaves a residual of 1e-7 and more. Converts from double, which counts as asked for, and to the
/// number for an x in double.
struct relative_tolerance {
  double of_double = 1e-8, of_float = 1e-5;

  constexpr relative_tolerance() = default;
  constexpr relative_tolerance(double asked) : of_double(asked), of_float(asked) {}
  constexpr operator double() const { return of_double; }
};
namespace detail {
/// Which of the two counts for an x whose elements are T: `rtol.*tolerance_of<T>`.
template <class T>
inline constexpr double relative_tolerance::*tolerance_of = std::same_as<real_t<T>, float> ? &relative_tolerance::of_float : &relative_tolerance::of_double;
} // namespace detail

struct stop_rule;
/// The defaults of this thread, which every method's options begin with; `with` changes them for a while.
stop_rule& default_rule();

/// When to stop: |r| <= max(rtol |b|, atol), or after max_iterations.
struct stop_rule {
  relative_tolerance rtol = default_rule().rtol;
  double atol = default_rule().atol;
  int max_iterations = default_rule().max_iterations;
  observer watch = default_rule().watch;
};

inline stop_rule& default_rule() {
  thread_local stop_rule rule{{}, 0, 10000, {}};
  return rule;
}

/// f() with other defaults: `with({.rtol = 1e-12}, [&] { return solve(A, b, cg{}); })`. They end with the call, whatever happens; a
/// method that is prepared inside keeps the tolerances and the limit, not the observer, which is that of the solve.
/// They are those of this thread, and of the ranks of a threads::run that it calls, but for the observer: give each rank its own.
/// Threads that you start begin with the library's.
template <class F>
decltype(auto) with(stop_rule const& rule, F&& f) {
  struct restore {
    stop_rule outer = default_rule();
    ~restore() { default_rule() = std::move(outer); }
  } const scope;
  default_rule() = rule;
  return std::forward<F>(f)();
}

namespace detail {
/// Errors: value_error that names the option of a method which makes no sense.
template <class = void>
void require_sensible(char const* name, relative_tolerance const& rtol, double atol, int max_iterations, char const* limit = "the number of iterations is .max_iterations") {
  auto const given = [name](char const* option, double value) { return text(name, "{.", option, " = ", value, "}: "); };
  if (!(rtol.of_double >= 0 && rtol.of_double < 1))
    throw value_error(text(given("rtol", rtol.of_double), "a relative tolerance is at least 0 and less than 1, as in ", name,
                           "{.rtol = 1e-8}; ", limit));
  if (!(atol >= 0 && atol - atol == 0)) throw value_error(text(given("atol", atol), "a tolerance of |b - A x| is a number from 0 on; 0 leaves it to .rtol"));
  if (max_iterations < 0) throw value_error(text(name, "{.max_iterations = ", max_iterations, "}: a limit is a number from 0 on, such as 10000"));
}
/// The options of a method, if their numbers make sense.
template <class Method>
Method const& sensible(Method const& m) {
  if constexpr (requires { m.max_iterations; })
    require_sensible(Method::name, m.rtol, m.atol, m.max_iterations);
  else
    require_sensible(Method::name, m.rtol, m.atol, 0);
  return m;
}
} // namespace detail

} // namespace sla
