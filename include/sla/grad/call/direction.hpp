// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Directions in the space of an argument: a random one, a step along one, and its pairing with a cotangent. Arguments are
// numbers, tensors and sparse tensors, which move on their pattern. The check of gradients that uses them is in grad/call/check_gradient.hpp.
#pragma once

#include <tuple>
#include <utility>

#include <sla/grad/tape/cotangent.hpp>
#include <sla/tensor/structure/properties.hpp>

namespace sla {

namespace detail {
/// Re <g, d>.
template <class X>
double pairing(X const& g, X const& d) {
  if constexpr (is_sparse_tensor<X>)
    return double(real_of(to_kernel(dot(values(g), values(d)))));
  else if constexpr (is_tensor<X>)
    return double(real_of(to_kernel(dot(g, d))));
  else
    return double(real_of(op::mul::apply(conj_of(to_kernel(g)), to_kernel(d))));
}

/// x + h d.
template <class X>
X moved(X const& x, double h, X const& d) {
  if constexpr (is_sparse_tensor<X>)
    return with_values(x, values(x) + real_t<typename X::value_type>(h) * values(d));
  else if constexpr (is_tensor<X>)
    return x + real_t<typename X::value_type>(h) * d;
  else
    return x + real_t<X>(h) * d;
}

/// The largest modulus, or 1 of zeros: what a direction is measured by.
template <class X>
double magnitude_of(X const& x) {
  double largest = 0;
  if constexpr (is_sparse_tensor<X>)
    largest = norm_inf(values(x));
  else if constexpr (is_tensor<X>)
    largest = norm_inf(x);
  else
    largest = double(abs_of(to_kernel(x)));
  return largest > 0 && std::isfinite(largest) ? largest : 1;
}

template <class T>
T random_number(std::uint64_t seed, std::uint64_t n) {
  if constexpr (is_complex<T>)
    return T(real_t<T>(uniform_at(seed, 2 * n)), real_t<T>(uniform_at(seed, 2 * n + 1)));
  else
    return T(uniform_at(seed, n));
}

/// Every stored entry times a number that is random by its row and column, entries of zero times the largest. Of a hermitian
/// (or symmetric) matrix a hermitian one, which leaves it one: methods for such matrices promise nothing for others.
template <class T, class S, class F>
sparse_tensor<T, S, F> random_direction(sparse_tensor<T, S, F> const& A, std::uint64_t seed) {
  constexpr index_t P = S::block_rows, Q = S::block_cols;
  auto const known = properties(A);
  T const largest(real_t<T>(magnitude_of(A)));
  sparse_tensor<T, S, F> d(A.shape(), A.shared_pattern());
  for (index_t b = 0; b < A.batch_count(); ++b)
    for (index_t i = 0; i < A.rows(); ++i)
      A.pattern().view().for_row(i, [&](index_t slot, index_t j) {
        for (index_t e = 0; e < P * Q; ++e) {
          index_t const at = b * A.batch_stride() + slot * P * Q + e, row = i * P + e / Q, col = j * Q + e % Q;
          bool const mirrored = known.hermitian && col < row, zero = A.values()[at] == T{};
          auto const low = std::uint64_t(mirrored ? col : row), high = std::uint64_t(mirrored ? row : col);
          T u = random_number<T>(seed + 7919 * std::uint64_t(b), low * std::uint64_t(A.cols() * Q) + high);
          if constexpr (is_complex<T>) u = known.hermitian && row == col ? T(u.real()) : mirrored ? T(std::conj(u)) : u;
          if (!zero)
            d.values()[at] = u * T(real_t<T>(std::abs(A.values()[at])));
          else if (!known.hermitian || known.structurally_symmetric)
            d.values()[at] = u * largest;
        }
      });
  return d;
}
template <class T, class E>
tensor<T, E> random_direction(tensor<T, E> const& x, std::uint64_t seed) {
  tensor<T, E> d = random<T, E>(x.extents(), seed);
  return d * real_t<T>(magnitude_of(x));
}
template <Scalar T>
T random_direction(T x, std::uint64_t seed) {
  return random_number<T>(seed, 0) * real_t<T>(magnitude_of(x));
}
} // namespace detail

/// The directions in which a V moves, for the check of gradients. A higher floor specialises it for its own values.
template <class V>
struct direction_space {
  static constexpr bool on_ranks = false;
  static V random(V const& x, std::uint64_t seed) { return detail::random_direction(x, seed); }
  /// Re <g, d>.
  template <class G>
  static double pairing(G const& g, V const& d) {
    return detail::pairing(g, d);
  }
  /// x + h d.
  static V moved(V const& x, double h, V const& d) { return detail::moved(x, h, d); }
  /// What a function of a V returned, as a number.
  template <class Y>
  static double number(Y const& y) {
    return double(eval(y));
  }
  /// Does this rank print?
  static bool speaks(V const&) { return true; }
};
/// Values with directions.
template <class V>
inline constexpr bool has_directions = Scalar<V> || is_tensor<V> || is_sparse_tensor<V>;

namespace detail {
/// One for each; x may be of references.
template <class... X>
auto random_directions(std::tuple<X...> const& x, std::uint64_t seed) {
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return std::tuple<std::remove_cvref_t<X>...>{direction_space<std::remove_cvref_t<X>>::random(std::get<K>(x), seed + K)...};
  }(std::index_sequence_for<X...>{});
}
} // namespace detail

} // namespace sla
