// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What can be told of a matrix in one look at its entries: symmetry, diagonal, dominance, definiteness where provable,
// bandwidth, hints of singularity, NaN. Connected components are in tensor/components.hpp, the choice of a solver in solve/.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <utility>
#include <vector>

#include <sla/tensor/borrow.hpp>
#include <sla/tensor/entries.hpp>

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
/// Sums over rows, merged in the order of rows.
struct row_scan {
  bool any = false, same_structure = true, symmetric = true, hermitian = true, skew = true, skew_hermitian = true;
  bool positive = true, negative = true, zero_amid_nonzeros = false;
  index_t zeros = 0, first_zero = -1, dominant = 0, strict = 0, shortest = 0, longest = 0, entries = 0, lower = 0,
          upper = 0, zero_rows = 0, bad_row = -1, bad_col = -1;
  double low = INFINITY, high = -INFINITY;

  void merge(row_scan const& o) {
    if (!o.any) return;
    if (!any) {
      *this = o;
      return;
    }
    same_structure &= o.same_structure, symmetric &= o.symmetric, hermitian &= o.hermitian, skew &= o.skew;
    skew_hermitian &= o.skew_hermitian;
    positive &= o.positive, negative &= o.negative, zero_amid_nonzeros |= o.zero_amid_nonzeros;
    zeros += o.zeros, dominant += o.dominant, strict += o.strict, entries += o.entries, zero_rows += o.zero_rows;
    first_zero = first_zero < 0 ? o.first_zero : first_zero;
    if (bad_row < 0) bad_row = o.bad_row, bad_col = o.bad_col;
    shortest = (std::min)(shortest, o.shortest), longest = (std::max)(longest, o.longest);
    lower = (std::max)(lower, o.lower), upper = (std::max)(upper, o.upper);
    low = (std::min)(low, o.low), high = (std::max)(high, o.high);
  }
};

/// One batch item of a sparse tensor as scalar rows.
template <class T, class View, index_t P, index_t Q>
struct scalar_rows {
  View view;
  kernel_t<T> const* values;
  index_t rows, cols;

  template <class F>
  void for_row(index_t r, F const& f) const {
    view.for_row(r / P, [&](index_t s, index_t j) {
      for (index_t e = 0; e < Q; ++e) f(j * Q + e, values[(s * P + r % P) * Q + e]);
    });
  }
  /// a_rc, and whether it is stored.
  std::pair<kernel_t<T>, bool> at(index_t r, index_t c) const {
    index_t const s = find_slot(view, r / P, c / Q);
    return s < 0 ? std::pair(kernel_t<T>{}, false) : std::pair(values[(s * P + r % P) * Q + c % Q], true);
  }

  bool is_strict(index_t r, double& slack) const {
    double off = 0, diagonal = 0;
    index_t count = 0;
    for_row(r, [&](index_t c, kernel_t<T> v) {
      (c == r ? diagonal : off) += double(abs_of(v));
      ++count;
    });
    slack = diagonal - off;
    double const rounding = double(count) * double(std::numeric_limits<real_t<T>>::epsilon()) * off;
    bool const strict = slack > rounding;
    slack += rounding;
    return strict;
  }

  row_scan scan(index_t first, index_t last, double tolerance) const {
    row_scan r;
    bool const is_square = rows == cols;
    for (index_t i = first; i < last; ++i) {
      row_scan here;
      here.any = true;
      kernel_t<T> diagonal{};
      bool nonzero = false;
      for_row(i, [&](index_t j, kernel_t<T> v) {
        ++here.entries;
        nonzero = nonzero || v != kernel_t<T>{};
        here.lower = (std::max)(here.lower, i - j), here.upper = (std::max)(here.upper, j - i);
        if (!is_finite(v) && here.bad_row < 0) here.bad_row = i, here.bad_col = j;
        if (i == j) diagonal = v;
        if (!is_square) return;
        auto const [w, stored] = i == j ? std::pair(v, true) : at(j, i);
        double const close = tolerance * double(abs_of(v) + abs_of(w));
        here.same_structure &= stored;
        here.symmetric &= double(abs_of(v - w)) <= close;
        here.hermitian &= double(abs_of(v - conj_of(w))) <= close;
        here.skew &= double(abs_of(v + w)) <= close;
        here.skew_hermitian &= double(abs_of(v + conj_of(w))) <= close;
      });
      here.shortest = here.longest = here.entries;
      here.zero_rows = !nonzero;
      double slack = 0;
      here.strict = is_strict(i, slack) && i < cols;
      here.dominant = slack >= 0 && i < cols;
      if (i < cols) {
        bool const is_zero = diagonal == kernel_t<T>{};
        here.zeros = is_zero, here.first_zero = is_zero ? i : -1, here.zero_amid_nonzeros = is_zero && nonzero;
        here.low = here.high = double(real_of(diagonal));
        here.positive = imag_of(diagonal) == 0 && real_of(diagonal) > 0;
        here.negative = imag_of(diagonal) == 0 && real_of(diagonal) < 0;
      }
      r.merge(here);
    }
    return r;
  }

  /// True if every connected component of the graph of nonzeros has a strictly dominant row.
  bool strict_rows_reach_all() const {
    std::vector<char> reached(std::size_t(rows), 0);
    std::vector<index_t> open;
    index_t count = 0;
    auto reach = [&](index_t r) {
      if (reached[std::size_t(r)]) return;
      reached[std::size_t(r)] = 1;
      open.push_back(r);
      ++count;
    };
    double slack = 0;
    for (index_t r = 0; r < rows; ++r) {
      if (reached[std::size_t(r)] || !is_strict(r, slack)) continue;
      for (reach(r); !open.empty();) {
        index_t const at = open.back();
        open.pop_back();
        for_row(at, [&](index_t c, kernel_t<T> v) {
          if (v != kernel_t<T>{}) reach(c);
        });
      }
    }
    return count == rows;
  }
};

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

/// The properties of A. Values count as equal, for symmetry, where |a - b| <= tolerance (|a| + |b|); the default is
/// rounding. An entry that is not stored is a zero. Cost: O(nnz log row), nothing stored per entry; once per batch
/// item.
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
    auto const item = detail::merged_ranges<detail::row_scan>(
        out.rows, [&](index_t lo, index_t hi) { return rows.scan(lo, hi, tolerance); });
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
