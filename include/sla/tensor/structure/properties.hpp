// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What can be told of a matrix in one look at its entries: symmetry, diagonal, dominance, definiteness where provable,
// bandwidth, hints of singularity, NaN. Connected components are in tensor/structure/components.hpp, the choice of a solver in solve/.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include <sla/tensor/build/borrow.hpp>
#include <sla/tensor/build/entries.hpp>
#include <sla/tensor/structure/row_scan.hpp>

namespace sla {

/// The signs of x^H A x for a hermitian A, as far as a proof was found.
enum class definiteness {
  unknown,
  indefinite,
  positive_semidefinite,
  positive_definite,
  negative_semidefinite,
  negative_definite
};
inline char const* to_string(definiteness d) {
  constexpr char const* names[] = {"unknown definiteness",  "indefinite",
                                   "positive semidefinite", "positive definite",
                                   "negative semidefinite", "negative definite"};
  return names[int(d)];
}
/// What holds of two matrices if `a` holds of one and `b` of the other.
constexpr definiteness weaker(definiteness a, definiteness b) {
  using enum definiteness;
  if (a == b) return a;
  auto both = [&](definiteness x, definiteness y) { return (a == x && b == y) || (a == y && b == x); };
  if (both(positive_definite, positive_semidefinite)) return positive_semidefinite;
  if (both(negative_definite, negative_semidefinite)) return negative_semidefinite;
  return unknown;
}

/// Of the scalar rows and entries (blocks are taken apart). Counts run over all batch items; what is said to hold holds
/// in every item.
struct matrix_properties {
  index_t rows = 0, cols = 0, entries = 0, batch = 1;
  bool square = false;
  bool structurally_symmetric = false; ///< where a_ij is stored, a_ji is
  bool symmetric = false, hermitian = false, skew_symmetric = false, skew_hermitian = false;
  bool complex = false;

  index_t zero_diagonals = 0; ///< rows whose diagonal entry is zero or not stored
  index_t first_zero_diagonal = -1;
  bool positive_diagonal = false, negative_diagonal = false; ///< real, and of that sign in every row
  bool opposed_off_diagonal = false; ///< all other entries are real and zero or of the other sign than their row's diagonal entry, up to rounding
  double smallest_diagonal = 0, largest_diagonal = 0;        ///< of the real parts

  index_t dominant_rows = 0;          ///< |a_ii| >= sum |a_ij|, up to rounding
  index_t strictly_dominant_rows = 0; ///< |a_ii| > sum |a_ij|, beyond rounding
  /// Diagonally dominant in every row; strictly so, A is not singular.
  bool dominant() const { return square && dominant_rows == rows * batch; }
  bool strictly_dominant() const { return square && strictly_dominant_rows == rows * batch; }
  definiteness definite = definiteness::unknown;

  index_t shortest_row = 0, longest_row = 0;
  double mean_row = 0;
  index_t lower_bandwidth = 0, upper_bandwidth = 0;
  index_t zero_rows = 0, zero_columns = 0; ///< without a nonzero: A is singular

  bool finite = true;
  index_t nonfinite_item = -1, nonfinite_row = -1, nonfinite_col = -1; ///< of the first NaN or infinity
};

namespace detail {
/// What is proved by signs and by dominance (Gershgorin; Taussky 1949 for weak dominance).
template <class Rows>
definiteness proved_definiteness(row_scan const& r, Rows const& rows) {
  if (!r.hermitian || r.bad_row >= 0) return definiteness::unknown;
  if ((r.low < 0 && r.high > 0) || r.zero_amid_nonzeros) return definiteness::indefinite;
  if (r.dominant < rows.rows) return definiteness::unknown;
  bool const definite = r.zeros == 0 && (r.strict == rows.rows || rows.strict_rows_reach_all());
  if (r.low >= 0) return definite ? definiteness::positive_definite : definiteness::positive_semidefinite;
  return definite ? definiteness::negative_definite : definiteness::negative_semidefinite;
}

template <class Rows>
index_t zero_columns(Rows const& rows) {
  std::vector<char> seen(std::size_t(rows.cols), 0);
  for (index_t i = 0; i < rows.rows; ++i)
    rows.for_row(i, [&](index_t j, auto v) { seen[std::size_t(j)] |= !(v == decltype(v){}); });
  return std::count(seen.begin(), seen.end(), char(0));
}
} // namespace detail

namespace detail {
/// What a scan of all rows and items tells.
template <class = void>
void tell(row_scan const& all, matrix_properties& out) {
  out.entries = out.batch > 0 ? all.entries / out.batch : 0;
  out.structurally_symmetric = out.square && all.same_structure;
  out.symmetric = out.square && all.symmetric;
  out.hermitian = out.square && all.hermitian;
  out.skew_symmetric = out.square && all.skew;
  out.skew_hermitian = out.square && all.skew_hermitian;
  out.zero_diagonals = all.zeros;
  out.first_zero_diagonal = all.first_zero;
  out.positive_diagonal = all.any && all.positive;
  out.negative_diagonal = all.any && all.negative;
  out.opposed_off_diagonal = out.square && all.any && all.opposed;
  out.smallest_diagonal = all.low <= all.high ? all.low : 0;
  out.largest_diagonal = all.low <= all.high ? all.high : 0;
  out.dominant_rows = all.dominant;
  out.strictly_dominant_rows = all.strict;
  out.shortest_row = all.shortest;
  out.longest_row = all.longest;
  out.mean_row = out.rows > 0 ? double(out.entries) / double(out.rows) : 0;
  out.lower_bandwidth = all.lower;
  out.upper_bandwidth = all.upper;
  out.zero_rows = all.zero_rows;
}
} // namespace detail

/// The properties of A. Values count as equal, for symmetry, where |a_ij - a_ji| <= tolerance (|a_ij| + |a_ji|), or 2 tolerance
/// times the root of the largest entries of rows i and j: what is left of sums that cancel is rounding. The default tolerance is
/// rounding. An entry that is not stored is a zero. Cost: two or three passes over A for each batch item, and where a_ij and a_ji differ in
/// a bit O(nnz log row); nothing stored per entry.
template <class T, class S, class F>
matrix_properties properties(sparse_tensor<T, S, F> const& A,
                             double tolerance = 8 * double(std::numeric_limits<real_t<T>>::epsilon())) {
  if constexpr (is_csr<F>)
    if (!has_sorted_columns(A.pattern())) return properties(sorted(A), tolerance);
  using View = decltype(A.pattern().view());
  matrix_properties out;
  out.rows = A.rows() * S::block_rows;
  out.cols = A.cols() * S::block_cols;
  out.batch = A.batch_count();
  out.square = out.rows == out.cols;
  out.complex = is_complex<T>;
  detail::row_scan all;
  for (index_t b = 0; b < out.batch; ++b) {
    detail::scalar_rows<T, View, S::block_rows, S::block_cols> const rows{
        A.pattern().view(), kernel_pointer(A.values().data()) + b * A.batch_stride(), out.rows, out.cols};
    auto item = detail::merged_ranges<detail::row_scan>(
        out.rows, [&](index_t lo, index_t hi) { return rows.scan(lo, hi, tolerance); });
    if (out.square) rows.settle_symmetry(item, tolerance);
    if (item.bad_row >= 0 && out.finite) {
      out.finite = false;
      out.nonfinite_item = b;
      out.nonfinite_row = item.bad_row;
      out.nonfinite_col = item.bad_col;
    }
    auto const definite = out.square ? detail::proved_definiteness(item, rows) : definiteness::unknown;
    out.definite = b == 0 ? definite : weaker(out.definite, definite);
    out.zero_columns +=
        out.square && item.same_structure && item.hermitian ? item.zero_rows : detail::zero_columns(rows);
    all.merge(item);
  }
  detail::tell(all, out);
  return out;
}

/// The properties in a few lines, for people.
template <class Char>
std::basic_ostream<Char>& operator<<(std::basic_ostream<Char>& out, matrix_properties const& p) {
  if (p.batch != 1) out << p.batch << " x ";
  out << p.rows << " x " << p.cols << (p.complex ? ", complex, " : ", real, ") << p.entries << " entries ("
      << p.shortest_row << " to " << p.longest_row << " per row, mean " << std::round(p.mean_row * 10) / 10
      << "), bandwidth " << p.lower_bandwidth << " + " << p.upper_bandwidth << '\n';
  if (p.square) {
    out << (p.hermitian && p.complex ? "hermitian"
            : p.symmetric            ? "symmetric"
            : p.skew_symmetric       ? "skew-symmetric"
            : p.skew_hermitian       ? "skew-hermitian"
                                     : "unsymmetric")
        << (!p.hermitian && !p.symmetric && !p.skew_symmetric && !p.skew_hermitian && p.structurally_symmetric ? " with a symmetric pattern" : "");
    if (p.definite != definiteness::unknown) out << ", " << to_string(p.definite);
    out << "; diagonal " << p.smallest_diagonal << " to " << p.largest_diagonal << ", " << p.dominant_rows << " of "
        << p.rows * p.batch << " rows dominant";
    if (p.zero_diagonals > 0)
      out << "; " << p.zero_diagonals << " zeros on the diagonal, the first in row " << p.first_zero_diagonal;
  } else {
    out << "not square";
  }
  if (p.zero_rows + p.zero_columns > 0)
    out << "; " << p.zero_rows << " zero rows, " << p.zero_columns << " zero columns";
  if (!p.finite) out << "; not finite at row " << p.nonfinite_row << ", column " << p.nonfinite_col;
  return out;
}

} // namespace sla
