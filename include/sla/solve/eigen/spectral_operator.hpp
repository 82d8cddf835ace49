// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operator that a Krylov method is run with, whose outer eigenvalues are those that are wanted of A v = w B v: A, B^-1 A, or (A - sigma B)^-1 B
// for `near{sigma}`, by factors, or by minres of operators and of distributed matrices whose factors no rank makes.
#pragma once

#include <complex>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <sla/core/held.hpp>
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

/// Can the first rank factor A - sigma B, where no preconditioner is named that minres would take?
template <class Problem>
inline constexpr bool has_gathered_factors = !Problem::is_preconditioned && GatheredForFactors<std::remove_cvref_t<decltype(std::declval<Problem const&>().a)>> &&
                                             (Problem::is_standard || GatheredForFactors<std::remove_cvref_t<decltype(std::declval<Problem const&>().b)>>);

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

  auto solution(V const& x) const {
    fuse(space, set(between, b * x));
    space.finish();
    return try_solve(m, between, minres{.rtol = rtol, .max_iterations = 20000}, preconditioner);
  }
  bool reaches(report const& r) const { return r.converged() || r.residual() <= 1e3 * rtol; }
  template <class F>
  auto operator()(V const& x, V& y, F const& f) const {
    auto s = solution(x);
    if (!reaches(s.report))
      throw value_error(text(call, ", which is not stored whole on one rank, is solved with by minres, and that did not reach ", rtol, ": ", s.report, "; gather(A) has factors"));
    between = std::move(s.x);
    return f(set(y, between));
  }
};
template <class Multiply>
inline constexpr bool multiplies_by_solving = false;  ///< to a tolerance, where factors are as good as rounding
template <class Space, class B, class V>
inline constexpr bool multiplies_by_solving<multiply_by_solving<Space, B, V>> = true;

/// How far the shift of (A - sigma B)^-1 is moved where sigma is a value, nearly: other values are known to rounding times the largest value of the inverse, so
/// that the nearest may not be nearer than this. The cube root of rounding leaves two thirds of the digits. u, v: room for vectors.
template <class Problem, class Space, class Sigma, class V>
double distance_of_moved_shift(Problem const& problem, Space& space, Sigma sigma, V& u, V& v) {
  auto const p = problem.random_vector(1);
  double const of_a = lower_bound_of_norm(problem.a, space, p, u, v), of_b = Problem::is_standard ? 1 : lower_bound_of_norm(problem.b, space, p, u, v);
  double const size = of_a / of_b + std::abs(sigma);
  return std::cbrt(double(std::numeric_limits<real_t<typename V::value_type>>::epsilon())) * (size > 0 ? size : 1);
}
/// A bound from above of the distance of sigma from the nearest value, by two steps with (A - sigma B)^-1 B from v; sharp, where that value is much nearer than
/// others. 0, where it is solved with, and that fails. image: room for a vector.
template <class Space, class Multiply, class V>
double distance_of_nearest(Space& space, Multiply const& multiply, V& v, V& image) {
  double grown = 0;
  for (int step = 0; step < 2; ++step) {
    auto [vv] = fuse(space, squared_norm_of(v));
    fuse(space, set(v, number_in(space, real_t<typename V::value_type>(1 / std::sqrt(double(read_one(space, vv))))) * v));
    if constexpr (requires { multiply.solution(v); }) {
      auto s = multiply.solution(v);
      if (!multiply.reaches(s.report)) return 0;
      image = std::move(s.x);
    } else {
      multiply(v, image, [&](auto&&... statement) { return fuse(space, std::forward<decltype(statement)>(statement)...), 0; });
    }
    auto [zz] = fuse(space, squared_norm_of(image));
    grown = std::sqrt(double(read_one(space, zz)));
    space.finish();
    std::swap(v, image);
  }
  return 1 / grown;
}
/// What multiplies by (A - sigma B)^-1 B, or by its conjugate transpose, and the name of the factors or of the method.
template <class Multiply>
struct inverted_shift {
  Multiply multiply;
  std::string name;
};
/// What `body` gives for (A - sigma B)^-1 B, which `invert_at(sigma)` makes: an `inverted_shift`, or none where it is singular. With `may_move` the shift is moved where
/// it is a value, nearly (Grimes, Lewis and Simon, SIAM J. Matrix Anal. Appl. 15 (1994)); pairs are wanted by the one that was asked for.
template <bool Adjoint, class Problem, class W, class Space, class Invert, class Body>
auto with_shift(Problem const& problem, W const& wanted, Space& space, char const* call, bool may_move, Invert const& invert_at, Body const& body) {
  W moved = wanted;     // with the shift that is inverted
  double distance = 0;  // from sigma to there
  std::string remark;
  auto inverse = invert_at(wanted.sigma);
  if (may_move) {
    auto v = problem.random_vector(1), image = v;
    double const step = distance_of_moved_shift(problem, space, wanted.sigma, v, image);  // a value as near as a 32nd of it costs the others five bits more than the move does
    v = problem.random_vector(1);
    if (!inverse || !(distance_of_nearest(space, inverse->multiply, v, image) >= step / 32)) {
      distance = step, moved.sigma -= decltype(moved.sigma)(step);
      if (inverse.reset(); auto again = invert_at(moved.sigma)) inverse.emplace(std::move(*again));
      remark = text(wanted.sigma, " is an eigenvalue, or nearly, so that the shift was moved by ", -step);
    }
  }
  if (!inverse)
    throw value_error(text(call, ", k, near{", wanted.sigma, "}): ", wanted.sigma, " is an eigenvalue, so that ", Problem::is_standard ? "A - sigma I" : "A - sigma B", " is singular",
                           may_move ? text(", and of ", moved.sigma, " too: some v may have A v = B v = 0, and then any number is an eigenvalue") : "; move sigma a little"));
  auto const key = [&](auto theta) {
    // Of a moved shift it is by the distance from sigma; the summand `distance` keeps its changes as small as those of theta.
    return distance == 0 || theta == decltype(theta)(0) ? -std::abs(theta) : -1 / (std::abs(decltype(theta)(moved.sigma - wanted.sigma) + decltype(theta)(1) / theta) + distance);
  };
  auto const to_a = [&](auto theta) {
    using Theta = decltype(theta);
    Theta const shift = Theta(Adjoint ? conj_of_value(moved.sigma) : moved.sigma), w = Theta(shift + Theta(1) / theta);
    // Below the rounding of the shift a value is 0, as those of A = 0 beside a moved one.
    return double(std::abs(w)) <= 4 * double(std::numeric_limits<real_t<typename Problem::value_type>>::epsilon()) * double(std::abs(shift)) ? Theta(0) : w;
  };
  return body(spectral_operator{inverse->multiply, true, key, to_a, inverse->name, remark});
}

/// `with_operator` of a Hermitian problem where `is_solved_with`, to a tolerance of pairs.
template <class Problem, class W, class Space, class V, class Body>
auto with_solved_operator(Problem const& problem, W const& wanted, Space& space, V& between, double rtol, Body const& body, bool may_move) {
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
    auto const m = detail::shared_of<decltype(problem.setup()) const>(problem.setup());
    auto const preconditioner = as_operator([&problem, m](V const& x, V& y) {
      auto here = problem.space();
      fuse(here, set(y, *m * x));
      here.finish();
    });
    using Multiply = multiply_by_solving<Space, std::remove_cvref_t<decltype(problem.b)>, V>;
    auto const invert_at = [&](auto sigma) {
      auto const shifted = as_operator([&problem, sigma](V const& x, V& y) {
        auto here = problem.space();
        V bx = y;
        auto const number = number_in(here, real_t<T>(sigma));
        fuse(here, set(bx, problem.b * x));
        fuse(here, set(y, problem.a * x - number * bx));
        here.finish();
      });
      return std::optional(inverted_shift<Multiply>{Multiply{space, shifted, preconditioner, problem.b, between, inner, text("eigsh(A, k, near{", wanted.sigma, "}): A - sigma ", Problem::is_standard ? "I" : "B")}, "minres"});
    };
    return with_shift<false>(problem, wanted, space, "eigsh(A", may_move, invert_at, body);
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

/// What `body` gives for the operator of the problem, or of its conjugate transpose. `between` is room for a vector. With `may_move` a shift that is a value is moved.
template <bool Adjoint, class Problem, class W, class Space, class V, class Body>
auto with_operator(Problem const& problem, W const& wanted, Space& space, V& between, bool hermitian, char const* call, Body const& body, bool may_move) {
  using T = typename Problem::value_type;
  using A = std::remove_cvref_t<decltype(problem.a)>;
  using Number = std::conditional_t<is_complex<T>, std::complex<double>, double>;
  constexpr bool factors = is_near<W> || !Problem::is_standard, has_entries = !factors || Readable<A> || has_gathered_factors<Problem>;
  static_assert(has_entries, "sla: eigs(A, k, near{sigma}), eigs(A, B, k, ...): it factors A - sigma B, or B, which are sparse tensors in host memory, or distributed by rows; elsewhere take "
                             "gather(A), or eigsh of Hermitian ones");
  if constexpr (factors && GatheredForFactors<A>)
    if (problem.n > choice_world<A>::most_gathered_rows)
      throw value_error(text(call, ", k, ...): it factors A - sigma B, or B, of ", problem.n, " rows, and of more than ", choice_world<A>::most_gathered_rows,
                             " no rank gathers them: take gather(A), where one rank has room for the factors, or eigsh of a Hermitian A"));
  auto const oriented_inverse = [](linear_operator<T> const& inverse) {
    if constexpr (Adjoint)
      return inverse.adjoint();
    else
      return inverse;
  };
  if constexpr (is_near<W> && has_entries) {
    auto const& b = oriented<Adjoint>(problem.b);
    using Multiply = multiply_by_both<linear_operator<T>, std::remove_cvref_t<decltype(b)>, V>;
    auto const invert_at = [&](auto sigma) {
      std::optional<inverted_shift<Multiply>> out;
      if (auto const inverse = invert<T>(minus_shift<Number>(problem.a, problem.b, sigma), hermitian))
        out.emplace(inverted_shift<Multiply>{Multiply{oriented_inverse(inverse->apply), b, between}, inverse->name});
      return out;
    };
    return with_shift<Adjoint>(problem, wanted, space, call, may_move, invert_at, body);
  } else {
    auto const key = [&](auto theta) { return wanted.key(Adjoint ? decltype(theta)(conj_of_value(theta)) : theta); };
    auto const to_a = [](auto theta) { return theta; };
    if constexpr (!has_entries) {
      return body(spectral_operator{multiply_by<A>{problem.a}, false, key, to_a, ""});
    } else if constexpr (Problem::is_standard) {
      auto const& a = oriented<Adjoint>(problem.a);
      return body(spectral_operator{multiply_by<std::remove_cvref_t<decltype(a)>>{a}, false, key, to_a, ""});
    } else {
      auto const flat = in_scalars<Number>(problem.b);
      std::optional<factored_inverse<T>> inverse;
      if constexpr (Readable<A>)
        if (hermitian) {
          if (auto const m = trusted_factors<factorization::cholesky>(flat))
            inverse = factored_inverse<T>{operator_of_factors<T>(*m, flat.rows()), "cholesky"};
          else if (has_negative_values<Number>(problem.b))
            throw_not_definite("it has no Cholesky factors");
        }
      if (!inverse) inverse = invert<T>(flat, hermitian);
      if (!inverse) throw value_error(text(call, ", B, k): B is singular, so that A v = w B v has infinite eigenvalues; near{sigma} factors A - sigma B instead"));
      auto const& a = oriented<Adjoint>(problem.a);
      return body(spectral_operator{multiply_by_both<linear_operator<T>, std::remove_cvref_t<decltype(a)>, V>{oriented_inverse(inverse->apply), a, between}, false, key, to_a, inverse->name});
    }
  }
}

} // namespace sla::detail
