// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `check_gradient(f, args...)`: is the gradient of f right? By Taylor remainders along a random direction, printed as a table and
// returned as numbers. The directions are in grad/call/direction.hpp.
#pragma once

#include <iostream>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <sla/grad/call/direction.hpp>
#include <sla/grad/call/gradient.hpp>
#include <sla/grad/call/jvp.hpp>

namespace sla {

/// What a check of a gradient found.
enum class gradient_outcome {
  right,               ///< the remainder falls with the square of the step, or faster
  exact,               ///< f is linear along the direction: the remainder is rounding from the first step
  constant,            ///< f does not change along the direction, and the gradient says so
  wrong,               ///< the remainder falls with the step only
  not_differentiable,  ///< the slopes of f on both sides of the point differ, or f jumps
  not_finite,          ///< f or its gradient is NaN or infinite at the point
  lost                 ///< too few steps have a remainder above the rounding, or the tolerance, of f
};
inline char const* to_string(gradient_outcome v) {
  constexpr char const* names[] = {"right", "exact", "constant", "wrong", "not differentiable", "not finite", "lost"};
  return names[int(v)];
}

/// Options of `check_gradient`.
struct gradient_check_options {
  std::uint64_t seed = 1;          ///< of the direction, where none is given
  double step = 0.05;              ///< the first, in units of the direction, which is as large as the argument
  int halvings = 12;
  double tolerance = 0.1;          ///< a slope of 2 - tolerance passes
  std::ostream* out = &std::cout;  ///< where the table goes; null for nowhere
};

/// What check_gradient found: of steps h along d, |f(x + h d) - f(x)| and |f(x + h d) - f(x) - h Re <g, d>|, the larger of both
/// sides each.
struct gradient_check {
  struct step {
    double h, change, remainder;
  };
  gradient_outcome outcome = gradient_outcome::lost;
  bool passed = false;
  double slope = std::numeric_limits<double>::quiet_NaN();  ///< of log remainder over log h, fitted; NaN where there is none
  double value = 0;                                         ///< f(x)
  double derivative = 0;                                    ///< Re <g, d>, summed over the arguments
  double difference = std::numeric_limits<double>::quiet_NaN();  ///< the same by the central difference that agrees best
  std::vector<step> steps;
  std::string message;  ///< the outcome in a sentence
};

template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, gradient_check const& c) {
  auto const flags = out.flags();
  auto const precision = out.precision();
  auto const cell = [&](double v) { out.width(12), out << v; };
  out.precision(3);
  out << std::scientific << "gradient check: f = " << c.value << ", Re <g, d> = " << c.derivative << "\n           h      change   remainder        rate\n";
  for (std::size_t n = 0; n < c.steps.size(); ++n) {
    cell(c.steps[n].h), cell(c.steps[n].change), cell(c.steps[n].remainder);
    out << std::fixed;
    if (n > 0) cell(std::log2(c.steps[n - 1].remainder / c.steps[n].remainder));
    out << std::scientific << '\n';
  }
  out << to_string(c.outcome) << ": " << c.message << '\n';
  out.flags(flags);
  out.precision(precision);
  return out;
}

namespace detail {
/// f(x + h d) and f(x - h d); NaN where f failed.
struct both_sides {
  double h, plus, minus;
};

/// The slope of log y over log h by least squares.
template <class Samples, class Y>
double fitted_slope(Samples const& at, Y const& y) {
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (auto const& s : at) mean_x += std::log(s.h) / double(at.size()), mean_y += std::log(y(s)) / double(at.size());
  for (auto const& s : at) {
    double const x = std::log(s.h) - mean_x;
    xx += x * x, xy += x * (std::log(y(s)) - mean_y);
  }
  return xy / xx;
}

/// The outcome on what was sampled; `rounding` is the unit of f's precision, `failure` what f threw last.
template <class Samples>
void judge_gradient(gradient_check& c, Samples const& samples, double tolerance, double rounding, std::string const& failure) {
  using enum gradient_outcome;
  auto const change = [&](both_sides const& s) { return (std::max)(std::abs(s.plus - c.value), std::abs(s.minus - c.value)); };
  auto const remainder = [&](both_sides const& s) {
    return (std::max)(std::abs(s.plus - c.value - s.h * c.derivative), std::abs(s.minus - c.value + s.h * c.derivative));
  };
  auto const bend = [&](both_sides const& s) { return std::abs(s.plus - 2 * c.value + s.minus); };
  auto const say = [&](gradient_outcome v, auto const&... words) {
    c.outcome = v;
    c.passed = v == right || v == exact || v == constant;
    c.message = text(words...);
  };
  for (auto const& s : samples) c.steps.push_back({s.h, change(s), remainder(s)});
  if (!std::isfinite(c.value) || !std::isfinite(c.derivative))
    return say(not_finite, "f is ", c.value, " and Re <g, d> is ", c.derivative, "; check where f is finite");

  Samples finite;
  for (auto const& s : samples)
    if (std::isfinite(s.plus) && std::isfinite(s.minus)) finite.push_back(s);
  if (finite.size() < 3)
    return say(lost, "f is finite at ", finite.size(), " of ", samples.size(), " steps", failure.empty() ? "" : ", and threw: ", failure, "; take smaller steps");

  double size = std::abs(c.value), most = 0;
  for (auto const& s : finite) {
    size = (std::max)({size, std::abs(s.plus), std::abs(s.minus)});
    most = (std::max)(most, change(s));
    double const central = (s.plus - s.minus) / (2 * s.h);
    if (!(std::abs(c.difference - c.derivative) <= std::abs(central - c.derivative))) c.difference = central;
  }
  double const first = finite.front().h, rounded = 16 * rounding * size;
  // The noise of f, of a solve to a tolerance say, is what bends f still at the smallest steps.
  double const noise = (std::max)({rounded, 1.5 * bend(finite.back()), 1.5 * bend(finite[finite.size() - 2])});
  if (most <= rounded && first * std::abs(c.derivative) <= rounded)
    return say(constant, "f does not change along the direction, and the gradient is zero there: nothing more can be told");
  if (change(finite.back()) > 0.5 * most && most > 4 * rounded)
    return say(not_differentiable, "f does not tend to its value at the point as the steps shrink: it jumps there, or is noisy");

  Samples clear;  // the smallest steps with a remainder above the noise
  for (auto const& s : finite)
    if (remainder(s) > noise) clear.push_back(s);
  if (clear.size() > 5) clear.erase(clear.begin(), clear.end() - 5);
  if (clear.size() < 3) {
    if (remainder(finite.front()) <= 1e-6 * first * std::abs(c.derivative) && most > noise)
      return say(exact, "f is linear along the direction, and the gradient agrees to rounding");
    return say(lost, "the remainder is under the rounding of f, or the tolerance of a solve in it, about ", noise,
               "; take larger steps or a tighter tolerance");
  }
  c.slope = fitted_slope(clear, remainder);
  if (c.slope >= 2 - tolerance) return say(right, "the remainder falls with h^", std::round(c.slope * 100) / 100);
  auto const& s = clear.back();
  if (bend(s) > 0.05 * remainder(s) && fitted_slope(clear, bend) < 1.5)
    return say(not_differentiable, "the slopes of f along the direction are ", (c.value - s.minus) / s.h, " before the point and ",
               (s.plus - c.value) / s.h, " behind it");
  say(wrong, "the remainder falls with h^", std::round(c.slope * 100) / 100, " only: Re <g, d> is ", c.derivative, ", differences say ", c.difference,
      c.derivative == 0 ? "; is a value taken out of the trace, by x.value()?" : "");
}

template <class F, class... V>
gradient_check checked_gradient(F const& f, gradient_check_options const& options, std::tuple<V...> const& x, std::tuple<V...> const& d) {
  gradient_check c;
  static_assert(!Statement<std::invoke_result_t<F const&, V const&...>>,
                "sla: check_gradient(f, args...): f returns a statement of fuse, not a number: write squared_norm(x), not squared_norm_of(x)");
  constexpr std::index_sequence_for<V...> all;
  using First = direction_space<std::tuple_element_t<0, std::tuple<V...>>>;
  auto const result = [&]<std::size_t... K>(std::index_sequence<K...>) { return value_and_gradient(f, std::get<K>(x)...); }(all);
  using R = std::remove_cvref_t<std::tuple_element_t<0, decltype(result)>>;
  c.value = double(std::get<0>(result));
  [&]<std::size_t... K>(std::index_sequence<K...>) { ((c.derivative += direction_space<V>::pairing(std::get<K + 1>(result), std::get<K>(d))), ...); }(all);
  std::string failure;
  auto const at = [&](double h) {
    try {
      return [&]<std::size_t... K>(std::index_sequence<K...>) { return First::number(f(direction_space<V>::moved(std::get<K>(x), h, std::get<K>(d))...)); }(all);
    } catch (error const& e) {  // a step may lead out of the domain of f: the matrix is indefinite there
      failure = e.what();
      return std::numeric_limits<double>::quiet_NaN();
    }
  };
  std::vector<dependent_t<both_sides, F>> samples;
  double h = options.step;
  for (int n = 0; n <= options.halvings; ++n, h /= 2) samples.push_back({h, at(h), at(-h)});
  judge_gradient(c, samples, options.tolerance, double(std::numeric_limits<R>::epsilon()), failure);
  if (options.out && First::speaks(std::get<0>(x))) *options.out << c;
  return c;
}
/// Arguments, or directions of theirs, as owners of the arguments' types.
template <class... Args, class Tuple, std::size_t... K>
auto owned_arguments(Tuple const& values, std::index_sequence<K...>) {
  return std::tuple<argument_t<std::remove_cvref_t<Args>>...>{argument_t<std::remove_cvref_t<Args>>(argument(std::get<K>(values)))...};
}
/// Values with directions, all plain or all on ranks.
template <class First, class... V>
inline constexpr bool move_together = has_directions<First> && ((has_directions<V> && direction_space<V>::on_ranks == direction_space<First>::on_ranks) && ...);
template <class X>
inline constexpr bool is_tuple = false;
template <class... X>
inline constexpr bool is_tuple<std::tuple<X...>> = true;
} // namespace detail

/// Is value_and_gradient(f, args...) right? Along a direction d, |f(x + h d) - f(x) - h Re <g, d>| falls with h^2 if it is, with h if
/// not. All arguments move together: tensors and numbers at random, a sparse tensor on its pattern, a hermitian (or symmetric) one to
/// such. f takes plain and traced arguments. Prints a table to options.out.
///     check_gradient(misfit, A, b);
///     auto c = check_gradient(misfit, std::tie(A, b), {.seed = 3, .out = nullptr});   // c.passed, c.slope, c.steps
/// Law: the arguments are on the host; of distributed ones see dist/grad/check_on_ranks.hpp. Cost: one gradient and two values of f for each of the steps.
/// Errors: what f throws at the arguments; shape_error, if a direction has other extents or another pattern than its argument.
/// Source: Farrell, Ham, Funke and Rognes, Automated derivation of the adjoint of high-level transient finite element programs (2013).
template <class F, class... Args>
gradient_check check_gradient(F const& f, std::tuple<Args...> const& args, gradient_check_options const& options = {}) {
  constexpr bool movable = detail::move_together<detail::argument_t<std::remove_cvref_t<Args>>...>;
  static_assert(movable, "sla: check_gradient(f, args...): arguments are numbers, tensors and sparse tensors of floating point; if distributed, all of them, without "
                         "halos, and with <sla/dist/grad/check_on_ranks.hpp>");
  if constexpr (movable) {
    auto const x = detail::owned_arguments<Args...>(args, std::index_sequence_for<Args...>{});
    return detail::checked_gradient(f, options, x, detail::random_directions(x, options.seed));
  } else {
    return {};  // well-formed, so that the sentence is the only error
  }
}
/// The same along given directions.
template <class F, class... Args, class... Directions>
gradient_check check_gradient(F const& f, std::tuple<Args...> const& args, std::tuple<Directions...> const& directions, gradient_check_options const& options = {}) {
  static_assert(sizeof...(Args) == sizeof...(Directions), "sla: check_gradient(f, std::tie(args...), std::tie(directions...)): give one direction for each argument");
  constexpr std::index_sequence_for<Args...> all;
  auto const x = detail::owned_arguments<Args...>(args, all);
  auto const d = detail::owned_arguments<Args...>(directions, all);
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (detail::require_fits(std::get<K>(x), std::get<K>(d), "the argument", "check_gradient(f, args, directions): the direction of argument ", K), ...);
  }(all);
  return detail::checked_gradient(f, options, x, d);
}
template <class F, class... Args>
  requires(!detail::is_tuple<Args> && ...)
gradient_check check_gradient(F const& f, Args const&... args) {
  return check_gradient(f, std::tie(args...));
}

} // namespace sla
