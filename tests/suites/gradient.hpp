// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How gradients are checked: g against f by the Taylor remainder, whose rate is 2 in h when g is right, and by central
// differences. Points, directions and cotangents are tensors, sparse tensors on one pattern, or numbers.
#pragma once

#include <cmath>
#include <complex>

#include <sla/grad/call/direction.hpp>
#include <sla/grad/tape/traced.hpp>

namespace gradient {

using sla::detail::moved, sla::detail::pairing;

/// The value of a traced or plain x as a constant to the trace: what is made of it gives no gradient.
template <class X>
auto const& untraced(X const& x) {
  if constexpr (sla::Traced<X>)
    return x.value();
  else
    return x;
}

/// The rates log2(R(h) / R(h / 2)) of R(h) = |phi(h) - phi(0) - h slope| over four halvings: the one farthest from 2; 2 where phi is
/// linear to rounding.
template <class Phi>
double remainder_rate(Phi const& phi, double slope, double h) {
  double const at = phi(0.0), rounding = 1e-12 * (std::abs(at) + std::abs(slope));
  double worst = 2, before = 0;
  bool linear = true;
  for (int n = 0; n <= 4; ++n, h /= 2) {
    double const remainder = std::abs(phi(h) - at - h * slope);
    linear = linear && remainder <= rounding;
    if (n > 0) {
      double const rate = std::log2(before / remainder);
      if (!(std::abs(rate - 2) <= std::abs(worst - 2))) worst = rate;
    }
    before = remainder;
  }
  return linear ? 2 : worst;
}
template <class F, class X>
double taylor_rate(F const& f, X const& x, X const& g, X const& d, double h) {
  return remainder_rate([&](double t) { return double(f(moved(x, t, d))); }, pairing(g, d), h);
}

/// The relative difference of Re <g, d> and the central difference of step h.
template <class F, class X>
double difference_error(F const& f, X const& x, X const& g, X const& d, double h) {
  double const slope = (double(f(moved(x, h, d))) - double(f(moved(x, -h, d)))) / (2 * h);
  return std::abs(slope - pairing(g, d)) / std::abs(slope);
}

/// A random direction on the pattern of A; symmetric for a symmetric A, if asked: methods for symmetric matrices promise
/// nothing for others. The value of an entry depends on its row and column only.
template <class A>
A direction(A const& a, int seed, bool symmetric = false) {
  A d(a.shape(), a.shared_pattern());
  for (sla::index_t i = 0; i < a.rows(); ++i)
    a.pattern().view().for_row(i, [&](sla::index_t s, sla::index_t j) {
      sla::index_t const low = symmetric && j < i ? j : i, high = symmetric && j < i ? i : j;
      for (sla::index_t b = 0; b < a.batch_count(); ++b)
        for (sla::index_t e = 0; e < a.block_size; ++e) {
          double const angle = 1.7 * double(low) + 0.9 * double(high) + 0.3 * double(e) + 0.5 * double(b) + seed;
          using T = typename A::value_type;
          if constexpr (sla::is_complex<T>)
            d.values()[b * a.batch_stride() + s * a.block_size + e] = T(std::sin(angle), std::cos(1.3 * angle));
          else
            d.values()[b * a.batch_stride() + s * a.block_size + e] = T(std::sin(angle));
        }
    });
  return d;
}

}  // namespace gradient
