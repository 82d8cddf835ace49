// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check of methods that read one triangle of a Hermitian matrix. What else can be told of a matrix is in
// tensor/structure/properties.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include <sla/solve/seam/numbered_error.hpp>
#include <sla/tensor/build/entries.hpp>
#include <sla/tensor/structure/row_scan.hpp>

namespace sla::detail {

/// Errors: the first a_ij that is not conj(a_ji), beyond the tolerance or the rounding of itself, or the rounding of the largest entries
/// of its rows, for A with sorted rows; an entry that is not stored is a zero. Cost: O(nnz log row).
template <class T, class S, class Col, class Ptr>
void require_hermitian(sparse_tensor<T, S, Csr<Col, Ptr>> const& A, char const* who, char const* remedy, double least = 1e-10) {
  constexpr index_t P = S::block_rows;
  static_assert(P == S::block_cols);
  auto const pattern = A.pattern().view();
  double const rounding = double(std::numeric_limits<real_t<T>>::epsilon()), tolerance = (std::max)(least, 8 * rounding);
  for (index_t b = 0; b < A.batch_count(); ++b) {
    auto const* const a = kernel_pointer(A.values().data()) + b * A.batch_stride();
    using K = std::remove_cvref_t<decltype(*a)>;
    using Rows = scalar_rows<T, std::remove_const_t<decltype(pattern)>, P, P>;
    Rows const rows{pattern, a, A.rows() * P, A.cols() * P};
    // f(p, q, a_ij(p, q), a_ji(q, p)) for entries that differ.
    auto differences = [&](index_t i, index_t s, index_t j, typename Rows::sizes& size, auto const& f) {
      index_t const t = find_slot(pattern, j, i);
      for (index_t p = 0; p < P; ++p)
        for (index_t q = 0; q < P; ++q) {
          K const v = a[(s * P + p) * P + q], w = t < 0 ? K{} : a[(t * P + q) * P + p];
          if (v == conj_of(w)) continue;
          double const d = double(abs_of(v - conj_of(w)));
          if (!(d <= tolerance * double(abs_of(v))) && !(d <= 16 * rounding * size(i * P + p, j * P + q))) f(p, q, v, w);
        }
    };
    index_t const row = merged_ranges<first_place>(A.rows(), [&](index_t first, index_t last) {
      typename Rows::sizes size(rows);
      first_place found;
      for (index_t i = first; i < last && found.at < 0; ++i)
        pattern.for_row(i, [&](index_t s, index_t j) {
          if (found.at < 0) differences(i, s, j, size, [&](auto...) { found.at = i; });
        });
      return found;
    }).at;
    if (row < 0) continue;
    typename Rows::sizes size(rows);
    pattern.for_row(row, [&](index_t s, index_t j) {
      differences(row, s, j, size, [&](index_t p, index_t q, K v, K w) {
        row_number const i{row * P + p, true}, other{j * P + q, true};  // the columns are those of the rows
        throw numbered_error(who, ": A is not ", is_complex<T> ? "Hermitian" : "symmetric", ": entry (", i, ", ", other, ") is ", user_t<T>(v), ", and entry (", other, ", ", i, ") is ",
                             user_t<T>(w), b > 0 ? text(", in batch item ", b) : "", "; use ", remedy);
      });
    });
  }
}

} // namespace sla::detail
