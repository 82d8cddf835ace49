// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One look at the rows of a sparse tensor: symmetries, diagonal, dominance, bandwidth, summed up per range of rows.
// What it is for is in tensor/structure/properties.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <sla/tensor/build/counting.hpp>
#include <sla/tensor/build/entries.hpp>
#include <sla/tensor/structure/disjoint_sets.hpp>

namespace sla {

namespace detail {
/// Sums over rows, merged in the order of rows.
struct row_scan {
  bool any = false, same_structure = true, symmetric = true, hermitian = true, skew = true, skew_hermitian = true;
  bool positive = true, negative = true, zero_amid_nonzeros = false, opposed = true;
  index_t zeros = 0, first_zero = -1, dominant = 0, strict = 0, shortest = 0, longest = 0, entries = 0, lower = 0,
          upper = 0, zero_rows = 0, bad_row = -1, bad_col = -1;
  std::uint64_t structure = 0, transposed = 0, adjoint = 0;  // differences to A^T and A^H in sums of entry_sums
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
    structure += o.structure, transposed += o.transposed, adjoint += o.adjoint;
    zeros += o.zeros, dominant += o.dominant, strict += o.strict, entries += o.entries, zero_rows += o.zero_rows;
    first_zero = first_zero < 0 ? o.first_zero : first_zero;
    if (bad_row < 0) bad_row = o.bad_row, bad_col = o.bad_col;
    shortest = (std::min)(shortest, o.shortest), longest = (std::max)(longest, o.longest);
    lower = (std::max)(lower, o.lower), upper = (std::max)(upper, o.upper);
    low = (std::min)(low, o.low), high = (std::max)(high, o.high);
  }
};

/// Entry by entry, numbers of 64 bits whose sums over the entries behind the diagonal and over their partners before it are the same for a matrix that is equal to its transpose (its
/// adjoint) bit by bit; for other matrices they are with probability 2^-64. So equality takes one pass over memory in its order, where to look partners up takes many.
struct entry_sums {
  /// Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators (OOPSLA 2014).
  static constexpr std::uint64_t mixed(std::uint64_t h) {
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
    return h ^ (h >> 31);
  }
  static std::uint64_t bits(double v) { return std::bit_cast<std::uint64_t>(v + 0.0); }  // of 0 where v is -0
  template <class K>
  static void add(row_scan& r, index_t i, index_t j, K v) {
    if constexpr (!is_complex<K>)
      if (i == j) return;
    bool const before = j < i;
    std::uint64_t const sign = before ? ~std::uint64_t(0) : 1;
    std::uint64_t const place = mixed(std::uint64_t(before ? j : i) * 0x9e3779b97f4a7c15ULL + std::uint64_t(before ? i : j));
    std::uint64_t const real = mixed(place ^ bits(double(real_of(v))));
    if constexpr (is_complex<K>) {
      double const imag = double(imag_of(v));
      if (i == j) {
        r.adjoint += imag != 0;
        return;
      }
      r.transposed += sign * mixed(real ^ bits(imag)), r.adjoint += sign * mixed(real ^ bits(before ? -imag : imag));
    } else {
      r.transposed += sign * real, r.adjoint = r.transposed;
    }
    r.structure += sign * place;
  }
};

/// Rows and columns of a whole matrix; those of a part of one have other numbers in the whole.
struct numbers_of_whole {
  static constexpr index_t row(index_t i) { return i; }
  static constexpr index_t col(index_t j) { return j; }
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
  kernel_t<T> at(index_t r, index_t c) const {
    index_t const s = find_slot(view, r / P, c / Q);
    return s < 0 ? kernel_t<T>{} : values[(s * P + r % P) * Q + c % Q];
  }

  /// What entries a_rc and a_cr are measured by, where they are rounded sums that cancel: the largest entries of both rows. Rows are remembered, the long ones by themselves, so that one for all
  /// unknowns is looked through once; for one thread.
  class sizes {
  public:
    explicit sizes(scalar_rows const& of) : of_(of) { short_.fill({-1, 0.0}), long_.fill({-1, 0.0}); }
    double operator()(index_t r, index_t c) { return root_of(r) * root_of(c); }
    /// The square root of a row's largest entry.
    double root_of(index_t row) {
      auto const place = std::size_t(row) % long_.size();
      for (auto const* known : {&short_[place], &long_[place]})
        if (known->first == row) return known->second;
      double most = 0;
      std::size_t count = 0;
      of_.for_row(row, [&](index_t, kernel_t<T> v) { ++count, most = (std::max)(most, double(abs_of(v))); });
      return ((count <= long_.size() ? short_ : long_)[place] = {row, std::sqrt(most)}).second;
    }

  private:
    scalar_rows of_;
    std::array<std::pair<index_t, double>, 64> short_, long_;
  };

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

  /// What a_ij = v and a_ji tell of symmetry.
  void compare(index_t i, index_t j, kernel_t<T> v, double tolerance, sizes& size, row_scan& r) const {
    compare(v, i == j ? v : at(j, i), [&] { return size(i, j); }, tolerance, r);
  }
  /// The same of v and w, whose rows are of this size().
  template <class Size>
  static void compare(kernel_t<T> v, kernel_t<T> w, Size const& size, double tolerance, row_scan& r) {
    double const close = tolerance * double(abs_of(v) + abs_of(w));
    double beside = -1;  // of the rows: seldom needed
    auto const equal = [&](bool row_scan::*flag, kernel_t<T> difference) {
      if (!(r.*flag)) return;
      double const d = double(abs_of(difference));
      if (d <= close) return;
      if (beside < 0) beside = 2 * tolerance * size();
      r.*flag = d <= beside;
    };
    equal(&row_scan::symmetric, v - w);
    equal(&row_scan::skew, v + w);
    if constexpr (is_complex<T>) {
      equal(&row_scan::hermitian, v - conj_of(w));
      equal(&row_scan::skew_hermitian, v + conj_of(w));
    } else {
      r.hermitian = r.symmetric, r.skew_hermitian = r.skew;
    }
  }

  /// numbers: those of rows and columns in the whole matrix, which has `cols` columns.
  template <class Numbers = numbers_of_whole>
  [[gnu::flatten]] row_scan scan(index_t first, index_t last, double tolerance, Numbers const& numbers = {}) const {
    row_scan r;
    if (first >= last) return r;
    r.any = true, r.shortest = (std::numeric_limits<index_t>::max)();
    for (index_t here = first; here < last; ++here) {
      index_t const i = numbers.row(here);
      kernel_t<T> diagonal{};
      bool nonzero = false;
      index_t count = 0, least_j = i, most_j = i;
      double least = 0, most = 0, across = 0;  // of the other entries: real parts, and imaginary ones
      double off = 0, on = 0, slack = 0;
      for_row(here, [&](index_t c, kernel_t<T> v) {
        index_t const j = numbers.col(c);
        ++count;
        nonzero = nonzero || v != kernel_t<T>{};
        least_j = (std::min)(least_j, j), most_j = (std::max)(most_j, j);
        if (i == j) {
          on += double(abs_of(v));
          diagonal = v;
        } else {
          off += double(abs_of(v));
          least = (std::min)(least, double(real_of(v))), most = (std::max)(most, double(real_of(v))), across = (std::max)(across, std::abs(double(imag_of(v))));
        }
        entry_sums::add(r, i, j, v);
      });
      if (r.bad_row < 0 && !(on + off <= (std::numeric_limits<double>::max)()))
        for_row(here, [&](index_t c, kernel_t<T> v) {
          if (r.bad_row < 0 && !is_finite(v)) r.bad_row = i, r.bad_col = numbers.col(c);
        });
      r.entries += count;
      r.lower = (std::max)(r.lower, i - least_j), r.upper = (std::max)(r.upper, most_j - i);
      r.shortest = (std::min)(r.shortest, count), r.longest = (std::max)(r.longest, count);
      r.zero_rows += !nonzero;
      bool const strict = is_strict(on, off, count, slack);
      if (i >= cols) continue;
      r.strict += strict, r.dominant += slack >= 0;
      bool const is_zero = diagonal == kernel_t<T>{};
      double const real = double(real_of(diagonal)), rounding = tolerance * double(abs_of(diagonal));
      if (is_zero && r.zeros++ == 0) r.first_zero = i;
      r.zero_amid_nonzeros |= is_zero && nonzero;
      r.low = (std::min)(r.low, real), r.high = (std::max)(r.high, real);
      r.positive &= imag_of(diagonal) == 0 && real > 0, r.negative &= imag_of(diagonal) == 0 && real < 0;
      r.opposed &= across <= rounding && (real < 0 ? -least : most) <= rounding;
    }
    return r;
  }

  /// The symmetries of a square matrix, after the scan of all rows: partners are looked up where the sums leave any open. They are behind the diagonal where the structure is symmetric.
  void settle_symmetry(row_scan& all, double tolerance) const {
    all.same_structure = all.structure == 0;
    bool const is_symmetric = all.bad_row < 0 && all.transposed == 0, is_hermitian = all.bad_row < 0 && all.adjoint == 0;
    auto const seen = merged_ranges<row_scan>(rows, [&](index_t first, index_t last) {
      row_scan r;
      sizes size(*this);
      r.any = true, r.symmetric = !is_symmetric, r.hermitian = !is_hermitian;
      for (index_t i = first; i < last && r.has_symmetry(); ++i)
        for_row(i, [&](index_t j, kernel_t<T> v) {
          if ((j >= i || !all.same_structure) && r.has_symmetry()) compare(i, j, v, tolerance, size, r);
        });
      return r;
    });
    all.symmetric = is_symmetric || seen.symmetric, all.hermitian = is_hermitian || seen.hermitian;
    all.skew = seen.skew, all.skew_hermitian = seen.skew_hermitian;
  }

  /// True if every connected component of the graph of nonzeros, which is symmetric, has a strictly dominant row: where rows are in good order, it is before them.
  [[gnu::flatten]] bool strict_rows_reach_all() const {
    std::vector<char> reached(std::size_t(rows), 0);
    bool all = true;
    for (index_t r = 0; r < rows; ++r) {
      bool reaches = false;
      for_row(r, [&](index_t c, kernel_t<T> v) { reaches = reaches | (reached[std::size_t(c)] && v != kernel_t<T>{}); });
      reached[std::size_t(r)] = reaches || is_strict(r);
      all = all && reached[std::size_t(r)];
    }
    return all || components_reached(std::move(reached));
  }

private:
  /// Has every component a row that is reached?
  bool components_reached(std::vector<char> reached) const {
    disjoint_sets sets(rows);
    parallel_ranges(rows, [&](index_t lo, index_t hi) {
      for (index_t r = lo; r < hi; ++r)
        for_row(r, [&](index_t c, kernel_t<T> v) {
          if (c < r && v != kernel_t<T>{}) sets.join(r, c);
        });
    });
    for (index_t r = 0; r < rows; ++r)
      if (reached[std::size_t(r)]) reached[std::size_t(sets.find(r))] = 1;
    for (index_t r = 0; r < rows; ++r)
      if (!reached[std::size_t(sets.find(r))]) return false;
    return true;
  }
};
} // namespace detail

} // namespace sla
