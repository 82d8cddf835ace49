// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The factors of a batch as determinants and inverses see them: a number for each item that neither overflows nor underflows, and the
// entries of each inverse on the pattern of A.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <sla/expr/sparse/norms.hpp>
#include <sla/solve/determinant/takahashi.hpp>
#include <sla/solve/direct/direct.hpp>
#include <sla/solve/driver/rescaled.hpp>
#include <sla/tensor/algebra/add.hpp>
#include <sla/tensor/arrange/transpose.hpp>

namespace sla::detail {

/// mantissa 2^exponent, where the larger part of the mantissa is from 1 to 2, or 0.
template <class T>
struct scaled_number {
  T mantissa = T(1);
  std::int64_t exponent = 0;

  void multiply(T const& v) {
    mantissa *= take_exponent(v);
    mantissa = take_exponent(mantissa);
  }
  double log_abs() const { return std::log(std::abs(mantissa)) + double(exponent) * 0.69314718055994530942; }
  T sign() const { return mantissa == T() ? T() : mantissa / std::abs(mantissa); }
  /// Errors: value_error, if it is out of the range of double, naming the logarithm.
  T value(char const* call, std::string const& of_item) const {
    if (mantissa == T()) return T();
    if (exponent >= std::numeric_limits<double>::max_exponent || exponent < std::numeric_limits<double>::min_exponent)
      throw value_error(text(call, ": |det(A)|", of_item, " is exp(", log_abs(), "), which double does not hold: slogdet(A) gives its sign and its logarithm"));
    return times_power(mantissa, int(exponent));
  }

private:
  /// The mantissa of v, whose power of two is counted.
  T take_exponent(T const& v) {
    double const size = largest_part(v);
    if (!(size > 0)) return v;
    int const e = std::ilogb(size);
    exponent += e;
    return times_power(v, -e);
  }
};

/// What is said of a batch item, nothing of a single matrix.
template <class S>
std::string of_item(S const& shape, index_t item) {
  return S::is_batched && shape.batch_count() > 0 ? text(" of batch item ", item) : std::string();
}

/// The factors of all batch items of a matrix, which are shared, as those of applied_factors.
template <class T, class S, class F, factorization Kind>
class item_factors {
public:
  using number = std::conditional_t<is_complex<T>, std::complex<double>, double>;

  /// Errors: value_error, if there are no factors: of an item that is not definite where they want that, or, unless `zeros` are
  /// wanted, of a singular one.
  item_factors(applied_factors<T, S, F, Kind> factors, S const& shape, char const* call, bool zeros) : factors_(std::move(factors)), shape_(shape), call_(call) {
    for (index_t b = 0; b < factors_.batch_count(); ++b) {
      auto const& failure = factors_.failure(b);
      if (failure.why == reason::converged || (zeros && failure.why == reason::singular)) continue;
      bool const definite = failure.why == reason::indefinite_matrix;
      throw value_error(text(call, ": A", of_item(shape, b), definite ? " is not positive definite: " : failure.why == reason::singular ? " is singular: " : ": ", failure.what,
                             definite ? "; lu{} takes any square matrix, as slogdet(A) does" : ""));
    }
  }

  S const& shape() const { return shape_; }
  /// The determinant of an item, 0 where it is singular.
  scaled_number<number> determinant(index_t item) const {
    scaled_number<number> out;
    if (factors_.failure(item).why != reason::converged) return {number(), 0};
    for (auto const& part : items()[std::size_t(item)]) {
      auto const p = pivots_of_one(factors_of(part));
      for (number const& v : p.values) out.multiply(v);
      if (p.odd) out.mantissa = -out.mantissa;
    }
    return out;
  }
  /// The number f(determinant, item) of every item.
  template <class G>
  auto for_each(G const& f) const {
    using R = decltype(f(determinant(0), index_t(0)));
    std::vector<R> out(std::size_t(factors_.batch_count()));
    for (index_t b = 0; b < factors_.batch_count(); ++b) out[std::size_t(b)] = f(determinant(b), b);
    return out;
  }
  template <class G>
  auto numbers(G const& f) const {
    return number_per_item(shape_, for_each(f));
  }

  /// f(inverse, b) of every item, where inverse(i, j) is entry (i, j) of A^-1, of scalar rows and columns, for every entry (j, i) of A.
  /// Errors: value_error, if an item is singular, or if inverse(i, j) is asked for though A has no (j, i).
  template <class G>
  void for_each_inverse(G const& f) const {
    for (index_t b = 0; b < factors_.batch_count(); ++b) {
      if (factors_.failure(b).why != reason::converged)
        throw value_error(text(call_, ": A", of_item(shape_, b), " is singular, ", factors_.failure(b).what, ": it has no inverse, and the derivative is not there"));
      auto const& parts = items()[std::size_t(b)];
      std::vector<inverse_entries<number>> inverses;
      for (auto const& part : parts) inverses.emplace_back(blocks_of_one(factors_of(part)));
      std::vector<index_t> part, place;  // of each row, and its place there; none, if there is one part of all
      for (std::size_t k = 0; k < parts.size(); ++k)
        for (std::size_t n = 0; n < parts[k].rows.size(); ++n) {
          part.resize(std::size_t(factors_.rows())), place.resize(part.size());
          part[std::size_t(parts[k].rows[n])] = index_t(k), place[std::size_t(parts[k].rows[n])] = index_t(n);
        }
      f([&](index_t i, index_t j) {
        if (!place.empty()) {
          if (part[std::size_t(i)] != part[std::size_t(j)]) return number();
          return entry(inverses[std::size_t(part[std::size_t(i)])], place[std::size_t(i)], place[std::size_t(j)]);
        }
        return entry(inverses[0], i, j);
      }, b);
    }
  }

private:
  using one = factors_of_one<number, Kind>;
  number entry(inverse_entries<number> const& inverse, index_t i, index_t j) const {
    number out;
    if (inverse.find(i, j, out)) return out;
    throw value_error(text(call_, ": entry (", i, ", ", j, ") of the inverse is asked for, and (", j, ", ", i, ") is not stored in the matrix of these factors: factor A + 0 * transposed(A)"));
  }
  auto const& items() const { return factors_.view().all->items; }
  template <class Part>
  static one const& factors_of(Part const& part) {
    return *static_cast<one const*>(part.of.get());
  }
  applied_factors<T, S, F, Kind> factors_;
  S shape_;
  char const* call_;
};

/// Factors of A made for this. Paired: of A with a zero at (j, i) for each entry (i, j), so that there are entries of the inverse at both.
/// Errors: shape_error, if A is not square; value_error for NaN, and where Kind wants A Hermitian and it is not; those of item_factors.
template <factorization Kind, class T, class S, class F>
auto factors_for(sparse_tensor<T, S, F> const& A, char const* call, bool zeros, bool paired) {
  using number = std::conditional_t<is_complex<T>, std::complex<double>, double>;
  if (A.rows() * S::block_rows != A.cols() * S::block_cols)
    throw shape_error(text(call, ": A is ", A.rows() * S::block_rows, " x ", A.cols() * S::block_cols, ", and must be square"));
  linear_world<sparse_tensor<T, S, F>>::check(A, false, call);
  auto scalar = flat_scalars<number>(A);
  if constexpr (is_hermitian(Kind)) require_hermitian(scalar, call, "lu{}, which takes any square matrix, as slogdet(A) does");
  if (paired || is_hermitian(Kind)) scalar = add(1, scalar, 0, transposed(scalar));
  using Scalar = decltype(scalar);
  return item_factors<number, typename Scalar::shape_type, typename Scalar::format_type, Kind>(applied_factors<number, typename Scalar::shape_type, typename Scalar::format_type, Kind>(scalar), scalar.shape(), call, zeros);
}

/// put(n, inverse(i, j)) for the n-th value of A, which is at (j, i); or at (i, j), unless Transposed.
template <bool Transposed, class T, class S, class F, class Factors, class Put>
void for_inverse_on_pattern(sparse_tensor<T, S, F> const& A, Factors const& factors, Put const& put) {
  constexpr index_t P = S::block_rows, Q = S::block_cols;
  factors.for_each_inverse([&](auto const& inverse, index_t b) {
    for (index_t i = 0; i < A.rows(); ++i)
      A.pattern().view().for_row(i, [&](index_t s, index_t j) {
        for (index_t p = 0; p < P; ++p)
          for (index_t q = 0; q < Q; ++q) {
            index_t const row = i * P + p, col = j * Q + q;
            put(b, b * A.batch_stride() + (s * P + p) * Q + q, Transposed ? inverse(col, row) : inverse(row, col));
          }
      });
  });
}

} // namespace sla::detail
