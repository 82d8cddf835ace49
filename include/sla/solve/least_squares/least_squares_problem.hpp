// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Least squares: the x of least |A x - b|^2 + damping^2 |x|^2. Read here first, then golub_kahan.hpp, which makes A bidiagonal, its methods
// lsmr.hpp and lsqr.hpp, cgls.hpp, dense_qr.hpp, judge.hpp (the true figures), and, by their names, least_squares_engine, _choice and _calls.
#pragma once

#include <concepts>
#include <vector>

#include <sla/solve/driver/world.hpp>
#include <sla/solve/precond/identity.hpp>
#include <sla/solve/seam/stop.hpp>

namespace sla {

/// The problem that a method improves x in: |A x - b|^2 + damping^2 |x|^2 - 2 Re (linear, x) is least, or (A^H A + damping^2) x = A^H b + linear.
/// `linear` is null but in derivatives.
template <class A, class V, class X>
struct least_squares_problem {
  A const& a;
  V const& b;
  double damping = 0;
  X const* linear = nullptr;
};

/// What a run of a method found: how each item ended, and lower bounds of the condition number that it met, and of |A^+|, each if it tells.
struct least_squares_run {
  std::vector<progress> items;
  std::vector<double> condition, size_of_inverse;
};

/// A method for least squares, as options of one name:
///   using least_squares_tag = void;   it stands among the options of `least_squares`
///   static constexpr char const* name
///   double rtol, damping
/// and, of an iterative method, `int max_iterations; observer watch` and
///   run(space, problem, M, x, make_stop)   improves x, from x: a least_squares_run
/// with M for the inverse of A^H A + damping^2; or, of a direct one, `factor(A, damping)`, which makes what has `solve(problem, x)`.
template <class M>
concept LeastSquaresMethod = requires(M const& m) {
  typename M::least_squares_tag;
  { M::name } -> std::convertible_to<char const*>;
  { m.rtol } -> std::convertible_to<double>;
  { m.damping } -> std::convertible_to<double>;
};
namespace detail {
/// Methods that factor A.
template <class M, class A>
concept DirectLeastSquares = LeastSquaresMethod<M> && requires(M const& m, A const& a) { m.factor(a, 0.0); };

/// A number of the host as a scalar of the space.
template <class S>
auto on_every_item(S& space, double number) {
  return space.scalar(std::vector<double>(std::size_t(space.items()), number));
}
struct always_one {
  template <class R>
  SLA_HD R operator()(R) const {
    return R(1);
  }
};
struct zero_number {
  template <class R>
  SLA_HD R operator()(R) const {
    return R(0);
  }
};
struct sum_of_two {
  template <class R>
  SLA_HD R operator()(R a, R b) const {
    return a + b;
  }
};
struct real_part_of {
  template <class R>
  SLA_HD auto operator()(R a) const {
    return real_of(a);
  }
};
/// How the method ended an item, in `end` of its numbers.
struct end_of_method {
  template <class N>
  SLA_HD reason operator()(reason state, N const& n) const {
    return state == reason::running ? n.end : state;
  }
};
/// One of the numbers that a method keeps per item in an array `of`.
struct number_of_method {
  int which;
  template <class N>
  SLA_HD auto operator()(N const& n) const {
    return n.of[which];
  }
};
/// Lower bounds of |R| and |R^-1| for an upper bidiagonal R that grows by a column per step: the longest column, and the length of the y in R^H y = z where
/// the elements of z are 1 or -1, whichever makes y grow. Source: Cline, Moler, Stewart and Wilkinson, An estimate for the condition number of a matrix (1979).
template <class R>
struct bidiagonal_bounds {
  R size = 0, size_of_inverse = 0;
  R growth = 0, sum = 0;
  int columns = 0;

  /// The next column: its diagonal entry, which is not 0, and the one above it.
  SLA_HD void see(R diagonal, R above) {
    R const length = std::hypot(diagonal, above), own = diagonal < 0 ? -diagonal : diagonal;
    if (length > size) size = length;
    growth = (1 + (above < 0 ? -above : above) * growth) / own;
    sum += growth * growth;
    ++columns;
    R const inverse = std::sqrt(sum / R(columns));
    if (inverse > size_of_inverse) size_of_inverse = inverse;
  }
};
template <bool OfInverse>
struct bound_of_run {
  template <class N>
  SLA_HD double operator()(N const& n) const {
    return double(n.bounds.size_of_inverse) * (OfInverse ? 1.0 : double(n.bounds.size));
  }
};
template <class Numbers>
std::vector<double> as_list(Numbers const& numbers) {
  return std::vector<double>(numbers.begin(), numbers.end());
}
/// Ends a run whose numbers n have bounds.
template <class M, class S, class N, class Stop>
least_squares_run end_run(S& space, N const& n, Stop& stop) {
  auto const condition = space.map(bound_of_run<false>{}, n), inverse = space.map(bound_of_run<true>{}, n);
  least_squares_run out{stop.outcome(), {}, {}};
  out.condition = as_list(space.read(condition));
  if constexpr (std::same_as<M, applied_identity>) out.size_of_inverse = as_list(space.read(inverse));
  return out;
}
} // namespace detail

} // namespace sla
