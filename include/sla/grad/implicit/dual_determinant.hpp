// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Determinants of matrices of dual numbers: their gradients have slopes, those of entries of the inverse, which are taken from the selected
// inverse of A + i h dA: its entries are analytic in A, so that their imaginary parts over h are the slopes, to rounding, for small h.
#pragma once

#include <complex>
#include <utility>
#include <vector>

#include <sla/grad/operation/dual_solve.hpp>
#include <sla/grad/operation/traced_norms.hpp>
#include <sla/solve/determinant/slogdet.hpp>

namespace sla::detail {

/// weight(b) (A^-1)(j, i) for every entry (i, j) of item b, of dual numbers. Cost: that of the entries of a complex inverse, with factors.
template <class S, class F, class Weight>
auto dual_determinant_contribution(sparse_tensor<dual_element, S, F> const& a, Weight const& weight) {
  constexpr double h = 1e-100;
  sparse_tensor<std::complex<double>, S, F> moved(a.shape(), a.shared_pattern());
  for (index_t n = 0; n < a.values().size(); ++n) moved.values()[n] = {a.values()[n].value, h * a.values()[n].slope[0]};
  vector<dependent_t<dual_element, S>> out(Extents<dyn>(a.values().size()));
  for_inverse_on_pattern<true>(moved, factors_for<factorization::lu>(moved, "a second derivative of a determinant", false, false),
                               [&](index_t b, index_t n, std::complex<double> const& v) { out[n] = weight(b) * with_slope(v.real(), v.imag() / h); });
  return out;
}
/// A number of each item with its slope.
template <class Y, class D>
auto numbers_with_slopes(Y const& y, D const& slopes) {
  return with_slope(Y(y), Y(slopes));
}

/// det, logdet, and of slogdet the logarithm: the sign is constant. `f`: factors of the values; `traces(g)`: the number g(tr(A^-1 dA), b) of each item b.
template <class Op, class Home, class M, class Factors, class Traces>
auto trace_dual_determinant(Op op, Home& home, M const& m, Factors const& f, Traces const& traces) {
  auto const number = [&](auto const& y) {
    auto slopes = traces([&](double t, index_t b) { return std::same_as<Op, op::det> ? number_of_item(y, b) * t : t; });
    auto rule = linear_in(
        m,
        [m](auto const& value, auto const& g) {
          return dual_determinant_contribution(m.value(), [&](index_t b) {
            if constexpr (std::same_as<Op, op::det>)
              return number_of_item(g, b) * number_of_item(value, b);
            else
              return number_of_item(g, b);
          });
        },
        unchanged);
    return record(home, numbers_with_slopes(y, slopes), std::move(rule));
  };
  auto value = number_of(op, f);
  if constexpr (std::same_as<Op, op::slogdet>) {
    auto log_abs = number(value.log_abs);
    return sign_and_log<decltype(value.sign), decltype(log_abs)>{std::move(value.sign), log_abs};
  } else {
    return number(value);
  }
}

} // namespace sla::detail
