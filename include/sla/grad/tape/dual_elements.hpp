// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors whose elements are dual numbers, values with a derivative each: both taken apart, and put together. Rules that run on them give the
// derivatives of what they give on plain ones: that is how second derivatives come to be (grad/call/hvp.hpp).
#pragma once

#include <tuple>
#include <utility>

#include <sla/core/dual_number.hpp>
#include <sla/tensor/storage/dense.hpp>
#include <sla/tensor/storage/sparse.hpp>

namespace sla::detail {

using dual_element = dual_number<double>;

template <class V>
struct dual_elements {
  static constexpr bool hold = false;
};
template <>
struct dual_elements<double> {
  static constexpr bool hold = false;
  using dual = dual_element;
  static dual with_slope(double v, double slope) { return dual::chain(v, slope, dual::variable(0)); }
};
template <>
struct dual_elements<dual_element> {
  static constexpr bool hold = true;
  static double part(dual_element const& d, bool slope) { return slope ? d.slope[0] : d.value; }
};
/// Complex ones are pairs of dual numbers.
template <>
struct dual_elements<std::complex<double>> {
  static constexpr bool hold = false;
  using dual = complex<dual_element>;
  template <class Z>
  static auto with_slope(Z const& v, Z const& slope) {
    using of_reals = dual_elements<typename Z::value_type>;
    return complex<typename of_reals::dual>(of_reals::with_slope(v.real(), slope.real()), of_reals::with_slope(v.imag(), slope.imag()));
  }
};
template <>
struct dual_elements<complex<dual_element>> {
  static constexpr bool hold = true;
  template <class Z>
  static auto part(Z const& d, bool slope) {
    using of_reals = dual_elements<real_t<Z>>;
    return std::complex(of_reals::part(d.re, slope), of_reals::part(d.im, slope));
  }
};
/// Values and slopes of `count` dual numbers.
template <class T, class D>
void put_together(T const* v, T const* slope, D* to, index_t count) {
  for (index_t n = 0; n < count; ++n) to[n] = dual_elements<T>::with_slope(v[n], slope ? slope[n] : T(0));
}
template <class D, class T>
void take_part(D const* from, bool slope, T* to, index_t count) {
  for (index_t n = 0; n < count; ++n) to[n] = dual_elements<D>::part(from[n], slope);
}
template <class T, class E>
  requires requires { typename dual_elements<T>::dual; }
struct dual_elements<tensor<T, E>> {
  static constexpr bool hold = false;
  using dual = tensor<typename dual_elements<T>::dual, E>;
  static dual with_slope(tensor<T, E> const& v, tensor<T, E> const& slope) {
    dual d(v.extents(), uninitialized);
    put_together(v.data(), slope.data(), d.data(), v.size());
    return d;
  }
};
template <class D, class E>
  requires dual_elements<D>::hold
struct dual_elements<tensor<D, E>> {
  static constexpr bool hold = true;
  static auto part(tensor<D, E> const& d, bool slope) {
    tensor<decltype(dual_elements<D>::part(D(), slope)), E> v(d.extents(), uninitialized);
    take_part(d.data(), slope, v.data(), d.size());
    return v;
  }
};
template <class S, class F>
struct dual_elements<sparse_tensor<double, S, F>> {
  static constexpr bool hold = false;
  using dual = sparse_tensor<dual_element, S, F>;
  static dual with_slope(sparse_tensor<double, S, F> const& v, sparse_tensor<double, S, F> const& slope) {
    dual d(v.shape(), v.shared_pattern());
    put_together(v.values().data(), slope.values().data(), d.values().data(), v.values().size());
    return d;
  }
};
template <class S, class F>
struct dual_elements<sparse_tensor<dual_element, S, F>> {
  static constexpr bool hold = true;
  static sparse_tensor<double, S, F> part(sparse_tensor<dual_element, S, F> const& d, bool slope) {
    sparse_tensor<double, S, F> v(d.shape(), d.shared_pattern());
    take_part(d.values().data(), slope, v.values().data(), d.values().size());
    return v;
  }
};

/// Is V a number, a tensor or a sparse tensor of dual numbers?
template <class V>
inline constexpr bool has_dual_elements = dual_elements<V>::hold;
template <class... V>
inline constexpr bool has_dual_elements<std::tuple<V...>> = (has_dual_elements<std::remove_cvref_t<V>> || ...);
template <class V>
inline constexpr bool has_complex_elements = is_complex<V>;
template <class V>
  requires requires { typename V::value_type; }
inline constexpr bool has_complex_elements<V> = is_complex<typename V::value_type>;
/// What an argument with slopes may be: of one rank, in host memory, of double.
template <class V>
concept HasSlopes = requires { typename dual_elements<V>::dual; } && !has_complex_elements<V>;
template <class V>
using dual_of_t = typename dual_elements<V>::dual;

/// v with the derivatives `slope`, which are like v.
template <class V>
auto with_slope(V const& v, V const& slope) {
  return dual_elements<V>::with_slope(v, slope);
}
template <class... V>
auto with_slope(std::tuple<V...> const& v, std::tuple<V...> const& slope) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) { return std::tuple(with_slope(std::get<K>(v), std::get<K>(slope))...); }(std::index_sequence_for<V...>{});
}
/// Of dual numbers the values, or the slopes; all else has its value, and no slope.
template <bool Slope, class D>
decltype(auto) part_of(D const& d) {
  if constexpr (has_dual_elements<D>)
    return dual_elements<D>::part(d, Slope);
  else {
    static_assert(!Slope);
    return (d);
  }
}
template <bool Slope, class... D>
auto part_of(std::tuple<D...> const& d) {
  return std::apply([](auto const&... each) { return std::tuple<std::remove_cvref_t<decltype(part_of<Slope>(each))>...>(part_of<Slope>(each)...); }, d);
}
template <class D>
decltype(auto) value_part(D const& d) {
  return part_of<false>(d);
}
/// The type of the values.
template <class D>
using values_t = std::remove_cvref_t<decltype(value_part(std::declval<D const&>()))>;
template <class D>
auto slope_part(D const& d) {
  return part_of<true>(d);
}

} // namespace sla::detail
