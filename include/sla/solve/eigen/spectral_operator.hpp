// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operator that a Krylov method is run with, whose outer eigenvalues are those that are wanted of A v = w B v: A, B^-1 A, or (A - sigma B)^-1 B
// for `near{sigma}`, by factors or, where a matrix is not stored whole, by minres.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <sla/solve/eigen/krylov/factored_inverse.hpp>
#include <sla/solve/eigen/krylov/krylov_process.hpp>
#include <sla/solve/eigen/problem.hpp>
#include <sla/solve/krylov/minres.hpp>
#include <sla/solve/linear/linear.hpp>

namespace sla::detail {

/// B of A v = w v.
inline constexpr applied_identity no_weight{};
template <class Z>
Z conj_of_value(Z z) {
  if constexpr (is_complex<Z>)
    return std::conj(z);
  else
    return z;
}
/// An operand, or its stored conjugate transpose.
template <bool Adjoint, class M>
decltype(auto) oriented(M const& operand) {
  if constexpr (Adjoint && !std::same_as<M, applied_identity>)
    return linear_world<M>::adjoint(operand);
  else
    return (operand);
}
/// What a Krylov method asks of its operator, as `restarted` wants it.
template <class Multiply, class Key, class ToA>
struct spectral_operator {
  Multiply multiply;
  bool inverted;  ///< are values of the operator 1 / (w - sigma)?
  Key key;        ///< of values of the operator: small ones are wanted
  ToA to_a;       ///< the value of A
  std::string by; ///< the factors
  std::string remark = {};
};
template <class Multiply, class Key, class ToA, class... Texts>
spectral_operator(Multiply, bool, Key, ToA, Texts...) -> spectral_operator<Multiply, Key, ToA>;

/// |A x - w B x| / |B x| for the residual vector x of the operator's process, where w is far from its values: of A alone it is 1.
template <class Problem, class Process, class W, class V>
double residual_scale(Problem const& problem, Process const& process, [[maybe_unused]] W const& wanted, [[maybe_unused]] V& left) {
  if constexpr (is_near<W>) {
    auto& space = process.space();
    V const& v = process.residual();
    auto const sigma = number_in(space, typename Process::U(wanted.sigma));
    auto [above, below] = fuse(space, set(left, problem.b * v), squared_norm_of(problem.a * v - sigma * left), squared_norm_of(left));
    return std::sqrt(double(read_one(space, above)) / double(read_one(space, below)));
  } else {
    return 1;
  }
}

/// Is there a matrix to invert, A - sigma B or B, that is not stored whole here? It is solved with, then.
template <class Problem, class W>
inline constexpr bool is_solved_with = (is_near<W> || !Problem::is_standard) && !(Readable<std::remove_cvref_t<decltype(std::declval<Problem const&>().a)>> &&
                                                                                (Problem::is_standard || Readable<std::remove_cvref_t<decltype(std::declval<Problem const&>().b)>>));

/// M^-1 B for an operator M that is given by its products, by minres. Each step waits for the space, and is as many products as minres takes.
/// Errors: value_error, if minres does not reach `rtol`, by far.
template <class Space, class B, class V>
struct multiply_by_solving {
  using T = typename V::value_type;
  Space& space;
  linear_operator<T> m, preconditioner;
  B const& b;
  V& between;
  double rtol;
  std::string call;

  template <class F>
  auto operator()(V const& x, V& y, F const& f) const {
    fuse(space, set(between, b * x));
    space.finish();
    auto s = try_solve(m, between, minres{.rtol = rtol, .max_iterations = 20000}, preconditioner);
    if (!s.report.converged() && !(s.report.residual() <= 1e3 * rtol))
      throw value_error(text(call, ", which is not stored whole on one rank, is solved with by minres, and that did not reach ", rtol, ": ", s.report, "; gather(A) has factors"));
    between = std::move(s.x);
    return f(set(y, between));
  }
};

/// `with_operator` of a Hermitian problem where `is_solved_with`, to a tolerance of pairs.
template <class Problem, class W, class Space, class V, class Body>
auto with_solved_operator(Problem const& problem, W const& wanted, Space& space, V& between, double rtol, Body const& body) {
  using T = typename Problem::value_type;
  index_t const own = own_size(between);
  auto const as_operator = [own, like = between](auto product) {
    return linear_operator<T>(own, own, [product, like](std::span<T const> from, std::span<T> to) {
      V x = like, y = like;
      std::copy(from.begin(), from.end(), own_numbers(x));
      product(x, y);
      std::copy_n(own_numbers(y), own_size(y), to.begin());
    }, self_adjoint);
  };
  double const inner = (std::max)(1e-2 * rtol, std::same_as<real_t<T>, float> ? 1e-6 : 1e-11);
  if constexpr (is_near<W>) {
    auto const shifted = as_operator([&problem, sigma = wanted.sigma](V const& x, V& y) {
      auto here = problem.space();
      V bx = y;
      auto const number = number_in(here, real_t<T>(sigma));
      fuse(here, set(bx, problem.b * x));
      fuse(here, set(y, problem.a * x - number * bx));
      here.finish();
    });
    auto const m = std::make_shared<decltype(problem.setup()) const>(problem.setup());
    auto const preconditioner = as_operator([&problem, m](V const& x, V& y) {
      auto here = problem.space();
      fuse(here, set(y, *m * x));
      here.finish();
    });
    using Multiply = multiply_by_solving<Space, std::remove_cvref_t<decltype(problem.b)>, V>;
    auto const key = [](auto theta) { return -std::abs(theta); };
    auto const to_a = [sigma = wanted.sigma](auto theta) { return decltype(theta)(decltype(theta)(sigma) + decltype(theta)(1) / theta); };
    return body(spectral_operator{Multiply{space, shifted, preconditioner, problem.b, between, inner, text("eigsh(A, k, near{", wanted.sigma, "}): A - sigma ", Problem::is_standard ? "I" : "B")}, true, key, to_a, "minres"});
  } else {
    auto const weight = as_operator([&problem](V const& x, V& y) {
      auto here = problem.space();
      fuse(here, set(y, problem.b * x));
      here.finish();
    });
    auto const same = as_operator([](V const& x, V& y) { y = x; });
    using Multiply = multiply_by_solving<Space, std::remove_cvref_t<decltype(problem.a)>, V>;
    auto const key = [&wanted](auto theta) { return wanted.key(theta); };
    auto const to_a = [](auto theta) { return theta; };
    return body(spectral_operator{Multiply{space, weight, same, problem.a, between, inner, "eigsh(A, B, k): B"}, false, key, to_a, "minres"});
  }
}

/// How far the shift of (A - sigma B)^-1 is moved where sigma is a value, nearly: other values are known to rounding times the largest value of the inverse, so
/// that the nearest may not be nearer than this. The cube root of rounding leaves two thirds of the digits.
template <class T, class Problem, class Sigma>
double distance_of_moved_shift(Problem const& problem, Sigma sigma) {
  double const of_a = double(norm_inf(problem.a));
  double of_b = 1;
  if constexpr (!Problem::is_standard) of_b = double(norm_inf(problem.b));
  double const size = of_a / of_b + std::abs(sigma);
  return std::cbrt(double(std::numeric_limits<real_t<T>>::epsilon())) * (size > 0 ? size : 1);
}
/// A bound from above of the distance of sigma from the nearest value, by two steps with the inverse; sharp, where that value is much nearer than others.
template <class T, class Problem>
double distance_of_nearest(Problem const& problem, linear_operator<T> const& inverse) {
  vector<T> v = random<T>(problem.n, 1);
  double grown = 0;
  for (int step = 0; step < 2; ++step) {
    v = v / norm(v);
    v = eval(inverse * eval(problem.b * v));
    grown = double(norm(v));
  }
  return 1 / grown;
}

/// What `body` gives for the operator of the problem, or of its conjugate transpose. `between` is room for a vector. With `may_move` the shift of a Hermitian
/// problem is moved where it is a value, nearly (Grimes, Lewis and Simon, SIAM J. Matrix Anal. Appl. 15 (1994)); pairs are wanted by the one that was asked for.
template <bool Adjoint, class Problem, class W, class V, class Body>
auto with_operator(Problem const& problem, W const& wanted, V& between, bool hermitian, char const* call, Body const& body, bool may_move = false) {
  using T = typename Problem::value_type;
  using A = std::remove_cvref_t<decltype(problem.a)>;
  using Number = std::conditional_t<is_complex<T>, std::complex<double>, double>;
  constexpr bool factors = is_near<W> || !Problem::is_standard, has_entries = !factors || Readable<A>;
  static_assert(has_entries, "sla: eigs(A, k, near{sigma}), eigs(A, B, k, ...): it factors A - sigma B, or B, which are sparse tensors in host memory; elsewhere take gather(A), or "
                             "eigsh of Hermitian ones");
  auto const oriented_inverse = [](linear_operator<T> const& inverse) {
    if constexpr (Adjoint)
      return inverse.adjoint();
    else
      return inverse;
  };
  W moved = wanted;      // near{sigma} with the shift that is factored
  double distance = 0;  // from sigma to there
  std::string remark;
  auto const key = [&](auto theta) {
    if constexpr (is_near<W>)
      // Of a moved shift it is by the distance from sigma; the summand `distance` keeps its changes as small as those of theta.
      return distance == 0 ? -std::abs(theta) : -1 / (std::abs(decltype(theta)(moved.sigma - wanted.sigma) + decltype(theta)(1) / theta) + distance);
    else
      return wanted.key(Adjoint ? decltype(theta)(conj_of_value(theta)) : theta);
  };
  auto const to_a = [&](auto theta) {
    if constexpr (is_near<W>)
      return decltype(theta)(decltype(theta)(Adjoint ? conj_of_value(moved.sigma) : moved.sigma) + decltype(theta)(1) / theta);
    else
      return theta;
  };
  if constexpr (!has_entries) {
    return body(spectral_operator{multiply_by<A>{problem.a}, false, key, to_a, ""});
  } else if constexpr (is_near<W>) {
    auto inverse = invert<T>(minus_shift<Number>(problem.a, problem.b, wanted.sigma), hermitian);
    if (may_move) {
      double const step = distance_of_moved_shift<T>(problem, wanted.sigma);  // a value as near as a 32nd of it costs the others five bits more than the move does
      if (!inverse || !(distance_of_nearest<T>(problem, inverse->apply) >= step / 32)) {
        distance = step, moved.sigma -= decltype(moved.sigma)(step);
        inverse = invert<T>(minus_shift<Number>(problem.a, problem.b, moved.sigma), hermitian);
        remark = text(wanted.sigma, " is an eigenvalue, or nearly, so that the shift was moved by ", -step);
      }
    }
    if (!inverse)
      throw value_error(text(call, ", k, near{", wanted.sigma, "}): ", wanted.sigma, " is an eigenvalue, so that ", Problem::is_standard ? "A - sigma I" : "A - sigma B",
                             " is singular; move sigma a little"));
    linear_operator<T> const m = oriented_inverse(inverse->apply);
    if constexpr (Problem::is_standard) {
      return body(spectral_operator{multiply_by<linear_operator<T>>{m}, true, key, to_a, inverse->name, remark});
    } else {
      auto const& b = oriented<Adjoint>(problem.b);
      return body(spectral_operator{multiply_by_both<linear_operator<T>, std::remove_cvref_t<decltype(b)>, V>{m, b, between}, true, key, to_a, inverse->name, remark});
    }
  } else if constexpr (Problem::is_standard) {
    auto const& a = oriented<Adjoint>(problem.a);
    return body(spectral_operator{multiply_by<std::remove_cvref_t<decltype(a)>>{a}, false, key, to_a, ""});
  } else {
    auto const inverse = invert<T>(flat_scalars<Number>(problem.b), hermitian);
    if (!inverse) throw value_error(text(call, ", B, k): B is singular, so that A v = w B v has infinite eigenvalues; near{sigma} factors A - sigma B instead"));
    linear_operator<T> const m = oriented_inverse(inverse->apply);
    auto const& a = oriented<Adjoint>(problem.a);
    return body(spectral_operator{multiply_by_both<linear_operator<T>, std::remove_cvref_t<decltype(a)>, V>{m, a, between}, false, key, to_a, inverse->name});
  }
}

} // namespace sla::detail
