// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `try_least_squares` tells: the report of a solve, whose true residual is |A^H r| / (|A| |r|), and what else is to be known of x.
#pragma once

#include <concepts>
#include <ostream>
#include <vector>

#include <sla/core/meta.hpp>
#include <sla/solve/seam/report.hpp>

namespace sla {

/// What a least squares solve did. `residual()` is |A^H r| / (|A| |r|), recomputed from x, with r = b - A x in twice the precision of double and |A| the
/// 2-norm, or a little less, as some steps of the power method give it; of a damped problem it is that of [A; damping] x = [b; 0]. It says how little
/// A would have to change, relative to |A|, for x to be the exact solution (Stewart 1977). Where b is in the range of A both are rounding, and |r| / |b| tells.
struct least_squares_report : report {
  /// The numbers of an item.
  struct numbers {
    double residual_norm = 0;  ///< |b - A x|
    double size_of_b = 0;      ///< |b|
    double size_of_x = 0;      ///< |x|
    double size_of_A = 0;      ///< |A|, of [A; damping] where there is damping
    double condition = 0;      ///< the condition number of A is at least about this, as far as b shows it; 0 where the method does not tell
    bool by_residual = false;  ///< converged since |r| <= rtol |b|
    bool by_rounding = false;  ///< converged since the rounding of b and x allows for no less
  };
  std::vector<numbers> least_squares;  ///< one per item, as `items`
  double damping = 0;

  /// The most of any item.
  template <class = void>
  double residual_norm() const {
    return most(&numbers::residual_norm);
  }
  template <class = void>
  double condition() const {
    return most(&numbers::condition);
  }

private:
  template <std::same_as<numbers> N>
  double most(double N::*which) const {
    double out = 0;
    for (N const& n : static_cast<dependent_t<least_squares_report, N> const&>(*this).least_squares)
      if (!(n.*which <= out)) out = n.*which;
    return out;
  }
};

/// One line: that of a report, then |r| and the condition number.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, least_squares_report const& r) {
  out << static_cast<report const&>(r);
  auto const digits = out.precision(2);
  out << "; |r| = " << r.residual_norm();
  if (r.least_squares.size() == 1 && r.least_squares[0].size_of_b > 0) out << " = " << r.least_squares[0].residual_norm / r.least_squares[0].size_of_b << " |b|";
  if (r.damping > 0) out << ", damping " << r.damping;
  if (r.condition() > 0) out << ", condition number at least about " << r.condition();
  out.precision(digits);
  return out;
}

/// What `try_least_squares` returns: `auto [x, report] = try_least_squares(A, b);`
template <class X>
struct least_squares_solution {
  X x;
  least_squares_report report;
};

} // namespace sla
