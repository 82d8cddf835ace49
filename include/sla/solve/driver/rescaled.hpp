// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operators whose size leaves no room for squares: times a power of two, exactly the same operator for methods that take inner products. Who
// multiplies undoes it in the result: solve/eigen/problem.hpp, solve/eigen/svds.hpp, solve/determinant/stochastic_lanczos.hpp.
#pragma once

#include <algorithm>
#include <vector>

#include <sla/expr/sparse/refused.hpp>
#include <sla/solve/driver/engine.hpp>

namespace sla::detail {

/// v 2^exponent.
template <class T>
T times_power(T const& v, int exponent) {
  if constexpr (is_complex<T>)
    return {std::ldexp(v.real(), exponent), std::ldexp(v.imag(), exponent)};
  else
    return std::ldexp(v, exponent);
}
/// The larger of the magnitudes of its parts.
template <class T>
double largest_part(T const& v) {
  if constexpr (is_complex<T>)
    return (std::max)(std::abs(double(v.real())), std::abs(double(v.imag())));
  else
    return std::abs(double(v));
}

/// Operators that `rescaled` takes: sparse tensors, here or on ranks, and a linear_operator.
template <class A>
concept Rescalable = is_linear_operator<A> || requires(A a) { a.local().values(); } || requires(A a) { a.values(); };

/// Of each batch item, or of an operator as a whole, an e so that its size is about 2^e, where squares of that, or of its inverse, would
/// leave the range of double, with room for what methods make of them; else 0. `most` is the largest size that is left as it is.
template <Rescalable A>
std::vector<int> exponents_out_of_range(A const& a, double most = 1e100) {
  using T = typename A::value_type;
  if constexpr (std::same_as<real_t<T>, float>) most = (std::min)(most, 1e15);
  auto const exponent = [most](double size) { return size - size == 0 && size > 0 && (size > most || size < 1 / most) ? std::ilogb(size) : 0; };
  if constexpr (Readable<A>) {
    std::vector<int> out;
    for (index_t b = 0; b < a.batch_count(); ++b) {
      double size = 0;
      for (index_t n = b * a.batch_stride(); n < (b + 1) * a.batch_stride(); ++n) size = (std::max)(size, largest_part(a.values()[n]));
      out.push_back(exponent(size));
    }
    return out;
  } else if constexpr (is_linear_operator<A>) {
    auto const x = random<T>(a.cols(), 1);
    vector<T> const y = a * x;
    return {exponent(double(norm_inf(y)))};
  } else {
    auto const x = linear_world<A>::probe(a, 1);
    auto space = space_of_call(a, x);
    auto const y = eval(a * x);
    auto [yy, xx] = fuse(space, norm1_of(y), norm1_of(x));
    space.finish();
    return {exponent(double(space.read(yy)[0]) / double(space.read(xx)[0]))};
  }
}
/// A, each batch item times 2^-e.
template <Rescalable A>
A rescaled(A const& a, std::vector<int> const& exponents) {
  using T = typename A::value_type;
  if constexpr (is_linear_operator<A>) {
    auto const by = [e = exponents.front()](A const& f) {
      return [f, e](std::span<T const> x, std::span<T> y) {
        vector<T> const image = f * vector<T>(x);
        for (index_t i = 0; i < image.size(); ++i) y[std::size_t(i)] = times_power(image[i], -e);
      };
    };
    return a.has_adjoint() ? A(a.rows(), a.cols(), by(a), by(a.adjoint())) : A(a.rows(), a.cols(), by(a));
  } else {
    A out = a;
    auto& values = [&]() -> auto& {
      if constexpr (requires { out.local().values(); })
        return out.local().values();
      else
        return out.values();
    }();
    index_t const count = index_t(values.size()), items = index_t(exponents.size());
    for (index_t n = 0; n < count; ++n) values[n] = times_power(values[n], -exponents[std::size_t(n / (count / items))]);
    return out;
  }
}

} // namespace sla::detail
