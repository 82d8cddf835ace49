// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Formats: where the stored entries of a sparse tensor are. A format is a type between < >; its pattern owns the indices,
// its view walks a row, `for_row(i, f)` calls f(slot, column), and adds up a run of them. Values are kept apart, [*batch][slot][*block].
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include <sla/core/scalar.hpp>
#include <sla/core/shape.hpp>
#include <sla/tensor/storage/memory.hpp>
#include <sla/tensor/storage/turned_rows.hpp>

namespace sla {

namespace detail {
template <class Int>
constexpr char const* width_name() {
  if constexpr (std::unsigned_integral<Int>) return sizeof(Int) == 2 ? "std::uint16_t" : "an unsigned index";
  return sizeof(Int) == 8 ? "std::int64_t" : sizeof(Int) == 4 ? "std::int32_t" : sizeof(Int) == 2 ? "std::int16_t" : "std::int8_t";
}
/// n as an Int, or an error that names the type to use.
template <class Int>
Int narrowed(index_t n, char const* what, char const* remedy) {
  if (!std::in_range<Int>(n))
    throw shape_error(text(what, " ", n, " does not fit into ", width_name<Int>(), "; use the format ", remedy));
  return Int(n);
}

/// How many entries ahead of a walk are prefetched. The hardware's own prefetching fails on short rows: without this, a product
/// of five points reaches two thirds of the bandwidth.
inline constexpr index_t fetch_distance = 256;
} // namespace detail

template <std::integral Col = std::int32_t, std::integral Ptr = Col>
struct Csr;
template <std::integral Index = std::int32_t>
struct Coo;
struct Dia;
template <class Memory>
struct dia_pattern;

/// Compressed sparse rows. `Col` holds columns, `Ptr` positions: 5e9 entries need `Csr<std::int32_t, std::int64_t>`.
template <class Col, class Ptr>
struct csr_view {
  using format_type = Csr<Col, Ptr>;

  Ptr const* row_ptr;
  Col const* col;
  index_t rows, cols;

  SLA_AS_CALLEE
  template <class F>
  SLA_HD void for_row(index_t i, F&& f) const {
    for (index_t s = row_ptr[i], last = row_ptr[i + 1]; s < last; ++s) f(s, index_t(col[s]));
  }
  /// Stored entries in the rows before i: threads share rows by it.
  SLA_HD index_t entries_before(index_t i) const { return row_ptr[i]; }
  /// f(i, s)(slot, column) for the entries of rows [first, last), where s is the first slot of row i.
  template <class F>
  void for_rows(index_t first, index_t last, F const& f) const {
    index_t slot = row_ptr[first];
    for (index_t i = first; i < last; ++i) {
      SLA_PREFETCH(std::uintptr_t(col) + std::size_t(slot + detail::fetch_distance) * sizeof(Col));
      auto const of_row = f(i, slot);
      for (index_t const end = row_ptr[i + 1]; slot < end; ++slot) of_row(slot, index_t(col[slot]));
    }
  }
  /// The row kernel of a format: out[n] = the sum of term(slot, column) over row first + n, for n < count, from left to right.
  /// `term.fetch(slot)` asks the cache for what the term of that slot reads. Four entries stand one after the other, and up to four are left: as a
  /// loop over single entries, a short row takes up to twice as long where the loop happens to cross a line of the instruction cache.
  template <class Term, class T>
  SLA_HD void sum_rows(index_t first, index_t count, Term const& term, T* out) const {
    index_t slot = row_ptr[first];
    for (index_t n = 0; n < count; ++n) {
      SLA_PREFETCH(std::uintptr_t(col) + std::size_t(slot + detail::fetch_distance) * sizeof(Col));
      term.fetch(slot + detail::fetch_distance);
      index_t const end = row_ptr[first + n + 1];
      typename Term::value_type total{};
      auto const add = [&](index_t s) { total += term(s, index_t(col[s])); };
      for (; end - slot > 4; slot += 4) add(slot), add(slot + 1), add(slot + 2), add(slot + 3);
      index_t const left = end - slot;
      if (left > 0) add(slot);
      if (left > 1) add(slot + 1);
      if (left > 2) add(slot + 2);
      if (left > 3) add(slot + 3);
      slot = end;
      out[n] = scalar_cast<T>(total);
    }
  }
  /// The pattern that borrows what this view shows.
  template <class Memory>
  auto borrowed(Memory, index_t slots) const {
    return typename format_type::template pattern<Memory>{rows, cols, buffer<Ptr, Memory>::borrow(row_ptr, rows + 1), buffer<Col, Memory>::borrow(col, slots)};
  }
};

/// The indices of Csr: row i holds the entries row_ptr[i] .. row_ptr[i + 1] - 1.
template <class Col, class Ptr, class Memory>
struct csr_pattern {
  index_t rows = 0, cols = 0;
  buffer<Ptr, Memory> row_ptr;
  buffer<Col, Memory> col;
  [[no_unique_address]] detail::kept_turned_rows<Col, Ptr, Memory> turned{};

  /// A pattern without entries.
  static csr_pattern none(index_t rows, index_t cols) {
    csr_pattern p;
    p.rows = rows, p.cols = cols, p.row_ptr = buffer<Ptr, Memory>(rows + 1);
    return p;
  }
  index_t nnz() const { return col.size(); }
  index_t slots() const { return col.size(); }
  std::size_t bytes() const { return row_ptr.bytes() + col.bytes(); }
  csr_view<Col, Ptr> view() const { return {row_ptr.data(), col.data(), rows, cols}; }
  /// f(members...), in their order: patterns are compared and moved to another memory by them.
  template <class F>
  auto parts(F const& f) const {
    return f(rows, cols, row_ptr, col);
  }
};

/// Compressed sparse rows, the default format. Col is the type of column indices, Ptr the type that counts entries:
/// `Csr<std::int32_t, std::int64_t>` for more than 2^31 - 1 of them.
template <std::integral Col, std::integral Ptr>
struct Csr {
  using col_type = Col;
  using ptr_type = Ptr;
  template <class Memory>
  using pattern = csr_pattern<Col, Ptr, Memory>;
};

/// Coordinates, sorted by row, then column. `Index` holds rows, columns and the number of entries.
template <class Index>
struct coo_view {
  using format_type = Coo<Index>;

  Index const *row, *col;
  index_t count, rows, cols;

  SLA_HD index_t entries_before(index_t i) const {
    index_t lo = 0, hi = count;
    while (lo < hi) {
      index_t const mid = lo + (hi - lo) / 2;
      if (row[mid] < i)
        lo = mid + 1;
      else
        hi = mid;
    }
    return lo;
  }
  SLA_AS_CALLEE
  template <class F>
  SLA_HD void for_row(index_t i, F&& f) const {
    for (index_t s = entries_before(i); s < count && row[s] == i; ++s) f(s, index_t(col[s]));
  }
  template <class F>
  void for_rows(index_t first, index_t last, F const& f) const {
    for (index_t s = entries_before(first); s < count && row[s] < last;) {
      index_t const i = row[s];
      auto const of_row = f(i, s);
      for (; s < count && row[s] == i; ++s) of_row(s, index_t(col[s]));
    }
  }
  template <class Term, class T>
  SLA_HD void sum_rows(index_t first, index_t rows_of_span, Term const& term, T* out) const {
    index_t slot = entries_before(first);
    for (index_t n = 0; n < rows_of_span; ++n) {
      SLA_PREFETCH(std::uintptr_t(row) + std::size_t(slot + detail::fetch_distance) * sizeof(Index));
      SLA_PREFETCH(std::uintptr_t(col) + std::size_t(slot + detail::fetch_distance) * sizeof(Index));
      term.fetch(slot + detail::fetch_distance);
      typename Term::value_type total{};
      for (; slot < count && row[slot] == first + n; ++slot) total += term(slot, index_t(col[slot]));
      out[n] = scalar_cast<T>(total);
    }
  }
  template <class Memory>
  auto borrowed(Memory, index_t) const {
    return typename format_type::template pattern<Memory>{rows, cols, buffer<Index, Memory>::borrow(row, count), buffer<Index, Memory>::borrow(col, count)};
  }
};

/// The indices of Coo: a row and a column for each entry.
template <class Index, class Memory>
struct coo_pattern {
  index_t rows = 0, cols = 0;
  buffer<Index, Memory> row, col;
  [[no_unique_address]] detail::kept_turned_rows<Index, Index, Memory> turned{};

  /// A pattern without entries.
  static coo_pattern none(index_t rows, index_t cols) {
    coo_pattern p;
    p.rows = rows, p.cols = cols;
    return p;
  }
  index_t nnz() const { return col.size(); }
  index_t slots() const { return col.size(); }
  std::size_t bytes() const { return row.bytes() + col.bytes(); }
  coo_view<Index> view() const { return {row.data(), col.data(), nnz(), rows, cols}; }
  template <class F>
  auto parts(F const& f) const {
    return f(rows, cols, row, col);
  }
};

/// Coordinates: a row and a column index for each entry, sorted by rows, then columns.
template <std::integral Index>
struct Coo {
  using col_type = Index;
  using ptr_type = Index;
  template <class Memory>
  using pattern = coo_pattern<Index, Memory>;
};

/// Stored diagonals, the wide format: slot d * rows + i holds A(i, i + offset[d]); slots outside of the matrix hold 0. The transpose is
/// read from the same slots, Turned: slot d * cols + i - offset[d] of its rows and columns.
template <bool Turned>
struct basic_dia_view {
  using format_type = Dia;
  static constexpr bool is_turned = Turned, turns_blocks = true;

  index_t const* offset;
  index_t diagonals, rows, cols;

  SLA_AS_CALLEE
  template <class F>
  SLA_HD void for_row(index_t i, F&& f) const {
    for (index_t d = 0; d < diagonals; ++d) {
      index_t const j = i + shift(d);
      if (j >= 0 && j < cols) f(first_slot(d) + i, j);
    }
  }
  SLA_HD index_t entries_before(index_t i) const { return i * diagonals; }
  /// The rows of the transpose, which are as easily walked: its product is one by rows.
  basic_dia_view<!Turned> transposed() const { return {offset, diagonals, cols, rows}; }

  /// Some diagonals at a time, in loops that vectorise; those that leave the matrix within these rows one by one.
  template <class Term, class T>
  SLA_HD void sum_rows(index_t first, index_t count, Term const& term, T* out) const {
    index_t const last = first + count;
    for (index_t d = 0; d < diagonals;) {
      int full = 0;  // diagonals from d that cover all of the rows, up to seven
      while (full < 7 && d + full < diagonals && first + shift(d + full) >= 0 && last + shift(d + full) <= cols) ++full;
      if (full == 7) {
        add<7>(d, first, first, last, term, out);
        d += 7;
      } else if (full >= 5) {
        add<5>(d, first, first, last, term, out);
        d += 5;
      } else if (full >= 3) {
        add<3>(d, first, first, last, term, out);
        d += 3;
      } else {
        index_t const lo = first > -shift(d) ? first : -shift(d), hi = last < cols - shift(d) ? last : cols - shift(d);
        if (d == 0)
          for (index_t n = 0; n < count; ++n) out[n] = T{};
        if (lo < hi) add<1>(d, first, lo, hi, term, out);
        ++d;
      }
    }
    if (diagonals == 0)
      for (index_t n = 0; n < count; ++n) out[n] = T{};
  }

  /// Into numbers of another type: the sums are rounded once.
  template <class Term, class T>
    requires(!std::same_as<T, typename Term::value_type>)
  SLA_HD void sum_rows(index_t first, index_t count, Term const& term, T* out) const {
    typename Term::value_type sum[detail::chunk];
    for (index_t from = 0; from < count; from += detail::chunk) {
      index_t const length = count - from < detail::chunk ? count - from : detail::chunk;
      sum_rows(first + from, length, term, sum);
      for (index_t n = 0; n < length; ++n) out[from + n] = scalar_cast<T>(sum[n]);
    }
  }

  template <class Memory>
    requires(!Turned)
  auto borrowed(Memory, index_t) const {
    index_t entries = 0;
    if constexpr (Memory::is_host)
      for (index_t d = 0; d < diagonals; ++d) {
        index_t const hi = rows < cols - offset[d] ? rows : cols - offset[d];
        entries += hi - (offset[d] < 0 ? -offset[d] : 0);
      }
    return dia_pattern<Memory>{rows, cols, buffer<index_t, Memory>::borrow(offset, diagonals), entries};
  }

private:
  SLA_HD index_t shift(index_t d) const { return Turned ? -offset[d] : offset[d]; }
  SLA_HD index_t first_slot(index_t d) const { return Turned ? d * cols - offset[d] : d * rows; }

  /// Adds `Count` diagonals from the d-th to the rows [lo, hi), which all of them cover; of several the first ones assign.
  template <int Count, class Term, class T>
  SLA_HD void add(index_t d, index_t first, index_t lo, index_t hi, Term const& of, T* out) const {
    using V = typename Term::value_type;
    auto const term = of;
    index_t slot[Count], column[Count];
    for (int n = 0; n < Count; ++n) slot[n] = first_slot(d + n), column[n] = shift(d + n);
    // The sum is written out: at -O2 a loop over diagonals would stay one, and its rows would not vectorise.
    auto const sum = [&](index_t i, V before) {
      auto const at = [&](int n) { return term(slot[n] + i, column[n] + i); };
      return [&]<int... N>(std::integer_sequence<int, N...>) { return (before + ... + at(N)); }(std::make_integer_sequence<int, Count>{});
    };
    auto const run = [&](index_t from, index_t length) {
      if (Count > 1 && d == 0) {
        SLA_INDEPENDENT
        for (index_t i = from; i < from + length; ++i) out[i - first] = scalar_cast<T>(sum(i, V{}));
      } else {
        SLA_INDEPENDENT
        for (index_t i = from; i < from + length; ++i) out[i - first] = scalar_cast<T>(sum(i, scalar_cast<V>(out[i - first])));
      }
    };
    index_t i = lo;
    for (; i + detail::chunk <= hi; i += detail::chunk) run(i, detail::chunk);
    run(i, hi - i);
  }
};

/// The diagonals of a matrix of the format Dia.
using dia_view = basic_dia_view<false>;

/// The diagonals of Dia, by their offsets: column - row.
template <class Memory>
struct dia_pattern {
  index_t rows = 0, cols = 0;
  buffer<index_t, Memory> offset;  ///< ascending
  index_t entries = 0;             ///< slots that lie inside of the matrix

  /// A pattern without entries.
  static dia_pattern none(index_t rows, index_t cols) {
    dia_pattern p;
    p.rows = rows, p.cols = cols;
    return p;
  }
  index_t nnz() const { return entries; }
  index_t slots() const { return offset.size() * rows; }
  std::size_t bytes() const { return offset.bytes(); }
  dia_view view() const { return {offset.data(), offset.size(), rows, cols}; }
  template <class F>
  auto parts(F const& f) const {
    return f(rows, cols, offset, entries);
  }
};

/// Whole diagonals, zeros included: no index per entry, for matrices of few diagonals.
struct Dia {
  using col_type = index_t;
  using ptr_type = index_t;
  template <class Memory>
  using pattern = dia_pattern<Memory>;
  static constexpr bool slots_by_row = false;
};

/// Are the slots of a format in the order of rows, without gaps? One where they are not says so.
template <class F>
inline constexpr bool slots_by_row = true;
template <class F>
  requires(!F::slots_by_row)
inline constexpr bool slots_by_row<F> = false;

/// Is F a `Csr<...>`?
template <class F>
inline constexpr bool is_csr = false;
template <class Col, class Ptr>
inline constexpr bool is_csr<Csr<Col, Ptr>> = true;

} // namespace sla
