// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eigenproblems: which pairs are wanted, `smallest{}`, `largest{}`, `largest_magnitude{}`, `near{sigma}`. Read on in eigen_report.hpp (what a call
// tells), problem.hpp (the seam: what a method is given and gives), lobpcg.hpp (a method), eigsh.hpp (the calls and the automatic choice).
#pragma once

#include <complex>
#include <type_traits>

#include <sla/core/scalar.hpp>
#include <sla/core/shape.hpp>

namespace sla {

/// The smallest eigenvalues, the most negative first; of complex ones those with the smallest real part.
struct smallest {
  using wanted_tag = void;
  static constexpr char const* name = "smallest";
  /// Wanted is what has a small key; results are in ascending order of it.
  template <class W>
  static double key(W const& w) {
    return double(std::real(w));
  }
};
/// The largest eigenvalues, the largest first; of complex ones those with the largest real part.
struct largest {
  using wanted_tag = void;
  static constexpr char const* name = "largest";
  template <class W>
  static double key(W const& w) {
    return -double(std::real(w));
  }
};
/// The eigenvalues of largest magnitude, the largest first.
struct largest_magnitude {
  using wanted_tag = void;
  static constexpr char const* name = "largest magnitude";
  template <class W>
  static double key(W const& w) {
    return -double(std::abs(w));
  }
};
/// The eigenvalues nearest to sigma, the nearest first: `near{1.0}`.
template <class Sigma = double>
struct near {
  Sigma sigma;

  using wanted_tag = void;
  static constexpr char const* name = "near";
  template <class W>
  double key(W const& w) const {
    return double(std::abs(w - W(sigma)));
  }
};
template <class Sigma>
near(Sigma) -> near<std::conditional_t<std::integral<Sigma>, double, Sigma>>;

/// Which eigenvalues are wanted: `smallest{}`, `largest{}`, `largest_magnitude{}`, `near{sigma}`.
template <class W>
concept Wanted = requires(W const& wanted) {
  typename W::wanted_tag;
  wanted.key(1.0);
};

namespace detail {
template <class W>
inline constexpr bool is_near = false;
template <class Sigma>
inline constexpr bool is_near<near<Sigma>> = true;
/// Are the arguments behind A those of a call, (k, wanted, options...) or (B, k, wanted, options...)?
template <class X = void, class Y = void, class Z = void, class...>
inline constexpr bool in_order_of_eigenpairs = (std::is_convertible_v<X, int> && Wanted<Y>) || (std::is_convertible_v<Y, int> && Wanted<Z>);
} // namespace detail

} // namespace sla
