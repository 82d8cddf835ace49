// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One look at the rows of a sparse tensor: symmetries, diagonal, dominance, bandwidth, summed up per range of rows.
// What it is for is in tensor/structure/properties.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <sla/tensor/build/entries.hpp>

namespace sla {

namespace detail {
/// Sums over rows, merged in the order of rows.
struct row_scan {
  bool any = false, same_structure = true, symmetric = true, hermitian = true, skew = true, skew_hermitian = true;
  bool positive = true, negative = true, zero_amid_nonzeros = false, opposed = true;
  index_t zeros = 0, first_zero = -1, dominant = 0, strict = 0, shortest = 0, longest = 0, entries = 0, lower = 0,
          upper = 0, zero_rows = 0, bad_row = -1, bad_col = -1, before = 0, behind = 0;  // before, behind: entries beside the diagonal
  double low = INFINITY, high = -INFINITY;

  bool has_symmetry() const { return symmetric || hermitian || skew || skew_hermitian; }
  template <class = void>
  void merge_symmetry(row_scan const& o) {
    same_structure &= o.same_structure, symmetric &= o.symmetric, hermitian &= o.hermitian, skew &= o.skew, skew_hermitian &= o.skew_hermitian;
  }
  template <class = void>
  void merge(row_scan const& o) {
    if (!o.any) return;
    if (!any) {
      *this = o;
      return;
    }
    merge_symmetry(o);
    positive &= o.positive, negative &= o.negative, zero_amid_nonzeros |= o.zero_amid_nonzeros, opposed &= o.opposed;
    before += o.before, behind += o.behind;
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

  /// What entries a_rc and a_cr are measured by, where they are rounded sums that cancel: the largest entries of both rows.
  double size(index_t r, index_t c) const {
    auto const largest = [&](index_t row) {
      double most = 0;
      for_row(row, [&](index_t, kernel_t<T> v) { most = (std::max)(most, double(abs_of(v))); });
      return most;
    };
    return std::sqrt(largest(r)) * std::sqrt(largest(c));
  }

  /// Is a row of `count` entries strictly dominant, of which those beside the diagonal add up to `off`?
  static bool is_strict(double diagonal, double off, index_t count, double& slack) {
    slack = diagonal - off;
    double const rounding = double(count) * double(std::numeric_limits<real_t<T>>::epsilon()) * off;
    bool const strict = slack > rounding;
    slack += rounding;
    return strict;
  }
  bool is_strict(index_t r) const {
    double off = 0, diagonal = 0, slack = 0;
    index_t count = 0;
    for_row(r, [&](index_t c, kernel_t<T> v) {
      (c == r ? diagonal : off) += double(abs_of(v));
      ++count;
    });
    return is_strict(diagonal, off, count, slack);
  }

  /// What a_ij = v and a_ji tell of symmetry: for `here`, the row of v, where the rows before, r, leave it open.
  void compare(index_t i, index_t j, kernel_t<T> v, double tolerance, row_scan const& r, row_scan& here) const {
    auto const [w, stored] = i == j ? std::pair(v, true) : at(j, i);
    double const close = tolerance * double(abs_of(v) + abs_of(w));
    double beside = -1;  // of the rows: seldom needed
    auto const equal = [&](bool row_scan::*flag, kernel_t<T> difference) {
      if (!(r.*flag && here.*flag)) return;
      double const d = double(abs_of(difference));
      if (d <= close) return;
      if (beside < 0) beside = 2 * tolerance * size(i, j);
      here.*flag = d <= beside;
    };
    here.same_structure &= stored;
    equal(&row_scan::symmetric, v - w);
    equal(&row_scan::skew, v + w);
    if constexpr (is_complex<T>) {
      equal(&row_scan::hermitian, v - conj_of(w));
      equal(&row_scan::skew_hermitian, v + conj_of(w));
    } else {
      here.hermitian = here.symmetric, here.skew_hermitian = here.skew;
    }
  }

  /// Symmetry is looked for behind the diagonal: that is all where as many entries are before it, and each behind has its partner.
  row_scan scan(index_t first, index_t last, double tolerance) const {
    row_scan r;
    bool const is_square = rows == cols;
    for (index_t i = first; i < last; ++i) {
      row_scan here;
      here.any = true;
      kernel_t<T> diagonal{};
      bool nonzero = false;
      double least = 0, most = 0, across = 0;  // of the other entries: real parts, and imaginary ones
      double off = 0, on = 0, slack = 0;
      for_row(i, [&](index_t j, kernel_t<T> v) {
        ++here.entries;
        nonzero = nonzero || v != kernel_t<T>{};
        here.lower = (std::max)(here.lower, i - j), here.upper = (std::max)(here.upper, j - i);
        if (!is_finite(v) && here.bad_row < 0) here.bad_row = i, here.bad_col = j;
        (i == j ? on : off) += double(abs_of(v));
        if (i == j) {
          diagonal = v;
        } else {
          least = (std::min)(least, double(real_of(v))), most = (std::max)(most, double(real_of(v))), across = (std::max)(across, std::abs(double(imag_of(v))));
          ++(j < i ? here.before : here.behind);
        }
        if (is_square && j >= i) compare(i, j, v, tolerance, r, here);
      });
      here.shortest = here.longest = here.entries;
      here.zero_rows = !nonzero;
      here.strict = is_strict(on, off, here.entries, slack) && i < cols;
      here.dominant = slack >= 0 && i < cols;
      if (i < cols) {
        bool const is_zero = diagonal == kernel_t<T>{};
        here.zeros = is_zero, here.first_zero = is_zero ? i : -1, here.zero_amid_nonzeros = is_zero && nonzero;
        here.low = here.high = double(real_of(diagonal));
        here.positive = imag_of(diagonal) == 0 && real_of(diagonal) > 0;
        double const rounding = tolerance * double(abs_of(diagonal));
        here.opposed = across <= rounding && (real_of(diagonal) < 0 ? -least : most) <= rounding;
        here.negative = imag_of(diagonal) == 0 && real_of(diagonal) < 0;
      }
      r.merge(here);
    }
    return r;
  }
  /// What the entries before the diagonal tell of symmetry.
  row_scan scan_before(index_t first, index_t last, double tolerance) const {
    row_scan r;
    for (index_t i = first; i < last; ++i)
      for_row(i, [&](index_t j, kernel_t<T> v) {
        if (j < i) compare(i, j, v, tolerance, r, r);
      });
    r.any = first < last;
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
    for (index_t r = 0; r < rows && count < rows; ++r) {
      if (reached[std::size_t(r)] || !is_strict(r)) continue;
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
} // namespace detail

} // namespace sla
